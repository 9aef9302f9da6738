#include "backends/cuda/codegen/kernels/KernelEmitter.h"

#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::cuda;

static constexpr int64_t kWarp = 32;
/// Bytes of the widest access of shared memory.
static constexpr int64_t kSharedAlignment = 16;

KernelEmitter::KernelEmitter(Operation *kernel, Block &body, gpu::GPUFuncOp function,
                             ArrayRef<int64_t> alignments)
    : body(body), kernel(kernel), builder(function.getContext()), loc(kernel->getLoc()),
      function(function), alignments(alignments) {
  builder.setInsertionPointToEnd(&entry());
}

Block &KernelEmitter::entry() { return function->getRegion(0).front(); }

// ---- index arithmetic ---------------------------------------------------------------------------

Value KernelEmitter::index(int64_t constant) {
  return arith::ConstantIndexOp::create(builder, loc, constant);
}

Value KernelEmitter::add(Value a, Value b) {
  if (getConstantIntValue(a) == 0)
    return b;
  if (getConstantIntValue(b) == 0)
    return a;
  return arith::AddIOp::create(builder, loc, a, b);
}

Value KernelEmitter::mul(Value a, int64_t b) {
  if (std::optional<int64_t> constant = getConstantIntValue(a))
    return index(*constant * b);
  return b == 1 ? a : b == 0 ? index(0) : arith::MulIOp::create(builder, loc, a, index(b));
}

Value KernelEmitter::mulValues(Value a, Value b) {
  if (std::optional<int64_t> constant = getConstantIntValue(b))
    return mul(a, *constant);
  return arith::MulIOp::create(builder, loc, a, b);
}

Value KernelEmitter::div(Value a, int64_t b) {
  return b == 1 ? a : arith::DivUIOp::create(builder, loc, a, index(b)).getResult();
}

Value KernelEmitter::rem(Value a, int64_t b) {
  return b == 1 ? index(0) : arith::RemUIOp::create(builder, loc, a, index(b)).getResult();
}

Value KernelEmitter::min(Value a, int64_t b) {
  return arith::MinSIOp::create(builder, loc, a, index(b));
}

Value KernelEmitter::max(Value a, int64_t b) {
  return arith::MaxSIOp::create(builder, loc, a, index(b));
}

Value KernelEmitter::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

Value KernelEmitter::equal(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
}

Value KernelEmitter::isZero(Value a) { return equal(a, index(0)); }

Value KernelEmitter::isNot(Value condition) { return (~number(condition)).value; }

Value KernelEmitter::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
}

SmallVector<Value> KernelEmitter::delinearize(Value position, ArrayRef<int64_t> sizes) {
  SmallVector<Value> coordinates(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    coordinates[i] = i == 0 ? position : rem(position, sizes[i]);
    if (i > 0)
      position = div(position, sizes[i]);
  }
  return coordinates;
}

Number KernelEmitter::fromIndex(Value index) {
  return number(arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index));
}

Value KernelEmitter::toIndex(Number number, bool isUnsigned) {
  Value wide = number.toInteger(64, isUnsigned).value;
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), wide);
}

Number KernelEmitter::constant(Attribute element, Type type) {
  auto value = cast<TypedAttr>(element);
  if (auto integer = dyn_cast<IntegerAttr>(element))
    value = builder.getIntegerAttr(getComputeType(type), integer.getValue());
  return number(arith::ConstantOp::create(builder, loc, value));
}

// ---- control flow -------------------------------------------------------------------------------

void KernelEmitter::onlyIf(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  body();
}

SmallVector<Number> KernelEmitter::choose(Value condition,
                                          llvm::function_ref<SmallVector<Number>()> onTrue,
                                          llvm::function_ref<SmallVector<Number>()> onFalse) {
  auto yield = [&](llvm::function_ref<SmallVector<Number>()> make) {
    return [&, make](OpBuilder &inner, Location) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
      SmallVector<Value> values;
      for (const Number &number : make())
        values.push_back(number.value);
      scf::YieldOp::create(builder, loc, values);
    };
  };
  auto branch = scf::IfOp::create(builder, loc, condition, yield(onTrue), yield(onFalse));
  return llvm::map_to_vector(branch.getResults(), [&](Value value) { return number(value); });
}

SmallVector<Number>
KernelEmitter::loop(Value from, Value to, int64_t step, ArrayRef<Number> initial,
                    llvm::function_ref<SmallVector<Number>(Value, ArrayRef<Number>)> body) {
  SmallVector<Value> values;
  for (const Number &number : initial)
    values.push_back(number.value);
  auto loop = scf::ForOp::create(
      builder, loc, from, to, index(step), values,
      [&](OpBuilder &inner, Location, Value i, ValueRange carried) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        SmallVector<Number> numbers =
            llvm::map_to_vector(carried, [&](Value value) { return number(value); });
        SmallVector<Value> results;
        for (const Number &number : body(i, numbers))
          results.push_back(number.value);
        scf::YieldOp::create(builder, loc, results);
      });
  return llvm::map_to_vector(loop.getResults(), [&](Value value) { return number(value); });
}

// ---- memory -------------------------------------------------------------------------------------

/// Known alignment of a vector access in bytes; 0 if it is less than the vector's size.
static int64_t vectorAlignment(int64_t width, Type storage, bool isAligned, int64_t base) {
  int64_t bytes = width * llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8);
  return isAligned && base % bytes == 0 ? bytes : 0;
}

Number KernelEmitter::load(unsigned buffer, Value position, Type element, int64_t width,
                           bool isAligned) {
  Value memory = entry().getArgument(buffer);
  Type storage = getStorageType(element);
  if (width == 1)
    return fromStorage(number(memref::LoadOp::create(builder, loc, memory, position)), element);
  auto type = VectorType::get({width}, storage);
  if (int64_t bytes = vectorAlignment(width, storage, isAligned, alignments[buffer]))
    return fromStorage(
        number(vector::LoadOp::create(builder, loc, type, memory, position,
                                      /*nontemporal=*/false, llvm::MaybeAlign(bytes))),
        element);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < width; ++i)
    elements.push_back(memref::LoadOp::create(builder, loc, memory, add(position, i)));
  return fromStorage(number(vector::FromElementsOp::create(builder, loc, type, elements)), element);
}

void KernelEmitter::store(unsigned buffer, Value position, Number number, bool isAligned) {
  Value memory = entry().getArgument(buffer);
  Number stored = toStorage(number);
  auto vector = dyn_cast<VectorType>(stored.value.getType());
  if (!vector) {
    memref::StoreOp::create(builder, loc, stored.value, memory, position);
    return;
  }
  int64_t width = vector.getNumElements();
  if (int64_t bytes = vectorAlignment(width, stored.element(), isAligned, alignments[buffer])) {
    vector::StoreOp::create(builder, loc, stored.value, memory, position, /*nontemporal=*/false,
                            llvm::MaybeAlign(bytes));
    return;
  }
  for (auto [i, element] : llvm::enumerate(elementsOf(stored)))
    memref::StoreOp::create(builder, loc, element.value, memory, add(position, i));
}

Value KernelEmitter::addShared(int64_t elements, Type computeType) {
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
  auto type =
      MemRefType::get({elements}, getStorageType(computeType), MemRefLayoutAttrInterface(), space);
  auto kernelFunction = cast<gpu::GPUFuncOp>(function);
  const unsigned number = kernelFunction.getNumWorkgroupAttributions();
  Value memory = kernelFunction.addWorkgroupAttribution(type, loc);
  // The alignment suits the widest access.
  kernelFunction.setWorkgroupAttributionAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                                             builder.getI64IntegerAttr(kSharedAlignment));
  return memory;
}

Number KernelEmitter::loadShared(Value memory, Value position, Type computeType) {
  return fromStorage(number(memref::LoadOp::create(builder, loc, memory, position)), computeType);
}

SmallVector<Value> KernelEmitter::loadMatrices(Value memory, Value position, bool transposed) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  constexpr int64_t matrices = 4;
  Value loaded = nvgpu::LdMatrixOp::create(builder, loc, VectorType::get({matrices, 2}, element),
                                           memory, position, transposed, matrices);
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < matrices; ++i)
    pairs.push_back(vector::ExtractOp::create(builder, loc, loaded, ArrayRef<int64_t>{i}));
  return pairs;
}

void KernelEmitter::copyAsync(unsigned buffer, Value position, Value memory, Value target,
                              Value exists) {
  const int64_t bytes = cast<MemRefType>(memory.getType()).getElementTypeBitWidth() / 8;
  const int64_t elements = kSharedAlignment / bytes;
  Value count =
      exists ? arith::SelectOp::create(builder, loc, exists, index(elements), index(0)).getResult()
             : Value();
  nvgpu::DeviceAsyncCopyOp::create(builder, loc,
                                   nvgpu::DeviceAsyncTokenType::get(builder.getContext()), memory,
                                   target, entry().getArgument(buffer), position,
                                   builder.getIndexAttr(elements), count, builder.getUnitAttr());
}

void KernelEmitter::waitForCopies() {
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
}

void KernelEmitter::storeShared(Value memory, Value position, Number number) {
  Number stored = toStorage(number);
  auto vector = dyn_cast<VectorType>(stored.value.getType());
  if (!vector) {
    memref::StoreOp::create(builder, loc, stored.value, memory, position);
    return;
  }
  const int64_t bytes = vector.getNumElements() * stored.width() / 8;
  vector::StoreOp::create(builder, loc, stored.value, memory, position, /*nontemporal=*/false,
                          llvm::MaybeAlign(bytes));
}

SmallVector<Number> KernelEmitter::multiplyMatrices(ArrayRef<Value> a, ArrayRef<Value> b,
                                                    ArrayRef<Number> c) {
  auto join = [&](ArrayRef<Value> pairs) -> Value {
    auto pair = cast<VectorType>(pairs.front().getType());
    auto type = VectorType::get({static_cast<int64_t>(pairs.size()), 2}, pair.getElementType());
    Value joined = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    for (auto [i, each] : llvm::enumerate(pairs))
      joined = vector::InsertOp::create(builder, loc, each, joined, static_cast<int64_t>(i));
    return joined;
  };
  SmallVector<Value> sums;
  for (int64_t row = 0; row < 2; ++row)
    sums.push_back(joinElements({c[2 * row], c[2 * row + 1]}).value);
  Value sum = join(sums);
  Value created = nvgpu::MmaSyncOp::create(builder, loc, sum.getType(), join(a), join(b), sum,
                                           builder.getI64ArrayAttr({16, 8, 16}), UnitAttr());
  SmallVector<Number> numbers;
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < 2; ++column)
      numbers.push_back(
          number(vector::ExtractOp::create(builder, loc, created, ArrayRef<int64_t>{row, column})));
  return numbers;
}

// ---- the threads of a block ---------------------------------------------------------------------

Value KernelEmitter::thread() {
  if (!threadId) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&entry());
    threadId = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  }
  return threadId;
}

Value KernelEmitter::block() {
  if (!blockId) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&entry());
    blockId = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  }
  return blockId;
}

void KernelEmitter::barrier() { gpu::BarrierOp::create(builder, loc); }

Value KernelEmitter::takeTicket(unsigned semaphores, Value place) {
  return TakeTicketOp::create(builder, loc, builder.getIndexType(), entry().getArgument(semaphores),
                              place, addShared(1, builder.getI32Type()));
}

void KernelEmitter::semaphoreWait(unsigned semaphores, Value place, Value value) {
  SemaphoreWaitOp::create(builder, loc, entry().getArgument(semaphores), place, value);
}

void KernelEmitter::semaphoreRelease(unsigned semaphores, Value place, Value value) {
  SemaphoreReleaseOp::create(builder, loc, entry().getArgument(semaphores), place, value);
}

Number KernelEmitter::shuffleXor(Number x, int64_t mask) {
  auto shuffle = [&](Number word) {
    return number(gpu::ShuffleOp::create(builder, loc, word.value, static_cast<int32_t>(mask),
                                         static_cast<int32_t>(kWarp), gpu::ShuffleMode::XOR)
                      .getShuffleResult());
  };
  if (x.isFloat() && x.width() == 32)
    return shuffle(x);
  if (x.isFloat())
    return shuffleXor(x.bits(), mask).bitcast(x.element());
  if (x.width() <= 32)
    return shuffle(x.toInteger(32, /*isUnsigned=*/true)).toInteger(x.width(), true);
  Number low = shuffle(x.toInteger(32, true)),
         high = shuffle(x.shiftLogical(32).toInteger(32, true));
  return low.toInteger(64, true) | high.toInteger(64, true) << 32;
}

Number KernelEmitter::combineAcross(const Combiner &combiner, Number x, int64_t sharers,
                                    int64_t threads) {
  for (int64_t mask = std::min(sharers, kWarp) / 2; mask > 0; mask /= 2)
    x = combiner.combine(x, shuffleXor(x, mask));
  if (sharers <= kWarp)
    return x;
  // One number per warp goes through shared memory; then every warp combines those of its row.
  Value shared = addShared(threads / kWarp, combiner.getType());
  Value lane = rem(thread(), kWarp), warp = div(thread(), kWarp);
  onlyIf(isZero(lane), [&] { storeShared(shared, warp, x); });
  barrier();
  int64_t warps = sharers / kWarp;
  Value first = mul(div(thread(), sharers), warps);
  Number y = loadShared(shared, add(first, rem(lane, warps)), combiner.getType());
  for (int64_t mask = warps / 2; mask > 0; mask /= 2)
    y = combiner.combine(y, shuffleXor(y, mask));
  return y;
}

void KernelEmitter::scaleProductWork(double share) {
  if (auto flops = function->getAttrOfType<FloatAttr>(kProductFlopsAttr))
    function->setAttr(kProductFlopsAttr, builder.getF64FloatAttr(flops.getValueAsDouble() * share));
}

void KernelEmitter::finish(Launch size) {
  launch = size;
  gpu::ReturnOp::create(builder, loc);
  auto kernelFunction = cast<gpu::GPUFuncOp>(function);
  kernelFunction.setKnownBlockSize(ArrayRef<int32_t>{static_cast<int32_t>(size.threads), 1, 1});
  kernelFunction.setKnownGridSize(ArrayRef<int32_t>{static_cast<int32_t>(size.blocks), 1, 1});
  // Without this, ptxas may spill registers to fit more blocks on a multiprocessor.
  kernelFunction->setAttr("nvvm.minctasm",
                          builder.getI32IntegerAttr(static_cast<int32_t>(size.together)));
}
