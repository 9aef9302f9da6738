//===- st-translate.cpp - To and from what is not MLIR --------------------===//

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "tools/CommandLine.h"
#include "tools/st-translate/Translations.h"

static constexpr void (*kTranslations[])() = {
    mlir::st::registerExecutableToText,
    mlir::st::registerImportHfConfig,
    mlir::st::registerImportHloProto,
    mlir::st::registerInterpret,
    mlir::st::registerTextToTokenIds,
};

int main(int argc, char **argv) {
  mlir::st::hideLibraryOptions();
  for (auto registerTranslation : kTranslations)
    registerTranslation();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "St translation driver\n"));
}
