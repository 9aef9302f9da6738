// Prints each diagnostic as one line; escapes control characters in quoted names and values.
#ifndef ST_DRIVER_DIAGNOSTICPRINTER_H
#define ST_DRIVER_DIAGNOSTICPRINTER_H

#include "mlir/IR/Diagnostics.h"

#include <map>
#include <string>

namespace mlir::st {

/// Escapes control characters and invalid UTF-8 as in C.
std::string oneLine(StringRef text);

/// The location of errors in the command line.
Location getCommandLineLoc(MLIRContext *context);

/// During its lifetime prints each diagnostic of the context as one line on stderr,
///
///   <tool>: error: <file>:<line>:<column>: <text> (<place of a note>: <text of the note>)
///
/// or, if `tool` is empty, as MLIR's tools do, with the location before "error". A diagnostic
/// without a location is placed in the input. Errors after the first one are consequences of it and
/// are not printed. The destructor prints the error, so that context can be added to it. Of remarks
/// that differ only in their place, the first is printed, and the destructor counts the others.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(MLIRContext *context, StringRef tool, StringRef input);
  ~DiagnosticPrinter();

  bool sawError() const { return numErrors > 0; }

  /// Adds context to the error, if there is one: "while running pass 'split-tasks'".
  void addContext(const Twine &text);

private:
  std::string place(Location location) const;
  LogicalResult print(Diagnostic &diagnostic);

  std::string tool, input;
  std::string error; ///< the line of the first error
  /// The number of omitted repetitions of a remark, by its text.
  std::map<std::string, int64_t> repeated;
  int numErrors = 0;
  ScopedDiagnosticHandler handler;
};

} // namespace mlir::st

#endif // ST_DRIVER_DIAGNOSTICPRINTER_H
