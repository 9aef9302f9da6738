// The body of a cuda.product with an activation or sums: a product without them, and kernels.
#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/analysis/ScalarFunction.h"
#include "backends/cuda/codegen/emission/TaskConverter.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

/// Bytes of scratch memory for partial sums.
static constexpr int64_t kPartialBytes = int64_t{1} << 20;
/// Columns of a 16-bit matrix that a block sums, and wanted blocks per multiprocessor.
static constexpr int64_t kColumnsOfBlock = 256, kBlocksPerCore = 4;
/// Minimum number of rows per part.
static constexpr int64_t kMinRows = 64;

/// The largest divisor of `count` that is at most `maximum`.
static int64_t findDivisor(int64_t count, int64_t maximum) {
  int64_t divisor = std::max<int64_t>(std::min(count, maximum), 1);
  while (count % divisor != 0)
    --divisor;
  return divisor;
}

static Place retype(Place place, ArrayRef<int64_t> shape) {
  place.type = RankedTensorType::get(shape, place.type.getElementType());
  return place;
}

int64_t mlir::cuda::getBodyScratchBytes(ModuleOp module) {
  auto found = module.walk([](mlir::st::KernelOp kernel) {
    std::optional<Product> product;
    if (kernel.getKind() == "matmul" && kernel.getNumResults() == 2)
      product = matchProductKernel(kernel);
    return product && product->sums ? WalkResult::interrupt() : WalkResult::advance();
  });
  int64_t bytes = found.wasInterrupted() && module->hasAttr("st.cores") ? kPartialBytes : 0;
  module.walk([&](mlir::st::KernelOp kernel) {
    for (const auto &[offset, type] : getSerialBuffers(kernel))
      bytes = std::max(bytes, offset + Place{{}, type}.bytes());
  });
  return bytes;
}

LogicalResult TaskConverter::launchGenerated(st::KernelOp like, StringRef kind,
                                             ArrayRef<Place> inputs, const Place &result,
                                             KernelBody write) {
  OpBuilder ir(like.getContext());
  Location loc = like.getLoc();
  // The operands are placeholders, because the launch passes places instead.
  SmallVector<Value> operands(inputs.size(), like->getOperand(0));
  generatedKernels.emplace_back(
      st::KernelOp::create(ir, loc, TypeRange(result.type), ir.getStringAttr(kind), operands));
  st::KernelOp kernel = *generatedKernels.back();
  auto types = llvm::map_to_vector(inputs, [](const Place &place) -> Type { return place.type; });
  Block *body =
      ir.createBlock(&kernel.getBody(), {}, types, SmallVector<Location>(inputs.size(), loc));
  st::YieldOp::create(ir, loc, write(ir, body->getArguments()));
  SmallVector<Place> places(inputs);
  places.push_back(result);
  return launch(kernel, places);
}

LogicalResult TaskConverter::addUp(st::KernelOp like, const Place &from, int64_t dim,
                                   const Place &to) {
  return launchGenerated(
      like, "reduce", from, to, [&](OpBuilder &ir, ValueRange arguments) -> Value {
        Location loc = like.getLoc();
        Type f32 = ir.getF32Type();
        auto convert = [&](Value value, Type element) -> Value {
          auto type = cast<RankedTensorType>(value.getType());
          return type.getElementType() == element
                     ? value
                     : hlo::ConvertOp::create(ir, loc, type.clone(element), value);
        };
        Value zero = hlo::ConstantOp::create(
            ir, loc, cast<ElementsAttr>(ir.getZeroAttr(RankedTensorType::get({}, f32))));
        auto sums = hlo::ReduceOp::create(
            ir, loc, convert(arguments[0], f32), zero, ArrayRef<int64_t>(dim),
            [&](OpBuilder &inside, Location loc, ValueRange values) {
              return SmallVector<Value>{hlo::AddOp::create(inside, loc, values[0], values[1])};
            });
        return convert(sums.getResult(0), to.type.getElementType());
      });
}

/// Sums contiguous rows in parts first, so that there are blocks for all multiprocessors.
LogicalResult TaskConverter::addUpOperand(st::KernelOp kernel, const Product &product,
                                          const Place &operand, const Place &sums) {
  const bool isOfA = product.summed == Operand::A;
  const ProductLayout &layout = product.layout;
  const int64_t depth = layout.k, count = isOfA ? layout.m : layout.n;
  const Place result = retype(sums, count);
  if ((isOfA ? layout.a.column : layout.b.row) == 1 && depth > 1)
    return addUp(kernel, retype(operand, {count, depth}), 1, result);
  auto cores = task->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>("st.cores");
  const int64_t blocks = (count + kColumnsOfBlock - 1) / kColumnsOfBlock;
  const int64_t wanted = cores ? kBlocksPerCore * cores.getInt() / blocks : 1;
  const int64_t maximum = std::min(depth / kMinRows, kPartialBytes / (count * 4));
  const int64_t parts = findDivisor(depth, std::min(wanted, maximum));
  if (parts == 1)
    return addUp(kernel, retype(operand, {depth, count}), 0, result);
  auto scratch = mlir::st::AddressAttr::get(kernel.getContext(), 0, 0, 1);
  const Place partial{scratch, RankedTensorType::get({parts, count}, builder.getF32Type()),
                      /*isScratch=*/true};
  scratchBytes = std::max(scratchBytes, partial.bytes());
  if (failed(addUp(kernel, retype(operand, {parts, depth / parts, count}), 1, partial)))
    return failure();
  return addUp(kernel, partial, 0, result);
}

/// First writes the input of the activation: to `aux` if GELU keeps it, else to the result.
LogicalResult TaskConverter::activate(st::KernelOp kernel, const Product &product,
                                      const Place &before, const Place &result, const Place *aux) {
  SmallVector<Place> inputs{before};
  if (product.activation == Activation::GeluGradient)
    inputs.push_back(*aux);
  return launchGenerated(kernel, "loop", inputs, result, [&](OpBuilder &ir, ValueRange arguments) {
    Location loc = kernel.getLoc();
    return product.activation == Activation::Gelu
               ? emitGelu(ir, loc, arguments[0])
               : emitGeluGradient(ir, loc, arguments[0], arguments[1]);
  });
}

LogicalResult TaskConverter::emitProductBody(st::KernelOp kernel, const Product &product,
                                             ArrayRef<Place> places, ProductOp op) {
  const size_t inputs = kernel.getInputs().size();
  auto placeOf = [&](Value value) -> const Place & {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? places[argument.getArgNumber()] : places[inputs + 1];
  };
  const Place &result = places[inputs];
  const bool keepsArgument = product.activation == Activation::Gelu && product.aux;
  const Place &before = keepsArgument ? placeOf(product.aux) : result;
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  Value d = keepsArgument ? op.getAux() : op.getD();
  ProductOp::create(builder, op.getLoc(), op.getA(), op.getB(), op.getC(), op.getBias(), Value(),
                    Value(), OperandAttr(), d, op.getM(), op.getN(), op.getK(), op.getAMatrix(),
                    op.getBMatrix(), op.getDMatrix(), op.getBatch(), op.getScale(),
                    Activation::None);
  if (product.sums) {
    hlo::DotGeneralOp dot = product.dot;
    Value summed = product.summed == Operand::A ? dot.getLhs() : dot.getRhs();
    return addUpOperand(kernel, product, placeOf(summed), placeOf(product.sums));
  }
  return activate(kernel, product, before, result, product.aux ? &placeOf(product.aux) : nullptr);
}
