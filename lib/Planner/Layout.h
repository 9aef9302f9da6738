// The split of a step over devices, which a planner chooses.
#ifndef ST_PLANNER_LAYOUT_H
#define ST_PLANNER_LAYOUT_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <optional>
#include <string>

namespace st {

enum class Recompute : uint8_t { None, Selective, Full };
const char *recomputeName(Recompute recompute);
std::optional<Recompute> parseRecompute(absl::string_view name);

/// The data that devices send for attention if they share a sequence: `context_attention` of a
/// parallel file.
enum class ContextAttention : uint8_t {
  Unset, ///< the compiler compares the bytes of heads and keys
  Heads,
  Keys,
  Ring
};
/// The value in a parallel file; empty for Unset.
const char *contextAttentionName(ContextAttention attention);
std::optional<ContextAttention> parseContextAttention(absl::string_view name);
/// Names that parseContextAttention accepts, for messages.
constexpr char kContextAttentionNames[] = "heads, keys or ring";

enum class PipelineSchedule : uint8_t {
  GPipe,
  OneForwardOneBackward,
  Interleaved,
  ZeroBubbleH1,
  ZeroBubbleH2
};
/// The name in a parallel file: "gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2".
const char *scheduleName(PipelineSchedule schedule);
std::optional<PipelineSchedule> parseSchedule(absl::string_view name);
/// Returns true if gradients of weights are separate tasks.
bool splitsBackward(PipelineSchedule schedule);
/// Names that parseSchedule accepts, for messages. The compiler's schedules "sequential" and "zb-v"
/// are missing: plans assign stages to groups in one direction.
constexpr char kScheduleNames[] = "gpipe, 1f1b, interleaved, zb-h1 or zb-h2";

/// Order of a layout's axes over device ids, fastest first.
enum class RankOrder : uint8_t {
  OfCluster, ///< that of the cluster's description
  TensorDataPipeline,
  TensorPipelineData,
  DataTensorPipeline,
  DataPipelineTensor,
  PipelineTensorData,
  PipelineDataTensor
};
/// "cluster", "tensor-data-pipeline" etc.
const char *rankOrderName(RankOrder order);
std::optional<RankOrder> parseRankOrder(absl::string_view name);

/// Returns true if the compiler has an optimizer of this name, one of kOptimizerNames. Compiled
/// programs determine the optimizer's state per parameter.
bool isOptimizer(absl::string_view name);
/// For messages.
constexpr char kOptimizerNames[] = "adam, adamw, lamb, sgd, the same with -8bit, or adafactor";
constexpr char kEightBits[] = "-8bit";

struct Layout {
  int64_t tensor = 1;                                          ///< shards of a layer's weights
  int64_t stages = 1;                                          ///< device groups of a pipeline
  int64_t replicas = 1;                                        ///< copies of the model
  int64_t context = 1;                                         ///< parts of each sequence
  ContextAttention contextAttention = ContextAttention::Unset; ///< of several parts
  int64_t expert = 1;        ///< consecutive replicas that share the experts
  int64_t virtualStages = 1; ///< stages per device group
  int64_t microBatch = 1;    ///< sequences per micro-batch and replica
  int64_t microBatches = 1;  ///< per replica and step
  int64_t zero = 0;          ///< ZeRO level, 0 to 3
  Recompute recompute = Recompute::None;
  PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
  bool sequenceParallel = false;
  bool offloadOptimizer = false; ///< optimizer state is in the host's memory
  RankOrder placement = RankOrder::OfCluster;

  /// True if gradients of weights are separate tasks; only pipelines have schedules.
  bool hasWeightTasks() const { return stages > 1 && splitsBackward(schedule); }
  int64_t devices() const { return groupDevices() * stages; }
  /// Devices of a device group.
  int64_t groupDevices() const { return tensor * context * replicas; }
  /// Devices that hold the same weights and add up their gradients, or, for experts, the same
  /// experts.
  int64_t copies() const { return context * replicas; }
  int64_t expertCopies() const { return copies() / expert; }
  int64_t globalBatch() const { return replicas * microBatch * microBatches; }
  bool operator==(const Layout &other) const;
};

/// "tp=8 pp=4 dp=2 mb=1 accum=16 recompute=full", plus other values that differ from the defaults.
std::string printLayout(const Layout &layout);

} // namespace st

#endif // ST_PLANNER_LAYOUT_H
