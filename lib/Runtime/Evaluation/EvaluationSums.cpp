#include "lib/Runtime/Evaluation/EvaluationSums.h"

#include "lib/Runtime/Data/Tokenizer.h"
#include "lib/Runtime/Evaluation/SpanScore.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cmath>

namespace st {
namespace {

// Returns the [B, S] or [B] tensor of that name, or null.
const int32_t *find(const Batch &batch, absl::string_view name) {
  auto it = std::find_if(batch.begin(), batch.end(),
                         [&](const HostTensor &tensor) { return tensor.name == name; });
  return it == batch.end() ? nullptr : it->ints();
}

} // namespace

EvaluationSums::EvaluationSums(const BatchSpec &spec)
    : task(spec.task), rows(spec.batch), sequence(spec.sequence) {
  if (auto it = spec.tokenizerFiles.find(kVocabTxt); it != spec.tokenizerFiles.end())
    for (absl::string_view piece : vocabularyPieces(it->second))
      pieces.emplace_back(piece);
}

void EvaluationSums::add(const EvaluationOutputs &outputs, const Batch &batch) {
  ++batches;
  for (const auto &[name, values] : outputs) {
    if (values.size() != 1)
      continue;
    const bool isCount = absl::EndsWith(name, "_correct") || absl::EndsWith(name, "_count");
    (isCount ? counts : losses)[name] += static_cast<double>(values[0]);
  }
  const auto starts = outputs.find("start_logits"), ends = outputs.find("end_logits");
  if (starts != outputs.end() && ends != outputs.end())
    addAnswers(starts->second, ends->second, batch);
}

// Only windows that contain the answer count.
void EvaluationSums::addAnswers(absl::Span<const float> starts, absl::Span<const float> ends,
                                const Batch &batch) {
  constexpr int64_t kLongestAnswer = 30; // in tokens, as in BERT's own evaluation
  const int32_t *ids = find(batch, "input_ids"), *types = find(batch, "token_type_ids"),
                *mask = find(batch, "attention_mask"), *first = find(batch, "start_positions"),
                *last = find(batch, "end_positions");
  if (!ids || !types || !mask || !first || !last)
    return;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * sequence;
    // The text: the second segment without its [SEP].
    int64_t begin = 0, end = sequence;
    while (end > 0 && (mask[at + end - 1] == 0 || types[at + end - 1] == 0))
      --end;
    --end;
    while (begin < end && types[at + begin] == 0)
      ++begin;
    if (begin >= end || first[row] < begin || last[row] < first[row] || last[row] >= end)
      continue;
    const auto textAt = [&](int64_t from, int64_t to) {
      return textOf({ids + at + from, static_cast<size_t>(to - from + 1)});
    };
    const std::pair<int64_t, int64_t> best = findBestSpan(
        starts.subspan(at, sequence), ends.subspan(at, sequence), begin, end, kLongestAnswer);
    const std::string found = textAt(best.first, best.second),
                      expected = textAt(first[row], last[row]);
    ++answers;
    exact += isExactMatch(found, expected) ? 1 : 0;
    f1 += f1Score(found, expected);
  }
}

// Without a vocabulary each token is a word.
std::string EvaluationSums::textOf(absl::Span<const int32_t> tokens) const {
  std::string text;
  for (int32_t token : tokens) {
    if (token < 0 || static_cast<size_t>(token) >= pieces.size()) {
      absl::StrAppend(&text, text.empty() ? "" : " ", token);
      continue;
    }
    absl::string_view piece = pieces[static_cast<size_t>(token)];
    const bool continues = absl::ConsumePrefix(&piece, "##");
    absl::StrAppend(&text, continues || text.empty() ? "" : " ", piece);
  }
  return text;
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
  if (answers > 0) {
    values["exact_match"] = exact / static_cast<double>(answers);
    values["f1"] = f1 / static_cast<double>(answers);
  }
  const char *language = task == "mlm"                        ? "lm_loss"
                         : task == "clm" || task == "seq2seq" ? "loss"
                                                              : nullptr;
  if (language && values.count(language))
    values["perplexity"] = std::exp(values[language]);
  return values;
}

} // namespace st
