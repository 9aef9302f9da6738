#include "lib/Driver/PredictStep.h"

#include "lib/Driver/ProgramReport.h"
#include "lib/Report/GatherFigures.h"
#include "lib/Report/Page.h"
#include "lib/Runtime/Prediction.h"
#include "lib/Support/StatusMacros.h"
#include "llvm/Support/FileSystem.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace mlir::st;

static absl::Status refuse(const CompileRequest &request, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--report=", request.report, what));
}

/// Of files that need not be there.
static bool isSameFile(const std::string &a, const std::string &b) {
  return a == b || llvm::sys::fs::equivalent(a, b);
}

absl::Status mlir::st::checkReportRequest(const CompileRequest &request) {
  if (request.report.empty())
    return absl::OkStatus();
  if (request.stopAfter)
    return refuse(request, absl::StrCat(" has no effect: --compile-to=",
                                        getCompilePhaseName(*request.stopAfter).str(),
                                        " stops before the step is timed"));
  if (!request.makeClient)
    return refuse(request, " is about the predicted step, which --predict=false leaves out");
  if (isSameFile(request.report, request.output))
    return refuse(request, " and -o name one file");
  if (!request.explain.empty() && isSameFile(request.report, request.explain))
    return refuse(request, " and --explain name one file");
  return absl::OkStatus();
}

absl::Status mlir::st::predictStep(const CompileRequest &request, const ::st::MemoryUse &memory,
                                   ::st::AtomicFile *page, ::st::proto::Executable &executable) {
  ::st::ClientOptions options;
  options.timingOnly = true;
  std::unique_ptr<::st::Client> client = request.makeClient(options);
  if (page && executable.target() != client->target())
    return refuse(request, absl::StrCat(": target ", executable.target(), " is not simulated"));
  ::st::TimedStep timed;
  ST_RETURN_IF_ERROR(::st::predict(*client, executable, page ? &timed : nullptr));
  if (page && !executable.has_prediction())
    return refuse(request, ": how long a step takes depends on its data, which only a run has");
  if (!request.quiet)
    printPrediction(executable, llvm::errs());
  if (!page)
    return absl::OkStatus();
  ::st::StepFigures figures = ::st::gatherFigures(executable, timed, memory);
  ST_RETURN_IF_ERROR(::st::askWhatIf(executable, request.makeClient, figures));
  return page->write(::st::printPage(figures));
}
