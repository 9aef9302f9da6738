#include "lib/Driver/Prediction/FitMemory.h"
#include "lib/Driver/Phases.h"

#include "backends/cuda/codegen/Passes.h"
#include "dialects/St/IR/RecomputePolicy.h"
#include "dialects/St/IR/StDialect.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/Recompute/RecomputeBudget.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/DenseMap.h"

#include <limits>

using namespace mlir;
using namespace mlir::st;

namespace {
/// The state of the search for one program's budget.
struct Search {
  int64_t budget = 0;            ///< to try next
  int64_t fits = 0, doesNot = 0; ///< the largest budget that fits, the smallest that does not
  int64_t allowed = 0;           ///< bytes available to an arena
  bool isDone = false;
};
} // namespace

bool mlir::st::recomputesToFit(ModuleOp module) {
  Attribute attribute = module->getAttr(kRecomputeAttr);
  std::optional<RecomputePolicy> policy =
      attribute ? parseRecomputePolicy(attribute) : std::nullopt;
  return policy && policy->kind == RecomputePolicy::Fit;
}

static void setBudgets(ModuleOp module, ArrayRef<Search> searches) {
  Builder builder(module.getContext());
  for (auto [program, search] : llvm::zip_equal(module.getOps<ProgramOp>(), searches))
    program->setAttr(kStashBudgetAttr, builder.getI64IntegerAttr(search.budget));
}

/// The bytes available to a program's arena: ranks share a device evenly.
static int64_t getAllowed(ProgramOp program, int64_t memoryBytes) {
  DenseMap<int64_t, int64_t> ranks;
  int64_t maximum = 1;
  for (int64_t device : program.getDevices())
    maximum = std::max(maximum, ++ranks[device]);
  return memoryBytes / maximum;
}

/// Returns the bytes of the programs under their budgets: an arena, and scratch memory of kernels.
/// Plans a copy whose devices have unlimited memory.
static FailureOr<SmallVector<int64_t>> planArenas(ModuleOp module, ArrayRef<Search> searches) {
  OwningOpRef<ModuleOp> copy = module.clone();
  setBudgets(*copy, searches);
  auto target = module->getAttrOfType<TargetAttr>("st.target");
  (*copy)->setAttr("st.target",
                   TargetAttr::get(module.getContext(), target.getBackend(), target.getDevice(),
                                   target.getAlignment(), target.getScratchBytes(),
                                   std::numeric_limits<int64_t>::max(), target.getHostBytes(),
                                   target.getMatrixAlignment(), target.getMatrixRowBytes()));
  std::string tasks = getPhasePipeline(module, CompilePhase::Tasks);
  std::string pipeline = StringRef(tasks).split(',').second.str();
  for (CompilePhase phase : {CompilePhase::Scheduled, CompilePhase::Kernels, CompilePhase::Planned})
    pipeline += "," + getPhasePipeline(module, phase);
  if (target.getBackend() == "cuda")
    pipeline += ",convert-kernels-to-gpu";
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  // Warnings are printed again for the final plan.
  ScopedDiagnosticHandler handler(module.getContext(), [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
  });
  if (failed(parsePassPipeline(pipeline, manager)) || failed(manager.run(*copy)))
    return failure();
  auto scratch = (*copy)->getAttrOfType<IntegerAttr>(cuda::kScratchAttr);
  SmallVector<int64_t> arenas;
  for (auto program : copy->getOps<ProgramOp>())
    arenas.push_back(program->getAttrOfType<IntegerAttr>(kArenaBytesAttr).getInt() +
                     (scratch ? scratch.getInt() : 0));
  return arenas;
}

/// Records the result of a trial, and chooses the next budget: all of the stash, then nothing, then
/// bisection.
static void narrow(Search &search, int64_t stashBytes, int64_t arena) {
  const bool isFirst = search.budget == stashBytes;
  (arena <= search.allowed ? search.fits : search.doesNot) = search.budget;
  if (arena <= search.allowed ? isFirst : search.budget == 0)
    search.isDone = true;
  if (isFirst)
    search.budget = search.isDone ? stashBytes : 0;
  else if (!search.isDone && search.doesNot - search.fits > stashBytes / 100)
    search.budget = (search.fits + search.doesNot) / 2;
  else {
    search.isDone = true;
    search.budget = search.fits;
  }
}

LogicalResult mlir::st::fitMemory(ModuleOp module) {
  auto target = module->getAttrOfType<TargetAttr>("st.target");
  SmallVector<Search> searches;
  SmallVector<int64_t> stashes;
  for (auto program : module.getOps<ProgramOp>()) {
    int64_t stash = stashes.emplace_back(getStashBytes(program));
    searches.push_back({stash, 0, stash, getAllowed(program, target.getMemoryBytes()), stash == 0});
  }
  while (!llvm::all_of(searches, [](const Search &search) { return search.isDone; })) {
    FailureOr<SmallVector<int64_t>> arenas = planArenas(module, searches);
    if (failed(arenas))
      return failure();
    for (auto [search, stash, arena] : llvm::zip_equal(searches, stashes, *arenas))
      if (!search.isDone)
        narrow(search, stash, arena);
  }
  setBudgets(module, searches);
  return success();
}
