#include "lib/Runtime/Evaluation/AnswerScores.h"

#include "lib/Runtime/Data/TaskBatch.h"
#include "lib/Runtime/Data/Tokenizer.h"
#include "lib/Runtime/Evaluation/SpanScore.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>

namespace st {
namespace {

// In tokens, as in BERT's own evaluation.
constexpr int64_t kLongestAnswer = 30;

// Returns the [B, S] or [B] tensor of that name, or null.
const int32_t *find(const Batch &batch, absl::string_view name) {
  auto it = std::find_if(batch.begin(), batch.end(),
                         [&](const HostTensor &tensor) { return tensor.name == name; });
  return it == batch.end() ? nullptr : it->ints();
}

} // namespace

AnswerScores::AnswerScores(const BatchSpec &spec, const Questions *questions)
    : questions(questions), rows(spec.batch), sequence(spec.sequence) {
  if (questions) {
    found.resize(questions->questions.size());
    isAdded.resize(questions->windows.size());
    return;
  }
  if (auto it = spec.tokenizerFiles.find(kVocabTxt); it != spec.tokenizerFiles.end())
    for (absl::string_view piece : vocabularyPieces(it->second))
      pieces.emplace_back(piece);
}

void AnswerScores::add(absl::Span<const float> starts, absl::Span<const float> ends,
                       const Batch &batch, int64_t index) {
  for (int64_t row = 0; row < rows; ++row) {
    const absl::Span<const float> start = starts.subspan(row * sequence, sequence),
                                  end = ends.subspan(row * sequence, sequence);
    if (questions)
      addWindow(start, end, questions->windowOf(index * rows + row));
    else
      addRow(start, end, batch, row);
  }
}

void AnswerScores::addWindow(absl::Span<const float> starts, absl::Span<const float> ends,
                             size_t index) {
  if (isAdded[index])
    return;
  isAdded[index] = true;
  const Questions::Window &window = questions->windows[index];
  const Questions::Text &context = questions->textOf(window);
  const int64_t first = positionOfSecond(questions->questions[window.question].tokens.size());
  const auto [start, end] =
      findBestSpan(starts, ends, first, first + window.end - window.begin, kLongestAnswer);
  const float score = starts[start] + ends[end];
  Found &best = found[window.question];
  if (best.windows++ > 0 && score <= best.score)
    return;
  const Token &from = context.tokens[window.begin + start - first],
              &to = context.tokens[window.begin + end - first];
  best.score = score;
  best.text = context.text.substr(from.begin, to.end - from.begin);
}

// Only rows whose window contains the answer count.
void AnswerScores::addRow(absl::Span<const float> starts, absl::Span<const float> ends,
                          const Batch &batch, int64_t row) {
  const int32_t *ids = find(batch, "input_ids"), *types = find(batch, "token_type_ids"),
                *mask = find(batch, "attention_mask"), *first = find(batch, "start_positions"),
                *last = find(batch, "end_positions");
  if (!ids || !types || !mask || !first || !last)
    return;
  const int64_t at = row * sequence;
  // The text: the second segment without its [SEP].
  int64_t begin = 0, end = sequence;
  while (end > 0 && (mask[at + end - 1] == 0 || types[at + end - 1] == 0))
    --end;
  --end;
  while (begin < end && types[at + begin] == 0)
    ++begin;
  if (begin >= end || first[row] < begin || last[row] < first[row] || last[row] >= end)
    return;
  const auto textAt = [&](int64_t from, int64_t to) {
    return textOf({ids + at + from, static_cast<size_t>(to - from + 1)});
  };
  const auto [from, to] = findBestSpan(starts, ends, begin, end, kLongestAnswer);
  const std::string text = textAt(from, to), expected = textAt(first[row], last[row]);
  ++answers;
  exact += isExactMatch(text, expected) ? 1 : 0;
  f1 += f1Score(text, expected);
}

// Without a vocabulary each token is a word.
std::string AnswerScores::textOf(absl::Span<const int32_t> tokens) const {
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

std::map<std::string, double> AnswerScores::values() const {
  int64_t count = answers;
  double matches = exact, sum = f1;
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<std::string> &expected = questions->questions[i].answers;
    if (expected.empty() || !isComplete(i))
      continue;
    double best = 0;
    bool matched = false;
    for (const std::string &answer : expected) {
      best = std::max(best, f1Score(found[i].text, answer));
      matched = matched || isExactMatch(found[i].text, answer);
    }
    ++count;
    matches += matched ? 1 : 0;
    sum += best;
  }
  if (count == 0)
    return {};
  const auto number = static_cast<double>(count);
  return {{"exact_match", matches / number}, {"f1", sum / number}};
}

std::map<std::string, std::string> AnswerScores::predictions() const {
  std::map<std::string, std::string> texts;
  for (size_t i = 0; i < found.size(); ++i)
    if (isComplete(i))
      texts[questions->questions[i].id] = found[i].text;
  return texts;
}

} // namespace st
