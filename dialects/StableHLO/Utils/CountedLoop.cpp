//===- CountedLoop.cpp - Loops with a known trip count ---------------------===//

#include "dialects/StableHLO/Utils/CountedLoop.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

bool st::isInvariant(WhileOp op, unsigned index) {
  Block &body = op.getBody().front();
  return body.getTerminator()->getOperand(index) == body.getArgument(index);
}

/// The initial value of a loop's region argument if no trip changes it, else the value itself.
static Value throughInvariants(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast_or_null<WhileOp>(argument.getOwner()->getParentOp());
    if (!loop || !isInvariant(loop, argument.getArgNumber()))
      break;
    value = loop->getOperand(argument.getArgNumber());
  }
  return value;
}

/// The constant integer of a scalar value, if it fits in i64.
static std::optional<int64_t> constantOf(Value value) {
  DenseIntElementsAttr elements;
  if (!matchPattern(throughInvariants(value), m_Constant(&elements)) ||
      elements.getType().getRank() != 0)
    return std::nullopt;
  APInt bits = *elements.begin();
  if (!elements.getElementType().isUnsignedInteger())
    return bits.getSExtValue();
  if (bits.getActiveBits() > 63)
    return std::nullopt;
  return static_cast<int64_t>(bits.getZExtValue());
}

std::optional<LinearCarry> st::findLinearCarry(WhileOp op, unsigned index) {
  Block &body = op.getBody().front();
  BlockArgument carry = body.getArgument(index);
  auto type = dyn_cast<RankedTensorType>(carry.getType());
  if (!type || type.getRank() != 0 || !isa<IntegerType>(type.getElementType()) ||
      type.getElementType().isInteger(1))
    return std::nullopt;
  std::optional<int64_t> start = constantOf(op->getOperand(index));
  if (!start)
    return std::nullopt;
  Value next = body.getTerminator()->getOperand(index);
  if (next == carry)
    return LinearCarry{index, *start, 0};
  if (auto add = next.getDefiningOp<AddOp>()) {
    Value other = add.getLhs() == carry ? add.getRhs() : add.getLhs();
    std::optional<int64_t> step = constantOf(other);
    if (step && (add.getLhs() == carry || add.getRhs() == carry))
      return LinearCarry{index, *start, *step};
  }
  if (auto subtract = next.getDefiningOp<SubtractOp>()) {
    std::optional<int64_t> step = constantOf(subtract.getRhs());
    if (step && subtract.getLhs() == carry && *step != INT64_MIN)
      return LinearCarry{index, *start, -*step};
  }
  return std::nullopt;
}

static ComparisonDirection mirrored(ComparisonDirection direction) {
  switch (direction) {
  case ComparisonDirection::LT:
    return ComparisonDirection::GT;
  case ComparisonDirection::LE:
    return ComparisonDirection::GE;
  case ComparisonDirection::GT:
    return ComparisonDirection::LT;
  case ComparisonDirection::GE:
    return ComparisonDirection::LE;
  default:
    return direction;
  }
}

/// The first t at which `start + t * step` no longer compares with `limit` by `direction`, if there
/// is one.
static std::optional<int64_t> countTrips(const LinearCarry &counter, ComparisonDirection direction,
                                         int64_t limit) {
  int64_t distance, step = counter.step;
  if (llvm::SubOverflow(limit, counter.start, distance) || distance == INT64_MIN)
    return std::nullopt;
  if (direction == ComparisonDirection::GT || direction == ComparisonDirection::GE) {
    distance = -distance;
    step = -step;
  }
  switch (direction) {
  case ComparisonDirection::EQ:
    return distance != 0 ? std::optional<int64_t>(0)
           : step != 0   ? std::optional<int64_t>(1)
                         : std::nullopt;
  case ComparisonDirection::NE:
    if (distance == 0)
      return 0;
    return step != 0 && distance % step == 0 && distance / step > 0
               ? std::optional<int64_t>(distance / step)
               : std::nullopt;
  case ComparisonDirection::LE:
  case ComparisonDirection::GE:
    if (distance < 0)
      return 0;
    return step > 0 ? std::optional<int64_t>(distance / step + 1) : std::nullopt;
  case ComparisonDirection::LT:
  case ComparisonDirection::GT:
    if (distance <= 0)
      return 0;
    return step > 0 ? std::optional<int64_t>((distance - 1) / step + 1) : std::nullopt;
  }
  return std::nullopt;
}

/// Returns true if the counter does not overflow its type before the loop ends.
static bool fits(IntegerType type, const LinearCarry &counter, int64_t trips) {
  int64_t change, end;
  if (llvm::MulOverflow(trips, counter.step, change) ||
      llvm::AddOverflow(counter.start, change, end))
    return false;
  if (type.isUnsigned())
    return end >= 0 && (type.getWidth() >= 63 || end < (int64_t(1) << type.getWidth()));
  return type.getWidth() >= 64 || llvm::isIntN(type.getWidth(), end);
}

std::optional<CountedLoop> st::findCountedLoop(WhileOp op) {
  Block &condition = op.getCond().front();
  auto compare = condition.getTerminator()->getOperand(0).getDefiningOp<CompareOp>();
  if (!compare || compare->getBlock() != &condition)
    return std::nullopt;
  auto isCounter = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &condition &&
           !isInvariant(op, argument.getArgNumber());
  };
  Value counted = compare.getLhs(), limit = compare.getRhs();
  ComparisonDirection direction = compare.getComparisonDirection();
  if (!isCounter(counted)) {
    std::swap(counted, limit);
    direction = mirrored(direction);
  }
  if (!isCounter(counted))
    return std::nullopt;
  auto counter = findLinearCarry(op, cast<BlockArgument>(counted).getArgNumber());
  std::optional<int64_t> end = constantOf(limit);
  if (!counter || !end)
    return std::nullopt;
  std::optional<int64_t> trips = countTrips(*counter, direction, *end);
  auto type = cast<IntegerType>(getElementTypeOrSelf(counted.getType()));
  if (!trips || !fits(type, *counter, *trips))
    return std::nullopt;
  return CountedLoop{*counter, *trips};
}
