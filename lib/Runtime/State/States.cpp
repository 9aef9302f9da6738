#include "lib/Runtime/State/States.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/State/NormalInit.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

namespace st {
namespace {

// Elements that one thread initialises or copies at a time: large enough to amortise the overhead,
// small enough to stay in cache while they are copied to replicas.
constexpr int64_t kInitialised = 1 << 15, kCopied = 1 << 18;

// A chunk of a block that one thread fills and copies to every replica.
struct Chunk {
  const StateTensor *tensor;
  const StateBlock *block;
  int64_t begin, end;
  const uint8_t *global = nullptr; ///< the values of the tensor, if it is copied
};

// Splits the blocks of a state into chunks, except those that no rank of this process holds.
void addChunks(const StateValues &values, int64_t elements, Executable &executable,
               std::vector<Chunk> &chunks) {
  for (const StateBlock &block : values.tensor->blocks) {
    if (std::none_of(
            block.replicas.begin(), block.replicas.end(),
            [&](const StateReplica &replica) { return executable.arena(replica.rank)->isLocal(); }))
      continue;
    for (int64_t begin = 0, size = block.block.numElements(); begin < size; begin += elements)
      chunks.push_back(
          {values.tensor, &block, begin, std::min(begin + elements, size), values.global});
  }
}

uint16_t roundToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Zeroes those elements of the chunk that belong to a row of the tensor.
void zeroRow(const Chunk &chunk, int64_t row, std::vector<float> &values) {
  const std::vector<int64_t> &shape = chunk.tensor->shape;
  int64_t size = std::accumulate(shape.begin() + 1, shape.end(), int64_t{1}, std::multiplies<>());
  forEachRun(chunk.block->block, chunk.begin, chunk.end,
             [&](int64_t global, int64_t local, int64_t count) {
               int64_t first = std::max(global, row * size);
               int64_t last = std::min(global + count, (row + 1) * size);
               float *run = values.data() + (local - chunk.begin);
               if (first < last)
                 std::fill(run + (first - global), run + (last - global), 0.0f);
             });
}

void computeChunk(const Chunk &chunk, uint32_t seed, std::vector<float> &values) {
  const proto::State &state = *chunk.tensor->state;
  values.assign(chunk.end - chunk.begin, 0.0f); // padding stays zero
  if (state.init().kind() == proto::Initializer::ONES) {
    std::fill(values.begin(), values.end(), 1.0f);
    return;
  }
  if (state.init().kind() == proto::Initializer::CONSTANT) {
    std::fill(values.begin(), values.end(), static_cast<float>(state.init().value()));
    return;
  }
  ThreefryPair key = {seed, static_cast<uint32_t>(state.init_stream())};
  float stddev = static_cast<float>(state.init().stddev());
  forEachRun(chunk.block->block, chunk.begin, chunk.end,
             [&](int64_t global, int64_t local, int64_t count) {
               fillNormal(key, static_cast<uint64_t>(chunk.tensor->firstElement + global), stddev,
                          values.data() + (local - chunk.begin), count);
             });
  if (state.init().has_zero_row())
    zeroRow(chunk, state.init().zero_row(), values);
}

absl::Status storeBytes(const Chunk &chunk, absl::Span<const uint8_t> bytes,
                        Executable &executable) {
  const int64_t offset = chunk.begin * static_cast<int64_t>(byteWidth(chunk.tensor->type));
  for (const StateReplica &replica : chunk.block->replicas)
    ST_RETURN_IF_ERROR(executable.arena(replica.rank)->write(replica.offset + offset, bytes));
  return absl::OkStatus();
}

absl::Status storeChunk(const Chunk &chunk, const std::vector<float> &values,
                        Executable &executable) {
  std::vector<uint16_t> rounded;
  absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(values.data()),
                                  values.size() * sizeof(float));
  if (chunk.tensor->type == ElementType::BF16) {
    rounded.resize(values.size());
    std::transform(values.begin(), values.end(), rounded.begin(), roundToBf16);
    bytes = {reinterpret_cast<const uint8_t *>(rounded.data()), values.size() * sizeof(uint16_t)};
  }
  return storeBytes(chunk, bytes, executable);
}

absl::Status copyChunk(const Chunk &chunk, std::vector<uint8_t> &bytes, Executable &executable) {
  const auto width = static_cast<int64_t>(byteWidth(chunk.tensor->type));
  bytes.assign((chunk.end - chunk.begin) * width, 0); // padding stays zero
  forEachRun(chunk.block->block, chunk.begin, chunk.end,
             [&](int64_t global, int64_t local, int64_t count) {
               std::memcpy(bytes.data() + (local - chunk.begin) * width,
                           chunk.global + global * width, count * width);
             });
  return storeBytes(chunk, bytes, executable);
}

// Calls `body` for each chunk, on several threads. Returns the first error.
absl::Status forEachChunk(int threads, const std::vector<Chunk> &chunks,
                          absl::FunctionRef<absl::Status(const Chunk &)> body) {
  std::mutex mutex;
  absl::Status status;
  absl::Status threaded = parallelFor(threads, static_cast<int64_t>(chunks.size()), [&](int64_t i) {
    const absl::Status stored = body(chunks[i]);
    std::lock_guard<std::mutex> lock(mutex);
    status.Update(stored);
  });
  status.Update(threaded);
  return status;
}

// Collects the distinct blocks of one state.
class StateCollector {
public:
  void add(const proto::State &state, const proto::Group &group) {
    if (!tensor.state) {
      tensor.state = &state;
      tensor.type = *elementTypeOf(state.global().element());
      tensor.shape.assign(state.global().shape().begin(), state.global().shape().end());
    }
    for (int64_t rank = 0; rank < group.device_ids_size(); ++rank) {
      TensorBlock block = blockOf(state.global(), state.slice(), rank);
      auto [it, isNew] =
          index.emplace(std::make_pair(block.start, block.shape), tensor.blocks.size());
      if (isNew)
        tensor.blocks.push_back({std::move(block), {}});
      tensor.blocks[it->second].replicas.push_back({group.first_rank() + rank, state.offset()});
    }
  }

  // Returns true if the blocks of some group tile the tensor. Groups that shard it differently each
  // hold all of it, so counting elements over all groups is wrong.
  bool isComplete() const {
    std::map<std::vector<int64_t>, int64_t> elementsByShape;
    int64_t total = 1;
    for (int64_t size : tensor.shape)
      total *= size;
    for (const StateBlock &block : tensor.blocks)
      if ((elementsByShape[block.block.shape] += block.block.numReal()) == total)
        return true;
    return false;
  }

  StateTensor tensor;

private:
  std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, size_t> index;
};

int64_t numBytes(const StateTensor &tensor) {
  int64_t size = static_cast<int64_t>(byteWidth(tensor.type));
  for (int64_t dim : tensor.shape)
    size *= dim;
  return size;
}

} // namespace

absl::StatusOr<std::vector<StateTensor>> collectStates(const proto::Executable &program) {
  std::map<std::string, StateCollector> collectors;
  for (const proto::Group &group : program.groups())
    for (const proto::State &state : group.states())
      collectors[state.name()].add(state, group);
  std::vector<StateTensor> states;
  for (auto &[name, collector] : collectors) {
    if (!collector.isComplete())
      return absl::InvalidArgumentError(absl::StrCat(
          "invalid training program: no ranks together hold all of state \"", name, "\""));
    states.push_back(std::move(collector.tensor));
  }
  return states;
}

absl::Status initializeStates(const std::vector<StateTensor> &states, Executable &executable,
                              uint32_t seed, int threads) {
  std::vector<Chunk> chunks;
  for (const StateTensor &tensor : states)
    if (tensor.state->init().kind() != proto::Initializer::ZEROS)
      addChunks({&tensor}, kInitialised, executable, chunks);
  return forEachChunk(threads, chunks, [&](const Chunk &chunk) {
    thread_local std::vector<float> values;
    computeChunk(chunk, seed, values);
    return storeChunk(chunk, values, executable);
  });
}

absl::StatusOr<std::vector<uint8_t>> readState(const StateTensor &tensor, Executable &executable) {
  std::vector<uint8_t> global(numBytes(tensor)), local, expected;
  auto read = [&](const StateBlock &block, const StateReplica &replica) {
    local.resize(block.block.numBytes());
    return executable.arena(replica.rank)->read(replica.offset, absl::MakeSpan(local));
  };
  for (const StateBlock &block : tensor.blocks) {
    ST_RETURN_IF_ERROR(read(block, block.replicas.front()));
    copyToGlobal(block.block, local.data(), global.data());
  }
  for (const StateBlock &block : tensor.blocks) {
    for (const StateReplica &replica : block.replicas) {
      ST_RETURN_IF_ERROR(read(block, replica));
      expected = local; // its padding is arbitrary
      copyToLocal(block.block, global.data(), expected.data());
      if (local != expected)
        return absl::InternalError(
            absl::StrCat("rank ", replica.rank, " holds values of \"", tensor.state->name(),
                         "\" that differ from those of the ranks that share it"));
    }
  }
  return global;
}

absl::Status writeStates(const std::vector<StateValues> &values, Executable &executable,
                         int threads) {
  std::vector<Chunk> chunks;
  for (const StateValues &state : values)
    addChunks(state, kCopied, executable, chunks);
  return forEachChunk(threads, chunks, [&](const Chunk &chunk) {
    thread_local std::vector<uint8_t> bytes;
    return copyChunk(chunk, bytes, executable);
  });
}

} // namespace st
