#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/kernels/KernelParts.h"
#include "backends/cuda/codegen/products/Product.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_SPLITPRODUCTS
#include "backends/cuda/codegen/Passes.h.inc"

#include "mlir/IR/TypeUtilities.h"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

namespace {
class SplitProductsPass : public mlir::cuda::impl::SplitProductsBase<SplitProductsPass> {
public:
  void runOnOperation() override;

private:
  LogicalResult split(mlir::st::KernelOp kernel);
  Product prepare(mlir::st::KernelOp &kernel);
  void pack(mlir::st::KernelOp kernel, hlo::DotGeneralOp dot);
  void narrowBias(mlir::st::KernelOp kernel, const Product &product);
  void takeAdditions(mlir::st::KernelOp kernel);
};
} // namespace

// ---- operands
// ------------------------------------------------------------------------------------

/// Permutes the dimensions of an operand by a separate kernel.
static Value transpose(OpBuilder &builder, mlir::st::KernelOp kernel, Value operand,
                       ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape =
      llvm::map_to_vector(order, [&](int64_t dim) { return type.getDimSize(dim); });
  auto result = RankedTensorType::get(shape, type.getElementType());
  Location loc = kernel.getLoc();
  auto copy = mlir::st::KernelOp::create(builder, loc, TypeRange(result),
                                         builder.getStringAttr("copy"), ValueRange(operand));
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&copy.getBody(), {}, {type}, {loc});
  Value moved = hlo::TransposeOp::create(builder, loc, result, body->getArgument(0),
                                         builder.getDenseI64ArrayAttr(order));
  mlir::st::YieldOp::create(builder, loc, moved);
  return copy.getResult(0);
}

/// Batching, free, then contracting dimensions.
static SmallVector<int64_t> packedOrder(int64_t rank, ArrayRef<int64_t> batching,
                                        ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> order(batching);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batching, dim) && !llvm::is_contained(contracting, dim))
      order.push_back(dim);
  llvm::append_range(order, contracting);
  return order;
}

/// Removes unused ops and inputs of a kernel.
static void dropUnused(mlir::st::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto ops = llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty() && !isa<hlo::DotGeneralOp>(op))
      op->erase();
  for (size_t i = body.getNumArguments(); i-- > 0;)
    if (body.getArgument(i).use_empty()) {
      body.eraseArgument(i);
      kernel->eraseOperand(i);
    }
}

/// Permutes the operands of a product so that they are matrices.
void SplitProductsPass::pack(mlir::st::KernelOp kernel, hlo::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  OpBuilder builder(kernel);
  Block &body = kernel.getBody().front();
  auto packOperand = [&](Value value, ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting) {
    auto argument = cast<BlockArgument>(value);
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    SmallVector<int64_t> order = packedOrder(rank, batching, contracting);
    if (llvm::is_sorted(order))
      return value;
    Value packed = transpose(builder, kernel, kernel.getInputs()[argument.getArgNumber()], order);
    ++numPacked;
    kernel.getInputsMutable().append(packed);
    return Value(body.addArgument(packed.getType(), packed.getLoc()));
  };
  SmallVector<Value> operands{packOperand(dot.getLhs(), numbers.getLhsBatchingDimensions(),
                                          numbers.getLhsContractingDimensions()),
                              packOperand(dot.getRhs(), numbers.getRhsBatchingDimensions(),
                                          numbers.getRhsContractingDimensions())};
  auto range = [](size_t from, size_t count) {
    return llvm::to_vector(llvm::seq<int64_t>(from, from + count));
  };
  size_t batching = numbers.getLhsBatchingDimensions().size();
  size_t contracting = numbers.getLhsContractingDimensions().size();
  auto rankOf = [](Value value) {
    return static_cast<size_t>(cast<RankedTensorType>(value.getType()).getRank());
  };
  SmallVector<int64_t> left = range(rankOf(operands[0]) - contracting, contracting);
  SmallVector<int64_t> right = range(rankOf(operands[1]) - contracting, contracting);
  SmallVector<int64_t> batches = range(0, batching);
  OpBuilder inside(dot);
  auto packed = hlo::DotGeneralOp::create(
      inside, dot.getLoc(), dot.getType(), operands[0], operands[1],
      hlo::DotDimensionNumbersAttr::get(kernel.getContext(), batches, batches, left, right));
  packed->setDiscardableAttrs(dot->getDiscardableAttrDictionary());
  dot.replaceAllUsesWith(packed.getResult());
  dot.erase();
  dropUnused(kernel);
}

// ---- the pass -----------------------------------------------------------------------------------

/// Empty sums are zeros.
static void dropEmptyProducts(mlir::st::KernelOp kernel) {
  for (auto dot :
       llvm::make_early_inc_range(kernel.getBody().front().getOps<hlo::DotGeneralOp>())) {
    auto isEmpty = [](Value operand) {
      return cast<RankedTensorType>(operand.getType()).getNumElements() == 0;
    };
    if (!isEmpty(dot.getLhs()) && !isEmpty(dot.getRhs()))
      continue;
    OpBuilder builder(dot);
    dot.getResult().replaceAllUsesWith(hlo::ConstantOp::create(
        builder, dot.getLoc(), cast<ElementsAttr>(builder.getZeroAttr(dot.getType()))));
    dot.erase();
  }
}

/// Returns the first product of a kernel, after making its operands arguments that are matrices.
Product SplitProductsPass::prepare(mlir::st::KernelOp &kernel) {
  auto first = [&] { return *kernel.getBody().front().getOps<hlo::DotGeneralOp>().begin(); };
  SmallVector<Value> computed;
  for (Value operand : first()->getOperands())
    if (!isa<BlockArgument>(operand) && !llvm::is_contained(computed, operand))
      computed.push_back(operand);
  if (!computed.empty()) {
    OpBuilder builder(kernel);
    auto before = makePart(builder, kernel, "loop", computed, {});
    SmallVector<Cut> cuts;
    for (auto [inside, outside] : llvm::zip_equal(computed, before.getResults()))
      cuts.push_back({inside, outside});
    kernel = splitKernel(kernel, "matmul", cuts);
    ++numSplit;
  }
  if (!ProductLayout::get(first()))
    pack(kernel, first());
  narrowBias(kernel, *matchProduct(first()));
  return *matchProduct(first());
}

/// If the kernel writes the sum of a product and a converted bias, converts the bias in a separate
/// kernel. Then cuBLASLt can add it, and no loop has to write the sum.
void SplitProductsPass::narrowBias(mlir::st::KernelOp kernel, const Product &product) {
  auto add = product.result.hasOneUse() ? dyn_cast<hlo::AddOp>(*product.result.user_begin())
                                        : hlo::AddOp();
  bool isWritten = add && llvm::any_of(add->getUsers(), [](Operation *user) {
                     return isa<mlir::st::YieldOp>(user);
                   });
  if (!isWritten || product.bias || add.getType().getElementType().isF64())
    return;
  unsigned side = add.getLhs() == product.result ? 1 : 0;
  Bias bias = matchBias(add->getOperand(side), product);
  if (!bias.argument || !bias.isConverted)
    return;
  OpBuilder outside(kernel), inside(add);
  Value vector = kernel.getInputs()[bias.argument.getArgNumber()];
  Value converted = makeConversion(outside, kernel, vector, add.getType().getElementType());
  kernel.getInputsMutable().append(converted);
  Value argument = kernel.getBody().front().addArgument(converted.getType(), kernel.getLoc());
  Value spread = add->getOperand(side);
  add->setOperand(side, rebuildBias(inside, spread, argument));
  dropUnused(kernel);
  ++numNarrowed;
}

namespace {
/// An addition to a product's result: of a bias, or of a tensor of the same shape.
struct Addition {
  hlo::AddOp op;
  Value other;         ///< the other operand
  BlockArgument input; ///< of the loop: the vector of the bias, or the tensor
  bool isBias = false, isConverted = false;
};
} // namespace

/// Returns the successive additions of a loop to a product's result, up to the last one whose sum
/// the loop writes: at most one bias and one tensor.
static SmallVector<Addition> findAdditions(BlockArgument created, const Product &product) {
  SmallVector<Addition> additions;
  size_t numWritten = 0;
  Value value = created;
  auto has = [&](bool isBias) {
    return llvm::any_of(additions, [&](const Addition &one) { return one.isBias == isBias; });
  };
  while (value.hasOneUse()) {
    auto add = dyn_cast<hlo::AddOp>(*value.user_begin());
    if (!add || add.getLhs() == add.getRhs())
      break;
    Addition next;
    next.op = add;
    next.other = add->getOperand(add.getLhs() == value ? 1 : 0);
    if (Bias bias = matchBias(next.other, product); bias.argument) {
      next.input = bias.argument;
      next.isBias = true;
      next.isConverted = bias.isConverted;
    } else {
      next.input = dyn_cast<BlockArgument>(next.other);
    }
    if (!next.input || has(next.isBias))
      break;
    additions.push_back(next);
    value = add.getResult();
    if (llvm::any_of(add->getUsers(), [](Operation *user) { return isa<mlir::st::YieldOp>(user); }))
      numWritten = additions.size();
  }
  additions.resize(numWritten);
  return additions;
}

/// Moves a loop's additions of a bias and a residual into the product, if the loop also writes the
/// sum. Then cuBLASLt adds them, and the loop reads the sum.
void SplitProductsPass::takeAdditions(mlir::st::KernelOp kernel) {
  std::optional<Product> product = matchProductKernel(kernel);
  if (!product || kernel->getNumResults() != 1 || !kernel.getResult(0).hasOneUse() ||
      product->addend || product->bias || product->activation != Activation::None ||
      getElementTypeOrSelf(product->result).isF64())
    return;
  OpOperand &use = *kernel.getResult(0).use_begin();
  auto loop = dyn_cast<mlir::st::KernelOp>(use.getOwner());
  if (!loop || loop.getKind() != "loop" || loop->getBlock() != kernel->getBlock())
    return;
  const SmallVector<Addition> additions =
      findAdditions(loop.getBody().getArgument(use.getOperandNumber()), *product);
  auto inputOf = [&](const Addition &one) { return loop.getInputs()[one.input.getArgNumber()]; };
  if (additions.empty() || llvm::any_of(additions, [&](const Addition &one) {
        Operation *maker = inputOf(one).getDefiningOp();
        return maker && !maker->isBeforeInBlock(kernel);
      }))
    return;
  Block &body = kernel.getBody().front();
  Operation *end = body.getTerminator();
  OpBuilder outside(kernel), inside(end);
  for (const Addition &one : additions) {
    hlo::AddOp add = one.op;
    Value input = inputOf(one);
    if (one.isConverted)
      input = makeConversion(outside, kernel, input, add.getType().getElementType());
    kernel.getInputsMutable().append(input);
    Value argument = body.addArgument(input.getType(), kernel.getLoc());
    Value other = one.isBias ? rebuildBias(inside, one.other, argument) : argument;
    end->setOperand(0, hlo::AddOp::create(inside, add.getLoc(), end->getOperand(0), other));
    ++(one.isBias ? numNarrowed : numAdded);
  }
  hlo::AddOp last = additions.back().op;
  splitKernel(loop, "loop", Cut{last.getResult(), kernel.getResult(0)});
}

LogicalResult SplitProductsPass::split(mlir::st::KernelOp kernel) {
  if (failed(checkUnplanned(kernel, getArgument())))
    return failure();
  dropEmptyProducts(kernel);
  auto dots = [&] { return kernel.getBody().front().getOps<hlo::DotGeneralOp>(); };
  while (!dots().empty()) {
    Product product = prepare(kernel);
    if (kernel.getBody().front().getTerminator()->getOperands() == ValueRange(product.result))
      return success();
    OpBuilder builder(kernel);
    auto first = makePart(builder, kernel, "matmul", product.result, {});
    bool isLast = llvm::hasSingleElement(dots());
    kernel =
        splitKernel(kernel, isLast ? "loop" : "matmul", Cut{product.result, first.getResult(0)});
    ++numSplit;
    if (!kernel)
      return success();
  }
  kernel.setKind("loop");
  return success();
}

void SplitProductsPass::runOnOperation() {
  SmallVector<mlir::st::KernelOp> products;
  getOperation()->walk([&](mlir::st::KernelOp kernel) {
    if (kernel.getKind() == "matmul")
      products.push_back(kernel);
  });
  for (mlir::st::KernelOp kernel : products)
    if (failed(split(kernel)))
      return signalPassFailure();
  products.clear();
  getOperation()->walk([&](mlir::st::KernelOp kernel) {
    if (kernel.getKind() == "matmul")
      products.push_back(kernel);
  });
  for (mlir::st::KernelOp kernel : products)
    takeAdditions(kernel);
}
