#include "dialects/StableHLO/Utils/DiagonalBand.h"

#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;
using hlo::ComparisonDirection;

// ---- bands --------------------------------------------------------------------------------------

DiagonalBand DiagonalBand::intersect(const DiagonalBand &other) const {
  DiagonalBand both{std::max(first, other.first), std::min(last, other.last)};
  return both.isEmpty() ? empty() : both;
}

DiagonalBand DiagonalBand::join(const DiagonalBand &other) const {
  return {std::min(first, other.first), std::max(last, other.last)};
}

std::pair<int64_t, int64_t> DiagonalBand::getColumns(int64_t row, int64_t count,
                                                     int64_t columns) const {
  const int64_t begin = std::clamp<int64_t>(row + first, 0, columns);
  return {begin, std::clamp<int64_t>(row + count + last, begin, columns)};
}

std::optional<int64_t> DiagonalBand::countTiles(int64_t rows, int64_t rowTile, int64_t columns,
                                                int64_t columnTile) const {
  const int64_t tiles = llvm::divideCeil(columns, columnTile);
  int64_t count = 0, next = 0;
  for (int64_t row = 0; row < rows; row += rowTile) {
    auto [begin, end] = getColumns(row, rowTile, columns);
    const int64_t first = begin / columnTile, last = llvm::divideCeil(end, columnTile);
    if (begin >= end || first > next)
      return std::nullopt;
    count += last - first;
    next = std::max(next, last);
  }
  return next == tiles ? std::optional(count) : std::nullopt;
}

// ---- predicates ---------------------------------------------------------------------------------

/// Positions are exact in types of at least 32 bits.
static bool isOfPositions(Value value) {
  return getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() >= 32;
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

std::optional<DiagonalAnalysis::Linear> DiagonalAnalysis::getLinear(Value value) {
  value = skipBroadcasts(value);
  Operation *op = value.getDefiningOp();
  if (!op || !isOfPositions(value))
    return std::nullopt;
  if (std::optional<int64_t> number = getInteger(value))
    return Linear{0, 0, *number};
  if (auto iota = dyn_cast<hlo::IotaOp>(op)) {
    std::optional<unsigned> group = space.getIotaGroup(iota);
    if (group != rows && group != columns)
      return std::nullopt;
    return Linear{group == rows, group == columns, 0};
  }
  if (isa<hlo::ConvertOp>(op))
    return getLinear(op->getOperand(0));
  // Differences of unsigned positions wrap around.
  const bool isUnsigned = getElementTypeOrSelf(value.getType()).isUnsignedInteger();
  const bool isDifference = isa<hlo::SubtractOp>(op) && !isUnsigned;
  if (isDifference || isa<hlo::AddOp>(op)) {
    std::optional<Linear> a = getLinear(op->getOperand(0)), b = getLinear(op->getOperand(1));
    const int64_t sign = isDifference ? -1 : 1;
    if (a && b)
      return Linear{a->row + sign * b->row, a->column + sign * b->column,
                    a->constant + sign * b->constant};
  }
  if (isa<hlo::NegOp>(op) && !isUnsigned)
    if (std::optional<Linear> a = getLinear(op->getOperand(0)))
      return Linear{-a->row, -a->column, -a->constant};
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

/// The bands where row - column + constant compares true, and false, with 0.
static DiagonalAnalysis::Truth compareDiagonals(ComparisonDirection direction, int64_t constant) {
  constexpr int64_t kUnbounded = DiagonalBand::kUnbounded;
  auto upTo = [](int64_t last) { return DiagonalBand{-kUnbounded, last}; };
  auto from = [](int64_t first) { return DiagonalBand{first, kUnbounded}; };
  switch (direction) {
  case ComparisonDirection::GE:
    return {upTo(constant), from(constant + 1)};
  case ComparisonDirection::GT:
    return {upTo(constant - 1), from(constant)};
  case ComparisonDirection::LE:
    return {from(constant), upTo(constant - 1)};
  case ComparisonDirection::LT:
    return {from(constant + 1), upTo(constant)};
  case ComparisonDirection::EQ:
    return {DiagonalBand{constant, constant}, DiagonalBand()};
  case ComparisonDirection::NE:
    return {DiagonalBand(), DiagonalBand{constant, constant}};
  }
  llvm_unreachable("all directions are listed");
}

DiagonalAnalysis::Truth DiagonalAnalysis::compare(hlo::CompareOp op) {
  std::optional<Linear> left = getLinear(op.getLhs()), right = getLinear(op.getRhs());
  if (!left || !right)
    return {};
  const int64_t row = left->row - right->row, column = left->column - right->column;
  const int64_t constant = left->constant - right->constant;
  if (row + column != 0 || std::abs(row) != 1)
    return {};
  return row == 1 ? compareDiagonals(op.getComparisonDirection(), constant)
                  : compareDiagonals(swapSides(op.getComparisonDirection()), -constant);
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

/// A number that the elements of whole rows and columns are multiplied with.
bool DiagonalAnalysis::isFactor(Value value) {
  value = skipBroadcasts(value);
  if (isa_and_nonnull<hlo::ConvertOp>(value.getDefiningOp()))
    return isFactor(value.getDefiningOp()->getOperand(0));
  const GroupSet inner = GroupSet(1) << rows | GroupSet(1) << columns;
  const bool isRead = isa<BlockArgument>(value) || mlir::st::isArgumentSlice(value.getDefiningOp());
  return isRead && !scores.contains(value) && (space.getGroups(value) & inner) == 0;
}

/// Returns true if the magnitude of the elements on a diagonal, or of all elements, is small beside
/// that of kFarBelow.
bool DiagonalAnalysis::isModerate(Value value, std::optional<int64_t> diagonal) {
  if (scores.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)))
    return hasModerateElements(elements);
  auto isOperandModerate = [&](Value operand) { return isModerate(operand, diagonal); };
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
  const Truth truth = getTruth(choice.getPred(), diagonal ? DiagonalBand{*diagonal, *diagonal}
                                                          : DiagonalBand());
  return (truth.holds.isEmpty() || isOperandModerate(choice.getOnTrue())) &&
         (truth.fails.isEmpty() || isOperandModerate(choice.getOnFalse()));
}

bool DiagonalAnalysis::isOfRow(Value value) {
  return (space.getGroups(skipBroadcasts(value)) >> columns & 1) == 0;
}

/// If all elements of a row were far below, none of them would vanish beside the others. Numbers of
/// the row that are subtracted, such as its maximum, do not change that.
bool DiagonalAnalysis::hasModerateElementInEachRow(Value value) {
  auto difference = value.getDefiningOp<hlo::SubtractOp>();
  if (difference && isOfRow(difference.getRhs()))
    return hasModerateElementInEachRow(difference.getLhs());
  // Each row has an element on these diagonals.
  const DiagonalBand complete{0, space.getSize(columns) - space.getSize(rows)};
  const DiagonalBand band = getNear(value).intersect(complete);
  return !band.isEmpty() && (isModerate(value, band.last) || isModerate(value, band.first));
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
  Operation &combination = reduce.getBody().front().front();
  if (isa<hlo::AddOp>(combination))
    return getNonZero(input);
  const bool isMaximum = isa<hlo::MaxOp>(combination) && hasModerateElementInEachRow(input);
  return isMaximum ? getNear(input) : DiagonalBand();
}

DiagonalBand mlir::st::findDiagonalBand(Block &body, const IterationSpace &space, unsigned rows,
                                        unsigned columns, ValueRange scores, ValueRange operands) {
  DiagonalAnalysis analysis(space, rows, columns, scores);
  DiagonalBand band = DiagonalBand::empty();
  for (auto reduce : body.getOps<hlo::ReduceOp>())
    band = band.join(analysis.getReduced(reduce));
  for (Value operand : operands)
    band = band.join(analysis.getNonZero(operand));
  return band.isEmpty() ? DiagonalBand() : band;
}
