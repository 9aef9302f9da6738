//===- CompiledRun.h - The program of a Megatron run ------------*- C++ -*-===//
//
// A Megatron log or command line as the inputs of a compilation and the flags of the run. Every
// argument has an outcome: honoured, without effect (with the reason), or refused.
//
//===----------------------------------------------------------------------===//

#ifndef ST_LIB_FRONTEND_MEGATRON_COMPILE_COMPILEDRUN_H
#define ST_LIB_FRONTEND_MEGATRON_COMPILE_COMPILEDRUN_H

#include "lib/Frontend/Megatron/Log.h"
#include <map>

namespace mlir::st {

struct ArgumentOutcome {
  enum Status { Honoured, NoEffect, Refused } status = Honoured;
  std::string name, value;
  /// Honoured: its role. NoEffect: the reason. Refused: the expected value.
  std::string text;
  /// Its line in the file; 0 for a default of Megatron that is not in the file.
  unsigned line = 0;
};

StringRef stringify(ArgumentOutcome::Status status);

/// A default of a training binary's flag, which the command line overrides.
struct DefaultFlag {
  std::string name, value;
};

struct CompiledRun {
  /// Texts of a config.json and of a parallel-config file.
  std::string config, parallel;
  /// Options of st-compile, by name: task, batch, seq, optimizer, ...
  std::map<std::string, std::string> options;
  std::vector<DefaultFlag> flags;
  bool evaluates = false; ///< the binary needs an evaluation
  std::string rampup;     ///< --rampup-batch-size of st-compile; empty: none
  /// The WordPiece vocabulary of a BERT; empty if the file is not on this machine.
  std::string vocabularyFile;
  /// Every argument of the file, in order.
  std::vector<ArgumentOutcome> outcomes;

  /// "run.log:12: argument 'x': expected ..., found ..." for the first refused argument, with the
  /// number of further ones; OK if none is refused.
  absl::Status refusal(StringRef path) const;
};

/// Derives the inputs of a compilation from a log. `vocabularyFile` overrides the log's. Refused
/// arguments are outcomes, not errors. Fails with a one-line error if the log is contradictory or
/// incomplete.
absl::StatusOr<CompiledRun> compileMegatronRun(const MegatronLog &log,
                                               const std::string &vocabularyFile = "");

/// The outcomes as a readable table, or as JSON: an array of objects with `argument`, `value`,
/// `outcome` and `as`.
std::string printOutcomes(ArrayRef<ArgumentOutcome> outcomes);
std::string printOutcomesJson(ArrayRef<ArgumentOutcome> outcomes);
/// "139 arguments: 80 honoured, 59 without effect"
std::string summariseOutcomes(ArrayRef<ArgumentOutcome> outcomes);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_COMPILE_COMPILEDRUN_H
