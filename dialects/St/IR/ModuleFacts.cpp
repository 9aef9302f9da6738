#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::st;

namespace {
struct FactInfo {
  /// A description of the fact, and the pass that establishes it.
  StringLiteral what, maker;
};

class FactFinder {
public:
  explicit FactFinder(ModuleOp module);

  /// Facts that the module shows, and facts that hold because the module has no op that could
  /// contradict them.
  FactSet seen, vacuous;

private:
  void visitFunction(FunctionOpInterface function);
  void visitPort(DictionaryAttr attrs);
  void visitProgram(ProgramOp program);
  void visitTask(TaskOp task);
};
} // namespace

static constexpr FactInfo kFacts[kNumFacts] = {
    {"roles of arguments and results of @main", "infer-roles"},
    {"results of role \"gradient\"", "differentiate"},
    {"results of role \"parameter\"", "add-optimizer"},
    {"st.optimizer on the module", "add-optimizer"},
    {"an st.mesh", "apply-parallel-config"},
    {"st.stages on the module", "apply-parallel-config"},
    {"ops with st.sharding", "propagate-shardings"},
    {"ops with st.stage", "assign-stages"},
    {"arguments with st.global_type", "global-to-local"},
    {"st.program ops", "split-tasks"},
    {"tensor ops outside of kernels", "split-tasks"},
    {"an st.schedule in each st.program", "schedule-pipeline"},
    {"st.kernel ops", "form-kernels"},
    {"addresses of storage and values", "plan-memory"},
    {"device instructions", "convert-to-dtu"},
};

/// "st.kernel ops, which form-kernels leaves".
static std::string describe(Fact fact) {
  const FactInfo &info = kFacts[static_cast<unsigned>(fact)];
  return (info.what + ", which " + info.maker + " leaves").str();
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

FactFinder::FactFinder(ModuleOp module) {
  if (module->hasAttr("st.optimizer"))
    seen.insert(Fact::Optimizer);
  if (module->hasAttr("st.stages"))
    seen.insert(Fact::Layout);
  bool allScheduled = true;
  for (Operation &op : *module.getBody()) {
    if (isa<MeshOp>(op))
      seen.insert(Fact::Mesh);
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      visitFunction(function);
    if (auto program = dyn_cast<ProgramOp>(op)) {
      visitProgram(program);
      allScheduled &= !program.getOps<ScheduleOp>().empty();
    }
  }
  if (seen.contains(Fact::Programs) && allScheduled)
    seen.insert(Fact::Schedules);
}

void FactFinder::visitPort(DictionaryAttr attrs) {
  if (!attrs)
    return;
  if (attrs.contains(kRoleAttr))
    seen.insert(Fact::Roles);
  if (attrs.contains(kStageAttr))
    seen.insert(Fact::Stages);
  if (attrs.contains(kGlobalTypeAttr))
    seen.insert(Fact::LocalTypes);
}

void FactFinder::visitFunction(FunctionOpInterface function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    visitPort(function.getArgAttrDict(i));
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    visitPort(function.getResultAttrDict(i));
    auto role = function.getResultAttrOfType<StringAttr>(i, kRoleAttr);
    if (role && role == "gradient")
      seen.insert(Fact::Gradients);
    if (role && role == "parameter")
      seen.insert(Fact::Update);
  }
  bool isEmpty = true;
  for (Block &block : function.getFunctionBody())
    for (Operation &op : block.without_terminator()) {
      isEmpty = false;
      if (op.hasAttr(kShardingAttr) || isa<ReshardOp>(op))
        seen.insert(Fact::Shardings);
      if (op.hasAttr(kStageAttr))
        seen.insert(Fact::Stages);
    }
  if (isEmpty)
    vacuous.insert(Fact::Shardings);
}

void FactFinder::visitProgram(ProgramOp program) {
  seen.insert(Fact::Programs);
  for (Operation &op : program.getBody().front()) {
    if (op.getAttrOfType<AddressAttr>("address"))
      seen.insert(Fact::Addresses);
    if (auto task = dyn_cast<TaskOp>(op))
      visitTask(task);
  }
}

void FactFinder::visitTask(TaskOp task) {
  for (Operation &op : task.getBody().front()) {
    StringRef dialect = op.getName().getDialectNamespace();
    if (isa<KernelOp>(op))
      seen.insert(Fact::Kernels);
    // Views and constants may remain at task level.
    else if ((dialect == "stablehlo" || dialect == "chlo") &&
             !op.hasTrait<OpTrait::ConstantLike>() && op.getName().stripDialect() != "reshape")
      seen.insert(Fact::TensorOps);
    else if (dialect == "dtu")
      seen.insert(Fact::DeviceCode);
    if (op.hasAttr("st.addresses"))
      seen.insert(Fact::Addresses);
  }
}

//===----------------------------------------------------------------------===//
// Contracts
//===----------------------------------------------------------------------===//

LogicalResult mlir::st::checkFacts(ModuleOp module, StringRef who, const FactContract &contract) {
  FactFinder found(module);
  // The last fact identifies the module's phase best.
  std::optional<Fact> last, missing, refused;
  for (unsigned i = 0; i < kNumFacts; ++i) {
    Fact fact = static_cast<Fact>(i);
    if (found.seen.contains(fact)) {
      last = fact;
      if (contract.refused.contains(fact))
        refused = fact;
    } else if (contract.needed.contains(fact) && !found.vacuous.contains(fact)) {
      missing = missing.value_or(fact);
    }
  }
  if (refused)
    return emitError(module.getLoc())
           << who << ": found " << describe(*refused) << "; expected "
           << (*refused == Fact::TensorOps ? "form-kernels to have been run"
                                           : "a module from before that");
  if (missing) {
    InFlightDiagnostic error = emitError(module.getLoc())
                               << who << ": expected " << describe(*missing) << "; found ";
    return last ? error << describe(*last) : error << "a module without any mark of a phase";
  }
  return success();
}
