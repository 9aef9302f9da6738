#include "backends/cuda/codegen/attention/AttentionPlan.h"

#include "backends/cuda/codegen/kernels/Elementwise.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::IterationSpace;
using stablehlo::DotGeneralOp;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool mlir::cuda::contractsRows(DotGeneralOp dot) {
  ArrayRef<int64_t> shape = shapeOf(dot.getLhs());
  int64_t last = static_cast<int64_t>(shape.size()) - 1;
  while (last >= 0 && shape[last] == 1)
    --last;
  return !llvm::is_contained(dot.getDotDimensionNumbers().getLhsContractingDimensions(), last);
}

namespace {
class AttentionAnalysis {
public:
  AttentionAnalysis(mlir::st::KernelOp kernel, FusedAttention &fused)
      : kernel(kernel), body(kernel.getBody().front()), fused(fused) {}

  LogicalResult run();

private:
  /// The strides of a product's two matrices along the axes, before groups are formed.
  struct Accesses {
    IterationSpace::AxisStrides own, streamed;
  };

  mlir::st::KernelOp kernel;
  Block &body;
  FusedAttention &fused;
  SmallVector<Accesses> accesses; // of producers, then consumers

  LogicalResult collectProducts();
  void cloneRows();
  LogicalResult addProducer(AttentionProduct &product);
  LogicalResult addConsumer(AttentionProduct &product);
  LogicalResult setGroups();
  bool ownsRows() const { return fused.own < fused.streamed; }
};
} // namespace

static LogicalResult refuse(DotGeneralOp dot) {
  return dot.emitOpError("of this form has no CUDA code generation inside an attention kernel");
}

/// Returns the only dimension of size above 1 for which `isOne` holds: -1 if there is none, nothing
/// if there are several.
static std::optional<int64_t> onlyDim(Value operand, llvm::function_ref<bool(int64_t)> isOne) {
  int64_t only = -1;
  for (int64_t dim = 0, rank = shapeOf(operand).size(); dim < rank; ++dim)
    if (shapeOf(operand)[dim] != 1 && isOne(dim)) {
      if (only >= 0)
        return std::nullopt;
      only = dim;
    }
  return only;
}

/// Returns the transpose of a product if that is its only user, else the product.
static Value getStored(DotGeneralOp dot) {
  auto transpose =
      dot->hasOneUse() ? dyn_cast<stablehlo::TransposeOp>(*dot->user_begin()) : nullptr;
  return transpose ? transpose.getResult() : dot.getResult();
}

static DotGeneralOp getProduct(Value stored) {
  if (auto transpose = stored.getDefiningOp<stablehlo::TransposeOp>())
    stored = transpose.getOperand();
  return stored.getDefiningOp<DotGeneralOp>();
}

/// Strides of the stored result along each dimension of a product.
static SmallVector<int64_t> getStoredStrides(DotGeneralOp dot) {
  Value stored = getStored(dot);
  SmallVector<int64_t> dense = mlir::st::denseStrides(shapeOf(stored)), strides = dense;
  if (auto transpose = stored.getDefiningOp<stablehlo::TransposeOp>())
    for (auto [stride, from] : llvm::zip_equal(dense, transpose.getPermutation()))
      strides[from] = stride;
  return strides;
}

static bool isProductType(Type type) {
  return isa<Float32Type, Float16Type, BFloat16Type>(getElementTypeOrSelf(type));
}

static bool isOfColumns(const AttentionProduct &product) { return contractsRows(product.op); }

LogicalResult AttentionAnalysis::collectProducts() {
  Operation *yield = body.getTerminator();
  for (auto dot : body.getOps<DotGeneralOp>()) {
    AttentionProduct product;
    product.op = dot;
    bool isYielded = llvm::is_contained(yield->getOperands(), getStored(dot));
    if (!isa<BlockArgument>(dot.getRhs()) || !isProductType(dot.getType()) ||
        !isProductType(dot.getLhs().getType()) ||
        getElementTypeOrSelf(dot.getLhs().getType()) !=
            getElementTypeOrSelf(dot.getRhs().getType()) ||
        isYielded == isa<BlockArgument>(dot.getLhs()) || (isYielded && !getStored(dot).hasOneUse()))
      return refuse(dot);
    (isYielded ? fused.consumers : fused.producers).push_back(std::move(product));
  }
  if (llvm::any_of(fused.consumers, isOfColumns)) {
    llvm::copy_if(fused.consumers, std::back_inserter(fused.crossing), std::not_fn(isOfColumns));
    llvm::erase_if(fused.consumers, std::not_fn(isOfColumns));
  }
  for (auto [index, value] : llvm::enumerate(yield->getOperands()))
    if (!getProduct(value))
      fused.stored.push_back(index);
  if (fused.producers.empty() && fused.consumers.empty())
    return kernel.emitOpError("of kind \"attention\" has no product");
  return success();
}

void AttentionAnalysis::cloneRows() {
  Location loc = kernel.getLoc();
  OpBuilder builder(kernel.getContext());
  SmallVector<Value> yielded;
  for (unsigned index : fused.stored)
    yielded.push_back(body.getTerminator()->getOperand(index));
  for (auto *products : {&fused.consumers, &fused.crossing})
    for (AttentionProduct &product : *products)
      yielded.push_back(product.op.getLhs());
  auto types = llvm::map_to_vector(yielded, [](Value value) { return value.getType(); });
  fused.rows =
      mlir::st::KernelOp::create(builder, loc, types, builder.getStringAttr("loop"), ValueRange());
  // 16-bit products round their operands anyway, so the maxima and sums of rows may be less exact.
  if (llvm::all_of(body.getOps<DotGeneralOp>(), [](DotGeneralOp dot) {
        auto of16Bits = [](Value value) {
          return getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() == 16;
        };
        return of16Bits(dot.getLhs()) && of16Bits(dot.getRhs());
      }))
    fused.rows->getOperation()->setAttr(kRoundedAttr, builder.getUnitAttr());
  Block *rows = builder.createBlock(&fused.rows->getBody());
  IRMapping mapping;
  for (BlockArgument argument : body.getArguments())
    mapping.map(argument, rows->addArgument(argument.getType(), loc));
  for (AttentionProduct &product : fused.producers) {
    product.rows = rows->addArgument(product.op.getType(), loc);
    mapping.map(product.op.getResult(), product.rows);
  }
  for (Operation &op : body.without_terminator())
    if (op.getNumResults() != 1 || !getProduct(op.getResult(0)))
      builder.clone(op, mapping);
  for (auto *products : {&fused.consumers, &fused.crossing})
    for (AttentionProduct &product : *products)
      product.rows = mapping.lookup(product.op.getLhs());
  mlir::st::YieldOp::create(builder, loc, llvm::map_to_vector(yielded, [&](Value value) {
                              return mapping.lookup(value);
                            }));
  // The reverse iterator becomes invalid when its op is erased.
  auto ops = llvm::map_to_vector(rows->without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

// ---- products -----------------------------------------------------------------------------------

static void setMatrix(AttentionMatrix &matrix, unsigned buffer, Value value,
                      ArrayRef<int64_t> strides, int64_t width) {
  matrix.buffer = buffer;
  matrix.element = getElementTypeOrSelf(value.getType());
  matrix.widthStride = width < 0 ? 1 : strides[width];
}

static unsigned argumentOf(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

LogicalResult AttentionAnalysis::addProducer(AttentionProduct &product) {
  DotGeneralOp dot = product.op;
  auto numbers = dot.getDotDimensionNumbers();
  ArrayRef<int64_t> leftBatch = numbers.getLhsBatchingDimensions(),
                    rightBatch = numbers.getRhsBatchingDimensions(),
                    leftDepths = numbers.getLhsContractingDimensions(),
                    rightDepths = numbers.getRhsContractingDimensions();
  auto leftDepth =
      onlyDim(dot.getLhs(), [&](int64_t d) { return llvm::is_contained(leftDepths, d); });
  auto rightDepth =
      onlyDim(dot.getRhs(), [&](int64_t d) { return llvm::is_contained(rightDepths, d); });
  if (!leftDepth || !rightDepth)
    return refuse(dot);
  product.width = *leftDepth < 0 ? 1 : shapeOf(dot.getLhs())[*leftDepth];
  const IterationSpace &space = fused.space;
  IterationSpace::AxisStrides left(space.getNumAxes(), 0), right = left;
  SmallVector<int64_t> leftStrides = mlir::st::denseStrides(shapeOf(dot.getLhs()));
  SmallVector<int64_t> rightStrides = mlir::st::denseStrides(shapeOf(dot.getRhs()));
  int64_t next = 0; // index of a dimension of the result
  for (auto [l, r] : llvm::zip_equal(leftBatch, rightBatch))
    if (std::optional<unsigned> axis = space.getAxis(product.rows, next++)) {
      left[*axis] = leftStrides[l];
      right[*axis] = rightStrides[r];
    }
  auto addFree = [&](ArrayRef<int64_t> strides, ArrayRef<int64_t> batch, ArrayRef<int64_t> depths,
                     IterationSpace::AxisStrides &along) {
    for (auto [dim, stride] : llvm::enumerate(strides)) {
      auto number = static_cast<int64_t>(dim);
      if (llvm::is_contained(batch, number) || llvm::is_contained(depths, number))
        continue;
      if (std::optional<unsigned> axis = space.getAxis(product.rows, next++))
        along[*axis] = stride;
    }
  };
  addFree(leftStrides, leftBatch, leftDepths, left);
  addFree(rightStrides, rightBatch, rightDepths, right);
  setMatrix(product.own, argumentOf(dot.getLhs()), dot.getLhs(), leftStrides, *leftDepth);
  setMatrix(product.streamed, argumentOf(dot.getRhs()), dot.getRhs(), rightStrides, *rightDepth);
  if (!ownsRows()) {
    std::swap(product.own, product.streamed);
    std::swap(left, right);
  }
  accesses.push_back({left, right});
  return success();
}

LogicalResult AttentionAnalysis::addConsumer(AttentionProduct &product) {
  DotGeneralOp dot = product.op;
  auto numbers = dot.getDotDimensionNumbers();
  ArrayRef<int64_t> leftBatch = numbers.getLhsBatchingDimensions(),
                    rightBatch = numbers.getRhsBatchingDimensions(),
                    leftDepths = numbers.getLhsContractingDimensions(),
                    rightDepths = numbers.getRhsContractingDimensions();
  auto isFree = [&](int64_t dim) {
    return !llvm::is_contained(rightBatch, dim) && !llvm::is_contained(rightDepths, dim);
  };
  auto depth = onlyDim(dot.getLhs(), [&](int64_t d) { return llvm::is_contained(leftDepths, d); });
  auto rightDepth =
      onlyDim(dot.getRhs(), [&](int64_t d) { return llvm::is_contained(rightDepths, d); });
  auto width = onlyDim(dot.getRhs(), isFree);
  if (!depth || *depth < 0 || !rightDepth || !width)
    return refuse(dot);
  product.width = *width < 0 ? 1 : shapeOf(dot.getRhs())[*width];
  if (product.width > kMostAttentionWidth)
    return dot.emitOpError("has ")
           << product.width << " columns, of which an attention kernel holds at most "
           << kMostAttentionWidth;
  const IterationSpace &space = fused.space;
  IterationSpace::AxisStrides made(space.getNumAxes(), 0), right = made;
  SmallVector<int64_t> strides = getStoredStrides(dot);
  SmallVector<int64_t> rightStrides = mlir::st::denseStrides(shapeOf(dot.getRhs()));
  right[*space.getAxis(product.rows, *depth)] = rightStrides[*rightDepth];
  int64_t next = 0;
  for (auto [l, r] : llvm::zip_equal(leftBatch, rightBatch)) {
    if (std::optional<unsigned> axis = space.getAxis(product.rows, l)) {
      right[*axis] = rightStrides[r];
      made[*axis] = strides[next];
    }
    ++next;
  }
  for (int64_t dim = 0, rank = shapeOf(product.rows).size(); dim < rank; ++dim) {
    if (llvm::is_contained(leftBatch, dim) || llvm::is_contained(leftDepths, dim))
      continue;
    if (std::optional<unsigned> axis = space.getAxis(product.rows, dim))
      made[*axis] = strides[next];
    ++next;
  }
  // The free dimensions of the right operand are the last ones of the result.
  int64_t widthDim = -1;
  for (int64_t dim = 0; *width >= 0 && dim <= *width; ++dim)
    if (isFree(dim))
      widthDim = next++;
  unsigned result = getStored(dot).use_begin()->getOperandNumber() + body.getNumArguments();
  setMatrix(product.own, result, dot.getResult(), strides, widthDim);
  setMatrix(product.streamed, argumentOf(dot.getRhs()), dot.getRhs(), rightStrides, *width);
  if (contractsRows(dot) == ownsRows()) {
    std::swap(product.own, product.streamed);
    std::swap(made, right);
  }
  accesses.push_back({made, right});
  return success();
}

/// Sets the matrices' strides along the groups.
LogicalResult AttentionAnalysis::setGroups() {
  SmallVector<IterationSpace::AxisStrides> all;
  for (const Accesses &access : accesses)
    all.append({access.own, access.streamed});
  IterationSpace &space = fused.space;
  unsigned axes = space.getNumAxes();
  space.formGroups(all);
  if (space.getGroupOfAxis(axes - 1) == space.getGroupOfAxis(axes - 2))
    return kernel.emitOpError("of kind \"attention\" has rows that are no loop of their own");
  fused.own = space.getGroupOfAxis(fused.own);
  fused.streamed = space.getGroupOfAxis(fused.streamed);
  size_t next = 0;
  for (auto *products : {&fused.producers, &fused.consumers, &fused.crossing})
    for (AttentionProduct &product : *products) {
      const Accesses &access = accesses[next++];
      product.own.strides = space.getStrides(access.own);
      product.streamed.strides = space.getStrides(access.streamed);
      if (product.own.strides[fused.streamed] != 0 || product.streamed.strides[fused.own] != 0)
        return refuse(product.op);
    }
  return success();
}

LogicalResult AttentionAnalysis::run() {
  if (failed(collectProducts()))
    return failure();
  cloneRows();
  FailureOr<IterationSpace> space = IterationSpace::analyze(fused.body());
  if (failed(space))
    return failure();
  fused.space = std::move(*space);
  unsigned axes = fused.space.getNumAxes();
  if (axes < 2)
    return kernel.emitOpError("of kind \"attention\" has rows that are no loop of their own");
  const bool ofColumns = llvm::any_of(fused.consumers, isOfColumns);
  fused.own = axes - (ofColumns ? 1 : 2);
  fused.streamed = axes - (ofColumns ? 2 : 1);
  for (AttentionProduct &product : fused.producers)
    if (failed(addProducer(product)))
      return failure();
  for (auto *products : {&fused.consumers, &fused.crossing})
    for (AttentionProduct &product : *products)
      if (failed(addConsumer(product)))
        return failure();
  return setGroups();
}

FailureOr<FusedAttention> mlir::cuda::analyzeAttention(mlir::st::KernelOp kernel) {
  FusedAttention fused;
  if (failed(AttentionAnalysis(kernel, fused).run()))
    return failure();
  return fused;
}
