#include "lib/Runtime/Checkpoint/CheckpointWriter.h"
#include "lib/Runtime/BackgroundTask.h"
#include "lib/Runtime/Checkpoint/CheckpointFiles.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Checksum.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace st {
namespace {

constexpr absl::string_view kPurpose = "a checkpoint";
// Maximum number of files that are not yet synchronised to disk; each needs a descriptor.
constexpr size_t kMaxOpen = 64;

constexpr absl::string_view kGood = "good\n", kFailed = "failed\n";

int64_t countElements(const StateTensor &tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.shape)
    count *= size;
  return count;
}

// Returns true if blocks share elements: groups may shard a tensor in different ways.
bool hasOverlaps(const StateTensor &tensor) {
  int64_t count = 0;
  for (const StateBlock &block : tensor.blocks)
    count += block.block.numReal();
  return count > countElements(tensor);
}

// Ignores the padding of a block, which is arbitrary.
bool hasSameElements(const TensorBlock &block, const uint8_t *a, const uint8_t *b) {
  const auto width = static_cast<int64_t>(byteWidth(block.type));
  bool isSame = true;
  forEachRun(block, [&](int64_t, int64_t local, int64_t count) {
    isSame = isSame && std::memcmp(a + local * width, b + local * width, count * width) == 0;
  });
  return isSame;
}

// A part of a tensor: elements [begin, end).
struct Piece {
  int64_t begin, end;
  absl::Span<uint8_t> bytes;
};

void copyToPiece(const TensorBlock &block, const uint8_t *bytes, const Piece &piece) {
  const auto width = static_cast<int64_t>(byteWidth(block.type));
  forEachRunWithin(block, piece.begin, piece.end,
                   [&](int64_t global, int64_t local, int64_t count) {
                     std::memcpy(piece.bytes.data() + (global - piece.begin) * width,
                                 bytes + local * width, count * width);
                   });
}

bool isPartOf(const Piece &piece, const TensorBlock &block, const uint8_t *bytes) {
  const auto width = static_cast<int64_t>(byteWidth(block.type));
  bool isSame = true;
  forEachRunWithin(
      block, piece.begin, piece.end, [&](int64_t global, int64_t local, int64_t count) {
        isSame = isSame && std::memcmp(piece.bytes.data() + (global - piece.begin) * width,
                                       bytes + local * width, count * width) == 0;
      });
  return isSame;
}

std::string checksumOfElements(const TensorBlock &block, const uint8_t *bytes) {
  const auto width = static_cast<int64_t>(byteWidth(block.type));
  uint32_t crc = 0;
  forEachRun(block, [&](int64_t, int64_t local, int64_t count) {
    crc = crc32({bytes + local * width, static_cast<size_t>(count * width)}, crc);
  });
  return absl::StrFormat("%08x", crc);
}

absl::Status differs(const std::string &tensor, int64_t rank) {
  return absl::InternalError(absl::StrCat("rank ", rank, " holds values of \"", tensor,
                                          "\" that differ from those of the ranks that share it"));
}

absl::Status sendText(Communicator &communicator, absl::string_view text) {
  const Peer first = {0, kSavingChannel, kPurpose};
  uint64_t size = text.size();
  ST_RETURN_IF_ERROR(
      communicator.send({reinterpret_cast<const uint8_t *>(&size), sizeof size}, first));
  return communicator.send({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, first);
}

// Returns the text after kGood in the next message from a process.
absl::StatusOr<std::string> receiveText(Communicator &communicator, int64_t process) {
  const Peer from = {process, kSavingChannel, kPurpose};
  uint64_t size = 0;
  ST_RETURN_IF_ERROR(communicator.receive({reinterpret_cast<uint8_t *>(&size), sizeof size}, from));
  std::string text(size, '\0');
  ST_RETURN_IF_ERROR(communicator.receive({reinterpret_cast<uint8_t *>(text.data()), size}, from));
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, kFailed))
    return absl::UnavailableError(absl::StrCat("process ", process, ": ", rest));
  if (!absl::ConsumePrefix(&rest, kGood))
    return absl::InternalError(absl::StrCat("process ", process, " sent no report of its files"));
  return std::string(rest);
}

} // namespace

CheckpointWriter::CheckpointWriter(std::string folder, const SaveJob &job)
    : folder(std::move(folder)), job(job), self(job.communicator.process()) {
  for (absl::string_view kind : kTensorKinds)
    if (hasKind(kind, job.states))
      for (ShardFile &shard : planShards(kind, job.states, job.shardBytes, job.communicator))
        shards.push_back(std::move(shard));
}

CheckpointWriter::~CheckpointWriter() {
  if (!isReleased)
    for (const std::string &path : written)
      ::unlink(path.c_str());
}

std::string CheckpointWriter::nextOf(absl::string_view file) const {
  return absl::StrCat(folder, "/", file, kNext);
}

// From here on neither the end of this object nor an early end of the process removes the files.
// The main thread may end the process while this thread still runs: an error if it has begun to.
absl::Status CheckpointWriter::release() {
  bool isKept = true;
  for (RemovedOnEarlyEnd &note : notes)
    isKept = note.forget() && isKept;
  if (!isKept)
    return absl::AbortedError("the process ends before its checkpoint is complete");
  isReleased = true;
  return absl::OkStatus();
}

void CheckpointWriter::noteFile(absl::string_view file) {
  written.push_back(nextOf(file));
  notes.emplace_back(written.back());
}

// A process that fails reports to process 0, so that the save of process 0 fails too.
absl::Status CheckpointWriter::writeStates(TrainerFile &file) {
  const absl::Status status = writeShards();
  if (self != 0 && !status.ok())
    (void)sendText(job.communicator, absl::StrCat(kFailed, status.message()));
  ST_RETURN_IF_ERROR(status);
  if (self != 0)
    return reportBlocks();
  ST_RETURN_IF_ERROR(collectChecksums(file));
  return addIndexes(file);
}

// Reads all states first, so that updates do not wait for the disk. Then synchronises the files. A
// process whose files fail still exchanges all blocks: the other processes expect each of them.
absl::Status CheckpointWriter::writeShards() {
  for (const ShardFile &shard : shards) {
    ST_RETURN_IF_ERROR(exchangeShard(shard));
    if (open.size() > kMaxOpen && failure.ok())
      failure.Update(commitFirst());
  }
  job.snapshot.stop();
  ST_RETURN_IF_ERROR(failure);
  // Sent after all blocks, because process 0 receives those from the same channel.
  for (const std::string &text : reports)
    if (self != 0)
      ST_RETURN_IF_ERROR(sendText(job.communicator, text));
  while (!open.empty()) {
    ST_RETURN_IF_ERROR(commitFirst());
    // Process 0 waits for one file at a time.
    if (self != 0)
      ST_RETURN_IF_ERROR(sendText(job.communicator, kGood));
  }
  return absl::OkStatus();
}

absl::Status CheckpointWriter::commitFirst() {
  flushing.reset();
  const std::unique_ptr<SafetensorsWriter> writer = std::move(open.front().second);
  noteFile(open.front().first->name);
  open.pop_front();
  return writer->commit();
}

// Returns the first failure of the exchange; failures of the file go into `failure`.
absl::Status CheckpointWriter::exchangeShard(const ShardFile &shard) {
  SafetensorsWriter *writer = nullptr;
  if (shard.process == self && failure.ok()) {
    absl::StatusOr<SafetensorsWriter *> created = createFile(shard);
    failure.Update(created.status());
    writer = created.ok() ? *created : nullptr;
  }
  std::string report = writer ? absl::StrCat(kGood, files[shard.name]) : "";
  for (const StateTensor *tensor : shard.tensors) {
    ST_RETURN_IF_ERROR(gather(*tensor, shard.process));
    std::string checksum;
    if (writer && failure.ok())
      failure.Update(append(*tensor, checksum));
    releaseSources();
    if (!writer || !failure.ok())
      continue;
    tensors[tensor->state->name()] = checksum;
    absl::StrAppend(&report, " ", checksum);
    // If the page cache takes the pieces, a slow disk blocks only the flushing thread.
    if (pieces.needsFlush() && (!flushing || flushing->isDone()))
      flushing = std::make_unique<BackgroundTask>([writer] {
        writer->startFlush();
        return absl::OkStatus();
      });
  }
  if (writer && failure.ok())
    failure.Update(pieces.finish());
  if (writer)
    reports.push_back(std::move(report));
  return absl::OkStatus();
}

absl::StatusOr<SafetensorsWriter *> CheckpointWriter::createFile(const ShardFile &shard) {
  std::vector<SafetensorsSpec> specs;
  for (const StateTensor *tensor : shard.tensors)
    specs.push_back({tensor->state->name(), tensor->type, tensor->shape});
  // "pt" tells Hugging Face's loaders that the names are PyTorch's.
  ST_ASSIGN_OR_RETURN(auto created,
                      SafetensorsWriter::create(nextOf(shard.name), specs, {{"format", "pt"}},
                                                AtomicFile::kDirectBlock));
  SafetensorsWriter *writer = created.get();
  pieces.begin(*writer);
  open.emplace_back(&shard, std::move(created));
  files[shard.name] = checksumOf(writer->header());
  return writer;
}

// Brings the blocks of a tensor to the process that writes it, and compares replicas.
absl::Status CheckpointWriter::gather(const StateTensor &tensor, int64_t writer) {
  for (size_t block = 0; block < tensor.blocks.size(); ++block)
    ST_RETURN_IF_ERROR(gatherBlock(tensor, block, writer));
  return absl::OkStatus();
}

absl::Status CheckpointWriter::gatherBlock(const StateTensor &tensor, size_t number,
                                           int64_t writer) {
  const StateBlock &of = tensor.blocks[number];
  const TensorBlock &block = of.block;
  const int64_t owner = job.communicator.processOf(of.replicas.front().rank);
  std::vector<const StateReplica *> here;
  for (const StateReplica &replica : of.replicas)
    if (job.snapshot.isLocal(replica.rank))
      here.push_back(&replica);
  if (!here.empty()) {
    const StateReplica &first = *here.front();
    const uint8_t *bytes = job.snapshot.pin(first);
    absl::Status status;
    if (owner == self && writer != self)
      status = job.communicator.send({bytes, static_cast<size_t>(block.numBytes())},
                                     {writer, kSavingChannel, kPurpose});
    if (here.size() < of.replicas.size())
      blocks[{tensor.state->name(), number}][first.rank] = checksumOfElements(block, bytes);
    for (size_t i = 1; i < here.size(); ++i) {
      if (!hasSameElements(block, bytes, job.snapshot.pin(*here[i])))
        failure.Update(differs(tensor.state->name(), here[i]->rank));
      job.snapshot.release(*here[i]);
    }
    if (writer == self) {
      job.snapshot.unpin(first);
      sources.push_back({&of, &first, {}});
    } else {
      job.snapshot.release(first);
    }
    ST_RETURN_IF_ERROR(status);
  }
  if (writer != self || owner == self)
    return absl::OkStatus();
  std::vector<uint8_t> bytes(static_cast<size_t>(block.numBytes()));
  ST_RETURN_IF_ERROR(
      job.communicator.receive(absl::MakeSpan(bytes), {owner, kSavingChannel, kPurpose}));
  sources.push_back({&of, nullptr, std::move(bytes)});
  return absl::OkStatus();
}

// The checksum is computed while the piece is in the processor's cache.
absl::Status CheckpointWriter::append(const StateTensor &tensor, std::string &checksum) {
  const size_t width = byteWidth(tensor.type);
  const int64_t count = countElements(tensor);
  uint32_t crc = 0;
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    absl::Span<uint8_t> bytes = pieces.space();
    std::vector<uint8_t> element; // one that continues in the next piece
    if (bytes.size() < width) {
      element.resize(width);
      bytes = absl::MakeSpan(element);
    }
    end = std::min(begin + static_cast<int64_t>(bytes.size() / width), count);
    bytes = bytes.first(static_cast<size_t>(end - begin) * width);
    ST_RETURN_IF_ERROR(fillPiece(tensor, begin, end, bytes));
    crc = crc32(bytes, crc);
    pieces.setHurried(job.snapshot.isAwaited());
    ST_RETURN_IF_ERROR(element.empty() ? pieces.add(bytes.size()) : pieces.append(bytes));
  }
  checksum = absl::StrFormat("%08x", crc);
  return absl::OkStatus();
}

// Blocks overlap if groups shard a tensor in different ways; their elements must then agree.
absl::Status CheckpointWriter::fillPiece(const StateTensor &tensor, int64_t begin, int64_t end,
                                         absl::Span<uint8_t> bytes) {
  const Piece piece = {begin, end, bytes};
  absl::Status status;
  const auto visit = [&](absl::FunctionRef<void(const Source &, const uint8_t *)> use) {
    for (const Source &source : sources) {
      use(source, source.here ? job.snapshot.pin(*source.here) : source.received.data());
      if (source.here)
        job.snapshot.unpin(*source.here);
    }
  };
  visit([&](const Source &source, const uint8_t *from) {
    copyToPiece(source.of->block, from, piece);
  });
  if (hasOverlaps(tensor))
    visit([&](const Source &source, const uint8_t *from) {
      if (!isPartOf(piece, source.of->block, from))
        status.Update(differs(tensor.state->name(),
                              source.here ? source.here->rank : source.of->replicas[0].rank));
    });
  return status;
}

void CheckpointWriter::releaseSources() {
  for (const Source &source : sources)
    if (source.here) {
      job.snapshot.pin(*source.here);
      job.snapshot.release(*source.here);
    }
  sources.clear();
}

// The last message of this process: once it arrives, process 0 may publish the checkpoint.
absl::Status CheckpointWriter::reportBlocks() {
  std::string text(kGood);
  for (const auto &[block, ranks] : blocks)
    for (const auto &[rank, checksum] : ranks)
      absl::StrAppend(&text, block.second, " ", rank, " ", checksum, " ", block.first, "\n");
  ST_RETURN_IF_ERROR(release());
  return sendText(job.communicator, text);
}

// Process 0 collects the checksums of files and blocks from the other processes, and compares the
// checksums of blocks that several processes hold.
absl::Status CheckpointWriter::collectChecksums(TrainerFile &file) {
  file.files.insert(files.begin(), files.end());
  file.checksums.insert(tensors.begin(), tensors.end());
  for (const ShardFile &shard : shards) {
    if (shard.process == 0)
      continue;
    ST_ASSIGN_OR_RETURN(const std::string text, receiveText(job.communicator, shard.process));
    const std::vector<std::string> checksums = absl::StrSplit(text, ' ');
    if (checksums.size() != shard.tensors.size() + 1)
      return absl::InternalError(
          absl::StrCat("process ", shard.process, " sent no report of ", shard.name));
    file.files[shard.name] = checksums[0];
    for (size_t i = 0; i < shard.tensors.size(); ++i)
      file.checksums[shard.tensors[i]->state->name()] = checksums[i + 1];
  }
  for (int64_t process = 1; process < job.communicator.numProcesses(); ++process) {
    const auto count = static_cast<size_t>(
        std::count_if(shards.begin(), shards.end(),
                      [&](const ShardFile &shard) { return shard.process == process; }));
    for (size_t i = 0; i < std::min(count, kMaxOpen); ++i)
      ST_RETURN_IF_ERROR(receiveText(job.communicator, process).status());
    ST_RETURN_IF_ERROR(collectBlocks(process));
  }
  for (const auto &[block, ranks] : blocks)
    for (const auto &[rank, checksum] : ranks)
      if (checksum != ranks.begin()->second)
        return differs(block.first, rank);
  return absl::OkStatus();
}

// The checksums of blocks that another process holds.
absl::Status CheckpointWriter::collectBlocks(int64_t process) {
  ST_ASSIGN_OR_RETURN(const std::string text, receiveText(job.communicator, process));
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    size_t block = 0;
    int64_t rank = 0;
    if (words.size() != 4 || !absl::SimpleAtoi(words[0], &block) ||
        !absl::SimpleAtoi(words[1], &rank))
      return absl::InternalError(
          absl::StrCat("process ", process, " sent no report of its blocks"));
    blocks[{words[3], block}][rank] = words[2];
  }
  return absl::OkStatus();
}

absl::Status CheckpointWriter::addText(absl::string_view name, absl::string_view content) {
  noteFile(name);
  return writeFileAtomically(nextOf(name), content);
}

absl::Status CheckpointWriter::addIndexes(TrainerFile &file) {
  for (absl::string_view kind : kTensorKinds) {
    const std::vector<ShardFile> of =
        planShards(kind, job.states, job.shardBytes, job.communicator);
    if (of.size() == 1)
      continue;
    const std::string text = printIndex(of);
    file.files[indexName(kind)] = checksumOf(text);
    ST_RETURN_IF_ERROR(addText(indexName(kind), text));
  }
  return absl::OkStatus();
}

absl::Status CheckpointWriter::publish(const TrainerFile &file) {
  // All other names are on disk before the file that makes them a checkpoint. From here on, a
  // process that ends early may leave the files, but must not remove only some of them.
  ST_RETURN_IF_ERROR(syncFolder(folder));
  ST_RETURN_IF_ERROR(release());
  if (absl::Status status = writeFileAtomically(nextOf(kTrainerFile), printTrainerFile(file));
      !status.ok()) {
    isReleased = false;
    return status;
  }
  return finishMove(folder);
}

} // namespace st
