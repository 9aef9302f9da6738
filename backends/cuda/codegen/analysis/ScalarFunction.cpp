#include "backends/cuda/codegen/analysis/ScalarFunction.h"

#include "backends/cuda/codegen/analysis/ElementFunctions.h"
#include "dialects/StableHLO/Utils/Splat.h"

#include <cmath>

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::getSplat;
namespace hlo = mlir::stablehlo;
using Numbers = ScalarFunction::Numbers;

static constexpr double kSlope = 0.79788456080286535588; // sqrt(2 / pi)
static constexpr double kCubic = 0.044715;

double mlir::cuda::gelu(double x) {
  return x / 2 * (1 + std::tanh(kSlope * (x + kCubic * x * x * x)));
}

double mlir::cuda::geluDerivative(double x) {
  double t = std::tanh(kSlope * (x + kCubic * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * kSlope * (1 + 3 * kCubic * x * x);
}

// ---- values -------------------------------------------------------------------------------------

/// Returns true if each element of the result is the operand's element at the same memory offset.
static bool keepsPlaces(Operation *op) {
  auto operand = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto broadcast = dyn_cast<hlo::BroadcastInDimOp>(op))
    return operand.getNumElements() == result.getNumElements() &&
           llvm::is_sorted(broadcast.getBroadcastDimensions());
  return isa<hlo::ReshapeOp>(op) ||
         (isa<hlo::ConvertOp>(op) && isa<FloatType>(operand.getElementType()) &&
          isa<FloatType>(result.getElementType()));
}

std::optional<Numbers> ScalarFunction::evaluateOp(Operation *op, Known &known) const {
  if (isa<hlo::ConstantOp>(op)) {
    std::optional<double> number = getSplat(op->getResult(0));
    return number ? std::optional(Numbers{*number}) : std::nullopt;
  }
  if (op->getNumResults() != 1 || op->getNumOperands() < 1 || op->getNumOperands() > 2)
    return std::nullopt;
  std::optional<Numbers> left = evaluate(op->getOperand(0), known);
  if (!left)
    return std::nullopt;
  // A constant has the same value at all offsets.
  if (keepsPlaces(op) || (isa<hlo::BroadcastInDimOp>(op) && left->size() == 1))
    return left;
  std::optional<Numbers> right;
  if (op->getNumOperands() == 2 && !(right = evaluate(op->getOperand(1), known)))
    return std::nullopt;
  const UnaryFunction unary = right ? nullptr : findUnaryFunction(op);
  const BinaryFunction binary = right ? findBinaryFunction(op) : nullptr;
  if (!unary && !binary)
    return std::nullopt;
  Numbers result;
  for (size_t point = 0; point < std::max(left->size(), right ? right->size() : 0); ++point) {
    auto at = [&](const Numbers &numbers) { return numbers[numbers.size() == 1 ? 0 : point]; };
    result.push_back(right ? binary(at(*left), at(*right)) : unary(at(*left)));
  }
  return result;
}

/// Returns the value at all points, or one number for a constant. Returns std::nullopt if the value
/// is not an elementwise function of the known values.
std::optional<Numbers> ScalarFunction::evaluate(Value value, Known &known) const {
  value = definition(value);
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  std::optional<Numbers> numbers = op ? evaluateOp(op, known) : std::nullopt;
  known[value] = numbers;
  return numbers;
}

// ---- functions ----------------------------------------------------------------------------------

/// Points that cover the curved part of GELU and some of the straight parts on both sides.
static Numbers samplePoints() {
  Numbers points;
  for (double x = -8.137; x < 8.5; x += 0.25)
    points.push_back(x);
  points.push_back(0);
  return points;
}

static bool agree(double found, double expected) {
  constexpr double kTolerance = 1e-6;
  return std::fabs(found - expected) <= kTolerance * std::fmax(1, std::fabs(expected));
}

bool ScalarFunction::isGelu(Value value, Value x) const {
  const Numbers points = samplePoints();
  Known known{{definition(x), points}};
  std::optional<Numbers> found = evaluate(value, known);
  return found && found->size() == points.size() &&
         llvm::all_of(llvm::zip_equal(points, *found), [](auto pair) {
           auto [x, y] = pair;
           return agree(y, gelu(x));
         });
}

bool ScalarFunction::isGeluGradient(Value value, Value gradient, Value x) const {
  const Numbers points = samplePoints();
  if (definition(gradient) == definition(x))
    return false;
  for (double factor : {1.0, -0.37, 2.5}) {
    // The factor differs between sample points, so that a product with its sum, for example, does
    // not match.
    Numbers factors = llvm::map_to_vector(points, [&](double point) { return factor + point / 8; });
    Known known{{definition(gradient), factors}, {definition(x), points}};
    std::optional<Numbers> found = evaluate(value, known);
    if (!found || found->size() != points.size())
      return false;
    for (auto [factor, x, y] : llvm::zip_equal(factors, points, *found))
      if (!agree(y, factor * geluDerivative(x)))
        return false;
  }
  return true;
}

// ---- ops ----------------------------------------------------------------------------------------

namespace {
/// Writes formulas of f32 values of one shape.
class Formula {
public:
  Formula(OpBuilder &builder, Location loc, Value like)
      : builder(builder), loc(loc),
        type(cast<RankedTensorType>(like.getType()).clone(builder.getF32Type())) {}

  Value number(double value) {
    return hlo::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, float(value)));
  }
  Value widen(Value x) { return convert(x, type); }
  Value convert(Value x, Type to) {
    return x.getType() == to ? x : hlo::ConvertOp::create(builder, loc, to, x).getResult();
  }
  Value add(Value x, Value y) { return hlo::AddOp::create(builder, loc, x, y); }
  Value mul(Value x, Value y) { return hlo::MulOp::create(builder, loc, x, y); }
  Value sub(Value x, Value y) { return hlo::SubtractOp::create(builder, loc, x, y); }
  /// sqrt(2 / pi) * (x + cubic * x^3)
  Value slope(Value x) {
    Value square = mul(x, x);
    Value inner = add(mul(square, number(kCubic)), number(1));
    return mul(mul(x, inner), number(kSlope));
  }
  Value tanh(Value x) { return hlo::TanhOp::create(builder, loc, x); }

private:
  OpBuilder &builder;
  Location loc;
  RankedTensorType type;
};
} // namespace

Value mlir::cuda::emitGelu(OpBuilder &builder, Location loc, Value x) {
  Formula f(builder, loc, x);
  Value wide = f.widen(x);
  Value half = f.mul(wide, f.number(0.5));
  return f.convert(f.mul(half, f.add(f.tanh(f.slope(wide)), f.number(1))), x.getType());
}

Value mlir::cuda::emitGeluGradient(OpBuilder &builder, Location loc, Value gradient, Value x) {
  Formula f(builder, loc, x);
  Value wide = f.widen(x), one = f.number(1), half = f.number(0.5);
  Value t = f.tanh(f.slope(wide));
  Value inner = f.add(f.mul(f.mul(wide, wide), f.number(3 * kCubic)), one);
  Value slopeTerm = f.mul(f.mul(f.sub(one, f.mul(t, t)), f.number(kSlope)), inner);
  Value derivative = f.mul(f.add(f.add(t, one), f.mul(wide, slopeTerm)), half);
  return f.convert(f.mul(f.widen(gradient), derivative), x.getType());
}
