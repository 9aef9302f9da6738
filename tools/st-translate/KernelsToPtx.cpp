//===- KernelsToPtx.cpp - st-translate --kernels-to-ptx -------------------===//

#include "backends/cuda/codegen/lowering/Ptx.h"
#include "lib/Driver/ProgramFile.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "st/InitAll.h"
#include "tools/st-translate/Translations.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::st {
namespace {

struct PtxFlags {
  llvm::cl::opt<std::string> chip{
      "chip", llvm::cl::init("sm_90"), llvm::cl::value_desc("name"),
      llvm::cl::desc("--kernels-to-ptx: target architecture, sm_80 or newer (default: sm_90)")};
  llvm::cl::opt<std::string> toolkit{
      "cuda-path", llvm::cl::value_desc("folder"),
      llvm::cl::desc("--kernels-to-ptx: the CUDA installation whose libdevice is linked")};
};

LogicalResult translateKernels(const PtxFlags &flags,
                               const std::shared_ptr<llvm::SourceMgr> &source,
                               llvm::raw_ostream &os, MLIRContext *context) {
  static const bool registered = [] {
    registerAllPasses();
    return true;
  }();
  (void)registered;
  DialectRegistry registry;
  registerAllDialects(registry);
  context->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = parseProgram(source, ParserConfig(context));
  if (!module)
    return failure();
  FailureOr<std::string> ptx = cuda::compileToPtx(*module, {flags.chip, flags.toolkit});
  if (failed(ptx))
    return failure();
  os << *ptx;
  return success();
}

} // namespace

void registerKernelsToPtx() {
  static PtxFlags flags;
  static TranslateRegistration registration(
      "kernels-to-ptx", "compile the kernels of planned programs for an NVIDIA GPU",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os,
         MLIRContext *context) { return translateKernels(flags, source, os, context); });
}

} // namespace mlir::st
