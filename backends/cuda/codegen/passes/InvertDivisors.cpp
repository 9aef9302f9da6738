// Divisions by a per-row value become one reciprocal per row and two multiplications per element.
#include "backends/cuda/codegen/Passes.h"
#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"

#include <cmath>

namespace mlir::cuda {
#define GEN_PASS_DEF_INVERTDIVISORS
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using mlir::st::KernelOp;
namespace hlo = mlir::stablehlo;

namespace {
class InvertDivisorsPass : public mlir::cuda::impl::InvertDivisorsBase<InvertDivisorsPass> {
public:
  using InvertDivisorsBase::InvertDivisorsBase;
  void runOnOperation() override;

private:
  void invert(hlo::DivOp division, hlo::BroadcastInDimOp divisor);
};
} // namespace

/// Returns the broadcast along the innermost dimension of an f32 divisor.
static hlo::BroadcastInDimOp findRowDivisor(hlo::DivOp division) {
  auto type = cast<RankedTensorType>(division.getType());
  auto broadcast = division.getRhs().getDefiningOp<hlo::BroadcastInDimOp>();
  int64_t innermost = type.getRank() - 1;
  while (innermost >= 0 && type.getDimSize(innermost) == 1)
    --innermost;
  if (!type.getElementType().isF32() || !broadcast || innermost < 0)
    return nullptr;
  auto operand = cast<RankedTensorType>(broadcast.getOperand().getType());
  for (auto [from, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
    if (to == innermost && operand.getDimSize(from) != 1)
      return nullptr;
  return broadcast;
}

/// Rewrites x / s to (x c) (1 / (s c)). The power of two c is 1 unless s or 1 / s is not a normal
/// number. If x c is infinite, so is x / s; if it is denormal, x / s is smaller.
void InvertDivisorsPass::invert(hlo::DivOp division, hlo::BroadcastInDimOp divisor) {
  constexpr double large = 0x1p64, small = 0x1p-64;
  OpBuilder builder(divisor);
  mlir::st::Emitter row(builder, divisor->getBlock(), division.getLoc());
  Value s = divisor.getOperand(), magnitude = row.abs(s);
  auto isBeyond = [&](hlo::ComparisonDirection direction, double bound) {
    return row.compare(direction, magnitude, row.splatLike(s, bound));
  };
  Value c = row.select(isBeyond(hlo::ComparisonDirection::GE, large), row.splatLike(s, small),
                       row.select(isBeyond(hlo::ComparisonDirection::LE, small),
                                  row.splatLike(s, large), row.splatLike(s, 1)));
  Value reciprocal = row.div(row.splatLike(s, 1), row.mul(s, c));
  builder.setInsertionPoint(division);
  auto spread = [&](Value ofRow) -> Value {
    return hlo::BroadcastInDimOp::create(builder, division.getLoc(), division.getType(), ofRow,
                                         divisor.getBroadcastDimensionsAttr());
  };
  Value scaled = hlo::MulOp::create(builder, division.getLoc(), division.getLhs(), spread(c));
  division.replaceAllUsesWith(
      hlo::MulOp::create(builder, division.getLoc(), scaled, spread(reciprocal)).getResult());
  division.erase();
  if (divisor.use_empty())
    divisor.erase();
  ++numInverted;
}

void InvertDivisorsPass::runOnOperation() {
  // The layout determines if a kernel has rows with one divisor.
  if (getOperation()->hasAttr(st::kExactSumsAttr))
    return;
  SmallVector<hlo::DivOp> divisions;
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel.getKind() == "loop" || kernel.getKind() == "reduce")
      llvm::append_range(divisions, kernel.getBody().front().getOps<hlo::DivOp>());
  });
  for (hlo::DivOp division : divisions)
    if (hlo::BroadcastInDimOp divisor = findRowDivisor(division))
      invert(division, divisor);
}
