#include "passes/Kernels/KernelPlan.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Utils/Collectives.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::st;

stablehlo::DotGeneralOp mlir::st::getProduct(const PlanNode &node) {
  return cast<stablehlo::DotGeneralOp>(node.ops.front());
}

KernelPlan::KernelPlan(Block &task, const SymbolTable &storage, const FusionLimits &limits,
                       DenseSet<Operation *> resident)
    : task(task), storage(storage), limits(limits), kinds(task, limits.masksInline),
      resident(std::move(resident)) {}

/// Complex values are refused if an op computes with them.
static LogicalResult checkNumbers(Block &task) {
  auto isComplex = [](Type type) { return isa<ComplexType>(getElementTypeOrSelf(type)); };
  Operation *first = nullptr;
  for (Operation &op : task) {
    if (!llvm::any_of(op.getResultTypes(), isComplex) &&
        !llvm::any_of(op.getOperandTypes(), isComplex))
      continue;
    bool isPlain = isa<stablehlo::ConstantOp, stablehlo::ComplexOp, stablehlo::RealOp,
                       stablehlo::ImagOp, ReadOp, WriteOp>(op);
    if (!isPlain || !first)
      first = &op;
    if (!isPlain)
      break;
  }
  return first ? LogicalResult(first->emitOpError("has complex elements, which no kernel computes"))
               : success();
}

LogicalResult KernelPlan::build() {
  if (failed(checkNumbers(task)))
    return failure();
  for (Operation &op : task)
    if (failed(place(&op)))
      return failure();
  for (unsigned index = 0; index < nodes.size(); ++index)
    if (limits.attention != AttentionForm::None && nodes[index].kind == PlanNode::Loop &&
        !nodes[index].merged)
      formAttention(index);
  for (PlanNode &node : nodes)
    if (node.kind == PlanNode::Reduce)
      fuseReduceProducers(node);
  shareOperands();
  for (unsigned index = 0; index < nodes.size(); ++index)
    if (nodes[index].kind == PlanNode::Loop && !nodes[index].merged)
      formEpilogue(index);
  // Nodes between two products may have joined the first.
  shareOperands();
  return success();
}

SmallVector<const PlanNode *> KernelPlan::getOrder() const {
  SmallVector<const PlanNode *> order;
  for (const PlanNode &node : nodes)
    if (!node.merged)
      order.push_back(&node);
  llvm::stable_sort(order,
                    [](const PlanNode *a, const PlanNode *b) { return a->place < b->place; });
  return order;
}

// ---- nodes ----------------------------------------------------------------------

unsigned KernelPlan::find(unsigned node) const {
  while (parents[node] != node)
    node = parents[node] = parents[parents[node]];
  return node;
}

unsigned KernelPlan::addNode(PlanNode::Kind kind, uint64_t place, Operation *op) {
  unsigned index = nodes.size();
  PlanNode &node = nodes.emplace_back();
  parents.push_back(index);
  node.kind = kind;
  node.place = place;
  if (op) {
    node.ops.insert(op);
    nodeOf[op] = index;
  }
  return index;
}

unsigned KernelPlan::homeIndex(Value value) const {
  if (auto found = materializedIn.find(value); found != materializedIn.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (isa<stablehlo::ReshapeOp>(op))
    return homeIndex(op->getOperand(0));
  return nodeOf.find(op)->second;
}

unsigned KernelPlan::home(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa<stablehlo::ReshapeOp>(op))
    return home(op->getOperand(0));
  if (kinds.isInline(value))
    return materialize(value);
  return find(nodeOf.find(op)->second);
}

/// Gives an inline value that must be in memory a kernel: a copy if it is data movement of one
/// tensor, otherwise a loop.
unsigned KernelPlan::materialize(Value value) {
  if (auto found = materializedIn.find(value); found != materializedIn.end())
    return find(found->second);
  Operation *op = value.getDefiningOp();
  Value source = op->getNumOperands() > 0 ? op->getOperand(0) : Value();
  while (source && isa<stablehlo::ReshapeOp>(source.getDefiningOp()))
    source = source.getDefiningOp()->getOperand(0);
  bool moves = isa<stablehlo::BroadcastInDimOp, stablehlo::SliceOp>(op) && !kinds.isInline(source);
  if (moves) {
    unsigned from = home(source);
    unsigned node = appendNode(PlanNode::Copy, op);
    nodes[from].users.push_back(node);
    materializedIn[value] = node;
    return node;
  }
  SmallVector<int64_t> space = squeeze(value);
  SmallVector<Leaf> leaves;
  addLeaves(value, allAxes(space.size()), space, leaves);
  if (std::optional<unsigned> loop = materializeInLoop(value, leaves)) {
    nodes[*loop].materialized.insert(value);
    noteReads(*loop, leaves);
    materializedIn[value] = *loop;
    return *loop;
  }
  unsigned node = appendNode(PlanNode::Loop, nullptr);
  nodes[node].space = space;
  nodes[node].materialized.insert(value);
  noteReads(node, leaves);
  materializedIn[value] = node;
  return node;
}

/// The loop that can store a scalar in addition to its results: the last loop on which the scalar
/// depends.
std::optional<unsigned> KernelPlan::materializeInLoop(Value value, ArrayRef<Leaf> leaves) {
  int64_t last = getLastProducer(leaves);
  if (last < 0 || nodes[last].kind != PlanNode::Loop || getNumElements(value) != 1 ||
      !fits(leaves, last))
    return std::nullopt;
  return last;
}

// ---- one op ---------------------------------------------------------------------

LogicalResult KernelPlan::place(Operation *op) {
  switch (kinds.get(op)) {
  case OpKind::Inline:
  case OpKind::Alias:
    return success();
  case OpKind::Read:
  case OpKind::Task:
  case OpKind::Send:
  case OpKind::Write:
    placeTaskOp(op, kinds.get(op));
    return success();
  case OpKind::Elementwise:
    placeElementwise(op);
    return success();
  case OpKind::Reduce:
    placeReduce(op);
    return success();
  case OpKind::Dot:
    placeSeparately(op, PlanNode::Matmul);
    return success();
  case OpKind::Copy:
    placeSeparately(op, PlanNode::Copy);
    return success();
  case OpKind::Gather:
    placeSeparately(op, PlanNode::Gather);
    return success();
  case OpKind::Scatter:
    placeSeparately(op, PlanNode::Scatter);
    return success();
  case OpKind::Unsupported:
    return op->emitOpError(
        "has no kernel; expected an elementwise op, a reduction, a product, data movement, "
        "a gather or a scatter");
  }
  llvm_unreachable("unknown kind of op");
}

void KernelPlan::placeTaskOp(Operation *op, OpKind kind) {
  if (kind == OpKind::Read) {
    addNode(PlanNode::TaskOp, nextRead++, op);
    return;
  }
  if (kind == OpKind::Write) {
    auto write = cast<WriteOp>(op);
    unsigned producer = home(write.getValue());
    // In a loop, the buffer keeps the value from the start of the trip until the trip ends.
    if (storage.lookup<BufferOp>(write.getTarget()) && !isa<LoopOp>(op->getParentOp())) {
      nodes[producer].writes.push_back(op);
      return;
    }
    unsigned node = addNode(PlanNode::TaskOp, nextLast++, op);
    nodes[producer].users.push_back(node);
    return;
  }
  SmallVector<unsigned> producers;
  for (Value operand : op->getOperands())
    producers.push_back(home(operand));
  // A constant may be read by kernels early in the order.
  bool early = isa<stablehlo::ConstantOp>(op);
  unsigned node = addNode(PlanNode::TaskOp, early ? nextRead++ : takePlace(), op);
  for (unsigned producer : producers)
    nodes[producer].users.push_back(node);
}

void KernelPlan::placeSeparately(Operation *op, PlanNode::Kind kind) {
  SmallVector<unsigned> producers;
  for (OpOperand &operand : op->getOpOperands())
    if (!isFilled(operand))
      producers.push_back(home(operand.get()));
  unsigned node = appendNode(kind, op);
  nodes[node].space = squeeze(op->getResult(0));
  nodes[node].inputs.insert(op->operand_begin(), op->operand_end());
  axesOf[op] = allAxes(nodes[node].space.size());
  for (unsigned producer : producers)
    nodes[producer].users.push_back(node);
}

void KernelPlan::placeElementwise(Operation *op) {
  SmallVector<int64_t> space = squeeze(op->getResult(0));
  SmallVector<Leaf> leaves = getLeaves(op, allAxes(space.size()), space);
  int64_t last = getLastProducer(leaves);
  if (last >= 0 && (joinLoop(op, last) || joinMatmul(op, last)))
    return;
  unsigned node = appendNode(PlanNode::Loop, nullptr);
  nodes[node].space = space;
  join(op, node, allAxes(space.size()), leaves);
}

void KernelPlan::placeReduce(Operation *op) {
  auto reduce = cast<stablehlo::ReduceOp>(op);
  SmallVector<int64_t> space = squeeze(reduce.getInputs().front());
  Axes reduced = getReducedAxes(op);
  int64_t rowDims = llvm::countr_one(~reduced);
  bool trailing = reduced != 0 && reduced == (allAxes(space.size()) & ~allAxes(rowDims));
  SmallVector<Leaf> leaves = getLeaves(op, allAxes(rowDims), space);
  int64_t last = getLastProducer(leaves);
  bool loops =
      reduce.getInputs().size() == 1 && trailing && mayHaveRows(space, rowDims, leaves.size(), op);
  if (loops && last >= 0 && joinLoop(op, last))
    return;
  if (!loops)
    for (const Leaf &leaf : leaves)
      home(leaf.value);
  unsigned node = appendNode(loops ? PlanNode::Loop : PlanNode::Reduce, nullptr);
  nodes[node].space = space;
  if (loops)
    nodes[node].rowDims = rowDims;
  join(op, node, allAxes(space.size()) & ~reduced, leaves);
}

// ---- requirements of an op --------------------------------------------------------

void KernelPlan::addLeaves(Value value, Axes axes, ArrayRef<int64_t> space,
                           SmallVectorImpl<Leaf> &leaves) const {
  Operation *op = value.getDefiningOp();
  if (!kinds.isInline(value)) {
    leaves.push_back({value, axes, kinds.get(op) != OpKind::Alias});
    return;
  }
  if (isa<stablehlo::SliceOp>(op)) {
    leaves.push_back({op->getOperand(0), 0, false});
    return;
  }
  for (OpOperand &operand : op->getOpOperands())
    addLeaves(operand.get(), getOperandAxes(operand, axes, space), space, leaves);
}

SmallVector<KernelPlan::Leaf> KernelPlan::getLeaves(Operation *op, Axes axes,
                                                    ArrayRef<int64_t> space) const {
  SmallVector<Leaf> leaves;
  for (OpOperand &operand : op->getOpOperands())
    addLeaves(operand.get(), getOperandAxes(operand, axes, space), space, leaves);
  return leaves;
}

int64_t KernelPlan::getLastProducer(ArrayRef<Leaf> leaves) {
  int64_t last = -1;
  for (const Leaf &leaf : leaves) {
    unsigned producer = home(leaf.value);
    if (last < 0 || nodes[producer].place > nodes[last].place)
      last = producer;
  }
  return last;
}

// ---- joining --------------------------------------------------------------------

bool KernelPlan::rowsFit(ArrayRef<int64_t> space, int64_t rowDims, size_t inputs) const {
  // Every input is double-buffered. The other values that are live at the same time in the row
  // kernels of a transformer take less than eight rows of four-byte values.
  constexpr int64_t kAlive = 8, kBytes = 4;
  int64_t row = kBytes, rows = 1;
  for (int64_t size : space.drop_front(rowDims))
    row *= size;
  for (int64_t size : space.take_front(rowDims))
    rows *= size;
  // Streamed rows may have any length, if there is at least one row per core.
  if (limits.attention == AttentionForm::Streamed && rows >= limits.cores)
    return true;
  return row * (2 * static_cast<int64_t>(inputs) + kAlive) <= limits.scratchBytes;
}

bool KernelPlan::mayHaveRows(ArrayRef<int64_t> space, int64_t rowDims, size_t inputs,
                             ArrayRef<Operation *> ops) {
  if (rowsFit(space, rowDims, inputs))
    return true;
  refusedRows = true;
  // Rows between products may become streamed ones. The caller of the plan checks whether they do.
  return limits.attention == AttentionForm::Auto &&
         llvm::none_of(ops, [&](Operation *op) { return resident.contains(op); });
}

bool KernelPlan::hasStreamedRows() const {
  return llvm::any_of(nodes, [](const PlanNode &node) { return !node.merged && node.streamed; });
}

SmallVector<Operation *> KernelPlan::getLongReductions() const {
  SmallVector<Operation *> found;
  for (const PlanNode &node : nodes)
    if (!node.merged && node.kind == PlanNode::Loop && node.rowDims >= 0 &&
        !rowsFit(node.space, node.rowDims, node.inputs.size()))
      llvm::copy_if(node.ops, std::back_inserter(found), llvm::IsaPred<stablehlo::ReduceOp>);
  return found;
}

/// The axes that an op's result would have in a loop: all axes, or the axes that its row reductions
/// keep.
std::optional<Axes> KernelPlan::getAxesInLoop(Operation *op, const PlanNode &node) const {
  ArrayRef<int64_t> space = node.space;
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    Axes kept = allAxes(space.size()) & ~getReducedAxes(op);
    if (squeeze(reduce.getInputs().front()) != space)
      return std::nullopt;
    return kept;
  }
  SmallVector<int64_t> shape = squeeze(op->getResult(0));
  if (ArrayRef<int64_t>(shape) == space)
    return allAxes(space.size());
  if (node.rowDims >= 0 && ArrayRef<int64_t>(shape) == space.take_front(node.rowDims))
    return allAxes(node.rowDims);
  return std::nullopt;
}

/// Returns true if the values that an op reads from a node have the axes that the op needs.
bool KernelPlan::fits(ArrayRef<Leaf> leaves, unsigned node) {
  return llvm::all_of(leaves, [&](const Leaf &leaf) {
    if (home(leaf.value) != node)
      return true;
    return leaf.inKernel && axesOf.lookup(leaf.value.getDefiningOp()) == leaf.axes;
  });
}

bool KernelPlan::joinLoop(Operation *op, unsigned index) {
  PlanNode &node = nodes[index];
  if (node.kind != PlanNode::Loop || static_cast<int64_t>(node.ops.size()) >= limits.maxOps)
    return false;
  std::optional<Axes> axes = getAxesInLoop(op, node);
  if (!axes)
    return false;
  int64_t rowDims = node.rowDims;
  if (isa<stablehlo::ReduceOp>(op)) {
    int64_t kept = llvm::popcount(*axes);
    if (rowDims >= 0 && rowDims != kept)
      return false;
    rowDims = kept;
  }
  SmallVector<Leaf> leaves = getLeaves(op, *axes, node.space);
  if (!fits(leaves, index))
    return false;
  size_t inputs = node.inputs.size();
  for (const Leaf &leaf : leaves)
    inputs += home(leaf.value) != index && !node.inputs.contains(leaf.value);
  if (inputs > static_cast<size_t>(limits.maxInputs))
    return false;
  SmallVector<Operation *> ops(node.ops.getArrayRef());
  ops.push_back(op);
  if (rowDims >= 0 && !mayHaveRows(node.space, rowDims, inputs, ops))
    return false;
  node.rowDims = rowDims;
  join(op, index, *axes, leaves);
  return true;
}

void KernelPlan::join(Operation *op, unsigned index, Axes axes, ArrayRef<Leaf> leaves) {
  nodes[index].ops.insert(op);
  nodeOf[op] = index;
  axesOf[op] = axes;
  noteReads(index, leaves);
  if (nodes[index].kind == PlanNode::Loop)
    mergeProducers(index, leaves);
}

void KernelPlan::noteReads(unsigned index, ArrayRef<Leaf> leaves) {
  for (const Leaf &leaf : leaves) {
    unsigned producer = home(leaf.value);
    if (producer == index)
      continue;
    PlanNode &node = nodes[index];
    node.inputs.insert(leaf.value);
    nodes[producer].users.push_back(index);
    bool together = leaf.inKernel && axesOf.lookup(leaf.value.getDefiningOp()) == leaf.axes;
    if (nodes[producer].kind == PlanNode::Loop && !together)
      node.apart.insert(producer);
  }
}

// ---- merging --------------------------------------------------------------------

void KernelPlan::mergeProducers(unsigned index, ArrayRef<Leaf> leaves) {
  for (const Leaf &leaf : leaves) {
    unsigned producer = home(leaf.value);
    if (producer != index)
      mergeInto(producer, index);
  }
}

/// Returns true if values of one space are row statistics of another: it starts with the same
/// dimensions.
static bool isPrefix(ArrayRef<int64_t> small, ArrayRef<int64_t> large) {
  return !small.empty() && small.size() < large.size() && large.take_front(small.size()) == small;
}

/// The space of two merged loops, and the leading dimensions that its row reductions keep.
static std::optional<std::pair<ArrayRef<int64_t>, int64_t>> getCommonSpace(const PlanNode &a,
                                                                           const PlanNode &b) {
  ArrayRef<int64_t> spaceA = a.space, spaceB = b.space;
  if (spaceA == spaceB) {
    if (a.rowDims >= 0 && b.rowDims >= 0 && a.rowDims != b.rowDims)
      return std::nullopt;
    return std::make_pair(spaceA, std::max(a.rowDims, b.rowDims));
  }
  const PlanNode &small = spaceA.size() < spaceB.size() ? a : b;
  const PlanNode &large = &small == &a ? b : a;
  int64_t rowDims = small.space.size();
  if (!isPrefix(small.space, large.space) || (small.rowDims >= 0 && small.rowDims != rowDims) ||
      (large.rowDims >= 0 && large.rowDims != rowDims))
    return std::nullopt;
  return std::make_pair(ArrayRef<int64_t>(large.space), rowDims);
}

/// Returns true if a node may move down in the order of its task. All ranks have the same order, so
/// collectives may.
static bool mayMoveDown(const PlanNode &node) {
  return node.kind == PlanNode::Matmul || node.kind == PlanNode::Copy ||
         (node.kind == PlanNode::TaskOp && isCollective(node.ops.front()));
}

/// Finds the nodes before `into` that must follow if the loop `from` moves down to it. Products
/// that contract its rows may follow, with data movement that reads them; returns false if anything
/// else must.
bool KernelPlan::findFollowers(unsigned from, unsigned into,
                               llvm::SmallSetVector<unsigned, 4> &followers) const {
  auto visit = [&](unsigned node, function_ref<bool(unsigned)> mayFollow) {
    for (unsigned user : nodes[node].users) {
      user = find(user);
      if (user == from || (node == from && user == into) ||
          (user != into && nodes[user].place >= nodes[into].place))
        continue;
      if (user == into || !mayFollow(user))
        return false;
      followers.insert(user);
    }
    return true;
  };
  if (!visit(from, [&](unsigned user) {
        return limits.attention != AttentionForm::None && isColumnProduct(user, from);
      }))
    return false;
  for (unsigned i = 0; i < followers.size(); ++i)
    if (!visit(followers[i], [&](unsigned user) { return mayMoveDown(nodes[user]); }))
      return false;
  return true;
}

/// Moves a loop down into a later one that reads it, if all nodes in between that read it can
/// follow.
bool KernelPlan::mergeInto(unsigned from, unsigned into) {
  PlanNode &source = nodes[from], &target = nodes[into];
  if (source.kind != PlanNode::Loop || target.kind != PlanNode::Loop ||
      !source.materialized.empty() ||
      static_cast<int64_t>(source.ops.size() + target.ops.size()) > limits.maxOps)
    return false;
  auto common = getCommonSpace(source, target);
  if (!common)
    return false;
  SmallVector<int64_t> space(common->first);
  int64_t rowDims = common->second;
  if (llvm::any_of(target.apart, [&](unsigned other) { return find(other) == from; }))
    return false;
  llvm::SmallSetVector<unsigned, 4> followers;
  if (!findFollowers(from, into, followers))
    return false;
  llvm::SmallSetVector<Value, 8> inputs = source.inputs;
  for (Value input : target.inputs)
    if (home(input) != from)
      inputs.insert(input);
  if (inputs.size() > static_cast<size_t>(limits.maxInputs))
    return false;
  SmallVector<Operation *> ops(source.ops.getArrayRef());
  llvm::append_range(ops, target.ops);
  if (rowDims >= 0 && !mayHaveRows(space, rowDims, inputs.size(), ops))
    return false;

  // Nodes with one place keep their order.
  for (unsigned follower : followers)
    nodes[follower].place = target.place + 1;
  source.merged = true;
  parents[from] = into;
  target.ops.insert_range(source.ops);
  target.inputs = std::move(inputs);
  target.space = std::move(space);
  target.rowDims = rowDims;
  llvm::append_range(target.writes, source.writes);
  llvm::append_range(target.users, source.users);
  target.apart.insert_range(source.apart);
  return true;
}

void KernelPlan::moveInto(unsigned from, unsigned into) {
  PlanNode &source = nodes[from], &target = nodes[into];
  source.merged = true;
  parents[from] = into;
  target.ops.insert_range(source.ops);
  target.inputs.insert_range(source.inputs);
  llvm::append_range(target.writes, source.writes);
  llvm::append_range(target.users, source.users);
}
