// Computes elementwise ops on the tiles of a product before they leave the core, so that values
// that only these ops read stay in the core's scratch memory.

#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Kernels/KernelPlan.h"

using namespace mlir;
using namespace mlir::st;

/// Returns true if an operand can be applied to a product tile as it leaves the matrix engine: it
/// has the full shape, is a vector along trailing dimensions, or is a scalar.
static bool isEpilogueOperand(Axes axes, size_t rank) {
  return axes == 0 || axes + (axes & -axes) == Axes(1) << rank;
}

/// Returns true if an inline value is a constant, a tensor or broadcast scalar arithmetic; index
/// arithmetic and slices belong to loops.
static bool isPlain(const OpKinds &kinds, Value value) {
  if (!kinds.isInline(value))
    return true;
  Operation *op = value.getDefiningOp();
  return !isa<stablehlo::IotaOp, stablehlo::SliceOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isPlain(kinds, operand); });
}

// ---- the scratch memory of a core -------------------------------------------------------------

bool KernelPlan::isReadOutside(Value value, const DenseSet<Operation *> &ops) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    OpKind kind = kinds.get(user);
    if (kind == OpKind::Inline || kind == OpKind::Alias)
      return isReadOutside(user->getResult(0), ops);
    return !ops.contains(user);
  });
}

/// Returns true if a core has room for two tiles that keep the matrix engine busy, with all their
/// values alive at the same time, and for two blocks of each operand. The first of `ops` is a
/// product. Several products share the columns, and start with one tile each.
bool KernelPlan::tileFits(SmallVector<Operation *> ops, ArrayRef<int64_t> space) const {
  constexpr int64_t kColumns = 128, kBytes = 4, kDepthBytes = 128;
  Axes all = allAxes(space.size());
  Operation *product = ops.front();
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  DenseSet<Operation *> own(ops.begin(), ops.end());
  llvm::MapVector<Value, Operation *> lastUser;
  for (Operation *op : ops)
    if (!isa<stablehlo::DotGeneralOp>(op))
      for (const Leaf &leaf : getLeaves(op, all, space))
        if (leaf.axes == all)
          lastUser[leaf.value] = op;
  int64_t products = llvm::count_if(ops, llvm::IsaPred<stablehlo::DotGeneralOp>);
  int64_t waiting = products - 1, alive = waiting * kBytes, maximum = 0;
  for (const auto &[value, user] : lastUser)
    alive += own.contains(value.getDefiningOp()) ? 0 : getElementBytes(value);
  for (Operation *op : ops) {
    // The accumulator is rounded after the product.
    bool isProduct = isa<stablehlo::DotGeneralOp>(op);
    maximum = std::max(maximum, alive + (isProduct ? kBytes : 0));
    if (isProduct && waiting-- > 0)
      alive -= kBytes;
    for (const auto &[value, user] : lastUser)
      if (user == op && !(own.contains(value.getDefiningOp()) && isReadOutside(value, own)))
        alive -= getElementBytes(value);
    Value result = op->getResult(0);
    if (lastUser.contains(result) || isReadOutside(result, own))
      alive += getElementBytes(result);
    maximum = std::max(maximum, alive);
  }
  // 16-bit products are faster, so their tiles must be larger for the operands to arrive in time.
  int64_t rows = getElementBytes(product->getOperand(0)) < kBytes ? 96 : 64;
  return 2 * (rows * kColumns / products * maximum + (rows + kColumns) * kDepthBytes) <=
         limits.scratchBytes;
}

// ---- op by op ---------------------------------------------------------------------------------

bool KernelPlan::joinMatmul(Operation *op, unsigned index) {
  PlanNode &node = nodes[index];
  if (node.kind != PlanNode::Matmul ||
      ArrayRef<int64_t>(squeeze(op->getResult(0))) != ArrayRef<int64_t>(node.space))
    return false;
  // If others read the result too, a loop takes the op, and may join the product later.
  Value tail = node.ops.back()->getResult(0);
  if (!tail.hasOneUse() || *tail.user_begin() != op)
    return false;
  size_t rank = node.space.size();
  SmallVector<Leaf> leaves = getLeaves(op, allAxes(rank), node.space);
  bool suits =
      llvm::all_of(leaves,
                   [&](const Leaf &leaf) {
                     return isEpilogueOperand(leaf.axes, rank) &&
                            (leaf.value == tail || home(leaf.value) != index);
                   }) &&
      llvm::all_of(op->getOperands(), [&](Value operand) { return isPlain(kinds, operand); });
  SmallVector<Operation *> ops(node.ops.begin(), node.ops.end());
  ops.push_back(op);
  if (!suits || !tileFits(std::move(ops), node.space))
    return false;
  join(op, index, allAxes(rank), leaves);
  return true;
}

// ---- loop by loop -----------------------------------------------------------------------------

/// Returns true if an op of a loop, or of the product's kernel, can be computed on a tile of the
/// product together with the other ops of the loop.
bool KernelPlan::isOnTile(Operation *op, unsigned loop, unsigned product) const {
  ArrayRef<int64_t> space = nodes[product].space;
  Axes all = allAxes(space.size());
  auto isOwn = [&](Value value) {
    unsigned maker = find(homeIndex(value));
    return maker == loop || maker == product;
  };
  if (isa<stablehlo::DotGeneralOp>(op))
    return llvm::none_of(op->getOperands(), isOwn);
  return axesOf.lookup(op) == all &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isPlain(kinds, operand); }) &&
         llvm::all_of(getLeaves(op, all, space), [&](const Leaf &leaf) {
           if (!isOwn(leaf.value))
             return isEpilogueOperand(leaf.axes, space.size());
           return leaf.inKernel && leaf.axes == all;
         });
}

/// A place for a merged loop and product: after all their operands and before all their users.
std::optional<uint64_t> KernelPlan::getEpiloguePlace(unsigned loop, unsigned product) const {
  uint64_t ofLoop = nodes[loop].place, ofProduct = nodes[product].place;
  auto isReadBefore = [&](unsigned node, uint64_t place) {
    return llvm::any_of(nodes[node].users, [&](unsigned user) {
      user = find(user);
      return user != loop && user != product && nodes[user].place < place;
    });
  };
  if (ofLoop < ofProduct)
    return isReadBefore(loop, ofProduct) ? std::nullopt : std::optional(ofProduct);
  bool isEarly = llvm::all_of(nodes[loop].inputs, [&](Value input) {
    unsigned maker = find(homeIndex(input));
    return maker == loop || nodes[maker].place <= ofProduct;
  });
  if (isEarly)
    return ofProduct;
  return isReadBefore(product, ofLoop) ? std::nullopt : std::optional(ofLoop);
}

bool KernelPlan::joinProduct(unsigned loop, unsigned product) {
  PlanNode &source = nodes[loop], &target = nodes[product];
  if (target.kind != PlanNode::Matmul || target.space != source.space ||
      static_cast<int64_t>(source.ops.size() + target.ops.size()) > limits.maxOps ||
      source.inputs.size() + target.inputs.size() > static_cast<size_t>(limits.maxInputs))
    return false;
  SmallVector<Operation *> ops(target.ops.begin(), target.ops.end());
  llvm::append_range(ops, source.ops);
  std::optional<uint64_t> place = getEpiloguePlace(loop, product);
  if (!place || !llvm::all_of(ops, [&](Operation *op) { return isOnTile(op, loop, product); }) ||
      !tileFits(std::move(ops), target.space))
    return false;
  target.place = *place;
  moveInto(loop, product);
  return true;
}

/// A loop without reductions joins the last product that it reads, or one that reads it.
void KernelPlan::formEpilogue(unsigned loop) {
  PlanNode &node = nodes[loop];
  if (node.rowDims >= 0 || !node.materialized.empty())
    return;
  std::optional<unsigned> last;
  for (Value input : node.inputs) {
    unsigned maker = find(homeIndex(input));
    if (nodes[maker].kind == PlanNode::Matmul && (!last || nodes[*last].place < nodes[maker].place))
      last = maker;
  }
  if (last && joinProduct(loop, *last))
    return;
  for (unsigned user : node.users)
    if (nodes[find(user)].kind == PlanNode::Matmul && joinProduct(loop, find(user)))
      return;
}
