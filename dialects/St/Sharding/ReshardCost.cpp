#include "dialects/St/Sharding/ReshardCost.h"
#include "dialects/St/Sharding/ReshardPlan.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::st;

int64_t mlir::st::elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * llvm::divideCeil(complex.getElementType().getIntOrFloatBitWidth(), 8);
  return element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 8;
}

int64_t mlir::st::bytesSent(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes) {
  int64_t before = step.elementsBefore * elementBytes, after = step.elementsAfter * elementBytes;
  int64_t members = axes.size(step.axes);
  switch (step.kind) {
  case ReshardStep::AllSlice:
  case ReshardStep::MicroSlice:
  case ReshardStep::Accumulate:
  case ReshardStep::Mask:
    return 0;
  case ReshardStep::ReduceScatter:
  case ReshardStep::AllToAll:
    return before - before / members;
  case ReshardStep::AllReduce:
    return 2 * (before - before / members);
  case ReshardStep::AllGather:
    return after - before;
  case ReshardStep::CollectivePermute:
    return before;
  }
  llvm_unreachable("all kinds are listed");
}

double mlir::st::stepCost(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes) {
  // Bandwidth of memory in terms of that of links.
  constexpr double touch = 0.05;
  if (!step.movesData()) {
    bool isSlice = step.kind == ReshardStep::AllSlice || step.kind == ReshardStep::MicroSlice;
    int64_t touched = isSlice ? step.elementsAfter : step.elementsBefore;
    return touch * static_cast<double>(touched * elementBytes);
  }
  return kStartBytes +
         axes.linkCost(step.axes) * static_cast<double>(bytesSent(step, elementBytes, axes));
}

double mlir::st::reshardCost(ArrayRef<ReshardStep> steps, int64_t elementBytes,
                             const MeshAxes &axes) {
  double cost = 0;
  for (const ReshardStep &step : steps)
    cost += stepCost(step, elementBytes, axes);
  return cost;
}

double mlir::st::reshardCostInStep(ArrayRef<ReshardStep> steps, int64_t elementBytes,
                                   const MeshAxes &axes) {
  double cost = 0;
  for (const ReshardStep &step : steps)
    cost += static_cast<double>(step.times) * stepCost(step, elementBytes, axes);
  return cost;
}
