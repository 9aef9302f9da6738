#include "lib/Runtime/State/States.h"

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

// Elements that one thread initialises at a time: enough to amortise the bookkeeping, few enough to
// stay in cache while they are copied to replicas.
constexpr int64_t kChunk = 1 << 15;

// A chunk of a block that one thread fills and copies to every replica.
struct Chunk {
  const StateTensor *tensor;
  const StateBlock *block;
  int64_t begin, end;
};

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
  int64_t offset = chunk.begin * static_cast<int64_t>(byteWidth(chunk.tensor->type));
  for (const StateReplica &replica : chunk.block->replicas)
    if (absl::Status status = executable.arena(replica.rank)->write(replica.offset + offset, bytes);
        !status.ok())
      return status;
  return absl::OkStatus();
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
  for (const StateTensor &tensor : states) {
    if (tensor.state->init().kind() == proto::Initializer::ZEROS)
      continue;
    for (const StateBlock &block : tensor.blocks)
      for (int64_t begin = 0, size = block.block.numElements(); begin < size; begin += kChunk)
        chunks.push_back({&tensor, &block, begin, std::min(begin + kChunk, size)});
  }
  std::mutex mutex;
  absl::Status status;
  absl::Status threaded = parallelFor(threads, static_cast<int64_t>(chunks.size()), [&](int64_t i) {
    thread_local std::vector<float> values;
    computeChunk(chunks[i], seed, values);
    absl::Status stored = storeChunk(chunks[i], values, executable);
    std::lock_guard<std::mutex> lock(mutex);
    status.Update(stored);
  });
  status.Update(threaded);
  return status;
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

absl::Status writeState(const StateTensor &tensor, const uint8_t *global, Executable &executable) {
  std::vector<uint8_t> local;
  for (const StateBlock &block : tensor.blocks) {
    local.assign(block.block.numBytes(), 0);
    copyToLocal(block.block, global, local.data());
    for (const StateReplica &replica : block.replicas)
      ST_RETURN_IF_ERROR(executable.arena(replica.rank)->write(replica.offset, local));
  }
  return absl::OkStatus();
}

} // namespace st
