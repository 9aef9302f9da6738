//===- Differentiate.cpp - Adds the gradients of the loss -----------------===//

#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/CustomGradient.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/ReverseMode.h"

namespace mlir::st {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Autodiff/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

static bool isFloatScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && isa<FloatType>(tensor.getElementType());
}

static StringRef roleOfResult(func::FuncOp function, unsigned index) {
  auto role = function.getResultAttrOfType<StringAttr>(index, kRoleAttr);
  return role ? role.getValue() : "";
}

/// The index of the loss among the results: the one with that role, else the only float scalar
/// without a role.
static FailureOr<unsigned> findLoss(func::FuncOp function) {
  SmallVector<unsigned> named, candidates;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    StringRef role = roleOfResult(function, index);
    if (role == "loss")
      named.push_back(index);
    if (role.empty() && isFloatScalar(type))
      candidates.push_back(index);
  }
  ArrayRef<unsigned> found = named.empty() ? candidates : named;
  if (found.size() != 1)
    return function.emitOpError("expected one result of role \"loss\", or one float scalar, found ")
           << found.size();
  if (!isFloatScalar(function.getResultTypes()[found.front()]))
    return function.emitOpError("expected the loss to be a float scalar, found ")
           << function.getResultTypes()[found.front()];
  return found.front();
}

/// The indices of the arguments to differentiate by.
static FailureOr<SmallVector<unsigned>> findParameters(func::FuncOp function) {
  SmallVector<unsigned> found;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (getRole(argument) != "parameter" || function.getArgAttr(index, kFrozenAttr))
      continue;
    if (!function.getArgAttrOfType<StringAttr>(index, kNameAttr))
      return function.emitOpError("argument ") << index << " is a parameter without an st.name";
    if (!isa<FloatType>(getElementTypeOrSelf(argument.getType())))
      return withNote(function.emitOpError("expected parameter ")
                          << index << " to have float elements, found " << argument.getType(),
                      argument, "the parameter is here");
    found.push_back(index);
  }
  if (found.empty())
    return function.emitOpError("has no argument of role \"parameter\" that is not frozen");
  return found;
}

static LogicalResult differentiate(func::FuncOp function) {
  FailureOr<unsigned> loss = findLoss(function);
  if (failed(loss))
    return failure();
  FailureOr<SmallVector<unsigned>> indices = findParameters(function);
  if (failed(indices))
    return failure();

  SmallVector<Value> parameters;
  for (unsigned index : *indices)
    parameters.push_back(function.getArgument(index));
  Operation *end = function.front().getTerminator();
  FailureOr<SmallVector<Value>> gradients =
      emitGradients(function.front(), end->getOperand(*loss), parameters);
  if (failed(gradients))
    return failure();

  Builder builder(function.getContext());
  Signature signature(function);
  signature.setResultAttr(*loss, kRoleAttr, builder.getStringAttr("loss"));
  if (!signature.getResultAttr(*loss, kNameAttr))
    signature.setResultAttr(*loss, kNameAttr, builder.getStringAttr("loss"));
  for (auto [index, gradient] : llvm::zip_equal(*indices, *gradients)) {
    NamedAttrList attrs;
    attrs.set(kNameAttr, signature.getArgumentAttr(index, kNameAttr));
    attrs.set(kRoleAttr, builder.getStringAttr("gradient"));
    signature.appendResult(gradient, attrs);
  }
  signature.write();
  return success();
}

/// Erases ops that a rule emitted and a later rule folded away.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDeadOps(inner);
  }
}

/// A mesh is allowed, because annotated programs contain one.
static constexpr FactContract kContract = {
    {}, FactSet({Fact::Gradients, Fact::Update, Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct Differentiate : mlir::st::impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function || function.isExternal()) {
      getOperation().emitError("expected a function @main with a body");
      return signalPassFailure();
    }
    if (!function.getBody().hasOneBlock()) {
      function.emitOpError("expected one block, found ") << function.getBlocks().size();
      return signalPassFailure();
    }
    if (failed(differentiate(function)))
      return signalPassFailure();
    // Inlines the custom gradients that no cotangent reached.
    inlineCustomGradients(getOperation());
    eraseDeadOps(function.front());
  }
};
} // namespace
