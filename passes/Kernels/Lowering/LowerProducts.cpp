// Products that no engine supports, as elementwise steps, and products of attention whose rows are
// their right operand.

#include "passes/Kernels/Lowering/LowerTensorOps.h"

using namespace mlir;
using namespace mlir::st;

/// Returns true if a value follows element by element from a product of activations (one with batch
/// dimensions), as probabilities do from scores.
static bool followsProduct(Value value) {
  constexpr size_t kMaxOps = 64;
  const int64_t elements = Emitter::typeOf(value).getNumElements();
  llvm::SmallSetVector<Operation *, 16> ops;
  auto visit = [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    if (op && Emitter::typeOf(operand).getNumElements() == elements)
      ops.insert(op);
  };
  visit(value);
  for (size_t i = 0; i < std::min(ops.size(), kMaxOps); ++i) {
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(ops[i])) {
      if (!dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty())
        return true;
    } else if (ops[i]->hasTrait<OpTrait::Elementwise>() ||
               isa<stablehlo::ConvertOp, stablehlo::SelectOp, stablehlo::ReshapeOp>(ops[i])) {
      llvm::for_each(ops[i]->getOperands(), visit);
    }
  }
  return false;
}

/// Kernels of attention take rows as left operands; JAX's einsum and gradients also print them as
/// right ones. Exchanges the operands, and the free dimensions of the result.
static Replacement exchangeOperands(Emitter &emit, stablehlo::DotGeneralOp op) {
  auto numbers = op.getDotDimensionNumbers();
  Value lhs = op.getLhs(), rhs = op.getRhs();
  const size_t batch = numbers.getLhsBatchingDimensions().size();
  // An algorithm names the types of the left and the right operand.
  if (batch == 0 || op.getAlgorithmAttr() ||
      Emitter::typeOf(rhs).getNumElements() <= Emitter::typeOf(lhs).getNumElements() ||
      !followsProduct(rhs) || followsProduct(lhs))
    return std::nullopt;
  ArrayAttr precision = op.getPrecisionConfigAttr();
  if (precision)
    precision = emit.builder.getArrayAttr(llvm::to_vector(llvm::reverse(precision)));
  auto list = [](ArrayRef<int64_t> dims) { return SmallVector<int64_t>(dims); };
  Value exchanged = emit.dot(
      rhs, lhs,
      {list(numbers.getRhsBatchingDimensions()), list(numbers.getLhsBatchingDimensions()),
       list(numbers.getRhsContractingDimensions()), list(numbers.getLhsContractingDimensions())},
      precision, Emitter::typeOf(op.getResult()).getElementType());
  const size_t contracted = numbers.getLhsContractingDimensions().size(),
               rank = Emitter::typeOf(op.getResult()).getRank(),
               right = Emitter::typeOf(rhs).getRank() - batch - contracted;
  SmallVector<int64_t> order;
  for (size_t i = 0; i < batch; ++i)
    order.push_back(i);
  for (size_t i = batch + right; i < rank; ++i)
    order.push_back(i);
  for (size_t i = batch; i < batch + right; ++i)
    order.push_back(i);
  return SmallVector<Value>{emit.transpose(exchanged, order)};
}

Replacement mlir::st::lowerProduct(Emitter &emit, stablehlo::DotGeneralOp op) {
  Type left = Emitter::typeOf(op.getLhs()).getElementType(),
       right = Emitter::typeOf(op.getRhs()).getElementType();
  Type elementType = Emitter::typeOf(op.getResult()).getElementType();
  if (isa<ComplexType>(left) || isa<ComplexType>(right) ||
      Emitter::typeOf(op.getResult()).getNumElements() == 0)
    return std::nullopt;
  // Empty sums.
  if (Emitter::typeOf(op.getLhs()).getNumElements() == 0)
    return SmallVector<Value>{emit.zerosLike(op.getResult())};
  if (left == right && (left.isF32() || left.isBF16() || left.isF16()) &&
      elementType.getIntOrFloatBitWidth() <= 32)
    return exchangeOperands(emit, op);
  auto numbers = op.getDotDimensionNumbers();
  // [batch, rows, depth] and [batch, columns, depth], each one dimension.
  auto arrange = [&](Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    ArrayRef<int64_t> shape = Emitter::shapeOf(value);
    SmallVector<int64_t> free = remainingDims(shape.size(), batch, contract), order(batch);
    llvm::append_range(order, free);
    llvm::append_range(order, contract);
    auto volume = [&](ArrayRef<int64_t> dims) {
      int64_t size = 1;
      for (int64_t dim : dims)
        size *= shape[dim];
      return size;
    };
    SmallVector<int64_t> sizes = {volume(batch), volume(free), volume(contract)};
    return emit.convert(emit.reshape(emit.transpose(value, order), sizes), elementType);
  };
  Value lhs = arrange(op.getLhs(), numbers.getLhsBatchingDimensions(),
                      numbers.getLhsContractingDimensions());
  Value rhs = arrange(op.getRhs(), numbers.getRhsBatchingDimensions(),
                      numbers.getRhsContractingDimensions());
  ArrayRef<int64_t> a = Emitter::shapeOf(lhs), b = Emitter::shapeOf(rhs);
  SmallVector<int64_t> space = {a[0], a[1], b[1], a[2]};
  Value products =
      emit.mul(emit.broadcast(lhs, {0, 1, 3}, space), emit.broadcast(rhs, {0, 2, 3}, space));
  return SmallVector<Value>{
      emit.reshape(emit.reduceAdd(products, {3}), Emitter::shapeOf(op.getResult()))};
}
