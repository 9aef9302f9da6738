#include "tools/st-cuda-host-run/HostRun.h"

#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/executable/HostImage.h"
#include "backends/cuda/codegen/kernels/SharedMemory.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "lib/Reference/TensorTypes.h"
#include "tools/KernelProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>

using namespace mlir;
using namespace mlir::st;

namespace {
/// The type of a task's argument for its arena: a buffer of one dimension.
struct Arena {
  std::byte *allocated, *aligned;
  int64_t offset, size, stride;
};

class HostRun {
public:
  explicit HostRun(ModuleOp module) : module(module) {}

  LogicalResult prepare();
  LogicalResult lower(const HostRunOptions &options);
  LogicalResult execute(const ref::NamedTensors &inputs, int steps);
  ref::NamedTensors results();

private:
  ModuleOp module;
  ProgramOp program;
  int64_t bytes = 0;
  std::vector<std::byte> memory;
  std::byte *base = nullptr;
  DenseSet<Operation *> written; // states

  LogicalResult load(Operation *storage, StringRef name, const ref::NamedTensors &inputs);
  void makeLaterStep();
  void grow(Attribute address, Type type);
};
} // namespace

static Type storedType(Operation *storage) {
  auto type = storage->getAttrOfType<TypeAttr>(isa<BufferOp>(storage) ? "type" : "local_type");
  return type ? type.getValue() : Type();
}

void HostRun::grow(Attribute attribute, Type type) {
  if (auto address = dyn_cast_or_null<AddressAttr>(attribute))
    bytes = std::max(bytes, static_cast<int64_t>(address.getOffset()) +
                                (address.getSlots() - 1) * address.getStride() + tensorBytes(type));
}

/// Finds the program and the size of its arena.
LogicalResult HostRun::prepare() {
  auto programs = module.getOps<ProgramOp>();
  if (!llvm::hasSingleElement(programs))
    return module.emitError("expected one st.program");
  program = *programs.begin();
  MeshOp mesh = getMesh(program);
  if (program.getDevices().size() != 1 || (mesh && mesh.getMicro() != 1))
    return program.emitOpError("has ")
           << program.getDevices().size() << " devices and " << (mesh ? mesh.getMicro() : 1)
           << " micro-batches, expected one of each";
  for (Operation &op : program.getBody().front())
    if (Type type = storedType(&op))
      grow(op.getAttr("address"), type);
  program.walk([&](Operation *op) {
    if (auto addresses = op->getAttrOfType<ArrayAttr>("st.addresses"))
      for (auto [address, result] : llvm::zip(addresses, op->getResults()))
        grow(address, result.getType());
    if (auto write = dyn_cast<WriteOp>(op))
      written.insert(SymbolTable::lookupSymbolIn(program, write.getTargetAttr()));
  });
  return success();
}

static LogicalResult runPasses(ModuleOp module, StringRef passes) {
  PassManager manager(module.getContext());
  return success(succeeded(parsePassPipeline(passes, manager)) && succeeded(manager.run(module)));
}

static constexpr llvm::StringLiteral kEmission = "convert-kernels-to-gpu,merge-launches";
static constexpr llvm::StringLiteral kLater = "_later";

/// Adds a copy of each task's function without the launches whose results the update has already
/// written.
void HostRun::makeLaterStep() {
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    function->setAttr("llvm.emit_c_interface", UnitAttr::get(module.getContext()));
    OpBuilder builder(function);
    auto later = cast<func::FuncOp>(builder.clone(*function));
    later.setName((function.getName() + kLater).str());
    later.walk([](gpu::LaunchFuncOp launch) {
      if (launch->hasAttr(cuda::kLeftByUpdateAttr))
        launch.erase();
    });
  }
}

LogicalResult HostRun::lower(const HostRunOptions &options) {
  if (failed(runPasses(module, kEmission)))
    return failure();
  makeLaterStep();
  if (options.expanded &&
      failed(runPasses(module, "gpu.module(expand-semaphores,use-dynamic-shared-memory)")))
    return failure();
  std::string passes =
      llvm::formatv("gpu-to-host{{descending={0} approximation-error={1:e}}",
                    options.descending ? "true" : "false", options.approximationError);
  return runPasses(module, passes);
}

LogicalResult HostRun::load(Operation *storage, StringRef name, const ref::NamedTensors &inputs) {
  auto input = inputs.find(name.str());
  if (input == inputs.end())
    return storage->emitOpError("has no tensor \"") << name << "\" among the inputs";
  if (!ref::isOfType(input->second, storedType(storage)))
    return storage->emitOpError("is ")
           << storedType(storage) << ", the input " << ref::toString(input->second);
  auto address = storage->getAttrOfType<AddressAttr>("address");
  std::memcpy(base + address.getOffset(), input->second.bytes(), input->second.getByteSize());
  return success();
}

/// Only a few steps run, so optimised code generation would cost more time than it saves. The
/// engine does not pass its option for this level to a target machine that it creates.
static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeMachine() {
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  return host->createTargetMachine();
}

LogicalResult HostRun::execute(const ref::NamedTensors &inputs, int steps) {
  // A value that is read before it is written is NaN, so the error appears in the results.
  constexpr int64_t kAlignment = 256;
  memory.assign(bytes + kAlignment, std::byte(0xff));
  base = memory.data();
  base += llvm::offsetToAlignedAddr(base, llvm::Align(kAlignment));
  for (Operation &op : program.getBody().front()) {
    if (auto input = dyn_cast<InputOp>(op); input && failed(load(&op, input.getName(), inputs)))
      return failure();
    if (auto state = dyn_cast<StateOp>(op); state && failed(load(&op, state.getName(), inputs)))
      return failure();
  }
  for (Attribute attribute : program->getAttrOfType<ArrayAttr>(cuda::kConstantsAttr)) {
    auto constant = cast<DictionaryAttr>(attribute);
    ref::Tensor data = ref::fromAttribute(cast<ElementsAttr>(constant.get("data")));
    int64_t offset = cast<IntegerAttr>(constant.get("offset")).getInt();
    std::memcpy(base + offset, data.bytes(), data.getByteSize());
  }

  SmallVector<std::pair<StringRef, int64_t>> calls;
  for (auto schedule : program.getBody().getOps<ScheduleOp>())
    for (auto [task, microBatch] : llvm::zip_equal(
             schedule.getTasks().getAsRange<FlatSymbolRefAttr>(), schedule.getMicroBatches())) {
      Operation *op = SymbolTable::lookupSymbolIn(program, task);
      calls.push_back(
          {op->getAttrOfType<FlatSymbolRefAttr>(cuda::kFunctionAttr).getValue(), microBatch});
    }

  // The engine compiles all of a module, so the programs must not be in it.
  OwningOpRef<ModuleOp> code = module.clone();
  for (Operation &op : llvm::make_early_inc_range(code->getBody()->getOperations()))
    if (!isa<func::FuncOp, memref::GlobalOp>(op))
      op.erase();
  for (NamedAttribute attribute : llvm::to_vector((*code)->getAttrs()))
    if (attribute.getName() != SymbolTable::getSymbolAttrName())
      (*code)->removeAttr(attribute.getName());
  PassManager passes(module.getContext());
  if (failed(parsePassPipeline("lower-host-kernels-to-llvm", passes)) || failed(passes.run(*code)))
    return failure();
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = makeMachine();
  if (!machine)
    return module.emitError("cannot be compiled: ") << llvm::toString(machine.takeError());
  ExecutionEngineOptions options;
  auto addRounding = [](llvm::Module *code) {
    cuda::addBf16Rounding(*code);
    return llvm::Error::success();
  };
  options.transformer = addRounding;
  auto engine = ExecutionEngine::create(*code, options, std::move(*machine));
  if (!engine)
    return module.emitError("cannot be compiled: ") << llvm::toString(engine.takeError());
  for (int step = 0; step < steps; ++step)
    for (auto [name, microBatch] : calls) {
      std::string function = ("_mlir_ciface_" + name + (step > 0 ? kLater : "")).str();
      auto symbol = (*engine)->lookup(function);
      if (!symbol)
        return module.emitError("has no function ")
               << function << ": " << llvm::toString(symbol.takeError());
      Arena arena{base, base, 0, bytes, 1};
      reinterpret_cast<void (*)(Arena *, int64_t)>(*symbol)(&arena, microBatch);
    }
  if (!code->lookupSymbol(cuda::kUnmetWaitSymbol))
    return success();
  auto missed = (*engine)->lookup(cuda::kUnmetWaitSymbol);
  if (!missed)
    return module.emitError("has no @st_unmet_wait: ") << llvm::toString(missed.takeError());
  if (*static_cast<const int32_t *>(*missed) != 0)
    return module.emitError("a block waits forever for a semaphore");
  return success();
}

ref::NamedTensors HostRun::results() {
  ref::NamedTensors results;
  auto collect = [&](Operation *storage, StringRef name) {
    auto type = cast<RankedTensorType>(storedType(storage));
    ref::Tensor tensor(*ref::getTensorElementType(type), type.getShape());
    auto address = storage->getAttrOfType<AddressAttr>("address");
    std::memcpy(tensor.mutableData<std::byte>(), base + address.getOffset(), tensor.getByteSize());
    results.insert({name.str(), tensor});
  };
  for (Operation &op : program.getBody().front()) {
    if (auto output = dyn_cast<OutputOp>(op))
      collect(&op, output.getName());
    if (auto state = dyn_cast<StateOp>(op); state && written.contains(state))
      collect(&op, state.getName());
  }
  return results;
}

FailureOr<bool> mlir::st::hasExpandedCode(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(runPasses(*copy, kEmission)))
    return failure();
  bool found = false;
  copy->walk([&](gpu::GPUFuncOp kernel) { found |= cuda::getDynamicSharedBytes(kernel) > 0; });
  copy->walk([&](cuda::TakeTicketOp) { found = true; });
  return found;
}

FailureOr<ref::NamedTensors> mlir::st::runOnHost(ModuleOp module, const ref::NamedTensors &inputs,
                                                 const HostRunOptions &options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  HostRun run(module);
  if (failed(run.prepare()) || failed(run.lower(options)) ||
      failed(run.execute(inputs, options.steps)))
    return failure();
  return run.results();
}
