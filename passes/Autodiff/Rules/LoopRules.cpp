//===- LoopRules.cpp - Gradients of counted loops -------------------------===//
//
// The forward loop saves the values that the backward loop needs in buffers with one row per trip.
// The backward loop has the same number of trips and reads the rows in reverse. It carries the
// cotangents of the forward loop's carried values, and sums those of the values that the body
// captures.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/Utils/CountedLoop.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Autodiff/Residuals.h"
#include "passes/Autodiff/ReverseMode.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

namespace {
/// A forward loop and the backward loop that is built for it.
class LoopReversal {
public:
  LoopReversal(WhileOp forward, CountedLoop count, Gradients &g)
      : forward(forward), count(count), g(g), builder(g.emit.builder) {}

  LogicalResult run(ArrayRef<Value> cts);

private:
  void createBackward(ArrayRef<Value> cts);
  void emitPreamble();
  LogicalResult emitBody();
  std::optional<unsigned> findTripNumber();
  void save(ArrayRef<Value> saved);
  void fill(ArrayRef<Value> saved, std::optional<unsigned> tripNumber);
  SmallVector<Value> load(ArrayRef<Value> saved);
  Type indexType();
  static RankedTensorType scalarOf(Type type) { return RankedTensorType::get({}, type); }

  WhileOp forward, backward;
  CountedLoop count;
  Gradients &g;
  OpBuilder &builder;
  /// Carries with a cotangent, and outside values that receive one.
  SmallVector<unsigned> carries;
  SmallVector<Value> captured;
  /// In the body of the backward loop: the number of the forward trip, the known values of the
  /// forward body, and the last op before those that the rules emitted.
  Value trip;
  IRMapping known;
  Operation *preambleEnd = nullptr;
};
} // namespace

/// An integer constant like `x`, exact where a double would not be.
static Value integerLike(Emitter &emit, Value x, int64_t value) {
  auto type = Emitter::typeOf(x);
  APInt bits(64, static_cast<uint64_t>(value));
  return emit.constant(
      DenseElementsAttr::get(type, bits.trunc(type.getElementType().getIntOrFloatBitWidth())));
}

/// The starts of a row of a buffer.
static SmallVector<Value> startsOf(Emitter &emit, Value row, int64_t rank) {
  SmallVector<Value> starts(rank, integerLike(emit, row, 0));
  starts.front() = row;
  return starts;
}

/// Replaces loop-invariant carries in the body by the outside values, and passes on their
/// cotangents.
static void freeInvariants(WhileOp op, MutableArrayRef<Value> cts, Gradients &g) {
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!isInvariant(op, i))
      continue;
    Value operand = op->getOperand(i);
    op.getCond().front().getArgument(i).replaceAllUsesWith(operand);
    op.getBody().front().getArgument(i).replaceUsesWithIf(operand, [&](OpOperand &use) {
      return use.getOwner() != op.getBody().front().getTerminator() || use.getOperandNumber() != i;
    });
    if (cts[i])
      g.add(operand, cts[i]);
    cts[i] = nullptr;
  }
}

Type LoopReversal::indexType() {
  return count.trips > INT32_MAX ? builder.getI64Type() : builder.getI32Type();
}

void LoopReversal::createBackward(ArrayRef<Value> cts) {
  Emitter &emit = g.emit;
  Type index = indexType();
  SmallVector<Value> inits = {emit.splat(scalarOf(index), 0)};
  for (unsigned i : carries)
    inits.push_back(cts[i] ? cts[i] : emit.zerosLike(forward->getOperand(i)));
  for (Value value : captured)
    inits.push_back(emit.zerosLike(value));

  SmallVector<Type> types(ValueRange(inits).getTypes());
  backward = WhileOp::create(builder, emit.loc, types, inits);
  SmallVector<Location> locs(types.size(), emit.loc);
  OpBuilder::InsertionGuard guard(builder);
  Block *condition = builder.createBlock(&backward.getCond(), {}, types, locs);
  Emitter inCondition(builder, condition, emit.loc);
  Value counter = condition->getArgument(0);
  Value limit = integerLike(inCondition, counter, count.trips);
  Value more = inCondition.compare(ComparisonDirection::LT, counter, limit);
  ReturnOp::create(builder, emit.loc, ValueRange{more});
  builder.createBlock(&backward.getBody(), {}, types, locs);
}

/// Emits the number of the forward trip that corresponds to a backward trip, and the integers
/// derived from it.
void LoopReversal::emitPreamble() {
  Block *body = &backward.getBody().front();
  builder.setInsertionPointToStart(body);
  // A separate pool, so that its constants come before the ops.
  Emitter emit(builder, body, g.emit.loc);
  Value counter = body->getArgument(0);
  trip = emit.sub(integerLike(emit, counter, count.trips - 1), counter);
  for (unsigned i = 0; i < forward->getNumOperands(); ++i) {
    std::optional<LinearCarry> linear = findLinearCarry(forward, i);
    if (!linear || linear->step == 0)
      continue;
    BlockArgument carry = forward.getBody().front().getArgument(i);
    Value number = emit.convert(trip, getElementTypeOrSelf(carry.getType()));
    if (linear->step != 1)
      number = emit.mul(number, integerLike(emit, number, linear->step));
    if (linear->start != 0)
      number = emit.add(number, integerLike(emit, number, linear->start));
    known.map(carry, number);
  }
  preambleEnd = &body->back();
}

LogicalResult LoopReversal::emitBody() {
  OpBuilder::InsertionGuard guard(builder);
  emitPreamble();
  Block *body = &backward.getBody().front();
  builder.setInsertionPointToEnd(body);
  Emitter emit(builder, body, g.emit.loc);
  Gradients inner(emit, g.mode);
  Block &forwardBody = forward.getBody().front();
  unsigned next = 1;
  for (unsigned i : carries)
    inner.add(forwardBody.getTerminator()->getOperand(i), body->getArgument(next++));
  if (failed(g.mode.propagate(opsOf(forwardBody), inner)))
    return failure();

  Value counter = body->getArgument(0);
  SmallVector<Value> results = {emit.offset(counter, 1)};
  for (unsigned i : carries) {
    BlockArgument carry = forwardBody.getArgument(i);
    Value ct = inner.take(carry);
    results.push_back(ct ? ct : emit.zerosLike(carry));
  }
  for (Value value : captured)
    results.push_back(inner.takeInto(body->getArgument(next++), value));
  ReturnOp::create(builder, emit.loc, results);
  return success();
}

/// The carry that counts trips from 0, if there is one.
std::optional<unsigned> LoopReversal::findTripNumber() {
  for (unsigned i = 0; i < forward->getNumOperands(); ++i) {
    std::optional<LinearCarry> linear = findLinearCarry(forward, i);
    if (linear && linear->start == 0 && linear->step == 1)
      return i;
  }
  return std::nullopt;
}

/// Replaces the forward loop by one that also carries a buffer per saved value, at the end,
/// preceded by a trip counter if no carry is one.
void LoopReversal::save(ArrayRef<Value> saved) {
  if (saved.empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forward);
  std::optional<unsigned> tripNumber = findTripNumber();
  SmallVector<Value> operands(forward->getOperands());
  Emitter emit(builder, forward->getBlock(), forward.getLoc());
  if (!tripNumber)
    operands.push_back(emit.splat(scalarOf(indexType()), 0));
  for (Value value : saved) {
    SmallVector<int64_t> shape(Emitter::shapeOf(value));
    shape.insert(shape.begin(), count.trips);
    Type element = Emitter::typeOf(value).getElementType();
    operands.push_back(emit.splat(RankedTensorType::get(shape, element), 0));
  }
  TypeRange types = ValueRange(operands).getTypes();
  auto extended = WhileOp::create(builder, forward.getLoc(), types, operands);
  extended->setAttrs(forward->getAttrs());
  extended.getCond().takeBody(forward.getCond());
  extended.getBody().takeBody(forward.getBody());
  unsigned before = forward->getNumResults();
  for (Type type : types.drop_front(before)) {
    extended.getCond().front().addArgument(type, forward.getLoc());
    extended.getBody().front().addArgument(type, forward.getLoc());
  }
  g.mode.replace(forward, extended->getResults().take_front(before));
  forward = extended;
  fill(saved, tripNumber);
}

/// Emits the updates of the buffers at the end of the forward loop's body.
void LoopReversal::fill(ArrayRef<Value> saved, std::optional<unsigned> tripNumber) {
  Block &body = forward.getBody().front();
  Operation *end = body.getTerminator();
  builder.setInsertionPoint(end);
  Emitter emit(builder, &body, forward.getLoc());
  unsigned next = end->getNumOperands();
  Value row = body.getArgument(tripNumber.value_or(next));
  if (!tripNumber)
    end->insertOperands(next++, emit.add(row, integerLike(emit, row, 1)));
  for (Value value : saved) {
    BlockArgument buffer = body.getArgument(next);
    SmallVector<int64_t> shape(Emitter::shapeOf(value));
    shape.insert(shape.begin(), 1);
    Value updated = emit.dynamicUpdateSlice(buffer, emit.reshape(value, shape),
                                            startsOf(emit, row, shape.size()));
    end->insertOperands(next++, updated);
  }
}

/// Reads the rows of a trip at the start of the backward loop's body.
SmallVector<Value> LoopReversal::load(ArrayRef<Value> saved) {
  SmallVector<Value> loaded;
  Emitter emit(builder, &backward.getBody().front(), g.emit.loc);
  for (auto [value, buffer] :
       llvm::zip_equal(saved, forward->getResults().take_back(saved.size()))) {
    ArrayRef<int64_t> shape = Emitter::shapeOf(value);
    SmallVector<int64_t> sizes(shape);
    sizes.insert(sizes.begin(), 1);
    Value row = emit.dynamicSlice(buffer, startsOf(emit, trip, sizes.size()), sizes);
    loaded.push_back(emit.reshape(row, shape));
  }
  return loaded;
}

LogicalResult LoopReversal::run(ArrayRef<Value> cts) {
  Block &body = forward.getBody().front();
  for (unsigned i = 0; i < forward->getNumOperands(); ++i)
    if (!isInvariant(forward, i) && g.isNeeded(body.getArgument(i)))
      carries.push_back(i);
  SetVector<Value> above;
  getUsedValuesDefinedAbove(forward.getBody(), above);
  captured = llvm::filter_to_vector(above, [&](Value value) { return g.isNeeded(value); });

  createBackward(cts);
  if (failed(emitBody()))
    return failure();
  Residuals residuals(body, backward.getBody().front(), known);
  save(residuals.saved());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(preambleEnd);
  SmallVector<Value> loaded = load(residuals.saved());
  residuals.replace(builder, loaded);

  unsigned next = 1;
  for (unsigned i : carries)
    g.add(forward->getOperand(i), backward->getResult(next++));
  for (Value value : captured)
    g.add(value, backward->getResult(next++));
  return success();
}

static LogicalResult whileRule(WhileOp op, ArrayRef<Value> cts, Gradients &g) {
  std::optional<CountedLoop> count = findCountedLoop(op);
  if (!count)
    return op.emitOpError(
        "has no gradient rule: expected a known trip count, from a counter that starts at a "
        "constant, changes by a constant and is compared with a constant");
  SmallVector<Value> left(cts);
  if (count->trips == 0) {
    for (auto [operand, ct] : llvm::zip_equal(op->getOperands(), left))
      if (ct)
        g.add(operand, ct);
    return success();
  }
  freeInvariants(op, left, g);
  return LoopReversal(op, *count, g).run(left);
}

void st::populateLoopRules(GradientRules &rules) {
  rules.addChecked<WhileOp>(whileRule);
  rules.allowComplex<WhileOp>();
}
