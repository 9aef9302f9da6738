#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/TaskConverter.h"

using namespace mlir;
using namespace mlir::cuda;

/// cuDNN reads 16 bytes at once.
static bool isAligned(const Place &place) { return place.alignment() == kMostAlignment; }

LogicalResult TaskConverter::convertChain(st::KernelOp kernel, ArrayRef<Place> places) {
  if (!attention.isTold)
    return launch(kernel, places);
  std::string reason;
  FailureOr<Attention> found = matchAttention(kernel, reason);
  if (failed(found) && reason.empty())
    return failure();
  if (succeeded(found) && !llvm::all_of(places, isAligned))
    reason = "its places are not aligned to 16 bytes";
  if (reason.empty())
    return convertAttention(kernel, *found, places);
  if (attention.explains)
    kernel.emitRemark() << "is not attention as cuDNN computes it: " << reason;
  return launch(kernel, places);
}

LogicalResult TaskConverter::convertAttention(st::KernelOp kernel, const Attention &found,
                                              ArrayRef<Place> places) {
  Location loc = kernel.getLoc();
  auto viewOf = [&](Value value) {
    if (!value)
      return Value();
    if (auto result = dyn_cast<OpResult>(value); result && result.getOwner() == kernel)
      return view(loc, places[kernel.getInputs().size() + result.getResultNumber()]);
    return view(loc, places[llvm::find(kernel.getInputs(), value) - kernel.getInputs().begin()]);
  };
  auto strides = [&](const Attention::Tensor &tensor) {
    return builder.getDenseI64ArrayAttr({tensor.batch, tensor.head, tensor.row});
  };
  const bool hasBias = found.bias.value != nullptr;
  Value q = viewOf(found.q.value), k = viewOf(found.k.value), v = viewOf(found.v.value);
  Value bias = hasBias ? viewOf(found.bias.value) : Value();
  Value o = viewOf(found.o.value), max = viewOf(found.max), sum = viewOf(found.sum);
  auto op = AttentionOp::create(
      builder, loc, q, k, v, bias, o, max, sum, found.batch, found.heads, found.rows, found.columns,
      found.depth, found.width, strides(found.q), strides(found.k), strides(found.v),
      strides(found.o), hasBias ? strides(found.bias) : DenseI64ArrayAttr(), APFloat(found.scale),
      found.isCausal);
  ++numAttention;
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  return launch(kernel, places);
}
