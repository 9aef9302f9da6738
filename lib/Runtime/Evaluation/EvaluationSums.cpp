#include "lib/Runtime/Evaluation/EvaluationSums.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <cmath>

namespace st {

EvaluationSums::EvaluationSums(const BatchSpec &spec, const Questions *questions)
    : task(spec.task), answers(spec, questions) {}

void EvaluationSums::add(const EvaluationOutputs &outputs, const Batch &batch, int64_t index) {
  ++batches;
  for (const auto &[name, values] : outputs) {
    if (values.size() != 1)
      continue;
    const bool isCount = absl::EndsWith(name, "_correct") || absl::EndsWith(name, "_count");
    (isCount ? counts : losses)[name] += static_cast<double>(values[0]);
  }
  const auto starts = outputs.find("start_logits"), ends = outputs.find("end_logits");
  if (starts != outputs.end() && ends != outputs.end())
    answers.add(starts->second, ends->second, batch, index);
}

std::map<std::string, double> EvaluationSums::values() const {
  std::map<std::string, double> values;
  if (batches == 0)
    return values;
  for (const auto &[name, sum] : losses)
    values[name] = sum / static_cast<double>(batches);
  for (const auto &[name, correct] : counts) {
    absl::string_view what = name;
    if (!absl::ConsumeSuffix(&what, "_correct"))
      continue;
    const double count = counts.at(absl::StrCat(what, "_count"));
    if (count > 0)
      values[absl::StrCat(what, "_accuracy")] = correct / count;
  }
  values.merge(answers.values());
  const char *language = task == "mlm"                        ? "lm_loss"
                         : task == "clm" || task == "seq2seq" ? "loss"
                                                              : nullptr;
  if (language && values.count(language))
    values["perplexity"] = std::exp(values[language]);
  return values;
}

} // namespace st
