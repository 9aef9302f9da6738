#include "backends/cuda/codegen/kernels/ElementValues.h"

#include "backends/cuda/codegen/kernels/Elementwise.h"
#include "dialects/St/Interfaces/Notes.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::GroupSet;
namespace hlo = mlir::stablehlo;

static Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

// ---- the space ----------------------------------------------------------------------------------

SmallVector<unsigned> ElementValues::groupsIn(GroupSet set) const {
  SmallVector<unsigned> groups;
  for (unsigned group = 0; group < space.getNumGroups(); ++group)
    if (set >> group & 1)
      groups.push_back(group);
  return groups;
}

SmallVector<int64_t> ElementValues::sizesOf(ArrayRef<unsigned> groups) const {
  return llvm::map_to_vector(groups, [&](unsigned group) { return space.getSize(group); });
}

void ElementValues::setPosition(ArrayRef<unsigned> groups, Value position) {
  SmallVector<Value> values = emitter.delinearize(position, sizesOf(groups));
  for (auto [group, value] : llvm::zip_equal(groups, values))
    coordinates[group] = value;
}

/// Sorts reductions into levels by the length of their dependence on other reductions.
LogicalResult ElementValues::findReductions() {
  DenseMap<Value, size_t> levelOf;
  std::optional<GroupSet> found;
  Operation *first = nullptr;
  for (Operation &op : body.without_terminator()) {
    size_t level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, levelOf.lookup(operand));
    if (auto reduce = dyn_cast<hlo::ReduceOp>(op); reduce && !op.use_empty()) {
      FailureOr<Combiner> combiner = Combiner::get(&op);
      if (failed(combiner))
        return failure();
      GroupSet kept = space.getGroups(reduce.getResult(0));
      GroupSet own = space.getGroups(reduce.getInputs()[0]) & ~kept;
      if (own != found.value_or(own))
        return st::withNote(
            op.emitOpError("reduces different dimensions than an earlier reduction of its kernel, "
                           "which is not supported by the CUDA backend"),
            first, "the earlier reduction is here");
      found = own;
      first = first ? first : &op;
      levels.resize(std::max(levels.size(), level + 1));
      levels[level].push_back({reduce, *combiner});
      ++level;
    }
    for (Value result : op.getResults())
      levelOf[result] = level;
  }
  reduced = found.value_or(0);
  return success();
}

// ---- values -------------------------------------------------------------------------------------

FailureOr<Number> ElementValues::get(Value value) {
  Known &known = isOfRow(value) ? ofRow : ofChunk;
  if (Value found = known.lookup(value))
    return emitter.number(found);
  FailureOr<Number> number = compute(value);
  if (succeeded(number))
    known[value] = number->value;
  return number;
}

/// Loads an element of a tensor in memory at the coordinates of the space.
Number ElementValues::loadAccess(BlockArgument argument, Value seenAs, int64_t offset) {
  SmallVector<int64_t> strides = space.getStrides(seenAs);
  Value position = emitter.index(0);
  bool isAligned = offset % width == 0;
  for (auto [group, stride] : llvm::enumerate(strides)) {
    if (stride == 0)
      continue;
    position = emitter.add(position, emitter.mul(coordinates[group], stride));
    if (group + 1 < strides.size())
      isAligned &= stride % width == 0;
  }
  position = emitter.add(position, offset);
  unsigned buffer = emitter.getBuffer(argument);
  int64_t step = strides.empty() ? 0 : strides.back();
  if (width == 1 || step == 0)
    return emitter.load(buffer, position, elementOf(seenAs));
  if (step == 1)
    return emitter.load(buffer, position, elementOf(seenAs), width, isAligned);
  SmallVector<Number> elements;
  for (int64_t i = 0; i < width; ++i)
    elements.push_back(emitter.load(buffer, emitter.add(position, i * step), elementOf(seenAs)));
  return joinElements(elements);
}

FailureOr<Number> ElementValues::computeIota(hlo::IotaOp iota) {
  std::optional<unsigned> group = space.getIotaGroup(iota);
  Number place = emitter.fromIndex(group ? coordinates[*group] : emitter.index(0));
  if (group && *group + 1 == space.getNumGroups() && width > 1)
    place = place + place.lanes(width);
  return convertNumber(place, place.element(), elementOf(iota.getResult()));
}

FailureOr<Number> ElementValues::compute(Value value) {
  if (!getComputeType(elementOf(value)))
    return emitter.kernel->emitOpError("has values of ")
           << elementOf(value) << ", which is not supported by the CUDA backend";
  if (auto argument = dyn_cast<BlockArgument>(value))
    return loadAccess(argument, value, 0);
  Operation *op = value.getDefiningOp();
  if (st::isArgumentSlice(op)) {
    auto slice = cast<hlo::SliceOp>(op);
    auto argument = cast<BlockArgument>(slice.getOperand());
    int64_t offset = 0;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(argument.getType()).getShape();
    for (auto [start, stride] : llvm::zip_equal(slice.getStartIndices(), st::denseStrides(shape)))
      offset += start * stride;
    return loadAccess(argument, value, offset);
  }
  if (auto constant = dyn_cast<hlo::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return op->emitOpError(
          "of different elements in a kernel is not supported by the CUDA backend");
    return emitter.constant(splat.getSplatValue<Attribute>(), elementOf(value));
  }
  if (auto iota = dyn_cast<hlo::IotaOp>(op))
    return computeIota(iota);
  if (isa<hlo::BroadcastInDimOp, hlo::ReshapeOp>(op))
    return get(op->getOperand(0));
  if (isa<hlo::ReduceOp>(op))
    return op->emitOpError(
        "of values along reduced dimensions is not supported by the CUDA backend");
  if (auto product = findFusedProduct(op))
    return computeFused(op, product);
  SmallVector<Number> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Number> number = get(operand);
    if (failed(number))
      return failure();
    operands.push_back(*number);
  }
  return emitElementwise(op, operands);
}

/// Returns the f32 product that is the first operand of a sum or difference and has no other user,
/// in a kernel with results rounded to 16 bits.
hlo::MulOp ElementValues::findFusedProduct(Operation *op) const {
  if (!isa<hlo::AddOp, hlo::SubtractOp>(op) || !elementOf(op->getResult(0)).isF32() ||
      !op->getParentOp()->hasAttr(kRoundedAttr))
    return {};
  auto product = op->getOperand(0).getDefiningOp<hlo::MulOp>();
  return product && product->hasOneUse() && !isOfRow(product) ? product : hlo::MulOp();
}

/// A product and a sum or difference with a single rounding.
FailureOr<Number> ElementValues::computeFused(Operation *op, hlo::MulOp product) {
  FailureOr<Number> left = get(product.getLhs()), right = get(product.getRhs()),
                    addend = get(op->getOperand(1));
  if (failed(left) || failed(right) || failed(addend))
    return failure();
  return left->fma(*right, isa<hlo::SubtractOp>(op) ? -*addend : *addend);
}

/// Computes the per-row values that a value needs, so that loops over chunks find them.
LogicalResult ElementValues::prepare(Value value, DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return success();
  if (isOfRow(value))
    return success(succeeded(get(value)));
  Operation *op = value.getDefiningOp();
  if (!op || st::isArgumentSlice(op))
    return success();
  for (Value operand : op->getOperands())
    if (failed(prepare(operand, seen)))
      return failure();
  return success();
}

// ---- results ------------------------------------------------------------------------------------

LogicalResult ElementValues::store(Value value, unsigned buffer, GroupSet looped, Value condition) {
  FailureOr<Number> number = get(value);
  if (failed(number))
    return failure();
  GroupSet own = space.getGroups(value);
  int64_t stride = 1;
  bool isVector = width > 1 && (own >> (space.getNumGroups() - 1) & 1);
  bool isAligned = true;
  Value position = emitter.index(0);
  // The first element along a group stores a value that does not vary along it.
  for (unsigned group : llvm::reverse(groupsIn(own | looped))) {
    if (own >> group & 1) {
      position = emitter.add(position, emitter.mul(coordinates[group], stride));
      stride *= space.getSize(group);
      isAligned &= stride % width == 0;
    } else {
      condition = emitter.both(condition, emitter.isZero(coordinates[group]));
    }
  }
  Number stored = isVector ? number->splat(width) : *number;
  emitter.onlyIf(condition, [&] { emitter.store(buffer, position, stored, isAligned); });
  return success();
}

// ---- reductions ---------------------------------------------------------------------------------

/// A vector if the innermost group is vectorised.
Number ElementValues::identityOf(const Sum &sum) {
  Number identity = sum.combiner.identity(emitter.number(emitter.index(0)));
  return width > 1 ? identity.splat(width) : identity;
}

FailureOr<Number> ElementValues::accumulate(const Sum &sum, Number total, Value valid) {
  hlo::ReduceOp op = sum.op;
  FailureOr<Number> number = get(op.getInputs()[0]);
  if (failed(number))
    return failure();
  Number term = number->isFloat() ? number->toFloat(sum.combiner.getType()) : *number;
  if (width > 1)
    term = term.splat(width);
  if (valid)
    term = emitter.number(valid).select(term, identityOf(sum));
  return sum.combiner.combine(total, term);
}

/// Sets the reduction's result from the total of all terms.
LogicalResult ElementValues::finishSum(Sum &sum, Number total) {
  FailureOr<Number> first = get(sum.op.getInitValues()[0]);
  if (failed(first))
    return failure();
  Number start = first->isFloat() ? first->toFloat(sum.combiner.getType()) : *first;
  Number result = sum.combiner.combine(start, total);
  Type type = getComputeType(elementOf(sum.op.getResult(0)));
  ofRow[sum.op.getResult(0)] = (result.isFloat() ? result.toFloat(type) : result).value;
  return success();
}
