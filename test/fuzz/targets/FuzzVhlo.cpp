// Portable artifacts of StableHLO: the reader returns a module that verifies, or reports an error.

#include "dialects/VHLO/PortableModule.h"
#include "test/fuzz/targets/FuzzTarget.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace mlir::st;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  bool hasError = false;
  ScopedDiagnosticHandler quiet(&context, [&](Diagnostic &diagnostic) {
    hasError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  StringRef bytes(reinterpret_cast<const char *>(data), size);
  OwningOpRef<ModuleOp> module = readPortableModule(llvm::MemoryBufferRef(bytes, "fuzz"), context);
  // Exactly one of a module and an error.
  if (hasError == static_cast<bool>(module))
    __builtin_trap();
  // Printing visits every attribute and type.
  if (module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
  }
  return 0;
}
