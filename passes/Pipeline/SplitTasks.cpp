#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ScheduleKind.h"
#include "dialects/St/IR/ScheduledUnit.h"
#include "dialects/St/IR/StageGroups.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Pipeline/IsolateRegions.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/ProgramEmitter.h"
#include "passes/Pipeline/TaskPlan.h"

namespace mlir::st {
#define GEN_PASS_DEF_SPLITTASKS
#include "passes/Pipeline/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct SplitTasks : mlir::st::impl::SplitTasksBase<SplitTasks> {
  void runOnOperation() override;
  LogicalResult split(func::FuncOp function, MeshOp mesh);
};
} // namespace

/// The device ids of each group: the module's st.devices, or consecutive from 0.
static FailureOr<SmallVector<SmallVector<int64_t>>> getDevices(ModuleOp module, MeshOp mesh,
                                                               ArrayRef<int64_t> groups) {
  int64_t numDevices = mesh.getNumDevices();
  SmallVector<SmallVector<int64_t>> devices(*llvm::max_element(groups) + 1);
  auto attribute = module->getAttrOfType<ArrayAttr>("st.devices");
  if (!attribute) {
    for (auto [group, ids] : llvm::enumerate(devices))
      llvm::append_range(ids, llvm::seq(static_cast<int64_t>(group) * numDevices,
                                        static_cast<int64_t>(group + 1) * numDevices));
    return devices;
  }
  if (attribute.size() != groups.size())
    return module.emitError("st.devices lists ")
           << attribute.size() << " device groups, expected " << groups.size() << ", one per stage";
  for (auto [group, ids] : llvm::zip_equal(groups, attribute)) {
    auto list = dyn_cast<DenseI64ArrayAttr>(ids);
    if (!list || list.size() != numDevices)
      return module.emitError("st.devices has the group ")
             << ids << ", expected " << numDevices << " device ids, one per mesh position";
    devices[group] = llvm::to_vector(list.asArrayRef());
  }
  return devices;
}

/// Checks that every argument has the attributes that its storage needs.
static LogicalResult checkArguments(func::FuncOp function, int64_t numStages) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    for (StringRef name : {StringRef(kNameAttr), StringRef(kRoleAttr), StringRef(kStageAttr)}) {
      if (name == kStageAttr && numStages == 1)
        continue;
      if (!function.getArgAttr(i, name))
        return function.emitOpError("expects argument ") << i << " to have the attribute " << name;
    }
  return success();
}

/// A result that varies by micro-batch must be split over them.
static LogicalResult checkResults(const TaskAnalysis &analysis) {
  func::FuncOp function = analysis.getFunction();
  Operation *terminator = function.getBody().front().getTerminator();
  if (analysis.getMicroBatches() == 1)
    return success();
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    Operation *op = value.getDefiningOp();
    auto sharding = function.getResultAttrOfType<ShardingAttr>(number, kShardingAttr);
    bool split = TaskAnalysis::getMicroDim(sharding) >= 0;
    bool looped = op && !isa<AccumulateOp>(op) && analysis.isLooped(op);
    if (split == looped)
      continue;
    InFlightDiagnostic diagnostic =
        function.emitOpError("expects result ")
        << number << (split ? ", which is split over" : " to be reduced over") << " micro-batches"
        << (split ? ", to be computed in each" : ", or split over them");
    diagnostic.attachNote(value.getLoc())
        << "it is computed here, once per " << (looped ? "micro-batch" : "step");
    return diagnostic;
  }
  return success();
}

LogicalResult SplitTasks::split(func::FuncOp function, MeshOp mesh) {
  SmallVector<int64_t> groups = getStageGroups(getOperation());
  auto devices = getDevices(getOperation(), mesh, groups);
  if (failed(devices))
    return failure();
  auto schedule = getOperation()->getAttrOfType<StringAttr>("st.schedule");
  std::optional<ScheduleKind> kind =
      parseScheduleKind(schedule ? schedule.getValue() : "sequential");
  bool hasWeightTasks = kind && splitsBackward(*kind);
  if (auto lists = getOperation()->getAttrOfType<ArrayAttr>(kScheduleOrderAttr))
    hasWeightTasks |= llvm::any_of(lists.getAsRange<StringAttr>(),
                                   [](StringAttr list) { return list.getValue().contains('W'); });
  auto analysis = TaskAnalysis::compute(function, mesh, groups, hasWeightTasks);
  if (failed(analysis) || failed(checkArguments(function, analysis->getNumStages())) ||
      failed(checkResults(*analysis)))
    return failure();

  OpBuilder builder(function);
  TransferChannels channels(*analysis);
  int64_t firstRank = 0;
  for (auto [group, ids] : llvm::enumerate(*devices)) {
    GroupPlan plan(*analysis, group);
    ProgramEmitter emitter(*analysis, plan, channels);
    if (failed(emitter.emit(builder, mesh, ids, firstRank)))
      return failure();
    firstRank += ids.size();
    numStashes += plan.getBuffered().size();
    numRecomputed += plan.getNumRecomputed();
  }
  function.erase();
  return success();
}

static constexpr FactContract kContract = {{Fact::Mesh, Fact::LocalTypes},
                                           FactSet::from(Fact::Programs)};

void SplitTasks::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(checkFacts(module, getArgument(), kContract)))
    return signalPassFailure();
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function || function.isExternal()) {
    emitError(module.getLoc()) << "expected a function @main with a body";
    return signalPassFailure();
  }
  if (!function.getBody().hasOneBlock()) {
    function.emitOpError("expects a body of one block");
    return signalPassFailure();
  }
  isolateRegions(function);
  if (failed(split(function, mlir::st::getMesh(module))))
    signalPassFailure();
}
