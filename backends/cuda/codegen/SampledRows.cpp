#include "backends/cuda/codegen/SampledRows.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::IterationSpace;
namespace hlo = mlir::stablehlo;

bool mlir::cuda::isSame(const Sample &one, const Sample &other) {
  return llvm::all_of(llvm::zip_equal(one.numbers, other.numbers), [](auto pair) {
    auto [x, y] = pair;
    return std::abs(x - y) <= 1e-9 * (1 + std::abs(x) + std::abs(y));
  });
}

namespace {
using Unary = double (*)(double);
using Binary = double (*)(double, double);
} // namespace

static Unary unaryOf(Operation *op) {
  return TypeSwitch<Operation *, Unary>(op)
      .Case<hlo::ConvertOp, hlo::BroadcastInDimOp, hlo::ReshapeOp>(
          [](Operation *) -> Unary { return [](double x) { return x; }; })
      .Case([](hlo::NegOp) -> Unary { return [](double x) { return -x; }; })
      .Case([](hlo::ExpOp) -> Unary { return [](double x) { return std::exp(x); }; })
      .Case([](hlo::LogOp) -> Unary { return [](double x) { return std::log(x); }; })
      .Default([](Operation *) -> Unary { return nullptr; });
}

static Binary binaryOf(Operation *op) {
  return TypeSwitch<Operation *, Binary>(op)
      .Case([](hlo::AddOp) -> Binary { return [](double x, double y) { return x + y; }; })
      .Case([](hlo::SubtractOp) -> Binary { return [](double x, double y) { return x - y; }; })
      .Case([](hlo::MulOp) -> Binary { return [](double x, double y) { return x * y; }; })
      .Case([](hlo::DivOp) -> Binary { return [](double x, double y) { return x / y; }; })
      .Default([](Operation *) -> Binary { return nullptr; });
}

/// The number that all elements of a constant are.
static std::optional<double> splatOf(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return std::nullopt;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().convertToDouble();
  return std::nullopt;
}

/// A sum or a maximum along the columns, from their neutral element on.
static std::optional<Sample> reduce(hlo::ReduceOp op, const IterationSpace &space, unsigned columns,
                                    const Samples &samples) {
  if (op.getInputs().size() != 1 || !llvm::hasNItems(op.getBody().front(), 2))
    return std::nullopt;
  Value input = op.getInputs().front();
  std::optional<double> init = splatOf(op.getInitValues().front());
  Operation &step = op.getBody().front().front();
  const bool isSum = isa<hlo::AddOp>(step);
  if ((!isSum && !isa<hlo::MaxOp>(step)) || !init ||
      *init != (isSum ? 0 : -std::numeric_limits<double>::infinity()))
    return std::nullopt;
  const st::GroupSet reduced = space.getGroups(input) & ~space.getGroups(op.getResult(0));
  if (reduced != st::GroupSet(1) << columns)
    return std::nullopt;
  const Sample &of = samples.find(input)->second;
  Sample made(of.rows, of.columns);
  for (int64_t row = 0; row < of.rows; ++row) {
    double number = *init;
    for (int64_t column = 0; column < of.columns; ++column)
      number = isSum ? number + of.at(row, column) : std::max(number, of.at(row, column));
    for (int64_t column = 0; column < of.columns; ++column)
      made.at(row, column) = number;
  }
  return made;
}

static std::optional<Sample> compute(Operation *op, const IterationSpace &space, unsigned columns,
                                     const Samples &samples) {
  if (!isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return std::nullopt;
  const Sample &any = samples.begin()->second;
  if (std::optional<double> splat = splatOf(op->getResult(0)))
    return Sample(any.rows, any.columns, *splat);
  if (auto reduction = dyn_cast<hlo::ReduceOp>(op))
    return reduce(reduction, space, columns, samples);
  Unary unary = unaryOf(op);
  Binary binary = binaryOf(op);
  if (!unary && !binary)
    return std::nullopt;
  Sample made = samples.find(op->getOperand(0))->second;
  for (size_t i = 0; i < made.numbers.size(); ++i)
    made.numbers[i] =
        unary ? unary(made.numbers[i])
              : binary(made.numbers[i], samples.find(op->getOperand(1))->second.numbers[i]);
  return made;
}

LogicalResult mlir::cuda::sampleRows(Block &body, const IterationSpace &space, unsigned columns,
                                     Samples &samples, std::string &reason) {
  for (Operation &op : body.without_terminator()) {
    const bool hasOperands = llvm::all_of(op.getOperands(), [&](Value operand) {
      return samples.contains(operand) || splatOf(operand);
    });
    std::optional<Sample> made;
    if (hasOperands && op.getNumResults() == 1)
      made = compute(&op, space, columns, samples);
    if (!made) {
      reason = (op.getName().getStringRef() + " is no part of it").str();
      return failure();
    }
    samples.try_emplace(op.getResult(0), std::move(*made));
  }
  return success();
}

// ---- causal tables ------------------------------------------------------------------------------

/// What no score is far from: added to one, exp of it is 0 beside any other column.
static constexpr double kLow = -1e30;

using Row = std::vector<double>;

static bool holds(hlo::ComparisonDirection direction, double x, double y) {
  switch (direction) {
  case hlo::ComparisonDirection::EQ:
    return x == y;
  case hlo::ComparisonDirection::NE:
    return x != y;
  case hlo::ComparisonDirection::GE:
    return x >= y;
  case hlo::ComparisonDirection::GT:
    return x > y;
  case hlo::ComparisonDirection::LE:
    return x <= y;
  case hlo::ComparisonDirection::LT:
    return x < y;
  }
  return false;
}

/// One row of a table that is made of positions, comparisons and constants; empty: of more.
static Row tableRow(Value value, int64_t row, int64_t columns) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  Row made(static_cast<size_t>(columns));
  if (auto iota = dyn_cast<hlo::IotaOp>(op)) {
    for (int64_t column = 0; column < columns; ++column)
      made[column] = static_cast<double>(iota.getIotaDimension() == 0 ? row : column);
    return made;
  }
  if (std::optional<double> splat = splatOf(value))
    return Row(made.size(), *splat);
  auto compare = dyn_cast<hlo::CompareOp>(op);
  auto select = dyn_cast<hlo::SelectOp>(op);
  if (!compare && !select)
    return {};
  SmallVector<Row, 3> operands;
  for (Value operand : op->getOperands())
    if (operands.emplace_back(tableRow(operand, row, columns)).empty())
      return {};
  for (size_t i = 0; i < made.size(); ++i)
    made[i] = compare ? static_cast<double>(
                            holds(compare.getComparisonDirection(), operands[0][i], operands[1][i]))
                      : operands[operands[0][i] != 0 ? 1 : 2][i];
  return made;
}

bool mlir::cuda::isCausalTable(mlir::st::KernelOp kernel) {
  if (!kernel.getInputs().empty() || kernel.getNumResults() != 1)
    return false;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(kernel.getResult(0).getType()).getShape();
  if (shape.size() != 2)
    return false;
  Value table = kernel.getBody().front().getTerminator()->getOperand(0);
  for (int64_t row = 0; row < shape[0]; ++row) {
    Row numbers = tableRow(table, row, shape[1]);
    if (numbers.empty())
      return false;
    for (int64_t column = 0; column < shape[1]; ++column)
      if (column <= row ? numbers[column] != 0 : !(numbers[column] <= kLow))
        return false;
  }
  return true;
}
