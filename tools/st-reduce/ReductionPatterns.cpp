#include "tools/st-reduce/ReductionPatterns.h"

#include "dialects/St/IR/Signature.h"
#include "dialects/StableHLO/StableHLODialect.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Reducer/ReductionPatternInterface.h"

using namespace mlir;
using namespace mlir::st;

/// Changes a copy of the function's module and returns true if the tester finds it interesting.
static bool isInteresting(func::FuncOp function, const Tester &tester,
                          function_ref<void(func::FuncOp)> change) {
  auto module = function->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> copy(module.clone());
  change(copy->lookupSymbol<func::FuncOp>(function.getName()));
  return tester.isInteresting(*copy).first == Tester::Interestingness::True;
}

namespace {
/// Applies each change to a copy first.
class ReduceFunction : public OpRewritePattern<func::FuncOp> {
public:
  ReduceFunction(MLIRContext *context, const Tester &tester)
      : OpRewritePattern(context), tester(tester) {}

  LogicalResult matchAndRewrite(func::FuncOp function, PatternRewriter &rewriter) const override {
    if (function.isExternal() || !function->getParentOfType<ModuleOp>())
      return failure();
    auto attempt = [&](function_ref<void(func::FuncOp)> change) {
      if (!isInteresting(function, tester, change))
        return false;
      rewriter.modifyOpInPlace(function, [&] { change(function); });
      return true;
    };
    bool changed = dropResults(function, attempt);
    changed |= simplifyOps(function, attempt);
    changed |= dropArguments(function, attempt);
    return success(changed);
  }

private:
  using Attempt = function_ref<bool(function_ref<void(func::FuncOp)>)>;

  static bool dropResults(func::FuncOp function, Attempt attempt) {
    bool changed = false;
    for (unsigned i = function.getNumResults(); i-- > 0 && function.getNumResults() > 1;)
      changed |= attempt([&](func::FuncOp f) {
        f.front().getTerminator()->eraseOperand(i);
        (void)f.eraseResult(i);
        eraseDead(f);
      });
    return changed;
  }

  static bool dropArguments(func::FuncOp function, Attempt attempt) {
    bool changed = false;
    for (unsigned i = function.getNumArguments(); i-- > 0;)
      if (function.getArgument(i).use_empty())
        changed |= attempt([&](func::FuncOp f) { (void)f.eraseArgument(i); });
    return changed;
  }

  static bool simplifyOps(func::FuncOp function, Attempt attempt) {
    bool changed = false;
    for (unsigned i = numOps(function); i-- > 0;)
      for (unsigned choice = 0; i < numOps(function) && choice < 3; ++choice)
        if (canSimplify(*opAt(function, i), choice) && attempt([&](func::FuncOp f) {
              simplify(*opAt(f, i), choice);
              eraseDead(f);
            })) {
          changed = true;
          break;
        }
    return changed;
  }

  static unsigned numOps(func::FuncOp function) { return function.front().getOperations().size(); }
  static Block::iterator opAt(func::FuncOp function, unsigned index) {
    return std::next(function.front().begin(), index);
  }

  /// Returns an operand or an argument of the result's type.
  static Value findSubstitute(Operation &op, Value result, bool ofOperands) {
    for (Value value :
         ofOperands ? ValueRange(op.getOperands()) : ValueRange(op.getBlock()->getArguments()))
      if (value.getType() == result.getType())
        return value;
    return nullptr;
  }

  /// Choices: 0 an operand, 1 an argument, 2 a constant.
  static bool canSimplify(Operation &op, unsigned choice) {
    if (op.getNumResults() == 0 || op.hasTrait<OpTrait::ConstantLike>() || op.use_empty())
      return false;
    return llvm::all_of(op.getResults(), [&](Value result) {
      if (choice < 2)
        return findSubstitute(op, result, choice == 0) != nullptr;
      auto type = dyn_cast<RankedTensorType>(result.getType());
      return type && type.getElementType().isIntOrFloat();
    });
  }

  static void simplify(Operation &op, unsigned choice) {
    OpBuilder builder(&op);
    for (Value result : op.getResults()) {
      Value substitute;
      if (choice < 2) {
        substitute = findSubstitute(op, result, choice == 0);
      } else {
        auto type = cast<RankedTensorType>(result.getType());
        Attribute one = isa<FloatType>(type.getElementType())
                            ? Attribute(builder.getFloatAttr(type.getElementType(), 1))
                            : Attribute(builder.getIntegerAttr(type.getElementType(), 1));
        substitute =
            stablehlo::ConstantOp::create(builder, op.getLoc(), DenseElementsAttr::get(type, one));
      }
      result.replaceAllUsesWith(substitute);
    }
  }

  static void eraseDead(func::FuncOp function) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }

  const Tester &tester;
};

class ReductionPatterns : public DialectReductionPatternInterface {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReductionPatterns)
  ReductionPatterns(Dialect *dialect) : DialectReductionPatternInterface(dialect) {}

  void populateReductionPatterns(RewritePatternSet &patterns) const override {}
  void populateReductionPatternsWithTester(RewritePatternSet &patterns,
                                           Tester &tester) const override {
    patterns.add<ReduceFunction>(patterns.getContext(), tester);
  }
};
} // namespace

void mlir::st::registerReductionPatterns(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, stablehlo::StableHLODialect *dialect) {
    dialect->addInterfaces<ReductionPatterns>();
  });
}
