// example-opt: MLIR's driver with St's dialects and passes, and the pass of this folder.

#include "CountFlops.h"

#include "st/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::st::registerAllDialects(registry);
  mlir::st::registerAllPasses();
  registerCountFlops();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "example optimizer driver\n", registry));
}
