// Reads keys and values that heads share instead of a copy of them for each head.
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/St/Utils/KernelParts.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Kernels/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::st {
#define GEN_PASS_DEF_SHAREHEADS
#include "passes/Kernels/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

namespace {
/// An input of an attention kernel that repeats each head of `source` for the heads of a group:
/// its dimension `dim` of groups times heads is `source`'s dimension of groups.
struct SharedInput {
  unsigned input = 0;
  Value source;
  int64_t dim = 0, groups = 1, heads = 1;
};

/// The dimension of heads of the values in a kernel's body.
class HeadDims {
public:
  /// Finds the dimensions that ops of the body tie to one of an argument. Returns false if an op
  /// among them cannot be split.
  bool find(Value argument, int64_t dim);
  std::optional<int64_t> get(Value value) const {
    auto found = dims.find(value);
    return found == dims.end() ? std::nullopt : std::optional(found->second);
  }

private:
  DenseMap<Value, int64_t> dims;
  SmallVector<Operation *> pending;

  bool set(Value value, int64_t dim);
  bool propagate(Operation *op);
};

/// Rebuilds a kernel with separate dimensions for the groups and for the heads of a group.
class HeadSplitter {
public:
  HeadSplitter(KernelOp kernel, const HeadDims &dims, ArrayRef<SharedInput> shared)
      : kernel(kernel), dims(dims), shared(shared) {}
  void rebuild();

private:
  KernelOp kernel;
  const HeadDims &dims;
  ArrayRef<SharedInput> shared;

  Type split(Value value) const;
  SmallVector<int64_t> split(Value value, ArrayRef<int64_t> list) const;
  Operation *clone(OpBuilder &builder, Operation &op, IRMapping &mapping) const;
};

struct ShareHeadsPass : mlir::st::impl::ShareHeadsBase<ShareHeadsPass> {
  void runOnOperation() override;
  LogicalResult share(KernelOp kernel);
};
} // namespace

// ---- the dimension of heads ---------------------------------------------------------------------

bool HeadDims::set(Value value, int64_t dim) {
  auto [known, isNew] = dims.try_emplace(value, dim);
  if (!isNew)
    return known->second == dim;
  if (Operation *op = value.getDefiningOp())
    pending.push_back(op);
  llvm::append_range(pending, value.getUsers());
  return true;
}

/// Returns true if an op that has the dimension of heads can be rebuilt with two dimensions.
static bool canSplit(Operation *op) {
  if (auto constant = dyn_cast<hlo::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isa<hlo::DotGeneralOp, hlo::BroadcastInDimOp, hlo::ReduceOp, hlo::TransposeOp, hlo::IotaOp,
             hlo::SelectOp, hlo::CompareOp, hlo::ConvertOp>(op) ||
         op->hasTrait<OpTrait::Elementwise>();
}

bool HeadDims::propagate(Operation *op) {
  if (isa<YieldOp>(op))
    return true;
  auto iota = dyn_cast<hlo::IotaOp>(op);
  if (!canSplit(op) ||
      (iota && static_cast<int64_t>(iota.getIotaDimension()) == get(iota.getResult())))
    return false;
  const ShardingRule rule = getShardingRule(op);
  auto visit = [&](auto action) {
    for (auto [value, factors] : llvm::zip(op->getOperands(), rule.operands))
      if (!action(value, factors))
        return false;
    for (auto [value, factors] : llvm::zip(op->getResults(), rule.results))
      if (!action(value, factors))
        return false;
    return true;
  };
  std::optional<int64_t> factor;
  if (!visit([&](Value value, const TensorFactors &factors) {
        std::optional<int64_t> dim = get(value);
        if (!dim || *dim >= static_cast<int64_t>(factors.size()))
          return !dim;
        if (factors[*dim].size() != 1 || (factor && *factor != factors[*dim].front()))
          return false;
        factor = factors[*dim].front();
        return true;
      }))
    return false;
  // A constant's only value is its result, which has the dimension.
  if (!factor)
    return isa<hlo::ConstantOp>(op);
  return visit([&](Value value, const TensorFactors &factors) {
    for (auto [dim, list] : llvm::enumerate(factors))
      if (llvm::is_contained(list, *factor) &&
          (list.size() != 1 || !set(value, static_cast<int64_t>(dim))))
        return false;
    return true;
  });
}

bool HeadDims::find(Value argument, int64_t dim) {
  if (!set(argument, dim))
    return false;
  while (!pending.empty())
    if (!propagate(pending.pop_back_val()))
      return false;
  return true;
}

// ---- the kernel ---------------------------------------------------------------------------------

Type HeadSplitter::split(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<int64_t> dim = dims.get(value);
  if (!dim)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] = shared.front().groups;
  shape.insert(shape.begin() + *dim + 1, shared.front().heads);
  return type.clone(shape);
}

/// Returns a list of a value's dimensions, with both parts of the dimension of heads.
SmallVector<int64_t> HeadSplitter::split(Value value, ArrayRef<int64_t> list) const {
  std::optional<int64_t> heads = dims.get(value);
  SmallVector<int64_t> result;
  for (int64_t dim : list) {
    result.push_back(dim + (heads && dim > *heads));
    if (heads && dim == *heads)
      result.push_back(dim + 1);
  }
  return result;
}

/// Clones an op whose operands are mapped, and adapts its attributes and types.
Operation *HeadSplitter::clone(OpBuilder &builder, Operation &op, IRMapping &mapping) const {
  Operation *made = builder.clone(op, mapping);
  for (auto [from, to] : llvm::zip_equal(op.getResults(), made->getResults()))
    to.setType(split(from));
  if (auto constant = dyn_cast<hlo::ConstantOp>(made)) {
    auto value = cast<DenseElementsAttr>(constant.getValue());
    if (value.isSplat())
      constant.setValueAttr(value.resizeSplat(cast<ShapedType>(made->getResult(0).getType())));
  } else if (auto iota = dyn_cast<hlo::IotaOp>(made)) {
    const auto dim = static_cast<int64_t>(iota.getIotaDimension());
    iota.setIotaDimension(split(op.getResult(0), dim).front());
  } else if (auto broadcast = dyn_cast<hlo::BroadcastInDimOp>(made)) {
    // An operand without the dimension is the same for all heads.
    SmallVector<int64_t> to;
    std::optional<int64_t> heads = dims.get(op.getOperand(0));
    for (auto [from, dim] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
      to.push_back(split(op.getResult(0), dim).front());
      if (heads == static_cast<int64_t>(from))
        to.push_back(to.back() + 1);
    }
    broadcast.setBroadcastDimensions(to);
  } else if (auto reduce = dyn_cast<hlo::ReduceOp>(made)) {
    reduce.setDimensions(split(op.getOperand(0), reduce.getDimensions()));
  } else if (auto transpose = dyn_cast<hlo::TransposeOp>(made)) {
    transpose.setPermutation(split(op.getOperand(0), transpose.getPermutation()));
  } else if (auto dot = dyn_cast<hlo::DotGeneralOp>(made)) {
    auto numbers = dot.getDotDimensionNumbers();
    Value left = op.getOperand(0), right = op.getOperand(1);
    dot.setDotDimensionNumbersAttr(hlo::DotDimensionNumbersAttr::get(
        builder.getContext(), split(left, numbers.getLhsBatchingDimensions()),
        split(right, numbers.getRhsBatchingDimensions()),
        split(left, numbers.getLhsContractingDimensions()),
        split(right, numbers.getRhsContractingDimensions())));
  }
  return made;
}

/// Returns a value with the type of an argument whose heads are split. A result of a kernel that
/// was split before has it without its reshape.
static Value splitHeads(OpBuilder &builder, Location loc, Type type, Value value) {
  auto merged = value.getDefiningOp<hlo::ReshapeOp>();
  if (merged && merged.getOperand().getType() == type)
    return merged.getOperand();
  return hlo::ReshapeOp::create(builder, loc, type, value);
}

void HeadSplitter::rebuild() {
  OpBuilder builder(kernel);
  const Location loc = kernel.getLoc();
  Block &body = kernel.getBody().front();
  auto *block = new Block;
  OpBuilder inside(kernel.getContext());
  inside.setInsertionPointToEnd(block);
  SmallVector<Value> inputs;
  DenseMap<std::pair<Value, Type>, Value> broadcasts; // of shared matrices
  IRMapping mapping;
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), kernel.getInputs())) {
    const auto *source = llvm::find_if(
        shared, [&](const SharedInput &one) { return one.input == argument.getArgNumber(); });
    const Type type = split(argument);
    if (source != shared.end()) {
      Value &repeated = broadcasts[{source->source, type}];
      if (repeated) {
        mapping.map(argument, repeated);
        continue;
      }
      auto dims = llvm::to_vector(
          llvm::seq<int64_t>(0, cast<RankedTensorType>(argument.getType()).getRank()));
      for (int64_t &dim : dims)
        dim += dim > source->dim;
      inputs.push_back(source->source);
      repeated = hlo::BroadcastInDimOp::create(
          inside, argument.getLoc(), type,
          block->addArgument(source->source.getType(), argument.getLoc()), dims);
      mapping.map(argument, repeated);
      continue;
    }
    inputs.push_back(type == argument.getType() ? Value(input)
                                                : splitHeads(builder, loc, type, input));
    mapping.map(argument, block->addArgument(type, argument.getLoc()));
  }
  for (Operation &op : body)
    clone(inside, op, mapping);
  auto types = llvm::map_to_vector(block->getTerminator()->getOperands(),
                                   [](Value value) { return value.getType(); });
  auto made = KernelOp::create(builder, loc, types, kernel.getKindAttr(), inputs);
  made->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  made.getBody().push_back(block);
  for (auto [from, to] : llvm::zip_equal(kernel.getResults(), made.getResults())) {
    Value result = to;
    if (from.getType() != to.getType())
      result = hlo::ReshapeOp::create(builder, loc, from.getType(), to);
    from.replaceAllUsesWith(result);
  }
  llvm::SmallSetVector<Operation *, 8> reshapes;
  for (Value input : kernel.getInputs())
    if (auto reshape = input.getDefiningOp<hlo::ReshapeOp>())
      reshapes.insert(reshape);
  kernel.erase();
  for (Operation *reshape : reshapes)
    if (reshape->use_empty())
      reshape->erase();
}

// ---- the pass -----------------------------------------------------------------------------------

/// Matches an input that a kernel copies for each head of a group, and a reshape that merges groups
/// and heads.
static std::optional<SharedInput> matchShared(KernelOp kernel, unsigned input) {
  auto reshape = kernel.getInputs()[input].getDefiningOp<hlo::ReshapeOp>();
  auto copy = reshape ? reshape.getOperand().getDefiningOp<KernelOp>() : KernelOp();
  if (!copy || copy.getKind() != "copy" || copy.getNumResults() != 1)
    return std::nullopt;
  auto broadcast =
      copy.getBody().front().getTerminator()->getOperand(0).getDefiningOp<hlo::BroadcastInDimOp>();
  auto argument = broadcast ? dyn_cast<BlockArgument>(broadcast.getOperand()) : BlockArgument();
  if (!argument)
    return std::nullopt;
  ArrayRef<int64_t> from = cast<RankedTensorType>(argument.getType()).getShape();
  ArrayRef<int64_t> to = cast<RankedTensorType>(broadcast.getType()).getShape();
  ArrayRef<int64_t> merged = cast<RankedTensorType>(reshape.getType()).getShape();
  if (to.size() != from.size() + 1 || merged.size() != from.size())
    return std::nullopt;
  // The copy's dimension that the operand does not have is that of the heads.
  int64_t heads = 0;
  while (llvm::is_contained(broadcast.getBroadcastDimensions(), heads))
    ++heads;
  SmallVector<int64_t> kept(to), joined(to);
  kept.erase(kept.begin() + heads);
  if (heads == 0 || !llvm::is_sorted(broadcast.getBroadcastDimensions()) || kept != from)
    return std::nullopt;
  joined.erase(joined.begin() + heads);
  joined[heads - 1] *= to[heads];
  if (joined != merged || to[heads] == 1)
    return std::nullopt;
  return SharedInput{input, copy.getInputs()[argument.getArgNumber()], heads - 1, to[heads - 1],
                     to[heads]};
}

LogicalResult ShareHeadsPass::share(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  HeadDims dims;
  SmallVector<SharedInput> shared;
  for (unsigned input = 0; input < kernel.getInputs().size(); ++input) {
    std::optional<SharedInput> found = matchShared(kernel, input);
    Value argument = body.getArgument(input);
    // Only products read a matrix by strides.
    if (!found || !llvm::all_of(argument.getUsers(), llvm::IsaPred<hlo::DotGeneralOp>))
      continue;
    if (shared.empty() && !dims.find(argument, found->dim))
      return success();
    if (dims.get(argument) == found->dim &&
        (shared.empty() || shared.front().groups == found->groups))
      shared.push_back(*found);
  }
  if (shared.empty())
    return success();
  if (failed(checkUnplanned(kernel, getArgument())))
    return failure();
  llvm::SmallSetVector<Operation *, 4> copies;
  for (const SharedInput &one : shared)
    copies.insert(kernel.getInputs()[one.input].getDefiningOp()->getOperand(0).getDefiningOp());
  HeadSplitter(kernel, dims, shared).rebuild();
  for (Operation *copy : copies) {
    for (Operation *user : llvm::make_early_inc_range(copy->getUsers()))
      if (isa<hlo::ReshapeOp>(user) && user->use_empty())
        user->erase();
    if (copy->use_empty())
      copy->erase();
  }
  ++numShared;
  return success();
}

void ShareHeadsPass::runOnOperation() {
  SmallVector<KernelOp> kernels;
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel.getKind() == "attention")
      kernels.push_back(kernel);
  });
  for (KernelOp kernel : kernels)
    if (failed(share(kernel)))
      return signalPassFailure();
}
