//===- ImportHlo.cpp - st-translate --import-hlo-proto, --import-hlo-text -===//

#include "lib/Hlo/HloImporter.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "st/InitAll.h"
#include "tools/st-translate/Translations.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::st {

template <auto parse>
static OwningOpRef<Operation *> import(llvm::SourceMgr &source, MLIRContext *context) {
  const llvm::MemoryBuffer *buffer = source.getMemoryBuffer(source.getMainFileID());
  auto module = parse(buffer->getBuffer(), buffer->getBufferIdentifier(), context);
  if (!module)
    return nullptr;
  return importHloModule(*module, context);
}

void registerImportHlo() {
  auto registerDialects = [](DialectRegistry &registry) { registerAllDialects(registry); };
  static TranslateToMLIRRegistration proto("import-hlo-proto",
                                           "read an HloModuleProto, binary or in text form",
                                           import<parseHloProto>, registerDialects);
  static TranslateToMLIRRegistration text("import-hlo-text", "read HLO as XLA prints it",
                                          import<parseHloText>, registerDialects);
}

} // namespace mlir::st
