//===- LinearAlgebraRules.cpp - Gradients of decompositions and solvers ---===//
//
// Matrices are the last two dimensions. With op(a) x = b and the cotangent X of x, that of
// b is B = op(a)^-T X and that of op(a) is -B x^T. The gradient of the Cholesky
// decomposition is Murray's, "Differentiation of the Cholesky decomposition" (2016).
//
//===----------------------------------------------------------------------===//

#include "passes/Autodiff/Rules/GradientRules.h"
#include "passes/Autodiff/Rules/RuleUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

static Value transposed(Emitter &emit, Value x) {
  int64_t rank = Emitter::typeOf(x).getRank();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[rank - 1], order[rank - 2]);
  return emit.transpose(x, order);
}

/// A real number is its own conjugate.
static Value conjugateOf(Emitter &emit, Value x) {
  return isa<ComplexType>(Emitter::typeOf(x).getElementType()) ? conjugate(emit, x) : x;
}

static Value product(Emitter &emit, Value lhs, Value rhs) {
  int64_t rank = Emitter::typeOf(lhs).getRank();
  SmallVector<int64_t> batch = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  return emit.dot(lhs, rhs, {batch, batch, {rank - 1}, {rank - 2}});
}

/// The elements whose row compares with their column by `direction`; zero elsewhere.
static Value triangle(Emitter &emit, Value x, ComparisonDirection direction) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(x);
  int64_t rank = shape.size();
  Value row = emit.iota(shape, emit.builder.getI32Type(), rank - 2);
  Value column = emit.iota(shape, emit.builder.getI32Type(), rank - 1);
  return emit.select(emit.compare(direction, row, column), x, emit.zerosLike(x));
}

static Value solve(Emitter &emit, Value a, Value b, bool leftSide, bool lower, bool unitDiagonal,
                   bool transposeA) {
  return TriangularSolveOp::create(emit.builder, emit.loc, b.getType(), a, b, leftSide, lower,
                                   unitDiagonal,
                                   transposeA ? Transpose::TRANSPOSE : Transpose::NO_TRANSPOSE);
}

static void triangularSolveRule(TriangularSolveOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value operand = op.getA(), b = op.getB(), x = op.getResult();
  if (isEmpty(operand) || isEmpty(b)) {
    g.add(operand, [&] { return emit.zerosLike(operand); });
    g.add(b, ct);
    return;
  }
  // An adjoint is the transpose of the conjugate.
  bool isConjugate = op.getTransposeA() == Transpose::ADJOINT;
  Value a = isConjugate ? conjugateOf(emit, operand) : operand;
  bool left = op.getLeftSide(), lower = op.getLower();
  bool isTransposed = op.getTransposeA() != Transpose::NO_TRANSPOSE;
  Value bCotangent = solve(emit, a, ct, left, lower, op.getUnitDiagonal(), !isTransposed);
  g.add(b, bCotangent);
  g.add(operand, [&] {
    Value used = left ? product(emit, bCotangent, transposed(emit, x))
                      : product(emit, transposed(emit, x), bCotangent);
    Value full = emit.neg(isTransposed ? transposed(emit, used) : used);
    using Direction = ComparisonDirection;
    bool strict = op.getUnitDiagonal();
    Value part = triangle(emit, full,
                          lower ? (strict ? Direction::GT : Direction::GE)
                                : (strict ? Direction::LT : Direction::LE));
    return isConjugate ? conjugateOf(emit, part) : part;
  });
}

/// The operand is treated as Hermitian, although only one triangle is read: its cotangent is
/// L^-T P(L^T C) conj(L)^-1 for the cotangent C of L, where P keeps the lower triangle and
/// halves the diagonal. An upper factor is the adjoint of L.
static void choleskyRule(CholeskyOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value a = op.getA();
  g.add(a, [&] {
    if (isEmpty(a))
      return emit.zerosLike(a);
    auto ofLower = [&](Value x) {
      return op.getLower() ? x : conjugateOf(emit, transposed(emit, x));
    };
    Value factor = ofLower(op.getResult()), cotangent = ofLower(ct);
    Value inner = product(emit, transposed(emit, factor), cotangent);
    Value strict = triangle(emit, inner, ComparisonDirection::GT);
    Value diagonal = triangle(emit, inner, ComparisonDirection::EQ);
    Value half = emit.add(strict, emit.scale(diagonal, 0.5));
    Value left = solve(emit, factor, half, true, true, false, true);
    return solve(emit, conjugateOf(emit, factor), left, false, true, false, false);
  });
}

void st::populateLinearAlgebraRules(GradientRules &rules) {
  rules.add<TriangularSolveOp>(triangularSolveRule);
  rules.add<CholeskyOp>(choleskyRule);
  rules.allowComplex<CholeskyOp, TriangularSolveOp>();
}
