//===- ReductionRules.cpp - Gradients of reductions and products ----------===//

#include "passes/Autodiff/Computations.h"
#include "passes/Autodiff/ReverseMode.h"
#include "passes/Autodiff/Rules/RuleUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

/// The cotangent is divided equally among the elements that equal the extremum.
static void extremumReductionRule(ReduceOp op, Value ct, Gradients &g) {
  Value x = op.getInputs().front();
  g.add(x, [&] {
    Emitter &emit = g.emit;
    ArrayRef<int64_t> shape = Emitter::shapeOf(x), dims = op.getDimensions();
    SmallVector<int64_t> kept = remainingDims(shape.size(), dims);
    Value extremum = emit.broadcast(op.getResult(0), kept, shape);
    Value isExtremum = emit.compare(ComparisonDirection::EQ, x, extremum);
    Value count =
        emit.reduceAdd(emit.convert(isExtremum, Emitter::typeOf(x).getElementType()), dims);
    Value share = emit.broadcast(emit.div(ct, count), kept, shape);
    return emit.select(isExtremum, share, emit.zerosLike(x));
  });
}

static void sumRule(ReduceOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value x = op.getInputs().front(), init = op.getInitValues().front();
  g.add(x, [&] {
    ArrayRef<int64_t> shape = Emitter::shapeOf(x);
    return emit.broadcast(ct, remainingDims(shape.size(), op.getDimensions()), shape);
  });
  g.add(init, [&] { return sumAll(emit, ct); });
}

static SmallVector<int64_t> reducedSizes(ReduceOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getInputs().front());
  return llvm::map_to_vector(op.getDimensions(), [&](int64_t dim) { return shape[dim]; });
}

static SmallVector<int64_t> keptFirst(ArrayRef<int64_t> dims, int64_t rank) {
  SmallVector<int64_t> order = remainingDims(rank, dims);
  llvm::append_range(order, dims);
  return order;
}

/// The operand of a reduction with its kept dimensions first and the others as one.
static Value reducedLast(Emitter &emit, Value x, ArrayRef<int64_t> dims) {
  int64_t rank = Emitter::typeOf(x).getRank();
  Value last = emit.transpose(x, keptFirst(dims, rank));
  ArrayRef<int64_t> shape = Emitter::shapeOf(last);
  SmallVector<int64_t> flat(shape.drop_back(dims.size()));
  flat.push_back(ShapedType::getNumElements(shape.take_back(dims.size())));
  return emit.reshape(last, flat);
}

/// Each element gets the cotangent times the product of the others and the initial value.
static Value factorCotangent(Emitter &emit, ReduceOp op, Value ct) {
  Value x = op.getInputs().front();
  ArrayRef<int64_t> shape = Emitter::shapeOf(x), dims = op.getDimensions();
  int64_t rank = shape.size();
  SmallVector<int64_t> order = keptFirst(dims, rank), moved, inverse(rank);
  for (auto [i, dim] : llvm::enumerate(order)) {
    inverse[dim] = i;
    moved.push_back(shape[dim]);
  }
  Value flat = reducedLast(emit, x, dims);
  Value others = productOfOthers(emit, flat, Emitter::typeOf(flat).getRank() - 1);
  others = emit.transpose(emit.reshape(others, moved), inverse);
  Value init = emit.broadcast(op.getInitValues().front(), {}, Emitter::shapeOf(ct));
  return emit.mul(emit.broadcast(emit.mul(ct, init), remainingDims(rank, dims), shape), others);
}

static void productRule(ReduceOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value x = op.getInputs().front(), init = op.getInitValues().front();
  g.add(x, [&] { return isEmpty(x) ? emit.zerosLike(x) : factorCotangent(emit, op, ct); });
  g.add(init, [&] {
    auto product = ReduceOp::create(emit.builder, emit.loc, TypeRange{ct.getType()}, ValueRange{x},
                                    ValueRange{emit.splatLike(init, 1.0)}, op.getDimensions());
    fillBody(emit, product.getBody(), Emitter::typeOf(x).getElementType(),
             [&](Value a, Value b) { return emit.mul(a, b); });
    return sumAll(emit, emit.mul(ct, product.getResult(0)));
  });
}

/// The reduction as combinations of neighbours, and of their result with the initial values.
static SmallVector<Value> expandReduction(Emitter &emit, ReduceOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getResult(0));
  SmallVector<Value> inits, folded;
  for (Value init : op.getInitValues())
    inits.push_back(emit.broadcast(init, {}, shape));
  if (ShapedType::getNumElements(reducedSizes(op)) == 0)
    return inits;
  for (auto [x, init] : llvm::zip_equal(op.getInputs(), inits)) {
    Value flat = reducedLast(emit, x, op.getDimensions());
    folded.push_back(emit.convert(flat, Emitter::typeOf(init).getElementType()));
  }
  int64_t last = Emitter::typeOf(folded.front()).getRank() - 1;
  for (Value &x : folded = foldAlong(emit, op.getBody(), folded, last))
    x = emit.reshape(x, shape);
  SmallVector<Value> arguments(inits);
  llvm::append_range(arguments, folded);
  return applyElementwise(emit, op.getBody(), arguments, shape);
}

static LogicalResult reduceRule(ReduceOp op, ArrayRef<Value> cts, Gradients &g) {
  Operation *body = op.getInputs().size() == 1 ? singleOp(op.getBody()) : nullptr;
  if (isa_and_nonnull<AddOp>(body)) {
    sumRule(op, cts.front(), g);
    return success();
  }
  if (isa_and_nonnull<MulOp>(body)) {
    productRule(op, cts.front(), g);
    return success();
  }
  bool isFloat = isa<FloatType>(Emitter::typeOf(op->getOperand(0)).getElementType());
  if (isa_and_nonnull<MaxOp, MinOp>(body) && isFloat && !g.isNeeded(op.getInitValues().front())) {
    extremumReductionRule(op, cts.front(), g);
    return success();
  }
  if (!isElementwise(op.getBody()))
    return op.emitOpError("has no gradient rule: expected a computation of elementwise ops");
  return g.mode.expand(op, cts, g, [&](Emitter &emit) { return expandReduction(emit, op); });
}

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

namespace {
/// The dimensions of one operand of a product, by their role.
struct Side {
  Value value;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
  /// The positions of the free dimensions in the result.
  int64_t freeStart;
};
} // namespace

static SmallVector<int64_t> range(int64_t start, int64_t count) {
  return llvm::to_vector(llvm::seq(start, start + count));
}

/// The dimensions of `to` that are contracted with `dims` of `from`.
static SmallVector<int64_t> partners(ArrayRef<int64_t> dims, const Side &from, const Side &to) {
  SmallVector<int64_t> result;
  for (int64_t dim : dims)
    result.push_back(to.contract[llvm::find(from.contract, dim) - from.contract.begin()]);
  return result;
}

/// The cotangent of the operand `self` of a product with `other`: the product of
/// the result's cotangent with `other` over other's free dimensions.
static Value operandCotangent(Emitter &emit, DotGeneralOp op, Value ct, const Side &self,
                              const Side &other) {
  Type type = Emitter::typeOf(self.value).getElementType();
  Value factor = emit.convert(other.value, Emitter::typeOf(ct).getElementType());
  SmallVector<int64_t> batch = range(0, self.batch.size());
  SmallVector<int64_t> otherFree = range(other.freeStart, other.free.size());

  // The product yields self's dimensions as batch, free, contracted, the last in the order of
  // `other`; with the factors exchanged, as batch, contracted, free. Choose the form that needs no
  // transpose, if there is one, or else one that keeps the minor dimension in place.
  SmallVector<int64_t> otherContract(other.contract);
  llvm::sort(otherContract);
  SmallVector<int64_t> contracted = partners(otherContract, other, self);
  auto concat = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b, ArrayRef<int64_t> c) {
    SmallVector<int64_t> all(a);
    llvm::append_range(all, b);
    llvm::append_range(all, c);
    return all;
  };
  SmallVector<int64_t> order = concat(self.batch, self.free, contracted);
  SmallVector<int64_t> exchanged = concat(self.batch, contracted, self.free);
  ArrayAttr precision = op.getPrecisionConfigAttr();
  Value product;
  auto keepsMinor = [](ArrayRef<int64_t> dims) {
    return !dims.empty() && dims.back() == static_cast<int64_t>(dims.size()) - 1;
  };
  bool exchange = llvm::is_sorted(exchanged) ||
                  (!llvm::is_sorted(order) && !keepsMinor(order) && keepsMinor(exchanged));
  if (exchange) {
    product =
        emit.dot(factor, ct, {SmallVector<int64_t>(other.batch), batch, other.free, otherFree},
                 precision, type);
    order = exchanged;
  } else {
    product =
        emit.dot(ct, factor, {batch, SmallVector<int64_t>(other.batch), otherFree, other.free},
                 precision, type);
  }
  SmallVector<int64_t> permutation(order.size());
  for (auto [i, dim] : llvm::enumerate(order))
    permutation[dim] = i;
  return emit.transpose(product, permutation);
}

static void dotRule(DotGeneralOp op, Value ct, Gradients &g) {
  DotDimensionNumbersAttr dims = op.getDotDimensionNumbers();
  auto side = [](Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> free = remainingDims(Emitter::typeOf(value).getRank(), batch, contract);
    return Side{value, batch, contract, free, static_cast<int64_t>(batch.size())};
  };
  Side lhs = side(op.getLhs(), dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions());
  Side rhs = side(op.getRhs(), dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions());
  rhs.freeStart += lhs.free.size();
  g.add(op.getLhs(), [&] { return operandCotangent(g.emit, op, ct, lhs, rhs); });
  g.add(op.getRhs(), [&] { return operandCotangent(g.emit, op, ct, rhs, lhs); });
}

void st::populateReductionRules(GradientRules &rules) {
  rules.addChecked<ReduceOp>(reduceRule);
  rules.add<DotGeneralOp>(dotRule);
  rules.allowComplex<DotGeneralOp, ReduceOp>();
}
