// st-fit: fits the constants of a cluster and profile to measured steps.

#include "lib/Costs/Profile.h"
#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ErrorHandlers.h"
#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Driver/ProgramFile.h"
#include "lib/Planner/Fitting/Contradictions.h"
#include "lib/Planner/Fitting/Fit.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/StandardStreams.h"
#include "lib/Timing/ClusterDescription.h"
#include "tools/CommandLine.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using namespace mlir::st;

namespace {

/// Maximum number of constants of a fit.
constexpr size_t kMaxConstants = 5;

struct FitFlags {
  cl::list<std::string> rows{cl::Positional, cl::desc("<measured runs (CSV)>...")};
  cl::opt<std::string> output{"o", cl::init("-"), cl::value_desc("file"), cl::desc("output")};
  cl::opt<std::string> cluster{"cluster", cl::init("dgx-a100-80gb"), cl::value_desc("name|file"),
                               cl::desc("cluster description")};
  cl::opt<std::string> profile{"profile", cl::init("megatron-lm"), cl::value_desc("name|file"),
                               cl::desc("implementation profile")};
  cl::list<std::string> fit{"fit", cl::CommaSeparated, cl::value_desc("constant,..."),
                            cl::desc("constants to fit, at most 5")};
  cl::opt<std::string> model{
      "model", cl::value_desc("folder"),
      cl::desc("model for files without model columns, such as those of a tuner")};
  cl::opt<std::string> task{"task", cl::value_desc("mlm|span|clm|classify|classify-tokens"),
                            cl::desc("training task of that model")};
  cl::opt<unsigned> sequence{"seq", cl::init(0), cl::value_desc("n"),
                             cl::desc("tokens in a sequence of that model")};
  cl::opt<std::string> precision{"precision", cl::init("f32"), cl::value_desc("f32|f16|bf16"),
                                 cl::desc("compute type of that model (default: f32)")};
  cl::opt<std::string> start{
      "start", cl::value_desc("file"),
      cl::desc("constants to start from; those that are not fitted keep their values")};
  cl::opt<bool> leaveOneOut{"leave-one-out", cl::init(true), cl::ZeroOrMore,
                            cl::desc("fit again without each row (default: true)")};
  cl::opt<unsigned> folds{"folds", cl::init(0), cl::value_desc("n"),
                          cl::desc("leave out groups of 1/n of the rows instead of single rows")};
};

class FitTool {
public:
  explicit FitTool(const FitFlags &flags)
      : flags(flags), models("cuda-sm_80"), order(makePipelineOrder()) {}
  absl::Status run();

private:
  absl::Status load();
  absl::Status loadModel(::st::RowDefaults &defaults);
  absl::Status crossValidate(const ::st::PredictContext &context,
                             const std::vector<std::string> &names);
  void compareNullModels() const;
  void leaveOutContradictions();
  absl::StatusOr<std::vector<double>> predict(const ::st::PredictContext &context,
                                              const ::st::GpuConstants &constants,
                                              const std::vector<::st::MeasuredRow> &of) const;

  const FitFlags &flags;
  PlannedModels models;
  const ::st::PipelineOrder order;
  ::st::proto::ClusterDescription cluster;
  ::st::proto::ImplementationProfile profile;
  ::st::GpuConstants start;
  PlanInput given; ///< by --model
  std::vector<::st::MeasuredRow> rows;
  std::vector<std::string> files; ///< of each row
  ::st::proto::FittedConstants fitted;
};

} // namespace

static std::vector<double> measuredOf(const std::vector<::st::MeasuredRow> &rows) {
  std::vector<double> measured;
  for (const ::st::MeasuredRow &row : rows)
    measured.push_back(*row.measuredMs);
  return measured;
}

absl::Status FitTool::loadModel(::st::RowDefaults &defaults) {
  defaults.devicesPerNode = cluster.devices_per_node();
  if (flags.model.empty())
    return absl::OkStatus();
  std::optional<Task> task;
  if (!flags.task.empty()) {
    task = symbolizeTask(flags.task);
    if (!task || *task == Task::Encode || *task == Task::Seq2Seq)
      return absl::InvalidArgumentError(
          absl::StrCat("--task=", flags.task.getValue(),
                       ": expected mlm, span, clm, classify or classify-tokens"));
  }
  if (flags.precision != "f32" && flags.precision != "f16" && flags.precision != "bf16")
    return absl::InvalidArgumentError(
        absl::StrCat("--precision=", flags.precision.getValue(), ": expected f32, f16 or bf16"));
  auto input = readModelFolder(
      flags.model, {task,
                    flags.sequence > 0 ? std::optional<int64_t>(flags.sequence) : std::nullopt,
                    flags.precision,
                    {}});
  if (!input.ok())
    return input.status();
  given = *std::move(input);
  defaults = rowDefaults(given, cluster.devices_per_node());
  return absl::OkStatus();
}

absl::Status FitTool::load() {
  auto foundCluster = ::st::findClusterDescription(flags.cluster);
  if (!foundCluster.ok())
    return foundCluster.status();
  cluster = *std::move(foundCluster);
  auto foundProfile = ::st::findProfile(flags.profile);
  if (!foundProfile.ok())
    return foundProfile.status();
  profile = *std::move(foundProfile);
  llvm::SHA256 hash;
  if (!flags.start.empty()) {
    auto constants = ::st::loadConstants(flags.start);
    if (!constants.ok())
      return constants.status();
    auto read = ::st::readConstants(*constants);
    if (!read.ok())
      return read.status();
    start = *read;
    // Constants of earlier fits were fitted to those rows.
    for (const auto &earlier : constants->rows())
      *fitted.add_rows() = earlier;
    hash.update(constants->hash());
  }
  ::st::RowDefaults defaults;
  if (absl::Status status = loadModel(defaults); !status.ok())
    return status;
  for (const std::string &path : flags.rows) {
    constexpr size_t kLargest = size_t(64) << 20;
    auto text = ::st::readInputFile(path, kLargest);
    if (!text.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": cannot read: ", text.status().message()));
    hash.update(llvm::StringRef(*text));
    auto file = ::st::parseRows(*text, path, defaults);
    if (!file.ok())
      return file.status();
    const size_t before = rows.size();
    for (::st::MeasuredRow &row : file->rows)
      if (row.measuredMs) {
        rows.push_back(std::move(row));
        files.push_back(path);
      }
    ::st::proto::FittedConstants::Rows &used = *fitted.add_rows();
    used.set_file(llvm::sys::path::filename(path).str());
    used.set_lines(static_cast<uint32_t>(rows.size() - before));
  }
  if (rows.empty())
    return absl::InvalidArgumentError("expected files with measured times, found none");
  fitted.set_hash(llvm::toHex(hash.final(), /*LowerCase=*/true));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>>
FitTool::predict(const ::st::PredictContext &context, const ::st::GpuConstants &constants,
                 const std::vector<::st::MeasuredRow> &of) const {
  std::vector<double> predicted;
  for (const ::st::MeasuredRow &row : of) {
    auto step = ::st::predictRow(context, constants, row);
    if (!step.ok())
      return step.status();
    predicted.push_back(step->ms);
  }
  return predicted;
}

/// Fits without some rows, and predicts those.
absl::Status FitTool::crossValidate(const ::st::PredictContext &context,
                                    const std::vector<std::string> &names) {
  const size_t folds = flags.folds > 0 ? std::min<size_t>(flags.folds, rows.size()) : rows.size();
  std::vector<double> predicted(rows.size());
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<::st::MeasuredRow> kept, left;
    std::vector<size_t> indices;
    for (size_t i = 0; i < rows.size(); ++i) {
      (i % folds == fold ? left : kept).push_back(rows[i]);
      if (i % folds == fold)
        indices.push_back(i);
    }
    if (kept.empty())
      return absl::OkStatus();
    auto constants = ::st::fitConstants(context, kept, names, start);
    if (!constants.ok())
      return constants.status();
    auto values = predict(context, *constants, left);
    if (!values.ok())
      return values.status();
    for (size_t i = 0; i < indices.size(); ++i)
      predicted[indices[i]] = (*values)[i];
    llvm::errs() << "\rst-fit: left out " << fold + 1 << " of " << folds
                 << (fold + 1 == folds ? "\n" : "");
  }
  const ::st::FitErrors errors = ::st::compareWithRows(predicted, measuredOf(rows));
  llvm::errs() << absl::StrFormat("%-34s mean %6.2f %%, worst %6.2f %%, tau %.3f\n",
                                  folds == rows.size() ? "leave one out"
                                                       : absl::StrCat("leave out one of ", folds),
                                  errors.mean * 100, errors.worst * 100, errors.tau);
  return absl::OkStatus();
}

/// Compares with predictions by trivial models: a constant TFLOP/s, and the most similar other run
/// scaled by FLOPs.
void FitTool::compareNullModels() const {
  std::vector<double> rates, constant, nearest;
  auto flopsOf = [](const ::st::MeasuredRow &row) {
    return ::st::publishedFlops(row.model, row.layout.globalBatch()) /
           static_cast<double>(row.layout.devices());
  };
  for (const ::st::MeasuredRow &row : rows)
    rates.push_back(flopsOf(row) / *row.measuredMs);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<double> others;
    double distance = 1e300, rate = rates[i];
    for (size_t j = 0; j < rows.size(); ++j) {
      if (j == i)
        continue;
      others.push_back(rates[j]);
      auto apart = [](int64_t a, int64_t b) {
        return std::fabs(std::log(static_cast<double>(a) / static_cast<double>(b)));
      };
      const ::st::Layout &a = rows[i].layout, &b = rows[j].layout;
      const double far = apart(a.tensor, b.tensor) + apart(a.stages, b.stages) +
                         apart(a.replicas, b.replicas) + apart(a.microBatch, b.microBatch) +
                         apart(a.microBatches, b.microBatches) +
                         apart(rows[i].model.hidden, rows[j].model.hidden) +
                         apart(rows[i].model.layers, rows[j].model.layers);
      if (far < distance) {
        distance = far;
        rate = rates[j];
      }
    }
    llvm::sort(others);
    const double median = others.empty() ? rates[i] : others[others.size() / 2];
    constant.push_back(flopsOf(rows[i]) / median);
    nearest.push_back(flopsOf(rows[i]) / rate);
  }
  for (const auto &[name, predicted] :
       {std::pair("null model: one rate for all", &constant),
        std::pair("null model: rate of the nearest row", &nearest)}) {
    const ::st::FitErrors errors = ::st::compareWithRows(*predicted, measuredOf(rows));
    llvm::errs() << absl::StrFormat("%-34s mean %6.2f %%, worst %6.2f %%, tau %.3f\n", name,
                                    errors.mean * 100, errors.worst * 100, errors.tau);
  }
}

/// Names and excludes rows that took longer than other rows for the same work.
void FitTool::leaveOutContradictions() {
  const std::vector<::st::Contradiction> found = ::st::findContradictions(rows);
  for (const ::st::Contradiction &each : found)
    llvm::errs() << "st-fit: warning: " << files[each.row] << ":" << rows[each.row].line
                 << " contradicts " << files[each.peer] << ":" << rows[each.peer].line << ": "
                 << each.what << "; it is left out\n";
  const std::vector<bool> flagged = ::st::flaggedRows(found, rows.size());
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (flagged[i]) {
      for (auto &used : *fitted.mutable_rows())
        if (used.file() == llvm::sys::path::filename(files[i]) && used.lines() > 0)
          used.set_lines(used.lines() - 1);
      continue;
    }
    if (kept != i) {
      rows[kept] = std::move(rows[i]);
      files[kept] = std::move(files[i]);
    }
    ++kept;
  }
  rows.resize(kept);
  files.resize(kept);
}

absl::Status FitTool::run() {
  std::vector<std::string> names(flags.fit.begin(), flags.fit.end());
  if (names.empty() || names.size() > kMaxConstants)
    return absl::InvalidArgumentError(absl::StrCat("--fit: expected 1 to 5 constants of ",
                                                   absl::StrJoin(::st::constantNames(), ", "),
                                                   ", found ", names.size()));
  for (const std::string &name : names) {
    ::st::GpuConstants any;
    if (!::st::findConstant(any, name))
      return absl::InvalidArgumentError(
          absl::StrCat("--fit=", name, ": expected ", absl::StrJoin(::st::constantNames(), ", ")));
  }
  if (absl::Status status = load(); !status.ok())
    return status;
  leaveOutContradictions();
  ::st::FindBlocks findBlocks =
      [&](const ::st::MeasuredRow &row) -> absl::StatusOr<::st::BlockSource *> {
    if (row.hasGivenModel)
      return &models.find(given);
    return models.find(row);
  };
  const ::st::PredictContext context{cluster, profile, findBlocks, order};
  auto constants = ::st::fitConstants(context, rows, names, start);
  if (!constants.ok())
    return constants.status();
  auto predicted = predict(context, *constants, rows);
  if (!predicted.ok())
    return predicted.status();
  for (const auto &used : fitted.rows())
    llvm::errs() << used.file() << ": " << used.lines() << " rows\n";
  const ::st::FitErrors errors = ::st::compareWithRows(*predicted, measuredOf(rows));
  llvm::errs() << absl::StrFormat("%-34s mean %6.2f %%, worst %6.2f %% (%s:%d), tau %.3f\n",
                                  "fitted", errors.mean * 100, errors.worst * 100,
                                  files[errors.worstRow], rows[errors.worstRow].line, errors.tau);
  if (flags.leaveOneOut && rows.size() > 1)
    if (absl::Status status = crossValidate(context, names); !status.ok())
      return status;
  compareNullModels();
  fitted.set_cluster(cluster.name());
  fitted.set_profile(profile.name());
  for (const std::string &name : ::st::constantNames()) {
    auto &constant = *fitted.add_constants();
    constant.set_name(name);
    constant.set_value(*::st::findConstant(*constants, name));
  }
  std::string text = absl::StrFormat(
      "# Constants of profile %s on %s, fitted by st-fit: %s. Mean error %.2f %%, worst %.2f %%.\n"
      "cluster: \"%s\"\nprofile: \"%s\"\n",
      profile.name(), cluster.name(), absl::StrJoin(names, ", "), errors.mean * 100,
      errors.worst * 100, cluster.name(), profile.name());
  for (const auto &constant : fitted.constants())
    absl::StrAppendFormat(&text, "constants { name: \"%s\" value: %.6g }\n", constant.name(),
                          constant.value());
  for (const auto &used : fitted.rows())
    absl::StrAppendFormat(&text, "rows { file: \"%s\" lines: %d }\n", used.file(), used.lines());
  absl::StrAppendFormat(&text, "hash: \"%s\"\n", fitted.hash());
  return writeOutput(flags.output, text);
}

int main(int argc, char **argv) {
  ::st::reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  installErrorHandlers("st-fit");
  hideLibraryOptions();
  FitFlags flags;
  std::string fault;
  if (auto wrong =
          parseCommandLine(argc, argv, "fits constants of costs to measured training steps\n"))
    fault = *wrong;
  if (absl::Status status =
          fault.empty() ? FitTool(flags).run() : absl::InvalidArgumentError(fault);
      !status.ok()) {
    llvm::errs() << "st-fit: error: "
                 << oneLine(llvm::StringRef(status.message().data(), status.message().size()))
                 << '\n';
    return 1;
  }
  return 0;
}
