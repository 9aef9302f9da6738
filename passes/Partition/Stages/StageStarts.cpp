#include "passes/Partition/Stages/StageStarts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/Utils/Roles.h"
#include "passes/Partition/Stages/LayerFlow.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// Names by which ops of the forward pass can be found.
class NameFinder {
public:
  NameFinder(func::FuncOp function, ArrayRef<Operation *> forward);

  StageStart find(const llvm::GlobPattern &pattern);
  /// The parameters that an op reads.
  SmallVector<StringRef> parametersOf(Operation *op) const;

private:
  /// The scopes of a location, outermost first, and their consecutive combinations.
  ArrayRef<std::string> scopesOf(Location location);
  size_t startOfBlock(size_t op) const;

  ArrayRef<Operation *> forward;
  /// Parameters, and values of a single parameter and constants.
  DenseMap<Value, StringRef> names;
  DenseMap<Location, std::vector<std::string>> scopes;
};
} // namespace

NameFinder::NameFinder(func::FuncOp function, ArrayRef<Operation *> forward) : forward(forward) {
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
    if (getRole(argument) == "parameter" && name)
      names[argument] = name.getValue();
  }
  for (Operation &op : function.front().without_terminator()) {
    std::optional<StringRef> name;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && producer->hasTrait<OpTrait::ConstantLike>())
        continue;
      auto it = names.find(operand);
      name = it != names.end() && (!name || *name == it->second) ? it->second : StringRef();
      if (name->empty())
        break;
    }
    if (name && !name->empty() && op.getNumRegions() == 0)
      for (Value result : op.getResults())
        names[result] = *name;
  }
}

SmallVector<StringRef> NameFinder::parametersOf(Operation *op) const {
  SmallVector<StringRef> read;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (auto it = names.find(operand); it != names.end())
        read.push_back(it->second);
  });
  return read;
}

/// `jvp(layer_3)` is the scope `layer_3`; the last part of a name is the op.
static SmallVector<StringRef> partsOf(StringRef name) {
  SmallVector<StringRef> parts;
  name.rsplit('/').first.split(parts, '/', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef &part : parts) {
    while (part.ends_with(")") && part.contains('('))
      part = part.drop_back().split('(').second;
  }
  return parts;
}

ArrayRef<std::string> NameFinder::scopesOf(Location location) {
  auto [it, isNew] = scopes.try_emplace(location);
  if (!isNew)
    return it->second;
  std::vector<std::string> &runs = it->second;
  location->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (!named || !named.getName().getValue().contains('/'))
      return WalkResult::advance();
    SmallVector<StringRef> parts = partsOf(named.getName().getValue());
    for (size_t begin = 0; begin < parts.size(); ++begin)
      for (size_t end = begin + 1; end <= parts.size(); ++end)
        runs.push_back(llvm::join(ArrayRef(parts).slice(begin, end - begin), "/"));
    return WalkResult::interrupt();
  });
  return runs;
}

/// The op, or the first op of its block if no other parameter of the block is read before.
size_t NameFinder::startOfBlock(size_t op) const {
  auto block = forward[op]->getAttrOfType<IntegerAttr>(kBlockAttr);
  size_t start = op;
  for (size_t i = op; block && i-- > 0;) {
    if (forward[i]->getAttrOfType<IntegerAttr>(kBlockAttr) != block)
      break;
    if (!parametersOf(forward[i]).empty())
      return op;
    start = i;
  }
  return start;
}

/// The name, or its part before a dot, that a pattern matches; empty if none.
static StringRef matchName(const llvm::GlobPattern &pattern, StringRef name) {
  if (pattern.match(name))
    return name;
  for (size_t dot = name.find('.'); dot != StringRef::npos; dot = name.find('.', dot + 1))
    if (pattern.match(name.take_front(dot)))
      return name.take_front(dot);
  return {};
}

StageStart NameFinder::find(const llvm::GlobPattern &pattern) {
  for (auto [i, op] : llvm::enumerate(forward)) {
    for (StringRef name : parametersOf(op))
      if (StringRef match = matchName(pattern, name); !match.empty())
        return {startOfBlock(i), match.str()};
    for (const std::string &scope : scopesOf(op->getLoc()))
      if (pattern.match(scope))
        return {i, scope};
  }
  return {};
}

SmallVector<Operation *> mlir::st::forwardOpsOfState(func::FuncOp function) {
  DenseSet<Value> stateful;
  for (BlockArgument argument : function.getArguments())
    if (isTrainingState(argument))
      stateful.insert(argument);
  SmallVector<Operation *> forward = forwardOps(function);
  if (stateful.empty())
    return forward;
  llvm::erase_if(forward, [&](Operation *op) {
    bool depends = false;
    op->walk([&](Operation *nested) {
      depends |= llvm::any_of(nested->getOperands(),
                              [&](Value value) { return stateful.contains(value); });
    });
    if (depends)
      stateful.insert(op->result_begin(), op->result_end());
    return !depends;
  });
  return forward;
}

SmallVector<StageStart> mlir::st::findStageStarts(func::FuncOp function,
                                                  ArrayRef<Operation *> forward,
                                                  ArrayRef<StringRef> patterns) {
  NameFinder finder(function, forward);
  SmallVector<StageStart> starts;
  for (StringRef text : patterns) {
    llvm::Expected<llvm::GlobPattern> pattern = createNamePattern(text);
    if (pattern) {
      starts.push_back(finder.find(*pattern));
    } else {
      llvm::consumeError(pattern.takeError());
      starts.emplace_back();
    }
  }
  return starts;
}

SmallVector<int64_t> mlir::st::followParameters(func::FuncOp function,
                                                ArrayRef<Operation *> forward,
                                                DictionaryAttr stages) {
  NameFinder finder(function, forward);
  auto blockOf = [](Operation *op) { return op->getAttrOfType<IntegerAttr>(kBlockAttr); };
  SmallVector<int64_t> result(forward.size(), 0);
  int64_t stage = 0;
  for (size_t begin = 0; begin < forward.size();) {
    // A block, or an op without one.
    size_t end = begin + 1;
    while (end < forward.size() && blockOf(forward[begin]) &&
           (!blockOf(forward[end]) || blockOf(forward[end]) == blockOf(forward[begin])))
      ++end;
    std::optional<int64_t> found;
    for (size_t i = begin; i < end && !found; ++i)
      for (StringRef name : finder.parametersOf(forward[i]))
        if (auto known = stages.getAs<IntegerAttr>(name); known && !found)
          found = known.getInt();
    stage = std::max(stage, found.value_or(stage));
    std::fill(result.begin() + begin, result.begin() + end, stage);
    begin = end;
  }
  return result;
}

std::string mlir::st::findFault(ArrayRef<StageStart> starts, ArrayRef<StringRef> patterns,
                                size_t &index) {
  size_t last = 0;
  for (auto [i, start] : llvm::enumerate(starts)) {
    index = i;
    if (!start.op)
      return "no parameter that the forward pass reads and no scope of it has a name that matches";
    if (i == 0 && *start.op == 0)
      return "the model begins with " + start.name + "; expected a layer before it, for stage 0";
    if (i > 0 && *start.op <= last)
      return start.name + " does not come after " + starts[i - 1].name + ", where stage " +
             std::to_string(i) + " begins";
    last = *start.op;
  }
  return {};
}
