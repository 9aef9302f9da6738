#include "tools/st-tune/Tables.h"

#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <map>

using namespace mlir::st;

using Cells = std::vector<std::string>;

double mlir::st::rankOf(const TrialRow &row, bool byEndToEnd) {
  if (!row.isOk())
    return 0;
  return byEndToEnd ? row.endToEndSamplesPerSecond : row.inStepSamplesPerSecond;
}

const MeasuredTrial *mlir::st::findBest(const std::vector<MeasuredTrial> &trials, bool byEndToEnd) {
  const MeasuredTrial *best = nullptr;
  for (const MeasuredTrial &trial : trials)
    if (rankOf(trial.row, byEndToEnd) > (best ? rankOf(best->row, byEndToEnd) : 0))
      best = &trial;
  return best;
}

OrderedPairs mlir::st::compareOrder(const std::vector<MeasuredTrial> &trials, bool byEndToEnd) {
  auto predicted = [](const MeasuredTrial &trial) {
    return trial.candidate.predictedMs / static_cast<double>(trial.candidate.layout.globalBatch());
  };
  OrderedPairs pairs;
  for (size_t i = 0; i < trials.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const double first = rankOf(trials[j].row, byEndToEnd),
                   second = rankOf(trials[i].row, byEndToEnd);
      const double slower = predicted(trials[i]) - predicted(trials[j]);
      if (first == 0 || second == 0 || slower == 0)
        continue;
      ++pairs.all;
      pairs.right += (slower > 0) == (first > second);
    }
  return pairs;
}

static std::string printNumber(double value) { return value > 0 ? ::st::printFigure(value) : "-"; }

/// Prints a table with bars, as DeepSpeed and Markdown do. The first row is the header; columns
/// whose name ends in '<' are left-aligned.
static std::string printTable(std::vector<Cells> rows) {
  std::vector<size_t> widths(rows.front().size());
  std::vector<bool> isLeft(widths.size());
  for (size_t i = 0; i < widths.size(); ++i) {
    std::string &name = rows.front()[i];
    isLeft[i] = name.back() == '<';
    if (isLeft[i])
      name.pop_back();
    for (const Cells &row : rows)
      widths[i] = std::max({widths[i], row[i].size(), size_t(2)});
  }
  std::string text;
  for (size_t line = 0; line < rows.size(); ++line) {
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string &cell = rows[line][i];
      const std::string padding(widths[i] - cell.size(), ' ');
      absl::StrAppend(&text, "| ", isLeft[i] ? cell + padding : padding + cell, " ");
    }
    absl::StrAppend(&text, "|\n");
    if (line > 0)
      continue;
    for (size_t i = 0; i < widths.size(); ++i)
      absl::StrAppend(&text, isLeft[i] ? "|:" : "|-", std::string(widths[i], '-'),
                      isLeft[i] ? "-" : ":");
    absl::StrAppend(&text, "|\n");
  }
  return text;
}

std::string mlir::st::printTrials(const std::vector<MeasuredTrial> &baseline,
                                  const std::vector<MeasuredTrial> &trials) {
  std::vector<Cells> rows = {{"experiment<", "status<", "predicted_ms", "in_step_ms",
                              "in_step_samples_per_s", "end_to_end_samples_per_s", "seconds"}};
  std::string reasons;
  for (const std::vector<MeasuredTrial> *list : {&baseline, &trials})
    for (const MeasuredTrial &trial : *list) {
      const TrialRow &row = trial.row;
      rows.push_back({row.name, statusName(row.status), printNumber(trial.candidate.predictedMs),
                      printNumber(row.inStepMs), printNumber(row.inStepSamplesPerSecond),
                      printNumber(row.endToEndSamplesPerSecond),
                      absl::StrFormat("%.1f", row.seconds)});
      if (!row.isOk())
        absl::StrAppend(&reasons, row.name, ": ", row.error, "\n");
    }
  return printTable(std::move(rows)) + (reasons.empty() ? "" : "\n") + reasons;
}

std::string mlir::st::printSpaces(const std::vector<MeasuredTrial> &baseline,
                                  const std::vector<MeasuredTrial> &trials, bool byEndToEnd) {
  std::vector<Cells> rows = {{"tuning_space<", "num_experiments", "best_metric_val",
                              "best_exp_name<", "in_step_samples_per_s",
                              "end_to_end_samples_per_s"}};
  auto add = [&](const std::string &name, const std::vector<MeasuredTrial> &space) {
    const MeasuredTrial *best = findBest(space, byEndToEnd);
    const TrialRow none;
    const TrialRow &row = best ? best->row : none;
    rows.push_back({name, absl::StrCat(space.size()), printNumber(rankOf(row, byEndToEnd)),
                    best ? row.name : "-", printNumber(row.inStepSamplesPerSecond),
                    printNumber(row.endToEndSamplesPerSecond)});
  };
  if (!baseline.empty())
    add("plain data parallel", baseline);
  std::map<std::string, std::vector<MeasuredTrial>> spaces;
  for (const MeasuredTrial &trial : trials)
    spaces[spaceName(trial.candidate.layout)].push_back(trial);
  for (const auto &[name, space] : spaces)
    add(name, space);
  add("global", trials);
  return printTable(std::move(rows));
}
