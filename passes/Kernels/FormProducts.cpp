// Joins products that multiply one tensor with several others of equal shape: queries, keys and
// values of an activation, or the gate and up projections of an MLP. One kernel loads each tile of
// the shared operand once and has tiles for more cores.

#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Kernels/KernelPlan.h"

using namespace mlir;
using namespace mlir::st;
using stablehlo::DotGeneralOp;

/// One tile of every product is alive at the same time, and each should have at least 32 columns.
static constexpr int64_t kMaxProducts = 4;

/// Returns true if two products differ only in their right operand.
static bool isAlike(DotGeneralOp a, DotGeneralOp b) {
  return a.getLhs() == b.getLhs() && a.getRhs().getType() == b.getRhs().getType() &&
         a.getType() == b.getType() && a.getDotDimensionNumbers() == b.getDotDimensionNumbers();
}

/// Returns true if a product alone has too few tiles for all cores. Otherwise the smaller tiles of
/// joined products cost more loads than sharing saves. For 16 bits, for which the matrix engine is
/// twice as fast, this holds as soon as half of the cores have a tile.
static bool isSmall(DotGeneralOp dot, int64_t cores) {
  constexpr int64_t kTile = 64 * 128, kBytes = 4;
  int64_t share = getElementBytes(dot.getLhs()) < kBytes ? kTile / 2 : kTile;
  return getNumElements(dot.getResult()) <= cores * share;
}

/// Moves the later of two similar products into the kernel of the first, which moves down if
/// necessary. Either may already consist of several.
bool KernelPlan::joinProducts(unsigned later, unsigned first) {
  PlanNode &source = nodes[later], &target = nodes[first];
  SmallVector<Operation *> ops(target.ops.begin(), target.ops.end());
  llvm::append_range(ops, source.ops);
  auto products = llvm::count_if(ops, llvm::IsaPred<DotGeneralOp>);
  llvm::SmallSetVector<Value, 8> inputs = target.inputs;
  inputs.insert_range(source.inputs);
  bool isRead = llvm::any_of(target.users, [&](unsigned user) { return find(user) == later; });
  if (isRead || products > kMaxProducts || static_cast<int64_t>(ops.size()) > limits.maxOps ||
      inputs.size() > static_cast<size_t>(limits.maxInputs) ||
      !tileFits(std::move(ops), target.space))
    return false;
  std::optional<uint64_t> place = getEpiloguePlace(later, first);
  if (!place)
    return false;
  target.place = *place;
  moveInto(later, first);
  return true;
}

/// A product joins the first similar one that the order allows.
void KernelPlan::shareOperands() {
  SmallVector<unsigned> products;
  for (unsigned index = 0; index < nodes.size(); ++index)
    if (nodes[index].kind == PlanNode::Matmul && !nodes[index].merged &&
        isSmall(getProduct(nodes[index]), limits.cores))
      products.push_back(index);
  llvm::sort(products, [&](unsigned a, unsigned b) { return nodes[a].place < nodes[b].place; });
  llvm::MapVector<Value, SmallVector<unsigned>> firstOf;
  for (unsigned product : products) {
    DotGeneralOp dot = getProduct(nodes[product]);
    SmallVector<unsigned> &others = firstOf[dot.getLhs()];
    bool joined = llvm::any_of(others, [&](unsigned other) {
      return isAlike(dot, getProduct(nodes[other])) && joinProducts(product, other);
    });
    if (!joined)
      others.push_back(product);
  }
}
