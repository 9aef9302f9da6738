//===- st-reduce.cpp - Smaller programs that fail alike -------------------===//
//
// A thin main over MLIR's mlir-reduce. The test is a command that gets the path of a program. It
// exits with a nonzero status if the program is interesting.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/ErrorHandlers.h"
#include "st/InitAll.h"
#include "tools/CommandLine.h"
#include "tools/st-reduce/ReductionPatterns.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace mlir::st;

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  installErrorHandlers("st-reduce");
  hideLibraryOptions();
  registerAllPasses();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerReductionPatterns(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // The pass collects patterns from the loaded dialects before it parses a program.
  context.loadAllAvailableDialects();
  return failed(mlirReduceMain(argc, argv, context));
}
