// Compiles a model to a training binary; the only place that composes the phases.
#ifndef ST_DRIVER_COMPILER_H
#define ST_DRIVER_COMPILER_H

#include "lib/Driver/Options/CompileOptions.h"
#include "lib/Frontend/ModelConfig.h"
#include "lib/Proto/executable.pb.h"
#include "lib/Report/WhatIf.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlir::st {

class TrainedLayout;

struct CompileRequest {
  std::string input = "-"; ///< model folder, config.json, or IR
  std::string output = "-";
  std::string parallel;                  ///< parallel-config file; empty: one device
  std::string dumpPhasesTo;              ///< folder that gets the IR after each phase; empty: none
  std::string explain;                   ///< file for an explanation of the reshards; empty: none
  std::string rolesOut;                  ///< file that gets the roles of @main; empty: none
  std::string runner;                    ///< the prebuilt runner that a binary starts with
  std::optional<CompilePhase> stopAfter; ///< print the IR instead of writing a binary
  std::optional<CompilePhase> startFrom; ///< input is IR after this phase
  bool quiet = false;                    ///< no progress on stderr
  /// Times the step of the program; null: the binary has no prediction.
  ::st::MakeClient makeClient;
  std::string report; ///< file for a page about that step; empty: none
  /// Receives the module after each phase; may be empty.
  std::function<void(CompilePhase, ModuleOp)> observer;
  /// True if the binary can evaluate the model as well as train it.
  bool evaluates = false;
  /// A ramp-up of the global batch (see BatchRamp), for which the binary has a training program per
  /// size; empty: none.
  std::string rampup;
  /// If not null, compiles another program of the model that was compiled to this layout.
  const TrainedLayout *trained = nullptr;
  /// With `trained`: a training step of this number of micro-batches; 0: the evaluation.
  int64_t microBatches = 0;

  bool isEvaluation() const { return trained && microBatches == 0; }
  /// True if programs are proven free of deadlocks and races, which every binary requires.
  bool provesOrder = true;
  /// The model, instead of the one that `input` names.
  std::optional<ModelConfig> model;
  /// Returns the imported program, instead of the one that `input` names. Called once.
  std::function<OwningOpRef<ModuleOp>()> program;
  /// The text of a parallel-config file, instead of the file `parallel`.
  std::optional<std::string> parallelText;
  /// The WordPiece vocabulary of `model`; empty if it has none.
  std::string vocabularyFile;
  /// Default flags of the training binary, by name; its command line overrides them.
  std::vector<std::pair<std::string, std::string>> runFlags;
  CompileOptions options{{}};
};

/// Compiles. Diagnostics go to the context's handlers; a failed compilation
/// leaves no output file.
LogicalResult compile(const CompileRequest &request, MLIRContext *context);

/// Compiles to the program of a training binary, and times its step as the request specifies.
/// Writes no file.
FailureOr<::st::proto::Executable> compileToExecutable(const CompileRequest &request,
                                                       MLIRContext *context);

/// Compiles to the phase `stopAfter`, which must be set, and returns the module. Writes no file.
OwningOpRef<ModuleOp> compileToModule(const CompileRequest &request, MLIRContext *context);

} // namespace mlir::st

#endif // ST_DRIVER_COMPILER_H
