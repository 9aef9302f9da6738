// How a step is split over devices: what a planner chooses.
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

enum class PipelineSchedule : uint8_t {
  GPipe,
  OneForwardOneBackward,
  Interleaved,
  ZeroBubbleH1,
  ZeroBubbleH2
};
/// As the parallel file spells it: "gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2".
const char *scheduleName(PipelineSchedule schedule);
std::optional<PipelineSchedule> parseSchedule(absl::string_view name);
/// Whether gradients of weights are tasks of their own.
bool splitsBackward(PipelineSchedule schedule);
/// What parseSchedule knows, for messages. Of the compiler's schedules "sequential" and "zb-v" are
/// missing: plans deal stages to the groups in one direction.
constexpr char kScheduleNames[] = "gpipe, 1f1b, interleaved, zb-h1 or zb-h2";

/// The order of a layout's axes over device ids, the fastest first.
enum class RankOrder : uint8_t {
  OfCluster, ///< that of the cluster's description
  TensorDataPipeline,
  TensorPipelineData,
  DataTensorPipeline,
  DataPipelineTensor,
  PipelineTensorData,
  PipelineDataTensor
};
/// "cluster", "tensor-data-pipeline" and so on.
const char *rankOrderName(RankOrder order);
std::optional<RankOrder> parseRankOrder(absl::string_view name);

/// Whether the compiler has an optimizer of this name: one of kOptimizerNames. What it keeps of a
/// parameter is read off compiled programs.
bool isOptimizer(absl::string_view name);
/// For messages.
constexpr char kOptimizerNames[] = "adam, adamw, lamb, sgd, the same with -8bit, or adafactor";
constexpr char kEightBits[] = "-8bit";

struct Layout {
  int64_t tensor = 1;        ///< shards of a layer's weights
  int64_t stages = 1;        ///< device groups of a pipeline
  int64_t replicas = 1;      ///< copies of the model
  int64_t virtualStages = 1; ///< stages of a device group
  int64_t microBatch = 1;    ///< sequences of one micro-batch and replica
  int64_t microBatches = 1;  ///< of a replica in a step
  int64_t zero = 0;          ///< ZeRO level, 0 to 3
  Recompute recompute = Recompute::None;
  PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
  bool sequenceParallel = false;
  bool offloadOptimizer = false; ///< optimizer state is in the host's memory
  RankOrder placement = RankOrder::OfCluster;

  /// Whether gradients of weights are tasks of their own: without a pipeline all schedules are one.
  bool hasWeightTasks() const { return stages > 1 && splitsBackward(schedule); }
  int64_t devices() const { return tensor * stages * replicas; }
  int64_t globalBatch() const { return replicas * microBatch * microBatches; }
  bool operator==(const Layout &other) const;
};

/// "tp=8 pp=4 dp=2 mb=1 accum=16 recompute=full", and what else differs from the defaults.
std::string printLayout(const Layout &layout);

} // namespace st

#endif // ST_PLANNER_LAYOUT_H
