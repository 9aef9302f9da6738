#include "lib/Driver/CompilerFiles.h"

#include "lib/Driver/ProgramFile.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::st;
namespace fs = llvm::sys::fs;

/// Opens the file at `path`, unless that is empty.
static absl::Status openFile(const std::string &path, std::unique_ptr<::st::AtomicFile> &file) {
  if (path.empty())
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(file, ::st::AtomicFile::create(path));
  return absl::OkStatus();
}

absl::Status CompilerFiles::open() {
  ST_RETURN_IF_ERROR(openFile(request.explain, explanationFile));
  ST_RETURN_IF_ERROR(openFile(request.report, pageFile));
  ST_RETURN_IF_ERROR(openFile(request.rolesOut, rolesFile));
  return openOutput();
}

absl::Status CompilerFiles::openOutput() {
  if (request.output == "-")
    return request.stopAfter
               ? absl::OkStatus()
               : absl::InvalidArgumentError("a training binary needs an output file: -o FILE");
  fs::file_status status;
  if (!request.stopAfter && !fs::status(request.output, status) &&
      (status.type() == fs::file_type::fifo_file || status.type() == fs::file_type::socket_file))
    return absl::InvalidArgumentError(absl::StrCat(
        request.output, ": cannot write: expected a file for the training binary, found a pipe"));
  // The file of a binary is opened here only to see that it can be written.
  std::unique_ptr<::st::AtomicFile> opened;
  ST_RETURN_IF_ERROR(openFile(request.output, opened));
  if (request.stopAfter)
    output = std::move(opened);
  return absl::OkStatus();
}

absl::Status CompilerFiles::writeModule(const std::string &text) {
  return output ? output->write(text) : writeOutput("-", text);
}

absl::Status CompilerFiles::dump(CompilePhase phase, const std::string &text) {
  if (std::error_code code = fs::create_directories(request.dumpPhasesTo))
    return absl::UnavailableError(absl::StrCat(request.dumpPhasesTo, ": ", code.message()));
  SmallString<128> path(request.dumpPhasesTo);
  llvm::sys::path::append(path, absl::StrFormat("%02d-%s.mlir", static_cast<int>(phase),
                                                getCompilePhaseName(phase).str()));
  ST_ASSIGN_OR_RETURN(std::unique_ptr<::st::AtomicFile> file,
                      ::st::AtomicFile::create(path.str().str()));
  ST_RETURN_IF_ERROR(file->write(text));
  return file->commit();
}

absl::Status CompilerFiles::commit() {
  for (auto *file : {&explanationFile, &pageFile, &rolesFile, &output})
    if (*file)
      ST_RETURN_IF_ERROR((*file)->commit());
  return absl::OkStatus();
}
