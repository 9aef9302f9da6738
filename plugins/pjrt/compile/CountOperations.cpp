#include "plugins/pjrt/compile/CountOperations.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/CountedLoop.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Kernels/OpKinds.h"

using namespace mlir;
namespace hlo = mlir::stablehlo;

namespace st::pjrt {

static double elementsOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? static_cast<double>(tensor.getNumElements()) : 0;
}

/// Products that are summed up in each element of the result.
static double productsPerElement(Operation *op) {
  double count = 1;
  if (auto dot = dyn_cast<hlo::DotGeneralOp>(op)) {
    auto left = cast<RankedTensorType>(dot.getLhs().getType());
    for (int64_t dim : dot.getDotDimensionNumbers().getLhsContractingDimensions())
      count *= static_cast<double>(left.getDimSize(dim));
    return count;
  }
  auto convolution = cast<hlo::ConvolutionOp>(op);
  auto kernel = cast<RankedTensorType>(convolution.getRhs().getType());
  const int64_t features =
      kernel.getDimSize(convolution.getDimensionNumbers().getKernelOutputFeatureDimension());
  return features == 0 ? 0 : elementsOf(convolution.getRhs()) / static_cast<double>(features);
}

static void count(Operation *op, double times, OperationCounts &counts) {
  if (auto loop = dyn_cast<hlo::WhileOp>(op))
    if (std::optional<mlir::st::CountedLoop> counted = mlir::st::findCountedLoop(loop))
      times *= static_cast<double>(counted->trips);
  if (isa<hlo::DotGeneralOp, hlo::ConvolutionOp>(op))
    counts.flops += times * 2 * elementsOf(op->getResult(0)) * productsPerElement(op);
  else if (isa<hlo::ReduceOp, hlo::ReduceWindowOp>(op))
    counts.flops += times * elementsOf(op->getOperand(0));
  else if (op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() > 0)
    (mlir::st::isTranscendental(op) ? counts.transcendentals : counts.flops) +=
        times * elementsOf(op->getResult(0));
  if (!isa<hlo::WhileOp, hlo::IfOp, hlo::CaseOp, func::FuncOp>(op))
    return;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      count(&inner, times, counts);
}

OperationCounts countOperations(ModuleOp module) {
  OperationCounts counts;
  if (auto function = module.lookupSymbol<func::FuncOp>("main"))
    count(function, 1, counts);
  return counts;
}

} // namespace st::pjrt
