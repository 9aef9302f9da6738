//===- InitAll.cpp - Registration of everything St has --------------------===//

#include "st/InitAll.h"

#include "backends/common/Passes.h"
#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/dtu/IR/DtuDialect.h"
#include "backends/dtu/codegen/Passes.h"
#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLODialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Collectives/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Kernels/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Propagation/Passes.h"

using namespace mlir;

void mlir::st::registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
  registry.insert<chlo::ChloDialect, cuda::CudaDialect, dtu::DtuDialect, sdy::SdyDialect,
                  st::StDialect, stablehlo::StableHLODialect>();
}

void mlir::st::registerAllPasses() {
  mlir::registerAllPasses();
  registerAutodiffPasses();
  registerBackendCommonPasses();
  registerCollectivesPasses();
  cuda::registerCudaCodegenPasses();
  cuda::registerCudaPipelines();
  dtu::registerDtuCodegenPasses();
  registerImportPasses();
  registerKernelsPasses();
  registerMemoryPasses();
  registerPipelinePasses();
  registerPartitionPasses();
  registerPrecisionPasses();
  registerPropagationPasses();
}
