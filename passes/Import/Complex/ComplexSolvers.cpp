// Decompositions and solvers of complex matrices through real ones of twice the size.
//
// Each number becomes a block [[re, -im], [im, re]]. This preserves sums and products, and
// triangular form if the diagonal's imaginary parts are zero: a factor with a real diagonal is the
// block form of the complex one. A triangular system is divided by its diagonal first.

#include "passes/Import/Complex/ComplexParts.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

/// Stacks two tensors along a new dimension before `dim`.
static Value stack(Emitter &emit, Value first, Value second, int64_t dim) {
  SmallVector<int64_t> shape(Emitter::shapeOf(first));
  shape.insert(shape.begin() + dim, 1);
  return emit.concatenate({emit.reshape(first, shape), emit.reshape(second, shape)}, dim);
}

/// Merges dimension `dim` with the parts' dimension after it.
static Value joinParts(Emitter &emit, Value x, int64_t dim) {
  SmallVector<int64_t> shape(Emitter::shapeOf(x));
  shape[dim] *= 2;
  shape.erase(shape.begin() + dim + 1);
  return emit.reshape(x, shape);
}

/// Every other element of a dimension.
static Value everyOther(Emitter &emit, Value x, int64_t dim, int64_t first) {
  SmallVector<int64_t> starts(Emitter::typeOf(x).getRank(), 0), strides(starts.size(), 1),
      limits(Emitter::shapeOf(x));
  starts[dim] = first;
  strides[dim] = 2;
  return emit.slice(x, starts, limits, strides);
}

/// A mask of the diagonal.
static Value isDiagonal(Emitter &emit, Value like) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(like);
  auto rank = static_cast<int64_t>(shape.size());
  Type i32 = emit.builder.getI32Type();
  return emit.compare(Direction::EQ, emit.iota(shape, i32, rank - 2),
                      emit.iota(shape, i32, rank - 1));
}

/// The real block matrices; the diagonal counts as real.
static Value blocksOf(Emitter &emit, Parts a) {
  int64_t rank = Emitter::typeOf(a.re).getRank();
  Value im = emit.select(isDiagonal(emit, a.im), emit.zerosLike(a.im), a.im);
  Value upper = stack(emit, a.re, emit.neg(im), rank), lower = stack(emit, im, a.re, rank);
  Value blocks = joinParts(emit, stack(emit, upper, lower, rank - 1), rank - 2);
  return joinParts(emit, blocks, rank - 1);
}

Parts mlir::st::expandCholesky(Emitter &emit, stablehlo::CholeskyOp op, Parts a) {
  Value blocks = blocksOf(emit, a);
  int64_t rank = Emitter::typeOf(blocks).getRank();
  Value factor = stablehlo::CholeskyOp::create(emit.builder, emit.loc, blocks.getType(), blocks,
                                               op.getLower());
  Value left = everyOther(emit, factor, rank - 1, 0);
  Parts result = {everyOther(emit, left, rank - 2, 0), everyOther(emit, left, rank - 2, 1)};
  // A matrix without a factor has NaN in its real parts.
  Value isNumber = emit.compare(Direction::EQ, result.re, result.re);
  return {result.re, emit.select(isNumber, result.im, emit.zerosLike(result.im))};
}

/// op(a) is C, or C^H if transposed, and C = D T with the diagonal D. Divides the rows of b, or of
/// the solution, by D, or the columns if a is on the right.
Parts mlir::st::expandTriangularSolve(Emitter &emit, stablehlo::TriangularSolveOp op, Parts a,
                                      Parts b) {
  ComplexEmitter math(emit);
  auto transpose = op.getTransposeA();
  bool left = op.getLeftSide(), isTransposed = transpose != stablehlo::Transpose::NO_TRANSPOSE;
  if (transpose == stablehlo::Transpose::TRANSPOSE)
    a = math.conjugate(a);
  ArrayRef<int64_t> shape = Emitter::shapeOf(a.re), sides = Emitter::shapeOf(b.re);
  auto rank = static_cast<int64_t>(shape.size());
  auto batch = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  SmallVector<int64_t> along(batch);
  along.push_back(left ? rank - 2 : rank - 1);
  Parts diagonal;
  if (!op.getUnitDiagonal()) {
    Value isOnIt = isDiagonal(emit, a.re);
    auto take = [&](Value x) {
      return emit.reduceAdd(emit.select(isOnIt, x, emit.zerosLike(x)), {rank - 1});
    };
    diagonal = {take(a.re), take(a.im)};
    SmallVector<int64_t> rows(batch);
    rows.push_back(rank - 2);
    a = math.div(
        a, {emit.broadcast(diagonal.re, rows, shape), emit.broadcast(diagonal.im, rows, shape)});
  }
  auto divided = [&](Parts x) {
    if (!diagonal.re)
      return x;
    Parts by = {emit.broadcast(diagonal.re, along, sides),
                emit.broadcast(diagonal.im, along, sides)};
    return math.div(x, isTransposed ? math.conjugate(by) : by);
  };
  if (left != isTransposed)
    b = divided(b);
  // Columns are multiplied from the left; rows, as their conjugates, from the right.
  int64_t dim = left ? rank - 2 : rank - 1;
  Value sidesOfParts =
      joinParts(emit, stack(emit, b.re, left ? b.im : emit.neg(b.im), dim + 1), dim);
  Value solved = stablehlo::TriangularSolveOp::create(
      emit.builder, emit.loc, sidesOfParts.getType(), blocksOf(emit, a), sidesOfParts, left,
      op.getLower(), /*unit_diagonal=*/true,
      isTransposed ? stablehlo::Transpose::TRANSPOSE : stablehlo::Transpose::NO_TRANSPOSE);
  Value im = everyOther(emit, solved, dim, 1);
  Parts x = {everyOther(emit, solved, dim, 0), left ? im : emit.neg(im)};
  return left != isTransposed ? x : divided(x);
}
