#include "passes/Import/DonatedState.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::st;

SmallVector<Value> mlir::st::readsOf(Operation *op) {
  SmallVector<Value> reads(op->getOperands());
  if (op->getNumRegions() == 0)
    return reads;
  SetVector<Value> captured;
  for (Region &region : op->getRegions())
    getUsedValuesDefinedAbove(region, captured);
  llvm::append_range(reads, captured);
  return reads;
}

//===----------------------------------------------------------------------===//
// Update chains
//===----------------------------------------------------------------------===//

static DenseSet<unsigned> chainOf(Value result) {
  DenseSet<unsigned> arguments;
  SmallVector<Value> worklist = {result};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (value.getType() != result.getType() || !seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value))
      arguments.insert(argument.getArgNumber());
    else if (isPointwise(getShardingRule(value.getDefiningOp())))
      llvm::append_range(worklist, value.getDefiningOp()->getOperands());
  }
  return arguments;
}

UpdateChains::UpdateChains(func::FuncOp function) {
  for (Value result : function.front().getTerminator()->getOperands())
    chains.push_back(chainOf(result));
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

namespace {
class StateMatching {
public:
  StateMatching(func::FuncOp function, const UpdateChains &chains)
      : function(function), chains(chains) {}

  void collect(ArrayRef<unsigned> alsoState);
  StatePairs run();

private:
  bool fits(unsigned argument, unsigned result) {
    return function.getArgumentTypes()[argument] == function.getResultTypes()[result];
  }
  bool augment(unsigned argument, DenseSet<unsigned> &tried);
  void takeFree(unsigned argument);
  void take(unsigned argument, unsigned result) {
    argumentOf[result] = argument;
    resultOf[argument] = result;
  }

  func::FuncOp function;
  const UpdateChains &chains;
  SmallVector<unsigned> state, donated;
  DenseMap<unsigned, unsigned> aliases, argumentOf, resultOf;
};
} // namespace

void StateMatching::collect(ArrayRef<unsigned> alsoState) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto alias = function.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output");
    bool isAliased = alias && alias.getInt() >= 0 && alias.getInt() < function.getNumResults() &&
                     fits(i, alias.getInt());
    if (isAliased)
      aliases[i] = alias.getInt();
    auto donor = function.getArgAttrOfType<BoolAttr>(i, "jax.buffer_donor");
    bool isDonated = isAliased || (donor && donor.getValue());
    if (isDonated)
      donated.push_back(i);
    if (isDonated || llvm::is_contained(alsoState, i))
      state.push_back(i);
  }
}

/// Gives the argument a result that reaches it, moving others to other results that
/// reach them.
bool StateMatching::augment(unsigned argument, DenseSet<unsigned> &tried) {
  for (unsigned result = 0; result < function.getNumResults(); ++result) {
    if (!fits(argument, result) || !chains.reaches(result, argument) ||
        !tried.insert(result).second)
      continue;
    auto holder = argumentOf.find(result);
    if (holder == argumentOf.end() || augment(holder->second, tried)) {
      take(argument, result);
      return true;
    }
  }
  return false;
}

/// State that is replaced by something not made of it: its alias, else the first result
/// of its type that is left.
void StateMatching::takeFree(unsigned argument) {
  if (auto alias = aliases.find(argument);
      alias != aliases.end() && !argumentOf.contains(alias->second))
    return take(argument, alias->second);
  for (unsigned result = 0; result < function.getNumResults(); ++result)
    if (fits(argument, result) && !argumentOf.contains(result))
      return take(argument, result);
}

StatePairs StateMatching::run() {
  for (unsigned argument : state)
    if (auto alias = aliases.find(argument); alias != aliases.end() &&
                                             chains.reaches(alias->second, argument) &&
                                             !argumentOf.contains(alias->second))
      take(argument, alias->second);
  for (unsigned argument : state) {
    DenseSet<unsigned> tried;
    if (!resultOf.contains(argument))
      augment(argument, tried);
  }
  for (unsigned argument : donated)
    if (!resultOf.contains(argument))
      takeFree(argument);
  StatePairs pairs;
  for (unsigned argument : state)
    if (auto it = resultOf.find(argument); it != resultOf.end())
      pairs[argument] = it->second;
  return pairs;
}

StatePairs mlir::st::findDonatedState(func::FuncOp function, const UpdateChains &chains,
                                      ArrayRef<unsigned> alsoState) {
  StateMatching matching(function, chains);
  matching.collect(alsoState);
  return matching.run();
}
