#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Kernels/KernelBuilder.h"
#include "passes/Kernels/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/Kernels/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct FormKernels : mlir::st::impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;
  void runOnOperation() override;
  LogicalResult formKernels(Block &block, const SymbolTable &storage, const FusionLimits &limits);
};
} // namespace

/// Reads move to the front of a task, so their source must not have been written before.
static LogicalResult checkReads(Block &task) {
  DenseMap<StringAttr, WriteOp> written;
  for (Operation &op : task) {
    if (auto write = dyn_cast<WriteOp>(op))
      written[write.getTargetAttr().getAttr()] = write;
    auto read = dyn_cast<ReadOp>(op);
    if (!read)
      continue;
    if (WriteOp write = written.lookup(read.getSourceAttr().getAttr())) {
      InFlightDiagnostic diagnostic =
          read.emitOpError("reads @")
          << read.getSource()
          << " after the task has written it; expected reads of earlier tasks' values";
      diagnostic.attachNote(write.getLoc()) << "written here";
      return diagnostic;
    }
  }
  return success();
}

/// Plans the kernels of a task. In the form Auto, rows are first resident. If some do not fit, a
/// second plan streams rows. Reductions whose rows do not fit and are not in a fused kernel of that
/// plan become resident again, and the plan is repeated.
static FailureOr<std::unique_ptr<KernelPlan>> planKernels(Block &block, const SymbolTable &storage,
                                                          const FusionLimits &limits) {
  FusionLimits first = limits;
  const bool isAuto = limits.attention == AttentionForm::Auto;
  if (isAuto)
    first.attention = AttentionForm::Resident;
  auto plan = std::make_unique<KernelPlan>(block, storage, first);
  if (failed(plan->build()))
    return failure();
  if (!isAuto || !(plan->hasLongRows() || limits.prefersStreamed))
    return plan;
  DenseSet<Operation *> resident;
  while (true) {
    auto streamed = std::make_unique<KernelPlan>(block, storage, limits, resident);
    if (failed(streamed->build()))
      return failure();
    if (!streamed->hasStreamedRows())
      return plan;
    SmallVector<Operation *> reductions = streamed->getLongReductions();
    if (reductions.empty())
      return streamed;
    resident.insert_range(reductions);
  }
}

LogicalResult FormKernels::formKernels(Block &block, const SymbolTable &storage,
                                       const FusionLimits &limits) {
  if (failed(checkReads(block)))
    return failure();
  // The body of a loop is like a task.
  for (auto loop : block.getOps<LoopOp>())
    if (failed(formKernels(loop.getBody().front(), storage, limits)))
      return failure();
  // Dead ops would add dependences.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  FailureOr<std::unique_ptr<KernelPlan>> plan = planKernels(block, storage, limits);
  if (failed(plan))
    return failure();
  if (std::optional<LongRows> rows = (*plan)->getLongRows())
    rows->product->emitRemark("and the product before it are not fused: a core holds ")
        << rows->rows << " of their rows of " << rows->elements << " elements, expected at least "
        << rows->needed;
  numKernels += TaskRebuilder(block, **plan).run();
  return success();
}

static constexpr FactContract kContract = {{Fact::Programs}, FactSet::from(Fact::Kernels)};

void FormKernels::runOnOperation() {
  if (failed(checkFacts(getOperation(), getArgument(), kContract)))
    return signalPassFailure();
  FusionLimits limits;
  limits.maxOps = maxOps;
  limits.maxInputs = maxInputs;
  limits.attention = attention;
  limits.masksInline = attention == AttentionForm::Streamed || attention == AttentionForm::Auto;
  limits.prefersStreamed = getOperation()->hasAttr(kRingAxisAttr);
  if (auto target = getOperation()->getAttrOfType<TargetAttr>("st.target"))
    limits.scratchBytes = target.getScratchBytes();
  if (auto cores = getOperation()->getAttrOfType<IntegerAttr>("st.cores"))
    limits.cores = cores.getInt();
  if (auto bytes = getOperation()->getAttrOfType<IntegerAttr>("st.shared_bytes"))
    limits.sharedBytes = bytes.getInt();
  for (auto program : getOperation().getOps<ProgramOp>()) {
    SymbolTable storage(program);
    for (auto task : program.getOps<TaskOp>())
      if (failed(formKernels(task.getBody().front(), storage, limits)))
        return signalPassFailure();
  }
}
