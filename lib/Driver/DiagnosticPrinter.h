// Diagnostics as lines: what is wrong is one line, whatever names and values it quotes.
#ifndef ST_DRIVER_DIAGNOSTICPRINTER_H
#define ST_DRIVER_DIAGNOSTICPRINTER_H

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace mlir::st {

/// The text without control characters and what is no UTF-8, which are escaped as in C.
std::string oneLine(StringRef text);

/// The place of errors in the command line, which are not about the input.
Location getCommandLineLoc(MLIRContext *context);

/// While it lives, prints each diagnostic of the context as one line on stderr,
///
///   <tool>: error: <file>:<line>:<column>: <text> (<place of a note>: <text of the note>)
///
/// or, where `tool` is empty, as MLIR's tools do, with the place before "error". A diagnostic
/// whose place is unknown is placed in the input. What follows the first error is a consequence
/// of it and is not printed. An error is printed when the printer is destroyed, as it may have to
/// say where it came from.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(MLIRContext *context, StringRef tool, StringRef input);
  ~DiagnosticPrinter();

  bool sawError() const { return numErrors > 0; }

  /// Adds to the error, if there is one, what was going on: "while running pass 'split-tasks'".
  void addContext(const Twine &text);

private:
  std::string place(Location location) const;
  LogicalResult print(Diagnostic &diagnostic);

  std::string tool, input;
  std::string error; ///< the line of the first one
  int numErrors = 0;
  ScopedDiagnosticHandler handler;
};

} // namespace mlir::st

#endif // ST_DRIVER_DIAGNOSTICPRINTER_H
