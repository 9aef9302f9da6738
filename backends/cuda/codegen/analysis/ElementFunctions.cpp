#include "backends/cuda/codegen/analysis/ElementFunctions.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

UnaryFunction mlir::cuda::findUnaryFunction(Operation *op) {
  using Function = UnaryFunction;
  return TypeSwitch<Operation *, Function>(op)
      .Case([](hlo::NegOp) -> Function { return [](double x) { return -x; }; })
      .Case([](hlo::AbsOp) -> Function { return [](double x) { return std::fabs(x); }; })
      .Case([](hlo::ExpOp) -> Function { return [](double x) { return std::exp(x); }; })
      .Case([](hlo::Expm1Op) -> Function { return [](double x) { return std::expm1(x); }; })
      .Case([](hlo::LogOp) -> Function { return [](double x) { return std::log(x); }; })
      .Case([](hlo::Log1pOp) -> Function { return [](double x) { return std::log1p(x); }; })
      .Case([](hlo::LogisticOp) -> Function {
        return [](double x) { return 1 / (1 + std::exp(-x)); };
      })
      .Case([](hlo::SqrtOp) -> Function { return [](double x) { return std::sqrt(x); }; })
      .Case([](hlo::RsqrtOp) -> Function { return [](double x) { return 1 / std::sqrt(x); }; })
      .Case([](hlo::TanhOp) -> Function { return [](double x) { return std::tanh(x); }; })
      .Default([](Operation *) -> Function { return nullptr; });
}

BinaryFunction mlir::cuda::findBinaryFunction(Operation *op) {
  using Function = BinaryFunction;
  return TypeSwitch<Operation *, Function>(op)
      .Case([](hlo::AddOp) -> Function { return [](double x, double y) { return x + y; }; })
      .Case([](hlo::SubtractOp) -> Function { return [](double x, double y) { return x - y; }; })
      .Case([](hlo::MulOp) -> Function { return [](double x, double y) { return x * y; }; })
      .Case([](hlo::DivOp) -> Function { return [](double x, double y) { return x / y; }; })
      .Case(
          [](hlo::MaxOp) -> Function { return [](double x, double y) { return std::fmax(x, y); }; })
      .Case(
          [](hlo::MinOp) -> Function { return [](double x, double y) { return std::fmin(x, y); }; })
      .Case(
          [](hlo::PowOp) -> Function { return [](double x, double y) { return std::pow(x, y); }; })
      .Default([](Operation *) -> Function { return nullptr; });
}
