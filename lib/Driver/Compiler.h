// From a model to a training binary: the one place that composes the phases.
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
  std::string explain;                   ///< file that gets what reshards move and why; empty: none
  std::string rolesOut;                  ///< file that gets the roles of @main; empty: none
  std::string runner;                    ///< the prebuilt runner that a binary starts with
  std::optional<CompilePhase> stopAfter; ///< print the IR instead of writing a binary
  std::optional<CompilePhase> startFrom; ///< input is IR after this phase
  bool quiet = false;                    ///< no progress on stderr
  /// What times the step of the program; none: the binary says nothing of that.
  ::st::MakeClient makeClient;
  std::string report; ///< file that gets a page about that step; empty: none
  /// Sees the module after each phase; may be empty.
  std::function<void(CompilePhase, ModuleOp)> observer;
  /// Whether the binary can evaluate the model as well as train it.
  bool evaluates = false;
  /// Not null: what is compiled is the evaluation of the model that was compiled to this layout.
  const TrainedLayout *trained = nullptr;
  /// Whether the programs are proven free of deadlock and of races. No binary goes without.
  bool provesOrder = true;
  /// The model, instead of the one that `input` names.
  std::optional<ModelConfig> model;
  /// Gives the program, imported, instead of the one that `input` names. Is called once.
  std::function<OwningOpRef<ModuleOp>()> program;
  /// The text of a parallel-config file, instead of the file `parallel`.
  std::optional<std::string> parallelText;
  /// The WordPiece vocabulary of `model`; empty: it has none.
  std::string vocabularyFile;
  /// Flags of the training binary, by name, that hold unless its command line says otherwise.
  std::vector<std::pair<std::string, std::string>> runFlags;
  CompileOptions options{{}};
};

/// Compiles. Diagnostics go to the context's handlers; a failed compilation
/// leaves no output file.
LogicalResult compile(const CompileRequest &request, MLIRContext *context);

/// Compiles to the program of a training binary, whose step is timed where the request says by
/// what. No file is written.
FailureOr<::st::proto::Executable> compileToExecutable(const CompileRequest &request,
                                                       MLIRContext *context);

/// Compiles to the phase `stopAfter`, which has to be there, and returns the module: no file is
/// written.
OwningOpRef<ModuleOp> compileToModule(const CompileRequest &request, MLIRContext *context);

} // namespace mlir::st

#endif // ST_DRIVER_COMPILER_H
