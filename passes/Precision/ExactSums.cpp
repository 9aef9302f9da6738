#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/AttributeListener.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "passes/Precision/ExactArithmetic.h"
#include "passes/Precision/PassUtils.h"
#include "passes/Precision/SampleDims.h"

namespace mlir::st {
#define GEN_PASS_DEF_EXACTSUMS
#include "passes/Precision/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

/// The types that f32 contains.
static bool isWithinF32(Value value) {
  return isa<Float32Type, BFloat16Type, Float16Type>(getElementTypeOrSelf(value.getType()));
}

static bool hasFloats(Value value) {
  return isa<FloatType, ComplexType>(getElementTypeOrSelf(value.getType()));
}

/// Returns true if the order in which a reduction combines its floats matters.
static bool dependsOnOrder(Region &body) {
  return llvm::any_of(body.front().without_terminator(), [](Operation &op) {
    return llvm::any_of(op.getResults(), hasFloats) &&
           !isa<hlo::MaxOp, hlo::MinOp, hlo::SelectOp, hlo::ConstantOp>(op);
  });
}

/// Returns true for sums of floats that have no exact form.
static bool isOtherSum(Operation *op) {
  if (llvm::none_of(op->getResults(), hasFloats))
    return false;
  if (isa<hlo::ConvolutionOp, hlo::BatchNormTrainingOp, hlo::BatchNormGradOp>(op))
    return true;
  return isa<hlo::ReduceWindowOp, hlo::SelectAndScatterOp, hlo::AllReduceOp, hlo::ReduceScatterOp>(
             op) &&
         llvm::any_of(op->getRegions(), [](Region &body) { return dependsOnOrder(body); });
}

namespace {
class SumReplacer {
public:
  explicit SumReplacer(func::FuncOp function);

  /// Replaces all sums. Fails, with a diagnostic, if one has no exact form.
  LogicalResult run();

  unsigned numProducts = 0, numSums = 0;

private:
  LogicalResult visit(Operation *op);
  LogicalResult visitDot(hlo::DotGeneralOp op);
  LogicalResult visitReduce(hlo::ReduceOp op);
  LogicalResult visitScatter(hlo::ScatterOp op);
  LogicalResult refuse(Operation *op);
  /// Begins to replace an op.
  Emitter &at(Operation *op);
  Value toF32(Emitter &emit, Value value) { return emit.convert(value, builder.getF32Type()); }
  void replace(Operation *op, Value result);

  SmallVector<Operation *> ops;
  /// Ops that sum over samples: the position of the sample dimension among the summed dimensions.
  DenseMap<Operation *, int64_t> sampleSums;
  int64_t samples;
  /// Gives the ops that replace an op its block of the model. Constants belong to none.
  AttributeListener listener{kBlockAttr, /*marksConstants=*/false};
  OpBuilder builder;
  DenseMap<Block *, std::unique_ptr<Emitter>> emitters;
};
} // namespace

SumReplacer::SumReplacer(func::FuncOp function) : builder(function.getContext(), &listener) {
  const SampleDims dims(function);
  samples = dims.count();
  function.walk([&](Operation *op) {
    ops.push_back(op);
    if (auto reduce = dyn_cast<hlo::ReduceOp>(op))
      for (auto [i, dim] : llvm::enumerate(reduce.getDimensions()))
        if (samples > 1 && dims.of(reduce.getInputs()[0]) == dim)
          sampleSums[op] = static_cast<int64_t>(i);
    auto dot = dyn_cast<hlo::DotGeneralOp>(op);
    if (!dot || samples == 1)
      return;
    hlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
    for (auto [i, lhs, rhs] : llvm::enumerate(numbers.getLhsContractingDimensions(),
                                              numbers.getRhsContractingDimensions()))
      if (dims.of(dot.getLhs()) == lhs || dims.of(dot.getRhs()) == rhs)
        sampleSums[op] = static_cast<int64_t>(i);
  });
}

LogicalResult SumReplacer::run() {
  for (Operation *op : ops)
    if (failed(visit(op)))
      return failure();
  return success();
}

LogicalResult SumReplacer::visit(Operation *op) {
  if (auto dot = dyn_cast<hlo::DotGeneralOp>(op); dot && hasFloats(dot.getResult()))
    return visitDot(dot);
  if (auto reduce = dyn_cast<hlo::ReduceOp>(op); reduce && dependsOnOrder(reduce.getBody()))
    return visitReduce(reduce);
  if (auto scatter = dyn_cast<hlo::ScatterOp>(op);
      scatter && !scatter.getUniqueIndices() && dependsOnOrder(scatter.getUpdateComputation()))
    return visitScatter(scatter);
  return isOtherSum(op) ? refuse(op) : success();
}

LogicalResult SumReplacer::refuse(Operation *op) {
  return op->emitOpError("sums floats in a way that has no exact form; expected products "
                         "(dot_general), sums over dimensions or scatters that add, of f32, bf16 "
                         "or f16");
}

Emitter &SumReplacer::at(Operation *op) {
  listener.value = op->getDiscardableAttr(kBlockAttr);
  builder.setInsertionPoint(op);
  std::unique_ptr<Emitter> &emit = emitters[op->getBlock()];
  if (!emit)
    emit = std::make_unique<Emitter>(builder, op->getBlock(), op->getLoc());
  emit->loc = op->getLoc();
  return *emit;
}

void SumReplacer::replace(Operation *op, Value result) {
  Value old = op->getResult(0);
  old.replaceAllUsesWith(at(op).convert(result, getElementTypeOrSelf(old.getType())));
  op->erase();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Splits dimension dims[position], which counts samples times the parts of a sample, into two. In
/// `dims` and `others` the dimension of the parts replaces it. With one part per sample, or groups
/// of samples, there is no such dimension. Returns the tensor and the dimension of the samples.
static std::pair<Value, int64_t> splitSamples(Emitter &emit, Value x, int64_t samples,
                                              SmallVectorImpl<int64_t> &dims, int64_t position,
                                              SmallVectorImpl<int64_t> *others = nullptr) {
  SmallVector<int64_t> shape(Emitter::shapeOf(x));
  const int64_t dim = dims[position], parts = shape[dim] / samples;
  if (parts <= 1) {
    dims.erase(dims.begin() + position);
    return {x, dim};
  }
  shape[dim] = samples;
  shape.insert(shape.begin() + dim + 1, parts);
  for (SmallVectorImpl<int64_t> *list : {&dims, others})
    if (list)
      for (int64_t &each : *list)
        each += each >= dim;
  return {emit.reshape(x, shape), dim};
}

/// Makes the samples of a contracted dimension of an operand its first batching dimension.
static Value batchSamples(Emitter &emit, Value operand, int64_t samples, int64_t position,
                          SmallVectorImpl<int64_t> &batch, SmallVectorImpl<int64_t> &contracted) {
  auto [split, dim] = splitSamples(emit, operand, samples, contracted, position, &batch);
  batch.insert(batch.begin(), dim);
  return split;
}

LogicalResult SumReplacer::visitDot(hlo::DotGeneralOp op) {
  if (!isWithinF32(op.getLhs()) || !isWithinF32(op.getRhs()) || !isWithinF32(op.getResult()))
    return refuse(op);
  hlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  DotDims dims = {llvm::to_vector(numbers.getLhsBatchingDimensions()),
                  llvm::to_vector(numbers.getRhsBatchingDimensions()),
                  llvm::to_vector(numbers.getLhsContractingDimensions()),
                  llvm::to_vector(numbers.getRhsContractingDimensions())};
  int64_t addends = 1;
  for (int64_t dim : dims.lhsContract)
    addends *= Emitter::shapeOf(op.getLhs())[dim];
  if (addends > kMaxExactProducts)
    return op.emitOpError("adds up ")
           << addends << " products; exact sums have at most " << kMaxExactProducts;
  Emitter &emit = at(op);
  Value lhs = toF32(emit, op.getLhs()), rhs = toF32(emit, op.getRhs()), result;
  if (auto found = sampleSums.find(op); found != sampleSums.end()) {
    lhs = batchSamples(emit, lhs, samples, found->second, dims.lhsBatch, dims.lhsContract);
    rhs = batchSamples(emit, rhs, samples, found->second, dims.rhsBatch, dims.rhsContract);
    result = sumInFixedPoint(emit, multiplyExactly(emit, lhs, rhs, dims), 0);
  } else {
    result = multiplyExactly(emit, lhs, rhs, dims);
  }
  replace(op, result);
  ++numProducts;
  return success();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The sum that a reduction computes, of a type that f32 contains.
static bool isExactSum(Region &body, ValueRange inputs) {
  return inputs.size() == 1 && isWithinF32(inputs[0]) && combinesWith<hlo::AddOp>(body);
}

LogicalResult SumReplacer::visitReduce(hlo::ReduceOp op) {
  if (!isExactSum(op.getBody(), op.getInputs()))
    return refuse(op);
  Emitter &emit = at(op);
  SmallVector<int64_t> dims(op.getDimensions());
  Value sum = toF32(emit, op.getInputs()[0]);
  if (auto found = sampleSums.find(op); found != sampleSums.end()) {
    auto [split, dim] = splitSamples(emit, sum, samples, dims, found->second);
    const int64_t before = llvm::count_if(dims, [dim = dim](int64_t other) { return other < dim; });
    sum = dims.empty() ? split : sumExactly(emit, split, dims);
    sum = sumInFixedPoint(emit, sum, dim - before);
  } else {
    sum = sumExactly(emit, sum, dims);
  }
  if (Value init = op.getInitValues()[0]; !isNeutral(op.getBody(), init))
    sum = emit.add(sum, emit.broadcast(toF32(emit, init), {}, Emitter::shapeOf(sum)));
  replace(op, sum);
  ++numSums;
  return success();
}

/// Scatters the updates into the input with another combination, of `CombineOp`.
template <typename CombineOp>
static Value scatterLike(Emitter &emit, hlo::ScatterOp op, Value input, Value update) {
  auto scatter = hlo::ScatterOp::create(emit.builder, op.getLoc(), ValueRange(input),
                                        op.getScatterIndices(), ValueRange(update),
                                        op.getScatterDimensionNumbers(), op.getIndicesAreSorted());
  Region &body = scatter.getUpdateComputation();
  Block &block = body.empty() ? body.emplaceBlock() : body.front();
  block.clear();
  auto scalar = RankedTensorType::get({}, getElementTypeOrSelf(input.getType()));
  while (block.getNumArguments() < 2)
    block.addArgument(scalar, op.getLoc());
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  Value combined =
      CombineOp::create(inside, op.getLoc(), block.getArgument(0), block.getArgument(1));
  hlo::ReturnOp::create(inside, op.getLoc(), combined);
  return scatter.getResult(0);
}

LogicalResult SumReplacer::visitScatter(hlo::ScatterOp op) {
  Region &body = op.getUpdateComputation();
  if (!isExactSum(body, op.getInputs()))
    return refuse(op);
  Emitter &emit = at(op);
  Value input = toF32(emit, op.getInputs()[0]), update = toF32(emit, op.getUpdates()[0]);
  // The input counts as an addend.
  const FixedPoint form(Emitter::typeOf(op.getScatterIndices()).getNumElements() + 1);
  const bool isZero = isNeutral(body, op.getInputs()[0]);
  SmallVector<Value> sums;
  SmallVector<Value> starts = isZero ? SmallVector<Value>() : form.toLimbs(emit, input);
  for (auto [i, limb] : llvm::enumerate(form.toLimbs(emit, update))) {
    auto type = RankedTensorType::get(Emitter::shapeOf(input), builder.getI64Type());
    sums.push_back(
        scatterLike<hlo::AddOp>(emit, op, isZero ? emit.splat(type, 0) : starts[i], limb));
  }
  Value largest = scatterLike<hlo::MaxOp>(emit, op, emit.abs(input), emit.abs(update));
  replace(op, form.fromLimbs(emit, sums, largest));
  ++numSums;
  return success();
}

static constexpr FactContract kContract = {{Fact::Roles}, FactSet::from(Fact::Shardings)};

namespace {
struct ExactSums : mlir::st::impl::ExactSumsBase<ExactSums> {
  void runOnOperation() override {
    func::FuncOp function = findStep(getOperation(), getArgument(), kContract);
    if (!function)
      return signalPassFailure();
    SumReplacer replacer(function);
    if (failed(replacer.run()))
      return signalPassFailure();
    getOperation()->setAttr(kExactSumsAttr, UnitAttr::get(&getContext()));
    numProducts += replacer.numProducts;
    numSums += replacer.numSums;
  }
};
} // namespace
