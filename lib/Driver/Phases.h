// The phases of a compilation, in order, and the passes that lead to each.
#ifndef ST_DRIVER_PHASES_H
#define ST_DRIVER_PHASES_H

#include "dialects/St/IR/ModuleFacts.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::st {

/// A phase of compilation (docs/architecture.md). The numbers are indices into getPhases().
enum class CompilePhase {
  Import,
  Precision,
  Differentiate,
  Optimizer,
  Configured,
  Propagated,
  Staged,
  Resharded,
  Local,
  Tasks,
  Scheduled,
  Kernels,
  Planned,
  Dtu,
};

constexpr int kNumPhases = static_cast<int>(CompilePhase::Dtu) + 1;

/// The name of a phase on the command line.
StringRef getCompilePhaseName(CompilePhase phase);
std::optional<CompilePhase> getCompilePhase(StringRef name);
/// "import, differentiate, ...", for messages.
std::string listPhases();

/// The facts that hold for every module after a phase.
const FactContract &getPhaseContract(CompilePhase phase);

/// The pass pipeline that leads to a phase from the previous one; empty for import, precision,
/// optimizer and configured, which need options. The module has the target.
std::string getPhasePipeline(ModuleOp module, CompilePhase phase);

} // namespace mlir::st

#endif // ST_DRIVER_PHASES_H
