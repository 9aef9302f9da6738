// The custom calls by which a program checks its own results.
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Numerics/IndexIterator.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace mlir::st::ref {
namespace {

using stablehlo::CustomCallOp;

/// Units in the last place between two finite numbers: how many steps of the
/// format lead from one to the other. Both zeros are one number.
template <class T> uint64_t distanceInUlps(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  auto split = [](T value) {
    Bits bits;
    std::memcpy(&bits, &value, sizeof bits);
    constexpr Bits kSign = static_cast<Bits>(Bits(1) << (sizeof(Bits) * 8 - 1));
    return std::pair<bool, uint64_t>((bits & kSign) != 0, bits & static_cast<Bits>(~kSign));
  };
  auto [aNegative, aSteps] = split(a);
  auto [bNegative, bSteps] = split(b);
  if (aNegative != bNegative)
    return aSteps + bSteps;
  return aSteps > bSteps ? aSteps - bSteps : bSteps - aSteps;
}

/// The criterion for two elements to agree.
struct Agreement {
  enum Kind { Equal, Almost, Close } kind;
  double tolerance = 0;
  uint64_t minUlps = 0, maxUlps = 0;

  template <class T> bool holds(T a, T b) const {
    if constexpr (isComplex<T>) {
      return holds(a.real(), b.real()) && holds(a.imag(), b.imag());
    } else if constexpr (!isFloat<T>) {
      return a == b;
    } else {
      double x = static_cast<double>(static_cast<Compute<T>>(a));
      double y = static_cast<double>(static_cast<Compute<T>>(b));
      if (std::isnan(x) || std::isnan(y))
        return std::isnan(x) && std::isnan(y);
      if (kind == Equal || std::isinf(x) || std::isinf(y))
        return x == y;
      if (kind == Almost)
        return std::fabs(x - y) <= tolerance;
      uint64_t ulps = distanceInUlps(a, b);
      return minUlps <= ulps && ulps <= maxUlps;
    }
  }
};

template <class T> std::string toText(T value) {
  if constexpr (isComplex<T>)
    return "(" + toText(value.real()) + ", " + toText(value.imag()) + ")";
  else if constexpr (!isFloat<T>)
    return std::to_string(value);
  std::string text;
  if constexpr (isFloat<T>) {
    text.resize(32);
    text.resize(static_cast<size_t>(std::snprintf(
        text.data(), text.size(), "%.*g", std::numeric_limits<Compute<T>>::max_digits10,
        static_cast<double>(static_cast<Compute<T>>(value)))));
  }
  return text;
}

/// Describes the first disagreement of `actual`; empty if there is none.
std::string describeMismatch(const Agreement &agreement, const Tensor &actual,
                             const Tensor &expected) {
  return dispatchAll(actual.getType(), [&](auto tag) {
    using T = decltype(tag);
    std::string first;
    int64_t wrong = 0, i = 0;
    forEachIndex(actual.getShape(), [&](ArrayRef<int64_t> index) {
      T a = actual.data<T>()[i], e = expected.data<T>()[i];
      ++i;
      if (agreement.holds(a, e) || wrong++ > 0)
        return;
      llvm::raw_string_ostream stream(first);
      stream << "the first at [";
      llvm::interleaveComma(index, stream);
      stream << "]: " << toText(a) << ", expected " << toText(e);
    });
    if (wrong > 0)
      first = std::to_string(wrong) + " of " + std::to_string(i) + " elements differ, " + first;
    return first;
  });
}

/// An integer or float attribute of the call, or its default.
template <class T> T getOption(CustomCallOp op, StringRef name, T otherwise) {
  Attribute attribute = op->getAttr(name);
  if (!attribute)
    if (auto config = dyn_cast_or_null<DictionaryAttr>(op.getBackendConfigAttr()))
      attribute = config.get(name);
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return static_cast<T>(number.getValue().getZExtValue());
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return static_cast<T>(number.getValueAsDouble());
  return otherwise;
}

std::optional<Agreement> getAgreement(CustomCallOp op) {
  StringRef target = op.getCallTargetName();
  if (target == "check.expect_eq")
    return Agreement{Agreement::Equal};
  if (target == "check.expect_almost_eq")
    return Agreement{Agreement::Almost, getOption(op, "tolerance", 1e-3)};
  if (target == "check.expect_close")
    return Agreement{Agreement::Close, 0, getOption<uint64_t>(op, "min_ulp_difference", 0),
                     getOption<uint64_t>(op, "max_ulp_difference", 3)};
  return std::nullopt;
}

} // namespace

Outcome evalCheck(Evaluator &evaluator, CustomCallOp op) {
  std::optional<Agreement> agreement = getAgreement(op);
  if (!agreement)
    return Outcome::Unknown;
  if (op->getNumOperands() != 2 || op->getNumResults() != 0 ||
      op->getOperand(0).getType() != op->getOperand(1).getType())
    return toOutcome(op.emitError("'")
                     << op.getCallTargetName() << "' compares two tensors of one type");
  const RankValues &actual = evaluator.get(op->getOperand(0));
  const RankValues &expected = evaluator.get(op->getOperand(1));
  for (int64_t rank : evaluator.getActiveRanks()) {
    std::string mismatch = describeMismatch(*agreement, actual[rank], expected[rank]);
    if (!mismatch.empty())
      return toOutcome(op.emitError("'") << op.getCallTargetName() << "' fails: " << mismatch);
  }
  return Outcome::Done;
}

} // namespace mlir::st::ref
