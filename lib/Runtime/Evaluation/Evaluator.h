// Evaluates the parameters of a run on data that it does not train on.
#ifndef ST_RUNTIME_EVALUATION_EVALUATOR_H
#define ST_RUNTIME_EVALUATION_EVALUATOR_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Data/BatchSource.h"
#include "lib/Runtime/Evaluation/EvaluationReport.h"
#include "lib/Runtime/Training/Feeder.h"
#include "st/Runtime/Executable.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <string>

namespace st {

struct EvaluationOptions {
  int64_t interval = 0;         ///< steps between two evaluations; 0: none on the way
  int64_t batches = 10;         ///< of an evaluation
  std::string validation, test; ///< data, see createBatchSource; empty: that of `training`
  std::string training;         ///< whose parts for validation and tests are used, if it has any
  bool only = false;            ///< evaluates and does not train

  bool isWanted() const { return only || interval > 0 || !validation.empty() || !test.empty(); }
};

/// Evaluates by the program "evaluation" of an executable, which is forward only and reads the
/// parameters where training has them: they stay as they are, and so does all else that a step goes
/// on from. Every evaluation of a part sees the same first batches of its data.
class Evaluator {
public:
  /// Opens the data. An error names the flag that does not fit to the others, a binary without an
  /// evaluation, or a file. `spec` is that of the training's batches, with its split.
  static absl::StatusOr<std::unique_ptr<Evaluator>>
  open(const proto::Executable &program, const EvaluationOptions &options, const BatchSpec &spec);

  /// Before the first evaluation. `training` outlives the evaluator.
  absl::Status load(Executable &training);

  bool hasValidation() const { return validation != nullptr; }
  bool hasTest() const { return test != nullptr; }

  /// Whether there is an evaluation on the way after a step.
  bool isDue(int64_t step) const {
    return options.interval > 0 && validation && step % options.interval == 0;
  }

  /// All processes call them together.
  absl::StatusOr<EvaluationReport> validate(int64_t step) {
    return run(*validation, "validation", step);
  }
  absl::StatusOr<EvaluationReport> testAfter(int64_t step) { return run(*test, "test", step); }

private:
  Evaluator(const proto::Executable &program, const EvaluationOptions &options,
            const BatchSpec &spec)
      : program(program), options(options), spec(spec) {}
  absl::StatusOr<std::unique_ptr<BatchSource>> openPart(const std::string &data,
                                                        SplitPart part) const;
  absl::StatusOr<EvaluationReport> run(const BatchSource &source, const std::string &part,
                                       int64_t step);

  const proto::Executable &program; ///< the one that evaluates
  EvaluationOptions options;
  BatchSpec spec;
  std::unique_ptr<BatchSource> validation, test;
  Executable *executable = nullptr;
  std::unique_ptr<Feeder> feeder;
  int64_t simulatedPicoseconds = 0; ///< of a batch; 0: not known before it ran
};

} // namespace st

#endif // ST_RUNTIME_EVALUATION_EVALUATOR_H
