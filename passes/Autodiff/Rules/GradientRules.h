//===- GradientRules.h - Gradient rules of ops ------------------*- C++ -*-===//
//
// The rules of reverse mode, one function for each kind of op. Given the cotangents of an op's
// results, a rule adds the op's contributions to the cotangents of its operands.
//
//===----------------------------------------------------------------------===//

#ifndef ST_PASSES_AUTODIFF_GRADIENTRULES_H
#define ST_PASSES_AUTODIFF_GRADIENTRULES_H

#include "dialects/StableHLO/Utils/Emitter.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <functional>

namespace mlir::st {

class ReverseMode;

/// The cotangents collected so far in one block, and the insertion point of rules.
class Gradients {
public:
  Gradients(Emitter &emit, ReverseMode &mode) : emit(emit), mode(mode) {}

  Emitter &emit;
  ReverseMode &mode;

  /// Returns true if the value depends on a parameter, so that its cotangent is needed.
  bool isNeeded(Value value) const;

  /// Adds a contribution, of the type of `value`, to its cotangent.
  void add(Value value, Value contribution) {
    if (isNeeded(value))
      contributions[value].push_back(contribution);
  }
  /// As above; `make` emits the contribution only if it is needed.
  template <typename Make, typename = std::enable_if_t<std::is_invocable_r_v<Value, Make>>>
  void add(Value value, Make &&make) {
    if (isNeeded(value))
      contributions[value].push_back(make());
  }

  /// The sum of the contributions in order of arrival, or null if there is none.
  Value take(Value value);

  /// As above, added to `sum`. A contribution that is zero outside a slice only updates that slice.
  Value takeInto(Value sum, Value value);

private:
  DenseMap<Value, SmallVector<Value, 2>> contributions;
};

class GradientRules {
public:
  /// A rule receives the cotangent of each result; null if a result has none.
  using Rule = std::function<LogicalResult(Operation *, ArrayRef<Value>, Gradients &)>;

  /// The rules of every differentiable op.
  GradientRules();

  /// Registers the rule of an op with one result.
  template <typename OpTy> void add(void (*rule)(OpTy, Value, Gradients &)) {
    rules[OpTy::getOperationName()] = [rule](Operation *op, ArrayRef<Value> cotangents,
                                             Gradients &gradients) {
      rule(cast<OpTy>(op), cotangents.front(), gradients);
      return success();
    };
  }
  /// Registers a rule that may reject some forms of the op, with a diagnostic.
  template <typename OpTy>
  void addChecked(LogicalResult (*rule)(OpTy, ArrayRef<Value>, Gradients &)) {
    rules[OpTy::getOperationName()] = [rule](Operation *op, ArrayRef<Value> cotangents,
                                             Gradients &gradients) {
      return rule(cast<OpTy>(op), cotangents, gradients);
    };
  }
  /// Registers ops whose gradient is zero wherever it is defined.
  template <typename... OpTys> void addZero() { (zeros.insert(OpTys::getOperationName()), ...); }

  /// Registers ops whose rules hold for complex values too, in JAX's convention: the
  /// cotangent of a function that is differentiable in the complex sense is multiplied by
  /// the derivative, not by its conjugate. Other ops with complex operands are refused.
  template <typename... OpTys> void allowComplex() {
    (complex.insert(OpTys::getOperationName()), ...);
  }

  bool supportsComplex(Operation *op) const {
    return complex.contains(op->getName().getStringRef());
  }
  bool isZero(Operation *op) const { return zeros.contains(op->getName().getStringRef()); }
  /// The op's rule, or null.
  const Rule *lookup(Operation *op) const {
    auto found = rules.find(op->getName().getStringRef());
    return found == rules.end() ? nullptr : &found->second;
  }

private:
  DenseMap<StringRef, Rule> rules;
  DenseSet<StringRef> zeros, complex;
};

void populateBesselRules(GradientRules &rules);
void populateBranchRules(GradientRules &rules);
void populateCallRules(GradientRules &rules);
void populateComplexRules(GradientRules &rules);
void populateConvolutionRules(GradientRules &rules);
void populateLinearAlgebraRules(GradientRules &rules);
void populateNormalizationRules(GradientRules &rules);
void populateLoopRules(GradientRules &rules);
void populateElementwiseRules(GradientRules &rules);
void populateShapeRules(GradientRules &rules);
void populateReductionRules(GradientRules &rules);
void populateIndexingRules(GradientRules &rules);
void populateScatterRules(GradientRules &rules);
void populateWindowRules(GradientRules &rules);

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_GRADIENTRULES_H
