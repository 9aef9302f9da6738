#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Roles.h"
#include "passes/Import/Passes.h"
#include "passes/Import/Roles/DonatedState.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

namespace mlir::st {
#define GEN_PASS_DEF_MARKBLOCKS
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// An op of the forward pass that reads a parameter, and the layer it appears to belong to.
struct ParameterRead {
  Operation *op;
  unsigned argument;
  std::optional<int64_t> layer = std::nullopt;
};
} // namespace

//===----------------------------------------------------------------------===//
// Parameters as the forward pass reads them
//===----------------------------------------------------------------------===//

static DenseSet<Operation *> findForward(func::FuncOp function) {
  SmallVector<Value> worklist;
  for (auto [i, value] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
    auto role = function.getResultAttrOfType<StringAttr>(i, kRoleAttr);
    if (role && role.getValue() == "loss")
      worklist.push_back(value);
  }
  DenseSet<Operation *> forward;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (op && forward.insert(op).second)
      llvm::append_range(worklist, readsOf(op));
  }
  return forward;
}

/// Uses by ops that combine a parameter with another value. A value computed only from the
/// parameter, such as a converted copy, represents it. A scalar computed from a parameter, such as
/// a weight's square that is added to the loss, does not identify a layer.
static std::vector<ParameterRead> findReads(func::FuncOp function) {
  DenseSet<Operation *> forward = findForward(function);
  DenseMap<Value, unsigned> parameters;
  for (BlockArgument argument : function.getArguments())
    if (getRole(argument) == "parameter")
      parameters[argument] = argument.getArgNumber();
  std::vector<ParameterRead> reads;
  for (Operation &op : function.front().without_terminator()) {
    if (!forward.contains(&op))
      continue;
    std::optional<unsigned> parameter;
    bool isOfParameters = true;
    for (Value value : readsOf(&op)) {
      auto it = parameters.find(value);
      if (it != parameters.end())
        parameter = parameter.value_or(it->second);
      else if (Operation *maker = value.getDefiningOp();
               !maker || !maker->hasTrait<OpTrait::ConstantLike>())
        isOfParameters = false;
    }
    if (!parameter)
      continue;
    if (!isOfParameters) {
      reads.push_back({&op, *parameter});
      continue;
    }
    for (Value result : op.getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()); type && type.getRank() > 0)
        parameters[result] = *parameter;
  }
  return reads;
}

//===----------------------------------------------------------------------===//
// Layers by name
//===----------------------------------------------------------------------===//

/// The number that a part of a name is or ends with.
static std::optional<int64_t> trailingNumber(StringRef part) {
  StringRef digits = part.drop_front(part.find_last_not_of("0123456789") + 1);
  int64_t number;
  if (digits.empty() || digits.size() > 6 || digits.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

static std::optional<int64_t> firstNumber(StringRef text, StringRef separators) {
  while (!text.empty()) {
    size_t end = std::min(text.find_first_of(separators), text.size());
    if (std::optional<int64_t> number = trailingNumber(text.take_front(end)))
      return number;
    text = text.drop_front(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

static std::optional<int64_t> layerOfName(func::FuncOp function, const ParameterRead &read) {
  auto name = function.getArgAttrOfType<StringAttr>(read.argument, kNameAttr);
  // "arg7" is the name of an argument without one.
  if (!name || name.getValue() == ("arg" + Twine(read.argument)).str())
    return std::nullopt;
  return firstNumber(name.getValue(), "._/");
}

/// `jit(step)/jvp(Bert)/layer_3/dot_general`: the last part is the op.
static std::optional<int64_t> layerOfLocation(const ParameterRead &read) {
  std::optional<int64_t> layer;
  read.op->getLoc()->walk([&](Location location) {
    auto named = dyn_cast<NameLoc>(location);
    if (!named)
      return WalkResult::advance();
    layer = firstNumber(named.getName().getValue().rsplit('/').first, "/()[].");
    return layer ? WalkResult::interrupt() : WalkResult::advance();
  });
  return layer;
}

/// Returns true if an op's results lead to another op of the same block. Products that only share
/// an operand, such as queries and keys, do not.
static bool leadsTo(Operation *from, Operation *to) {
  DenseSet<Operation *> seen;
  SmallVector<Operation *> worklist = {from};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val()->getUsers()) {
      user = to->getBlock()->findAncestorOpInBlock(*user);
      if (user == to)
        return true;
      if (user && user->isBeforeInBlock(to) && seen.insert(user).second)
        worklist.push_back(user);
    }
  return false;
}

/// Returns true if layers are consecutive, each reads results of the previous one, and there are at
/// least two.
static bool areLayers(ArrayRef<ParameterRead> reads) {
  const ParameterRead *first = nullptr; // the first read of the last layer
  bool areSeveral = false;
  for (const ParameterRead &read : reads) {
    if (!read.layer || (first && *read.layer == *first->layer))
      continue;
    if (first && (*read.layer < *first->layer || !leadsTo(first->op, read.op)))
      return false;
    areSeveral |= first != nullptr;
    first = &read;
  }
  return areSeveral;
}

//===----------------------------------------------------------------------===//
// Layers by structure
//===----------------------------------------------------------------------===//

/// Finds the longest run of parameter types that repeats with one period, where each period reads
/// results of the previous one.
static void findRepetition(func::FuncOp function, MutableArrayRef<ParameterRead> reads) {
  size_t count = reads.size(), bestStart = 0, bestPeriod = 0, bestLength = 0;
  auto typeOf = [&](size_t i) { return function.getArgumentTypes()[reads[i].argument]; };
  for (size_t period = 1; 2 * period <= count; ++period) {
    size_t matched = 0, links = 0; // links: layers of this run that the next layer reads
    for (size_t i = 0; i + period < count; ++i) {
      if (typeOf(i) != typeOf(i + period)) {
        matched = links = 0;
        continue;
      }
      ++matched;
      size_t start = i + 1 - matched, wanted = matched / period;
      if (wanted != links + 1)
        continue;
      Operation *from = reads[start + links * period].op;
      Operation *to = reads[start + wanted * period].op;
      if (!leadsTo(from, to))
        continue;
      ++links;
      if ((links + 1) * period > bestLength) {
        bestLength = (links + 1) * period;
        bestPeriod = period;
        bestStart = start;
      }
    }
  }
  for (size_t i = 0; i < bestLength; ++i)
    reads[bestStart + i].layer = i / bestPeriod;
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

/// Marks the ops; returns the number of layers.
static int64_t mark(ArrayRef<ParameterRead> reads) {
  std::map<int64_t, int64_t> blocks;
  for (const ParameterRead &read : reads)
    if (read.layer)
      blocks.emplace(*read.layer, 0);
  int64_t next = 1;
  for (auto &[layer, block] : blocks)
    block = next++;
  size_t last = 0;
  for (auto [i, read] : llvm::enumerate(reads))
    if (read.layer)
      last = i;
  int64_t current = 0;
  for (auto [i, read] : llvm::enumerate(reads)) {
    if (read.layer)
      current = blocks[*read.layer];
    else if (i > last)
      current = next;
    read.op->setDiscardableAttr(kBlockAttr,
                                Builder(read.op->getContext()).getI64IntegerAttr(current));
  }
  return blocks.size();
}

static int64_t markBlocks(func::FuncOp function) {
  std::vector<ParameterRead> reads = findReads(function);
  for (ParameterRead &read : reads)
    read.layer = layerOfName(function, read);
  if (!areLayers(reads))
    for (ParameterRead &read : reads)
      read.layer = layerOfLocation(read);
  if (!areLayers(reads)) {
    for (ParameterRead &read : reads)
      read.layer = std::nullopt;
    findRepetition(function, reads);
  }
  return areLayers(reads) ? mark(reads) : 0;
}

namespace {
struct MarkBlocks : mlir::st::impl::MarkBlocksBase<MarkBlocks> {
  using MarkBlocksBase::MarkBlocksBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function || function.isExternal() || !function.getBody().hasOneBlock())
      return;
    bool isMarked =
        llvm::any_of(function.front(), [](Operation &op) { return op.hasAttr(kBlockAttr); });
    if (!isMarked)
      layers += markBlocks(function);
  }
};
} // namespace
