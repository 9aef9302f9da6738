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
#include <functional>
#include <memory>
#include <string>

namespace st {

struct EvaluationOptions {
  int64_t interval = 0;         ///< steps between evaluations; 0: none during training
  int64_t batches = 10;         ///< per evaluation; kAll: those of all the data
  std::string validation, test; ///< data, see createBatchSource; empty: parts of `training`
  std::string training;         ///< training data, whose validation and test parts are used if it
                                ///< has any
  bool only = false;            ///< evaluates and does not train
  bool predicts = false;        ///< reports the answers to the questions of the data

  static constexpr int64_t kAll = -1;

  bool isEnabled() const { return only || interval > 0 || !validation.empty() || !test.empty(); }
};

/// Runs the program "evaluation" of an executable. It is forward-only and reads the parameters in
/// the arenas of training. It changes neither them nor any other input of a step. Every evaluation
/// of a part sees the same first batches of its data. Batches of questions have the windows of a
/// question in succession.
class Evaluator {
public:
  /// Opens the data. An error names a flag that conflicts with others, a binary without an
  /// evaluation program, or a file. `spec` is that of the training batches, with its split.
  static absl::StatusOr<std::unique_ptr<Evaluator>>
  open(const proto::Executable &program, const EvaluationOptions &options, const BatchSpec &spec);

  /// Called before each batch of an evaluation.
  using Progress = std::function<void(int64_t batch, int64_t of)>;

  /// Call before the first evaluation. `training` must outlive the evaluator.
  absl::Status load(Executable &training);

  bool hasValidation() const { return validation != nullptr; }
  bool hasTest() const { return test != nullptr; }

  /// Returns true if an evaluation is due after a step.
  bool isDue(int64_t step) const {
    return options.interval > 0 && validation && step % options.interval == 0;
  }

  /// All processes must call these together.
  absl::StatusOr<EvaluationReport> validate(int64_t step, const Progress &progress) {
    return run(*validation, "validation", step, progress);
  }
  absl::StatusOr<EvaluationReport> testAfter(int64_t step, const Progress &progress) {
    return run(*test, "test", step, progress);
  }

private:
  Evaluator(const proto::Executable &program, const EvaluationOptions &options,
            const BatchSpec &spec)
      : program(program), options(options), spec(spec) {}
  absl::StatusOr<std::unique_ptr<BatchSource>> openPart(const std::string &data,
                                                        SplitPart part) const;
  absl::Status checkData() const;
  absl::StatusOr<EvaluationReport> run(const BatchSource &source, const std::string &part,
                                       int64_t step, const Progress &progress);

  const proto::Executable &program; ///< the evaluation program
  EvaluationOptions options;
  BatchSpec spec;
  std::unique_ptr<BatchSource> validation, test;
  Executable *executable = nullptr;
  std::unique_ptr<Feeder> feeder;
  int64_t simulatedPicoseconds = 0; ///< per batch; 0: not known before the first run
};

} // namespace st

#endif // ST_RUNTIME_EVALUATION_EVALUATOR_H
