// Joins two reductions that read the same tensor, such as the gradients of a norm's scale and
// shift.
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/kernels/KernelParts.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_JOINREDUCTIONS
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::KernelOp;
using mlir::st::skipReshapes;
namespace hlo = mlir::stablehlo;

namespace {
class JoinReductionsPass : public mlir::cuda::impl::JoinReductionsBase<JoinReductionsPass> {
public:
  void runOnOperation() override;

private:
  LogicalResult runOn(Block &block);
};
} // namespace

/// Returns the only reduction of a kernel of kind "reduce". Null for any other kernel.
static hlo::ReduceOp getReduction(KernelOp kernel) {
  if (kernel.getKind() != "reduce" || kernel->getNumResults() != 1)
    return {};
  auto reductions = kernel.getBody().front().getOps<hlo::ReduceOp>();
  if (!llvm::hasSingleElement(reductions))
    return {};
  hlo::ReduceOp reduce = *reductions.begin();
  return reduce.getInputs().size() == 1 ? reduce : hlo::ReduceOp();
}

static ArrayRef<int64_t> reducedShape(hlo::ReduceOp reduce) {
  return cast<RankedTensorType>(reduce.getInputs()[0].getType()).getShape();
}

static bool isSame(Value one, Value other) {
  return one.getType() == other.getType() && skipReshapes(one) == skipReshapes(other);
}

/// Returns true if all inputs of a kernel, ignoring reshapes, are computed before `place`. Reshapes
/// can move with the kernel.
static bool isReadyBefore(KernelOp kernel, Operation *place) {
  return llvm::all_of(kernel.getInputs(), [&](Value input) {
    Operation *op = skipReshapes(input).getDefiningOp();
    return !op || op->getBlock() != place->getBlock() || op->isBeforeInBlock(place);
  });
}

/// Returns true if two kernels reduce the same dimensions of the same shape and share an input of
/// that shape.
static bool canJoin(KernelOp first, KernelOp second) {
  hlo::ReduceOp one = getReduction(first), other = getReduction(second);
  if (reducedShape(one) != reducedShape(other) || one.getDimensions() != other.getDimensions() ||
      !isReadyBefore(second, first))
    return false;
  return llvm::any_of(first.getInputs(), [&](Value input) {
    return cast<RankedTensorType>(input.getType()).getShape() == reducedShape(one) &&
           llvm::any_of(second.getInputs(), [&](Value own) { return isSame(own, input); });
  });
}

/// Returns the value at the insertion point. Reshapes that come later are cloned there.
static Value showBefore(OpBuilder &builder, Value value) {
  auto reshape = value.getDefiningOp<hlo::ReshapeOp>();
  if (!reshape || reshape->isBeforeInBlock(&*builder.getInsertionPoint()))
    return value;
  Value source = showBefore(builder, reshape.getOperand());
  return hlo::ReshapeOp::create(builder, reshape.getLoc(), reshape.getType(), source);
}

/// Replaces two kernels by one, at the place of the first.
static KernelOp join(KernelOp first, KernelOp second) {
  OpBuilder builder(first);
  SmallVector<Value> inputs(first.getInputs());
  SmallVector<unsigned> places; // of the second kernel's inputs
  for (Value input : second.getInputs()) {
    const auto *known = llvm::find_if(inputs, [&](Value own) { return isSame(own, input); });
    places.push_back(known - inputs.begin());
    if (known == inputs.end())
      inputs.push_back(showBefore(builder, input));
  }
  SmallVector<Type> types(first.getResultTypes());
  llvm::append_range(types, second.getResultTypes());
  auto both = KernelOp::create(builder, first.getLoc(), types, first.getKindAttr(), inputs);
  both->setDiscardableAttrs(first->getDiscardableAttrDictionary());
  both.getBody().takeBody(first.getBody());
  Block &body = both.getBody().front();
  for (Value input : ArrayRef(inputs).drop_front(body.getNumArguments()))
    body.addArgument(input.getType(), input.getLoc());
  IRMapping mapping;
  for (auto [argument, place] : llvm::zip_equal(second.getBody().front().getArguments(), places))
    mapping.map(argument, body.getArgument(place));
  Operation *yield = body.getTerminator();
  SmallVector<Value> yielded(yield->getOperands());
  builder.setInsertionPoint(yield);
  for (Operation &op : second.getBody().front().without_terminator())
    builder.clone(op, mapping);
  for (Value value : second.getBody().front().getTerminator()->getOperands())
    yielded.push_back(mapping.lookup(value));
  yield->setOperands(yielded);
  first->replaceAllUsesWith(both->getResults().take_front(first->getNumResults()));
  second->replaceAllUsesWith(both->getResults().take_back(second->getNumResults()));
  first.erase();
  second.erase();
  return both;
}

LogicalResult JoinReductionsPass::runOn(Block &block) {
  DenseMap<Value, SmallVector<KernelOp, 1>> users; // of tensors of any shape
  for (auto kernel : llvm::make_early_inc_range(block.getOps<KernelOp>())) {
    if (!getReduction(kernel))
      continue;
    if (failed(checkUnplanned(kernel, getArgument())))
      return failure();
    KernelOp first;
    for (Value input : kernel.getInputs())
      for (KernelOp other : users.lookup(skipReshapes(input)))
        if (!first && canJoin(other, kernel))
          first = other;
    if (!first) {
      for (Value input : kernel.getInputs())
        users[skipReshapes(input)].push_back(kernel);
      continue;
    }
    for (Value input : first.getInputs())
      llvm::erase(users[skipReshapes(input)], first);
    join(first, kernel);
    ++numJoined;
  }
  return success();
}

void JoinReductionsPass::runOnOperation() {
  getOperation()->walk([&](mlir::st::TaskOp task) {
    if (failed(runOn(task.getBody().front())))
      signalPassFailure();
  });
}
