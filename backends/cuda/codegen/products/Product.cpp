#include "backends/cuda/codegen/products/Product.h"

#include "backends/cuda/codegen/analysis/ScalarFunction.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "dialects/StableHLO/Utils/Splat.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::shapeOf;
using mlir::st::skipReshapes;
namespace hlo = mlir::stablehlo;

// ---- the matrices -------------------------------------------------------------------------------

namespace {
/// A dimension of the product, with its stride in each matrix.
struct Dim {
  int64_t size, a, b, d;

  bool isBehind(const Dim &inner) const {
    return a == inner.a * inner.size && b == inner.b * inner.size && d == inner.d * inner.size;
  }
};
} // namespace

static SmallVector<Dim> merge(ArrayRef<Dim> dims) {
  SmallVector<Dim> merged;
  for (const Dim &dim : dims) {
    if (dim.size == 1)
      continue;
    if (!merged.empty() && merged.back().isBehind(dim))
      merged.back() = {merged.back().size * dim.size, dim.a, dim.b, dim.d};
    else
      merged.push_back(dim);
  }
  return merged;
}

/// Returns the innermost of some dimensions, and appends the others to the batch.
static Dim takeInnermost(SmallVector<Dim> dims, SmallVectorImpl<Dim> &batch) {
  if (dims.empty())
    return {1, 0, 0, 0};
  batch.append(dims.begin(), dims.end() - 1);
  return dims.back();
}

/// Along a side of size one, chooses a stride with which cuBLASLt accepts the matrix.
static ProductLayout::Matrix makeMatrix(int64_t rows, int64_t columns, int64_t row,
                                        int64_t column) {
  if (columns == 1)
    column = row == 1 ? rows : 1;
  if (rows == 1)
    row = column == 1 ? columns : 1;
  return {row, column, {}};
}

std::optional<ProductLayout> ProductLayout::get(hlo::DotGeneralOp dot) {
  ArrayRef<int64_t> left = shapeOf(dot.getLhs()), right = shapeOf(dot.getRhs());
  if (llvm::is_contained(left, 0) || llvm::is_contained(right, 0))
    return std::nullopt;
  SmallVector<int64_t> leftStrides = mlir::st::denseStrides(left);
  SmallVector<int64_t> rightStrides = mlir::st::denseStrides(right);
  SmallVector<int64_t> resultStrides = mlir::st::denseStrides(shapeOf(dot.getResult()));
  auto numbers = dot.getDotDimensionNumbers();
  SmallVector<Dim> batches, rows, columns, depth;
  size_t next = 0; // dimension of the result
  for (auto [l, r] :
       llvm::zip_equal(numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions()))
    batches.push_back({left[l], leftStrides[l], rightStrides[r], resultStrides[next++]});
  auto isFree = [](int64_t dim, ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting) {
    return !llvm::is_contained(batching, dim) && !llvm::is_contained(contracting, dim);
  };
  for (auto [dim, size] : llvm::enumerate(left))
    if (isFree(dim, numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions()))
      rows.push_back({size, leftStrides[dim], 0, resultStrides[next++]});
  for (auto [dim, size] : llvm::enumerate(right))
    if (isFree(dim, numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions()))
      columns.push_back({size, 0, rightStrides[dim], resultStrides[next++]});
  for (auto [l, r] : llvm::zip_equal(numbers.getLhsContractingDimensions(),
                                     numbers.getRhsContractingDimensions()))
    depth.push_back({left[l], leftStrides[l], rightStrides[r], 0});
  llvm::sort(depth, [](const Dim &x, const Dim &y) { return x.a > y.a; });

  SmallVector<Dim> inner = merge(depth), batch;
  if (inner.size() > 1)
    return std::nullopt;
  Dim row = takeInnermost(merge(rows), batch), column = takeInnermost(merge(columns), batch);
  Dim summed = takeInnermost(inner, batch);
  // One call of cuBLASLt covers the last batch dimension.
  batch.append(merge(batches));
  ProductLayout layout;
  layout.m = row.size;
  layout.n = column.size;
  layout.k = summed.size;
  layout.a = makeMatrix(layout.m, layout.k, row.a, summed.a);
  layout.b = makeMatrix(layout.k, layout.n, summed.b, column.b);
  layout.d = makeMatrix(layout.m, layout.n, row.d, column.d);
  for (const Dim &dim : batch) {
    layout.batch.push_back(dim.size);
    layout.a.batch.push_back(dim.a);
    layout.b.batch.push_back(dim.b);
    layout.d.batch.push_back(dim.d);
  }
  bool isPossible = isMatrix(layout.a.row, layout.a.column, layout.m, layout.k) &&
                    isMatrix(layout.b.row, layout.b.column, layout.k, layout.n) &&
                    isMatrix(layout.d.row, layout.d.column, layout.m, layout.n);
  return isPossible ? std::optional(layout) : std::nullopt;
}

// ---- epilogues ----------------------------------------------------------------------------------

static std::optional<double> getNumber(Value value) {
  while (isa_and_nonnull<hlo::BroadcastInDimOp, hlo::ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto constant = value.getDefiningOp<hlo::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>().convertToDouble();
}

static bool isFloatConversion(Operation *op) {
  return isa_and_nonnull<hlo::ConvertOp>(op) &&
         isa<FloatType>(getElementTypeOrSelf(op->getOperand(0).getType())) &&
         isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
}

/// Reshapes in kernels change only dimensions of size 1, so the other dimensions are compared in
/// order.
Bias mlir::cuda::matchBias(Value value, const Product &product) {
  bool isConverted = false;
  auto skip = [&](Value value) {
    value = skipReshapes(value);
    while (isFloatConversion(value.getDefiningOp())) {
      isConverted = true;
      value = skipReshapes(value.getDefiningOp()->getOperand(0));
    }
    return value;
  };
  auto broadcast = skip(value).getDefiningOp<hlo::BroadcastInDimOp>();
  if (!broadcast)
    return {};
  auto argument = dyn_cast<BlockArgument>(skip(broadcast.getOperand()));
  ArrayRef<int64_t> shape = shapeOf(broadcast.getResult());
  if (!argument || llvm::count_if(shapeOf(product.result), [](int64_t size) {
                     return size != 1;
                   }) != llvm::count_if(shape, [](int64_t size) { return size != 1; }))
    return {};
  SmallVector<bool> varies(shape.size(), false);
  for (auto [dim, size] :
       llvm::zip_equal(broadcast.getBroadcastDimensions(), shapeOf(broadcast.getOperand())))
    varies[dim] = size != 1;
  // The bias must vary along all trailing dimensions up to n columns, and along no other.
  int64_t columns = 1;
  bool isTrailing = true;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] == 1)
      continue;
    isTrailing &= columns < product.layout.n;
    if (varies[dim] != isTrailing)
      return {};
    columns *= isTrailing ? shape[dim] : 1;
  }
  return columns == product.layout.n ? Bias{argument, isConverted} : Bias();
}

Value mlir::cuda::rebuildBias(OpBuilder &builder, Value value, Value argument) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return argument;
  Value operand = rebuildBias(builder, op->getOperand(0), argument);
  if (isa<hlo::ConvertOp>(op))
    return operand;
  Type type = cast<RankedTensorType>(value.getType()).clone(getElementTypeOrSelf(argument));
  Operation *copy = builder.clone(*op);
  copy->setOperands(operand);
  copy->getResult(0).setType(type);
  return copy->getResult(0);
}

/// Adds the only user of the product's result to the product, if possible.
static bool takeNext(Product &product) {
  if (!product.result.hasOneUse())
    return false;
  Operation *op = *product.result.user_begin();
  bool isBare = !product.addend && !product.bias;
  if (isa<hlo::ConvertOp>(op)) {
    Type to = getElementTypeOrSelf(op->getResult(0).getType());
    Type operand = getElementTypeOrSelf(product.dot.getLhs().getType());
    if (!isBare || to != operand || !isa<Float16Type, BFloat16Type>(to))
      return false;
    product.result = op->getResult(0);
    return true;
  }
  if (!isa<hlo::AddOp, hlo::MulOp>(op))
    return false;
  Value other = op->getOperand(op->getOperand(0) == product.result ? 1 : 0);
  if (isa<hlo::MulOp>(op)) {
    std::optional<double> number = getNumber(other);
    if (!number || !isBare)
      return false;
    product.scale *= *number;
  } else if (auto addend = dyn_cast<BlockArgument>(skipReshapes(other));
             addend && !product.addend) {
    product.addend = addend;
  } else if (Bias bias = matchBias(other, product);
             bias.argument && !bias.isConverted && !product.bias &&
             !getElementTypeOrSelf(product.result.getType()).isF64()) {
    product.bias = bias.argument;
  } else {
    return false;
  }
  product.result = op->getResult(0);
  return true;
}

std::optional<Product> mlir::cuda::matchProduct(hlo::DotGeneralOp dot) {
  Product product;
  product.dot = dot;
  if (!isa<BlockArgument>(dot.getLhs()) || !isa<BlockArgument>(dot.getRhs()))
    return std::nullopt;
  std::optional<ProductLayout> layout = ProductLayout::get(dot);
  if (!layout)
    return std::nullopt;
  product.layout = *layout;
  product.result = dot.getResult();
  while (takeNext(product))
    continue;
  return product;
}

// ---- further results ----------------------------------------------------------------------------

static unsigned widthOf(Value value) {
  return getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
}

static bool isZero(Value value) {
  std::optional<double> number = getNumber(value);
  return number && *number == 0;
}

/// Returns true for a sum of a tensor along dimensions.
static bool isSum(hlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1 || !isZero(reduce.getInitValues().front()))
    return false;
  Block &body = reduce.getBody().front();
  Operation *last = body.getTerminator();
  auto add = last->getOperand(0).getDefiningOp<hlo::AddOp>();
  return add && llvm::equal(add->getOperands(), body.getArguments());
}

std::optional<Operand> mlir::cuda::matchOperandSums(const Product &product, Value sums,
                                                    llvm::function_ref<Value(Value)> definition) {
  // Widening does not change values. The sum may also be rounded to a narrower type.
  auto skipConversions = [&](Value value, bool alsoNarrowing) {
    value = definition(value);
    while (isFloatConversion(value.getDefiningOp())) {
      Value from = value.getDefiningOp()->getOperand(0);
      if (!alsoNarrowing && widthOf(from) > widthOf(value))
        break;
      value = definition(from);
    }
    return value;
  };
  Type type = getElementTypeOrSelf(product.result.getType());
  auto reduce = skipConversions(sums, /*alsoNarrowing=*/true).getDefiningOp<hlo::ReduceOp>();
  const bool isPlain = !product.bias && product.scale == 1;
  if (!reduce || !isSum(reduce) || !isPlain || getElementTypeOrSelf(sums.getType()) != type ||
      !hasOperandSums(type, product.layout.batch.size()))
    return std::nullopt;
  Value summed = skipConversions(reduce.getInputs().front(), /*alsoNarrowing=*/false);
  hlo::DotGeneralOp dot = product.dot;
  auto numbers = dot.getDotDimensionNumbers();
  SmallVector<int64_t> dims(reduce.getDimensions());
  llvm::sort(dims);
  auto isOf = [&](Value operand, ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting) {
    SmallVector<int64_t> contracted(contracting);
    llvm::sort(contracted);
    return batching.empty() && contracted == dims &&
           skipConversions(operand, /*alsoNarrowing=*/false) == summed;
  };
  if (isOf(dot.getRhs(), numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions()))
    return Operand::B;
  if (isOf(dot.getLhs(), numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions()))
    return Operand::A;
  return std::nullopt;
}

/// Matches GELU or its gradient at an argument, between a product and the kernel's first result.
static bool takeActivation(Product &product, Value result, Block &body) {
  ScalarFunction function([](Value value) { return value; });
  Type type = product.result.getType();
  if (product.addend || result.getType() != type ||
      !hasActivation(getElementTypeOrSelf(type), product.layout.batch.size(), product.layout.d.row,
                     product.layout.d.column))
    return false;
  if (function.isGelu(result, product.result)) {
    product.activation = Activation::Gelu;
    return true;
  }
  for (BlockArgument argument : body.getArguments())
    if (!product.bias && argument.getType() == type &&
        function.isGeluGradient(result, product.result, argument)) {
      product.activation = Activation::GeluGradient;
      product.aux = argument;
      return true;
    }
  return false;
}

std::optional<Product> mlir::cuda::matchProductKernel(mlir::st::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto dots = body.getOps<hlo::DotGeneralOp>();
  if (!llvm::hasSingleElement(dots))
    return std::nullopt;
  std::optional<Product> product = matchProduct(*dots.begin());
  ValueRange results = body.getTerminator()->getOperands();
  if (!product || results.empty() || results.size() > 2)
    return std::nullopt;
  if (results.front() != product->result && !takeActivation(*product, results.front(), body))
    return std::nullopt;
  if (results.size() == 1)
    return product;
  if (product->activation == Activation::Gelu && results.back() == product->result) {
    product->aux = results.back();
    return product;
  }
  auto summed = matchOperandSums(*product, results.back(), [](Value value) { return value; });
  if (!summed || product->activation != Activation::None)
    return std::nullopt;
  product->sums = results.back();
  product->summed = *summed;
  return product;
}
