#include "lib/Runtime/Evaluation/EvaluationReport.h"

#include "lib/Runtime/Report.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace st {
namespace {

// JSON has no NaN and no infinity.
std::string printNumber(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.9g", value) : "null";
}

// The losses under Megatron-LM's names.
std::vector<std::pair<std::string, double>> megatronLosses(const EvaluationReport &report) {
  std::vector<std::pair<std::string, double>> losses;
  const auto add = [&](const char *label, const char *name) {
    if (auto it = report.values.find(name); it != report.values.end())
      losses.emplace_back(label, it->second);
  };
  add("lm loss", report.values.count("lm_loss") ? "lm_loss" : "loss");
  add("sop loss", "next_sentence_loss");
  return losses;
}

double megatronPerplexity(double loss) {
  constexpr double kLargestExponent = 20;
  return std::exp(std::min(kLargestExponent, loss));
}

} // namespace

std::string printEvaluation(const EvaluationReport &report) {
  std::string line = absl::StrFormat("%s after step %d:", report.part, report.step);
  const auto add = [&](const std::string &name, double value) {
    absl::StrAppend(&line, line.back() == ':' ? " " : "  ", name, " ", printFigure(value));
  };
  // The loss comes first.
  if (auto it = report.values.find("loss"); it != report.values.end())
    add("loss", it->second);
  for (const auto &[name, value] : report.values)
    if (name != "loss")
      add(name, value);
  if (report.simulatedPicoseconds)
    absl::StrAppend(&line, "  sim ", printMilliseconds(*report.simulatedPicoseconds),
                    " ms a batch");
  absl::StrAppend(&line, "  host ", printFigure(report.hostSeconds, 3), " s\n");
  return line;
}

std::string printEvaluationJson(const EvaluationReport &report) {
  std::string line = absl::StrFormat("{\"step\": %d, \"evaluation\": \"%s\", \"batches\": %d",
                                     report.step, report.part, report.batches);
  for (const auto &[name, value] : report.values)
    absl::StrAppend(&line, ", ", quoteJson(name), ": ", printNumber(value));
  if (report.simulatedPicoseconds)
    absl::StrAppend(&line, ", \"sim_ms\": ", printExactMilliseconds(*report.simulatedPicoseconds));
  return absl::StrCat(line, absl::StrFormat(", \"host_s\": %.6f}\n", report.hostSeconds));
}

std::string printMegatronEvaluation(const EvaluationReport &report) {
  std::string line = report.part == "test"
                         ? " validation loss at the end of training for test data | "
                         : absl::StrFormat(" validation loss at iteration %d | ", report.step);
  for (const auto &[name, loss] : megatronLosses(report))
    absl::StrAppendFormat(&line, "%s value: %.6E | %s PPL: %.6E | ", name, loss, name,
                          megatronPerplexity(loss));
  const std::string rule(line.size() + 1, '-');
  return absl::StrCat(rule, "\n", line, "\n", rule, "\n");
}

std::string printPredictions(const EvaluationReport &report) {
  std::string text = "{";
  for (const auto &[id, answer] : report.predictions)
    absl::StrAppend(&text, text.size() > 1 ? ",\n " : "", quoteJson(id), ": ", quoteJson(answer));
  return text + "}\n";
}

std::map<std::string, double> tagEvaluation(const EvaluationReport &report) {
  std::map<std::string, double> tags;
  for (const auto &[name, loss] : megatronLosses(report)) {
    tags[absl::StrCat(name, " ", report.part)] = loss;
    tags[absl::StrCat(name, " ", report.part, " ppl")] = megatronPerplexity(loss);
  }
  for (const auto &[name, value] : report.values)
    if (name != "loss" && name != "perplexity" && !absl::EndsWith(name, "_loss"))
      tags[absl::StrCat(name, " ", report.part)] = value;
  return tags;
}

} // namespace st
