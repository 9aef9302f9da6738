#include "dialects/StableHLO/Utils/DiagonalBand.h"

#include "dialects/StableHLO/Utils/Reducers.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;
using hlo::ComparisonDirection;

// ---- bands --------------------------------------------------------------------------------------

static bool hasSameSteps(const DiagonalBand &a, const DiagonalBand &b) {
  return a.rowStep == b.rowStep && a.columnStep == b.columnStep;
}

DiagonalBand DiagonalBand::intersect(const DiagonalBand &other) const {
  if (isEmpty() || other.isEmpty())
    return empty();
  if (isAll() || other.isAll())
    return isAll() ? other : *this;
  if (!hasSameSteps(*this, other))
    return *this;
  DiagonalBand both = *this;
  both.first = std::max(first, other.first);
  both.last = std::min(last, other.last);
  return both.isEmpty() ? empty() : both;
}

DiagonalBand DiagonalBand::join(const DiagonalBand &other) const {
  if (isEmpty() || other.isEmpty())
    return isEmpty() ? other : *this;
  if (!hasSameSteps(*this, other))
    return {};
  DiagonalBand both = *this;
  both.first = std::min(first, other.first);
  both.last = std::max(last, other.last);
  return both.isAll() ? DiagonalBand() : both;
}

DiagonalBand DiagonalBand::reduce() const {
  const int64_t divisor = std::gcd(rowStep, columnStep);
  if (divisor == 1 || isAll() || isEmpty())
    return *this;
  DiagonalBand band = {first, last, rowStep / divisor, columnStep / divisor};
  if (hasFirst())
    band.first = llvm::divideCeilSigned(first, divisor);
  if (hasLast())
    band.last = llvm::divideFloorSigned(last, divisor);
  return band.isEmpty() ? empty() : band;
}

/// The first column of a row is ceil((rowStep * row + first) / columnStep).
DiagonalBand::TileBound DiagonalBand::getFirstTile(int64_t columnTile) const {
  if (!hasFirst())
    return {0, 0, 1};
  return {rowStep, first + columnStep - 1, columnStep * columnTile};
}

/// The last column of a row is floor((rowStep * row + last) / columnStep).
DiagonalBand::TileBound DiagonalBand::getEndTile(int64_t count, int64_t columnTile) const {
  const int64_t divisor = columnStep * columnTile;
  return {rowStep, rowStep * (count - 1) + last + divisor, divisor};
}

std::optional<int64_t> DiagonalBand::countTiles(int64_t rows, int64_t rowTile, int64_t columns,
                                                int64_t columnTile) const {
  const int64_t tiles = llvm::divideCeil(columns, columnTile);
  const TileBound begin = getFirstTile(columnTile), end = getEndTile(rowTile, columnTile);
  auto at = [&](const TileBound &bound, int64_t row) {
    return std::min(std::max<int64_t>(bound.step * row + bound.offset, 0) / bound.divisor, tiles);
  };
  int64_t count = 0, next = 0;
  for (int64_t row = 0; row < rows; row += rowTile) {
    const int64_t first = at(begin, row), last = at(end, row);
    if (first >= last || first > next)
      return std::nullopt;
    count += last - first;
    next = std::max(next, last);
  }
  return next == tiles ? std::optional(count) : std::nullopt;
}

// ---- predicates ---------------------------------------------------------------------------------

/// Positions are exact in types of at least 32 bits.
static bool isOfPositions(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 32;
}

static std::optional<int64_t> getInteger(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return std::nullopt;
  if (auto type = dyn_cast<IntegerType>(splat.getElementType())) {
    const APInt number = splat.getSplatValue<APInt>();
    return type.isUnsigned() ? static_cast<int64_t>(number.getZExtValue()) : number.getSExtValue();
  }
  std::optional<double> number = getSplat(value);
  if (!number || std::abs(*number) > 1e9 || std::floor(*number) != *number)
    return std::nullopt;
  return static_cast<int64_t>(*number);
}

DiagonalAnalysis::Linear DiagonalAnalysis::Linear::operator+(const Linear &other) const {
  return {row + other.row, column + other.column, least + other.least, most + other.most};
}

DiagonalAnalysis::Linear DiagonalAnalysis::Linear::operator*(int64_t factor) const {
  const auto [low, high] = std::minmax(least * factor, most * factor);
  return {row * factor, column * factor, low, high};
}

std::optional<DiagonalAnalysis::Linear> DiagonalAnalysis::getLinear(Value value) {
  value = skipBroadcasts(value);
  if (!isOfPositions(value))
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const unsigned number = argument.getArgNumber();
    if (number >= ranges.size() || !ranges[number])
      return std::nullopt;
    return Linear{0, 0, ranges[number]->first, ranges[number]->second};
  }
  if (std::optional<int64_t> number = getInteger(value))
    return Linear{0, 0, *number, *number};
  Operation *op = value.getDefiningOp();
  if (auto iota = dyn_cast<hlo::IotaOp>(op)) {
    std::optional<unsigned> group = space.getIotaGroup(iota);
    if (group != rows && group != columns)
      return std::nullopt;
    return Linear{group == rows, group == columns};
  }
  auto of = [&](unsigned operand) { return getLinear(op->getOperand(operand)); };
  if (isa<hlo::ConvertOp>(op))
    return of(0);
  // Differences of unsigned positions wrap around.
  const bool isUnsigned = getElementTypeOrSelf(value.getType()).isUnsignedInteger();
  const bool isDifference = isa<hlo::SubtractOp>(op) && !isUnsigned;
  if (isDifference || isa<hlo::AddOp>(op)) {
    std::optional<Linear> a = of(0), b = of(1);
    return a && b ? std::optional(*a + *b * (isDifference ? -1 : 1)) : std::nullopt;
  }
  if (isa<hlo::MulOp>(op)) {
    std::optional<int64_t> factor = getInteger(op->getOperand(1));
    std::optional<Linear> a = factor ? of(0) : std::nullopt;
    return a ? std::optional(*a * *factor) : std::nullopt;
  }
  if (isa<hlo::NegOp>(op) && !isUnsigned)
    if (std::optional<Linear> a = of(0))
      return *a * -1;
  return std::nullopt;
}

static ComparisonDirection swapSides(ComparisonDirection direction) {
  switch (direction) {
  case ComparisonDirection::GE:
    return ComparisonDirection::LE;
  case ComparisonDirection::GT:
    return ComparisonDirection::LT;
  case ComparisonDirection::LE:
    return ComparisonDirection::GE;
  case ComparisonDirection::LT:
    return ComparisonDirection::GT;
  case ComparisonDirection::EQ:
  case ComparisonDirection::NE:
    return direction;
  }
  llvm_unreachable("all directions are listed");
}

/// The bands where rowStep * row - columnStep * column + c may compare true, and false, with 0 for
/// some number c from `least` to `most`.
static DiagonalAnalysis::Truth compareDiagonals(ComparisonDirection direction,
                                                const DiagonalBand &steps, int64_t least,
                                                int64_t most) {
  auto upTo = [&](int64_t last) {
    DiagonalBand band = steps;
    band.last = last;
    return band;
  };
  auto from = [&](int64_t first) {
    DiagonalBand band = steps;
    band.first = first;
    return band;
  };
  const DiagonalBand equal = from(least).intersect(upTo(most));
  const DiagonalBand different = DiagonalBand();
  switch (direction) {
  case ComparisonDirection::GE:
    return {upTo(most), from(least + 1)};
  case ComparisonDirection::GT:
    return {upTo(most - 1), from(least)};
  case ComparisonDirection::LE:
    return {from(least), upTo(most - 1)};
  case ComparisonDirection::LT:
    return {from(least + 1), upTo(most)};
  case ComparisonDirection::EQ:
    return {equal, different};
  case ComparisonDirection::NE:
    return {different, equal};
  }
  llvm_unreachable("all directions are listed");
}

DiagonalAnalysis::Truth DiagonalAnalysis::compare(hlo::CompareOp op) {
  std::optional<Linear> left = getLinear(op.getLhs()), right = getLinear(op.getRhs());
  if (!left || !right)
    return {};
  Linear difference = *left + *right * -1;
  ComparisonDirection direction = op.getComparisonDirection();
  if (difference.row < 0) {
    difference = difference * -1;
    direction = swapSides(direction);
  }
  if (difference.row == 0 || difference.column >= 0)
    return {};
  DiagonalBand steps;
  steps.rowStep = difference.row;
  steps.columnStep = -difference.column;
  const Truth truth = compareDiagonals(direction, steps, difference.least, difference.most);
  return {truth.holds.reduce(), truth.fails.reduce()};
}

DiagonalAnalysis::Truth DiagonalAnalysis::getTruth(Value predicate, const DiagonalBand &within) {
  predicate = skipBroadcasts(predicate);
  Operation *op = predicate.getDefiningOp();
  auto of = [&](unsigned operand) { return getTruth(op->getOperand(operand), within); };
  SplatElementsAttr splat;
  if (matchPattern(predicate, m_Constant(&splat)) && splat.getElementType().isInteger(1)) {
    const bool isTrue = splat.getSplatValue<bool>();
    return {isTrue ? within : DiagonalBand::empty(), isTrue ? DiagonalBand::empty() : within};
  }
  if (auto comparison = dyn_cast_or_null<hlo::CompareOp>(op)) {
    Truth truth = compare(comparison);
    return {truth.holds.intersect(within), truth.fails.intersect(within)};
  }
  if (isa_and_nonnull<hlo::NotOp>(op))
    return {of(0).fails, of(0).holds};
  if (isa_and_nonnull<hlo::AndOp>(op))
    return {of(0).holds.intersect(of(1).holds), of(0).fails.join(of(1).fails)};
  if (isa_and_nonnull<hlo::OrOp>(op))
    return {of(0).holds.join(of(1).holds), of(0).fails.intersect(of(1).fails)};
  if (isa_and_nonnull<hlo::SelectOp>(op)) {
    const Truth choice = of(0), a = of(1), b = of(2);
    return {choice.holds.intersect(a.holds).join(choice.fails.intersect(b.holds)),
            choice.holds.intersect(a.fails).join(choice.fails.intersect(b.fails))};
  }
  return {within, within};
}

/// The band of a choice, given those of both choices.
DiagonalBand DiagonalAnalysis::select(hlo::SelectOp op, const DiagonalBand &onTrue,
                                      const DiagonalBand &onFalse) {
  const Truth truth = getTruth(op.getPred());
  return truth.holds.intersect(onTrue).join(truth.fails.intersect(onFalse));
}

// ---- numbers ------------------------------------------------------------------------------------

static bool hasModerateElements(DenseElementsAttr elements) {
  if (!isa<FloatType>(elements.getElementType()))
    return true;
  auto isModerate = [](const APFloat &number) {
    return number.isFinite() && abs(number).convertToDouble() < -kFarBelow / 10;
  };
  return elements.isSplat() ? isModerate(elements.getSplatValue<APFloat>())
                            : llvm::all_of(elements.getValues<APFloat>(), isModerate);
}

/// A factor that is constant along rows or columns.
bool DiagonalAnalysis::isFactor(Value value) {
  value = skipBroadcasts(value);
  if (isa_and_nonnull<hlo::ConvertOp>(value.getDefiningOp()))
    return isFactor(value.getDefiningOp()->getOperand(0));
  const GroupSet inner = GroupSet(1) << rows | GroupSet(1) << columns;
  const bool isRead = isa<BlockArgument>(value) || mlir::st::isArgumentSlice(value.getDefiningOp());
  return isRead && !scores.contains(value) && (space.getGroups(value) & inner) == 0;
}

/// Returns true if the magnitude of the elements in a band is small relative to that of kFarBelow.
bool DiagonalAnalysis::isModerate(Value value, const DiagonalBand &within) {
  if (scores.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)))
    return hasModerateElements(elements);
  auto isOperandModerate = [&](Value operand) { return isModerate(operand, within); };
  if (isa_and_nonnull<hlo::IotaOp, hlo::TanhOp, hlo::LogisticOp>(op))
    return true;
  if (isa_and_nonnull<hlo::BroadcastInDimOp, hlo::ReshapeOp, hlo::ConvertOp, hlo::NegOp, hlo::AbsOp,
                      hlo::AddOp, hlo::SubtractOp, hlo::MaxOp, hlo::MinOp>(op))
    return llvm::all_of(op->getOperands(), isOperandModerate);
  if (isa_and_nonnull<hlo::MulOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return isFactor(operand) || isOperandModerate(operand);
    });
  if (isa_and_nonnull<hlo::DivOp>(op)) {
    std::optional<double> divisor = getSplat(op->getOperand(1));
    return divisor && std::abs(*divisor) > 1e-3 && isOperandModerate(op->getOperand(0));
  }
  auto choice = dyn_cast_or_null<hlo::SelectOp>(op);
  if (!choice)
    return false;
  const Truth truth = getTruth(choice.getPred(), within);
  return (truth.holds.isEmpty() || isOperandModerate(choice.getOnTrue())) &&
         (truth.fails.isEmpty() || isOperandModerate(choice.getOnFalse()));
}

bool DiagonalAnalysis::isOfRow(Value value) {
  return (space.getGroups(skipBroadcasts(value)) >> columns & 1) == 0;
}

/// Elements of at most kFarBelow are negligible only if their row has a greater element.
/// Subtracting per-row values, such as the maximum, does not change that.
bool DiagonalAnalysis::hasModerateElementInEachRow(Value value) {
  if (partialRows)
    return true;
  auto difference = value.getDefiningOp<hlo::SubtractOp>();
  if (difference && isOfRow(difference.getRhs()))
    return hasModerateElementInEachRow(difference.getLhs());
  const DiagonalBand near = getNear(value);
  if (near.columnStep != 1)
    return false;
  // Each row has an element on these diagonals.
  DiagonalBand complete = near;
  complete.first = 0;
  complete.last = space.getSize(columns) - 1 - near.rowStep * (space.getSize(rows) - 1);
  const DiagonalBand band = near.intersect(complete);
  auto isModerateOn = [&](int64_t diagonal) {
    return isModerate(value, {diagonal, diagonal, band.rowStep});
  };
  return !band.isEmpty() && (isModerateOn(band.last) || isModerateOn(band.first));
}

DiagonalBand DiagonalAnalysis::computeNear(Operation *op) {
  if (isa<hlo::BroadcastInDimOp, hlo::ReshapeOp, hlo::ConvertOp>(op))
    return getNear(op->getOperand(0));
  if (auto choice = dyn_cast<hlo::SelectOp>(op))
    return select(choice, getNear(choice.getOnTrue()), getNear(choice.getOnFalse()));
  if (isa<hlo::AddOp>(op)) {
    Value a = op->getOperand(0), b = op->getOperand(1);
    if (isModerate(b))
      return getNear(a);
    return isModerate(a) ? getNear(b) : DiagonalBand();
  }
  if (isa<hlo::SubtractOp>(op)) {
    Value row = op->getOperand(1);
    const bool vanishes = isOfRow(row) && hasModerateElementInEachRow(op->getOperand(0));
    return vanishes || isModerate(row) ? getNear(op->getOperand(0)) : DiagonalBand();
  }
  std::optional<double> constant = getSplat(op->getResult(0));
  return constant && *constant <= kFarBelow ? DiagonalBand::empty() : DiagonalBand();
}

DiagonalBand DiagonalAnalysis::getNear(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return {};
  if (auto found = near.find(value); found != near.end())
    return found->second;
  DiagonalBand band = computeNear(op);
  near[value] = band;
  return band;
}

DiagonalBand DiagonalAnalysis::computeNonZero(Operation *op) {
  auto of = [&](unsigned operand) { return getNonZero(op->getOperand(operand)); };
  if (isa<hlo::BroadcastInDimOp, hlo::ReshapeOp, hlo::ConvertOp, hlo::NegOp, hlo::DivOp>(op))
    return of(0);
  if (auto choice = dyn_cast<hlo::SelectOp>(op))
    return select(choice, of(1), of(2));
  if (isa<hlo::AddOp, hlo::SubtractOp>(op))
    return of(0).join(of(1));
  if (isa<hlo::MulOp>(op))
    return of(0).intersect(of(1));
  if (isa<hlo::ExpOp>(op))
    return getNear(op->getOperand(0));
  return getSplat(op->getResult(0)) == 0.0 ? DiagonalBand::empty() : DiagonalBand();
}

DiagonalBand DiagonalAnalysis::getNonZero(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto found = nonZero.find(value); found != nonZero.end())
    return found->second;
  DiagonalBand band = computeNonZero(op);
  nonZero[value] = band;
  return band;
}

// ---- kernels ------------------------------------------------------------------------------------

DiagonalBand DiagonalAnalysis::getReduced(hlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1)
    return {};
  Value input = reduce.getInputs()[0];
  if (combinesWith<hlo::AddOp>(reduce.getBody()))
    return getNonZero(input);
  const bool isMaximum =
      combinesWith<hlo::MaxOp>(reduce.getBody()) && hasModerateElementInEachRow(input);
  return isMaximum ? getNear(input) : DiagonalBand();
}

DiagonalBand mlir::st::findDiagonalBand(Block &body, const IterationSpace &space, unsigned rows,
                                        unsigned columns, ValueRange scores, ValueRange operands,
                                        ArgumentRanges ranges, bool partialRows) {
  DiagonalAnalysis analysis(space, rows, columns, scores, ranges, partialRows);
  DiagonalBand band = DiagonalBand::empty();
  for (auto reduce : body.getOps<hlo::ReduceOp>())
    band = band.join(analysis.getReduced(reduce));
  for (Value operand : operands)
    band = band.join(analysis.getNonZero(operand));
  return band.isEmpty() ? DiagonalBand() : band;
}
