// Sorts as bitonic networks (Batcher: Sorting Networks and their Applications, 1968).

#include "passes/Kernels/Lowering/LowerTensorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

namespace {
/// Sorts tensors with dimensions [before, 2^stages, after].
class Network {
public:
  Network(Emitter &emit, Region &comparator, int64_t count, SmallVector<Value> values)
      : emit(emit), comparator(comparator), count(count), values(std::move(values)) {}

  bool run();
  ArrayRef<Value> getValues() const { return values; }

private:
  Emitter &emit;
  Region &comparator;
  int64_t count;             ///< elements to sort; padding follows them and must stay last
  SmallVector<Value> values; ///< the tensors, then the original position of each element

  Value precedes(ValueRange a, ValueRange b);
  bool exchange(int64_t block, int64_t distance);
};
} // namespace

/// Returns where elements a precede elements b, given their original positions: equal elements keep
/// their order, and padding stays after the `count` elements.
Value Network::precedes(ValueRange a, ValueRange b) {
  SmallVector<Value> forward, backward;
  for (auto [x, y] : llvm::zip_equal(a.drop_back(), b.drop_back())) {
    forward.append({x, y});
    backward.append({y, x});
  }
  auto before = applyToElements(emit, comparator, forward);
  auto after = applyToElements(emit, comparator, backward);
  if (!before || !after)
    return nullptr;
  Value earlier = emit.compare(Direction::LT, a.back(), b.back());
  Value isAfter = emit.bitXor((*after)[0], emit.splatLike((*after)[0], 1));
  Value result = emit.bitOr((*before)[0], emit.bitAnd(isAfter, earlier));
  if (count == Emitter::shapeOf(values.back())[1])
    return result;
  Value last = emit.max(a.back(), b.back());
  return emit.select(
      emit.compare(Direction::GE, last, emit.splatLike(last, static_cast<double>(count))), earlier,
      result);
}

/// Orders the pairs of elements `distance` apart, every other block of elements downwards.
bool Network::exchange(int64_t block, int64_t distance) {
  ArrayRef<int64_t> full = Emitter::shapeOf(values.front());
  SmallVector<int64_t> shape = {full[0], full[1] / (2 * distance), 2, distance, full[2]};
  SmallVector<Value> mine, partners;
  for (Value value : values) {
    mine.push_back(emit.reshape(value, shape));
    partners.push_back(emit.reverse(mine.back(), {2}));
  }
  Value first = precedes(partners, mine);
  if (!first)
    return false;
  Type i32 = emit.builder.getI32Type();
  Value pair = emit.iota(shape, i32, 1), half = emit.iota(shape, i32, 2);
  int64_t pairsInBlock = block / (2 * distance);
  // 1 for each descending block, plus 1 for the upper element of a pair.
  Value turns = emit.bitXor(
      emit.bitAnd(emit.div(pair, emit.splatLike(pair, static_cast<double>(pairsInBlock))),
                  emit.splatLike(pair, 1)),
      half);
  Value takes = emit.bitXor(first, emit.compare(Direction::EQ, turns, emit.splatLike(turns, 1)));
  SmallVector<int64_t> flat(full);
  for (auto [value, own, other] : llvm::zip_equal(values, mine, partners))
    value = emit.reshape(emit.select(takes, other, own), flat);
  return true;
}

bool Network::run() {
  int64_t size = Emitter::shapeOf(values.front())[1];
  for (int64_t block = 2; block <= size; block *= 2)
    for (int64_t distance = block / 2; distance > 0; distance /= 2)
      if (!exchange(block, distance))
        return false;
  return true;
}

Replacement mlir::st::lowerSort(Emitter &emit, stablehlo::SortOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getInputs().front());
  int64_t rank = shape.size(), dim = op.getDimension();
  if (rank == 0)
    return std::nullopt;
  dim += dim < 0 ? rank : 0;
  int64_t count = shape[dim];
  if (count < 2)
    return SmallVector<Value>(op.getInputs());
  int64_t size = static_cast<int64_t>(llvm::PowerOf2Ceil(count));
  int64_t before = 1, behind = 1;
  for (int64_t i = 0; i < rank; ++i)
    (i < dim ? before : behind) *= i == dim ? 1 : shape[i];
  SmallVector<Value> values;
  for (Value input : op.getInputs()) {
    Type element = Emitter::typeOf(input).getElementType();
    if (isa<ComplexType>(element))
      return std::nullopt;
    Value zero = emit.splat(RankedTensorType::get({}, element), 0);
    values.push_back(emit.pad(emit.reshape(input, {before, count, behind}), zero, {0, 0, 0},
                              {0, size - count, 0}, {0, 0, 0}));
  }
  values.push_back(emit.iota({before, size, behind}, emit.builder.getI32Type(), 1));
  Network network(emit, op.getComparator(), count, std::move(values));
  if (!network.run())
    return std::nullopt;
  SmallVector<Value> results;
  for (Value value : network.getValues().drop_back())
    results.push_back(emit.reshape(emit.sliceDim(value, 1, 0, count), shape));
  return results;
}

/// The values and their positions, in descending order.
Replacement mlir::st::lowerTopK(Emitter &emit, chlo::TopKOp op) {
  Value operand = op.getOperand();
  RankedTensorType type = Emitter::typeOf(operand);
  int64_t dim = type.getRank() - 1;
  Type i32 = emit.builder.getI32Type();
  Value places = emit.iota(type.getShape(), i32, dim);
  OpBuilder &builder = emit.builder;
  auto sort = stablehlo::SortOp::create(builder, emit.loc, ValueRange{operand, places}, dim,
                                        /*isStable=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    auto value = RankedTensorType::get({}, type.getElementType()),
         place = RankedTensorType::get({}, i32);
    SmallVector<Location> locs(4, emit.loc);
    Block *body =
        builder.createBlock(&sort.getComparator(), {}, {value, value, place, place}, locs);
    Type element = type.getElementType();
    bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
    auto kind = isa<FloatType>(element) ? stablehlo::ComparisonType::TOTALORDER
                : isUnsigned            ? stablehlo::ComparisonType::UNSIGNED
                                        : stablehlo::ComparisonType::SIGNED;
    Value greater = stablehlo::CompareOp::create(builder, emit.loc, body->getArgument(0),
                                                 body->getArgument(1), Direction::GT, kind);
    stablehlo::ReturnOp::create(builder, emit.loc, ValueRange{greater});
  }
  int64_t k = op.getK();
  return SmallVector<Value>{emit.sliceDim(sort.getResult(0), dim, 0, k),
                            emit.sliceDim(sort.getResult(1), dim, 0, k)};
}
