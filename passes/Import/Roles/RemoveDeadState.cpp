#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/Utils/Roles.h"
#include "passes/Import/Passes.h"
#include "passes/Import/Roles/DonatedState.h"

namespace mlir::st {
#define GEN_PASS_DEF_REMOVEDEADSTATE
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// Erases ops that only dropped results needed.
static void eraseUnused(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

static unsigned removeDeadState(func::FuncOp function) {
  StatePairs pairs = findDonatedState(function, ElementwiseUpdates(function), {});
  if (pairs.size() == function.getNumResults())
    return 0;
  DenseSet<unsigned> live = findLiveState(function, pairs);
  llvm::BitVector arguments(function.getNumArguments()), results(function.getNumResults());
  for (auto [argument, result] : pairs) {
    StringRef role = getRole(function.getArgument(argument));
    if (live.contains(argument) || (!role.empty() && role != "optimizer_state"))
      continue;
    arguments.set(argument);
    results.set(result);
  }
  if (arguments.none())
    return 0;
  SmallVector<unsigned> places(results.size());
  for (unsigned result = 1; result < results.size(); ++result)
    places[result] = places[result - 1] + !results.test(result - 1);
  Builder builder(function.getContext());
  Signature signature(function);
  for (auto [argument, result] : pairs)
    if (signature.getArgumentAttr(argument, "tf.aliasing_output"))
      signature.setArgumentAttr(argument, "tf.aliasing_output",
                                builder.getI32IntegerAttr(places[result]));
  signature.eraseResults(results);
  signature.write();
  eraseUnused(function);
  // An argument that other ops still read stays, as a constant input.
  for (unsigned argument : arguments.set_bits())
    assert(function.getArgument(argument).use_empty() && "dead state that something reads");
  (void)function.eraseArguments(arguments);
  return arguments.count();
}

namespace {
struct RemoveDeadState : mlir::st::impl::RemoveDeadStateBase<RemoveDeadState> {
  using RemoveDeadStateBase::RemoveDeadStateBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function || function.isExternal() || !function.getBody().hasOneBlock())
      return;
    if (llvm::hasSingleElement(function.front()) || function.getNumResults() == 0)
      return;
    removed += removeDeadState(function);
  }
};
} // namespace
