#include "passes/Kernels/OpKinds.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "passes/Kernels/Space.h"

using namespace mlir;
using namespace mlir::st;
using namespace mlir::stablehlo;

/// The maximum number of arithmetic ops cloned into a kernel for one value.
static constexpr int64_t kMaxInlineOps = 8;
/// The same for a mask: positions of a shard in a causal mask and a window take 10.
static constexpr int64_t kMaxMaskOps = 16;

static int64_t countLargeDims(Value value) { return static_cast<int64_t>(squeeze(value).size()); }

OpKinds::OpKinds(Block &task, bool masksInline) : masksInline(masksInline) {
  for (Operation &op : task)
    kinds[&op] = classify(&op);
}

bool mlir::st::isTranscendental(Operation *op) {
  return isa<ExpOp, Expm1Op, LogOp, Log1pOp, LogisticOp, TanhOp, TanOp, SineOp, CosineOp, SqrtOp,
             RsqrtOp, CbrtOp, PowOp, Atan2Op>(op) ||
         isa<chlo::ChloDialect>(op->getDialect());
}

bool mlir::st::isFilled(OpOperand &operand) {
  Operation *op = operand.getOwner();
  unsigned number = operand.getOperandNumber();
  bool takesConstants = isa<ConcatenateOp>(op) || (isa<PadOp>(op) && number == 1) ||
                        (isa<ScatterOp>(op) && number < cast<ScatterOp>(op).getInputs().size());
  if (!takesConstants)
    return false;
  Operation *source = operand.get().getDefiningOp();
  while (isa_and_nonnull<BroadcastInDimOp, ReshapeOp>(source))
    source = source->getOperand(0).getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(source);
  return constant && constant.getValue().isSplat();
}

/// Scalar arithmetic is repeated at its uses as long as it is short: a separate kernel and a
/// one-element tensor cost more.
bool OpKinds::isCheapScalar(Operation *op) {
  if (getNumElements(op->getResult(0)) != 1 || isTranscendental(op))
    return false;
  int64_t cost = 1;
  for (Value operand : op->getOperands())
    if (auto found = scalarCost.find(operand.getDefiningOp()); found != scalarCost.end())
      cost += found->second;
  if (cost > kMaxInlineOps)
    return false;
  scalarCost[op] = cost;
  return true;
}

/// Examples are a causal mask (a comparison of positions that selects between constants), a bias
/// that grows with the distance of positions, and a comparison of the documents of queries and
/// keys. The first position of a shard depends on the device. Arithmetic on broadcast tensors
/// alone, such as an affine norm, is not a mask.
bool OpKinds::isCheapMask(Operation *op) {
  if (!masksInline || isTranscendental(op))
    return false;
  const int64_t rank = countLargeDims(op->getResult(0));
  bool readsMask = isa<CompareOp>(op), readsTensor = false;
  int64_t cost = 1;
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    while (isa_and_nonnull<BroadcastInDimOp, ReshapeOp>(source) && get(source) == OpKind::Inline)
      source = source->getOperand(0).getDefiningOp();
    if (auto found = maskCost.find(source); found != maskCost.end()) {
      cost += found->second;
      readsMask = true;
    } else if (isa_and_nonnull<IotaOp>(source) && get(source) == OpKind::Inline) {
      readsMask = true;
    } else if (!isa_and_nonnull<AxisIndexOp>(source) &&
               (!isa_and_nonnull<ConstantOp>(source) || get(source) != OpKind::Inline)) {
      readsTensor = true;
      if (!source || countLargeDims(source->getResult(0)) >= rank)
        return false;
    }
  }
  if (cost > kMaxMaskOps || (readsTensor && !readsMask))
    return false;
  maskCost[op] = cost;
  return true;
}

OpKind OpKinds::classify(Operation *op) {
  if (isa<ReadOp, CaptureOp>(op))
    return OpKind::Read;
  if (isa<SendOp>(op))
    return OpKind::Send;
  if (isa<WriteOp>(op))
    return OpKind::Write;
  if (isa<StDialect>(op->getDialect()))
    return OpKind::Task;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return constant.getValue().isSplat() ? OpKind::Inline : OpKind::Task;
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    if (squeeze(reshape.getOperand()) != squeeze(reshape.getResult()))
      return OpKind::Alias;
    if (auto found = scalarCost.find(reshape.getOperand().getDefiningOp());
        found != scalarCost.end())
      scalarCost[op] = found->second;
    return OpKind::Inline;
  }
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(op))
    return llvm::is_sorted(broadcast.getBroadcastDimensions()) ? OpKind::Inline : OpKind::Copy;
  // A kernel can read a slice of its argument, but not of a value it computes.
  if (auto slice = dyn_cast<SliceOp>(op)) {
    OpKind source = get(slice.getOperand());
    return source == OpKind::Read || source == OpKind::Task ? OpKind::Inline : OpKind::Copy;
  }
  if (isa<IotaOp>(op))
    return OpKind::Inline;
  if (isElementwise(op))
    return isCheapScalar(op) || isCheapMask(op) ? OpKind::Inline : OpKind::Elementwise;
  if (isa<ReduceOp>(op))
    return OpKind::Reduce;
  if (isa<DotGeneralOp>(op))
    return OpKind::Dot;
  if (isa<TransposeOp, ConcatenateOp, PadOp, ReverseOp, DynamicSliceOp, DynamicUpdateSliceOp>(op))
    return OpKind::Copy;
  if (isa<GatherOp>(op))
    return OpKind::Gather;
  if (isa<ScatterOp>(op))
    return OpKind::Scatter;
  return OpKind::Unsupported;
}
