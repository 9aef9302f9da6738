#include "lib/Runtime/Checkpoint/PieceWriter.h"

#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

namespace st {

PieceWriter::PieceWriter() {
  for (auto &piece : memory)
    piece.reset(new (std::align_val_t(AtomicFile::kDirectBlock)) uint8_t[kPieceBytes]);
  try {
    thread = std::thread([this] { writePieces(); });
  } catch (const std::system_error &) {
    // add() writes instead.
  }
}

PieceWriter::~PieceWriter() {
  {
    absl::MutexLock lock(&mutex);
    isEnding = true;
  }
  if (thread.joinable())
    thread.join();
}

void PieceWriter::begin(SafetensorsWriter &newFile) {
  file = &newFile;
  filled = 0;
}

absl::Span<uint8_t> PieceWriter::space() {
  return {memory[current].get() + filled, kPieceBytes - filled};
}

absl::Status PieceWriter::add(size_t bytes) {
  filled += bytes;
  if (filled < kPieceBytes)
    return absl::OkStatus();
  absl::MutexLock lock(&mutex);
  isDirect = choosesDirect();
  if (!thread.joinable())
    return write(absl::MakeConstSpan(memory[current].get(), std::exchange(filled, 0)), isDirect);
  ++full;
  mutex.Await(absl::Condition(this, &PieceWriter::hasSpace));
  current = (current + 1) % kPieces;
  filled = 0;
  return status;
}

absl::Status PieceWriter::append(absl::Span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), space().size());
    std::memcpy(space().data(), bytes.data(), count);
    ST_RETURN_IF_ERROR(add(count));
    bytes.remove_prefix(count);
  }
  return absl::OkStatus();
}

absl::Status PieceWriter::finish() {
  absl::MutexLock lock(&mutex);
  mutex.Await(absl::Condition(this, &PieceWriter::isIdle));
  ST_RETURN_IF_ERROR(status);
  const absl::Span<const uint8_t> rest = absl::MakeConstSpan(memory[current].get(), filled);
  const size_t aligned = filled / AtomicFile::kDirectBlock * AtomicFile::kDirectBlock;
  filled = 0;
  ST_RETURN_IF_ERROR(write(rest.first(aligned), choosesDirect()));
  return write(rest.subspan(aligned), false);
}

bool PieceWriter::needsFlush() const {
  absl::MutexLock lock(&mutex);
  return !isDirect;
}

// The thread. After a failure it discards the pieces, so that the caller never waits.
void PieceWriter::writePieces() {
  absl::MutexLock lock(&mutex);
  for (size_t next = 0;; next = (next + 1) % kPieces) {
    mutex.Await(absl::Condition(this, &PieceWriter::hasWork));
    if (full == 0)
      return;
    if (status.ok() && !isEnding) {
      const bool wantsDirect = isDirect;
      const auto start = std::chrono::steady_clock::now();
      mutex.Unlock();
      const absl::Status written =
          write(absl::MakeConstSpan(memory[next].get(), kPieceBytes), wantsDirect);
      mutex.Lock();
      status.Update(written);
      seconds[wantsDirect] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    --full;
  }
}

absl::Status PieceWriter::write(absl::Span<const uint8_t> bytes, bool wantsDirect) {
  file->setDirect(wantsDirect);
  return file->append(bytes);
}

bool PieceWriter::choosesDirect() const { return !isHurried || seconds[0] > seconds[1]; }

} // namespace st
