#include "backends/cuda/codegen/attention/FormulaEquivalence.h"

#include "backends/cuda/codegen/analysis/ElementFunctions.h"
#include "dialects/StableHLO/Utils/DiagonalBand.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::DiagonalBand, mlir::st::IterationSpace;
using mlir::st::getSplat;
namespace hlo = mlir::stablehlo;

bool mlir::cuda::isSame(const Sample &one, const Sample &other) {
  return llvm::all_of(llvm::zip_equal(one.numbers, other.numbers), [](auto pair) {
    auto [x, y] = pair;
    return std::abs(x - y) <= 1e-9 * (1 + std::abs(x) + std::abs(y));
  });
}

/// Returns true for ops that are smooth functions of their operands.
static bool isSmooth(Operation *op) {
  return isa<hlo::NegOp, hlo::ExpOp, hlo::LogOp, hlo::AddOp, hlo::SubtractOp, hlo::MulOp,
             hlo::DivOp>(op);
}

/// A sum or a maximum along the columns that starts at its neutral element.
static std::optional<Sample> reduce(hlo::ReduceOp op, const IterationSpace &space, unsigned columns,
                                    const Samples &samples) {
  if (op.getInputs().size() != 1)
    return std::nullopt;
  Value input = op.getInputs().front();
  std::optional<double> init = getSplat(op.getInitValues().front());
  const bool isSum = st::combinesWith<hlo::AddOp>(op.getBody());
  if ((!isSum && !st::combinesWith<hlo::MaxOp>(op.getBody())) || !init ||
      *init != (isSum ? 0 : -std::numeric_limits<double>::infinity()))
    return std::nullopt;
  const st::GroupSet reduced = space.getGroups(input) & ~space.getGroups(op.getResult(0));
  if (reduced != st::GroupSet(1) << columns)
    return std::nullopt;
  const Sample &of = samples.find(input)->second;
  Sample result;
  for (int64_t row = 0; row < Sample::kRows; ++row) {
    double number = *init;
    for (int64_t column = 0; column < Sample::kColumns; ++column)
      number = isSum ? number + of.at(row, column) : std::max(number, of.at(row, column));
    for (int64_t column = 0; column < Sample::kColumns; ++column)
      result.at(row, column) = number;
  }
  return result;
}

static std::optional<Sample> compute(Operation *op, const IterationSpace &space, unsigned columns,
                                     const Samples &samples) {
  if (!isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return std::nullopt;
  if (std::optional<double> splat = getSplat(op->getResult(0)))
    return Sample(*splat);
  if (auto reduction = dyn_cast<hlo::ReduceOp>(op))
    return reduce(reduction, space, columns, samples);
  const bool isIdentity = isa<hlo::ConvertOp, hlo::BroadcastInDimOp, hlo::ReshapeOp>(op);
  if (!isIdentity && !isSmooth(op))
    return std::nullopt;
  Sample result = samples.find(op->getOperand(0))->second;
  if (isIdentity)
    return result;
  const UnaryFunction unary = findUnaryFunction(op);
  const BinaryFunction binary = findBinaryFunction(op);
  for (size_t i = 0; i < result.numbers.size(); ++i)
    result.numbers[i] =
        unary ? unary(result.numbers[i])
              : binary(result.numbers[i], samples.find(op->getOperand(1))->second.numbers[i]);
  return result;
}

// ---- masks --------------------------------------------------------------------------------------

/// Returns true if a select of two constants is 0 where the column is at most the row, and
/// elsewhere so low that the score is masked.
static bool isCausalMask(hlo::SelectOp select, const IterationSpace &space,
                         const RowsAndColumns &groups) {
  auto [holds, fails] =
      mlir::st::DiagonalAnalysis(space, groups.rows, groups.columns, {}).getTruth(select.getPred());
  std::optional<double> visible = getSplat(select.getOnTrue()),
                        masked = getSplat(select.getOnFalse());
  if (fails.last == 0) {
    std::swap(holds, fails);
    std::swap(visible, masked);
  }
  return holds == DiagonalBand{-DiagonalBand::kUnbounded, 0} &&
         fails == DiagonalBand{1, DiagonalBand::kUnbounded} && visible == 0.0 && masked &&
         *masked <= mlir::st::kFarBelow;
}

static Sample causalMask() {
  Sample result;
  for (int64_t row = 0; row < Sample::kRows; ++row)
    for (int64_t column = row + 1; column < Sample::kColumns; ++column)
      result.at(row, column) = mlir::st::kFarBelow;
  return result;
}

LogicalResult mlir::cuda::sampleRows(Block &body, const IterationSpace &space,
                                     const RowsAndColumns &groups, Samples &samples,
                                     std::string &reason) {
  for (Operation &op : body.without_terminator()) {
    if (isa<hlo::IotaOp, hlo::CompareOp>(op))
      continue; // Only masks read these; `sampleRows` fails for other users.
    const bool hasOperands = llvm::all_of(op.getOperands(), [&](Value operand) {
      return samples.contains(operand) || getSplat(operand);
    });
    std::optional<Sample> result;
    auto select = dyn_cast<hlo::SelectOp>(op);
    if (select && isCausalMask(select, space, groups))
      result = causalMask();
    else if (hasOperands && op.getNumResults() == 1)
      result = compute(&op, space, groups.columns, samples);
    if (!result) {
      reason = (op.getName().getStringRef() + " is not an op of attention").str();
      return failure();
    }
    samples.try_emplace(op.getResult(0), std::move(*result));
  }
  return success();
}

bool mlir::cuda::hasCausalMask(Block &body) { return !body.getOps<hlo::SelectOp>().empty(); }
