#include "backends/cuda/codegen/executable/HostImage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace mlir;
using namespace mlir::cuda;
namespace proto = ::st::proto;

/// Supported by hosts of the last ten years. It has instructions that convert 16-bit
/// floats.
static constexpr StringLiteral kX86 = "x86-64-v3";
/// Kernels are long and runs on the host are short, so vectorization and optimizing code generation
/// would cost more time than they save.
static constexpr llvm::CodeGenOptLevel kCodeGenLevel = llvm::CodeGenOptLevel::None;
static constexpr StringLiteral kPasses =
    "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse)";

// ---- entries ------------------------------------------------------------------------------------

/// Creates a function that launches a kernel on arguments given by their offsets in one memory.
static void makeEntry(OpBuilder &builder, gpu::GPUFuncOp kernel,
                      const proto::CudaKernel &description) {
  Location loc = kernel.getLoc();
  ArrayRef<Type> buffers = kernel.getFunctionType().getInputs();
  auto memory = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  auto offsets = MemRefType::get({static_cast<int64_t>(buffers.size())}, builder.getIndexType());
  auto entry = func::FuncOp::create(builder, loc, ("launch_" + kernel.getName()).str(),
                                    builder.getFunctionType({memory, offsets}, {}));
  entry->setAttr("llvm.emit_c_interface", builder.getUnitAttr());
  OpBuilder body = OpBuilder::atBlockBegin(entry.addEntryBlock());
  auto constant = [&](int64_t value) { return arith::ConstantIndexOp::create(body, loc, value); };
  SmallVector<Value> arguments;
  for (auto [number, type] : llvm::enumerate(buffers)) {
    Value offset =
        memref::LoadOp::create(body, loc, entry.getArgument(1), constant(number).getResult());
    arguments.push_back(memref::ViewOp::create(body, loc, cast<MemRefType>(type),
                                               entry.getArgument(0), offset, ValueRange()));
  }
  Value one = constant(1);
  gpu::LaunchFuncOp::create(body, loc, kernel, {constant(description.blocks()), one, one},
                            {constant(description.threads()), one, one}, Value(), arguments);
  func::ReturnOp::create(body, loc);
}

/// Returns a module with only the kernels and their entries, lowered to LLVM's dialect.
static FailureOr<OwningOpRef<ModuleOp>> lowerKernels(ModuleOp module, const CommandLists &lists) {
  OwningOpRef<ModuleOp> code = ModuleOp::create(module.getLoc());
  (*code)->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                   UnitAttr::get(module.getContext()));
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    builder.clone(*kernels);
  for (auto [number, kernel] : llvm::enumerate(lists.getKernels()))
    makeEntry(builder, kernel, lists.describe(number));
  PassManager passes(module.getContext());
  if (failed(parsePassPipeline("gpu-to-host,lower-host-kernels-to-llvm", passes)) ||
      failed(passes.run(*code)))
    return failure();
  return code;
}

// ---- objects ------------------------------------------------------------------------------------

static FailureOr<std::unique_ptr<llvm::TargetMachine>> makeMachine(ModuleOp module,
                                                                   std::string &chip) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  chip = triple.getArch() == llvm::Triple::x86_64 ? kX86.str() : "generic";
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  std::unique_ptr<llvm::TargetMachine> machine;
  if (target)
    machine.reset(target->createTargetMachine(triple, chip, "", {}, llvm::Reloc::PIC_, std::nullopt,
                                              kCodeGenLevel));
  if (!machine)
    return module.emitError("kernels cannot be compiled for the host, ")
           << triple.str() << ": " << message;
  return machine;
}

/// Rounds to nearest, ties to even.
void mlir::cuda::addBf16Rounding(llvm::Module &code) {
  llvm::IRBuilder<> builder(code.getContext());
  llvm::Type *word = builder.getInt32Ty();
  auto *type = llvm::FunctionType::get(builder.getBFloatTy(), {builder.getFloatTy()}, false);
  auto *function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "__truncsfbf2", code);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  llvm::appendToUsed(code, {function});
  builder.SetInsertPoint(llvm::BasicBlock::Create(code.getContext(), "", function));
  llvm::Value *number = function->getArg(0), *bits = builder.CreateBitCast(number, word);
  llvm::Value *upper = builder.CreateLShr(bits, 16);
  llvm::Value *tie = builder.CreateAnd(upper, builder.getInt32(1));
  llvm::Value *sum = builder.CreateAdd(bits, builder.CreateAdd(tie, builder.getInt32(0x7fff)));
  llvm::Value *quiet = builder.CreateOr(upper, builder.getInt32(0x40));
  llvm::Value *rounded = builder.CreateSelect(builder.CreateFCmpUNO(number, number), quiet,
                                              builder.CreateLShr(sum, 16));
  builder.CreateRet(builder.CreateBitCast(builder.CreateTrunc(rounded, builder.getInt16Ty()),
                                          builder.getBFloatTy()));
}

static llvm::Error optimize(llvm::Module &code, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, kPasses))
    return error;
  passes.run(code, modules);
  return llvm::Error::success();
}

static LogicalResult writeObject(ModuleOp module, llvm::Module &code, llvm::TargetMachine &machine,
                                 int file) {
  code.setDataLayout(machine.createDataLayout());
  code.setTargetTriple(machine.getTargetTriple());
  addBf16Rounding(code);
  if (llvm::Error error = optimize(code, machine))
    return module.emitError("kernels cannot be optimised: ") << llvm::toString(std::move(error));
  llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError("kernels cannot be compiled to an object for the host");
  passes.run(code);
  stream.flush();
  if (!stream.has_error())
    return success();
  std::string message = stream.error().message();
  stream.clear_error();
  return module.emitError("cannot write kernels for the host: ") << message;
}

static LogicalResult link(ModuleOp module, StringRef object, StringRef library) {
  std::string linker;
  for (StringRef name : {"ld.lld", "ld"})
    if (auto found = llvm::sys::findProgramByName(name); found && linker.empty())
      linker = *found;
  if (linker.empty())
    return module.emitError("kernels for the host need a linker, ld.lld or ld, and PATH has none");
  std::string message;
  int code = llvm::sys::ExecuteAndWait(linker, {linker, "-shared", "-s", "-o", library, object},
                                       std::nullopt, {}, 0, 0, &message);
  if (code != 0)
    return module.emitError("linking kernels for the host with ")
           << linker << " failed" << (message.empty() ? "" : ": " + message);
  return success();
}

FailureOr<proto::CudaImage> mlir::cuda::compileHostImage(ModuleOp module,
                                                         const CommandLists &lists) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  FailureOr<OwningOpRef<ModuleOp>> lowered = lowerKernels(module, lists);
  if (failed(lowered))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(**lowered, context);
  if (!code)
    return failure();
  proto::CudaImage image;
  image.set_kind(proto::CudaImage::HOST);
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine =
      makeMachine(module, *image.mutable_chip());
  if (failed(machine))
    return failure();
  namespace fs = llvm::sys::fs;
  SmallString<128> object, library;
  int file;
  if (std::error_code error = fs::createTemporaryFile("st-kernels", "o", file, object))
    return module.emitError("cannot write kernels for the host: ") << error.message();
  auto removeFiles = llvm::make_scope_exit([&] {
    fs::remove(object);
    fs::remove(library);
  });
  if (failed(writeObject(module, *code, **machine, file)))
    return failure();
  if (std::error_code error = fs::createTemporaryFile("st-kernels", "so", library))
    return module.emitError("cannot write kernels for the host: ") << error.message();
  if (failed(link(module, object, library)))
    return failure();
  auto bytes =
      llvm::MemoryBuffer::getFile(library, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes)
    return module.emitError("cannot read kernels for the host: ") << bytes.getError().message();
  image.set_data((*bytes)->getBuffer().str());
  return image;
}
