#include "backends/cuda/codegen/lowering/Ptx.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;

static LogicalResult runPasses(ModuleOp module, const std::string &pipeline) {
  PassManager passes(module.getContext());
  if (failed(parsePassPipeline(pipeline, passes)))
    return failure();
  return passes.run(module);
}

static std::string findToolkit(const std::string &given) {
  std::string root = given;
  if (root.empty())
    root = llvm::sys::Process::GetEnv("CUDA_HOME").value_or("/usr/local/cuda");
  return llvm::sys::fs::exists(root + "/nvvm/libdevice/libdevice.10.bc") ? root : "";
}

/// The first function of libdevice that a kernel calls.
static Operation *findLibraryCall(ModuleOp module) {
  Operation *found = nullptr;
  module.walk([&](LLVM::CallOp call) {
    std::optional<StringRef> callee = call.getCallee();
    if (!found && callee && callee->starts_with("__nv_"))
      found = call;
  });
  return found;
}

/// Shared memory that a launch requests has no size in the code. ptxas treats a definition of no
/// bytes as one byte, and warns about every access.
static void declareDynamicMemory(ModuleOp module) {
  constexpr unsigned kShared = 3;
  module.walk([](LLVM::GlobalOp global) {
    auto type = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
    if (type && type.getNumElements() == 0 && global.getAddrSpace() == kShared)
      global.setLinkage(LLVM::Linkage::External);
  });
}

FailureOr<std::string> mlir::cuda::compileToPtx(ModuleOp module, const PtxOptions &options) {
  if (module.getOps<gpu::GPUModuleOp>().empty() &&
      failed(runPasses(module, "convert-kernels-to-gpu,merge-launches")))
    return failure();
  if (failed(runPasses(module, "lower-kernels-to-nvvm{chip=" + options.chip + "}")))
    return failure();
  declareDynamicMemory(module);
  std::string toolkit;
  if (Operation *call = findLibraryCall(module)) {
    toolkit = findToolkit(options.toolkit);
    if (toolkit.empty())
      return call->emitOpError("calls ") << cast<LLVM::CallOp>(call).getCallee()->str()
                                         << " of libdevice, but no CUDA installation was found";
  }
  if (failed(runPasses(module, "gpu-module-to-binary{format=isa" +
                                   (toolkit.empty() ? "" : " toolkit=" + toolkit) + "}")))
    return failure();
  std::string text;
  for (auto binary : module.getOps<gpu::BinaryOp>())
    for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>())
      text += object.getObject().getValue().rtrim('\0').str();
  return text;
}

std::string mlir::cuda::findCudaTool(StringRef name) {
  if (auto found = llvm::sys::findProgramByName(name))
    return *found;
  std::string installed =
      llvm::sys::Process::GetEnv("CUDA_HOME").value_or("/usr/local/cuda") + "/bin/" + name.str();
  return llvm::sys::fs::can_execute(installed) ? installed : "";
}

FailureOr<std::optional<std::string>>
mlir::cuda::assemblePtx(ModuleOp module, const std::string &ptx, const std::string &chip) {
  namespace fs = llvm::sys::fs;
  std::string ptxas = findCudaTool("ptxas");
  if (ptxas.empty())
    return std::optional<std::string>();
  SmallString<128> source, cubin;
  int file;
  if (fs::createTemporaryFile("st-kernels", "ptx", file, source) ||
      fs::createTemporaryFile("st-kernels", "cubin", cubin))
    return module.emitError("cannot write the files that ptxas needs");
  auto removeFiles = llvm::make_scope_exit([&] {
    fs::remove(source);
    fs::remove(cubin);
  });
  {
    llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
    stream << ptx;
  }
  std::string message;
  if (llvm::sys::ExecuteAndWait(ptxas, {ptxas, "-arch=" + chip, "-o", cubin, source}, std::nullopt,
                                {}, 0, 0, &message) != 0)
    return module.emitError("assembling kernels with ")
           << ptxas << " failed" << (message.empty() ? "" : ": " + message);
  auto bytes = llvm::MemoryBuffer::getFile(cubin, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return module.emitError("cannot read the output of ptxas: ") << bytes.getError().message();
  return std::optional((*bytes)->getBuffer().str());
}
