// Gradients of weights are added to their sums over micro-batches by the products that compute
// them.
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/products/Product.h"
#include "dialects/St/IR/ModuleFacts.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_ACCUMULATEINPRODUCTS
#include "backends/cuda/codegen/Passes.h.inc"

#include "mlir/IR/TypeUtilities.h"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

namespace {
struct AccumulateInProducts : mlir::cuda::impl::AccumulateInProductsBase<AccumulateInProducts> {
  using AccumulateInProductsBase::AccumulateInProductsBase;

  void runOnOperation() override;

private:
  void visit(TaskOp task);
};
} // namespace

/// Returns the kernel whose first result is the value, if the write is its only user.
static KernelOp findProduct(WriteOp write) {
  auto kernel = write.getValue().getDefiningOp<KernelOp>();
  const bool isProduct = kernel && kernel.getKind() == "matmul" &&
                         kernel->getBlock() == write->getBlock() &&
                         write.getValue() == kernel.getResult(0) && write.getValue().hasOneUse();
  if (!isProduct || !isa<FloatType>(getElementTypeOrSelf(write.getValue().getType())))
    return {};
  std::optional<cuda::Product> product = cuda::matchProductKernel(kernel);
  const bool canAdd = product && !product->addend && !product->bias &&
                      product->activation == cuda::Activation::None && product->result.hasOneUse();
  return canAdd ? kernel : KernelOp();
}

/// Adds the content of the write's target in the product, and stores the result there.
static void accumulateIn(KernelOp kernel, WriteOp write) {
  OpBuilder builder(kernel);
  auto held = ReadOp::create(builder, write.getLoc(), write.getValue().getType(),
                             write.getTargetAttr(), write.getMicroBatch());
  kernel.getInputsMutable().append(held.getResult());
  Block &body = kernel.getBody().front();
  Value addend = body.addArgument(held.getType(), write.getLoc());
  Operation *yield = body.getTerminator();
  builder.setInsertionPoint(yield);
  yield->setOperand(0, hlo::AddOp::create(builder, write.getLoc(), addend, yield->getOperand(0)));
  write.removeAccumulateAttr();
}

void AccumulateInProducts::visit(TaskOp task) {
  DenseMap<StringAttr, int64_t> accesses;
  task.walk([&](Operation *op) {
    if (auto read = dyn_cast<ReadOp>(op))
      ++accesses[read.getSourceAttr().getAttr()];
    if (auto write = dyn_cast<WriteOp>(op))
      ++accesses[write.getTargetAttr().getAttr()];
  });
  SmallVector<WriteOp> writes(task.getBody().getOps<WriteOp>());
  for (WriteOp write : writes) {
    if (write.getAccumulate() != ReduceKind::Sum ||
        accesses.lookup(write.getTargetAttr().getAttr()) != 1)
      continue;
    if (KernelOp kernel = findProduct(write)) {
      accumulateIn(kernel, write);
      ++numAccumulated;
    }
  }
}

void AccumulateInProducts::runOnOperation() {
  // Sums whose order is fixed have a separate form.
  if (getOperation()->hasAttr(kExactSumsAttr))
    return;
  for (auto program : getOperation().getOps<ProgramOp>())
    for (auto task : program.getOps<TaskOp>())
      visit(task);
}
