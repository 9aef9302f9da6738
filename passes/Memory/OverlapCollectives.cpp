#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/TaskGraph.h"
#include <set>

namespace mlir::st {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVES
#include "passes/Memory/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct OverlapCollectives : mlir::st::impl::OverlapCollectivesBase<OverlapCollectives> {
  using OverlapCollectivesBase::OverlapCollectivesBase;

  void runOnOperation() override;
  void overlap(ProgramOp program, const MeshAxes &axes);
  void overlap(Block &body, const MeshAxes &axes, int64_t bytes);
  int64_t bytesForTasks(ProgramOp program, MeshOp mesh);
};

using Order = SmallVector<int64_t>;
using Graph = ArrayRef<TaskNode>;

/// Models a device and its links. Both run their ops in order, at the same time. Device work slows
/// down if both together need more than the device's memory bandwidth.
class Clock {
public:
  explicit Clock(Graph graph) : graph(graph), ready(graph.size(), 0) {}

  /// The time at which the operands of a node are available.
  double readyAt(int64_t node) const;
  void run(int64_t node);
  double now() const { return device; }
  double end() const { return std::max(device, linksEnd()); }
  /// The time that a link op would take, including the link work in progress.
  double linkTime(int64_t node) const {
    return std::max(0.0, linksEnd() - device) + graph[node].time;
  }

private:
  struct Flight {
    double start, end, memoryShare;
  };

  Graph graph;
  std::vector<double> ready;
  double device = 0;
  SmallVector<Flight> flights; ///< in order

  double linksEnd() const { return flights.empty() ? 0 : flights.back().end; }
  double endOf(const TaskNode &node, double start) const;
};

struct ListOptions {
  /// The time by which a link op starts before its position in program order, as a multiple of its
  /// duration.
  double lead;
  /// If an op waits for the links, later ops may run before it if their device time in program
  /// order is within this multiple of the wait.
  double reach;
};

/// Schedules the nodes in program order, except for those that the options move ahead.
class ListScheduler {
public:
  ListScheduler(Graph graph, ListOptions options);

  Order run();
  double end() const { return clock.end(); }

private:
  Graph graph;
  ListOptions options;
  Clock clock;
  SmallVector<int64_t> missing;    ///< for each node, the number of predecessors that have not run
  SmallVector<double> programTime; ///< device time before each node in program order, without waits
  std::set<int64_t> computing, linking; ///< ready nodes
  std::set<int64_t> pending;            ///< device nodes that have not run
  Order order;

  void makeReady(int64_t node);
  void take(int64_t node);
  bool isDue(int64_t link) const;
  bool mustWait(int64_t node) const { return clock.readyAt(node) > clock.now(); }
  int64_t pick() const;
};
} // namespace

double Clock::readyAt(int64_t node) const {
  double time = 0;
  for (int64_t before : graph[node].before)
    time = std::max(time, ready[before]);
  return time;
}

/// The end of device work that starts at `start`.
double Clock::endOf(const TaskNode &node, double start) const {
  double end = start + node.time;
  for (const Flight &flight : llvm::reverse(flights)) {
    if (flight.end <= start)
      break;
    double overlap = std::min(start + node.time, flight.end) - std::max(start, flight.start);
    end += std::max(0.0, overlap) * std::max(0.0, node.memoryShare + flight.memoryShare - 1);
  }
  return end;
}

void Clock::run(int64_t node) {
  const TaskNode &what = graph[node];
  double needed = readyAt(node);
  if (what.isLink) {
    // The device starts a link op when it reaches it in its order.
    device = std::max(device, needed);
    double start = std::max(linksEnd(), device);
    flights.push_back({start, start + what.time, what.memoryShare});
    ready[node] = linksEnd();
  } else if (what.time == 0) {
    ready[node] = needed;
  } else {
    ready[node] = device = endOf(what, std::max(device, needed));
  }
}

ListScheduler::ListScheduler(Graph graph, ListOptions options)
    : graph(graph), options(options), clock(graph), missing(graph.size()),
      programTime(graph.size()) {
  double time = 0;
  for (auto [number, node] : llvm::enumerate(graph)) {
    missing[number] = static_cast<int64_t>(node.before.size());
    programTime[number] = time;
    if (!node.isLink && node.time > 0) {
      time += node.time;
      pending.insert(static_cast<int64_t>(number));
    }
  }
}

void ListScheduler::makeReady(int64_t node) {
  if (graph[node].isLink)
    linking.insert(node);
  else if (graph[node].time > 0)
    computing.insert(node);
  else
    take(node);
}

void ListScheduler::take(int64_t node) {
  clock.run(node);
  order.push_back(node);
  pending.erase(node);
  for (int64_t after : graph[node].after)
    if (--missing[after] == 0)
      makeReady(after);
}

/// Returns true if a link op is due in program order, or if it would start too late after the
/// next device op.
bool ListScheduler::isDue(int64_t link) const {
  if (pending.empty() || *pending.begin() > link)
    return true;
  int64_t next = *pending.begin();
  return programTime[link] - (programTime[next] + graph[next].time) <
         options.lead * clock.linkTime(link);
}

int64_t ListScheduler::pick() const {
  int64_t first = computing.empty() ? graph.size() : *computing.begin();
  for (int64_t link : linking)
    if (isDue(link)) {
      if (!mustWait(link))
        return link;
      first = std::min(first, link);
    }
  if (first == static_cast<int64_t>(graph.size()))
    return *linking.begin();
  double wait = clock.readyAt(first) - clock.now();
  if (wait <= 0)
    return first;
  for (int64_t node : computing) {
    if (programTime[node] - programTime[first] > options.reach * wait)
      break;
    if (!mustWait(node))
      return node;
  }
  return first;
}

Order ListScheduler::run() {
  for (auto [number, node] : llvm::enumerate(graph))
    if (node.before.empty())
      makeReady(static_cast<int64_t>(number));
  while (order.size() < graph.size()) {
    int64_t next = pick();
    linking.erase(next);
    computing.erase(next);
    take(next);
  }
  return order;
}

static double timeOf(Graph graph, ArrayRef<int64_t> order) {
  Clock clock(graph);
  for (int64_t node : order)
    clock.run(node);
  return clock.end();
}

/// The peak bytes of the task's values. Values written to storage count as computed in place.
static int64_t peakBytesOf(Graph graph, ArrayRef<int64_t> order) {
  DenseMap<Operation *, int64_t> place;
  for (auto [position, node] : llvm::enumerate(order))
    place[graph[node].op] = static_cast<int64_t>(position);
  // A collective reads its operand until its result is first needed.
  auto firstUse = [&](Operation *op) {
    return findFirstUse(op, [&](Operation *user) { return place.lookup(user); }, order.size());
  };
  SmallVector<int64_t> change(order.size() + 1, 0);
  for (auto [position, node] : llvm::enumerate(order)) {
    Operation *op = graph[node].op;
    if (isa<ReadOp, CaptureOp, stablehlo::ConstantOp, stablehlo::ReshapeOp>(op) ||
        op->getNumResults() == 0)
      continue;
    SmallVector<Operation *> users = getUsersOfRoots(op);
    if (llvm::any_of(users, [](Operation *user) { return isa<WriteOp>(user); }))
      continue;
    auto last = static_cast<int64_t>(position);
    for (Operation *user : users) {
      last = std::max(last, place.lookup(user));
      if (movesOverLinks(user))
        last = std::max(last, firstUse(user) - 1);
    }
    for (Value result : op->getResults()) {
      change[position] += getNumBytes(result.getType());
      change[last + 1] -= getNumBytes(result.getType());
    }
  }
  int64_t bytes = 0, peak = 0;
  for (int64_t difference : change)
    peak = std::max(peak, bytes += difference);
  return peak;
}

static Order programOrder(Graph graph) {
  return llvm::to_vector(llvm::seq<int64_t>(0, graph.size()));
}

/// The fastest order within the bytes; program order unless another is faster.
static Order chooseOrder(Graph graph, int64_t bytes) {
  // A smaller gain is within the error of the times.
  constexpr double worthIt = 0.999;
  Order best = programOrder(graph);
  double bestTime = timeOf(graph, best) * worthIt;
  for (double lead : {1.0, 2.0, 0.0})
    for (double reach : {64.0, 16.0, 4.0, 1.0, 0.0}) {
      ListScheduler scheduler(graph, {lead, reach});
      Order order = scheduler.run();
      if (scheduler.end() < bestTime && peakBytesOf(graph, order) <= bytes) {
        bestTime = scheduler.end();
        best = std::move(order);
      }
    }
  return best;
}

/// Bytes of a device that are left for a rank's tasks.
static int64_t bytesLeft(ProgramOp program, MeshOp mesh, TargetAttr target) {
  int64_t storage = 0;
  for (Operation &op : program.getBody().front()) {
    if (auto buffer = dyn_cast<BufferOp>(op))
      storage += getNumBytes(buffer.getType()) * static_cast<int64_t>(buffer.getSlots());
    else if (auto type = op.getAttrOfType<TypeAttr>("local_type"))
      storage += getNumBytes(type.getValue()) * (isa<StateOp>(op) ? 1 : mesh.getMicro());
  }
  DenseMap<int64_t, int64_t> ranks;
  int64_t maximum = 1;
  if (auto stages = program->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>("st.devices"))
    for (Attribute stage : stages)
      for (int64_t device : cast<DenseI64ArrayAttr>(stage).asArrayRef())
        maximum = std::max(maximum, ++ranks[device]);
  // A tenth is reserved for gaps between values.
  return (target.getMemoryBytes() / maximum - storage) / 10 * 9;
}

int64_t OverlapCollectives::bytesForTasks(ProgramOp program, MeshOp mesh) {
  auto target = program->getParentOfType<ModuleOp>()->getAttrOfType<TargetAttr>("st.target");
  if (!target)
    return taskBytes >= 0 ? int64_t(taskBytes) : std::numeric_limits<int64_t>::max();
  return std::min(taskBytes >= 0 ? int64_t(taskBytes) : target.getMemoryBytes() / 8,
                  bytesLeft(program, mesh, target));
}

/// Reorders until no order is better, so that the pass is idempotent.
void OverlapCollectives::overlap(Block &body, const MeshAxes &axes, int64_t bytes) {
  for (;;) {
    SmallVector<TaskNode, 0> graph = buildTaskGraph(body, axes);
    if (llvm::none_of(graph, [](const TaskNode &node) { return node.isLink; }))
      return;
    Order order = chooseOrder(graph, bytes);
    if (llvm::is_sorted(order))
      return;
    for (auto [position, node] : llvm::enumerate(order)) {
      numMoved += node != static_cast<int64_t>(position);
      graph[node].op->moveBefore(&body, body.end());
    }
  }
}

void OverlapCollectives::overlap(ProgramOp program, const MeshAxes &axes) {
  // Tasks run one after the other, so each may use the complete area.
  int64_t bytes = bytesForTasks(program, getMesh(program));
  for (auto task : program.getOps<TaskOp>()) {
    SmallVector<TaskNode, 0> graph = buildTaskGraph(task.getBody().front(), axes);
    bytes = std::max(bytes, peakBytesOf(graph, programOrder(graph)));
  }
  for (auto task : program.getOps<TaskOp>())
    overlap(task.getBody().front(), axes, bytes);
}

static constexpr FactContract kContract = {
    {Fact::Mesh, Fact::Programs}, FactSet({Fact::TensorOps}) | FactSet::from(Fact::Addresses)};

void OverlapCollectives::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(checkFacts(module, getArgument(), kContract)))
    return signalPassFailure();
  if (!module->hasAttr(kSpeedAttr) && !assumeSpeed)
    return;
  MeshAxes axes(getMesh(module));
  for (auto program : module.getOps<ProgramOp>())
    overlap(program, axes);
}
