#include "lib/Runtime/State/StateSnapshot.h"

#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cstring>

namespace st {

absl::StatusOr<std::unique_ptr<StateSnapshot>>
StateSnapshot::take(const std::vector<StateTensor> &states, Executable &executable,
                    std::optional<int64_t> memory) {
  std::unique_ptr<StateSnapshot> snapshot(new StateSnapshot(executable));
  for (const StateTensor &tensor : states)
    for (const StateBlock &block : tensor.blocks)
      for (const StateReplica &replica : block.replicas)
        ST_RETURN_IF_ERROR(snapshot->add(replica, block.block.numBytes()));
  std::map<int64_t, int64_t> bytesOfRank;
  bool isInPlace = true;
  {
    absl::MutexLock lock(&snapshot->mutex);
    for (const auto &[key, piece] : snapshot->pieces) {
      bytesOfRank[key.first] += piece.bytes;
      isInPlace &= piece.arena != nullptr;
    }
    int64_t largest = 0;
    for (const auto &[rank, bytes] : bytesOfRank)
      largest = std::max(largest, bytes);
    snapshot->memoryLeft = memory.value_or(largest);
  }
  StateSnapshot &self = *snapshot;
  if (isInPlace)
    snapshot->isHooked =
        executable.callBeforeUpdates([&self](int64_t rank) { self.beforeUpdate(rank); });
  if (!snapshot->isHooked)
    ST_RETURN_IF_ERROR(snapshot->copyAll());
  return snapshot;
}

StateSnapshot::~StateSnapshot() {
  if (isHooked)
    executable.callBeforeUpdates(nullptr);
}

absl::Status StateSnapshot::add(const StateReplica &replica, int64_t bytes) {
  const Buffer &arena = *executable.arena(replica.rank);
  if (!arena.isLocal() || bytes == 0)
    return absl::OkStatus();
  if (replica.offset < 0 || bytes > arena.size() - replica.offset)
    return absl::OutOfRangeError("a state reaches beyond the end of its rank's memory");
  absl::MutexLock lock(&mutex);
  Piece &piece = pieces[{replica.rank, replica.offset}];
  piece.bytes = std::max(piece.bytes, bytes);
  piece.arena = arena.hostMemory() ? arena.hostMemory() + replica.offset : nullptr;
  return absl::OkStatus();
}

absl::Status StateSnapshot::copyAll() {
  absl::MutexLock lock(&mutex);
  for (auto &[key, piece] : pieces) {
    piece.copy.reset(new uint8_t[static_cast<size_t>(piece.bytes)]);
    ST_RETURN_IF_ERROR(executable.arena(key.first)->readHere(
        key.second, {piece.copy.get(), static_cast<size_t>(piece.bytes)}));
    piece.where = Where::Copied;
    copied += piece.bytes;
  }
  most = copied;
  return absl::OkStatus();
}

bool StateSnapshot::isLocal(int64_t rank) const { return executable.arena(rank)->isLocal(); }

const uint8_t *StateSnapshot::pin(const StateReplica &replica) {
  absl::MutexLock lock(&mutex);
  const auto found = pieces.find({replica.rank, replica.offset});
  if (found == pieces.end())
    return nullptr; // it has no elements
  Piece &piece = found->second;
  while (piece.where == Where::Copying)
    changed.Wait(&mutex);
  ++piece.pins;
  return piece.copy ? piece.copy.get() : piece.arena;
}

void StateSnapshot::unpin(const StateReplica &replica) {
  absl::MutexLock lock(&mutex);
  if (const auto found = pieces.find({replica.rank, replica.offset}); found != pieces.end()) {
    --found->second.pins;
    changed.SignalAll();
  }
}

void StateSnapshot::release(const StateReplica &replica) {
  absl::MutexLock lock(&mutex);
  const auto found = pieces.find({replica.rank, replica.offset});
  if (found == pieces.end())
    return;
  Piece &piece = found->second;
  --piece.pins;
  if (piece.copy) {
    memoryLeft += piece.bytes;
    copied -= piece.bytes;
  }
  piece.copy.reset();
  piece.where = Where::Released;
  changed.SignalAll();
}

void StateSnapshot::stop() {
  absl::MutexLock lock(&mutex);
  isStopped = true;
  for (auto &[key, piece] : pieces)
    if (piece.where == Where::Copied)
      piece.copy.reset();
  changed.SignalAll();
}

void StateSnapshot::beforeUpdate(int64_t rank) {
  absl::MutexLock lock(&mutex);
  for (auto it = pieces.lower_bound({rank, 0}); it != pieces.end() && it->first.first == rank; ++it)
    preserve(it->second);
}

// Returns once the arena's bytes of the piece are not needed any more.
void StateSnapshot::preserve(Piece &piece) {
  while (piece.pins > 0 || (!isStopped && piece.where == Where::Live)) {
    // Bytes that are being read are usually released right after.
    if (!isStopped && piece.where == Where::Live && piece.pins == 0 && memoryLeft >= piece.bytes) {
      piece.where = Where::Copying;
      memoryLeft -= piece.bytes;
      copied += piece.bytes;
      most = std::max(most, copied);
      mutex.Unlock();
      piece.copy.reset(new uint8_t[static_cast<size_t>(piece.bytes)]);
      std::memcpy(piece.copy.get(), piece.arena, static_cast<size_t>(piece.bytes));
      mutex.Lock();
      piece.where = Where::Copied;
      changed.SignalAll();
      return;
    }
    if (piece.where == Where::Copied)
      return;
    countWait(1);
    changed.Wait(&mutex);
    countWait(-1);
  }
}

void StateSnapshot::countWait(int change) {
  if (waiting == 0)
    waitBegin = Clock::now();
  waiting += change;
  if (waiting == 0)
    waited += Clock::now() - waitBegin;
}

bool StateSnapshot::isAwaited() const {
  absl::MutexLock lock(&mutex);
  return waiting > 0;
}

double StateSnapshot::waitedSeconds() const {
  absl::MutexLock lock(&mutex);
  return std::chrono::duration<double>(waited).count();
}

int64_t StateSnapshot::maxCopied() const {
  absl::MutexLock lock(&mutex);
  return most;
}

} // namespace st
