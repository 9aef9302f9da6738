#include "lib/Reference/Evaluation/RegionComputation.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/TensorTypes.h"

#include <cstring>

namespace mlir::st::ref {
namespace {

// The kind of a block that returns one binary op of its two arguments, in order.
std::optional<BinaryKind> matchBinary(Block &block) {
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return std::nullopt;
  Operation &op = block.front(), &terminator = block.back();
  std::optional<BinaryKind> kind = getBinaryKind(op);
  bool isDirect =
      kind && terminator.getNumOperands() == 1 && terminator.getOperand(0) == op.getResult(0);
  if (!isDirect)
    return std::nullopt;
  bool inOrder =
      op.getOperand(0) == block.getArgument(0) && op.getOperand(1) == block.getArgument(1);
  bool swapped =
      op.getOperand(0) == block.getArgument(1) && op.getOperand(1) == block.getArgument(0);
  if (inOrder || (swapped && op.hasTrait<OpTrait::IsCommutative>()))
    return kind;
  return std::nullopt;
}

bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0;
}

bool canVectorize(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!isa<stablehlo::ConstantOp>(op) && !isElementwise(op))
      return false;
    else if (!llvm::all_of(op.getOperandTypes(), isScalar) ||
             !llvm::all_of(op.getResultTypes(), isScalar))
      return false;
  return llvm::all_of(block.getArgumentTypes(), isScalar);
}

} // namespace

RegionComputation::RegionComputation(Evaluator &evaluator, int64_t rank, Region &region)
    : evaluator(evaluator), rank(rank), block(region.front()), binaryKind(matchBinary(block)),
      isVectorizable(canVectorize(block)) {}

bool RegionComputation::apply(ArrayRef<Tensor> args, SmallVectorImpl<Tensor> &results) const {
  if (binaryKind) {
    results.push_back(binary(*binaryKind, args[0], args[1]));
    if (results.back())
      return true;
    return failed(block.front().emitError(
               "the reference interpreter does not define this op on these types")),
           false;
  }
  return succeeded(isVectorizable ? applyAtOnce(args, results) : applyOneByOne(args, results));
}

LogicalResult RegionComputation::applyAtOnce(ArrayRef<Tensor> args,
                                             SmallVectorImpl<Tensor> &results) const {
  DenseMap<Value, Tensor> local;
  for (auto [argument, tensor] : llvm::zip_equal(block.getArguments(), args))
    local[argument] = tensor;
  auto lookup = [&](Value value) {
    auto it = local.find(value);
    return it != local.end() ? it->second : evaluator.get(value)[rank];
  };
  for (Operation &op : block.without_terminator()) {
    SmallVector<Tensor, 4> operands, values;
    for (Value operand : op.getOperands())
      operands.push_back(lookup(operand));
    TensorCall call{op, operands, values, evaluator, rank};
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
      values.push_back(fromAttribute(constant.getValue()));
    else
      evalElementwise(call);
    if (!values[0])
      return op.emitError("the reference interpreter does not define this op on these types");
    local[op.getResult(0)] = values[0];
  }
  for (Value value : block.getTerminator()->getOperands()) {
    // A value that depends on no argument is still one scalar.
    Tensor result = lookup(value);
    results.push_back(result.getRank() == 0 ? splat(result, args[0].getShape()) : result);
  }
  return success();
}

LogicalResult RegionComputation::applyOneByOne(ArrayRef<Tensor> args,
                                               SmallVectorImpl<Tensor> &results) const {
  auto copyElement = [](const Tensor &from, int64_t i, Tensor &to, int64_t j) {
    size_t width = ::st::byteWidth(from.getType());
    std::memcpy(to.mutableData<std::byte>() + j * static_cast<int64_t>(width),
                from.bytes() + i * static_cast<int64_t>(width), width);
  };
  for (Type type : block.getTerminator()->getOperandTypes()) {
    std::optional<ElementType> element = getTensorElementType(type);
    if (!element)
      return block.getTerminator()->emitError(
                 "the reference interpreter does not support values of type ")
             << type;
    results.emplace_back(*element, args[0].getShape());
  }
  return evaluator.onRanks(rank, [&]() -> LogicalResult {
    for (int64_t i = 0; i < args[0].getNumElements(); ++i) {
      SmallVector<RankValues, 4> scalars, values;
      for (const Tensor &tensor : args) {
        scalars.emplace_back(evaluator.getNumRanks());
        scalars.back()[rank] = Tensor(tensor.getType(), {});
        copyElement(tensor, i, scalars.back()[rank], 0);
      }
      if (failed(evaluator.evalBlock(block, scalars, values)))
        return failure();
      for (auto [result, value] : llvm::zip_equal(results, values))
        copyElement(value[rank], 0, result, i);
    }
    return success();
  });
}

} // namespace mlir::st::ref
