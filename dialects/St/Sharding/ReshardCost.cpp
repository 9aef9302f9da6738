#include "dialects/St/Sharding/ReshardCost.h"
#include "dialects/St/Sharding/OpWork.h"
#include "dialects/St/Sharding/ReshardPlan.h"
#include "lib/Costs/Costs.h"
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

StringRef mlir::st::collectiveName(const ReshardStep &step) {
  switch (step.kind) {
  case ReshardStep::ReduceScatter:
    return "reduce_scatter";
  case ReshardStep::AllReduce:
    return "all_reduce";
  case ReshardStep::AllToAll:
    return "all_to_all";
  case ReshardStep::AllGather:
    return "all_gather";
  case ReshardStep::CollectivePermute:
    return "collective_permute";
  default:
    llvm_unreachable("moves no data");
  }
}

static double timeOnFastestLink(double bytes, const MeshAxes &axes) {
  auto transfer = [&](double sent) {
    return axes.costs().transfer(sent, /*crossesNodes=*/false, /*sharers=*/1);
  };
  return transfer(bytes) - transfer(0);
}

/// Starts and latencies overlap other work more often than bytes do, so they only decide between
/// plans that send about the same number of bytes.
static double timeOfStart(const MeshAxes &axes) {
  constexpr double kStartBytes = 512;
  return timeOnFastestLink(kStartBytes, axes);
}

double mlir::st::stepCost(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes) {
  auto bytesOf = [&](int64_t elements) { return static_cast<double>(elements * elementBytes); };
  if (!step.movesData()) {
    bool isSlice = step.kind == ReshardStep::AllSlice || step.kind == ReshardStep::MicroSlice;
    return axes.costs()
        .memoryPass(bytesOf(isSlice ? step.elementsAfter : step.elementsBefore), 0)
        .total();
  }
  bool isGather = step.kind == ReshardStep::AllGather;
  double bytes = bytesOf(isGather ? step.elementsAfter : step.elementsBefore);
  return timeOfStart(axes) + timeOfBytes(collectiveName(step).str(), bytes, step.axes, axes);
}

double mlir::st::minCost(double bytes, const MeshAxes &axes) {
  return timeOfStart(axes) + timeOnFastestLink(bytes, axes);
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
