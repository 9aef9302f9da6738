#include "plugins/pjrt/compile/ReadFunction.h"

#include "backends/common/Passes.h"
#include "backends/dtu/IR/DtuDialect.h"
#include "backends/dtu/codegen/Passes.h"
#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLODialect.h"
#include "dialects/VHLO/PortableModule.h"
#include "lib/Driver/ProgramFile.h"
#include "lib/Timing/GpuDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Collectives/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Kernels/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Propagation/Passes.h"
#include "plugins/pjrt/compile/GpuDialects.h"
#include "llvm/Support/SourceMgr.h"

#include <mutex>

using namespace mlir;

namespace st::pjrt {

static void registerPasses() {
  mlir::st::registerAutodiffPasses();
  mlir::st::registerBackendCommonPasses();
  mlir::st::registerCollectivesPasses();
  mlir::dtu::registerDtuCodegenPasses();
  mlir::st::registerImportPasses();
  mlir::st::registerKernelsPasses();
  mlir::st::registerMemoryPasses();
  mlir::st::registerPartitionPasses();
  mlir::st::registerPipelinePasses();
  mlir::st::registerPropagationPasses();
}

static DialectRegistry *makeRegistry() {
  registerPasses();
  auto *created = new DialectRegistry();
  created->insert<chlo::ChloDialect, dtu::DtuDialect, func::FuncDialect, sdy::SdyDialect,
                  mlir::st::StDialect, stablehlo::StableHLODialect>();
  return created;
}

const DialectRegistry &functionDialects(const std::string &target) {
  static DialectRegistry *const registry = makeRegistry();
  if (isGpuName(target)) {
    static std::once_flag once;
    std::call_once(once, registerGpuLowering, *registry);
  }
  return *registry;
}

OwningOpRef<ModuleOp> readFunction(StringRef code, MLIRContext *context) {
  if (mlir::st::isPortableArtifact(code))
    return mlir::st::readPortableModule(llvm::MemoryBufferRef(code, "<function>"), *context);
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(code, "<function>"), SMLoc());
  return mlir::st::parseProgram(source, ParserConfig(context));
}

} // namespace st::pjrt
