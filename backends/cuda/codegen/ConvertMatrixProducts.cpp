#include "backends/cuda/codegen/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_CONVERTMATRIXPRODUCTS
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;

namespace {
class ConvertMatrixProductsPass
    : public mlir::cuda::impl::ConvertMatrixProductsBase<ConvertMatrixProductsPass> {
public:
  void runOnOperation() override;
};
} // namespace

static LogicalResult convert(nvgpu::MmaSyncOp product) {
  OpBuilder builder(product);
  Location loc = product.getLoc();
  auto typeOf = [](Value matrix) { return cast<VectorType>(matrix.getType()); };
  Type element = typeOf(product.getMatrixA()).getElementType();
  const std::array<int64_t, 3> shape = {16, 8, 16};
  if (product.getMmaShapeAsArray() != shape || !(element.isF16() || element.isBF16()) ||
      !typeOf(product.getMatrixC()).getElementType().isF32())
    return product.emitOpError("is no product of 16-bit floats in f32, 16 x 8 x 16");
  // A register has two numbers of 16 bits; those of bf16 are bits to the instruction.
  auto registersOf = [&](Value matrix) {
    SmallVector<Value> registers;
    for (int64_t i = 0; i < typeOf(matrix).getDimSize(0); ++i) {
      Value pair = vector::ExtractOp::create(builder, loc, matrix, ArrayRef<int64_t>{i});
      if (element.isBF16()) {
        auto bits = VectorType::get({1}, builder.getI32Type());
        pair = vector::BitCastOp::create(builder, loc, bits, pair);
        pair = vector::ExtractOp::create(builder, loc, pair, ArrayRef<int64_t>{0});
      }
      registers.push_back(pair);
    }
    return registers;
  };
  SmallVector<Value> sums;
  for (int64_t i = 0; i < 4; ++i)
    sums.push_back(vector::ExtractOp::create(builder, loc, product.getMatrixC(),
                                             ArrayRef<int64_t>{i / 2, i % 2}));
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               SmallVector<Type>(4, builder.getF32Type()));
  const NVVM::MMATypes operand = element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  Value made = NVVM::MmaOp::create(
      builder, loc, type, registersOf(product.getMatrixA()), registersOf(product.getMatrixB()),
      sums, shape, std::nullopt, std::nullopt, std::array<NVVM::MMATypes, 2>{operand, operand},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  Value result = product.getMatrixC();
  for (int64_t i = 0; i < 4; ++i) {
    Value number = LLVM::ExtractValueOp::create(builder, loc, made, ArrayRef<int64_t>{i});
    result =
        vector::InsertOp::create(builder, loc, number, result, ArrayRef<int64_t>{i / 2, i % 2});
  }
  product.replaceAllUsesWith(result);
  product.erase();
  return success();
}

void ConvertMatrixProductsPass::runOnOperation() {
  SmallVector<nvgpu::MmaSyncOp> products;
  getOperation()->walk([&](nvgpu::MmaSyncOp product) { products.push_back(product); });
  for (nvgpu::MmaSyncOp product : products)
    if (failed(convert(product)))
      return signalPassFailure();
}
