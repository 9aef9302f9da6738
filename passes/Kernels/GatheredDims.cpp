#include "passes/Kernels/GatheredDims.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

RankedTensorType mlir::st::getPartType(RankedTensorType type, GatheredDim dim, int64_t parts) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim.dim] /= parts;
  return type.clone(shape);
}

std::optional<GatheredDim> mlir::st::reshapeGathered(RankedTensorType from, RankedTensorType to,
                                                     GatheredDim dim, int64_t parts) {
  // In row-major order, the number of elements of a block.
  int64_t elements = dim.block;
  for (int64_t size : from.getShape().drop_front(dim.dim + 1))
    elements *= size;
  int64_t below = 1; // elements of one position of the dimension
  for (int64_t i = to.getRank(); i-- > 0; below *= to.getDimSize(i))
    if (to.getDimSize(i) > 1 && elements % below == 0 &&
        below * to.getDimSize(i) % (elements * parts) == 0)
      return GatheredDim{i, elements / below};
  return std::nullopt;
}

// ---- analysis -----------------------------------------------------------------------------------

bool GatheredDims::set(Value value, GatheredDim dim) {
  auto [known, isNew] = dims.try_emplace(value, dim);
  if (!isNew)
    return known->second == dim;
  // The kernel's input is the same for all parts.
  if (isa<BlockArgument>(value))
    return false;
  pending.push_back(value.getDefiningOp());
  llvm::append_range(pending, value.getUsers());
  return true;
}

/// Gives the dimensions of an op's operands and results that have the factor of a gathered one.
bool GatheredDims::propagate(Operation *op) {
  if (isa<YieldOp>(op))
    return true;
  if (auto reshape = dyn_cast<hlo::ReshapeOp>(op)) {
    Value ends[] = {reshape.getOperand(), reshape.getResult()};
    for (auto [from, to] : {std::pair(ends[0], ends[1]), std::pair(ends[1], ends[0])})
      if (std::optional<GatheredDim> dim = get(from)) {
        std::optional<GatheredDim> other = reshapeGathered(typeOf(from), typeOf(to), *dim, parts);
        if (!other || !set(to, *other))
          return false;
      }
    return true;
  }
  ShardingRule rule = getShardingRule(op);
  if (!rule.isShardable() || rule.parts > 1 || rule.operands.size() != op->getNumOperands())
    return isa<hlo::ConstantOp, hlo::IotaOp>(op);
  SmallVector<std::pair<Value, const TensorFactors *>> tensors;
  for (auto [value, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
    tensors.push_back({value, &factors});
  for (auto [value, factors] : llvm::zip_equal(op->getResults(), rule.results))
    tensors.push_back({value, &factors});
  for (auto [value, factors] : tensors) {
    std::optional<GatheredDim> dim = get(value);
    if (!dim)
      continue;
    ArrayRef<int64_t> ofDim = (*factors)[dim->dim];
    if (ofDim.size() != 1 || (rule.factors[ofDim[0]].kind != FactorKind::Parallel &&
                              rule.factors[ofDim[0]].kind != FactorKind::Reduction))
      return false;
    for (auto [other, otherFactors] : tensors)
      for (auto [number, factor] : llvm::enumerate(*otherFactors))
        if (llvm::is_contained(factor, ofDim[0]) &&
            (factor.size() != 1 || !set(other, {static_cast<int64_t>(number), dim->block})))
          return false;
  }
  return true;
}

/// Returns true if `makePart` can change the sizes of the op's operands and results.
bool GatheredDims::canSplit(Operation *op) const {
  if (auto constant = dyn_cast<hlo::ConstantOp>(op))
    return !get(constant) || isa<SplatElementsAttr>(constant.getValue());
  // These have sizes or limits as attributes.
  return !isa<hlo::SliceOp, hlo::DynamicSliceOp, hlo::GatherOp, hlo::PadOp, hlo::ScatterOp>(op);
}

bool GatheredDims::analyze(ArrayRef<std::optional<GatheredDim>> inputs) {
  Block &body = kernel.getBody().front();
  for (auto [argument, dim] : llvm::zip_equal(body.getArguments(), inputs))
    if (dim) {
      dims[argument] = *dim;
      llvm::append_range(pending, argument.getUsers());
    }
  while (!pending.empty())
    if (!propagate(pending.pop_back_val()))
      return false;
  return llvm::all_of(body.without_terminator(), [&](Operation &op) {
    auto isGathered = [&](Value value) { return get(value).has_value(); };
    return (!llvm::any_of(op.getOperands(), isGathered) &&
            !llvm::any_of(op.getResults(), isGathered)) ||
           canSplit(&op);
  });
}

bool GatheredDims::combines(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value value) { return get(value).has_value(); }) &&
         llvm::none_of(op->getResults(), [&](Value value) { return get(value).has_value(); });
}

// ---- parts --------------------------------------------------------------------------------------

/// The positions of a part along the dimension of an iota.
Value GatheredDims::makePositions(OpBuilder &builder, Operation *iota, Value index) const {
  const GatheredDim dim = *get(iota->getResult(0));
  RankedTensorType type = getPartType(typeOf(iota->getResult(0)), dim, parts);
  Emitter emit(builder, builder.getInsertionBlock(), iota->getLoc());
  Value part = emit.broadcast(emit.convert(index, type.getElementType()), {}, type.getShape());
  Value own = emit.iota(type.getShape(), type.getElementType(), dim.dim);
  const auto block = static_cast<double>(dim.block), period = static_cast<double>(parts) * block;
  // Masks compare sums of multiples of positions.
  if (dim.block == 1)
    return emit.add(part, emit.scale(own, period));
  if (dim.block == type.getDimSize(dim.dim))
    return emit.add(emit.scale(part, block), own);
  Value number = emit.div(own, emit.splat(type, block));
  Value inBlock = emit.sub(own, emit.scale(number, block));
  return emit.add(emit.add(emit.scale(number, period), emit.scale(part, block)), inBlock);
}

KernelOp GatheredDims::makePart(OpBuilder &builder, ValueRange inputs, Value index) const {
  KernelOp original = kernel;
  Location loc = original.getLoc();
  Block &body = original.getBody().front();
  auto partOf = [&](Value value) -> Type {
    std::optional<GatheredDim> dim = get(value);
    return dim ? getPartType(typeOf(value), *dim, parts) : value.getType();
  };
  SmallVector<Value> allInputs(inputs);
  const bool needsIndex = llvm::any_of(body.getOps<hlo::IotaOp>(), [&](hlo::IotaOp iota) {
    std::optional<GatheredDim> dim = get(iota);
    return dim && dim->dim == static_cast<int64_t>(iota.getIotaDimension());
  });
  if (needsIndex)
    allInputs.push_back(index);
  auto part = KernelOp::create(builder, loc,
                               llvm::map_to_vector(body.getTerminator()->getOperands(), partOf),
                               original.getKindAttr(), allInputs);
  part->setDiscardableAttrs(original->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&part.getBody(), {}, ValueRange(allInputs).getTypes(),
                                     SmallVector<Location>(allInputs.size(), loc));
  IRMapping mapping;
  mapping.map(body.getArguments(), block->getArguments().take_front(inputs.size()));
  for (Operation &op : body.without_terminator()) {
    std::optional<GatheredDim> dim = op.getNumResults() == 1 ? get(op.getResult(0)) : std::nullopt;
    if (auto iota = dyn_cast<hlo::IotaOp>(op);
        iota && dim && dim->dim == static_cast<int64_t>(iota.getIotaDimension())) {
      mapping.map(iota, makePositions(builder, iota, block->getArguments().back()));
      continue;
    }
    Operation *copy = builder.clone(op, mapping);
    for (auto [old, result] : llvm::zip_equal(op.getResults(), copy->getResults()))
      result.setType(partOf(old));
    if (auto constant = dyn_cast<hlo::ConstantOp>(copy); constant && dim)
      constant.setValueAttr(
          cast<SplatElementsAttr>(constant.getValue()).resizeSplat(typeOf(constant)));
  }
  builder.clone(*body.getTerminator(), mapping);
  return part;
}
