// Products that multiply one tensor with several that are alike: queries, keys and values of an
// activation, the gate of an MLP and what it gates. One kernel fetches each tile of what they share
// once, and has a tile for more of the cores.

#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Kernels/KernelPlan.h"

using namespace mlir;
using namespace mlir::st;
using stablehlo::DotGeneralOp;

/// A tile of every product is alive at once, and each should have 32 columns at least.
static constexpr int64_t kMostProducts = 4;

static DotGeneralOp getProduct(const PlanNode &node) {
  return cast<DotGeneralOp>(node.ops.front());
}

/// Whether two products differ only in what their right operand holds.
static bool isAlike(DotGeneralOp a, DotGeneralOp b) {
  return a.getLhs() == b.getLhs() && a.getRhs().getType() == b.getRhs().getType() &&
         a.getType() == b.getType() && a.getDotDimensionNumbers() == b.getDotDimensionNumbers();
}

/// Whether a product alone leaves cores without a tile. Once all have one, smaller tiles, as a core
/// holds of several products, fetch more than they share; in 16 bits, where the matrix engine takes
/// twice as much at a time, already once half of the cores have one.
static bool isSmall(DotGeneralOp dot, int64_t cores) {
  constexpr int64_t kTile = 64 * 128, kBytes = 4;
  int64_t share = getElementBytes(dot.getLhs()) < kBytes ? kTile / 2 : kTile;
  return getNumElements(dot.getResult()) <= cores * share;
}

/// The later of two products that are alike moves into the kernel of the first, which moves down to
/// its place if it has to. Either may be several already.
bool KernelPlan::joinProducts(unsigned later, unsigned first) {
  PlanNode &source = nodes[later], &target = nodes[first];
  SmallVector<Operation *> ops(target.ops.begin(), target.ops.end());
  llvm::append_range(ops, source.ops);
  auto products = llvm::count_if(ops, llvm::IsaPred<DotGeneralOp>);
  llvm::SmallSetVector<Value, 8> inputs = target.inputs;
  inputs.insert_range(source.inputs);
  bool isRead =
      llvm::any_of(target.readers, [&](unsigned reader) { return find(reader) == later; });
  if (isRead || products > kMostProducts || static_cast<int64_t>(ops.size()) > limits.maxOps ||
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

/// A product joins the first one like it that its order allows.
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
