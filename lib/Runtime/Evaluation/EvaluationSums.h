// Accumulates the batches of an evaluation.
#ifndef ST_RUNTIME_EVALUATION_EVALUATIONSUMS_H
#define ST_RUNTIME_EVALUATION_EVALUATIONSUMS_H

#include "lib/Runtime/Data/BatchSource.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace st {

/// The outputs of an evaluation program by name, row-major.
using EvaluationOutputs = std::map<std::string, std::vector<float>>;

class EvaluationSums {
public:
  explicit EvaluationSums(const BatchSpec &spec);

  void add(const EvaluationOutputs &outputs, const Batch &batch);

  /// Means of losses over batches; accuracies, exact match and F1 over all labels; for a language
  /// model also the perplexity, exp of its loss.
  std::map<std::string, double> values() const;

private:
  void addAnswers(absl::Span<const float> starts, absl::Span<const float> ends, const Batch &batch);
  std::string textOf(absl::Span<const int32_t> tokens) const;

  const std::string task;
  int64_t rows = 0, sequence = 0;
  std::vector<std::string> pieces; ///< of a WordPiece vocabulary
  int64_t batches = 0;
  std::map<std::string, double> losses, counts;
  int64_t answers = 0;
  double exact = 0, f1 = 0;
};

} // namespace st

#endif // ST_RUNTIME_EVALUATION_EVALUATIONSUMS_H
