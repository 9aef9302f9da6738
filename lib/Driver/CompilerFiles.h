// The files that a compilation writes. If it fails, it writes none of them except the dumps of the
// phases before the failure.
#ifndef ST_DRIVER_COMPILERFILES_H
#define ST_DRIVER_COMPILERFILES_H

#include "lib/Driver/Compiler.h"
#include "lib/Support/AtomicFile.h"

#include "absl/status/status.h"

#include <memory>
#include <string>

namespace mlir::st {

class CompilerFiles {
public:
  explicit CompilerFiles(const CompileRequest &request) : request(request) {}
  CompilerFiles(const CompilerFiles &) = delete;
  CompilerFiles &operator=(const CompilerFiles &) = delete;

  /// Opens the files that the request names, so that an unwritable file is an error before the
  /// compilation starts.
  absl::Status open();

  /// The explanation of reshards, the page about the step and the roles of @main; null if not
  /// requested.
  ::st::AtomicFile *explanation() const { return explanationFile.get(); }
  ::st::AtomicFile *page() const { return pageFile.get(); }
  ::st::AtomicFile *roles() const { return rolesFile.get(); }

  /// Writes the module that the compilation ends with.
  absl::Status writeModule(const std::string &text);
  bool hasDumps() const { return !request.dumpPhasesTo.empty(); }
  /// Writes the module after a phase into the folder of dumps. The file is complete immediately and
  /// stays if a later phase fails, because it shows the input of that phase.
  absl::Status dump(CompilePhase phase, const std::string &text);

  /// Completes the files other than dumps.
  absl::Status commit();

private:
  absl::Status openOutput();

  const CompileRequest &request;
  /// The module's file; null for standard output and for a binary.
  std::unique_ptr<::st::AtomicFile> output;
  std::unique_ptr<::st::AtomicFile> explanationFile, pageFile, rolesFile;
};

} // namespace mlir::st

#endif // ST_DRIVER_COMPILERFILES_H
