#include "passes/Memory/TaskGraph.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/OpWork.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Memory/MemoryUtils.h"

using namespace mlir;
using namespace mlir::st;

// ---- costs --------------------------------------------------------------------------------------

static int64_t getNumBytes(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (isa<RankedTensorType>(value.getType())) // excludes the micro-batch number
      bytes += getNumBytes(value.getType());
  return bytes;
}

static void setTimes(TaskNode &node, const ::st::OpTime &time) {
  node.time = time.total();
  if (time.device > 0)
    node.memoryShare = time.memory / time.device;
}

static void timeKernel(TaskNode &node, const MeshAxes &axes) {
  ::st::OpTime time = axes.costs().op(workOf(node.op));
  node.fixedTime = time.host;
  setTimes(node, time);
}

/// A message between groups counts with the slowest link of the mesh.
static void timeLinkOp(TaskNode &node, const MeshAxes &axes) {
  if (node.op->hasAttr("axes")) {
    node.fixedTime =
        axes.costs()
            .collective(kindOfCollective(node.op), /*bytes=*/0, groupOfCollective(node.op, axes))
            .total();
    setTimes(node, timeOfCollective(node.op, axes));
    return;
  }
  auto bytes = static_cast<double>(
      std::max(getNumBytes(node.op->getOperands()), getNumBytes(node.op->getResults())));
  ::st::OpTime time = axes.costs().memoryPass(2 * bytes, 0);
  time.device = axes.costs().transfer(bytes, /*crossesNodes=*/true, /*sharers=*/1);
  node.fixedTime = axes.costs().transfer(0, /*crossesNodes=*/true, /*sharers=*/1);
  setTimes(node, time);
}

/// Returns true if a write's value is most likely computed in place, so that the write needs no
/// code.
static bool isComputedInPlace(WriteOp write) {
  Operation *maker = getRoot(write.getValue()).getDefiningOp();
  return maker && !write.getAccumulate() && !isa<ReadOp>(maker) && !movesOverLinks(maker);
}

/// An op other than a kernel: a copy, or an op without code.
static void timeOther(TaskNode &node, const MeshAxes &axes) {
  auto write = dyn_cast<WriteOp>(node.op);
  if (isa<ReadOp, CaptureOp, stablehlo::ConstantOp, stablehlo::ReshapeOp>(node.op) ||
      (write && isComputedInPlace(write)))
    return;
  setTimes(node, axes.costs().memoryPass(
                     2 * static_cast<double>(getNumBytes(node.op->getOperands())), /*launches=*/1));
}

// ---- edges --------------------------------------------------------------------------------------

namespace {
class GraphBuilder {
public:
  GraphBuilder(Block &body, SmallVector<TaskNode, 0> &nodes) : nodes(nodes) {
    for (auto [number, op] : llvm::enumerate(body))
      numbers[&op] = static_cast<int64_t>(number);
  }

  void addEdges(int64_t number);

private:
  struct Storage {
    int64_t lastWrite = -1;
    SmallVector<ReadOp, 2> reads; ///< since then
  };

  SmallVector<TaskNode, 0> &nodes;
  DenseMap<Operation *, int64_t> numbers;
  llvm::StringMap<Storage> storages;
  int64_t fence = -1, lastMessage = -1;
  SmallVector<int64_t> linksSince; ///< the last message

  void add(int64_t before, int64_t after) {
    if (before < 0 || before >= after)
      return;
    nodes[before].after.push_back(after);
    nodes[after].before.push_back(before);
  }
  void addWrite(WriteOp write, int64_t number);
  void addLink(int64_t number, bool isMessage);
};
} // namespace

void GraphBuilder::addWrite(WriteOp write, int64_t number) {
  Storage &storage = storages[write.getTarget()];
  add(storage.lastWrite, number);
  Operation *maker = getRoot(write.getValue()).getDefiningOp();
  for (ReadOp read : storage.reads) {
    add(numbers.lookup(read), number);
    for (Operation *user : getUsersOfRoots(read)) {
      add(numbers.lookup(user), number);
      // The value may be computed where the old one is read.
      add(numbers.lookup(user), numbers.lookup(maker));
    }
  }
  storage.reads.clear();
  storage.lastWrite = number;
}

void GraphBuilder::addLink(int64_t number, bool isMessage) {
  add(lastMessage, number);
  if (!isMessage) {
    linksSince.push_back(number);
    return;
  }
  for (int64_t link : linksSince)
    add(link, number);
  linksSince.clear();
  lastMessage = number;
}

void GraphBuilder::addEdges(int64_t number) {
  Operation *op = nodes[number].op;
  add(fence, number);
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp(); maker && numbers.contains(maker))
      add(numbers.lookup(maker), number);
  if (auto read = dyn_cast<ReadOp>(op)) {
    Storage &storage = storages[read.getSource()];
    add(storage.lastWrite, number);
    storage.reads.push_back(read);
  }
  if (auto write = dyn_cast<WriteOp>(op))
    addWrite(write, number);
  if (nodes[number].isLink)
    addLink(number, isa<SendOp, RecvOp>(op));
  if (isa<LoopOp>(op)) {
    for (int64_t before = std::max<int64_t>(fence, 0); before < number; ++before)
      add(before, number);
    fence = number;
  }
}

TaskNode mlir::st::timeTaskOp(Operation *op, const MeshAxes &axes) {
  TaskNode node;
  node.op = op;
  node.isLink = movesOverLinks(op);
  auto kernel = dyn_cast<KernelOp>(op);
  if (node.isLink)
    timeLinkOp(node, axes);
  else if (!kernel)
    timeOther(node, axes);
  else if (getJoinedOffsets(kernel).empty()) // otherwise its operands are computed in place
    timeKernel(node, axes);
  return node;
}

SmallVector<TaskNode, 0> mlir::st::buildTaskGraph(Block &body, const MeshAxes &axes) {
  SmallVector<TaskNode, 0> nodes;
  for (Operation &op : body)
    nodes.push_back(timeTaskOp(&op, axes));
  GraphBuilder builder(body, nodes);
  for (size_t number = 0; number < nodes.size(); ++number)
    builder.addEdges(static_cast<int64_t>(number));
  return nodes;
}
