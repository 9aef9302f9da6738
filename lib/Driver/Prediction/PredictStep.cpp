#include "lib/Driver/Prediction/PredictStep.h"

#include "lib/Driver/Prediction/GpuFigures.h"
#include "lib/Driver/Prediction/ProgramReport.h"
#include "lib/Report/GatherFigures.h"
#include "lib/Report/Page.h"
#include "lib/Runtime/Program/Prediction.h"
#include "lib/Support/StatusMacros.h"
#include "llvm/Support/FileSystem.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace mlir::st;

static absl::Status refuse(const CompileRequest &request, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--report=", request.report, what));
}

/// Compares files that may not exist.
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
    return refuse(request, " needs the predicted step, which --predict=false omits");
  if (isSameFile(request.report, request.output))
    return refuse(request, " and -o name the same file");
  if (!request.explain.empty() && isSameFile(request.report, request.explain))
    return refuse(request, " and --explain name the same file");
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
    return refuse(request, ": the time of a step depends on its data, which only a run has");
  if (!request.quiet)
    printPrediction(executable, llvm::errs());
  if (!page)
    return absl::OkStatus();
  ::st::StepFigures figures = ::st::gatherFigures(executable, timed, memory);
  ST_RETURN_IF_ERROR(::st::computeWhatIf(executable, request.makeClient, figures));
  return page->write(::st::printPage(figures));
}

/// Converts the simulated events of a step to a binary's prediction.
static ::st::proto::Prediction writePrediction(const ::st::proto::Executable &executable,
                                               const GpuStep &step, const std::string &constants) {
  auto picoseconds = [](double us) { return static_cast<int64_t>(us * 1e6); };
  ::st::proto::Prediction prediction;
  prediction.set_picoseconds(picoseconds(step.total));
  prediction.set_lower_bound(picoseconds(step.kernels));
  prediction.set_serial_sum(picoseconds(step.serialSum));
  prediction.set_basis(absl::StrCat("costs of its commands with the constants of ", constants));
  for (const ::st::proto::Group &group : executable.groups())
    for (int64_t i = 0; i < group.device_ids_size(); ++i) {
      const auto &runs = step.ranks[static_cast<size_t>(group.first_rank() + i)];
      std::vector<double> times(static_cast<size_t>(group.tasks_size()), 0);
      for (auto [entry, run] : llvm::zip_equal(group.schedule(), runs))
        times[static_cast<size_t>(entry.task())] += run.end - run.start;
      ::st::proto::RankPrediction &rank = *prediction.add_ranks();
      for (double time : times)
        rank.add_tasks()->set_picoseconds(picoseconds(time));
    }
  return prediction;
}

absl::Status mlir::st::predictGpuStep(const CompileRequest &request, const ::st::MemoryUse &memory,
                                      ::st::AtomicFile *page, ::st::proto::Executable &executable) {
  executable.clear_prediction();
  const ::st::proto::GpuDescription &gpu = executable.cuda().gpu();
  if (gpu.chip() == "host")
    return page ? refuse(request,
                         absl::StrCat(": target ", gpu.name(),
                                      " runs on this machine instead of GPUs, and st-compile "
                                      "does not predict its time"))
                : absl::OkStatus();
  ST_ASSIGN_OR_RETURN(std::unique_ptr<DescribedGpu> described, describeGpu(gpu));
  ST_ASSIGN_OR_RETURN(std::optional<GpuStep> step, simulateGpuStep(executable, *described->costs));
  if (step)
    *executable.mutable_prediction() = writePrediction(executable, *step, described->constants);
  if (page && !step)
    return refuse(request, ": the time of a step depends on its data, which only a run has");
  if (!request.quiet)
    printPrediction(executable, llvm::errs());
  return page ? page->write(
                    ::st::printPage(gatherGpuFigures(executable, *step, *described->costs, memory)))
              : absl::OkStatus();
}
