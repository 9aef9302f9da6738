#include "passes/Import/UnreducedValues.h"

#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/Utils/Emitter.h"

using namespace mlir;
using namespace mlir::st;

static constexpr StringLiteral kSharding = "sdy.sharding";

Value mlir::st::emitTerms(OpBuilder &builder, Block *block, Location loc, Value value,
                          ArrayRef<int64_t> counts) {
  auto type = cast<RankedTensorType>(value.getType());
  if (isa<ComplexType>(type.getElementType()))
    return {};
  Emitter emit(builder, block, loc);
  SmallVector<int64_t> shape(counts.size(), 1), low(counts.size() + type.getRank(), 0), high(low);
  llvm::append_range(shape, type.getShape());
  for (auto [i, count] : llvm::enumerate(counts))
    high[i] = count - 1;
  Value zero = emit.splat(RankedTensorType::get({}, type.getElementType()), 0);
  return emit.pad(emit.reshape(value, shape), zero, low, high, low);
}

void UnreducedTerms::add(Value sum, Value terms, ArrayRef<StringAttr> axes) {
  sums[sum] = {terms, SmallVector<StringAttr>(axes)};
}

Value UnreducedTerms::find(Value value, ArrayRef<StringAttr> axes) const {
  while (true) {
    if (auto found = sums.find(value); found != sums.end())
      return ArrayRef(found->second.axes) == axes ? found->second.terms : Value();
    // A constraint to other axes requires another sum.
    if (auto constrain = value.getDefiningOp<ConstrainOp>())
      value = constrain.getOperand();
    else if (auto constraint = value.getDefiningOp<sdy::ShardingConstraintOp>();
             constraint && ArrayRef(constraint.getSharding().getUnreduced()) == axes)
      value = constraint.getInput();
    else
      return {};
  }
}

/// The sharding with the unreduced axes as leading dimensions.
static sdy::TensorShardingAttr expand(sdy::TensorShardingAttr sharding) {
  MLIRContext *context = sharding.getContext();
  SmallVector<ArrayAttr> dims;
  for (StringAttr axis : sharding.getUnreduced())
    dims.push_back(ArrayAttr::get(context, {axis}));
  SmallVector<bool> open(dims.size(), false);
  SmallVector<int64_t> priorities(dims.size(), -1);
  llvm::append_range(dims, sharding.getDims());
  llvm::append_range(open, sharding.getOpen());
  llvm::append_range(priorities, sharding.getPriorities());
  return sdy::TensorShardingAttr::get(context, sharding.getMesh(), dims, open, priorities,
                                      sharding.getReplicated(), {});
}

/// The sizes of the axes; the error names an axis that the mesh lacks.
static FailureOr<SmallVector<int64_t>> sizesOf(func::FuncOp main, sdy::TensorShardingAttr sharding,
                                               ArrayRef<StringAttr> names,
                                               ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> counts;
  for (StringAttr axis : sharding.getUnreduced()) {
    const auto *found = llvm::find(names, axis);
    if (found == names.end())
      return main.emitError("a sharding is unreduced over ")
             << axis << ", an axis that the mesh does not have";
    counts.push_back(sizes[found - names.begin()]);
  }
  return counts;
}

static bool isUnreduced(sdy::TensorShardingAttr sharding) {
  return sharding && !sharding.getUnreduced().empty();
}

/// Sets the type of a function to those of its arguments and results.
static void updateType(func::FuncOp main) {
  Block &body = main.getBody().front();
  main.setFunctionType(FunctionType::get(main.getContext(), body.getArgumentTypes(),
                                         body.getTerminator()->getOperandTypes()));
}

LogicalResult mlir::st::expandUnreducedArguments(func::FuncOp main, ArrayRef<StringAttr> names,
                                                 ArrayRef<int64_t> sizes, UnreducedTerms &terms) {
  Block &body = main.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto sharding = main.getArgAttrOfType<sdy::TensorShardingAttr>(number, kSharding);
    if (!isUnreduced(sharding))
      continue;
    FailureOr<SmallVector<int64_t>> counts = sizesOf(main, sharding, names, sizes);
    if (failed(counts))
      return failure();
    auto type = cast<RankedTensorType>(argument.getType());
    if (isa<ComplexType>(type.getElementType()))
      return main.emitError("argument ")
             << number << " is complex and unreduced, which cannot be imported";
    SmallVector<int64_t> shape(*counts);
    llvm::append_range(shape, type.getShape());
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      uses.push_back(&use);
    argument.setType(type.clone(shape));
    Emitter emit(builder, &body, main.getLoc());
    Value sum = emit.reduceAdd(argument, llvm::to_vector(llvm::seq<int64_t>(0, counts->size())));
    for (OpOperand *use : uses)
      use->set(sum);
    terms.add(sum, argument, sharding.getUnreduced());
    main.setArgAttr(number, kSharding, expand(sharding));
  }
  updateType(main);
  return success();
}

LogicalResult mlir::st::expandUnreducedResults(func::FuncOp main, ArrayRef<StringAttr> names,
                                               ArrayRef<int64_t> sizes,
                                               const UnreducedTerms &terms) {
  Block &body = main.getBody().front();
  Operation *end = body.getTerminator();
  OpBuilder builder(end);
  for (OpOperand &operand : end->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    auto sharding = main.getResultAttrOfType<sdy::TensorShardingAttr>(number, kSharding);
    if (!isUnreduced(sharding))
      continue;
    FailureOr<SmallVector<int64_t>> counts = sizesOf(main, sharding, names, sizes);
    if (failed(counts))
      return failure();
    Value own = terms.find(operand.get(), sharding.getUnreduced());
    if (!own)
      own = emitTerms(builder, &body, main.getLoc(), operand.get(), *counts);
    if (!own)
      return main.emitError("result ")
             << number << " is complex and unreduced, which cannot be imported";
    operand.set(own);
    main.setResultAttr(number, kSharding, expand(sharding));
  }
  updateType(main);
  return success();
}
