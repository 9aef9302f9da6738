// Adds notes to errors, at the op, argument or value that conflicts with the one in error.
#ifndef ST_INTERFACES_NOTES_H
#define ST_INTERFACES_NOTES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace mlir::st {

/// Returns the diagnostic with a note at another location.
inline InFlightDiagnostic withNote(InFlightDiagnostic &&diagnostic, Location at,
                                   const llvm::Twine &text) {
  diagnostic.attachNote(at) << text;
  return std::move(diagnostic);
}

/// The same at another op.
inline InFlightDiagnostic withNote(InFlightDiagnostic &&diagnostic, Operation *op,
                                   const llvm::Twine &text) {
  return withNote(std::move(diagnostic), op->getLoc(), text);
}

/// The same at the op or function that defines a value.
inline InFlightDiagnostic withNote(InFlightDiagnostic &&diagnostic, Value value,
                                   const llvm::Twine &text) {
  return withNote(std::move(diagnostic), value.getLoc(), text);
}

} // namespace mlir::st

#endif // ST_INTERFACES_NOTES_H
