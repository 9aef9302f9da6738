#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/St/Utils/Collectives.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/TaskGraph.h"

namespace mlir::st {
#define GEN_PASS_DEF_OVERLAPPRODUCTS
#include "passes/Memory/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct OverlapProducts : mlir::st::impl::OverlapProductsBase<OverlapProducts> {
  using OverlapProductsBase::OverlapProductsBase;

  void runOnOperation() override;
  void split(Block &body, const MeshAxes &axes);
};

/// A kernel of products whose results are split along their first dimension larger than 1. The
/// products share their left operand and have equal types.
class Product {
public:
  /// Returns std::nullopt if the kernel is not a product that can be split there.
  static std::optional<Product> find(KernelOp kernel);

  KernelOp kernel;
  SmallVector<stablehlo::DotGeneralOp, 1> dots;
  int64_t dim = 0, size = 1;        ///< of the results
  int64_t rows = 1;                 ///< of a result, all dimensions but the last
  int64_t lhsDim = -1, rhsDim = -1; ///< of the operands; -1 if they do not have it

  /// Returns true if `full` is an operand of a product that is split along `along`.
  bool reads(Value full, int64_t along);
  /// Returns true if `count` parts each fill the matrix array.
  bool isWorthSplitting(int64_t count) const;
  /// The kernel input that is an operand of the product.
  Value inputOf(Value operand) {
    return kernel.getInputs()[cast<BlockArgument>(operand).getArgNumber()];
  }
  /// One of `count` parts. If `full` is not null, that input is already split; `part` is its part.
  ValueRange makePart(OpBuilder &builder, int64_t index, int64_t count, Value full, Value part);

private:
  bool canSplit(Operation *op) const;
};
} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static RankedTensorType getPartType(RankedTensorType type, int64_t dim, int64_t count) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= count;
  return type.clone(shape);
}

static int64_t firstDim(RankedTensorType type) {
  return llvm::find_if(type.getShape(), [](int64_t size) { return size != 1; }) -
         type.getShape().begin();
}

static Value slice(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t index,
                   int64_t count) {
  RankedTensorType type = typeOf(value), part = getPartType(type, dim, count);
  SmallVector<int64_t> start(type.getRank(), 0), limit(type.getShape()), step(type.getRank(), 1);
  start[dim] = index * part.getDimSize(dim);
  limit[dim] = start[dim] + part.getDimSize(dim);
  return stablehlo::SliceOp::create(builder, loc, part, value, start, limit, step);
}

/// Returns true if an op next to the product can compute its result for a part of the rows.
bool Product::canSplit(Operation *op) const {
  ArrayRef<int64_t> shape = typeOf(kernel->getResult(0)).getShape();
  // All rows are equal: the dimension is new.
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return typeOf(broadcast).getShape() == shape &&
           !llvm::is_contained(broadcast.getBroadcastDimensions(), dim);
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  // A block argument is split where it is defined.
  return isElementwise(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return !isa<BlockArgument>(operand) || typeOf(operand).getShape() == shape;
         });
}

std::optional<Product> Product::find(KernelOp kernel) {
  if (kernel.getKind() != "matmul")
    return std::nullopt;
  Product product;
  product.kernel = kernel;
  Block &body = kernel.getBody().front();
  RankedTensorType type = typeOf(kernel->getResult(0));
  if (llvm::any_of(kernel->getResultTypes(), [&](Type other) {
        return cast<RankedTensorType>(other).getShape() != type.getShape();
      }))
    return std::nullopt;
  product.dim = firstDim(type);
  if (product.dim == type.getRank() || type.getNumElements() == 0)
    return std::nullopt;
  product.size = type.getDimSize(product.dim);
  product.rows = type.getNumElements() / type.getShape().back();
  for (Operation &op : body.without_terminator()) {
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
      if (typeOf(dot).getShape() != type.getShape())
        return std::nullopt;
      product.dots.push_back(dot);
    } else if (!product.canSplit(&op)) {
      return std::nullopt;
    }
  }
  if (product.dots.empty())
    return std::nullopt;
  stablehlo::DotGeneralOp dot = product.dots.front();
  auto isOperand = [](Value operand, unsigned uses) {
    return isa<BlockArgument>(operand) && operand.hasNUses(uses);
  };
  for (stablehlo::DotGeneralOp other : product.dots)
    if (other.getLhs() != dot.getLhs() || !isOperand(other.getRhs(), 1) ||
        other.getDotDimensionNumbers() != dot.getDotDimensionNumbers())
      return std::nullopt;
  if (!isOperand(dot.getLhs(), product.dots.size()))
    return std::nullopt;
  // An operand is split where it has the dimension's factors.
  ShardingRule rule = getShardingRule(dot);
  auto along = [&](const TensorFactors &operand) -> int64_t {
    const auto *found = llvm::find(operand, rule.results[0][product.dim]);
    return found == operand.end() ? -1 : found - operand.begin();
  };
  product.lhsDim = along(rule.operands[0]);
  product.rhsDim = along(rule.operands[1]);
  if (product.lhsDim < 0 && product.rhsDim < 0)
    return std::nullopt;
  return product;
}

bool Product::reads(Value full, int64_t along) {
  if (llvm::count(kernel.getInputs(), full) != 1)
    return false;
  if (lhsDim == along && inputOf(dots.front().getLhs()) == full)
    return true;
  return rhsDim == along && llvm::any_of(dots, [&](stablehlo::DotGeneralOp dot) {
           return inputOf(dot.getRhs()) == full;
         });
}

bool Product::isWorthSplitting(int64_t count) const {
  constexpr int64_t fewestRows = 128;
  return size % count == 0 && rows / count >= fewestRows;
}

ValueRange Product::makePart(OpBuilder &builder, int64_t index, int64_t count, Value full,
                             Value part) {
  SmallVector<Value> inputs(kernel.getInputs());
  Block &old = kernel.getBody().front();
  RankedTensorType type = typeOf(kernel->getResult(0));
  for (Value &input : inputs)
    if (input == full)
      input = part;
  auto types = llvm::map_to_vector(kernel->getResultTypes(), [&](Type full) -> Type {
    return getPartType(cast<RankedTensorType>(full), dim, count);
  });
  auto created = KernelOp::create(builder, kernel.getLoc(), types, kernel.getKindAttr(), inputs);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&created.getBody(), {}, TypeRange(ValueRange(inputs)),
                                    SmallVector<Location>(inputs.size(), kernel.getLoc()));
  IRMapping mapping;
  mapping.map(old.getArguments(), body->getArguments());
  for (Operation &op : old.without_terminator()) {
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
      for (auto [operand, along] :
           {std::pair(dot.getLhs(), lhsDim), std::pair(dot.getRhs(), rhsDim)}) {
        Value value = mapping.lookup(operand);
        if (along >= 0 && value.getType() == operand.getType())
          mapping.map(operand, slice(builder, op.getLoc(), value, along, index, count));
      }
    } else if (isElementwise(&op)) {
      for (Value operand : op.getOperands()) {
        Value value = mapping.lookup(operand);
        if (isa<BlockArgument>(operand) && value.getType() == operand.getType())
          mapping.map(operand, slice(builder, op.getLoc(), value, dim, index, count));
      }
    }
    Operation *copy = builder.clone(op, mapping);
    RankedTensorType before = typeOf(copy->getResult(0));
    if (before.getShape() != type.getShape())
      continue;
    copy->getResult(0).setType(getPartType(before, dim, count));
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(copy))
      constant.setValueAttr(
          cast<SplatElementsAttr>(constant.getValue()).resizeSplat(typeOf(constant)));
  }
  builder.clone(*old.getTerminator(), mapping);
  return created->getResults();
}

// ---- candidates ---------------------------------------------------------------------------------

/// A data movement kernel that applies `make` to its arguments.
static Value makeCopy(OpBuilder &builder, Location loc, ValueRange inputs, RankedTensorType type,
                      function_ref<Value(OpBuilder &, ValueRange)> make) {
  auto kernel =
      KernelOp::create(builder, loc, TypeRange(type), builder.getStringAttr("copy"), inputs);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&kernel.getBody(), {}, inputs.getTypes(),
                                    SmallVector<Location>(inputs.size(), loc));
  Value created = make(builder, body->getArguments());
  YieldOp::create(builder, loc, created);
  return kernel->getResult(0);
}

static Value join(OpBuilder &builder, Location loc, ValueRange parts, RankedTensorType type) {
  return makeCopy(builder, loc, parts, type, [&](OpBuilder &inner, ValueRange arguments) -> Value {
    return stablehlo::ConcatenateOp::create(inner, loc, type, arguments, firstDim(type));
  });
}

/// The collective on a part of its operand along `dim`.
static Value makePart(OpBuilder &builder, Operation *collective, Value operand, int64_t dim,
                      int64_t count) {
  IRMapping mapping;
  mapping.map(collective->getOperand(0), operand);
  Operation *part = builder.clone(*collective, mapping);
  part->getResult(0).setType(getPartType(typeOf(collective->getResult(0)), dim, count));
  return part->getResult(0);
}

namespace {
/// Chooses the number of parts into which products and an adjacent collective are split.
class Estimator {
public:
  Estimator(const MeshAxes &axes, bool always) : axes(axes), always(always) {}

  /// 1 if splitting is not worthwhile.
  int64_t choose(Operation *collective, ArrayRef<Product> products) const;
  /// Returns true if enough work that does not depend on the sum follows its operand's producer.
  bool hasOtherWork(Operation *sum, KernelOp maker) const;

private:
  const MeshAxes &axes;
  bool always;
};
} // namespace

int64_t Estimator::choose(Operation *collective, ArrayRef<Product> products) const {
  if (always)
    return llvm::all_of(products, [](const Product &p) { return p.size % 2 == 0; }) ? 2 : 1;
  TaskNode links = timeTaskOp(collective, axes);
  double device = 0, fixed = links.fixedTime, share = 0;
  for (const Product &product : products) {
    TaskNode node = timeTaskOp(product.kernel, axes);
    device += node.time;
    fixed += node.fixedTime;
    share = std::max(share, node.memoryShare);
  }
  double free = 1 - std::max(0.0, share + links.memoryShare - 1);
  int64_t best = 1;
  // Gains below a tenth of the collective are within the error of the times.
  double maximum = links.time / 10;
  for (int64_t count : {2, 4, 8}) {
    if (llvm::any_of(products,
                     [&](const Product &product) { return !product.isWorthSplitting(count); }))
      break;
    auto others = static_cast<double>(count - 1);
    double gain =
        others / static_cast<double>(count) * std::min(links.time, device) * free - others * fixed;
    if (gain > maximum) {
      maximum = gain;
      best = count;
    }
  }
  return best;
}

bool Estimator::hasOtherWork(Operation *sum, KernelOp maker) const {
  if (always)
    return false;
  // Kernels farther away are not moved ahead.
  constexpr int64_t within = 12;
  double needed = timeTaskOp(sum, axes).time, found = 0;
  DenseSet<Operation *> waiting = {sum};
  int64_t kernels = 0;
  for (Operation *op = maker->getNextNode(); op && kernels < within; op = op->getNextNode()) {
    bool waits = llvm::any_of(op->getOperands(), [&](Value operand) {
      return waiting.contains(operand.getDefiningOp());
    });
    if (waits)
      waiting.insert(op);
    if (!isa<KernelOp>(op))
      continue;
    ++kernels;
    found += waits ? 0 : timeTaskOp(op, axes).time;
  }
  return found >= needed / 2;
}

/// A product whose partial sums are reduced: parts are reduced while the next ones are computed.
static bool splitSum(Operation *sum, const Estimator &estimator) {
  auto maker = sum->getOperand(0).getDefiningOp<KernelOp>();
  if (!maker || sum->getNumOperands() != 1 || maker->getNumResults() != 1 || !maker->hasOneUse())
    return false;
  std::optional<Product> product = Product::find(maker);
  if (!product || estimator.hasOtherWork(sum, maker))
    return false;
  if (auto scatter = dyn_cast<ReduceScatterOp>(sum);
      scatter && static_cast<int64_t>(scatter.getDim()) == product->dim)
    return false;
  int64_t count = estimator.choose(sum, *product);
  if (count == 1)
    return false;
  OpBuilder builder(sum);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(makePart(builder, sum, product->makePart(builder, i, count, {}, {}).front(),
                             product->dim, count));
  Value result = sum->getResult(0);
  result.replaceAllUsesWith(join(builder, sum->getLoc(), parts, typeOf(result)));
  sum->erase();
  maker->erase();
  return true;
}

/// Products of a gathered operand: parts are gathered while earlier ones are multiplied.
static bool splitGather(AllGatherOp gather, const Estimator &estimator) {
  // A weight is gathered ahead of its use.
  if (gather->getNumOperands() != 1 || !getRoot(gather.getInputs()[0]).getDefiningOp() ||
      isa<ReadOp>(getRoot(gather.getInputs()[0]).getDefiningOp()))
    return false;
  Value full = gather.getResults()[0], own = gather.getInputs()[0];
  int64_t dim = firstDim(typeOf(full));
  if (dim == typeOf(full).getRank() || static_cast<int64_t>(gather.getDim()) == dim)
    return false;
  SmallVector<Product> products;
  bool hasOtherUsers = false;
  for (Operation *user : full.getUsers()) {
    auto kernel = dyn_cast<KernelOp>(user);
    std::optional<Product> product = kernel ? Product::find(kernel) : std::nullopt;
    if (product && product->size == typeOf(full).getDimSize(dim) && product->reads(full, dim))
      products.push_back(*product);
    else
      hasOtherUsers = true;
  }
  if (products.empty())
    return false;
  int64_t count = estimator.choose(gather, products);
  if (count == 1)
    return false;
  llvm::sort(products, [](const Product &a, const Product &b) {
    return a.kernel->isBeforeInBlock(b.kernel);
  });
  OpBuilder builder(gather);
  SmallVector<Value> gathered;
  for (int64_t i = 0; i < count; ++i) {
    Value part = makeCopy(builder, gather.getLoc(), own, getPartType(typeOf(own), dim, count),
                          [&](OpBuilder &inner, ValueRange arguments) {
                            return slice(inner, gather.getLoc(), arguments[0], dim, i, count);
                          });
    gathered.push_back(makePart(builder, gather, part, dim, count));
  }
  for (Product &product : products) {
    builder.setInsertionPoint(product.kernel);
    SmallVector<ValueRange> created;
    for (int64_t i = 0; i < count; ++i)
      created.push_back(product.makePart(builder, i, count, full, gathered[i]));
    for (OpResult result : product.kernel->getResults()) {
      auto parts = llvm::map_to_vector(
          created, [&](ValueRange part) { return part[result.getResultNumber()]; });
      result.replaceAllUsesWith(join(builder, product.kernel.getLoc(), parts, typeOf(result)));
    }
    product.kernel->erase();
  }
  if (hasOtherUsers) {
    builder.setInsertionPointAfter(gathered.back().getDefiningOp());
    full.replaceAllUsesWith(join(builder, gather.getLoc(), gathered, typeOf(full)));
  }
  gather->erase();
  return true;
}

void OverlapProducts::split(Block &body, const MeshAxes &axes) {
  Estimator estimator(axes, always);
  SmallVector<Operation *> collectives;
  for (Operation &op : body)
    if (isCombinableCollective(&op))
      collectives.push_back(&op);
  for (Operation *op : collectives) {
    auto gather = dyn_cast<AllGatherOp>(op);
    numSplit += gather ? splitGather(gather, estimator) : splitSum(op, estimator);
  }
}

static constexpr FactContract kContract = {
    {Fact::Mesh, Fact::Programs}, FactSet({Fact::TensorOps}) | FactSet::from(Fact::Addresses)};

void OverlapProducts::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(checkFacts(module, getArgument(), kContract)))
    return signalPassFailure();
  if (!module->hasAttr(kSpeedAttr) && !(assumeSpeed || always))
    return;
  MeshAxes axes(getMesh(module));
  for (auto program : module.getOps<ProgramOp>())
    for (auto task : program.getOps<TaskOp>())
      split(task.getBody().front(), axes);
}
