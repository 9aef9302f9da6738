#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/Offload.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/OffloadableStashes.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/TaskGraph.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::st {
#define GEN_PASS_DEF_OFFLOADSTASH
#include "passes/Memory/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct OffloadStash : mlir::st::impl::OffloadStashBase<OffloadStash> {
  using OffloadStashBase::OffloadStashBase;
  void runOnOperation() override;
  /// Marks buffers until at most `bytes` stay; returns whether any buffer may be offloaded.
  bool mark(ProgramOp program, const MeshAxes &axes, int64_t bytes);
};

/// A buffer that may be offloaded, and the time for which a value waits in it, in tasks. The end of
/// the producing task and the start of the consuming task count by the time of their ops.
struct Candidate {
  BufferOp buffer;
  double wait = 0;
};

/// The time at which each task runs, and the fraction of a task before an op.
class StashTimes {
public:
  StashTimes(ProgramOp program, const MeshAxes &axes);
  /// Averaged over the micro-batches.
  double getWait(StringRef buffer) const;

private:
  struct Access {
    StringRef task;
    double place = 0;
  };
  llvm::StringMap<Access> writes, firstReads;
  llvm::StringMap<SmallVector<int64_t>> runs; ///< of a task: its positions, by micro-batch
};
} // namespace

/// The time of a task's op in microseconds; for a loop, of all its trips.
static double getTime(Operation *op, const MeshAxes &axes) {
  auto loop = dyn_cast<LoopOp>(op);
  if (!loop)
    return timeTaskOp(op, axes).time;
  double time = 0;
  for (Operation &inner : loop.getBody().front())
    time += getTime(&inner, axes);
  return time * static_cast<double>(loop.getTrips().value_or(1));
}

StashTimes::StashTimes(ProgramOp program, const MeshAxes &axes) {
  for (auto schedule : program.getOps<ScheduleOp>())
    for (auto [position, task] : llvm::enumerate(schedule.getTasks())) {
      SmallVector<int64_t> &own = runs[cast<FlatSymbolRefAttr>(task).getValue()];
      auto microBatch = static_cast<size_t>(schedule.getMicroBatches()[position]);
      own.resize(std::max(own.size(), microBatch + 1));
      own[microBatch] = static_cast<int64_t>(position);
    }
  for (auto task : program.getOps<TaskOp>()) {
    Block &body = task.getBody().front();
    double total = 0;
    for (Operation &op : body)
      total += getTime(&op, axes);
    double before = 0;
    for (Operation &op : body) {
      Access here{task.getSymName(), total > 0 ? before / total : 0};
      before += getTime(&op, axes);
      if (auto write = dyn_cast<WriteOp>(op))
        writes[write.getTarget()] = here;
      for (Value operand : op.getOperands())
        if (auto read = getRoot(operand).getDefiningOp<ReadOp>())
          firstReads.try_emplace(read.getSource(), here);
    }
  }
}

double StashTimes::getWait(StringRef buffer) const {
  const Access write = writes.lookup(buffer), read = firstReads.lookup(buffer);
  const SmallVector<int64_t> created = runs.lookup(write.task), needed = runs.lookup(read.task);
  if (created.empty() || created.size() != needed.size())
    return 0;
  int64_t between = 0;
  for (auto [from, to] : llvm::zip_equal(created, needed))
    between += to - from;
  return static_cast<double>(between) / static_cast<double>(created.size()) + read.place -
         write.place;
}

/// In tasks. A value with a shorter wait is not worth offloading: it would be in transit all the
/// time, and a quarter of a task's bytes is in transit in each direction, and so on the device,
/// anyway (getFirstNotInTransit).
static constexpr double kShortestWait = 0.25;

bool OffloadStash::mark(ProgramOp program, const MeshAxes &axes, int64_t bytes) {
  StashTimes times(program, axes);
  SmallVector<Candidate> candidates;
  int64_t staying = 0;
  auto bytesOf = [](BufferOp buffer) {
    return static_cast<int64_t>(buffer.getSlots()) * getNumBytes(buffer.getType());
  };
  for (BufferOp buffer : findOffloadable(program))
    if (double wait = times.getWait(buffer.getSymName()); wait >= kShortestWait) {
      candidates.push_back({buffer, wait});
      staying += buffer.isOnHost() ? 0 : bytesOf(buffer);
    }
  llvm::stable_sort(candidates,
                    [](const Candidate &a, const Candidate &b) { return a.wait > b.wait; });
  for (Candidate &candidate : candidates) {
    if (staying <= bytes)
      break;
    if (candidate.buffer.isOnHost())
      continue;
    candidate.buffer.setSpace("host");
    staying -= bytesOf(candidate.buffer);
    ++numOffloaded;
  }
  return !candidates.empty();
}

/// The first user of a read's value.
static Operation *getFirstUser(ReadOp read) {
  Operation *first = nullptr;
  for (Operation *user : read->getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  return first;
}

/// A copy occupies the device's memory from its read on. Each read is placed where an earlier one
/// is first used, so that copies are in transit while others are in use.
static void placeReads(TaskOp task, const llvm::StringSet<> &onHost) {
  SmallVector<std::pair<ReadOp, Operation *>> reads;
  for (auto read : task.getBody().front().getOps<ReadOp>())
    if (onHost.contains(read.getSource()))
      if (Operation *user = getFirstUser(read))
        reads.push_back({read, user});
  // The last one first, because reads in transit with it come before it.
  llvm::stable_sort(
      reads, [](const auto &a, const auto &b) { return b.second->isBeforeInBlock(a.second); });
  SmallVector<int64_t> bytes =
      llvm::map_to_vector(reads, [](auto &entry) { return getNumBytes(entry.first.getType()); });
  for (size_t i = 0; i < reads.size(); ++i)
    if (size_t before = getFirstNotInTransit(bytes, i); before < reads.size())
      reads[i].first->moveBefore(reads[before].second);
}

static constexpr FactContract kContract = {{Fact::Mesh, Fact::Programs, Fact::Schedules},
                                           FactSet({Fact::TensorOps}) |
                                               FactSet::from(Fact::Addresses)};

void OffloadStash::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(checkFacts(module, getArgument(), kContract)))
    return signalPassFailure();
  Attribute attribute = module->getAttr(kOffloadAttr);
  if (!attribute)
    return markAllAnalysesPreserved();
  auto budget = dyn_cast<IntegerAttr>(attribute);
  if (!budget || budget.getInt() < 0) {
    module.emitError() << "the module's " << kOffloadAttr << " is " << attribute
                       << "; expected a number of bytes from 0";
    return signalPassFailure();
  }
  auto target = module->getAttrOfType<TargetAttr>("st.target");
  if (target && target.getHostBytes() == 0) {
    module.emitError() << "the module's " << kOffloadAttr << " is " << attribute << ", but target "
                       << target.getDevice() << " has no link to a host's memory";
    return signalPassFailure();
  }
  MeshAxes axes(getMesh(module));
  bool isPossible = false;
  for (auto program : module.getOps<ProgramOp>()) {
    isPossible |= mark(program, axes, budget.getInt());
    llvm::StringSet<> onHost;
    for (auto buffer : program.getOps<BufferOp>())
      if (buffer.isOnHost())
        onHost.insert(buffer.getSymName());
    for (auto task : program.getOps<TaskOp>())
      placeReads(task, onHost);
  }
  if (!isPossible)
    module.emitWarning("offload has no effect: no activation waits for a backward task");
}
