#include "backends/cuda/codegen/analysis/CausalPredicate.h"

#include "backends/cuda/codegen/analysis/Splat.h"

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

std::optional<CausalPredicate> CausalPredicate::match(Value predicate,
                                                      const mlir::st::IterationSpace &space,
                                                      unsigned rows, unsigned columns) {
  auto compare = skipBroadcasts(predicate).getDefiningOp<hlo::CompareOp>();
  if (!compare)
    return std::nullopt;
  auto groupOf = [&](Value value) -> std::optional<unsigned> {
    auto iota = skipBroadcasts(value).getDefiningOp<hlo::IotaOp>();
    return iota ? space.getIotaGroup(iota) : std::nullopt;
  };
  auto left = groupOf(compare.getLhs()), right = groupOf(compare.getRhs());
  CausalPredicate found;
  found.direction = compare.getComparisonDirection();
  found.isTurned = left == columns && right == rows;
  return found.isTurned || (left == rows && right == columns) ? std::optional(found) : std::nullopt;
}

bool CausalPredicate::holds(int order) const {
  if (isTurned)
    order = -order;
  switch (direction) {
  case hlo::ComparisonDirection::EQ:
    return order == 0;
  case hlo::ComparisonDirection::NE:
    return order != 0;
  case hlo::ComparisonDirection::GE:
    return order >= 0;
  case hlo::ComparisonDirection::GT:
    return order > 0;
  case hlo::ComparisonDirection::LE:
    return order <= 0;
  case hlo::ComparisonDirection::LT:
    return order < 0;
  }
  llvm_unreachable("all directions are listed");
}
