#include "test/fuzz/differential/Compare.h"

#include "lib/Reference/TensorTypes.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <vector>

using namespace mlir;
using namespace mlir::st;

Roundings mlir::st::getRoundings(ModuleOp module) {
  Roundings roundings;
  auto visit = [&](Type type) {
    Type element = getElementTypeOrSelf(type);
    if (auto complex = dyn_cast<ComplexType>(element))
      element = complex.getElementType();
    if (!isa<FloatType>(element))
      return;
    const Roundings own = element.isBF16()  ? Roundings{1e-1, 0x1p-8}
                          : element.isF16() ? Roundings{2e-2, 0x1p-11}
                          : element.isF32() ? Roundings{1e-4}
                                            : Roundings{1e-9};
    if (own.tolerance > roundings.tolerance)
      roundings = own;
  };
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      visit(type);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          visit(type);
  });
  return roundings;
}

/// The numbers of a tensor, of a complex one in pairs.
static std::vector<double> toNumbers(const ref::Tensor &tensor) {
  std::vector<double> numbers;
  ref::dispatchAll(tensor.getType(), [&](auto tag) {
    using T = decltype(tag);
    const T *data = tensor.data<T>();
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      if constexpr (ref::isComplex<T>) {
        numbers.push_back(data[i].real());
        numbers.push_back(data[i].imag());
      } else {
        numbers.push_back(static_cast<double>(static_cast<ref::Compute<T>>(data[i])));
      }
  });
  return numbers;
}

bool mlir::st::areWellConditioned(const ref::NamedTensors &results) {
  constexpr double largest = 1e4;
  for (const auto &[name, tensor] : results)
    if (ref::isFloatType(tensor.getType()) || ref::isComplexType(tensor.getType()))
      for (double number : toNumbers(tensor))
        if (!(std::abs(number) <= largest))
          return false;
  return true;
}

ref::NamedTensors mlir::st::nudge(const ref::NamedTensors &inputs, unsigned variant, double step) {
  ref::NamedTensors nudged = inputs;
  for (auto &[name, tensor] : nudged) {
    const int64_t count = tensor.getNumElements();
    tensor = tensor.clone();
    // A third of the numbers goes down, or half of them by the bits of a multiplicative hash.
    auto isDown = [&](int64_t i) {
      return variant == 0 ? i % 3 == 1
                          : (static_cast<uint32_t>(i) * 2654435761u >> 3 * variant) & 1;
    };
    auto scale = [&](auto *data) {
      using T = std::remove_pointer_t<decltype(data)>;
      for (int64_t i = 0; i < count; ++i)
        data[i] *= static_cast<T>(isDown(i) ? 1 - step : 1 + step);
    };
    if (tensor.getType() == ref::ElementType::F32)
      scale(tensor.mutableData<float>());
    else if (tensor.getType() == ref::ElementType::F64)
      scale(tensor.mutableData<double>());
  }
  return nudged;
}

static double largestDifference(const std::vector<double> &a, const std::vector<double> &b) {
  double error = 0;
  for (size_t i = 0; i < a.size(); ++i)
    // The negated comparison also catches NaN.
    if (double difference = std::abs(a[i] - b[i]); !(difference <= error))
      error = difference;
  return error;
}

/// The largest difference that rounding explains. A program rounds many more times than the nudge
/// does.
static double largestRounding(StringRef name, const ref::NamedTensors &expected,
                              const ref::NamedTensors &actual, const NudgedResults &nudged) {
  auto moved = [&](const ref::NamedTensors &from, const ref::NamedTensors &to) {
    return largestDifference(toNumbers(from.at(name.str())), toNumbers(to.at(name.str())));
  };
  return 4 * std::max(moved(expected, nudged.expected), moved(actual, nudged.actual));
}

static std::string describeTensors(const ref::Tensor *given, const ref::Tensor &expected,
                                   const ref::Tensor &actual, double tolerance,
                                   function_ref<double()> roundings) {
  if (expected.getType() != actual.getType() || expected.getShape() != actual.getShape())
    return "is " + ref::toString(actual) + ", expected " + ref::toString(expected);
  bool isExact = !ref::isFloatType(expected.getType()) && !ref::isComplexType(expected.getType());
  std::vector<double> before = given ? toNumbers(*given) : std::vector<double>(),
                      wanted = toNumbers(expected), found = toNumbers(actual);
  bool replaces = before.size() == wanted.size();
  double scale = replaces ? 0.01 : 1;
  for (size_t i = 0; i < wanted.size(); ++i)
    scale = std::max(scale, std::abs(wanted[i] - (replaces ? before[i] : 0)));
  const double error = largestDifference(wanted, found);
  double allowed = isExact ? 0 : tolerance * scale;
  if (roundings && !isExact)
    allowed = std::max(allowed, roundings());
  if (error <= allowed)
    return "";
  return (llvm::Twine("is off by ") + std::to_string(error)).str();
}

std::string mlir::st::describeDifference(const ref::NamedTensors &inputs,
                                         const ref::NamedTensors &expected,
                                         const ref::NamedTensors &actual, double tolerance,
                                         const NudgedResults *nudged) {
  for (const auto &[name, tensor] : expected) {
    auto found = actual.find(name);
    if (found == actual.end())
      return name + " is missing";
    auto given = inputs.find(name);
    auto roundings = [&, name = StringRef(name)] {
      return largestRounding(name, expected, actual, *nudged);
    };
    std::string difference =
        describeTensors(given == inputs.end() ? nullptr : &given->second, tensor, found->second,
                        tolerance, nudged ? roundings : function_ref<double()>());
    if (!difference.empty())
      return name + " " + difference;
  }
  return "";
}
