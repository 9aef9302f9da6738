#include "backends/cuda/IR/CudaDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::cuda;

static Type elementOf(Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); }

/// Returns true if `counts` rows of `width` elements, with strides to the next batch, head and row,
/// are inside a buffer.
static bool fitsIn(Value buffer, ArrayRef<int64_t> strides, ArrayRef<int64_t> counts,
                   int64_t width) {
  int64_t last = width - 1;
  for (auto [stride, count] : llvm::zip_equal(strides, counts)) {
    int64_t distance;
    if (stride < 0 || llvm::MulOverflow(stride, count - 1, distance) ||
        llvm::AddOverflow(last, distance, last))
      return false;
  }
  return last < cast<MemRefType>(buffer.getType()).getNumElements();
}

LogicalResult mlir::cuda::verifyIsBody(Operation *user, Block &body) {
  for (Operation &op : body)
    if (!isMemoryEffectFree(&op) && !isa<gpu::LaunchFuncOp, gpu::MemcpyOp, ProductOp>(op))
      return user->emitOpError("has a body that does more than launches, products and copies")
                 .attachNote(op.getLoc())
             << op.getName() << " is here";
  return success();
}

LogicalResult AttentionOp::verify() {
  const int64_t batch = getBatch(), heads = getHeads(), rows = getRows(), columns = getColumns(),
                depth = getDepth(), width = getWidth();
  for (int64_t size : {batch, heads, rows, columns, depth, width})
    if (size < 1)
      return emitOpError("has a size of ") << size << ", expected sizes of at least 1";
  const auto group = static_cast<int64_t>(getGroup());
  if (group < 1 || heads % group != 0)
    return emitOpError("has groups of ") << group << " heads, expected a divisor of " << heads;
  const Type type = elementOf(getQ());
  if (!type.isF16() && !type.isBF16())
    return emitOpError("is of ") << type << ", expected a 16-bit type";
  struct Tensor {
    StringRef name;
    Value buffer;
    std::optional<ArrayRef<int64_t>> strides;
    int64_t rows, width;
    Type type;
  };
  const Type f32 = Float32Type::get(getContext());
  const int64_t dense[] = {heads * rows, rows, 1};
  auto statistic = [&](Value buffer) {
    return buffer ? std::optional(ArrayRef<int64_t>(dense)) : std::nullopt;
  };
  const Tensor tensors[] = {{"q", getQ(), getQStrides(), rows, depth, type},
                            {"k", getK(), getKStrides(), columns, depth, type},
                            {"v", getV(), getVStrides(), columns, width, type},
                            {"o", getO(), getOStrides(), rows, width, type},
                            {"bias", getBias(), getBiasStrides(), rows, columns, f32},
                            {"max", getMax(), statistic(getMax()), rows, 1, f32},
                            {"sum", getSum(), statistic(getSum()), rows, 1, f32},
                            {"do", getDO(), getDOStrides(), rows, width, type},
                            {"dq", getDQ(), getDQStrides(), rows, depth, type},
                            {"dk", getDK(), getDKStrides(), columns, depth, type},
                            {"dv", getDV(), getDVStrides(), columns, width, type}};
  if (getBias() && getCausal())
    return emitOpError("is causal and has a bias, expected at most one of them");
  const bool isGradient = getDO() && getDQ() && getDK() && getDV() && !getO();
  if (!isGradient && (!getO() || getDO() || getDQ() || getDK() || getDV()))
    return emitOpError("computes neither o nor the gradients of q, k and v");
  for (const Tensor &tensor : tensors) {
    if (bool(tensor.buffer) != tensor.strides.has_value())
      return emitOpError("has ") << tensor.name << " without strides or strides without it";
    if (!tensor.buffer)
      continue;
    if (elementOf(tensor.buffer) != tensor.type)
      return emitOpError("has ") << tensor.name << " of " << elementOf(tensor.buffer)
                                 << ", expected " << tensor.type;
    if (tensor.strides->size() != 3)
      return emitOpError("has ") << tensor.strides->size() << " strides of " << tensor.name
                                 << ", expected those of batch, head and row";
    const bool isShared = tensor.name == "k" || tensor.name == "v";
    if (!fitsIn(tensor.buffer, *tensor.strides,
                {batch, isShared ? heads / group : heads, tensor.rows}, tensor.width))
      return emitOpError("has ") << tensor.name << " with strides that exceed its buffer";
  }
  return verifyIsBody(*this, getBody().front());
}
