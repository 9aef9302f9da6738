// Scores the answers that an evaluation finds in texts.
#ifndef ST_RUNTIME_EVALUATION_ANSWERSCORES_H
#define ST_RUNTIME_EVALUATION_ANSWERSCORES_H

#include "lib/Runtime/Data/BatchSource.h"

#include "absl/types/span.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace st {

/// Exact match and F1 as SQuAD 1.1 defines them. The answer to a question is the span, in any of
/// the question's windows, whose logits have the largest sum.
class AnswerScores {
public:
  /// `questions` are those of the batches, see BatchSource::questions, and must outlive the scores.
  /// If null, each row is a question with one window, and only rows with a label count.
  AnswerScores(const BatchSpec &spec, const Questions *questions);

  /// Adds batch `index`. The logits are [B,S].
  void add(absl::Span<const float> starts, absl::Span<const float> ends, const Batch &batch,
           int64_t index);

  /// The means of "exact_match" and "f1" over the questions with an answer, all of whose windows
  /// were added; empty if there is none.
  std::map<std::string, double> values() const;

  /// The answers found, by question id. Includes only the questions all of whose windows were
  /// added.
  std::map<std::string, std::string> predictions() const;

private:
  struct Found {
    float score = 0; ///< the sum of two logits
    std::string text;
    int64_t windows = 0; ///< added so far
  };

  void addRow(absl::Span<const float> starts, absl::Span<const float> ends, const Batch &batch,
              int64_t row);
  void addWindow(absl::Span<const float> starts, absl::Span<const float> ends, size_t index);
  std::string textOf(absl::Span<const int32_t> tokens) const;
  bool isComplete(size_t question) const {
    return found[question].windows == questions->questions[question].numWindows;
  }

  const Questions *questions;
  int64_t rows = 0, sequence = 0;
  // With questions.
  std::vector<Found> found;  ///< by question
  std::vector<bool> isAdded; ///< by window
  // Without questions.
  std::vector<std::string> pieces; ///< of a WordPiece vocabulary
  int64_t answers = 0;
  double exact = 0, f1 = 0;
};

} // namespace st

#endif // ST_RUNTIME_EVALUATION_ANSWERSCORES_H
