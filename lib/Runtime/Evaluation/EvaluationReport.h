// The results of an evaluation, and their log formats.
#ifndef ST_RUNTIME_EVALUATION_EVALUATIONREPORT_H
#define ST_RUNTIME_EVALUATION_EVALUATIONREPORT_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace st {

struct EvaluationReport {
  std::string part; ///< of the data: "validation" or "test"
  int64_t step = 0; ///< the step whose parameters were evaluated
  int64_t batches = 0;
  /// "loss" and "perplexity", and by task: masked_lm_accuracy, next_sentence_accuracy,
  /// token_accuracy, label_accuracy, lm_loss, next_sentence_loss, exact_match, f1 (from 0 to 1).
  std::map<std::string, double> values;
  std::optional<int64_t> simulatedPicoseconds; ///< per batch; none on a real device
  double hostSeconds = 0;
  std::map<std::string, std::string> predictions; ///< answers by the ids of their questions
};

/// "validation after step 20: loss 3.21  perplexity 24.8  ...  sim 1.2 ms a batch  host 0.300 s".
std::string printEvaluation(const EvaluationReport &report);

/// One line of JSON with step, evaluation (the part), batches, the values, sim_ms per batch, and
/// host_s.
std::string printEvaluationJson(const EvaluationReport &report);

/// Megatron-LM's lines: the losses as "value", and exp(min(20, loss)) as "PPL".
std::string printMegatronEvaluation(const EvaluationReport &report);

/// The predictions as JSON, as SQuAD 1.1's evaluation script reads them.
std::string printPredictions(const EvaluationReport &report);

/// The values by Megatron-LM's tags for TensorBoard: "lm loss validation", "lm loss validation
/// ppl".
std::map<std::string, double> tagEvaluation(const EvaluationReport &report);

} // namespace st

#endif // ST_RUNTIME_EVALUATION_EVALUATIONREPORT_H
