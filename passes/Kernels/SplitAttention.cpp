#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Utils/KernelParts.h"
#include "dialects/StableHLO/Utils/ProductStrides.h"
#include "passes/Kernels/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::st {
#define GEN_PASS_DEF_SPLITATTENTION
#include "passes/Kernels/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

namespace {
class SplitAttentionPass : public mlir::st::impl::SplitAttentionBase<SplitAttentionPass> {
public:
  using SplitAttentionBase::SplitAttentionBase;
  void runOnOperation() override;

private:
  LogicalResult split(KernelOp kernel);
};
} // namespace

/// Returns true if a result is a product that contracts rows which the kernel computes.
static bool isColumnProduct(Value result) {
  auto dot = result.getDefiningOp<hlo::DotGeneralOp>();
  return dot && !isa<BlockArgument>(dot.getLhs()) && mlir::st::contractsRows(dot);
}

/// Returns the first reductions on each path from the products' operands back to the arguments.
static llvm::SetVector<Value> findReductions(ArrayRef<Value> products) {
  llvm::SetVector<Value> reductions;
  SmallVector<Value> stack;
  DenseSet<Value> seen;
  for (Value product : products)
    stack.push_back(product.getDefiningOp<hlo::DotGeneralOp>().getLhs());
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (isa<hlo::ReduceOp>(op))
      reductions.insert(value);
    else
      llvm::append_range(stack, op->getOperands());
  }
  return reductions;
}

LogicalResult SplitAttentionPass::split(KernelOp kernel) {
  Operation *yield = kernel.getBody().front().getTerminator();
  SmallVector<Value> columns, others;
  for (Value value : yield->getOperands())
    (isColumnProduct(value) ? columns : others).push_back(value);
  if (columns.empty())
    return success();
  SmallVector<Value> reductions = findReductions(columns).takeVector();
  if (others.empty() && reductions.empty())
    return success();
  if (failed(checkUnplanned(kernel, getArgument())))
    return failure();
  SmallVector<Value> outputs = others;
  for (Value reduction : reductions)
    if (!llvm::is_contained(outputs, reduction))
      outputs.push_back(reduction);
  OpBuilder builder(kernel);
  auto first = makePart(builder, kernel, "attention", outputs, {});
  if (first.getBody().front().getOps<hlo::DotGeneralOp>().empty())
    first.setKind("loop");
  auto created = [&](Value value) {
    return first.getResult(llvm::find(outputs, value) - outputs.begin());
  };
  SmallVector<Cut> cuts = llvm::map_to_vector(reductions, [&](Value value) {
    return Cut{value, created(value)};
  });
  auto second = makePart(builder, kernel, "attention", columns, cuts);
  size_t next = 0;
  for (auto [value, result] : llvm::zip_equal(yield->getOperands(), kernel.getResults()))
    result.replaceAllUsesWith(isColumnProduct(value) ? second.getResult(next++) : created(value));
  kernel.erase();
  ++numSplit;
  return success();
}

/// Merges inputs of products that are the same value, so that products are seen to read the same
/// matrix. Other inputs stay separate: a mask may read one vector along rows and along columns.
static void mergeInputs(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto isOfProduct = [&](unsigned i) {
    return llvm::any_of(body.getArgument(i).getUsers(), llvm::IsaPred<hlo::DotGeneralOp>);
  };
  for (unsigned i = body.getNumArguments(); i-- > 0;) {
    const auto same = llvm::find(kernel.getInputs(), kernel.getInputs()[i]);
    const auto first = static_cast<unsigned>(same - kernel.getInputs().begin());
    if (first == i || !isOfProduct(i) || !isOfProduct(first))
      continue;
    body.getArgument(i).replaceAllUsesWith(body.getArgument(first));
    body.eraseArgument(i);
    kernel->eraseOperand(i);
  }
}

void SplitAttentionPass::runOnOperation() {
  SmallVector<KernelOp> kernels;
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel.getKind() == "attention" && (!streamedOnly || kernel->hasAttr(kStreamedAttr)))
      kernels.push_back(kernel);
  });
  for (KernelOp kernel : kernels) {
    mergeInputs(kernel);
    if (failed(split(kernel)))
      return signalPassFailure();
  }
}
