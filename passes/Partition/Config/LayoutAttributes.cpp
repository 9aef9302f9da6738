#include "passes/Partition/Config/LayoutAttributes.h"
#include "dialects/St/IR/ScheduleKind.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StDialect.h"
#include "passes/Partition/Config/ExpertSeeds.h"
#include "passes/Partition/Stages/StageStarts.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

namespace {
class LayoutAttributes {
public:
  LayoutAttributes(func::FuncOp function, const ParallelConfig &config)
      : module(function->getParentOfType<ModuleOp>()), function(function), config(config),
        builder(module.getContext()) {}

  LogicalResult setAttributes(StringRef schedule);

private:
  InFlightDiagnostic error(StringRef key) {
    return emitError(config.locate(key, builder.getContext()));
  }
  FailureOr<int64_t> getVirtualStages(StringRef schedule);
  LogicalResult setScheduleOrder(int64_t virtualStages);
  LogicalResult setStageStarts(int64_t numStages);
  void setMesh();

  ModuleOp module;
  func::FuncOp function;
  const ParallelConfig &config;
  OpBuilder builder;
};
} // namespace

LogicalResult mlir::st::applyPrecision(ModuleOp module, const ParallelConfig &config) {
  if (!config.precision)
    return success();
  Builder builder(module.getContext());
  const PrecisionConfig &wanted = *config.precision;
  NamedAttrList fields(module->getAttrOfType<DictionaryAttr>(kPrecisionAttr));
  auto check = [&](StringRef key, StringRef value, StringRef otherwise) -> LogicalResult {
    auto given = dyn_cast_or_null<StringAttr>(fields.get(key));
    StringRef found = given ? given.getValue() : otherwise;
    if (found == value)
      return success();
    return emitError(config.locate("precision", module.getContext()))
           << "precision." << key << " is \"" << value
           << "\", but the step was differentiated with \"" << found
           << "\"; expected the same type, or this file before differentiate";
  };
  if (failed(check("compute", wanted.compute, "f32")) ||
      failed(check("loss_scale", wanted.lossScale, "none")))
    return failure();
  fields.set("reduce", builder.getStringAttr(wanted.reduce));
  if (wanted.products != "f32")
    fields.set("products", builder.getStringAttr(wanted.products));
  module->setAttr(kPrecisionAttr, fields.getDictionary(builder.getContext()));
  return success();
}

/// The number of stages of each device group.
FailureOr<int64_t> LayoutAttributes::getVirtualStages(StringRef schedule) {
  ScheduleKind kind = *parseScheduleKind(schedule);
  int64_t count = config.virtualStages ? config.virtualStages : getDefaultVirtualStages(kind);
  if (!allowsVirtualStages(kind, count))
    return error("virtual_stages") << "virtual_stages is " << count << "; the schedule \""
                                   << schedule << "\" has " << getDefaultVirtualStages(kind);
  int64_t groups = config.stageCount();
  if (kind == ScheduleKind::Interleaved && count > 1 && config.accumDegree % groups != 0)
    return error("accum_degree") << "accum_degree is " << config.accumDegree
                                 << "; the schedule \"interleaved\" expects a multiple of the "
                                 << groups << " stages of device_mapping";
  return count;
}

/// Checks the order that the file lists, and records it on the module.
LogicalResult LayoutAttributes::setScheduleOrder(int64_t virtualStages) {
  auto count = static_cast<int64_t>(config.scheduleOrder.size());
  if (count != config.stageCount())
    return error("schedule") << "schedule lists the tasks of " << count << " stages; expected "
                             << config.stageCount() << ", those of device_mapping";
  SmallVector<std::string> lists;
  for (auto [group, order] : llvm::enumerate(config.scheduleOrder)) {
    if (std::string fault = findFault(order, virtualStages, config.accumDegree); !fault.empty())
      return error("schedule") << "schedule[" << group << "]: " << fault << "; expected the "
                               << config.accumDegree << " micro-batches of " << virtualStages
                               << " virtual stages, each forward, then backward";
    lists.push_back(llvm::join(llvm::map_range(order, formatUnit), " "));
  }
  module->setAttr(kScheduleOrderAttr,
                  builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(lists)));
  return success();
}

/// Checks the starts of the stages, and records them on the module.
LogicalResult LayoutAttributes::setStageStarts(int64_t numStages) {
  if (config.stageStarts.empty())
    return success();
  auto count = static_cast<int64_t>(config.stageStarts.size());
  if (count != numStages - 1)
    return error("stages") << "stages lists where " << count << " stages begin; expected "
                           << numStages - 1 << ", all but the first of the " << numStages
                           << " stages (stage_cnt, virtual_stages)";
  SmallVector<StringRef> patterns(llvm::to_vector_of<StringRef>(config.stageStarts));
  size_t index = 0;
  std::string fault =
      findFault(findStageStarts(function, forwardOpsOfState(function), patterns), patterns, index);
  if (!fault.empty())
    return error("stages") << "stages[" << index << "] is \"" << patterns[index] << "\", but "
                           << fault;
  module->setAttr(kStageStartsAttr, builder.getStrArrayAttr(patterns));
  return success();
}

/// Creates the mesh, or completes the one that the program has.
void LayoutAttributes::setMesh() {
  builder.setInsertionPointToStart(module.getBody());
  if (MeshOp given = getMesh(module)) {
    given.setSymName("mesh");
    given.setMicro(config.accumDegree);
    return;
  }
  SmallVector<StringRef> axes = {kTensorAxis};
  SmallVector<int64_t> sizes = {config.shardCount()};
  auto addMajor = [&](StringRef name, int64_t size) {
    axes.insert(axes.begin(), name);
    sizes.insert(sizes.begin(), size);
  };
  if (config.contextCount > 1)
    addMajor(kContextAxis, config.contextCount);
  if (config.expertCount > 1)
    addMajor(kExpertAxis, config.expertCount);
  if (config.dataCount > 1)
    addMajor(kDataAxis, config.dataCount / config.expertCount);
  MeshOp::create(builder, module.getLoc(), builder.getStringAttr("mesh"),
                 builder.getStrArrayAttr(axes), builder.getDenseI64ArrayAttr(sizes),
                 builder.getI64IntegerAttr(config.accumDegree));
}

LogicalResult LayoutAttributes::setAttributes(StringRef schedule) {
  bool pipelines = config.mode != ParallelMode::Sharding && config.accumDegree > 1;
  if (schedule.empty())
    schedule = config.schedule;
  if (schedule.empty())
    schedule = pipelines ? "1f1b" : "sequential";
  if (schedule != "sequential" && config.mode == ParallelMode::Sharding)
    return error("mode") << "schedule is \"" << schedule
                         << "\", but mode is \"sharding\", whose stages "
                         << "run one after the other";

  setMesh();
  FailureOr<int64_t> virtualStages = getVirtualStages(schedule);
  if (failed(virtualStages))
    return failure();
  ScheduleKind kind = *parseScheduleKind(schedule);
  int64_t numGroups = config.stageCount(), numStages = numGroups * *virtualStages;
  if (kind == ScheduleKind::Listed && failed(setScheduleOrder(*virtualStages)))
    return failure();
  if (failed(setStageStarts(numStages)))
    return failure();
  SmallVector<Attribute> devices;
  for (int64_t stage : llvm::seq(numStages))
    devices.push_back(
        builder.getDenseI64ArrayAttr(config.devices[getGroupOfStage(kind, stage, numGroups)]));
  module->setAttr("st.stages", builder.getI64IntegerAttr(numStages));
  module->setAttr("st.devices", builder.getArrayAttr(devices));
  module->setAttr("st.schedule", builder.getStringAttr(schedule));
  module->setAttr("st.micro_batches", builder.getI64IntegerAttr(config.accumDegree));
  if (config.bucketBytes)
    module->setAttr("st.bucket_bytes", builder.getI64IntegerAttr(*config.bucketBytes));
  config.setStashAttributes(module);
  return success();
}

LogicalResult mlir::st::setLayoutAttributes(func::FuncOp function, const ParallelConfig &config,
                                            StringRef schedule) {
  return LayoutAttributes(function, config).setAttributes(schedule);
}
