// st-plan: how long a step takes on a cluster, whether it fits, and which layout is best.

#include "lib/Costs/Profile.h"
#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ErrorHandlers.h"
#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Planner/Fit.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/StandardStreams.h"
#include "lib/Timing/ClusterDescription.h"
#include "tools/CommandLine.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using namespace mlir::st;

static int fail(const llvm::Twine &message) {
  llvm::errs() << "st-plan: error: " << oneLine(message.str()) << '\n';
  return 1;
}
static llvm::StringRef str(absl::string_view text) { return {text.data(), text.size()}; }

int main(int argc, char **argv) {
  ::st::reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  installErrorHandlers("st-plan");
  hideLibraryOptions();
  cl::opt<std::string> rowsPath{"rows", cl::desc("measured runs (CSV)")};
  cl::opt<std::string> clusterName{"cluster", cl::init("dgx-a100-80gb"), cl::desc("cluster")};
  cl::opt<std::string> profileName{"profile", cl::init("megatron-deepspeed"), cl::desc("profile")};
  cl::opt<bool> json{"json", cl::desc("JSON lines")};
  cl::opt<bool> work{"print-work", cl::desc("print the work of the first row's blocks")};
  cl::list<std::string> fit{"fit", cl::CommaSeparated, cl::desc("constants to fit")};
  if (auto fault = parseCommandLine(argc, argv, "plans training steps\n"))
    return fail(*fault);
  auto cluster = ::st::findClusterDescription(clusterName);
  if (!cluster.ok())
    return fail(str(cluster.status().message()));
  auto profile = ::st::findProfile(profileName);
  if (!profile.ok())
    return fail(str(profile.status().message()));
  auto text = ::st::readInputFile(rowsPath, size_t(64) << 20);
  if (!text.ok())
    return fail(rowsPath + ": cannot read: " + str(text.status().message()));
  auto rows = ::st::parseRows(*text, rowsPath, {});
  if (!rows.ok())
    return fail(str(rows.status().message()));
  ::st::GpuConstants constants;
  if (auto fitted = ::st::builtinConstants(cluster->name(), profile->name()); fitted.ok()) {
    auto read = ::st::readConstants(*fitted);
    if (!read.ok())
      return fail(str(read.status().message()));
    constants = *read;
  }
  PlannedModels models("cuda-sm_80");
  ::st::FindBlocks findBlocks = [&](const ::st::MeasuredRow &row) { return models.find(row); };
  ::st::PipelineOrder order = makePipelineOrder();
  ::st::PredictContext context{*cluster, *profile, findBlocks, order};
  if (work) {
    const ::st::MeasuredRow &row = rows->rows.front();
    auto blocks = findBlocks(row);
    if (!blocks.ok())
      return fail(str(blocks.status().message()));
    auto got = (*blocks)->get({row.layout.tensor, row.layout.microBatch});
    if (!got.ok())
      return fail(str(got.status().message()));
    llvm::outs() << (*got)->DebugString();
    return 0;
  }
  if (!fit.empty()) {
    auto fitted = ::st::fitConstants(context, rows->rows, fit, constants);
    if (!fitted.ok())
      return fail(str(fitted.status().message()));
    constants = *fitted;
    for (const std::string &name : ::st::constantNames())
      llvm::errs() << name << " " << llvm::format("%.5g", *::st::findConstant(constants, name)) << '\n';
  }
  std::vector<double> predicted, measured;
  for (const ::st::MeasuredRow &row : rows->rows) {
    auto step = ::st::predictRow(context, constants, row);
    if (!step.ok())
      return fail(rowsPath + ":" + llvm::Twine(row.line) + ": " + str(step.status().message()));
    llvm::outs() << llvm::format("{\"line\": %d, \"predicted_ms\": %.3f, \"memory_mib\": %.0f, \"fits\": %s", row.line,
                                 step->ms, step->memory[step->fullest].total() / 1048576,
                                 step->fit == ::st::Fit::DoesNotFit ? "false" : "true");
    if (row.measuredMs) {
      predicted.push_back(step->ms);
      measured.push_back(*row.measuredMs);
      llvm::outs() << llvm::format(", \"measured_ms\": %.3f, \"error\": %.4f", *row.measuredMs,
                                   step->ms / *row.measuredMs - 1);
    }
    llvm::outs() << "}\n";
  }
  if (!measured.empty()) {
    const ::st::FitErrors errors = ::st::compareWithRows(predicted, measured);
    llvm::errs() << llvm::format("%d rows: mean error %.2f %%, worst %.2f %% (line %d), tau %.3f\n",
                                 static_cast<int>(measured.size()), errors.mean * 100, errors.worst * 100,
                                 rows->rows[errors.worstRow].line, errors.tau);
  }
  return 0;
}
