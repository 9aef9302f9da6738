#include "passes/Memory/TaskGraph.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/OpCost.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Memory/MemoryUtils.h"

using namespace mlir;
using namespace mlir::st;

// ---- times --------------------------------------------------------------------------------------

static int64_t getNumBytes(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (isa<RankedTensorType>(value.getType())) // not the micro-batch's number
      bytes += getNumBytes(value.getType());
  return bytes;
}

static bool isProduct(Operation &op) {
  return isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op);
}

static void timeKernel(TaskNode &node, SpeedAttr speed) {
  // Products read tiles of their operands more than once.
  constexpr double again = 2.5;
  auto kernel = cast<KernelOp>(node.op);
  double products = 0;
  for (Operation &op : kernel.getBody().front())
    if (isProduct(op)) {
      bool is16Bit = getElementTypeOrSelf(op.getOperand(0)).getIntOrFloatBitWidth() == 16;
      int64_t rate = is16Bit ? speed.getFlops16PerNs() : speed.getFlopsPerNs();
      products += estimateCost(&op) / static_cast<double>(rate);
    }
  double memory =
      static_cast<double>(getNumBytes(kernel.getInputs()) + getNumBytes(kernel.getResults())) /
      static_cast<double>(speed.getBytesPerNs());
  double longer = std::max(products, memory);
  node.fixedTime = static_cast<double>(speed.getKernelNs());
  node.time = node.fixedTime + longer;
  node.memoryShare = products > 0 ? std::min(1.0, again * memory / longer) : 1;
}

static double nsPerByteOf(ArrayRef<int64_t> bytesPerUs) {
  double slowest = 0;
  for (int64_t rate : bytesPerUs)
    if (rate > 0)
      slowest = std::max(slowest, 1000.0 / static_cast<double>(rate));
  return slowest;
}

/// A ring of n sends what it moves n - 1 times in parts, a sum of everything twice. Bytes that are
/// sent are read and written; where they are summed, another part is read, and of a scattered sum
/// copied.
static void timeLinkOp(TaskNode &node, SpeedAttr speed, MeshOp mesh) {
  Operation *op = node.op;
  ArrayRef<int64_t> rates = speed.getLinkBytesPerUs().asArrayRef();
  auto bytes =
      static_cast<double>(std::max(getNumBytes(op->getOperands()), getNumBytes(op->getResults())));
  double members = 1, steps = 1, touched = 2, nsPerByte = nsPerByteOf(rates);
  if (auto axes = op->getAttrOfType<ArrayAttr>("axes")) {
    SmallVector<int64_t> along;
    for (Attribute axis : axes) {
      auto position = llvm::find(mesh.getAxisNames(), axis) - mesh.getAxisNames().begin();
      members *= static_cast<double>(mesh.getAxisSizes()[position]);
      along.push_back(rates[position]);
    }
    nsPerByte = nsPerByteOf(along);
    if (isa<CollectivePermuteOp>(op))
      members = 1;
    else
      steps = (members - 1) * (isa<AllReduceOp>(op) ? 2 : 1);
    touched = isa<AllReduceOp>(op) ? 2.5 : isa<ReduceScatterOp>(op) ? 5 : 2;
  }
  double moved = steps * bytes / members;
  node.fixedTime = steps * static_cast<double>(speed.getLinkNs());
  node.time = node.fixedTime + moved * nsPerByte;
  if (node.time > 0)
    node.memoryShare = touched * moved / static_cast<double>(speed.getBytesPerNs()) / node.time;
}

/// Whether a write puts a value where it has been made, most likely, and is no code then.
static bool isMadeInPlace(WriteOp write) {
  Operation *maker = getRoot(write.getValue()).getDefiningOp();
  return !write.getAccumulate() && !isa<ReadOp>(maker) && !movesOverLinks(maker);
}

/// An op that is no kernel: a copy, or nothing.
static void timeOther(TaskNode &node, SpeedAttr speed) {
  auto write = dyn_cast<WriteOp>(node.op);
  if (isa<ReadOp, CaptureOp, stablehlo::ConstantOp, stablehlo::ReshapeOp>(node.op) ||
      (write && isMadeInPlace(write)))
    return;
  node.time = static_cast<double>(speed.getKernelNs()) +
              2 * static_cast<double>(getNumBytes(node.op->getOperands())) /
                  static_cast<double>(speed.getBytesPerNs());
  node.memoryShare = 1;
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
      // The value may be made where the old one is read.
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

LogicalResult mlir::st::getSpeed(ModuleOp module, bool assume, SpeedAttr &speed) {
  MeshOp mesh = getMesh(module);
  size_t axes = mesh.getAxisSizes().size();
  speed = module->getAttrOfType<SpeedAttr>(kSpeedAttr);
  if (!speed && assume) {
    SmallVector<int64_t> links(axes, 25000);
    speed = SpeedAttr::get(module.getContext(), /*flopsPerNs=*/5000, /*flops16PerNs=*/20000,
                           /*bytesPerNs=*/128, /*kernelNs=*/400,
                           DenseI64ArrayAttr::get(module.getContext(), links), /*linkNs=*/800);
  }
  if (!speed || static_cast<size_t>(speed.getLinkBytesPerUs().size()) == axes)
    return success();
  return module.emitError() << "st.speed has " << speed.getLinkBytesPerUs().size()
                            << " link_bytes_per_us, expected one for each of " << axes
                            << " axes of the mesh";
}

TaskNode mlir::st::timeTaskOp(Operation *op, SpeedAttr speed, MeshOp mesh) {
  TaskNode node;
  node.op = op;
  node.isLink = movesOverLinks(op);
  auto kernel = dyn_cast<KernelOp>(op);
  if (node.isLink)
    timeLinkOp(node, speed, mesh);
  else if (!kernel)
    timeOther(node, speed);
  else if (getJoinedOffsets(kernel).empty()) // else its operands are made in their places
    timeKernel(node, speed);
  return node;
}

SmallVector<TaskNode, 0> mlir::st::buildTaskGraph(Block &body, SpeedAttr speed, MeshOp mesh) {
  SmallVector<TaskNode, 0> nodes;
  for (Operation &op : body)
    nodes.push_back(timeTaskOp(&op, speed, mesh));
  GraphBuilder builder(body, nodes);
  for (size_t number = 0; number < nodes.size(); ++number)
    builder.addEdges(static_cast<int64_t>(number));
  return nodes;
}
