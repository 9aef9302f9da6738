//===- ImportVhlo.cpp - st-translate --import-vhlo ------------------------===//

#include "dialects/VHLO/PortableModule.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "st/InitAll.h"
#include "tools/st-translate/Translations.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::st {

void registerImportVhlo() {
  static TranslateToMLIRRegistration registration(
      "import-vhlo", "read a portable artifact of StableHLO, as JAX serialises programs",
      [](llvm::SourceMgr &source, MLIRContext *context) -> OwningOpRef<Operation *> {
        return readPortableModule(source.getMemoryBuffer(source.getMainFileID())->getMemBufferRef(),
                                  *context);
      },
      [](DialectRegistry &registry) { registerAllDialects(registry); });
}

} // namespace mlir::st
