#include "lib/Driver/Phases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

namespace {
struct PhaseInfo {
  StringRef name, pipeline;
};
} // namespace

static constexpr PhaseInfo kPhases[kNumPhases] = {
    {"import", ""},
    {"differentiate", "differentiate"},
    {"optimizer", ""},
    {"configured", ""},
    {"propagated", "propagate-shardings"},
    {"staged", "assign-stages"},
    {"resharded", "insert-reshards"},
    {"local", "global-to-local"},
    {"tasks", "split-tasks"},
    {"scheduled", "schedule-pipeline"},
    {"kernels", "form-kernels"},
    {"planned", "plan-memory"},
    {"dtu", "convert-to-dtu"},
};

StringRef mlir::st::getCompilePhaseName(CompilePhase phase) { return kPhases[static_cast<int>(phase)].name; }

StringRef mlir::st::getPhasePipeline(CompilePhase phase) {
  return kPhases[static_cast<int>(phase)].pipeline;
}

std::optional<CompilePhase> mlir::st::getCompilePhase(StringRef name) {
  for (auto [index, info] : llvm::enumerate(kPhases))
    if (info.name == name)
      return static_cast<CompilePhase>(index);
  return std::nullopt;
}

std::string mlir::st::listPhases() {
  return llvm::join(llvm::map_range(kPhases, [](const PhaseInfo &info) { return info.name; }), ", ");
}
