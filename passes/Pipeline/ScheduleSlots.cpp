#include "dialects/St/Interfaces/Notes.h"
#include "passes/Pipeline/Schedule.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <set>

using namespace mlir;
using namespace mlir::st;

namespace {
/// The stash buffers that a task accesses.
struct StashAccesses {
  SmallVector<BufferOp> reads, writes;
};

class StashUses {
public:
  explicit StashUses(const GroupSchedule &schedule);
  const StashAccesses &get(TaskOp task) { return accesses[task]; }
  /// The number of schedule entries that read a buffer's content of a micro-batch.
  int64_t countReads(BufferOp buffer, int64_t microBatch) {
    return readCounts[{buffer.getOperation(), microBatch}];
  }

private:
  DenseMap<Operation *, StashAccesses> accesses;
  DenseMap<std::pair<Operation *, int64_t>, int64_t> readCounts;
};
} // namespace

StashUses::StashUses(const GroupSchedule &schedule) {
  ProgramOp program = schedule.program;
  llvm::StringMap<BufferOp> stashes;
  for (auto buffer : program.getOps<BufferOp>())
    if (buffer.getKind() == "stash")
      stashes[buffer.getSymName()] = buffer;
  for (auto task : program.getOps<TaskOp>()) {
    llvm::SetVector<Operation *> reads, writes;
    for (Operation &op : task.getBody().front()) {
      if (auto read = dyn_cast<ReadOp>(op); read && stashes.contains(read.getSource()))
        reads.insert(stashes[read.getSource()]);
      if (auto write = dyn_cast<WriteOp>(op); write && stashes.contains(write.getTarget()))
        writes.insert(stashes[write.getTarget()]);
    }
    StashAccesses &mine = accesses[task];
    // A task does not need earlier content of a buffer that it writes first.
    for (Operation *op : reads)
      if (!writes.contains(op))
        mine.reads.push_back(cast<BufferOp>(op));
    for (Operation *op : writes)
      mine.writes.push_back(cast<BufferOp>(op));
  }
  for (const ScheduleEntry &entry : schedule.entries)
    for (BufferOp buffer : accesses[entry.task].reads)
      ++readCounts[{buffer, entry.microBatch}];
}

void mlir::st::assignSlots(GroupSchedule &schedule) {
  StashUses uses(schedule);
  // The micro-batches that a buffer holds, with the number of remaining reads.
  llvm::MapVector<Operation *, std::map<int64_t, int64_t>> held;
  DenseMap<Operation *, int64_t> slots;
  for (const ScheduleEntry &entry : schedule.entries) {
    const StashAccesses &accesses = uses.get(entry.task);
    for (BufferOp buffer : accesses.writes) {
      auto &content = held[buffer];
      content[entry.microBatch] = uses.countReads(buffer, entry.microBatch);
      int64_t span = content.rbegin()->first - content.begin()->first + 1;
      slots[buffer] = std::max(slots[buffer], span);
      if (content[entry.microBatch] == 0)
        content.erase(entry.microBatch);
    }
    for (BufferOp buffer : accesses.reads) {
      auto found = held[buffer].find(entry.microBatch);
      if (found != held[buffer].end() && --found->second == 0)
        held[buffer].erase(found);
    }
  }
  for (auto [buffer, count] : slots)
    cast<BufferOp>(buffer).setSlots(count);
}

static InFlightDiagnostic reportEntry(const ScheduleEntry &entry) {
  TaskOp task = entry.task;
  return task.emitOpError("of micro-batch ") << entry.microBatch << ' ';
}

LogicalResult mlir::st::checkSlots(const GroupSchedule &schedule) {
  StashUses uses(schedule);
  struct Slot {
    int64_t microBatch = -1, pendingReads = 0;
  };
  DenseMap<Operation *, SmallVector<Slot>> content;
  auto slotOf = [&](BufferOp buffer, int64_t microBatch) -> Slot & {
    SmallVector<Slot> &slots = content[buffer];
    slots.resize(buffer.getSlots());
    return slots[microBatch % slots.size()];
  };
  for (const ScheduleEntry &entry : schedule.entries) {
    const StashAccesses &accesses = uses.get(entry.task);
    for (BufferOp buffer : accesses.writes) {
      Slot &slot = slotOf(buffer, entry.microBatch);
      if (slot.pendingReads > 0)
        return withNote(reportEntry(entry)
                            << "overwrites the slot of @" << buffer.getSymName()
                            << " that micro-batch " << slot.microBatch << " still needs; it has "
                            << buffer.getSlots() << " slots",
                        buffer, "the buffer is here");
      slot = {entry.microBatch, uses.countReads(buffer, entry.microBatch)};
    }
    for (BufferOp buffer : accesses.reads) {
      Slot &slot = slotOf(buffer, entry.microBatch);
      if (slot.microBatch != entry.microBatch)
        return withNote(reportEntry(entry) << "reads @" << buffer.getSymName()
                                           << " before any task has written it",
                        buffer, "the buffer is here");
      --slot.pendingReads;
    }
  }
  return success();
}
