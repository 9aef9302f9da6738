// Splits reductions with few results: many blocks reduce one part each, then the parts' results.
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/kernels/Geometry.h"
#include "backends/cuda/codegen/kernels/KernelParts.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace mlir::cuda {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::GroupSet;
using mlir::st::IterationSpace;
using mlir::st::KernelOp;
namespace hlo = mlir::stablehlo;

/// Maximum number of resident threads per multiprocessor.
static constexpr int64_t kThreadsPerCore = 2048;
/// Minimum number of steps per thread of a part, and of elements per part.
static constexpr int64_t kMinSteps = 8, kMinPoints = 32;

namespace {
class SplitReductionsPass : public mlir::cuda::impl::SplitReductionsBase<SplitReductionsPass> {
public:
  using SplitReductionsBase::SplitReductionsBase;
  void runOnOperation() override;

private:
  FailureOr<SmallVector<KernelOp>> split(KernelOp kernel, int64_t multiprocessors);
};

/// A kernel that only reduces, always over the same axes, and its division into parts.
class PartialKernel {
public:
  static FailureOr<PartialKernel> analyze(KernelOp kernel);

  /// Chooses the parts and returns whether there are several. `always`: two parts if possible.
  bool choose(int64_t cores, bool always);
  /// Creates the kernel that reduces each part, before this one.
  KernelOp build(OpBuilder &builder);
  /// Returns the dimensions of a result of that kernel that index parts.
  SmallVector<int64_t> getPartDims(unsigned result);

private:
  PartialKernel(KernelOp kernel, IterationSpace space) : kernel(kernel), space(std::move(space)) {}

  Block &body() { return kernel.getBody().front(); }
  Work getWork();
  bool is(Value value, int64_t dim, unsigned axis) const {
    return space.getAxis(value, dim) == std::optional(axis);
  }
  bool varies(Value value, unsigned axis) const;
  bool canDivide(unsigned axis);
  bool canDivide(Operation &op, unsigned axis);
  /// Returns true if a reduced dimension, or the first of its two, indexes parts.
  bool isOfParts(Value value, int64_t dim) const;

  SmallVector<int64_t> getShape(Value value);
  /// Position of a dimension in that shape.
  int64_t getPlace(Value value, int64_t dim);
  RankedTensorType getType(Value value);
  Value rebuild(OpBuilder &builder, hlo::IotaOp iota);
  Value rebuild(OpBuilder &builder, hlo::BroadcastInDimOp op, Value operand);
  Value rebuild(OpBuilder &builder, hlo::ReduceOp op, Value operand);

  KernelOp kernel;
  IterationSpace space; // axes only, no groups
  SmallVector<hlo::ReduceOp> reductions;
  SmallVector<unsigned> reduced; // axes, outer to inner

  // The parts divide full axes and, of the next one, `partsOfNext` ranges.
  size_t fullAxes = 0;
  int64_t partsOfNext = 1;
  std::optional<unsigned> divided;
};
} // namespace

// ---- reductions ---------------------------------------------------------------------------------

static bool isHalf(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16; }

/// The type of partial results: sums of 16-bit floats are rounded once.
static Type getPartialType(Type element) {
  return isHalf(element) ? Float32Type::get(element.getContext()) : element;
}

static std::optional<Attribute> getInitialValue(hlo::ReduceOp op) {
  DenseElementsAttr constant;
  if (op.getInputs().size() != 1 || !matchPattern(op.getInitValues()[0], m_Constant(&constant)))
    return std::nullopt;
  return constant.getSplatValue<Attribute>();
}

static Attribute getNeutralElement(hlo::ReduceOp op) {
  Operation *combiner = mlir::st::findCombiner(op.getBody());
  Type element = getPartialType(getElementTypeOrSelf(op.getResult(0)));
  if (!combiner || isa<ComplexType>(element))
    return nullptr;
  return mlir::st::getNeutralElement(combiner, element);
}

/// Creates a reduction like `like` in the type of its partial results.
static Value makeReduction(OpBuilder &builder, hlo::ReduceOp like, Value input,
                           ArrayRef<int64_t> dims, Attribute init) {
  Location loc = like.getLoc();
  auto type = cast<RankedTensorType>(input.getType());
  Type element = getPartialType(type.getElementType());
  if (element != type.getElementType())
    input = hlo::ConvertOp::create(builder, loc, type.clone(element), input);
  if (auto number = dyn_cast<FloatAttr>(init))
    init = FloatAttr::get(element, number.getValueAsDouble());
  auto scalar = RankedTensorType::get({}, element);
  Value start = hlo::ConstantOp::create(builder, loc,
                                        cast<ElementsAttr>(DenseElementsAttr::get(scalar, init)));
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, dim))
      shape.push_back(size);
  IRMapping mapping;
  mapping.map(like.getInputs()[0], input);
  mapping.map(like.getInitValues()[0], start);
  auto op = cast<hlo::ReduceOp>(builder.clone(*like, mapping));
  op.setDimensions(dims);
  op.getResult(0).setType(RankedTensorType::get(shape, element));
  for (BlockArgument argument : op.getBody().getArguments())
    argument.setType(scalar);
  mlir::st::findCombiner(op.getBody())->getResult(0).setType(scalar);
  return op.getResult(0);
}

/// Returns the reductions that depend on no other reduction, or std::nullopt if one of them cannot
/// be split.
static SmallVector<hlo::ReduceOp> findFirstReductions(Block &body) {
  SmallVector<hlo::ReduceOp> found;
  DenseSet<Value> behind;
  for (Operation &op : body.without_terminator()) {
    auto reduce = dyn_cast<hlo::ReduceOp>(op);
    bool isBehind =
        llvm::any_of(op.getOperands(), [&](Value operand) { return behind.contains(operand); });
    if (reduce && !isBehind && !op.use_empty()) {
      if (!getInitialValue(reduce) || !getNeutralElement(reduce))
        return {};
      found.push_back(reduce);
    }
    if (reduce || isBehind)
      behind.insert(op.result_begin(), op.result_end());
  }
  return found;
}

// ---- parts --------------------------------------------------------------------------------------

FailureOr<PartialKernel> PartialKernel::analyze(KernelOp kernel) {
  FailureOr<IterationSpace> space = IterationSpace::analyze(kernel.getBody().front());
  if (failed(space))
    return failure();
  PartialKernel partial(kernel, std::move(*space));
  for (Value value : partial.body().getTerminator()->getOperands())
    partial.reductions.push_back(value.getDefiningOp<hlo::ReduceOp>());
  std::optional<SmallVector<unsigned>> common;
  for (hlo::ReduceOp op : partial.reductions) {
    SmallVector<unsigned> axes;
    for (int64_t dim : op.getDimensions())
      if (auto axis = partial.space.getAxis(op.getInputs()[0], dim))
        axes.push_back(*axis);
    llvm::sort(axes);
    // Such a kernel cannot be generated, split or not.
    if (common.value_or(axes) != axes)
      return partial;
    common = axes;
  }
  partial.reduced = *common;
  return partial;
}

Work PartialKernel::getWork() {
  IterationSpace groups = space;
  groups.formGroups();
  GroupSet set = 0;
  for (unsigned axis : reduced)
    set |= GroupSet(1) << groups.getGroupOfAxis(axis);
  return describeWork(groups, set, /*isReduction=*/true, body());
}

bool PartialKernel::choose(int64_t cores, bool always) {
  if (reduced.empty())
    return false;
  const Work work = getWork();
  const Geometry geometry = chooseGeometry(work);
  const int64_t maximum = geometry.chunks / kMinSteps;
  if (!always && (geometry.blocks >= cores || maximum < 2))
    return false;
  const int64_t minPoints = always ? 2 : kMinPoints;
  // The number of threads if the reduction is split into `parts`. Small blocks count as 256.
  auto threadsOf = [&](int64_t parts) {
    Work ofParts = work;
    ofParts.kept *= parts;
    ofParts.reduced = llvm::divideCeil(work.reduced, parts);
    if (work.reducesInnermost) // The rows of a part are shorter.
      ofParts.innermost = std::gcd(work.innermost, ofParts.reduced);
    const Geometry divided = chooseGeometry(ofParts);
    return static_cast<double>(divided.blocks * std::max<int64_t>(divided.threads, 256));
  };
  const double wanted = std::min<double>(kThreadsPerCore * cores, threadsOf(always ? 2 : maximum));
  // Chooses the number with the smallest ratio to the wanted one, preferring more parts.
  double nearest =
      always ? std::numeric_limits<double>::infinity() : std::log(wanted) - std::log(threadsOf(1));
  auto consider = [&](int64_t parts, size_t full, int64_t ofNext) {
    if (parts < 2 || parts > work.reduced / minPoints)
      return;
    double distance = always ? std::log(parts) : std::log(threadsOf(parts)) - std::log(wanted);
    distance = distance > 0 ? distance / 2 : -distance;
    if (distance >= nearest)
      return;
    nearest = distance;
    fullAxes = full;
    partsOfNext = ofNext;
  };
  int64_t before = 1;
  for (auto [i, axis] : llvm::enumerate(reduced)) {
    const int64_t size = space.getAxisSize(axis);
    if (canDivide(axis))
      for (int64_t divisor = 2; divisor * divisor <= size; ++divisor)
        if (size % divisor == 0) {
          consider(before * divisor, i, divisor);
          consider(before * (size / divisor), i, size / divisor);
        }
    before *= size;
    consider(before, i + 1, 1);
  }
  if (partsOfNext > 1)
    divided = reduced[fullAxes];
  return fullAxes > 0 || partsOfNext > 1;
}

bool PartialKernel::varies(Value value, unsigned axis) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && llvm::any_of(llvm::seq<int64_t>(0, type.getRank()),
                              [&](int64_t dim) { return is(value, dim, axis); });
}

/// Returns true if two dimensions can replace an axis in every value that varies along it.
bool PartialKernel::canDivide(unsigned axis) {
  return llvm::all_of(body().without_terminator(),
                      [&](Operation &op) { return canDivide(op, axis); });
}

bool PartialKernel::canDivide(Operation &op, unsigned axis) {
  auto rankOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getRank(); };
  Value result = op.getResult(0);
  auto agree = [&](Value operand, int64_t from, int64_t to) {
    return is(operand, from, axis) == is(result, to, axis);
  };
  auto areNone = [&] {
    return !varies(result, axis) &&
           llvm::none_of(op.getOperands(), [&](Value operand) { return varies(operand, axis); });
  };
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](hlo::ConstantOp constant) {
        return isa<SplatElementsAttr>(constant.getValue()) || areNone();
      })
      .Case([&](hlo::IotaOp iota) {
        // Narrow types would round or overflow at different elements.
        Type element = iota.getType().getElementType();
        return !is(result, iota.getIotaDimension(), axis) ||
               (isa<IntegerType>(element) && element.getIntOrFloatBitWidth() >= 32);
      })
      .Case([&](hlo::BroadcastInDimOp broadcast) {
        auto dims = llvm::enumerate(broadcast.getBroadcastDimensions());
        return llvm::all_of(dims, [&](auto pair) {
          return cast<RankedTensorType>(broadcast.getOperand().getType())
                         .getDimSize(pair.index()) == 1 ||
                 agree(broadcast.getOperand(), pair.index(), pair.value());
        });
      })
      .Case([&](hlo::ReduceOp reduce) {
        int64_t kept = 0;
        Value operand = reduce.getInputs()[0];
        for (int64_t dim = 0; dim < rankOf(operand); ++dim)
          if (!llvm::is_contained(reduce.getDimensions(), dim) && !agree(operand, dim, kept++))
            return false;
        return true;
      })
      .Default([&](Operation *) {
        if (!mlir::st::isElementwise(&op))
          return areNone();
        return llvm::all_of(op.getOperands(), [&](Value operand) {
          return rankOf(operand) == 0 ||
                 (rankOf(operand) == rankOf(result) &&
                  llvm::all_of(llvm::seq<int64_t>(0, rankOf(result)),
                               [&](int64_t dim) { return agree(operand, dim, dim); }));
        });
      });
}

bool PartialKernel::isOfParts(Value value, int64_t dim) const {
  std::optional<unsigned> axis = space.getAxis(value, dim);
  return axis &&
         (axis == divided || llvm::is_contained(ArrayRef(reduced).take_front(fullAxes), *axis));
}

SmallVector<int64_t> PartialKernel::getPartDims(unsigned result) {
  hlo::ReduceOp op = reductions[result];
  SmallVector<int64_t> dims;
  int64_t next = 0;
  for (int64_t dim = 0, rank = cast<RankedTensorType>(op.getInputs()[0].getType()).getRank();
       dim < rank; ++dim) {
    const bool isReduced = llvm::is_contained(op.getDimensions(), dim);
    if (isReduced && isOfParts(op.getInputs()[0], dim))
      dims.push_back(next);
    next += !isReduced || isOfParts(op.getInputs()[0], dim);
  }
  return dims;
}

// ---- the kernel of parts ------------------------------------------------------------------------

SmallVector<int64_t> PartialKernel::getShape(Value value) {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(value.getType()).getShape()))
    if (divided && is(value, dim, *divided))
      shape.append({partsOfNext, size / partsOfNext});
    else
      shape.push_back(size);
  return shape;
}

int64_t PartialKernel::getPlace(Value value, int64_t dim) {
  int64_t place = dim;
  for (int64_t other = 0; other < dim; ++other)
    place += divided && is(value, other, *divided);
  return place;
}

RankedTensorType PartialKernel::getType(Value value) {
  return RankedTensorType::get(getShape(value), getElementTypeOrSelf(value));
}

Value PartialKernel::rebuild(OpBuilder &builder, hlo::IotaOp iota) {
  Location loc = iota.getLoc();
  Value old = iota.getResult();
  RankedTensorType type = getType(old);
  const int64_t dim = static_cast<int64_t>(iota.getIotaDimension()), place = getPlace(old, dim);
  auto along = [&](int64_t i) -> Value { return hlo::IotaOp::create(builder, loc, type, i); };
  if (!divided || !is(old, dim, *divided))
    return along(place);
  Attribute size = IntegerAttr::get(type.getElementType(), type.getDimSize(place + 1));
  Value scale =
      hlo::ConstantOp::create(builder, loc, cast<ElementsAttr>(DenseElementsAttr::get(type, size)));
  Value first = hlo::MulOp::create(builder, loc, along(place), scale);
  return hlo::AddOp::create(builder, loc, first, along(place + 1));
}

Value PartialKernel::rebuild(OpBuilder &builder, hlo::BroadcastInDimOp op, Value operand) {
  SmallVector<int64_t> dims;
  for (auto [from, to] : llvm::enumerate(op.getBroadcastDimensions())) {
    const int64_t place = getPlace(op.getResult(), to);
    dims.push_back(place);
    if (divided && is(op.getOperand(), from, *divided))
      dims.push_back(place + 1);
  }
  return hlo::BroadcastInDimOp::create(builder, op.getLoc(), getType(op.getResult()), operand,
                                       builder.getDenseI64ArrayAttr(dims));
}

Value PartialKernel::rebuild(OpBuilder &builder, hlo::ReduceOp op, Value operand) {
  SmallVector<int64_t> dims;
  Value old = op.getInputs()[0];
  for (int64_t dim : op.getDimensions()) {
    const int64_t place = getPlace(old, dim);
    if (divided && is(old, dim, *divided))
      dims.push_back(place + 1);
    else if (!isOfParts(old, dim))
      dims.push_back(place);
  }
  return makeReduction(builder, op, operand, dims, getNeutralElement(op));
}

KernelOp PartialKernel::build(OpBuilder &builder) {
  Location loc = kernel.getLoc();
  auto *block = new Block;
  OpBuilder inside(kernel.getContext());
  inside.setInsertionPointToEnd(block);
  IRMapping mapping;
  SmallVector<Value> inputs;
  for (auto [argument, input] : llvm::zip_equal(body().getArguments(), kernel.getInputs())) {
    RankedTensorType type = getType(argument);
    // The reshape does not move data.
    inputs.push_back(type == input.getType()
                         ? input
                         : hlo::ReshapeOp::create(builder, loc, type, input).getResult());
    mapping.map(argument, block->addArgument(type, argument.getLoc()));
  }
  for (Operation &op : body().without_terminator()) {
    Value old = op.getResult(0);
    mapping.map(old, TypeSwitch<Operation *, Value>(&op)
                         .Case([&](hlo::IotaOp iota) { return rebuild(inside, iota); })
                         .Case([&](hlo::BroadcastInDimOp broadcast) {
                           return rebuild(inside, broadcast,
                                          mapping.lookup(broadcast.getOperand()));
                         })
                         .Case([&](hlo::ReduceOp reduce) {
                           return rebuild(inside, reduce, mapping.lookup(reduce.getInputs()[0]));
                         })
                         .Case([&](hlo::ConstantOp constant) -> Value {
                           auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
                           return hlo::ConstantOp::create(
                               inside, op.getLoc(),
                               splat ? cast<ElementsAttr>(splat.resizeSplat(getType(old)))
                                     : constant.getValue());
                         })
                         .Default([&](Operation *) {
                           Value result = inside.clone(op, mapping)->getResult(0);
                           result.setType(getType(old));
                           return result;
                         }));
  }
  SmallVector<Value> results;
  for (hlo::ReduceOp op : reductions)
    results.push_back(mapping.lookup(op.getResult(0)));
  mlir::st::YieldOp::create(inside, loc, results);
  auto parts = KernelOp::create(builder, loc, ValueRange(results).getTypes(),
                                builder.getStringAttr("reduce"), inputs);
  parts->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  parts.getBody().push_back(block);
  return parts;
}

// ---- the pass -----------------------------------------------------------------------------------

/// Returns true if all results vary only along kept dimensions and there are no other reductions.
static bool isOfKept(KernelOp kernel, const IterationSpace &space,
                     ArrayRef<hlo::ReduceOp> reductions) {
  Block &body = kernel.getBody().front();
  if (llvm::range_size(body.getOps<hlo::ReduceOp>()) != reductions.size())
    return false;
  llvm::SetVector<unsigned> reduced;
  for (hlo::ReduceOp op : reductions)
    for (int64_t dim : op.getDimensions())
      if (auto axis = space.getAxis(op.getInputs()[0], dim))
        reduced.insert(*axis);
  return llvm::all_of(body.getTerminator()->getOperands(), [&](Value value) {
    return llvm::none_of(llvm::seq<int64_t>(0, cast<RankedTensorType>(value.getType()).getRank()),
                         [&](int64_t dim) {
                           auto axis = space.getAxis(value, dim);
                           return axis && reduced.contains(*axis);
                         });
  });
}

/// Reduces the results of the parts, and converts to the type of the reduction.
static Value reduceParts(OpBuilder &builder, hlo::ReduceOp like, Value parts,
                         ArrayRef<int64_t> dims) {
  Value total = makeReduction(builder, like, parts, dims, *getInitialValue(like));
  Type type = like.getResult(0).getType();
  return total.getType() == type ? total
                                 : hlo::ConvertOp::create(builder, like.getLoc(), type, total);
}

/// Returns the kernels that replace one and still reduce; none if it stays.
FailureOr<SmallVector<KernelOp>> SplitReductionsPass::split(KernelOp kernel,
                                                            int64_t multiprocessors) {
  Block &body = kernel.getBody().front();
  SmallVector<hlo::ReduceOp> reductions = findFirstReductions(body);
  if (reductions.empty())
    return SmallVector<KernelOp>();
  if (failed(checkUnplanned(kernel, getArgument())))
    return failure();
  FailureOr<IterationSpace> space = IterationSpace::analyze(body);
  if (failed(space))
    return failure();
  OpBuilder builder(kernel);
  auto values = llvm::map_to_vector(reductions, [](hlo::ReduceOp op) { return op.getResult(0); });
  KernelOp unsplit = makePart(builder, kernel, "reduce", SmallVector<Value>(values), {});
  FailureOr<PartialKernel> partial = PartialKernel::analyze(unsplit);
  if (failed(partial))
    return failure();
  if (!partial->choose(multiprocessors, always)) {
    unsplit.erase();
    return SmallVector<KernelOp>();
  }
  KernelOp parts = partial->build(builder);
  auto partDims = llvm::map_to_vector(llvm::seq<unsigned>(0, reductions.size()),
                                      [&](unsigned i) { return partial->getPartDims(i); });
  unsplit.erase();
  ++numSplit;

  SmallVector<KernelOp> left;
  SmallVector<Cut> cuts;
  const bool isLast = isOfKept(kernel, *space, reductions);
  for (auto [i, op] : llvm::enumerate(reductions)) {
    Value outside = parts.getResult(i);
    if (!isLast) {
      outside = makeKernel(builder, kernel, "reduce", outside, op.getResult(0).getType(),
                           [&, op = op, i = i](OpBuilder &inside, ValueRange inputs) {
                             return reduceParts(inside, op, inputs[0], partDims[i]);
                           });
      left.push_back(outside.getDefiningOp<KernelOp>());
    }
    cuts.push_back({op.getResult(0), outside});
  }
  if (!isLast) {
    if (KernelOp rest = splitKernel(kernel, kernel.getKind(), cuts))
      left.push_back(rest);
    return left;
  }
  KernelOp rest = makePart(builder, kernel, kernel.getKind(),
                           SmallVector<Value>(body.getTerminator()->getOperands()), cuts);
  Block &block = rest.getBody().front();
  OpBuilder inside = OpBuilder::atBlockBegin(&block);
  for (auto [i, op] : llvm::enumerate(reductions)) {
    auto place = llvm::find(rest.getInputs(), parts.getResult(i));
    if (place == rest.getInputs().end())
      continue; // No used result depends on this reduction.
    BlockArgument argument = block.getArgument(place - rest.getInputs().begin());
    Value placeholder = hlo::ConstantOp::create(
        inside, op.getLoc(), cast<ElementsAttr>(builder.getZeroAttr(argument.getType())));
    argument.replaceAllUsesWith(placeholder);
    argument.setType(parts.getResult(i).getType());
    placeholder.replaceAllUsesWith(reduceParts(inside, op, argument, partDims[i]));
    placeholder.getDefiningOp()->erase();
  }
  left.push_back(rest);
  kernel.replaceAllUsesWith(rest.getResults());
  kernel.erase();
  return left;
}

void SplitReductionsPass::runOnOperation() {
  auto ofModule = getOperation()->getAttrOfType<IntegerAttr>("st.cores");
  const int64_t multiprocessors = cores > 0 ? cores : ofModule ? ofModule.getInt() : 0;
  SmallVector<KernelOp> kernels;
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel.getKind() == "loop" || kernel.getKind() == "reduce")
      kernels.push_back(kernel);
  });
  while (!kernels.empty()) {
    FailureOr<SmallVector<KernelOp>> left = split(kernels.pop_back_val(), multiprocessors);
    if (failed(left))
      return signalPassFailure();
    llvm::append_range(kernels, *left);
  }
}
