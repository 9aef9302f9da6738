#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/IR/StackedState.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Partition/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {
#define GEN_PASS_DEF_UNSTACKSTATE
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

/// The row that a slice takes of its operand's first dimension, if it takes one complete row.
static std::optional<int64_t> rowTaken(stablehlo::SliceOp slice) {
  ArrayRef<int64_t> shape = slice.getOperand().getType().getShape();
  ArrayRef<int64_t> starts = slice.getStartIndices(), limits = slice.getLimitIndices();
  if (shape.empty() || limits[0] - starts[0] != 1)
    return std::nullopt;
  for (size_t dim = 1; dim < shape.size(); ++dim)
    if (starts[dim] != 0 || limits[dim] != shape[dim] || slice.getStrides()[dim] != 1)
      return std::nullopt;
  return starts[0];
}

/// Returns true if each row of a value is read separately.
static bool isReadByRows(Value value) {
  llvm::SmallDenseSet<int64_t> rows;
  for (Operation *user : value.getUsers())
    if (auto slice = dyn_cast<stablehlo::SliceOp>(user))
      if (std::optional<int64_t> row = rowTaken(slice))
        rows.insert(*row);
  int64_t count = cast<RankedTensorType>(value.getType()).getDimSize(0);
  return count > 1 && static_cast<int64_t>(rows.size()) == count;
}

/// The type of one row.
static RankedTensorType rowType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[0] = 1;
  return tensor.clone(shape);
}

namespace {
/// Replaces the stacked state of a function by rows.
class Unstacking {
public:
  explicit Unstacking(func::FuncOp function)
      : function(function), builder(function.getContext()),
        terminator(function.front().getTerminator()) {}

  /// Returns the number of stacks.
  size_t run();

private:
  struct Stack {
    SmallVector<BlockArgument> rows;
    unsigned result; ///< the result that replaces it
  };

  void findStacks();
  void splitArguments();
  void splitResults();
  void splitReductions();
  void renumberDonations();
  void eraseDead();

  StringAttr nameOf(BlockArgument argument, StringRef attribute = kNameAttr) const {
    return function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attribute);
  }
  std::optional<unsigned> resultOf(BlockArgument argument) const;
  NamedAttrList rowAttributes(const NamedAttrList &stacked, int64_t row, int64_t rows) const;

  /// A row of a value, computed from rows if the value is.
  Value rowOf(Value value, int64_t row);
  Value makeRow(Value value, int64_t row);
  Value copyForRow(Operation *op, int64_t row);
  Value combine(stablehlo::ReduceOp reduce, ArrayRef<Value> parts);

  mutable func::FuncOp function;
  OpBuilder builder;
  Operation *terminator;
  llvm::MapVector<BlockArgument, Stack> stacks;
  /// Names of stacked parameters.
  DenseSet<StringAttr> names;
  DenseMap<std::pair<Value, int64_t>, Value> rows;
  /// Values other than stacks whose rows were requested.
  llvm::SetVector<Value> stacked;
};
} // namespace

std::optional<unsigned> Unstacking::resultOf(BlockArgument argument) const {
  auto alias =
      function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "tf.aliasing_output");
  if (!alias || alias.getInt() >= terminator->getNumOperands() ||
      terminator->getOperand(alias.getInt()).getType() != argument.getType())
    return std::nullopt;
  return alias.getInt();
}

/// Donated parameters that are read row by row, and state stacked in the same way.
void Unstacking::findStacks() {
  llvm::SmallDenseMap<StringAttr, int64_t> counts;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (getRole(argument) == "parameter" && nameOf(argument) && type && type.getRank() > 0 &&
        resultOf(argument) && isReadByRows(argument))
      counts[nameOf(argument)] = type.getDimSize(0);
  }
  for (BlockArgument argument : function.getArguments()) {
    StringRef role = getRole(argument);
    bool isState = role == "optimizer_state";
    if (!isState && role != "parameter")
      continue;
    auto it = counts.find(nameOf(argument, isState ? kOfAttr : kNameAttr));
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    std::optional<unsigned> result = resultOf(argument);
    if (it == counts.end() || !type || type.getRank() == 0 || type.getDimSize(0) != it->second ||
        !result)
      continue;
    stacks[argument] = {{}, *result};
    names.insert(nameOf(argument));
  }
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

NamedAttrList Unstacking::rowAttributes(const NamedAttrList &stacked, int64_t row,
                                        int64_t rows) const {
  NamedAttrList attributes(stacked);
  MLIRContext *context = function.getContext();
  Builder make(context);
  SmallVector<NamedAttribute> stack = {make.getNamedAttr("row", make.getI64IntegerAttr(row)),
                                       make.getNamedAttr("rows", make.getI64IntegerAttr(rows))};
  for (StringRef key : {kNameAttr, kOfAttr})
    if (auto name = dyn_cast_or_null<StringAttr>(stacked.get(key))) {
      stack.push_back(make.getNamedAttr(key == kNameAttr ? "name" : "of", name));
      if (names.contains(name))
        attributes.set(key, make.getStringAttr(name.getValue() + "." + Twine(row)));
    }
  attributes.set(kStackAttr, DictionaryAttr::get(context, stack));
  return attributes;
}

void Unstacking::splitArguments() {
  Signature signature(function);
  for (auto &[argument, stack] : stacks) {
    unsigned place = argument.getArgNumber() + 1;
    NamedAttrList attributes = signature.getArgumentAttrs(place - 1);
    int64_t count = cast<RankedTensorType>(argument.getType()).getDimSize(0);
    for (int64_t row = 0; row < count; ++row) {
      stack.rows.push_back(signature.insertArgument(place + row, rowType(argument.getType()),
                                                    rowAttributes(attributes, row, count),
                                                    argument.getLoc()));
      rows[{argument, row}] = stack.rows.back();
    }
  }
  signature.write();
}

/// The rows of new values come last; renumberDonations pairs them with their arguments.
void Unstacking::splitResults() {
  Signature signature(function);
  llvm::BitVector gone(signature.getNumResults());
  for (auto &[argument, stack] : stacks) {
    gone.set(stack.result);
    Value value = terminator->getOperand(stack.result);
    NamedAttrList attributes = signature.getResultAttrs(stack.result);
    for (size_t row = 0; row < stack.rows.size(); ++row)
      signature.appendResult(rowOf(value, row), rowAttributes(attributes, row, stack.rows.size()));
  }
  gone.resize(signature.getNumResults());
  signature.eraseResults(gone);
  signature.write();
}

void Unstacking::renumberDonations() {
  // Remaining results move forward; the rows follow in the order of the stacks.
  SmallVector<unsigned> gone;
  for (auto &[argument, stack] : stacks)
    gone.push_back(stack.result);
  llvm::sort(gone);
  unsigned next = terminator->getNumOperands();
  for (auto &[argument, stack] : stacks)
    next -= stack.rows.size();
  DenseMap<BlockArgument, unsigned> resultOfRow;
  for (auto &[argument, stack] : stacks)
    for (BlockArgument row : stack.rows)
      resultOfRow[row] = next++;
  Signature signature(function);
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto alias = dyn_cast_or_null<IntegerAttr>(signature.getArgumentAttr(i, "tf.aliasing_output"));
    if (!alias)
      continue;
    auto row = resultOfRow.find(argument);
    int64_t result = alias.getInt() - (llvm::lower_bound(gone, alias.getInt()) - gone.begin());
    signature.setArgumentAttr(
        i, "tf.aliasing_output",
        builder.getI32IntegerAttr(row != resultOfRow.end() ? row->second : result));
  }
  signature.write();
}

//===----------------------------------------------------------------------===//
// Rows of values
//===----------------------------------------------------------------------===//

/// The op on rows instead of complete operands; broadcast scalars stay.
Value Unstacking::copyForRow(Operation *op, int64_t row) {
  IRMapping mapping;
  auto stacked = cast<RankedTensorType>(op->getResult(0).getType());
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType());
        type && type.getShape() == stacked.getShape())
      mapping.map(operand, rowOf(operand, row));
  builder.setInsertionPointAfter(op);
  Operation *copy = builder.clone(*op, mapping);
  copy->getResult(0).setType(rowType(stacked));
  return copy->getResult(0);
}

Value Unstacking::makeRow(Value value, int64_t row) {
  Operation *op = value.getDefiningOp();
  RankedTensorType type = rowType(value.getType());
  if (auto constant = dyn_cast_or_null<stablehlo::ConstantOp>(op))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue())) {
      builder.setInsertionPointAfter(op);
      return stablehlo::ConstantOp::create(builder, op->getLoc(), splat.resizeSplat(type));
    }
  if (auto concatenate = dyn_cast_or_null<stablehlo::ConcatenateOp>(op);
      concatenate && concatenate.getDimension() == 0) {
    int64_t first = 0;
    for (Value part : concatenate->getOperands()) {
      int64_t count = cast<RankedTensorType>(part.getType()).getDimSize(0);
      if (row < first + count)
        return count == 1 ? part : rowOf(part, row - first);
      first += count;
    }
  }
  if (auto broadcast = dyn_cast_or_null<stablehlo::BroadcastInDimOp>(op);
      broadcast && !llvm::is_contained(broadcast.getBroadcastDimensions(), 0)) {
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    copy->getResult(0).setType(type);
    return copy->getResult(0);
  }
  if (op && op->getNumResults() == 1 && op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
      isMemoryEffectFree(op) && isPointwise(getShardingRule(op)))
    return copyForRow(op, row);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> starts(shape.size(), 0), limits(shape), strides(shape.size(), 1);
  starts[0] = row;
  limits[0] = row + 1;
  builder.setInsertionPointAfterValue(value);
  return stablehlo::SliceOp::create(builder, value.getLoc(), type, value, starts, limits, strides);
}

Value Unstacking::rowOf(Value value, int64_t row) {
  if (Value known = rows.lookup({value, row}))
    return known;
  stacked.insert(value);
  Value created = makeRow(value, row);
  rows[{value, row}] = created;
  return created;
}

//===----------------------------------------------------------------------===//
// Users of full stacks
//===----------------------------------------------------------------------===//

/// Combines the results of a reduction's parts by its body.
Value Unstacking::combine(stablehlo::ReduceOp reduce, ArrayRef<Value> parts) {
  Operation &body = reduce.getBody().front().front();
  Value sum = parts.front();
  for (Value part : parts.drop_front()) {
    OperationState state(reduce.getLoc(), body.getName());
    state.addOperands({sum, part});
    state.addTypes(sum.getType());
    sum = builder.create(state)->getResult(0);
  }
  return sum;
}

/// A sum over a complete stack, such as a gradient norm, becomes a sum of sums over rows.
void Unstacking::splitReductions() {
  SmallVector<stablehlo::ReduceOp> reduces;
  function.walk([&](stablehlo::ReduceOp reduce) {
    if (reduce->getBlock() == &function.front() && reduce->getNumResults() == 1 &&
        llvm::is_contained(reduce.getDimensions(), 0) &&
        stablehlo::sharding::reductionOf(reduce.getBody()))
      reduces.push_back(reduce);
  });
  auto isStacked = [&](Value value) {
    // A value whose rows were requested, or an elementwise function of one.
    while (!stacked.contains(value)) {
      Operation *op = value.getDefiningOp();
      if (!op || op->getNumResults() != 1 || op->getNumRegions() > 0 || op->getNumOperands() == 0 ||
          !isMemoryEffectFree(op) || !isPointwise(getShardingRule(op)))
        return false;
      value = op->getOperand(0);
    }
    return !isa_and_nonnull<stablehlo::ConstantOp, stablehlo::BroadcastInDimOp>(
        value.getDefiningOp());
  };
  for (stablehlo::ReduceOp reduce : reduces) {
    Value value = reduce->getOperand(0);
    if (!isStacked(value))
      continue;
    SmallVector<Value> parts;
    int64_t count = cast<RankedTensorType>(value.getType()).getDimSize(0);
    for (int64_t row = 0; row < count; ++row) {
      Value part = rowOf(value, row);
      builder.setInsertionPoint(reduce);
      IRMapping mapping;
      mapping.map(value, part);
      parts.push_back(builder.clone(*reduce, mapping)->getResult(0));
    }
    builder.setInsertionPoint(reduce);
    reduce->getResult(0).replaceAllUsesWith(combine(reduce, parts));
    reduce->erase();
  }
}

void Unstacking::eraseDead() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (!op.hasTrait<OpTrait::IsTerminator>() && op.use_empty() && isMemoryEffectFree(&op))
      op.erase();
}

size_t Unstacking::run() {
  findStacks();
  if (stacks.empty())
    return 0;
  splitArguments();
  splitResults();
  splitReductions();
  for (auto &[argument, stack] : stacks)
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers()))
      if (auto slice = dyn_cast<stablehlo::SliceOp>(user))
        if (std::optional<int64_t> row = rowTaken(slice)) {
          slice->getResult(0).replaceAllUsesWith(stack.rows[*row]);
          slice->erase();
        }
  eraseDead();
  // Other users of a stack read the concatenation of its rows.
  builder.setInsertionPointToStart(&function.front());
  for (auto &[argument, stack] : stacks)
    if (!argument.use_empty())
      argument.replaceAllUsesWith(stablehlo::ConcatenateOp::create(
          builder, argument.getLoc(), cast<RankedTensorType>(argument.getType()),
          ValueRange(llvm::to_vector_of<Value>(stack.rows)), 0));
  renumberDonations();
  llvm::BitVector gone(function.getNumArguments());
  for (auto &[argument, stack] : stacks)
    gone.set(argument.getArgNumber());
  (void)function.eraseArguments(gone);
  return stacks.size();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct UnstackState : mlir::st::impl::UnstackStateBase<UnstackState> {
  using UnstackStateBase::UnstackStateBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (function && !function.isExternal() && function.getBody().hasOneBlock())
      stacks += Unstacking(function).run();
  }
};
} // namespace
