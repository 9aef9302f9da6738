#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/analysis/SimilarKernels.h"
#include "backends/cuda/codegen/kernels/KernelParts.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_LIFTCONSTANTS
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

namespace {
class LiftConstantsPass : public mlir::cuda::impl::LiftConstantsBase<LiftConstantsPass> {
public:
  void runOnOperation() override;

private:
  void lift(ArrayRef<mlir::st::KernelOp> equivalent);
};
} // namespace

/// Returns true for a scalar constant that a kernel could load, which excludes initial values.
static bool isLiftable(Operation &op) {
  auto constant = dyn_cast<hlo::ConstantOp>(op);
  return constant && cast<RankedTensorType>(constant.getType()).getRank() == 0 &&
         llvm::all_of(op.getUsers(), [&](Operation *user) {
           return user->getBlock() == op.getBlock() &&
                  (isa<hlo::BroadcastInDimOp>(user) || user->hasTrait<OpTrait::Elementwise>());
         });
}

static SmallVector<hlo::ConstantOp> liftableOf(mlir::st::KernelOp kernel) {
  SmallVector<hlo::ConstantOp> constants;
  for (Operation &op : kernel.getBody().front())
    if (isLiftable(op))
      constants.push_back(cast<hlo::ConstantOp>(op));
  return constants;
}

/// Returns true if two kernels differ only in constants that can be lifted.
static bool areEquivalent(mlir::st::KernelOp a, mlir::st::KernelOp b) {
  Block &left = a.getBody().front(), &right = b.getBody().front();
  if (a.getKind() != b.getKind() || a->getOperandTypes() != b->getOperandTypes() ||
      left.getOperations().size() != right.getOperations().size())
    return false;
  constexpr auto sameCode = OperationEquivalence::Flags(
      OperationEquivalence::IgnoreLocations | OperationEquivalence::IgnoreDiscardableAttrs);
  DenseMap<Value, Value> same;
  for (auto [x, y] : llvm::zip_equal(left.getArguments(), right.getArguments()))
    same[x] = y;
  auto check = [&](Value x, Value y) { return success(same.lookup(x) == y); };
  auto mark = [&](Value x, Value y) { same[x] = y; };
  for (auto [x, y] : llvm::zip_equal(left, right)) {
    if (isLiftable(x) && isLiftable(y) && x.getResultTypes() == y.getResultTypes())
      same[x.getResult(0)] = y.getResult(0);
    else if (!OperationEquivalence::isEquivalentTo(&x, &y, check, mark, sameCode))
      return false;
  }
  return true;
}

void LiftConstantsPass::lift(ArrayRef<mlir::st::KernelOp> equivalent) {
  SmallVector<SmallVector<hlo::ConstantOp>> constants = llvm::map_to_vector(equivalent, liftableOf);
  for (size_t number = 0; number < constants.front().size(); ++number) {
    auto valueOf = [&](SmallVector<hlo::ConstantOp> &own) { return own[number].getValue(); };
    if (llvm::all_equal(llvm::map_range(constants, valueOf)))
      continue;
    ++numLifted;
    for (size_t i = 0; i < equivalent.size(); ++i) {
      mlir::st::KernelOp kernel = equivalent[i];
      hlo::ConstantOp constant = constants[i][number];
      BlockArgument argument = kernel.getBody().addArgument(constant.getType(), constant.getLoc());
      constant.getResult().replaceAllUsesWith(argument);
      constant->moveBefore(kernel);
      kernel.getInputsMutable().append(constant.getResult());
    }
  }
}

void LiftConstantsPass::runOnOperation() {
  llvm::MapVector<size_t, SmallVector<SmallVector<mlir::st::KernelOp>>> groups;
  WalkResult walked = getOperation().walk([&](mlir::st::KernelOp kernel) {
    if (failed(checkUnplanned(kernel, getArgument())))
      return WalkResult::interrupt();
    if (!llvm::is_contained({"loop", "reduce", "attention"}, kernel.getKind()))
      return WalkResult::advance();
    auto &known = groups[hashKernel(kernel)];
    auto *group =
        llvm::find_if(known, [&](const auto &g) { return areEquivalent(g.front(), kernel); });
    if (group == known.end())
      group = &known.emplace_back();
    group->push_back(kernel);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return signalPassFailure();
  for (auto &[hash, equivalent] : groups)
    for (ArrayRef<mlir::st::KernelOp> group : equivalent)
      lift(group);
}
