// st-compare: names the phase that causes the difference between two training runs.

#include "lib/Support/StandardStreams.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"
#include "tools/CommandLine.h"
#include "tools/st-compare/Comparison.h"
#include "tools/st-compare/RunFiles.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

namespace {

constexpr const char *kOverview =
    "Compares two training runs: the time of a step with the phase behind a difference, and the\n"
    "first step whose losses differ.\n\n"
    "A run is a file of --metrics, --report or --trace or a log of a training binary, several of\n"
    "them with commas between them, or a folder that holds them.\n";

struct CompareFlags {
  cl::opt<std::string> a{cl::Positional, cl::Required, cl::desc("<run A>")};
  cl::opt<std::string> b{cl::Positional, cl::Required, cl::desc("<run B>")};
  cl::opt<bool> json{"json", cl::desc("print one JSON object instead of a table")};
};

absl::Status compare(const CompareFlags &flags) {
  ST_ASSIGN_OR_RETURN(const st::RunFiles a, st::readRun(flags.a));
  ST_ASSIGN_OR_RETURN(const st::RunFiles b, st::readRun(flags.b));
  ST_ASSIGN_OR_RETURN(const st::Comparison comparison, st::compareRuns(a, b));
  llvm::outs() << (flags.json ? st::printComparisonJson(comparison)
                              : st::printComparison(comparison));
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return absl::OkStatus();
  llvm::outs().clear_error();
  return absl::UnavailableError("cannot write to standard output");
}

} // namespace

int main(int argc, char **argv) {
  st::reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  mlir::st::hideLibraryOptions();
  const CompareFlags flags;
  absl::Status status;
  if (auto error = mlir::st::parseCommandLine(argc, argv, kOverview))
    status = absl::InvalidArgumentError(*error);
  else
    status = compare(flags);
  if (status.ok())
    return 0;
  llvm::errs() << "st-compare: error: " << st::escapeControls(status.message()) << "\n";
  return 1;
}
