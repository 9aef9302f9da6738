//===- FreezeParameters.cpp - Parameters that are not trained -------------===//

#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_FREEZEPARAMETERS
#include "passes/Autodiff/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// Patterns of parameter names. Each pattern must match a parameter.
class NamePatterns {
public:
  LogicalResult parse(ModuleOp module, ArrayRef<std::string> texts);
  bool empty() const { return patterns.empty(); }
  bool match(StringRef name);
  /// `effect` completes "parameters to ...", and `example` is the name of a parameter.
  LogicalResult checkUsed(func::FuncOp function, StringRef effect, StringRef example) const;

private:
  struct Pattern {
    StringRef text;
    llvm::GlobPattern glob;
    bool isUsed = false;
  };
  std::vector<Pattern> patterns;
};
} // namespace

LogicalResult NamePatterns::parse(ModuleOp module, ArrayRef<std::string> texts) {
  for (StringRef text : texts) {
    llvm::Expected<llvm::GlobPattern> glob = createNamePattern(text);
    if (!glob)
      return module.emitError() << "pattern " << text << ": " << llvm::toString(glob.takeError());
    patterns.push_back({text, *std::move(glob)});
  }
  return success();
}

bool NamePatterns::match(StringRef name) {
  bool found = false;
  for (Pattern &pattern : patterns)
    if (pattern.glob.match(name))
      found = pattern.isUsed = true;
  return found;
}

LogicalResult NamePatterns::checkUsed(func::FuncOp function, StringRef effect,
                                      StringRef example) const {
  for (const Pattern &pattern : patterns)
    if (!pattern.isUsed)
      return function.emitError("no parameter has a name that matches '")
             << pattern.text << "' (parameters to " << effect << "); names are like '" << example
             << "'";
  return success();
}

static constexpr FactContract kContract = {
    {Fact::Roles},
    FactSet({Fact::Gradients, Fact::Update, Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct FreezeParameters : mlir::st::impl::FreezeParametersBase<FreezeParameters> {
  using FreezeParametersBase::FreezeParametersBase;

  LogicalResult run(ModuleOp module) {
    NamePatterns frozen, trained;
    if (failed(frozen.parse(module, freeze)) || failed(trained.parse(module, train)))
      return failure();
    auto function = module.lookupSymbol<func::FuncOp>("main");
    if (!function)
      return module.emitError("expected a function @main");
    Signature signature(function);
    Builder builder(module.getContext());
    size_t left = 0;
    StringRef last;
    for (unsigned i = 0; i < signature.getNumArguments(); ++i) {
      auto role = dyn_cast_or_null<StringAttr>(signature.getArgumentAttr(i, kRoleAttr));
      auto name = dyn_cast_or_null<StringAttr>(signature.getArgumentAttr(i, kNameAttr));
      if (!role || role.getValue() != "parameter" || !name)
        continue;
      last = name.getValue();
      const bool isTrained = trained.match(name.getValue()) || trained.empty();
      const bool isFrozen = frozen.match(name.getValue()) || !isTrained;
      if (isFrozen)
        signature.setArgumentAttr(i, kFrozenAttr, builder.getUnitAttr());
      frozenParameters += isFrozen;
      left += !isFrozen;
    }
    if (failed(frozen.checkUsed(function, "freeze", last)) ||
        failed(trained.checkUsed(function, "train", last)))
      return failure();
    if (left == 0)
      return function.emitOpError("trains no parameter: all are frozen");
    signature.write();
    return success();
  }

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)) || failed(run(getOperation())))
      signalPassFailure();
  }
};
} // namespace
