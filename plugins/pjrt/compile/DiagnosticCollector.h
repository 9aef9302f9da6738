// Collects the first error of a compilation as one line.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

#include <string>

namespace st::pjrt {

/// During its lifetime keeps the first error of a context and drops all other diagnostics.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// "file:3:5: 'stablehlo.sort' op ..."; empty without an error.
  const std::string &message() const { return first; }

private:
  void keep(mlir::Diagnostic &diagnostic);

  std::string first;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace st::pjrt
