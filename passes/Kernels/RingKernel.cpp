#include "passes/Kernels/RingKernel.h"
#include "dialects/St/Utils/CoordinateRange.h"
#include "dialects/St/Utils/KernelParts.h"
#include "dialects/StableHLO/Utils/DiagonalBand.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "dialects/StableHLO/Utils/SoftmaxScale.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Builds the results of a kernel from its arguments.
using MakeResults = llvm::function_ref<SmallVector<Value>(Emitter &, ValueRange)>;

/// Creates an elementwise kernel.
static SmallVector<Value> makeLoop(OpBuilder &builder, Location loc, ValueRange inputs,
                                   MakeResults make) {
  auto *block = new Block;
  block->addArguments(inputs.getTypes(), SmallVector<Location>(inputs.size(), loc));
  OpBuilder inside(builder.getContext());
  inside.setInsertionPointToEnd(block);
  Emitter emit(inside, block, loc);
  SmallVector<Value> results = make(emit, block->getArguments());
  YieldOp::create(inside, loc, results);
  auto kernel = KernelOp::create(builder, loc, ValueRange(results).getTypes(),
                                 builder.getStringAttr("loop"), inputs);
  kernel.getBody().push_back(block);
  return llvm::to_vector_of<Value>(kernel.getResults());
}

/// Adds two tensors and converts the sum.
static Value addAs(OpBuilder &builder, Value a, Value b, Type element) {
  return makeLoop(builder, b.getLoc(), {a, b},
                  [&](Emitter &emit, ValueRange x) {
                    return SmallVector<Value>{emit.convert(emit.add(x[0], x[1]), element)};
                  })
      .front();
}

Value mlir::st::addTensors(OpBuilder &builder, Value a, Value b) {
  return addAs(builder, a, b, getElementTypeOrSelf(a.getType()));
}

static bool isReduction(Operation *op) {
  auto reduce = dyn_cast<hlo::ReduceOp>(op);
  return reduce && reduce.getInputs().size() == 1 &&
         isNeutral(reduce.getBody(), reduce.getInitValues()[0]);
}

static bool isYieldedOnly(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
}

// ---- plan ---------------------------------------------------------------------------------------

/// Each combined result is a sum of the parts.
bool RingKernel::planSums() {
  for (auto [number, value] : llvm::enumerate(yield()->getOperands())) {
    if (dims.get(value))
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || !dims.combines(op) || !isa<FloatType>(getElementTypeOrSelf(value.getType())))
      return false;
    auto reduce = dyn_cast<hlo::ReduceOp>(op);
    if (!isa<hlo::DotGeneralOp>(op) &&
        !(reduce && isReduction(reduce) && combinesWith<hlo::AddOp>(reduce.getBody())))
      return false;
    added.push_back(number);
  }
  return true;
}

/// Results other than products depend on parts by the maxima and sums alone.
bool RingKernel::planRowResults() {
  SmallVector<Value> stack;
  for (unsigned number : rowResults)
    stack.push_back(yield()->getOperand(number));
  DenseSet<Value> seen;
  for (auto *reductions : {&maxima, &sums})
    for (hlo::ReduceOp reduce : *reductions)
      seen.insert(reduce.getResult(0));
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (dims.get(value))
      return false;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(stack, op->getOperands());
  }
  return true;
}

bool RingKernel::planSoftmax() {
  isSoftmax = true;
  SmallVector<hlo::DotGeneralOp> dots;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (!dims.combines(&op))
      continue;
    if (auto dot = dyn_cast<hlo::DotGeneralOp>(op)) {
      dots.push_back(dot);
      continue;
    }
    if (!isReduction(&op))
      return false;
    auto reduce = cast<hlo::ReduceOp>(op);
    if (combinesWith<hlo::MaxOp>(reduce.getBody())) {
      maxima.push_back(reduce);
      continue;
    }
    std::optional<size_t> maximum = findMaximum(reduce, maxima);
    if (!maximum)
      return false;
    sums.push_back(reduce);
    maximumOf.push_back(*maximum);
  }
  for (auto [number, value] : llvm::enumerate(yield()->getOperands())) {
    if (dims.get(value))
      return false;
    auto dot = value.getDefiningOp<hlo::DotGeneralOp>();
    if (!dot) {
      rowResults.push_back(number);
      continue;
    }
    std::optional<SoftmaxScale> scale = findSoftmaxScale(dot.getLhs(), sums);
    if (!scale || !isYieldedOnly(dot) || !dims.get(dot.getLhs()) ||
        typeOf(dot.getLhs()).getShape() != typeOf(sums[scale->sum].getInputs()[0]).getShape())
      return false;
    products.push_back({static_cast<unsigned>(number), scale->sum, scale->isDivided});
  }
  return products.size() == dots.size() && planRowResults();
}

static SmallVector<std::optional<GatheredDim>>
getInputDims(KernelOp kernel, const DenseMap<Value, GatheredDim> &gathered) {
  return llvm::map_to_vector(kernel.getInputs(), [&](Value input) {
    auto found = gathered.find(input);
    return found == gathered.end() ? std::nullopt : std::optional(found->second);
  });
}

bool RingKernel::plan(const DenseMap<Value, GatheredDim> &gathered) {
  if (!dims.analyze(getInputDims(kernel, gathered)))
    return false;
  Block &body = kernel.getBody().front();
  const bool isSum = llvm::all_of(body.without_terminator(), [&](Operation &op) {
    return !dims.combines(&op) || isYieldedOnly(&op);
  });
  return isSum ? planSums() : planSoftmax();
}

// ---- code ---------------------------------------------------------------------------------------

/// A part of a row may be masked completely, although the row is not. The part's maximum must still
/// be finite.
static void makeMasksFinite(KernelOp kernel) {
  for (auto constant : kernel.getBody().front().getOps<hlo::ConstantOp>()) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat || !isa<FloatType>(splat.getElementType()) ||
        llvm::any_of(constant->getUsers(), llvm::IsaPred<hlo::ReduceOp>))
      continue;
    const APFloat number = splat.getSplatValue<APFloat>();
    if (number.isInfinity() && number.isNegative())
      constant.setValueAttr(SplatElementsAttr::get(
          splat.getType(), APFloat::getLargest(number.getSemantics(), /*Negative=*/true)));
  }
}

/// Returns true if masks of an attention kernel hide the elements outside a band of diagonals, but
/// no row completely.
static bool hasDiagonalBand(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<Cut> scores;
  llvm::SetVector<Value> operands;
  for (auto dot : body.getOps<hlo::DotGeneralOp>()) {
    if (isa<BlockArgument>(dot.getLhs()))
      scores.push_back({dot, dot});
    else
      operands.insert(dot.getLhs());
  }
  SmallVector<Value> outputs(operands.getArrayRef());
  for (auto reduce : body.getOps<hlo::ReduceOp>())
    outputs.push_back(reduce.getResult(0));
  OpBuilder builder(kernel);
  KernelOp rows = mlir::st::makePart(builder, kernel, "loop", outputs, scores);
  Block &rowBody = rows.getBody().front();
  bool found = false;
  if (FailureOr<IterationSpace> space = IterationSpace::analyze(rowBody);
      succeeded(space) && space->getNumAxes() >= 2) {
    const size_t axes = space->getNumAxes();
    IterationSpace::AxisStrides alongRows(axes), alongColumns(axes);
    alongRows[axes - 2] = alongColumns[axes - 1] = 1;
    space->formGroups({alongRows, alongColumns});
    const auto groups = static_cast<unsigned>(space->getNumGroups());
    found = !findDiagonalBand(rowBody, *space, groups - 2, groups - 1,
                              rowBody.getArguments().take_back(scores.size()),
                              rowBody.getTerminator()->getOperands().take_front(operands.size()),
                              getInputRanges(rows))
                 .isAll();
  }
  rows.erase();
  return found;
}

void RingKernel::begin(OpBuilder &builder, const DenseMap<Value, GatheredDim> &gathered) {
  SmallVector<Value> outputs;
  if (isSoftmax) {
    for (auto *reductions : {&maxima, &sums})
      for (hlo::ReduceOp reduce : *reductions)
        outputs.push_back(reduce.getResult(0));
    for (const Product &product : products)
      outputs.push_back(yield()->getOperand(product.result));
  } else {
    llvm::append_range(outputs, yield()->getOperands());
  }
  base = mlir::st::makePart(builder, kernel, kernel.getKind(), outputs, {});
  // Products of 16 bits are rounded once, after their parts are combined.
  Operation *end = base.getBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(end->getOperands())) {
    auto dot = value.getDefiningOp<hlo::DotGeneralOp>();
    if (!dot || (!isSoftmax && !llvm::is_contained(added, number)) ||
        typeOf(dot).getElementTypeBitWidth() >= 32)
      continue;
    dot.getResult().setType(typeOf(dot).clone(builder.getF32Type()));
    base.getResult(number).setType(dot.getType());
  }
  if (isSoftmax)
    makeMasksFinite(base);
  if (kernel.getKind() == "attention" && hasDiagonalBand(kernel))
    base->setAttr(kPartialRowsAttr, builder.getUnitAttr());
  baseDims.emplace(base, parts);
  [[maybe_unused]] const bool known = baseDims->analyze(getInputDims(base, gathered));
  assert(known && "the kernel itself has been analyzed");
  combined.assign(base.getNumResults(), Value());
}

void RingKernel::combineSums(OpBuilder &builder, ValueRange part, bool isLast) {
  for (unsigned number : added) {
    Type type = isLast ? kernel.getResult(number).getType() : part[number].getType();
    combined[number] = combined[number] ? addAs(builder, combined[number], part[number],
                                                getElementTypeOrSelf(type))
                                        : part[number];
  }
}

/// Combines maxima and sums. Returns them and, for each product, the factors of both addends.
SmallVector<Value> RingKernel::combineRows(OpBuilder &builder, ValueRange part) {
  const size_t rows = maxima.size() + sums.size();
  SmallVector<Value> inputs(ArrayRef(combined).take_front(rows));
  llvm::append_range(inputs, part.take_front(rows));
  return makeLoop(builder, kernel.getLoc(), inputs, [&](Emitter &emit, ValueRange x) {
    ValueRange before = x.take_front(rows), more = x.drop_front(rows);
    SmallVector<Value> results, scales[2];
    for (size_t i = 0; i < maxima.size(); ++i) {
      results.push_back(emit.max(before[i], more[i]));
      scales[0].push_back(emit.exp(emit.sub(before[i], results[i])));
      scales[1].push_back(emit.exp(emit.sub(more[i], results[i])));
    }
    SmallVector<Value> addends[2];
    for (auto [i, maximum] : llvm::enumerate(maximumOf)) {
      addends[0].push_back(emit.mul(before[maxima.size() + i], scales[0][maximum]));
      addends[1].push_back(emit.mul(more[maxima.size() + i], scales[1][maximum]));
      results.push_back(emit.add(addends[0][i], addends[1][i]));
    }
    for (const Product &product : products)
      for (int side : {0, 1})
        results.push_back(product.isDivided ? emit.div(addends[side][product.sum],
                                                       results[maxima.size() + product.sum])
                                            : scales[side][maximumOf[product.sum]]);
    return results;
  });
}

/// Combines a product of two sets of columns: `inputs` are both products and their factors.
Value RingKernel::combineProduct(OpBuilder &builder, const Product &product, ValueRange inputs,
                                 bool isLast) {
  auto dot = yield()->getOperand(product.result).getDefiningOp<hlo::DotGeneralOp>();
  auto numbers = dot.getDotDimensionNumbers();
  const int64_t columns = dims.get(dot.getLhs())->dim;
  SmallVector<int64_t> order(numbers.getLhsBatchingDimensions()); // of the rows' dimensions
  for (int64_t dim = 0; dim < typeOf(dot.getLhs()).getRank(); ++dim)
    if (dim != columns && !llvm::is_contained(order, dim))
      order.push_back(dim);
  SmallVector<int64_t> places(order.size());
  for (auto [place, dim] : llvm::enumerate(order))
    places[dim - (dim > columns)] = static_cast<int64_t>(place);
  Type element = getElementTypeOrSelf(isLast ? dot.getType() : inputs[0].getType());
  return makeLoop(builder, kernel.getLoc(), inputs,
                  [&](Emitter &emit, ValueRange x) {
                    ArrayRef<int64_t> shape = Emitter::shapeOf(x[0]);
                    Value sum = emit.add(emit.mul(x[0], emit.broadcast(x[2], places, shape)),
                                         emit.mul(x[1], emit.broadcast(x[3], places, shape)));
                    return SmallVector<Value>{emit.convert(sum, element)};
                  })
      .front();
}

void RingKernel::combineSoftmax(OpBuilder &builder, ValueRange part, bool isLast) {
  if (!combined.front()) {
    combined.assign(part.begin(), part.end());
    return;
  }
  const size_t rows = maxima.size() + sums.size();
  SmallVector<Value> known = combineRows(builder, part);
  for (auto [i, product] : llvm::enumerate(products)) {
    Value *factors = &known[rows + 2 * i];
    combined[rows + i] = combineProduct(
        builder, product, {combined[rows + i], part[rows + i], factors[0], factors[1]}, isLast);
  }
  std::copy_n(known.begin(), rows, combined.begin());
}

void RingKernel::addPart(OpBuilder &builder, IRMapping &part, Value index, bool isLast) {
  auto inputs = llvm::map_to_vector(base.getInputs(),
                                    [&](Value input) { return part.lookupOrDefault(input); });
  KernelOp created = baseDims->makePart(builder, inputs, index);
  if (isSoftmax)
    return combineSoftmax(builder, created.getResults(), isLast);
  for (auto [value, old, result] :
       llvm::zip_equal(yield()->getOperands(), kernel.getResults(), created.getResults()))
    if (dims.get(value))
      part.map(old, result);
  combineSums(builder, created.getResults(), isLast);
}

void RingKernel::end(OpBuilder &builder) {
  if (!isSoftmax) {
    for (unsigned number : added)
      kernel.getResult(number).replaceAllUsesWith(combined[number]);
    return;
  }
  const size_t rows = maxima.size() + sums.size();
  for (auto [i, product] : llvm::enumerate(products))
    kernel.getResult(product.result).replaceAllUsesWith(combined[rows + i]);
  SmallVector<Cut> cuts;
  for (auto *reductions : {&maxima, &sums})
    for (hlo::ReduceOp reduce : *reductions)
      cuts.push_back({reduce.getResult(0), combined[cuts.size()]});
  SmallVector<Value> computed;
  for (unsigned number : rowResults) {
    Value value = yield()->getOperand(number);
    const auto *cut = llvm::find_if(cuts, [&](const Cut &one) { return one.inside == value; });
    if (cut != cuts.end())
      kernel.getResult(number).replaceAllUsesWith(cut->outside);
    else
      computed.push_back(value);
  }
  if (computed.empty())
    return;
  KernelOp loop = mlir::st::makePart(builder, kernel, "loop", computed, cuts);
  for (auto [value, result] : llvm::zip_equal(computed, loop.getResults()))
    for (auto [old, replaced] : llvm::zip_equal(yield()->getOperands(), kernel.getResults()))
      if (old == value)
        replaced.replaceAllUsesWith(result);
}

void RingKernel::finish() {
  baseDims.reset();
  base.erase();
}
