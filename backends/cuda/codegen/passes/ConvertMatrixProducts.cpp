#include "backends/cuda/codegen/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

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
    return product.emitOpError("is not a 16 x 8 x 16 product of 16-bit floats in f32");
  // A register holds two 16-bit numbers; the instruction takes bf16 as raw bits.
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
  Value created = NVVM::MmaOp::create(
      builder, loc, type, registersOf(product.getMatrixA()), registersOf(product.getMatrixB()),
      sums, shape, std::nullopt, std::nullopt, std::array<NVVM::MMATypes, 2>{operand, operand},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  Value result = product.getMatrixC();
  for (int64_t i = 0; i < 4; ++i) {
    Value number = LLVM::ExtractValueOp::create(builder, loc, created, ArrayRef<int64_t>{i});
    result =
        vector::InsertOp::create(builder, loc, number, result, ArrayRef<int64_t>{i / 2, i % 2});
  }
  product.replaceAllUsesWith(result);
  product.erase();
  return success();
}

// ---- memory -------------------------------------------------------------------------------------

namespace {
/// Addresses of elements of one-dimensional memrefs, as convert-gpu-to-nvvm with 32-bit indices
/// computes them.
class Pointers {
public:
  explicit Pointers(MLIRContext *context) : converter(context, options(context)) {
    nvgpu::populateCommonGPUTypeAndAttributeConversions(converter);
  }

  Value get(OpBuilder &builder, Location loc, Value memory, Value position);

private:
  static LowerToLLVMOptions options(MLIRContext *context) {
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(32);
    return options;
  }
  LLVMTypeConverter converter;
};
} // namespace

Value Pointers::get(OpBuilder &builder, Location loc, Value memory, Value position) {
  auto type = cast<MemRefType>(memory.getType());
  Value descriptor =
      UnrealizedConversionCastOp::create(builder, loc, converter.convertType(type), memory)
          .getResult(0);
  Value pointer = MemRefDescriptor(descriptor).alignedPtr(builder, loc);
  // The instruction can encode a constant that is added last.
  APInt constant;
  Value end;
  if (auto sum = position.getDefiningOp<arith::AddIOp>();
      sum && matchPattern(sum.getRhs(), m_ConstantInt(&constant))) {
    position = sum.getLhs();
    end = LLVM::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(constant.getSExtValue())));
  }
  Value offset = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), position);
  Type element = converter.convertType(type.getElementType());
  pointer = LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer, offset);
  return end ? LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer, end).getRes()
             : pointer;
}

static LogicalResult convert(nvgpu::LdMatrixOp load, Pointers &pointers) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  auto type = cast<VectorType>(load.getRes().getType());
  const int64_t count = type.getDimSize(0);
  if (count != 4 || type.getElementTypeBitWidth() != 16 || load.getIndices().size() != 1)
    return load.emitOpError("is not a load of four matrices of 16-bit floats from one dimension");
  Value pointer = pointers.get(builder, loc, load.getSrcMemref(), load.getIndices().front());
  SmallVector<Type> registers(count, builder.getI32Type());
  auto loadedType = LLVM::LLVMStructType::getLiteral(builder.getContext(), registers);
  Value loaded = NVVM::LdMatrixOp::create(
      builder, loc, loadedType, pointer, static_cast<uint32_t>(count),
      load.getTranspose() ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
  auto pairType = VectorType::get({2}, type.getElementType());
  Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  for (int64_t i = 0; i < count; ++i) {
    Value bits = LLVM::ExtractValueOp::create(builder, loc, loaded, ArrayRef<int64_t>{i});
    Value pair = LLVM::BitcastOp::create(builder, loc, pairType, bits);
    result = vector::InsertOp::create(builder, loc, pair, result, ArrayRef<int64_t>{i});
  }
  load.replaceAllUsesWith(result);
  load.erase();
  return success();
}

static LogicalResult convert(nvgpu::DeviceAsyncCopyOp copy, Pointers &pointers) {
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  const int64_t width = cast<MemRefType>(copy.getDst().getType()).getElementTypeBitWidth() / 8;
  const int64_t bytes = copy.getDstElements().getSExtValue() * width;
  if (bytes != 16 || copy.getDstIndices().size() != 1 || copy.getSrcIndices().size() != 1 ||
      !copy.getAsyncToken().use_empty())
    return copy.emitOpError("is not a one-dimensional copy of 16 bytes without a token");
  Value target = pointers.get(builder, loc, copy.getDst(), copy.getDstIndices().front());
  Value source = pointers.get(builder, loc, copy.getSrc(), copy.getSrcIndices().front());
  auto global = LLVM::LLVMPointerType::get(builder.getContext(),
                                           static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  source = LLVM::AddrSpaceCastOp::create(builder, loc, global, source);
  Value maximum;
  if (Value elements = copy.getSrcElements()) {
    maximum = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), elements);
    Value each = arith::ConstantOp::create(builder, loc,
                                           builder.getI32IntegerAttr(static_cast<int32_t>(width)));
    maximum = arith::MulIOp::create(builder, loc, maximum, each);
  }
  NVVM::CpAsyncOp::create(builder, loc, target, source, static_cast<uint32_t>(bytes),
                          NVVM::LoadCacheModifierKind::CG, maximum);
  copy.erase();
  return success();
}

// ---- rounding -----------------------------------------------------------------------------------

/// The instruction that rounds two f32 to 16 bits is faster than the one that rounds one.
static void convert(arith::TruncFOp round) {
  Type type = round.getType();
  if (!round.getIn().getType().isF32() || !(type.isBF16() || type.isF16()) ||
      round.getRoundingmode())
    return;
  OpBuilder builder(round);
  Location loc = round.getLoc();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  StringRef name = type.isBF16() ? "llvm.nvvm.ff2bf16x2.rn" : "llvm.nvvm.ff2f16x2.rn";
  Value pair =
      LLVM::CallIntrinsicOp::create(builder, loc, VectorType::get({2}, type),
                                    builder.getStringAttr(name), ValueRange{zero, round.getIn()})
          ->getResult(0);
  round.replaceAllUsesWith(
      vector::ExtractOp::create(builder, loc, pair, ArrayRef<int64_t>{0}).getResult());
  round.erase();
}

/// Widens one of two bf16 to f32 by a shift of the bits or a mask.
static void convert(arith::ExtFOp widen) {
  auto extract = widen.getIn().getDefiningOp<vector::ExtractOp>();
  if (!extract || !widen.getType().isF32() || extract.getNumIndices() != 1 ||
      extract.hasDynamicPosition())
    return;
  auto pair = cast<VectorType>(extract.getSource().getType());
  if (!pair.getElementType().isBF16() || pair.getRank() != 1 || pair.getDimSize(0) != 2)
    return;
  OpBuilder builder(widen);
  Location loc = widen.getLoc();
  Value bits = LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), extract.getSource());
  const bool isLow = extract.getStaticPosition()[0] == 0;
  Value by = arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(isLow ? 16 : static_cast<int32_t>(0xFFFF0000)));
  bits = isLow ? arith::ShLIOp::create(builder, loc, bits, by).getResult()
               : arith::AndIOp::create(builder, loc, bits, by).getResult();
  widen.replaceAllUsesWith(
      arith::BitcastOp::create(builder, loc, builder.getF32Type(), bits).getResult());
  widen.erase();
}

void ConvertMatrixProductsPass::runOnOperation() {
  getOperation()->walk([](arith::TruncFOp round) { convert(round); });
  getOperation()->walk([](arith::ExtFOp widen) { convert(widen); });
  Pointers pointers(&getContext());
  SmallVector<nvgpu::LdMatrixOp> loads;
  SmallVector<nvgpu::DeviceAsyncCopyOp> copies;
  getOperation()->walk([&](nvgpu::LdMatrixOp load) { loads.push_back(load); });
  getOperation()->walk([&](nvgpu::DeviceAsyncCopyOp copy) { copies.push_back(copy); });
  for (nvgpu::LdMatrixOp load : loads)
    if (failed(convert(load, pointers)))
      return signalPassFailure();
  for (nvgpu::DeviceAsyncCopyOp copy : copies)
    if (failed(convert(copy, pointers)))
      return signalPassFailure();
  SmallVector<nvgpu::MmaSyncOp> products;
  getOperation()->walk([&](nvgpu::MmaSyncOp product) { products.push_back(product); });
  for (nvgpu::MmaSyncOp product : products)
    if (failed(convert(product)))
      return signalPassFailure();
}
