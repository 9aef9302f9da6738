// Accumulates the batches of an evaluation.
#ifndef ST_RUNTIME_EVALUATION_EVALUATIONSUMS_H
#define ST_RUNTIME_EVALUATION_EVALUATIONSUMS_H

#include "lib/Runtime/Data/BatchSource.h"
#include "lib/Runtime/Evaluation/AnswerScores.h"

#include "absl/status/status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace st {

/// The outputs of an evaluation program by name, row-major.
using EvaluationOutputs = std::map<std::string, std::vector<float>>;

class EvaluationSums {
public:
  /// `questions`: see AnswerScores.
  explicit EvaluationSums(const BatchSpec &spec, const Questions *questions = nullptr);

  /// Adds batch `index` of the data.
  void add(const EvaluationOutputs &outputs, const Batch &batch, int64_t index);

  /// Means of losses over batches; accuracies over all labels; exact match and F1, see
  /// AnswerScores; for a language model also the perplexity, exp of its loss.
  std::map<std::string, double> values() const;

  std::map<std::string, std::string> predictions() const { return answers.predictions(); }

private:
  const std::string task;
  int64_t batches = 0;
  std::map<std::string, double> losses, counts;
  AnswerScores answers;
};

} // namespace st

#endif // ST_RUNTIME_EVALUATION_EVALUATIONSUMS_H
