#include "lib/Driver/Phases.h"

#include "dialects/St/IR/StDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

namespace {
struct PhaseInfo {
  StringRef name, pipeline;
  FactContract contract;
};
} // namespace

/// Facts that must not hold before the layout phase, and before the gradients.
static constexpr FactSet kFromLayout = FactSet::from(Fact::Layout),
                         kFromGradients = kFromLayout | FactSet({Fact::Gradients, Fact::Optimizer});
/// Ops that a task must not contain once kernels are formed.
static constexpr FactSet kBareOps = {Fact::TensorOps};

static constexpr PhaseInfo kPhases[kNumPhases] = {
    {"import", "", {{Fact::Roles}, kFromGradients}},
    {"precision", "", {{Fact::Roles}, kFromGradients}},
    {"differentiate",
     "stop-softmax-gradients,differentiate",
     {{Fact::Roles}, kFromLayout | FactSet({Fact::Optimizer})}},
    {"optimizer", "", {{Fact::Roles}, kFromLayout | FactSet({Fact::Gradients})}},
    {"configured", "", {{Fact::Mesh, Fact::Layout}, FactSet::from(Fact::Shardings)}},
    {"propagated",
     "expand-branches,pad-dimensions,propagate-shardings",
     {{Fact::Mesh, Fact::Layout, Fact::Shardings}, FactSet::from(Fact::Stages)}},
    {"staged",
     "assign-stages",
     {{Fact::Mesh, Fact::Layout, Fact::Shardings, Fact::Stages}, FactSet::from(Fact::LocalTypes)}},
    {"resharded",
     "insert-reshards",
     {{Fact::Mesh, Fact::Layout, Fact::Shardings, Fact::Stages}, FactSet::from(Fact::LocalTypes)}},
    {"local",
     "global-to-local,simplify-collectives",
     {{Fact::Mesh, Fact::Layout, Fact::Stages, Fact::LocalTypes}, FactSet::from(Fact::Programs)}},
    {"tasks",
     "split-tasks,rematerialise{split-attention=true},combine-collectives,reuse-accumulators",
     {{Fact::Mesh, Fact::Programs}, FactSet::from(Fact::Schedules)}},
    {"scheduled",
     "schedule-pipeline",
     {{Fact::Mesh, Fact::Programs, Fact::Schedules}, FactSet::from(Fact::Kernels)}},
    {"kernels",
     "form-loops,lower-loops,lower-tensor-ops,form-kernels{attention=auto},"
     "split-attention{streamed-only=true},derive-row-sums{streamed-only=true},ring-attention,"
     "share-heads,overlap-products,"
     "overlap-collectives,offload-stash",
     {{Fact::Mesh, Fact::Programs, Fact::Schedules}, kBareOps | FactSet::from(Fact::Addresses)}},
    {"planned",
     "plan-memory",
     {{Fact::Mesh, Fact::Schedules, Fact::Addresses}, kBareOps | FactSet({Fact::DeviceCode})}},
    {"dtu", "convert-to-dtu", {{Fact::Mesh, Fact::Schedules, Fact::DeviceCode}, kBareOps}},
};

const FactContract &mlir::st::getPhaseContract(CompilePhase phase) {
  return kPhases[static_cast<int>(phase)].contract;
}

StringRef mlir::st::getCompilePhaseName(CompilePhase phase) {
  return kPhases[static_cast<int>(phase)].name;
}

std::string mlir::st::getPhasePipeline(ModuleOp module, CompilePhase phase) {
  auto target = module->getAttrOfType<TargetAttr>("st.target");
  const bool isCuda = target && target.getBackend() == "cuda";
  // Fused attention kernels recompute the scores, so nothing of attention is kept.
  if (phase == CompilePhase::Tasks && isCuda)
    return "split-tasks,rematerialise{otherwise=selective "
           "reuse-products=true split-attention=true},combine-collectives,reuse-accumulators";
  if (phase == CompilePhase::Kernels && isCuda) {
    // A ring computes parts of the row sums, which no library's kernel takes.
    StringRef mark = module->hasAttr(kRingAxisAttr) ? "" : "mark-attention-gradients,";
    return "form-loops,lower-loops,lower-tensor-ops,form-kernels{attention=streamed},overlap-"
           "products,split-products,fuse-epilogues,accumulate-in-products,split-attention," +
           mark.str() +
           "derive-row-sums,ring-attention,hoist-row-values,join-attention-gradients,"
           "fuse-transposes,sink-"
           "conversions,share-heads,"
           "split-reductions,join-reductions,invert-divisors,separate-maxima,convert-in-update,"
           "lift-constants,group-kernels,overlap-collectives,offload-stash";
  }
  return kPhases[static_cast<int>(phase)].pipeline.str();
}

std::optional<CompilePhase> mlir::st::getCompilePhase(StringRef name) {
  for (auto [index, info] : llvm::enumerate(kPhases))
    if (info.name == name)
      return static_cast<CompilePhase>(index);
  return std::nullopt;
}

std::string mlir::st::listPhases() {
  return llvm::join(llvm::map_range(kPhases, [](const PhaseInfo &info) { return info.name; }),
                    ", ");
}
