//===- Computations.cpp - Computations of scalars on tensors --------------===//

#include "passes/Autodiff/Computations.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

bool st::isElementwise(Region &computation) {
  return llvm::all_of(computation.front().without_terminator(), [](Operation &op) {
    return isa<ConstantOp, SelectOp, ClampOp>(op) ||
           (op.hasTrait<OpTrait::Elementwise>() && op.getNumResults() == 1);
  });
}

SmallVector<Value> st::applyElementwise(Emitter &emit, Region &computation, ValueRange arguments,
                                        ArrayRef<int64_t> shape) {
  Block &body = computation.front();
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  auto mapped = [&](Value value) {
    bool isOutside = value.getParentBlock() != &body;
    if (isOutside && !mapping.contains(value))
      mapping.map(value, emit.broadcast(value, {}, shape));
    return mapping.lookup(value);
  };
  for (Operation &inner : body.without_terminator()) {
    Type element = getElementTypeOrSelf(inner.getResult(0));
    auto type = RankedTensorType::get(shape, element);
    if (auto constant = dyn_cast<ConstantOp>(inner)) {
      auto value = cast<DenseElementsAttr>(constant.getValue());
      mapping.map(constant.getResult(), emit.constant(value.resizeSplat(type)));
      continue;
    }
    for (Value operand : inner.getOperands())
      mapped(operand);
    Operation *copy = emit.builder.clone(inner, mapping);
    copy->setLoc(emit.loc);
    copy->getResult(0).setType(type);
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(), mapped);
}

namespace {
/// An associative computation of pairs of elements along a dimension.
class Fold {
public:
  /// `isReverse`: the elements are in the opposite order.
  Fold(Emitter &emit, Region &computation, int64_t dim, bool isReverse = false)
      : emit(emit), computation(computation), dim(dim), isReverse(isReverse) {}

  /// Combines pairs of neighbours; an odd last element is left out.
  SmallVector<Value> neighbours(ArrayRef<Value> xs) {
    int64_t even = size(xs) / 2 * 2;
    return combine(take(xs, 0, even, 2), take(xs, 1, even, 2));
  }
  SmallVector<Value> all(ArrayRef<Value> xs);
  SmallVector<Value> prefixes(ArrayRef<Value> xs);

private:
  int64_t size(ArrayRef<Value> xs) const { return Emitter::shapeOf(xs.front())[dim]; }
  SmallVector<Value> combine(ArrayRef<Value> first, ArrayRef<Value> second);
  SmallVector<Value> take(ArrayRef<Value> xs, int64_t start, int64_t limit, int64_t stride = 1);
  SmallVector<Value> join(ArrayRef<Value> first, ArrayRef<Value> second);
  Value interleave(Value a, Value b);

  Emitter &emit;
  Region &computation;
  int64_t dim;
  bool isReverse;
};
} // namespace

SmallVector<Value> Fold::combine(ArrayRef<Value> first, ArrayRef<Value> second) {
  SmallVector<Value> arguments(isReverse ? second : first);
  llvm::append_range(arguments, isReverse ? first : second);
  return applyElementwise(emit, computation, arguments, Emitter::shapeOf(first.front()));
}

/// The elements start, start + stride, ... before `limit`.
SmallVector<Value> Fold::take(ArrayRef<Value> xs, int64_t start, int64_t limit, int64_t stride) {
  return llvm::map_to_vector(xs, [&](Value x) -> Value {
    SmallVector<int64_t> limits(Emitter::shapeOf(x)), starts(limits.size(), 0);
    SmallVector<int64_t> strides(limits.size(), 1);
    starts[dim] = start;
    limits[dim] = limit;
    strides[dim] = stride;
    return emit.slice(x, starts, limits, strides);
  });
}

SmallVector<Value> Fold::join(ArrayRef<Value> first, ArrayRef<Value> second) {
  SmallVector<Value> joined;
  for (auto [a, b] : llvm::zip_equal(first, second))
    joined.push_back(emit.concatenate({a, b}, dim));
  return joined;
}

SmallVector<Value> Fold::all(ArrayRef<Value> xs) {
  SmallVector<Value> rest(xs);
  for (int64_t count; (count = size(rest)) > 1;) {
    SmallVector<Value> pairs = neighbours(rest);
    rest = count % 2 ? join(pairs, take(rest, count - 1, count)) : pairs;
  }
  return rest;
}

/// a0, b0, a1, b1, ...; there may be one more a than b.
Value Fold::interleave(Value a, Value b) {
  int64_t pairs = Emitter::shapeOf(b)[dim], count = Emitter::shapeOf(a)[dim];
  SmallVector<int64_t> column(Emitter::shapeOf(b)), both(column);
  column.insert(column.begin() + dim + 1, 1);
  both[dim] *= 2;
  Value columns = emit.concatenate(
      {emit.reshape(emit.sliceDim(a, dim, 0, pairs), column), emit.reshape(b, column)}, dim + 1);
  Value woven = emit.reshape(columns, both);
  return count == pairs ? woven
                        : emit.concatenate({woven, emit.sliceDim(a, dim, pairs, count)}, dim);
}

/// Positions 1, 3, ... are the prefixes of the pairs; each following position adds its own element.
SmallVector<Value> Fold::prefixes(ArrayRef<Value> xs) {
  int64_t count = size(xs);
  if (count < 2)
    return SmallVector<Value>(xs);
  SmallVector<Value> odd = prefixes(neighbours(xs)), even = take(xs, 0, 1);
  if (count > 2)
    even = join(even, combine(take(odd, 0, (count - 1) / 2), take(xs, 2, count, 2)));
  SmallVector<Value> results;
  for (auto [a, b] : llvm::zip_equal(even, odd))
    results.push_back(interleave(a, b));
  return results;
}

SmallVector<Value> st::foldAlong(Emitter &emit, Region &computation, ArrayRef<Value> xs,
                                 int64_t dim) {
  return Fold(emit, computation, dim).all(xs);
}

SmallVector<Value> st::scanAlong(Emitter &emit, Region &computation, ArrayRef<Value> xs,
                                 int64_t dim, bool isReverse) {
  Fold fold(emit, computation, dim, isReverse);
  if (!isReverse)
    return fold.prefixes(xs);
  auto reversed = [&](ArrayRef<Value> values) {
    return llvm::map_to_vector(values, [&](Value x) { return emit.reverse(x, {dim}); });
  };
  return reversed(fold.prefixes(reversed(xs)));
}
