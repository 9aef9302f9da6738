//===- st-opt.cpp - Runs passes on textual IR -----------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "st/InitAll.h"
#include "tools/CommandLine.h"

int main(int argc, char **argv) {
  mlir::st::hideLibraryOptions();
  mlir::st::registerAllPasses();
  mlir::DialectRegistry registry;
  mlir::st::registerAllDialects(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "St optimizer driver\n", registry));
}
