// Predictions of measured runs: --rows.

#include "tools/st-plan/PlanTool.h"

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Planner/Fitting/Contradictions.h"
#include "lib/Planner/Fitting/Fit.h"
#include "lib/Support/InputFile.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace mlir;
using namespace mlir::st;

namespace {

/// One line of JSON. Numbers are rounded to their significant digits.
class JsonLine {
public:
  explicit JsonLine(int line) : out(text), json(out) {
    json.objectBegin();
    json.attribute("line", line);
  }

  void add(llvm::StringRef name, llvm::json::Value value) {
    json.attribute(name, std::move(value));
  }
  void addNumber(llvm::StringRef name, std::optional<double> value, int digits) {
    json.attributeBegin(name);
    json.rawValue(value ? absl::StrFormat("%.*f", digits, *value) : "null");
    json.attributeEnd();
  }
  std::string finish() {
    json.objectEnd();
    return text + "\n";
  }

private:
  std::string text;
  llvm::raw_string_ostream out;
  llvm::json::OStream json;
};

/// Another row that took less time for the same work.
struct RowConflict {
  int line = 0;
  std::string what;
};

} // namespace

/// The line of a row that cannot be planned.
static std::string describeFailure(int line, const std::string &reason, bool isJson) {
  if (!isJson)
    return absl::StrFormat("%5d cannot run: %s\n", line, reason);
  JsonLine json(line);
  json.addNumber("predicted_ms", std::nullopt, 0);
  json.addNumber("memory_mib", std::nullopt, 0);
  json.add("fits", false);
  json.add("fit", "cannot run");
  json.add("reason", reason);
  return json.finish();
}

static std::string printRow(const ::st::MeasuredRow &row, const ::st::StepEstimate &step,
                            const std::optional<::st::OwnTimers> &own,
                            const std::vector<RowConflict> &conflicts) {
  std::string text = absl::StrFormat(
      "%5d %12.4g ms %9.0f MiB %-18s %8s  %s\n", row.line, step.ms,
      step.memory[step.fullest].total() / (1 << 20), ::st::fitName(step.fit),
      row.measuredMs ? absl::StrFormat("%+.1f %%", (step.ms / *row.measuredMs - 1) * 100) : "",
      ::st::printLayout(row.layout));
  if (own)
    absl::StrAppendFormat(
        &text, "      by its own timers: %.4g ms until the pipeline drains, %.4g ms besides\n",
        own->drain, own->without);
  for (const RowConflict &conflict : conflicts)
    absl::StrAppend(&text, "      contradicts the row of line ", conflict.line, ": ", conflict.what,
                    "\n");
  if (!step.note.empty())
    absl::StrAppend(&text, "      ", step.note, "\n");
  return text;
}

static std::string describeRow(const ::st::MeasuredRow &row, const ::st::StepEstimate &step,
                               const std::optional<::st::OwnTimers> &own,
                               const std::vector<RowConflict> &conflicts) {
  JsonLine json(row.line);
  json.addNumber("predicted_ms", step.ms, 6);
  json.addNumber("memory_mib", step.memory[step.fullest].total() / (1 << 20), 1);
  json.add("fits", step.fit != ::st::Fit::DoesNotFit);
  json.add("fit", ::st::fitName(step.fit));
  json.addNumber("tflops_per_device",
                 step.flops / step.ms * 1e-9 / static_cast<double>(row.layout.devices()), 3);
  json.addNumber("measured_ms", row.measuredMs, 6);
  json.addNumber("error",
                 row.measuredMs ? std::optional(step.ms / *row.measuredMs - 1) : std::nullopt, 5);
  if (own) {
    json.addNumber("drain_wait_ms", own->drain, 3);
    json.addNumber("timers_without_drain_ms", own->without, 3);
  }
  if (!conflicts.empty()) {
    llvm::json::Array contradicted;
    for (const RowConflict &conflict : conflicts)
      contradicted.push_back(llvm::json::Object{{"line", conflict.line}, {"what", conflict.what}});
    json.add("contradicts", std::move(contradicted));
  }
  if (!step.note.empty())
    json.add("note", step.note);
  return json.finish();
}

absl::StatusOr<::st::RowDefaults> PlanTool::rowDefaultsOf(PlanInput &given) {
  ::st::RowDefaults defaults;
  defaults.devicesPerNode = cluster.devices_per_node();
  if (!flags.model.empty()) {
    auto input = loadInput();
    if (!input.ok())
      return input.status();
    given = *std::move(input);
    defaults = rowDefaults(given, cluster.devices_per_node());
  }
  if (!flags.zero.empty())
    defaults.zero = flags.zero.front();
  if (!flags.microBatch.empty())
    defaults.microBatch = flags.microBatch.front();
  return defaults;
}

absl::Status PlanTool::predictRows() {
  auto text = ::st::readInputFile(flags.rows, kLargestInput);
  if (!text.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(flags.rows.getValue(), ": cannot read: ", text.status().message()));
  PlanInput given;
  auto defaults = rowDefaultsOf(given);
  if (!defaults.ok())
    return defaults.status();
  auto file = ::st::parseRows(*text, flags.rows, *defaults);
  if (!file.ok())
    return file.status();
  if (!file->rows.front().hasGivenModel)
    for (const llvm::cl::Option *option : modelOptions())
      if (option->getNumOccurrences())
        return absl::InvalidArgumentError(absl::StrCat("--", option->ArgStr.str(),
                                                       " has no effect on ", flags.rows.getValue(),
                                                       ", whose columns describe the model"));
  for (const std::string &column : file->unused)
    llvm::errs() << "st-plan: note: " << flags.rows << ": column " << column
                 << " has no effect on the prediction\n";
  ::st::FindBlocks findBlocks =
      [&](const ::st::MeasuredRow &row) -> absl::StatusOr<::st::BlockSource *> {
    if (row.hasGivenModel)
      return &models->find(given);
    return models->find(row);
  };
  ::st::PredictContext context{cluster, profile, findBlocks, order};
  std::vector<double> predicted, measured;
  std::string out;
  std::vector<std::vector<RowConflict>> conflicts(file->rows.size());
  for (const ::st::Contradiction &each : ::st::findContradictions(file->rows))
    conflicts[each.row].push_back({file->rows[each.peer].line, each.what});
  for (size_t i = 0; i < file->rows.size(); ++i) {
    const ::st::MeasuredRow &row = file->rows[i];
    auto step = ::st::predictRow(context, constants, row);
    if (!step.ok()) {
      // A row that cannot be planned does not stop the others.
      out += describeFailure(row.line, oneLine(std::string(step.status().message())), flags.json);
      continue;
    }
    if (row.measuredMs) {
      predicted.push_back(step->ms);
      measured.push_back(*row.measuredMs);
    }
    const std::optional<::st::OwnTimers> own = ::st::simulateOwnTimers(row, *step, order);
    out += flags.json ? describeRow(row, *step, own, conflicts[i])
                      : printRow(row, *step, own, conflicts[i]);
  }
  llvm::outs() << out;
  llvm::outs().flush();
  if (!measured.empty()) {
    const ::st::FitErrors errors = ::st::compareWithRows(predicted, measured);
    llvm::errs() << absl::StrFormat(
        "%d rows: mean error %.2f %%, worst %.2f %%, Kendall tau %.3f\n", measured.size(),
        errors.mean * 100, errors.worst * 100, errors.tau);
  }
  return absl::OkStatus();
}
