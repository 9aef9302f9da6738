#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/emission/TaskConverter.h"
#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/Sharding/JoinedRuns.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_CONVERTKERNELSTOGPU
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;

namespace {
class ConvertKernelsToGpuPass
    : public mlir::cuda::impl::ConvertKernelsToGpuBase<ConvertKernelsToGpuPass> {
public:
  using ConvertKernelsToGpuBase::ConvertKernelsToGpuBase;
  void runOnOperation() override;
};
} // namespace

// ---- kernels ------------------------------------------------------------------------------------

/// Discardable attributes, such as the layer in st.block, do not affect the code of an op.
static constexpr auto kSameCode = OperationEquivalence::Flags(
    OperationEquivalence::IgnoreLocations | OperationEquivalence::IgnoreDiscardableAttrs);

FailureOr<const KernelLibrary::Entry *> KernelLibrary::get(st::KernelOp kernel,
                                                           ArrayRef<Place> places) {
  SmallVector<int64_t> alignments =
      llvm::map_to_vector(places, [](const Place &place) { return place.alignment(); });
  size_t key = llvm::hash_combine(
      kernel.getKind(), llvm::hash_combine_range(kernel->getOperandTypes()),
      llvm::hash_combine_range(kernel->getResultTypes()), llvm::hash_combine_range(alignments));
  auto &bucket = entries[key];
  for (const std::unique_ptr<Entry> &entry : bucket)
    if (entry->kernel.getKind() == kernel.getKind() && entry->alignments == alignments &&
        OperationEquivalence::isRegionEquivalentTo(&entry->kernel.getBody(), &kernel.getBody(),
                                                   kSameCode))
      return entry.get();
  FailureOr<std::unique_ptr<Entry>> entry = emit(kernel, places);
  if (failed(entry))
    return failure();
  (*entry)->alignments = alignments;
  bucket.push_back(std::move(*entry));
  return bucket.back().get();
}

/// Records the kernel's work as attributes of the function. A gather reads as many elements as it
/// writes, for any size of its operand.
static void describeWork(st::KernelOp kernel, gpu::GPUFuncOp function) {
  auto bytesOf = [](ValueRange values) {
    double bytes = 0;
    for (Value value : values)
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        bytes += static_cast<double>(type.getNumElements()) *
                 llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
    return bytes;
  };
  const double written = bytesOf(kernel->getResults()), read = bytesOf(kernel->getOperands());
  double flops = 0;
  Type type;
  kernel->walk([&](stablehlo::DotGeneralOp dot) {
    auto left = cast<RankedTensorType>(dot.getLhs().getType());
    double contracted = 1;
    for (int64_t dim : dot.getDotDimensionNumbers().getLhsContractingDimensions())
      contracted *= static_cast<double>(left.getDimSize(dim));
    flops += 2 * contracted *
             static_cast<double>(cast<RankedTensorType>(dot.getType()).getNumElements());
    type = left.getElementType();
  });
  Builder builder(kernel.getContext());
  const bool picks = kernel.getKind() == "gather";
  function->setAttr(kBytesAttr,
                    builder.getF64FloatAttr(written + (picks ? std::min(read, written) : read)));
  if (flops == 0)
    return;
  function->setAttr(kProductFlopsAttr, builder.getF64FloatAttr(flops));
  function->setAttr(kProductTypeAttr, TypeAttr::get(type));
}

FailureOr<std::unique_ptr<KernelLibrary::Entry>> KernelLibrary::emit(st::KernelOp kernel,
                                                                     ArrayRef<Place> places) {
  using Generator = LogicalResult (*)(KernelEmitter &);
  static const std::pair<StringRef, Generator> generators[] = {
      {"loop", emitLoopKernel}, {"reduce", emitLoopKernel},   {"attention", emitAttentionKernel},
      {"copy", emitCopyKernel}, {"gather", emitGatherKernel}, {"scatter", emitScatterKernel}};
  const auto *generator =
      llvm::find_if(generators, [&](const auto &entry) { return entry.first == kernel.getKind(); });
  if (generator == std::end(generators))
    return kernel.emitOpError("has kind \"")
           << kernel.getKind() << "\", which is not supported by the CUDA backend";
  OpBuilder builder(module.getContext());
  if (!gpuModule) {
    builder.setInsertionPointToStart(module.getBody());
    gpuModule = gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
    symbols.insert(gpuModule);
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), builder.getUnitAttr());
  }
  SmallVector<Type> types;
  SmallVector<int64_t> alignments;
  for (const Place &place : places) {
    types.push_back(place.bufferType());
    alignments.push_back(place.alignment());
  }
  builder.setInsertionPointToEnd(gpuModule.getBody());
  std::string name = (kernel.getKind() + "_" + Twine(count++)).str();
  auto function =
      gpu::GPUFuncOp::create(builder, kernel.getLoc(), name, builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  describeWork(kernel, function);
  KernelEmitter emitter(kernel, kernel.getBody().front(), function, alignments);
  if (failed(generator->second(emitter)))
    return failure();
  auto entry = std::make_unique<Entry>();
  entry->kernel = kernel;
  entry->function = function;
  entry->launch = emitter.launch;
  return entry;
}

// ---- places -------------------------------------------------------------------------------------

static FailureOr<Place> makePlace(Operation *op, mlir::st::AddressAttr address, Type type) {
  Place place{address, cast<RankedTensorType>(type)};
  if (!getStorageType(place.type.getElementType()))
    return op->emitOpError("has values of ")
           << place.type.getElementType() << ", which is not supported by the CUDA backend";
  if (place.type.getNumElements() > std::numeric_limits<int32_t>::max())
    return op->emitOpError("has a value of ")
           << place.type.getNumElements() << " elements, expected at most 2147483647";
  return place;
}

FailureOr<Place> TaskConverter::placeOf(Value value) {
  Operation *op = value.getDefiningOp();
  auto addresses = op ? op->getAttrOfType<ArrayAttr>("st.addresses") : ArrayAttr();
  unsigned number = cast<OpResult>(value).getResultNumber();
  auto address = addresses && number < addresses.size()
                     ? dyn_cast<mlir::st::AddressAttr>(addresses[number])
                     : mlir::st::AddressAttr();
  if (!address)
    return op->emitOpError(
        "has no st.addresses, which convert-kernels-to-gpu needs: run plan-memory first");
  return makePlace(op, address, value.getType());
}

FailureOr<Place> TaskConverter::placeOfStorage(Operation *user, StringRef symbol) {
  Operation *storage = symbols.lookup(symbol);
  auto address =
      storage ? storage->getAttrOfType<mlir::st::AddressAttr>("address") : mlir::st::AddressAttr();
  if (!address)
    return user->emitOpError("names storage @")
           << symbol << ", which has no address: run plan-memory first";
  auto buffer = dyn_cast<mlir::st::BufferOp>(storage);
  if (buffer && buffer.isOnHost())
    return user->emitOpError("of the host's memory is not supported by the CUDA backend");
  auto type = storage->getAttrOfType<TypeAttr>(buffer ? "type" : "local_type");
  return makePlace(user, address, type.getValue());
}

Value TaskConverter::view(Location loc, const Place &place) {
  mlir::st::AddressAttr address = place.address;
  Value offset = arith::ConstantIndexOp::create(builder, loc, address.getOffset());
  if (address.getSlots() > 1) {
    auto constant = [&](int64_t value) {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value slot = arith::RemUIOp::create(builder, loc, microBatch, constant(address.getSlots()));
    Value distance = arith::MulIOp::create(builder, loc, slot, constant(address.getStride()));
    offset = arith::AddIOp::create(builder, loc, offset, distance);
  }
  Value memory = arena;
  if (place.isScratch)
    memory = ScratchOp::create(builder, loc, arena.getType());
  return memref::ViewOp::create(builder, loc, place.bufferType(), memory, offset, ValueRange());
}

// ---- ops ----------------------------------------------------------------------------------------

/// Returns true if each result is computed at the address to which it is written.
bool TaskConverter::isComputedInStorage(st::KernelOp kernel, ArrayRef<Place> places) {
  return llvm::all_of(kernel->getResults(), [&](OpResult result) {
    const Place &place = places[kernel.getInputs().size() + result.getResultNumber()];
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      auto write = dyn_cast<st::WriteOp>(user);
      if (!write)
        return false;
      FailureOr<Place> target = placeOfStorage(write, write.getTarget());
      return succeeded(target) && target->address == place.address;
    });
  });
}

LogicalResult TaskConverter::launch(st::KernelOp kernel, ArrayRef<Place> places) {
  FailureOr<const KernelLibrary::Entry *> entry = library.get(kernel, places);
  if (failed(entry))
    return failure();
  Location loc = kernel.getLoc();
  SmallVector<Value> operands;
  for (const Place &place : places)
    operands.push_back(view(loc, place));
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto size = [&](int64_t x) {
    return gpu::KernelDim3{arith::ConstantIndexOp::create(builder, loc, x), one, one};
  };
  auto op = gpu::LaunchFuncOp::create(builder, loc, (*entry)->function,
                                      size((*entry)->launch.blocks), size((*entry)->launch.threads),
                                      /*dynamicSharedMemorySize=*/Value(), operands);
  // If a copy to the storage follows, the kernel has to run in every step.
  if (kernel->hasAttr(kLeftByUpdateAttr) && isComputedInStorage(kernel, places))
    op->setAttr(kLeftByUpdateAttr, builder.getUnitAttr());
  launches[kernel] = op;
  return success();
}

/// Products are computed by cuBLASLt instead of generated kernels.
LogicalResult TaskConverter::convertProduct(st::KernelOp kernel, ArrayRef<Place> places) {
  std::optional<Product> product = matchProductKernel(kernel);
  if (!product)
    return kernel.emitOpError("of kind \"matmul\" is not a single product of cuBLASLt, which "
                              "convert-kernels-to-gpu needs: run split-products first");
  auto type = [](Value value) { return getElementTypeOrSelf(value.getType()); };
  Type left = type(product->dot.getLhs()), right = type(product->dot.getRhs());
  if (left != right || !hasProduct(left, type(product->result)))
    return product->dot.emitOpError("of ")
           << left << " and " << right << " to " << type(product->result)
           << " is not supported by the CUDA backend";
  Location loc = kernel.getLoc();
  const size_t inputs = kernel.getInputs().size();
  // An argument of the kernel, or else the kernel's second result.
  auto viewOf = [&](Value value) -> Value {
    if (!value)
      return {};
    auto argument = dyn_cast<BlockArgument>(value);
    return view(loc, argument ? places[argument.getArgNumber()] : places[inputs + 1]);
  };
  auto matrix = [&](const ProductLayout::Matrix &matrix) {
    return MatrixAttr::get(kernel.getContext(), matrix.row, matrix.column, matrix.batch);
  };
  const ProductLayout &layout = product->layout;
  Value a = viewOf(product->dot.getLhs()), b = viewOf(product->dot.getRhs());
  Value addend = viewOf(product->addend), bias = viewOf(product->bias);
  Value aux = viewOf(product->aux), sums = viewOf(product->sums);
  auto summed = sums ? OperandAttr::get(kernel.getContext(), product->summed) : OperandAttr();
  auto op = ProductOp::create(builder, loc, a, b, addend, bias, aux, sums, summed,
                              view(loc, places[inputs]), layout.m, layout.n, layout.k,
                              matrix(layout.a), matrix(layout.b), matrix(layout.d), layout.batch,
                              APFloat(product->scale), product->activation);
  const bool hasEpilogue = product->activation != Activation::None || product->sums;
  return hasEpilogue ? emitProductBody(kernel, *product, places, op) : success();
}

/// Returns true if a kernel joins values that are already in place in the result.
static bool joinsInPlace(st::KernelOp kernel, ArrayRef<Place> places) {
  if (!stablehlo::findJoinOfRuns(kernel.getBody().front()))
    return false;
  const Place &joined = places.back();
  int64_t offset = joined.address.getOffset();
  for (const Place &part : places.drop_back()) {
    if (part.address.getOffset() != offset ||
        part.address.getSlots() != joined.address.getSlots() ||
        part.address.getStride() != joined.address.getStride())
      return false;
    offset += part.bytes();
  }
  return true;
}

LogicalResult TaskConverter::convertKernel(st::KernelOp kernel) {
  if (llvm::all_of(kernel.getResultTypes(),
                   [](Type type) { return cast<RankedTensorType>(type).getNumElements() == 0; }))
    return success();
  if (kernel == isConverted)
    return success();
  FailureOr<SmallVector<Place>> places = placesOf(kernel);
  if (failed(places))
    return failure();
  if (kernel.getKind() == "matmul")
    return convertProduct(kernel, *places);
  if (kernel.getKind() == "attention")
    return convertAttentionKernel(kernel, *places);
  return joinsInPlace(kernel, *places) ? success() : launch(kernel, *places);
}

/// Returns the places of a kernel's inputs and results.
FailureOr<SmallVector<Place>> TaskConverter::placesOf(st::KernelOp kernel) {
  SmallVector<Place> places;
  for (ValueRange values : {ValueRange(kernel.getInputs()), ValueRange(kernel.getResults())})
    for (Value value : values) {
      FailureOr<Place> place = placeOf(value);
      if (failed(place))
        return failure();
      places.push_back(*place);
    }
  return places;
}

void TaskConverter::copy(Operation *op, const Place &from, const Place &to) {
  if ((from.isScratch == to.isScratch && from.address == to.address) || from.bytes() == 0)
    return;
  Value source = view(op->getLoc(), from), target = view(op->getLoc(), to);
  gpu::MemcpyOp::create(builder, op->getLoc(), TypeRange(), ValueRange(), target, source);
}

LogicalResult TaskConverter::convertWrite(st::WriteOp write) {
  FailureOr<Place> value = placeOf(write.getValue());
  FailureOr<Place> target = placeOfStorage(write, write.getTarget());
  if (failed(value) || failed(target))
    return failure();
  if (write.getAccumulate())
    return reduce(write, {*target, *value}, *target, *write.getAccumulate());
  copy(write, *value, *target);
  return success();
}

LogicalResult TaskConverter::convertConstant(stablehlo::ConstantOp constant) {
  FailureOr<Place> place = placeOf(constant.getResult());
  auto data = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (failed(place))
    return failure();
  if (!data)
    return constant.emitOpError("of this form is not supported by the CUDA backend");
  constants.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr("data", data),
       builder.getNamedAttr("offset", builder.getI64IntegerAttr(place->address.getOffset()))}));
  return success();
}

LogicalResult TaskConverter::convertAxisIndex(st::AxisIndexOp index) {
  FailureOr<Place> place = placeOf(index.getResult());
  if (failed(place))
    return failure();
  Location loc = index.getLoc();
  Value number = microBatch;
  if (index.getAxis() != st::MeshOp::kMicro)
    number = TableEntryOp::create(builder, loc, builder.getIndexType(),
                                  table.addShifted(index.getAxisAttr(), index.getShift()));
  WriteIndexOp::create(builder, loc, number, view(loc, *place));
  return success();
}

LogicalResult TaskConverter::convertBlock(Block &block) {
  for (Operation &op : block)
    if (failed(convert(&op)))
      return failure();
  return success();
}

/// Carried values are in buffers, and so is the predicate of the next trip, which the host fetches.
LogicalResult TaskConverter::convertLoop(st::LoopOp loop) {
  auto put = [&](Value value, StringRef buffer) -> LogicalResult {
    FailureOr<Place> from = placeOf(value), to = placeOfStorage(loop, buffer);
    if (failed(from) || failed(to))
      return failure();
    copy(loop, *from, *to);
    return success();
  };
  for (auto [init, buffer] : llvm::zip_equal(loop.getInits(), loop.getCarried()))
    if (failed(put(init, cast<FlatSymbolRefAttr>(buffer).getValue())))
      return failure();
  Location loc = loop.getLoc();
  LogicalResult result = success();
  auto convertBody = [&](OpBuilder &inner) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
    result = convertBlock(loop.getBody().front());
    scf::YieldOp::create(builder, loc);
  };
  if (std::optional<uint64_t> trips = loop.getTrips()) {
    auto constant = [&](int64_t value) {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    scf::ForOp::create(builder, loc, constant(0), constant(*trips), constant(1), ValueRange(),
                       [&](OpBuilder &inner, Location, Value, ValueRange) { convertBody(inner); });
    return result;
  }
  FailureOr<Place> predicate = placeOfStorage(loop, *loop.getPredicate());
  if (failed(predicate) || failed(put(loop.getCondition(), *loop.getPredicate())))
    return failure();
  Value fetched = memref::AllocaOp::create(builder, loc, predicate->bufferType());
  scf::WhileOp::create(
      builder, loc, TypeRange(), ValueRange(),
      [&](OpBuilder &inner, Location, ValueRange) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        gpu::MemcpyOp::create(builder, loc, TypeRange(), ValueRange(), fetched,
                              view(loc, *predicate));
        Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
        Value byte = memref::LoadOp::create(builder, loc, fetched, zero);
        Value holds =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, byte,
                                  arith::ConstantIntOp::create(builder, loc, byte.getType(), 0));
        scf::ConditionOp::create(builder, loc, holds, ValueRange());
      },
      [&](OpBuilder &inner, Location, ValueRange) { convertBody(inner); });
  return result;
}

LogicalResult TaskConverter::convert(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](st::ReadOp read) {
        return success(succeeded(placeOfStorage(read, read.getSource())));
      })
      .Case([&](st::WriteOp write) { return convertWrite(write); })
      .Case([&](st::KernelOp kernel) { return convertKernel(kernel); })
      .Case([](st::CaptureOp) { return success(); })
      .Case([&](st::LoopOp loop) { return convertLoop(loop); })
      .Case([&](stablehlo::ConstantOp constant) { return convertConstant(constant); })
      .Case([&](stablehlo::ReshapeOp reshape) -> LogicalResult {
        FailureOr<Place> from = placeOf(reshape.getOperand()), to = placeOf(reshape.getResult());
        if (failed(from) || failed(to))
          return failure();
        copy(reshape, *from, *to);
        return success();
      })
      .Case([&](st::AxisIndexOp index) { return convertAxisIndex(index); })
      .Case([&](st::AllSliceOp slice) { return convertAllSlice(slice); })
      .Case<st::AllReduceOp, st::AllGatherOp, st::ReduceScatterOp, st::AllToAllOp,
            st::CollectivePermuteOp>(
          [&](Operation *collective) { return convertCollective(collective); })
      .Case([&](st::SendOp send) { return convertSend(send); })
      .Case([&](st::RecvOp receive) { return convertReceive(receive); })
      .Default([](Operation *other) {
        return other->emitOpError("is not supported by the CUDA backend");
      });
}

FailureOr<func::FuncOp> TaskConverter::run() {
  Location loc = task.getLoc();
  builder.setInsertionPoint(program);
  auto arenaType = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  auto function =
      func::FuncOp::create(builder, loc, (program.getSymName() + "_" + task.getSymName()).str(),
                           builder.getFunctionType({arenaType, builder.getIndexType()}, {}));
  Block *entry = function.addEntryBlock();
  arena = entry->getArgument(0);
  microBatch = entry->getArgument(1);
  builder.setInsertionPointToEnd(entry);
  if (failed(convertBlock(task.getBody().front())))
    return failure();
  func::ReturnOp::create(builder, loc);
  return function;
}

// ---- the pass -----------------------------------------------------------------------------------

static constexpr mlir::st::FactContract kContract = {
    {mlir::st::Fact::Programs, mlir::st::Fact::Addresses},
    {mlir::st::Fact::TensorOps, mlir::st::Fact::DeviceCode}};

void ConvertKernelsToGpuPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(mlir::st::checkFacts(module, getArgument(), kContract)))
    return signalPassFailure();
  KernelLibrary library(module);
  SymbolTable symbols(module);
  SmallVector<mlir::st::TaskOp> tasks;
  SmallVector<OwningOpRef<st::KernelOp>> kernels;
  Builder attributes(&getContext());
  int64_t scratchBytes = 0;
  const int64_t bodyScratchBytes = getBodyScratchBytes(module);
  for (auto program : module.getOps<mlir::st::ProgramOp>()) {
    SmallVector<Attribute> constants;
    mlir::st::RankTable table(program, mlir::st::getMesh(program));
    for (auto task : program.getBody().getOps<mlir::st::TaskOp>()) {
      TaskConverter converter(task, library, table, {attention, explain});
      converter.bodyScratchBytes = bodyScratchBytes;
      FailureOr<func::FuncOp> function = converter.run();
      if (failed(function))
        return signalPassFailure();
      symbols.insert(*function);
      task->setAttr(kFunctionAttr, FlatSymbolRefAttr::get(function->getSymNameAttr()));
      llvm::append_range(constants, converter.constants);
      scratchBytes = std::max(scratchBytes, converter.scratchBytes);
      numAttention += converter.numAttention;
      llvm::move(converter.generatedKernels, std::back_inserter(kernels));
      tasks.push_back(task);
    }
    program->setAttr(kConstantsAttr, ArrayAttr::get(&getContext(), constants));
    if (table.size() > 0) {
      program->setAttr(kTableSizeAttr, attributes.getI64IntegerAttr(table.size()));
      program->setAttr(kRankTableAttr, attributes.getDenseI64ArrayAttr(table.getTables()));
    }
  }
  if (scratchBytes > 0)
    module->setAttr(kScratchAttr, attributes.getI64IntegerAttr(scratchBytes));
  numKernels = library.size();
  kernels.clear();
  for (mlir::st::TaskOp task : tasks) {
    Block &body = task.getBody().front();
    while (!body.empty()) {
      body.back().dropAllUses();
      body.back().erase();
    }
  }
}
