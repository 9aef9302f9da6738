#include "passes/Partition/AxisPlace.h"
#include "dialects/St/Sharding/OpSharding.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// Follows one placement of an axis on a dimension through the ops after it.
class PlaceCheck {
public:
  PlaceCheck(int64_t extent, const DenseSet<Operation *> &within)
      : extent(extent), within(within) {}

  /// Returns the placement if the axis can stay there, or else the first placement after the
  /// dimensions that cannot be split.
  int64_t run(Value value, int64_t dim, int64_t place);

private:
  /// A dimension that holds some parts of the first dimension, and the axis' placement in it.
  struct Spot {
    Value value;
    int64_t dim;
    int64_t outer;
    /// The product of the sizes before these parts, in the first dimension and in this one.
    int64_t beforeInFirst, beforeHere;

    int64_t inFirst(int64_t place) const { return place * beforeInFirst / beforeHere; }
  };

  void visit(OpOperand &use, const Spot &spot);

  int64_t extent;
  const DenseSet<Operation *> &within;
  SmallVector<Spot> worklist;
  DenseSet<std::pair<Value, int64_t>> seen;
  int64_t farthest = 0;
};
} // namespace

void PlaceCheck::visit(OpOperand &use, const Spot &spot) {
  ShardingRule rule = getShardingRule(use.getOwner());
  if (use.getOperandNumber() >= rule.operands.size())
    return;
  ArrayRef<int64_t> parts = rule.operands[use.getOperandNumber()][spot.dim];
  int64_t before = 1; // of the factors of this dimension
  for (int64_t factor : parts) {
    int64_t behind = before * rule.factors[factor].size;
    if (spot.outer >= behind) {
      before = behind;
      continue;
    }
    FactorKind kind = rule.factors[factor].kind;
    if (kind == FactorKind::Reduction)
      return;
    if (kind != FactorKind::Parallel) {
      // The axis may be placed after it, if elements remain.
      if (spot.inFirst(behind) < extent)
        farthest = std::max(farthest, spot.inFirst(behind));
      return;
    }
    for (auto [result, tensor] : llvm::zip(use.getOwner()->getResults(), rule.results))
      for (auto [dim, own] : llvm::enumerate(tensor)) {
        const auto *at = llvm::find(own, factor);
        if (at == own.end())
          continue;
        int64_t ahead = 1;
        for (const auto *other = own.begin(); other != at; ++other)
          ahead *= rule.factors[*other].size;
        worklist.push_back({result, static_cast<int64_t>(dim), spot.outer / before * ahead,
                            spot.inFirst(before), ahead});
      }
    return;
  }
}

int64_t PlaceCheck::run(Value value, int64_t dim, int64_t place) {
  worklist = {{value, dim, place, 1, 1}};
  farthest = place;
  while (!worklist.empty()) {
    Spot spot = worklist.pop_back_val();
    if (!seen.insert({spot.value, spot.dim}).second)
      continue;
    for (OpOperand &use : spot.value.getUses())
      if (within.contains(use.getOwner()))
        visit(use, spot);
  }
  return farthest;
}

int64_t mlir::st::findAxisPlace(Value value, int64_t dim, int64_t size,
                                const DenseSet<Operation *> &within) {
  int64_t extent = cast<RankedTensorType>(value.getType()).getDimSize(dim);
  for (int64_t place = 1; extent % (place * size) == 0;) {
    int64_t next = PlaceCheck(extent, within).run(value, dim, place);
    if (next == place)
      return place;
    place = next;
  }
  return 1;
}
