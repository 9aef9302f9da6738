//===- st-lsp-server.cpp - Language server for St's dialects --------------===//
//
// A thin main over MLIR's language server: an editor that starts it shows definitions, uses, types
// and verifier errors of .mlir files.
//
//===----------------------------------------------------------------------===//

#include "st/InitAll.h"
#include "tools/CommandLine.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

using namespace mlir;
using namespace mlir::st;

int main(int argc, char **argv) {
  hideLibraryOptions();
  DialectRegistry registry;
  registerAllDialects(registry);
  return failed(MlirLspServerMain(argc, argv, registry));
}
