//===- GradientRules.cpp - Sums of contributions to a cotangent -----------===//

#include "passes/Autodiff/Rules/GradientRules.h"

#include "mlir/IR/Matchers.h"
#include "passes/Autodiff/ReverseMode.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

GradientRules::GradientRules() {
  populateBesselRules(*this);
  populateBranchRules(*this);
  populateCallRules(*this);
  populateComplexRules(*this);
  populateConvolutionRules(*this);
  populateLinearAlgebraRules(*this);
  populateNormalizationRules(*this);
  populateLoopRules(*this);
  populateElementwiseRules(*this);
  populateShapeRules(*this);
  populateReductionRules(*this);
  populateIndexingRules(*this);
  populateScatterRules(*this);
  populateWindowRules(*this);
}

/// The only dimension that `pad` extends with zeros at its edges, or std::nullopt.
static std::optional<int64_t> edgePaddedDim(PadOp pad) {
  if (!matchPattern(pad.getPaddingValue(), m_AnyZeroFloat()))
    return std::nullopt;
  std::optional<int64_t> padded;
  for (auto [dim, low, high, interior] : llvm::enumerate(
           pad.getEdgePaddingLow(), pad.getEdgePaddingHigh(), pad.getInteriorPadding())) {
    if (interior != 0 || low < 0 || high < 0)
      return std::nullopt;
    if (low == 0 && high == 0)
      continue;
    if (padded)
      return std::nullopt;
    padded = dim;
  }
  return padded;
}

/// The cotangents of slices that partition a value are pads with zeros. Their sum is the
/// concatenation of the padded values. Null where the pads leave a gap.
static Value concatenatePads(Emitter &emit, ArrayRef<Value> parts) {
  SmallVector<PadOp> pads;
  for (Value part : parts)
    pads.push_back(part.getDefiningOp<PadOp>());
  if (llvm::is_contained(pads, PadOp()))
    return nullptr;
  std::optional<int64_t> dim = edgePaddedDim(pads.front());
  if (!dim || llvm::any_of(pads, [&](PadOp pad) { return edgePaddedDim(pad) != dim; }))
    return nullptr;

  auto start = [&](PadOp pad) { return pad.getEdgePaddingLow()[*dim]; };
  llvm::sort(pads, [&](PadOp a, PadOp b) { return start(a) < start(b); });
  SmallVector<Value> pieces;
  int64_t end = 0;
  for (PadOp pad : pads) {
    if (start(pad) != end)
      return nullptr;
    pieces.push_back(pad.getOperand());
    end += Emitter::shapeOf(pad.getOperand())[*dim];
  }
  if (end != Emitter::shapeOf(parts.front())[*dim])
    return nullptr;
  return emit.concatenate(pieces, *dim);
}

bool Gradients::isNeeded(Value value) const { return mode.isVaried(value); }

Value Gradients::takeInto(Value sum, Value value) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return sum;
  SmallVector<Value, 2> parts = std::move(found->second);
  contributions.erase(found);
  for (Value part : parts) {
    auto update = part.getDefiningOp<DynamicUpdateSliceOp>();
    if (!update || !matchPattern(update.getOperand(), m_AnyZeroFloat())) {
      sum = emit.add(sum, part);
      continue;
    }
    Value slice =
        emit.dynamicSlice(sum, update.getStartIndices(), Emitter::shapeOf(update.getUpdate()));
    sum =
        emit.dynamicUpdateSlice(sum, emit.add(slice, update.getUpdate()), update.getStartIndices());
  }
  return sum;
}

Value Gradients::take(Value value) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return nullptr;
  SmallVector<Value, 2> parts = std::move(found->second);
  contributions.erase(found);
  if (parts.size() > 1)
    if (Value joined = concatenatePads(emit, parts))
      return joined;
  Value sum = parts.front();
  for (Value part : ArrayRef(parts).drop_front())
    sum = emit.add(sum, part);
  return sum;
}
