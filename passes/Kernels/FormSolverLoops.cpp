// Decompositions and solvers of batches of matrices, one row per trip. Complex ones became real at
// import.

#include "passes/Kernels/FormLoops.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

/// Merges all dimensions but the last two.
static Value flattenBatch(Emitter &emit, Value x) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(x);
  int64_t batch = 1;
  for (int64_t size : shape.drop_back(2))
    batch *= size;
  return emit.reshape(x, {batch, shape[shape.size() - 2], shape.back()});
}

static Value transposed(Emitter &emit, Value x) { return emit.transpose(x, {0, 2, 1}); }

/// A mask of the matrix elements whose row and column compare as given.
static Value compareRowAndColumn(Emitter &emit, Direction direction, ArrayRef<int64_t> shape) {
  Type i32 = emit.builder.getI32Type();
  return emit.compare(direction, emit.iota(shape, i32, 1), emit.iota(shape, i32, 2));
}

static Value rowOf(Emitter &emit, Value x, Value row) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(x);
  Value zero = emit.zerosLike(row);
  return emit.dynamicSlice(x, {zero, row, zero}, {shape[0], 1, shape[2]});
}

static Value withRow(Emitter &emit, Value x, Value update, Value row) {
  Value zero = emit.zerosLike(row);
  return emit.dynamicUpdateSlice(x, update, {zero, row, zero});
}

static bool isSolvable(Value a) {
  RankedTensorType type = Emitter::typeOf(a);
  return isa<FloatType>(type.getElementType()) && type.getNumElements() > 0;
}

/// Row j of the upper factor U follows from the rows before it: it is row j of the operand minus
/// the products of the known rows, divided by the root of its first element.
Value mlir::st::formCholeskyLoop(Emitter &emit, stablehlo::CholeskyOp op) {
  if (!isSolvable(op.getA()))
    return nullptr;
  Value a = flattenBatch(emit, op.getA());
  if (op.getLower())
    a = transposed(emit, a);
  SmallVector<int64_t> shape(Emitter::shapeOf(a));
  int64_t batch = shape[0], size = shape[1];
  SmallVector<int64_t> row = {batch, 1, size};
  Value upper =
      emitLoop(emit, size, emit.zerosLike(a), [&](Emitter &body, Value j, ValueRange carried) {
        Value zero = body.zerosLike(j);
        Value column = body.dynamicSlice(carried[0], {zero, zero, j}, {batch, size, 1});
        Value known = body.dot(column, carried[0], {{0}, {0}, {1}, {1}});
        Value rest = body.sub(rowOf(body, a, j), known);
        Value first = body.dynamicSlice(rest, {zero, zero, j}, {batch, 1, 1});
        Value root = body.broadcast(body.sqrt(first), {0, 1, 2}, row);
        Value place = body.iota(row, body.builder.getI32Type(), 2);
        Value current = body.broadcast(j, {}, row);
        Value behind = body.select(body.compare(Direction::GT, place, current),
                                   body.div(rest, root), body.zerosLike(rest));
        Value created = body.select(body.compare(Direction::EQ, place, current), root, behind);
        return SmallVector<Value>{withRow(body, carried[0], created, j)};
      })[0];
  // A matrix that is not positive definite has no factor.
  Value isDiagonal = compareRowAndColumn(emit, Direction::EQ, shape);
  Value isPositive = emit.compare(Direction::GT, upper, emit.zerosLike(upper));
  Value isWrong = emit.bitAnd(isDiagonal, emit.bitXor(isPositive, emit.splatLike(isPositive, 1)));
  Type element = Emitter::typeOf(upper).getElementType();
  Value wrong = emit.reduceMax(emit.convert(isWrong, element), {1, 2});
  Value hasNone =
      emit.broadcast(emit.compare(Direction::GT, wrong, emit.zerosLike(wrong)), {0}, shape);
  Value nan = emit.splatLike(upper, std::numeric_limits<double>::quiet_NaN());
  Value isUpper = compareRowAndColumn(emit, Direction::LE, shape);
  upper = emit.select(emit.bitAnd(hasNone, isUpper), nan, upper);
  Value result = op.getLower() ? transposed(emit, upper) : upper;
  return emit.reshape(result, Emitter::shapeOf(op.getA()));
}

/// Solves T x = b, with T on the left. Row i of x is row i of b minus the product of row i of T
/// without its diagonal and the known rows of x, the others being zero.
Value mlir::st::formSolveLoop(Emitter &emit, stablehlo::TriangularSolveOp op) {
  if (!isSolvable(op.getA()) || !isSolvable(op.getB()))
    return nullptr;
  Value t = flattenBatch(emit, op.getA()), b = flattenBatch(emit, op.getB());
  // x a = b is the transpose of a^T x^T = b^T.
  bool left = op.getLeftSide(), lower = op.getLower();
  if ((op.getTransposeA() != stablehlo::Transpose::NO_TRANSPOSE) == left) {
    t = transposed(emit, t);
    lower = !lower;
  }
  if (!left)
    b = transposed(emit, b);
  SmallVector<int64_t> shape(Emitter::shapeOf(t)), solved(Emitter::shapeOf(b));
  int64_t size = shape[1];
  Value isUsed = compareRowAndColumn(emit, lower ? Direction::GT : Direction::LT, shape);
  Value used = emit.select(isUsed, t, emit.zerosLike(t)), diagonal;
  if (!op.getUnitDiagonal()) {
    Value isDiagonal = compareRowAndColumn(emit, Direction::EQ, shape);
    diagonal = emit.reduceAdd(emit.select(isDiagonal, t, emit.zerosLike(t)), {2});
    diagonal = emit.reshape(diagonal, {shape[0], size, 1});
  }
  Value x =
      emitLoop(emit, size, emit.zerosLike(b), [&](Emitter &body, Value trip, ValueRange carried) {
        Value i =
            lower ? trip : body.sub(body.splatLike(trip, static_cast<double>(size - 1)), trip);
        Value known = body.dot(rowOf(body, used, i), carried[0], {{0}, {0}, {2}, {1}});
        Value row = body.sub(rowOf(body, b, i), known);
        if (diagonal)
          row = body.div(
              row, body.broadcast(rowOf(body, diagonal, i), {0, 1, 2}, {solved[0], 1, solved[2]}));
        return SmallVector<Value>{withRow(body, carried[0], row, i)};
      })[0];
  return emit.reshape(left ? x : transposed(emit, x), Emitter::shapeOf(op.getB()));
}
