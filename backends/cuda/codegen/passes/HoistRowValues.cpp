// Computes per-row values in gradients of attention once, and multiplies them with each other
// first.
#include "backends/common/ReachingDefinitions.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/analysis/SimilarKernels.h"
#include "backends/cuda/codegen/attention/Attention.h"
#include "backends/cuda/codegen/attention/AttentionPlan.h"
#include "backends/cuda/codegen/kernels/KernelParts.h"
#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "dialects/StableHLO/Utils/ProductStrides.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_HOISTROWVALUES
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::getSplat;
using mlir::st::KernelOp;
using mlir::st::ReachingDefinitions;
namespace hlo = mlir::stablehlo;

namespace {
class HoistRowValuesPass : public mlir::cuda::impl::HoistRowValuesBase<HoistRowValuesPass> {
public:
  void runOnOperation() override;

private:
  void regroup(KernelOp kernel);
  void hoist(KernelOp rows, KernelOp columns);
};
} // namespace

static Block &bodyOf(KernelOp kernel) { return kernel.getBody().front(); }

// ---- factors ------------------------------------------------------------------------------------

/// Returns true if all products read 16 bits, so that f32 roundings do not matter. They do if the
/// 16 bits are slices of exact sums.
static bool readsNarrow(KernelOp kernel) {
  if (kernel->getParentOfType<ModuleOp>()->hasAttr(st::kExactSumsAttr))
    return false;
  auto products = bodyOf(kernel).getOps<hlo::DotGeneralOp>();
  return !products.empty() && llvm::all_of(products, [](hlo::DotGeneralOp dot) {
    return getElementTypeOrSelf(dot.getLhs()).getIntOrFloatBitWidth() == 16;
  });
}

/// Returns true for an f32 value that is broadcast to all elements of a row, or to all elements.
static bool isRowFactor(Value value) {
  return getSplat(value) || value.getDefiningOp<hlo::BroadcastInDimOp>();
}

/// The product of two row factors; one may be uniform over the rows. Null if they are broadcast
/// along different dimensions.
static Value multiplyFactors(OpBuilder &builder, Value one, Value other) {
  if (getSplat(one))
    std::swap(one, other);
  mlir::st::Emitter emitter(builder, builder.getInsertionBlock(), one.getLoc());
  std::optional<double> splat = getSplat(other);
  if (std::optional<double> first = getSplat(one))
    return emitter.splatLike(one, static_cast<float>(*first) * static_cast<float>(*splat));
  auto broadcast = one.getDefiningOp<hlo::BroadcastInDimOp>();
  auto second = other.getDefiningOp<hlo::BroadcastInDimOp>();
  Value row = broadcast.getOperand();
  if (!splat && (second.getBroadcastDimensions() != broadcast.getBroadcastDimensions() ||
                 second.getOperand().getType() != row.getType()))
    return {};
  Value product =
      emitter.mul(row, splat ? emitter.splatLike(row, *splat) : Value(second.getOperand()));
  return hlo::BroadcastInDimOp::create(builder, one.getLoc(), one.getType(), product,
                                       broadcast.getBroadcastDimensionsAttr());
}

/// Rewrites x * a * b with row factors a and b to x * (a * b): one multiplication per element.
void HoistRowValuesPass::regroup(KernelOp kernel) {
  auto products = llvm::to_vector(bodyOf(kernel).getOps<hlo::MulOp>());
  for (hlo::MulOp outer : products) {
    const bool isLeft = isRowFactor(outer.getLhs());
    Value factor = isLeft ? outer.getLhs() : outer.getRhs();
    auto inner = (isLeft ? outer.getRhs() : outer.getLhs()).getDefiningOp<hlo::MulOp>();
    if (!inner || !inner->hasOneUse() || !isRowFactor(factor) ||
        !getElementTypeOrSelf(outer.getType()).isF32() ||
        isRowFactor(inner.getLhs()) == isRowFactor(inner.getRhs()))
      continue;
    const bool isInnerLeft = isRowFactor(inner.getLhs());
    OpBuilder builder(outer);
    Value both = multiplyFactors(builder, isInnerLeft ? inner.getLhs() : inner.getRhs(), factor);
    if (!both)
      continue;
    outer->setOperands({isInnerLeft ? inner.getRhs() : inner.getLhs(), both});
    inner.erase();
    ++numRegrouped;
  }
}

// ---- row values -----------------------------------------------------------------------------

/// Returns the per-row values that a kernel computes from its arguments and broadcasts along
/// columns. Excludes values that depend on scores, such as their sums, and masks of positions,
/// which identify causal kernels.
static llvm::SetVector<Value> findRowValues(KernelOp kernel) {
  DenseSet<Value> ofScores;
  llvm::SetVector<Value> found;
  for (Operation &op : bodyOf(kernel).without_terminator()) {
    if (isa<hlo::DotGeneralOp, hlo::ReduceOp>(op) ||
        llvm::any_of(op.getOperands(), [&](Value operand) { return ofScores.contains(operand); }))
      ofScores.insert(op.getResults().begin(), op.getResults().end());
    auto broadcast = dyn_cast<hlo::BroadcastInDimOp>(op);
    const bool isOfRows =
        broadcast && !broadcast.use_empty() &&
        !llvm::is_contained(broadcast.getBroadcastDimensions(),
                            cast<RankedTensorType>(broadcast.getType()).getRank() - 1);
    Value row = isOfRows ? broadcast.getOperand() : Value();
    Operation *producer = row ? row.getDefiningOp() : nullptr;
    if (producer && !ofScores.contains(row) && !getSplat(row) && !isa<hlo::SliceOp>(producer) &&
        cast<RankedTensorType>(row.getType()).getNumElements() > 1 &&
        getElementTypeOrSelf(row.getType()).isF32())
      found.insert(row);
  }
  return found;
}

/// Returns true if an elementwise kernel computes the input, and `user` is its only user.
static bool canAbsorb(Value input, KernelOp user) {
  auto from = input.getDefiningOp<KernelOp>();
  return from && from.getKind() == "loop" && from->getNumResults() == 1 && input.hasOneUse() &&
         from->getBlock() == user->getBlock() &&
         llvm::all_of(bodyOf(from).without_terminator(), [](Operation &op) {
           return isa<hlo::MulOp, hlo::DivOp, hlo::ConstantOp>(op);
         });
}

/// Merges the kernels that only this one reads into it.
static void absorb(KernelOp kernel) {
  auto *body = new Block;
  OpBuilder builder(kernel), inside(kernel.getContext());
  inside.setInsertionPointToEnd(body);
  IRMapping mapping;
  SmallVector<Value> inputs;
  SmallVector<KernelOp> absorbed;
  auto mapArgument = [&](BlockArgument argument, Value input) {
    const auto *place = llvm::find(inputs, input);
    const auto number = static_cast<unsigned>(place - inputs.begin());
    if (place == inputs.end()) {
      inputs.push_back(input);
      body->addArgument(input.getType(), argument.getLoc());
    }
    mapping.map(argument, body->getArgument(number));
  };
  auto cloneBody = [&](KernelOp from) {
    for (Operation &op : bodyOf(from).without_terminator())
      inside.clone(op, mapping);
  };
  for (auto [argument, input] :
       llvm::zip_equal(bodyOf(kernel).getArguments(), kernel.getInputs())) {
    if (!canAbsorb(input, kernel)) {
      mapArgument(argument, input);
      continue;
    }
    auto from = input.getDefiningOp<KernelOp>();
    for (auto [inner, outer] : llvm::zip_equal(bodyOf(from).getArguments(), from.getInputs()))
      mapArgument(inner, outer);
    cloneBody(from);
    mapping.map(argument, mapping.lookup(bodyOf(from).getTerminator()->getOperand(0)));
    absorbed.push_back(from);
  }
  cloneBody(kernel);
  inside.clone(*bodyOf(kernel).getTerminator(), mapping);
  auto replacement = KernelOp::create(builder, kernel.getLoc(), kernel.getResultTypes(),
                                      kernel.getKindAttr(), inputs);
  replacement->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  replacement.getBody().push_back(body);
  kernel->replaceAllUsesWith(replacement->getResults());
  kernel.erase();
  for (KernelOp from : absorbed)
    from.erase();
}

/// Replaces equal per-row values by the first of them.
static void mergeRowValues(KernelOp kernel, const ReachingDefinitions &definitions) {
  const llvm::SetVector<Value> values = findRowValues(kernel);
  for (auto broadcast : bodyOf(kernel).getOps<hlo::BroadcastInDimOp>())
    if (values.contains(broadcast.getOperand()))
      broadcast->setOperand(0, *llvm::find_if(values, [&](Value value) {
                              return definitions.areSame(value, broadcast.getOperand());
                            }));
}

/// Creates one kernel, before both, that computes the per-row values that the two kernels share.
void HoistRowValuesPass::hoist(KernelOp rows, KernelOp columns) {
  const ReachingDefinitions definitions(columns);
  mergeRowValues(columns, definitions);
  mergeRowValues(rows, definitions);
  const llvm::SetVector<Value> ofColumns = findRowValues(columns), ofRows = findRowValues(rows);
  if (ofColumns.empty())
    return;
  OpBuilder builder(columns);
  KernelOp hoisted = makePart(builder, columns, "loop", ofColumns.getArrayRef(), {});
  // If the values depend on results of the first kernel, only the second kernel uses them.
  const bool isFirst = llvm::all_of(hoisted.getInputs(), [&](Value input) {
    Operation *producer = input.getDefiningOp();
    return !producer || producer->getBlock() != rows->getBlock() || producer->isBeforeInBlock(rows);
  });
  if (isFirst)
    hoisted->moveBefore(rows);
  auto cutsOf = [&](const llvm::SetVector<Value> &of) {
    SmallVector<Cut> cuts;
    for (Value value : of)
      for (auto [hoistedValue, result] : llvm::zip_equal(ofColumns, hoisted.getResults()))
        if (definitions.areSame(value, hoistedValue))
          cuts.push_back({value, result});
    return cuts;
  };
  SmallVector<Cut> cutsOfRows = cutsOf(ofRows), cutsOfColumns = cutsOf(ofColumns);
  splitKernel(columns, "attention", cutsOfColumns);
  if (isFirst && !cutsOfRows.empty())
    splitKernel(rows, "attention", cutsOfRows);
  absorb(hoisted);
  numHoisted += ofColumns.size();
}

// ---- the pass -----------------------------------------------------------------------------------

/// A fused kernel that contracts its rows, and the fused kernel before it, are the halves of a
/// gradient if the products of the latter contract columns.
static bool hasColumnProducts(KernelOp kernel) {
  return llvm::any_of(bodyOf(kernel).getOps<hlo::DotGeneralOp>(), [](hlo::DotGeneralOp dot) {
    return !isa<BlockArgument>(dot.getLhs()) && mlir::st::contractsRows(dot);
  });
}

void HoistRowValuesPass::runOnOperation() {
  SmallVector<KernelOp> kernels;
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel.getKind() == "attention" && readsNarrow(kernel))
      kernels.push_back(kernel);
  });
  for (KernelOp kernel : kernels)
    if (failed(checkUnplanned(kernel, getArgument())))
      return signalPassFailure();
  SmallVector<std::pair<KernelOp, KernelOp>> halves;
  for (KernelOp kernel : kernels) {
    regroup(kernel);
    KernelOp other = hasColumnProducts(kernel) ? findAttentionBefore(kernel) : KernelOp();
    std::string reason;
    // cuDNN may compute this gradient. Its matcher recognises the two kernels only in this form.
    if (other && llvm::is_contained(kernels, other) && !hasColumnProducts(other) &&
        failed(matchAttentionGradient(other, kernel, reason)))
      halves.push_back({other, kernel});
  }
  for (auto [rows, columns] : halves)
    hoist(rows, columns);
}
