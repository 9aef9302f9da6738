#include "backends/cuda/codegen/attention/AttentionPlan.h"

#include "backends/cuda/codegen/kernels/Elementwise.h"
#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/St/Utils/KernelParts.h"
#include "dialects/StableHLO/Utils/ProductStrides.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::IterationSpace;
using mlir::st::shapeOf;
using stablehlo::DotGeneralOp;

namespace {
class AttentionAnalysis {
public:
  AttentionAnalysis(mlir::st::KernelOp kernel, FusedAttention &fused)
      : kernel(kernel), body(kernel.getBody().front()), fused(fused) {}

  LogicalResult run();

private:
  /// The strides of a product's two matrices along the axes, before groups are formed.
  struct Accesses {
    IterationSpace::AxisStrides parallel, streamed;
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
  bool hasParallelRows() const { return fused.parallel < fused.streamed; }
};
} // namespace

static LogicalResult refuse(DotGeneralOp dot) {
  return dot.emitOpError(
      "of this form is not supported by the CUDA backend inside an attention kernel");
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

/// An operand of a product that is an argument, or repeats it for several heads.
struct MatrixOperand {
  BlockArgument argument; ///< null for another operand
  SmallVector<int64_t> strides;
};

static MatrixOperand getMatrixOperand(Value value) {
  auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  auto argument = dyn_cast<BlockArgument>(broadcast ? broadcast.getOperand() : value);
  if (!argument)
    return {};
  SmallVector<int64_t> dense = mlir::st::denseStrides(shapeOf(argument));
  if (!broadcast)
    return {argument, std::move(dense)};
  // All elements along a new dimension, or along one of a single element, are one.
  SmallVector<int64_t> strides(shapeOf(value).size(), 0);
  for (auto [from, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
    if (shapeOf(argument)[from] != 1)
      strides[to] = dense[from];
  return {argument, std::move(strides)};
}

static bool isProductType(Type type) {
  return isa<Float32Type, Float16Type, BFloat16Type>(getElementTypeOrSelf(type));
}

bool mlir::cuda::isMatrix(Value operand) { return bool(getMatrixOperand(operand).argument); }

static bool isOfColumns(const AttentionProduct &product) {
  return mlir::st::contractsRows(product.op);
}

LogicalResult AttentionAnalysis::collectProducts() {
  Operation *yield = body.getTerminator();
  for (auto dot : body.getOps<DotGeneralOp>()) {
    AttentionProduct product;
    product.op = dot;
    bool isYielded = llvm::is_contained(yield->getOperands(), getStored(dot));
    if (!getMatrixOperand(dot.getRhs()).argument || !isProductType(dot.getType()) ||
        !isProductType(dot.getLhs().getType()) ||
        getElementTypeOrSelf(dot.getLhs().getType()) !=
            getElementTypeOrSelf(dot.getRhs().getType()) ||
        (isYielded ? isa<BlockArgument>(dot.getLhs()) : !isMatrix(dot.getLhs())) ||
        (isYielded && !getStored(dot).hasOneUse()))
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
  // 16-bit products round their operands anyway, so the maxima and sums of rows may be less exact,
  // unless the operands are slices of exact sums.
  auto module = kernel->getParentOfType<ModuleOp>();
  if (module && module->hasAttr(mlir::st::kExactSumsAttr))
    fused.rows->getOperation()->setAttr(mlir::st::kExactSumsAttr, builder.getUnitAttr());
  else if (llvm::all_of(body.getOps<DotGeneralOp>(), [](DotGeneralOp dot) {
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

LogicalResult AttentionAnalysis::addProducer(AttentionProduct &product) {
  DotGeneralOp dot = product.op;
  FailureOr<mlir::st::ProductDims> dims = mlir::st::findDepths(dot);
  if (failed(dims))
    return refuse(dot);
  product.width = dims->leftDepth < 0 ? 1 : shapeOf(dot.getLhs())[dims->leftDepth];
  const MatrixOperand left = getMatrixOperand(dot.getLhs()), right = getMatrixOperand(dot.getRhs());
  mlir::st::ProductStrides strides =
      mlir::st::getOperandStrides(dot, product.rows, fused.space, left.strides, right.strides);
  setMatrix(product.parallel, left.argument.getArgNumber(), dot.getLhs(), left.strides,
            dims->leftDepth);
  setMatrix(product.streamed, right.argument.getArgNumber(), dot.getRhs(), right.strides,
            dims->rightDepth);
  if (!hasParallelRows()) {
    std::swap(product.parallel, product.streamed);
    std::swap(strides.left, strides.right);
  }
  accesses.push_back({strides.left, strides.right});
  return success();
}

LogicalResult AttentionAnalysis::addConsumer(AttentionProduct &product) {
  DotGeneralOp dot = product.op;
  FailureOr<mlir::st::ProductDims> dims = mlir::st::findDepthsAndWidth(dot);
  if (failed(dims) || dims->leftDepth < 0)
    return refuse(dot);
  product.width = dims->width < 0 ? 1 : shapeOf(dot.getRhs())[dims->width];
  if (product.width > kMaxAttentionWidth)
    return dot.emitOpError("has ")
           << product.width << " columns; an attention kernel holds at most " << kMaxAttentionWidth;
  SmallVector<int64_t> result = getStoredStrides(dot);
  const MatrixOperand right = getMatrixOperand(dot.getRhs());
  mlir::st::ConsumerStrides strides =
      mlir::st::getConsumerStrides(dot, *dims, product.rows, fused.space, result, right.strides);
  unsigned argument = getStored(dot).use_begin()->getOperandNumber() + body.getNumArguments();
  setMatrix(product.parallel, argument, dot.getResult(), result, strides.widthDim);
  setMatrix(product.streamed, right.argument.getArgNumber(), dot.getRhs(), right.strides,
            dims->width);
  if (mlir::st::contractsRows(dot) == hasParallelRows()) {
    std::swap(product.parallel, product.streamed);
    std::swap(strides.left, strides.right);
  }
  accesses.push_back({strides.left, strides.right});
  return success();
}

/// Sets the matrices' strides along the groups.
LogicalResult AttentionAnalysis::setGroups() {
  SmallVector<IterationSpace::AxisStrides> all;
  for (const Accesses &access : accesses)
    all.append({access.parallel, access.streamed});
  IterationSpace &space = fused.space;
  unsigned axes = space.getNumAxes();
  space.formGroups(all);
  if (space.getGroupOfAxis(axes - 1) == space.getGroupOfAxis(axes - 2))
    return kernel.emitOpError(
        "of kind \"attention\" has rows and columns that cannot be separate loops");
  fused.parallel = space.getGroupOfAxis(fused.parallel);
  fused.streamed = space.getGroupOfAxis(fused.streamed);
  size_t next = 0;
  for (auto *products : {&fused.producers, &fused.consumers, &fused.crossing})
    for (AttentionProduct &product : *products) {
      const Accesses &access = accesses[next++];
      product.parallel.strides = space.getStrides(access.parallel);
      product.streamed.strides = space.getStrides(access.streamed);
      if (product.parallel.strides[fused.streamed] != 0 ||
          product.streamed.strides[fused.parallel] != 0)
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
    return kernel.emitOpError(
        "of kind \"attention\" has rows and columns that cannot be separate loops");
  const bool ofColumns = llvm::any_of(fused.consumers, isOfColumns);
  fused.parallel = axes - (ofColumns ? 1 : 2);
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
  fused.inputRanges = mlir::st::getInputRanges(kernel);
  fused.hasPartialRows = kernel->hasAttr(mlir::st::kPartialRowsAttr);
  if (failed(AttentionAnalysis(kernel, fused).run()))
    return failure();
  return fused;
}
