#include "backends/cuda/codegen/kernels/KernelParts.h"

#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::cuda;

Value mlir::cuda::makeConversion(OpBuilder &builder, mlir::st::KernelOp user, Value value,
                                 Type element) {
  Type result = cast<RankedTensorType>(value.getType()).clone(element);
  return makeKernel(builder, user, "loop", value, result,
                    [&](OpBuilder &inside, ValueRange inputs) -> Value {
                      return stablehlo::ConvertOp::create(inside, user.getLoc(), result, inputs[0]);
                    });
}
