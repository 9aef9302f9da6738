#include "passes/Import/Roles/DonatedState.h"

#include "dialects/St/Sharding/OpSharding.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Import/Roles/ArgumentPath.h"
#include "llvm/ADT/StringMap.h"

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
// Elementwise updates
//===----------------------------------------------------------------------===//

static DenseSet<unsigned> argumentsOf(Value result) {
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

ElementwiseUpdates::ElementwiseUpdates(func::FuncOp function) {
  for (Value result : function.front().getTerminator()->getOperands())
    arguments.push_back(argumentsOf(result));
}

//===----------------------------------------------------------------------===//
// Liveness
//===----------------------------------------------------------------------===//

DenseSet<unsigned> mlir::st::findLiveState(func::FuncOp function, const StatePairs &pairs) {
  DenseSet<unsigned> stateResults, live;
  for (auto [argument, result] : pairs)
    stateResults.insert(result);
  Operation *terminator = function.front().getTerminator();
  SmallVector<Value> worklist;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (!stateResults.contains(i))
      worklist.push_back(value);
  DenseSet<Operation *> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto pair = pairs.find(argument.getArgNumber());
      if (live.insert(argument.getArgNumber()).second && pair != pairs.end())
        worklist.push_back(terminator->getOperand(pair->second));
    } else if (seen.insert(value.getDefiningOp()).second) {
      llvm::append_range(worklist, readsOf(value.getDefiningOp()));
    }
  }
  return live;
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

namespace {
class StateMatching {
public:
  StateMatching(func::FuncOp function, const ElementwiseUpdates &updates)
      : function(function), updates(updates) {}

  void collect(ArrayRef<unsigned> alsoState);
  StatePairs run();

private:
  /// The initial pairs: every alias, or only those whose update reaches their argument.
  enum class Start { Aliases, ReachedAliases };

  void findNames();
  bool fits(unsigned argument, unsigned result);
  bool isAlias(unsigned argument, unsigned result) const;
  bool augment(unsigned argument, Start start, DenseSet<unsigned> &tried);
  void takeFree(unsigned argument);
  void take(unsigned argument, unsigned result) {
    argumentOf[result] = argument;
    resultOf[argument] = result;
  }
  StatePairs match(Start start);
  int64_t countReached(const StatePairs &pairs) const;
  int64_t countUseless(const StatePairs &pairs);

  func::FuncOp function;
  const ElementwiseUpdates &updates;
  SmallVector<unsigned> state, donated;
  /// Results at an argument's place in the program's containers, if there are any.
  DenseMap<unsigned, DenseSet<unsigned>> named;
  DenseMap<unsigned, unsigned> aliases, argumentOf, resultOf;
};
} // namespace

/// `params['w']` and `result[1]['w']` are at the same place: the container's name and its position
/// among the results do not matter.
void StateMatching::findNames() {
  llvm::StringMap<SmallVector<unsigned>> places;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    ArgumentPath path = pathOfResult(function, i);
    if (path.empty())
      continue;
    places[joinPath(path)].push_back(i);
    places[joinPath(ArrayRef(path).drop_front())].push_back(i);
  }
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    ArgumentPath path = pathOfArgument(function, i);
    if (path.size() < 2)
      continue;
    for (unsigned result : places.lookup(joinPath(ArrayRef(path).drop_front())))
      if (function.getArgumentTypes()[i] == function.getResultTypes()[result])
        named[i].insert(result);
  }
}

bool StateMatching::fits(unsigned argument, unsigned result) {
  if (function.getArgumentTypes()[argument] != function.getResultTypes()[result])
    return false;
  auto it = named.find(argument);
  return it == named.end() || it->second.contains(result);
}

bool StateMatching::isAlias(unsigned argument, unsigned result) const {
  auto it = aliases.find(argument);
  return it != aliases.end() && it->second == result;
}

void StateMatching::collect(ArrayRef<unsigned> alsoState) {
  findNames();
  DenseSet<unsigned> taken;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto alias = function.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output");
    bool hasAlias = alias && alias.getInt() >= 0 && alias.getInt() < function.getNumResults();
    if (hasAlias && fits(i, alias.getInt()) && taken.insert(alias.getInt()).second)
      aliases[i] = alias.getInt();
    auto donor = function.getArgAttrOfType<BoolAttr>(i, "jax.buffer_donor");
    bool isDonated = hasAlias || (donor && donor.getValue());
    if (isDonated)
      donated.push_back(i);
    if (isDonated || llvm::is_contained(alsoState, i))
      state.push_back(i);
  }
  // JAX would have chosen the first buffer of the type.
  for (unsigned argument : donated)
    for (unsigned result = 0; result < function.getNumResults() && !aliases.contains(argument);
         ++result)
      if (fits(argument, result) && taken.insert(result).second)
        aliases[argument] = result;
}

/// Gives the argument a result that reaches it, reassigning other arguments along an augmenting
/// path.
bool StateMatching::augment(unsigned argument, Start start, DenseSet<unsigned> &tried) {
  for (unsigned result = 0; result < function.getNumResults(); ++result) {
    if (!fits(argument, result) || !updates.reaches(result, argument) ||
        !tried.insert(result).second)
      continue;
    auto holder = argumentOf.find(result);
    bool mayMove = holder != argumentOf.end() &&
                   (start == Start::ReachedAliases || !isAlias(holder->second, result));
    if (holder == argumentOf.end() || (mayMove && augment(holder->second, start, tried))) {
      take(argument, result);
      return true;
    }
  }
  return false;
}

/// For state whose new value does not depend on it: takes its alias, else the first free result of
/// its type.
void StateMatching::takeFree(unsigned argument) {
  if (auto alias = aliases.find(argument);
      alias != aliases.end() && !argumentOf.contains(alias->second))
    return take(argument, alias->second);
  for (unsigned result = 0; result < function.getNumResults(); ++result)
    if (fits(argument, result) && !argumentOf.contains(result))
      return take(argument, result);
}

StatePairs StateMatching::match(Start start) {
  argumentOf.clear();
  resultOf.clear();
  for (unsigned argument : state)
    if (auto alias = aliases.find(argument);
        alias != aliases.end() &&
        (start == Start::Aliases || updates.reaches(alias->second, argument)))
      take(argument, alias->second);
  for (unsigned argument : state) {
    DenseSet<unsigned> tried;
    if (!resultOf.contains(argument))
      augment(argument, start, tried);
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

int64_t StateMatching::countReached(const StatePairs &pairs) const {
  return llvm::count_if(pairs, [&](auto pair) { return updates.reaches(pair.second, pair.first); });
}

/// Counts state that only state reads, or that never changes.
int64_t StateMatching::countUseless(const StatePairs &pairs) {
  DenseSet<unsigned> live = findLiveState(function, pairs);
  Operation *terminator = function.front().getTerminator();
  return llvm::count_if(pairs, [&](auto pair) {
    return !live.contains(pair.first) ||
           terminator->getOperand(pair.second) == function.getArgument(pair.first);
  });
}

StatePairs StateMatching::run() {
  StatePairs byAlias = match(Start::Aliases), byReach = match(Start::ReachedAliases);
  // In x' = y - g, y' = x' + m (x' - x), it is y that reaches x', but then x would be useless.
  bool isBetter = countReached(byReach) > countReached(byAlias) &&
                  byReach.size() < function.getNumResults() &&
                  countUseless(byReach) <= countUseless(byAlias);
  return isBetter ? byReach : byAlias;
}

StatePairs mlir::st::findDonatedState(func::FuncOp function, const ElementwiseUpdates &updates,
                                      ArrayRef<unsigned> alsoState) {
  StateMatching matching(function, updates);
  matching.collect(alsoState);
  return matching.run();
}
