#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/RecomputePolicy.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/Recompute/RecomputeBudget.h"
#include "passes/Memory/Recompute/RecomputeEmitter.h"

namespace mlir::st {
#define GEN_PASS_DEF_REMATERIALISE
#include "passes/Memory/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct Rematerialise : mlir::st::impl::RematerialiseBase<Rematerialise> {
  using RematerialiseBase::RematerialiseBase;
  void runOnOperation() override;
  FailureOr<RecomputePolicy> getPolicy();
  LogicalResult rematerialise(ProgramOp program, RecomputePolicy policy);

  bool isChanged = false;
  /// The program whose smallest stash exceeds the budget most, and that stash.
  ProgramOp tooLarge;
  int64_t leastBytes = 0;
};
} // namespace

FailureOr<RecomputePolicy> Rematerialise::getPolicy() {
  Attribute attribute = getOperation()->getAttr(kRecomputeAttr);
  std::optional<RecomputePolicy> recorded =
      attribute ? parseRecomputePolicy(attribute) : parseRecomputePolicy(StringRef(otherwise));
  if (!recorded && attribute)
    return getOperation().emitError("the module's st.recompute is ")
           << attribute
           << "; expected \"none\", \"selective\", \"full\", \"fit\" or a number of bytes";
  if (!recorded)
    return getOperation().emitError("unknown policy \"")
           << otherwise << "\", expected none, selective, full, fit or a number of bytes";
  if (policy.empty())
    return *recorded;
  std::optional<RecomputePolicy> given = parseRecomputePolicy(StringRef(policy));
  if (!given)
    return getOperation().emitError("unknown policy \"")
           << policy << "\", expected none, selective, full, fit or a number of bytes";
  if (attribute && *recorded != *given)
    return getOperation().emitError("the module's st.recompute is ")
           << attribute << ", which contradicts the option policy=" << policy;
  return *given;
}

/// The stages of a program that have a backward part.
static SmallVector<StageStash, 0> findStages(ProgramOp program, const ValueSources &sources,
                                             const MeshAxes &axes, bool gathersAgain) {
  SmallVector<StageStash, 0> stages;
  for (auto forward : program.getOps<TaskOp>()) {
    if (forward.getPhase() != "forward")
      continue;
    TaskOp backward, weight;
    for (auto task : program.getOps<TaskOp>())
      if (task.getStage() == forward.getStage() && task.getPhase() == "backward")
        backward = task;
      else if (task.getStage() == forward.getStage() && task.getPhase() == "weight")
        weight = task;
    if (backward || weight)
      stages.emplace_back(program, sources, axes, forward, backward, weight, gathersAgain);
  }
  return stages;
}

/// One level for all blocks that the policy names.
static RecomputeLevels getLevels(ArrayRef<StageStash> stages, RecomputePolicy::Kind kind) {
  RecomputeLevels levels(stages.size());
  for (auto [stage, own] : llvm::zip_equal(stages, levels))
    for (int64_t block : stage.getForward().getBlocks())
      if (kind == RecomputePolicy::Selective)
        own[block] = RecomputeLevel::Attention;
      else if (kind == RecomputePolicy::Full && stage.getForward().isLayer(block))
        own[block] = RecomputeLevel::Everything;
      else
        own[block] = RecomputeLevel::Nothing;
  return levels;
}

/// Records what more recomputation would save in each stage, for the capacity check.
static void recordSavings(ArrayRef<StageStash> stages, RecomputePolicy policy) {
  if (policy.kind != RecomputePolicy::None && policy.kind != RecomputePolicy::Selective)
    return;
  RecomputeLevels now = getLevels(stages, policy.kind);
  for (RecomputePolicy::Kind kind : {RecomputePolicy::Selective, RecomputePolicy::Full}) {
    if (kind <= policy.kind)
      continue;
    RecomputeLevels levels = getLevels(stages, kind);
    for (auto [i, stage] : llvm::enumerate(stages)) {
      int64_t largest = 0;
      for (auto [block, level] : levels[i])
        largest = std::max(largest, stage.choose({{block, level}}).savedBytes);
      int64_t saved = stage.choose(levels[i]).savedBytes - stage.choose(now[i]).savedBytes;
      TaskOp forward = stage.getForward().getTask();
      NamedAttrList savings(forward->getAttrOfType<DictionaryAttr>(kRecomputeSavesAttr));
      savings.set(getPolicyName(kind),
                  DenseI64ArrayAttr::get(forward.getContext(), {saved, largest}));
      forward->setAttr(kRecomputeSavesAttr, savings.getDictionary(forward.getContext()));
    }
  }
}

/// A loop's stacked values are the stash of its layers; recomputing them would stack them again.
static void noteLoops(ArrayRef<StageStash> stages) {
  for (const StageStash &stage : stages) {
    TaskOp forward = stage.getForward().getTask();
    for (auto loop : forward.getBody().front().getOps<stablehlo::WhileOp>())
      if (llvm::any_of(loop->getResults(), [&](Value result) { return stage.getWrite(result); }))
        loop.emitRemark("is not recomputed: the values that its trips stack for the backward pass "
                        "stay in memory");
  }
}

LogicalResult Rematerialise::rematerialise(ProgramOp program, RecomputePolicy policy) {
  ValueSources sources(program);
  MeshAxes axes(getMesh(getOperation()));
  bool gathersAgain = getOperation()->hasAttr(kGatherAgainAttr);
  SmallVector<StageStash, 0> stages = findStages(program, sources, axes, gathersAgain);
  recordSavings(stages, policy);
  if (policy.kind == RecomputePolicy::None && !gathersAgain)
    return success();
  if (policy.kind != RecomputePolicy::None)
    noteLoops(stages);
  RecomputeLevels levels;
  if (policy.kind == RecomputePolicy::Budget) {
    const int64_t before = getStashBytes(program);
    levels = chooseLevels(stages, before - policy.bytes);
    const int64_t after = before - getSavedBytes(stages, levels);
    if (after > policy.bytes) {
      if (after > leastBytes) {
        tooLarge = program;
        leastBytes = after;
      }
      return success();
    }
  } else if (policy.kind == RecomputePolicy::Fit) {
    // plan-memory reports if even the smallest stash does not fit.
    auto budget = program->getAttrOfType<IntegerAttr>(kStashBudgetAttr);
    if (!budget)
      return program.emitOpError("has no ")
             << kStashBudgetAttr << "; expected the driver to have set it";
    levels = chooseLevels(stages, getStashBytes(program) - budget.getInt());
  } else {
    levels = getLevels(stages, policy.kind);
  }
  for (auto [stage, own] : llvm::zip_equal(stages, levels)) {
    StashChoice choice = stage.choose(own);
    if (reuseProducts && policy.kind != RecomputePolicy::None)
      stage.reuseProducts(choice);
    isChanged |= !choice.dropped.empty();
    numDropped += choice.dropped.size();
    numAdded += choice.added.size();
    RecomputeEmitter emitter(program, stage, choice, splitAttention);
    emitter.emit();
    numRecomputed += emitter.getNumRecomputed();
  }
  return success();
}

static constexpr FactContract kContract = {{Fact::Mesh, Fact::Programs},
                                           FactSet::from(Fact::Schedules)};

void Rematerialise::runOnOperation() {
  FailureOr<RecomputePolicy> policy = getPolicy();
  if (failed(policy) || failed(checkFacts(getOperation(), getArgument(), kContract)))
    return signalPassFailure();
  isChanged = false;
  tooLarge = {};
  leastBytes = 0;
  for (auto program : getOperation().getOps<ProgramOp>())
    if (failed(rematerialise(program, *policy)))
      return signalPassFailure();
  // All groups have the same budget: one that suffices for this group suffices for the others.
  if (tooLarge) {
    tooLarge.emitError("recompute is ")
        << print(*policy) << ", but a micro-batch's stash takes at least " << leastBytes
        << " bytes on a device of this group";
    return signalPassFailure();
  }
  // Warns a user who requests it for a model without layers, or without attention.
  bool isFull = policy->kind == RecomputePolicy::Full;
  bool isAsked = getOperation()->hasAttr(kRecomputeAttr) || !this->policy.empty();
  if (!isChanged && isAsked && (isFull || policy->kind == RecomputePolicy::Selective))
    getOperation().emitWarning("recompute is ")
        << print(*policy) << ", but nothing is recomputed: "
        << (isFull ? "no layer (st.block) between others keeps more than its inputs"
                   : "no product of activations depends on another one");
}
