//===- ImportHloProto.cpp - st-translate --import-hlo-proto ---------------===//

#include "lib/Hlo/HloImporter.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "st/InitAll.h"
#include "tools/st-translate/Translations.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::st {

static OwningOpRef<Operation *> importHloProto(llvm::SourceMgr &source, MLIRContext *context) {
  const llvm::MemoryBuffer *buffer = source.getMemoryBuffer(source.getMainFileID());
  auto module = parseHloModule(buffer->getBuffer(), buffer->getBufferIdentifier(), context);
  if (!module)
    return nullptr;
  return importHloModule(*module, context);
}

void registerImportHloProto() {
  static TranslateToMLIRRegistration registration(
      "import-hlo-proto", "read an HloModuleProto, binary or in text form", importHloProto,
      [](DialectRegistry &registry) { registerAllDialects(registry); });
}

} // namespace mlir::st
