#include "lib/Driver/Planning/PlannedModels.h"

#include "passes/Pipeline/SchedulePattern.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::st;

static ScheduleKind kindOf(::st::PipelineSchedule schedule) {
  switch (schedule) {
  case ::st::PipelineSchedule::GPipe:
    return ScheduleKind::GPipe;
  case ::st::PipelineSchedule::OneForwardOneBackward:
    return ScheduleKind::OneForwardOneBackward;
  case ::st::PipelineSchedule::Interleaved:
    return ScheduleKind::Interleaved;
  case ::st::PipelineSchedule::ZeroBubbleH1:
    return ScheduleKind::ZeroBubbleH1;
  case ::st::PipelineSchedule::ZeroBubbleH2:
    return ScheduleKind::ZeroBubbleH2;
  }
  llvm_unreachable("unknown schedule");
}

::st::PipelineOrder mlir::st::makePipelineOrder() {
  return [](const ::st::Layout &layout, int64_t group) {
    std::vector<::st::PipelineUnit> units;
    const ScheduleShape shape{group, layout.stages, layout.virtualStages, layout.microBatches};
    const bool splits = splitsBackward(kindOf(layout.schedule));
    for (const ScheduledUnit &unit : makeScheduleOrder(kindOf(layout.schedule), shape)) {
      if (unit.kind == ScheduledUnit::Weight && !splits)
        continue;
      units.push_back(
          {static_cast<::st::PipelineUnit::Kind>(unit.kind), unit.chunk, unit.microBatch});
    }
    return units;
  };
}

BlockCompiler &PlannedModels::find(const PlanInput &input) {
  const std::string key = llvm::formatv(
      "{0} {1} {2} {3} {4} {5} {6} {7} {8} {9}", input.config.json, stringify(input.task),
      input.model.sequence, input.model.precision, input.vocabularyMultiple,
      input.config.hiddenSize, input.config.headCount, input.config.intermediateSize,
      input.config.tieWordEmbeddings, printOptions(input));
  std::unique_ptr<BlockCompiler> &compiler = compilers[key];
  if (!compiler)
    compiler = std::make_unique<BlockCompiler>(input, target);
  return *compiler;
}

absl::StatusOr<::st::BlockSource *> PlannedModels::find(const ::st::MeasuredRow &row) {
  absl::StatusOr<PlanInput> input = readMeasuredRow(row);
  if (!input.ok())
    return input.status();
  return &find(*input);
}
