// Moves or repeats elementwise ops in the reduction that reads them.

#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Kernels/KernelPlan.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// The maximum number of ops repeated for one reduction.
constexpr size_t kMaxTaken = 16;
} // namespace

bool KernelPlan::isReadElsewhere(Value value, const PlanNode &node,
                                 const llvm::SetVector<Operation *> &taken) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (taken.contains(user))
      return false;
    OpKind kind = kinds.get(user);
    if (kind == OpKind::Inline || kind == OpKind::Alias)
      return isReadElsewhere(user->getResult(0), node, taken);
    auto found = nodeOf.find(user);
    return found == nodeOf.end() || &nodes[find(found->second)] != &node;
  });
}

/// A separate reduction would read a tensor that a loop has just written. If the reduction is the
/// tensor's only user, it computes the tensor itself from values that the loop reads or writes
/// anyway.
void KernelPlan::fuseReduceProducers(PlanNode &node) {
  Operation *reduce = node.ops.front();
  if (cast<stablehlo::ReduceOp>(reduce).getInputs().size() != 1)
    return;
  llvm::SetVector<Operation *> taken;
  taken.insert(reduce);
  // Adds ops of loops whose values no other op reads from memory. An op that its loop needs as well
  // is repeated unless it is expensive. Fails if another tensor would have to be stored.
  SmallVector<Operation *> worklist = {reduce};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    for (const Leaf &leaf : getLeaves(op, allAxes(node.space.size()), node.space)) {
      Operation *producer = leaf.value.getDefiningOp();
      if (!leaf.inKernel || kinds.get(producer) != OpKind::Elementwise || taken.contains(producer))
        continue;
      const PlanNode &loop = nodes[find(nodeOf[producer])];
      bool hasAllAxes = leaf.axes == allAxes(node.space.size());
      if (loop.kind != PlanNode::Loop || !hasAllAxes || isReadElsewhere(leaf.value, loop, taken))
        continue;
      taken.insert(producer);
      bool moves = llvm::all_of(leaf.value.getUsers(),
                                [&](Operation *user) { return taken.contains(user); });
      if (taken.size() > kMaxTaken || (isTranscendental(producer) && !moves))
        return;
      worklist.push_back(producer);
    }
  }
  node.ops = std::move(taken);
}
