// The memory of a device by class.
#ifndef ST_PLANNER_MEMORY_H
#define ST_PLANNER_MEMORY_H

#include "lib/Planner/Memory/KeptTensors.h"
#include "lib/Planner/Step/ModelSplit.h"
#include "lib/Planner/Step/Pipeline.h"
#include "lib/Proto/cluster.pb.h"
#include "lib/Proto/profile.pb.h"

#include <string>
#include <utility>
#include <vector>

namespace st {

/// Peak bytes of one device by class.
struct DeviceMemory {
  double parameters = 0, gradients = 0, optimizer = 0;
  double activations = 0;   ///< kept from forward passes to backward passes
  double workspace = 0;     ///< of a block or the update, beyond the activations' memory
  double communication = 0; ///< buffers of communicators
  double context = 0;       ///< driver and libraries
  /// Additional blocks that the allocator caches: fragments, blocks of activations that the update
  /// could not reuse, and blocks of the update that activations could not reuse. The allocator
  /// frees most of them before it fails.
  double fragmentation = 0;
  double margin = 0; ///< the part of `fragmentation` that it cannot free
  /// Cached blocks of activations that it has to free for the update in each step, and vice versa.
  double returned = 0;

  double total() const { return needed() + fragmentation; }
  /// Bytes that a layout needs at least.
  double needed() const {
    return parameters + gradients + optimizer + activations + workspace + communication + context;
  }
  /// (name, bytes) of each class.
  std::vector<std::pair<const char *, double>> classes() const;
};

enum class Fit : uint8_t { Fits, WithinMargin, DoesNotFit };
const char *fitName(Fit fit);
/// Compares with a device of `room` bytes; "within the margin" if little is left for fragmentation.
Fit judgeFit(const DeviceMemory &memory, double room);

/// State per parameter in a precision: "f16", "bf16" or "f32".
const proto::StateProfile &stateOf(const proto::ImplementationProfile &profile,
                                   const std::string &precision);

/// Inputs of a layout's memory. Members outlive it.
struct MemoryInputs {
  const PlannedModel &model;
  const proto::ClusterDescription &cluster;
  const proto::ImplementationProfile &profile;
  const Layout &layout;
  const ModelSplit &split;
  const proto::ProgramWork &work; ///< of the blocks as the layout recomputes
  const proto::ProgramWork &kept; ///< without recomputation
  KeptMemo *memo = nullptr;       ///< shared by layouts under the same profile
};

/// The memory of the device groups of a layout.
class MemoryModel {
public:
  explicit MemoryModel(const MemoryInputs &inputs);

  /// Memory of a device in a group that holds at most `held` micro-batches.
  DeviceMemory ofGroup(int64_t group, const HeldMicroBatches &held) const;

private:
  KeptTensors blockBytes(int64_t block, bool recomputes) const;
  void addState(int64_t group, DeviceMemory &memory) const;
  void addActivations(int64_t group, const HeldMicroBatches &held, double parameters,
                      DeviceMemory &memory) const;
  double updateBytes(int64_t group) const;
  double communicatorBytes() const;
  /// The bytes that a device holds if ZeRO shards the state from this level on.
  double shared(const StateAmount &bytes, int64_t fromLevel) const;

  const MemoryInputs inputs;
  const proto::StateProfile &state;
  /// Activations of a layer of one kind for one micro-batch: `own` under the layout's
  /// recomputation, and `recomputed` during the recomputation of the layer.
  struct LayerBytes {
    KeptTensors own, recomputed;
    double boundary = 0; ///< that it passes to the next layer
    /// Weights of experts and their gradients on devices that do not own them.
    double gathered = 0, scattered = 0;
  };
  LayerBytes layerBytes(int64_t block) const;

  const KeptTensors embeddings, bridge, head; ///< of one micro-batch
  std::vector<LayerBytes> layers;             ///< by index in ModelSplit::layerBlocks
  const double communicators;
};

} // namespace st

#endif // ST_PLANNER_MEMORY_H
