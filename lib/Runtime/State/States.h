// The persistent tensors of a program, and their places on ranks.
#ifndef ST_RUNTIME_STATES_H
#define ST_RUNTIME_STATES_H

#include "lib/Runtime/State/TensorLayout.h"
#include "st/Runtime/Executable.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <string>
#include <vector>

namespace st {

/// One rank's copy of a block of a state.
struct StateReplica {
  int64_t rank = 0;   ///< number in the full executable
  int64_t offset = 0; ///< in the rank's arena
};

/// A block of a state and its replicas.
struct StateBlock {
  TensorBlock block;
  std::vector<StateReplica> replicas;
};

/// A state of all groups, or a row of a state whose rows are separate tensors. Its distinct blocks
/// tile the global tensor.
struct StateTensor {
  const proto::State *state = nullptr;
  std::shared_ptr<const proto::State> row; ///< of a row: the owner of `state`
  int64_t firstElement = 0;                ///< its number in the random stream
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  std::vector<StateBlock> blocks;
};

/// The states of a validated program, by name. They point into `program`. An error names a tensor
/// if no rank holds one of its parts.
absl::StatusOr<std::vector<StateTensor>> collectStates(const proto::Executable &program);

/// Gives every state its initial value. Element i of a tensor depends only on the seed, the
/// tensor's random stream and i, never on the layout: see fillNormal, with key (seed, stream). The
/// arenas must still be zero.
absl::Status initializeStates(const std::vector<StateTensor> &states, Executable &executable,
                              uint32_t seed, int threads);

/// Reads a complete state. An error if replicas of a block differ.
absl::StatusOr<std::vector<uint8_t>> readState(const StateTensor &tensor, Executable &executable);

/// All elements of a state, row-major.
struct StateValues {
  const StateTensor *tensor = nullptr;
  const uint8_t *global = nullptr;
};

/// Copies full states to all ranks of this process that hold a part of them.
absl::Status writeStates(const std::vector<StateValues> &values, Executable &executable,
                         int threads);

} // namespace st

#endif // ST_RUNTIME_STATES_H
