// XLA's HLO, protos and text: accepted input imports as a valid module, or gives an error.

#include "lib/Hlo/HloImporter.h"
#include "test/fuzz/targets/FuzzTarget.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace mlir::st;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  bool hasError = false;
  ScopedDiagnosticHandler quiet(&context, [&](Diagnostic &) {
    hasError = true;
    return success();
  });
  auto module = parseHlo(StringRef(reinterpret_cast<const char *>(data), size), "fuzz", &context);
  OwningOpRef<ModuleOp> imported;
  if (module)
    imported = importHloModule(*module, &context);
  // Exactly one of a module and an error.
  if (hasError == static_cast<bool>(imported))
    __builtin_trap();
  return 0;
}
