// st-tune: measures the layouts that st-plan finds, and reports the fastest.

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ErrorHandlers.h"
#include "lib/Support/StandardStreams.h"
#include "tools/CommandLine.h"
#include "tools/st-tune/Tuner.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::st;

static int fail(llvm::StringRef message) {
  llvm::errs() << "st-tune: error: " << oneLine(message) << '\n';
  return 1;
}

static std::string folderOf(const char *argv0) {
  static int anchor;
  const std::string path = llvm::sys::fs::getMainExecutable(argv0, &anchor);
  return llvm::sys::path::parent_path(path).str();
}

int main(int argc, char **argv) {
  ::st::reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  installErrorHandlers("st-tune");
  hideLibraryOptions();
  TuneFlags flags;
  if (auto fault = parseCommandLine(argc, argv, "measures training plans\n"))
    return fail(*fault);
  absl::Status status = Tuner(flags, folderOf(argv[0])).run();
  return status.ok() ? 0 : fail(llvm::StringRef(status.message().data(), status.message().size()));
}
