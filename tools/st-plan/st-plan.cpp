// st-plan: predicts the time and memory of a step on a cluster, and finds the best layout.

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ErrorHandlers.h"
#include "lib/Support/StandardStreams.h"
#include "tools/CommandLine.h"
#include "tools/st-plan/PlanTool.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::st;

static int fail(llvm::StringRef message) {
  llvm::errs() << "st-plan: error: " << oneLine(message) << '\n';
  return 1;
}

int main(int argc, char **argv) {
  ::st::reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  installErrorHandlers("st-plan");
  hideLibraryOptions();
  PlanFlags flags;
  if (auto fault = parseCommandLine(argc, argv, "plans training steps before they run\n"))
    return fail(*fault);
  absl::Status status = PlanTool(flags).run();
  return status.ok() ? 0 : fail(llvm::StringRef(status.message().data(), status.message().size()));
}
