//===- RuleUtils.cpp - Helpers that several gradient rules share ----------===//

#include "passes/Autodiff/Rules/RuleUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

Value st::scalarZero(Emitter &emit, Value like) {
  return emit.splat(RankedTensorType::get({}, Emitter::typeOf(like).getElementType()), 0.0);
}

Value st::sumAll(Emitter &emit, Value x) {
  return emit.reduceAdd(x, remainingDims(Emitter::typeOf(x).getRank(), {}));
}

Operation *st::singleOp(Region &region) {
  Block &body = region.front();
  if (body.getNumArguments() != 2 || !llvm::hasNItems(body, 2))
    return nullptr;
  Operation &inner = body.front();
  bool applies = inner.getNumOperands() == 2 && inner.getNumResults() == 1 &&
                 llvm::is_contained(inner.getOperands(), body.getArgument(0)) &&
                 llvm::is_contained(inner.getOperands(), body.getArgument(1)) &&
                 body.getTerminator()->getNumOperands() == 1 &&
                 body.getTerminator()->getOperand(0) == inner.getResult(0);
  return applies ? &inner : nullptr;
}

void st::fillBody(Emitter &emit, Region &region, Type elementType,
                  function_ref<Value(Value, Value)> make) {
  OpBuilder::InsertionGuard guard(emit.builder);
  auto scalar = RankedTensorType::get({}, elementType);
  Block *body = emit.builder.createBlock(&region, {}, {scalar, scalar}, {emit.loc, emit.loc});
  Value result = make(body->getArgument(0), body->getArgument(1));
  stablehlo::ReturnOp::create(emit.builder, emit.loc, ValueRange{result});
}

void st::fillWithSum(Emitter &emit, Region &region, Type elementType) {
  fillBody(emit, region, elementType, [&](Value a, Value b) { return emit.add(a, b); });
}

Value st::unpadded(Emitter &emit, PadOp op, Value ct) {
  // Undoes edge padding, cropping where it grew and growing where it cropped, then skips interior
  // padding.
  SmallVector<int64_t> low, high, strides;
  for (auto [l, h, interior] :
       llvm::zip_equal(op.getEdgePaddingLow(), op.getEdgePaddingHigh(), op.getInteriorPadding())) {
    low.push_back(-l);
    high.push_back(-h);
    strides.push_back(interior + 1);
  }
  SmallVector<int64_t> zeros(low.size(), 0);
  if (llvm::all_of(low, [](int64_t l) { return l <= 0; }) &&
      llvm::all_of(high, [](int64_t h) { return h <= 0; })) {
    SmallVector<int64_t> starts, limits;
    for (auto [size, l, h] : llvm::zip_equal(Emitter::shapeOf(ct), low, high)) {
      starts.push_back(-l);
      limits.push_back(size + h);
    }
    return emit.slice(ct, starts, limits, strides);
  }
  Value x = emit.pad(ct, scalarZero(emit, ct), low, high, zeros);
  return emit.slice(x, zeros, Emitter::shapeOf(x), strides);
}

/// Shifts the elements along `dim` and fills with ones.
static Value shift(Emitter &emit, Value x, int64_t dim, int64_t places) {
  SmallVector<int64_t> low(Emitter::typeOf(x).getRank(), 0), high(low), interior(low);
  low[dim] = places;
  high[dim] = -places;
  Value one = emit.splat(RankedTensorType::get({}, Emitter::typeOf(x).getElementType()), 1.0);
  return emit.pad(x, one, low, high, interior);
}

/// The products of the elements before (or after) each element, by doubling.
static Value exclusiveProducts(Emitter &emit, Value x, int64_t dim, int64_t direction) {
  int64_t size = Emitter::shapeOf(x)[dim];
  Value product = shift(emit, x, dim, direction);
  for (int64_t places = 1; places < size; places *= 2)
    product = emit.mul(product, shift(emit, product, dim, direction * places));
  return product;
}

Value st::productOfOthers(Emitter &emit, Value x, int64_t dim) {
  if (isEmpty(x))
    return x;
  return emit.mul(exclusiveProducts(emit, x, dim, 1), exclusiveProducts(emit, x, dim, -1));
}

Value st::conjugate(Emitter &emit, Value x) {
  Type part = cast<ComplexType>(Emitter::typeOf(x).getElementType()).getElementType();
  Type type = Emitter::typeOf(x).clone(part);
  Value real = RealOp::create(emit.builder, emit.loc, type, x);
  Value imag = ImagOp::create(emit.builder, emit.loc, type, x);
  return ComplexOp::create(emit.builder, emit.loc, x.getType(), real, emit.neg(imag));
}
