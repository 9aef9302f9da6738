#include "lib/Driver/Prediction/MemoryUse.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Memory/MemoryUtils.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace mlir;
using namespace mlir::st;

namespace {

/// Ordered like ::st::MemoryUse::classes.
enum Class { Parameters, Optimizer, Gradients, Activations, Workspace, Inputs };

struct Buffer {
  Class of;
  bool isStash;
  int64_t slotBytes;
};

/// Memory of a task without the permanent parts of the arena.
struct TaskUse {
  std::set<std::string> buffers;
  int64_t areaBytes = 0;
};

class ProgramUse {
public:
  ProgramUse(ProgramOp program, int64_t alignment) : program(program), alignment(alignment) {}
  std::vector<std::vector<int64_t>> gather();

private:
  int64_t aligned(Type type) const { return llvm::alignTo(getNumBytes(type), alignment); }
  void placeStorage();
  void findArea();
  TaskUse useOf(TaskOp task) const;

  ProgramOp program;
  int64_t alignment;
  std::vector<int64_t> always = std::vector<int64_t>(6); ///< by class
  llvm::StringMap<Buffer> buffers;
  int64_t areaStart = 0;
};

} // namespace

/// Calls `visit` with each address of an op's results and its type.
template <typename Visit> static void visitAddresses(Operation *op, Visit &&visit) {
  if (auto addresses = op->getAttrOfType<ArrayAttr>(kAddressesAttr))
    for (auto [result, attribute] : llvm::zip(op->getResults(), addresses))
      if (auto address = dyn_cast<AddressAttr>(attribute))
        visit(address, result.getType());
}

void ProgramUse::placeStorage() {
  auto place = [&](AddressAttr address, Type type) {
    const int64_t bytes = aligned(type) * address.getSlots();
    areaStart = std::max<int64_t>(areaStart, address.getOffset() + bytes);
    return bytes;
  };
  for (Operation &op : program.getBody().front()) {
    if (auto state = dyn_cast<StateOp>(op))
      always[state.getRole() == "parameter" ? Parameters : Optimizer] +=
          place(state.getAddressAttr(), state.getLocalType());
    else if (auto input = dyn_cast<InputOp>(op))
      always[Inputs] += place(input.getAddressAttr(), input.getLocalType());
    else if (auto output = dyn_cast<OutputOp>(op))
      always[Workspace] += place(output.getAddressAttr(), output.getLocalType());
    else if (auto buffer = dyn_cast<BufferOp>(op); buffer && !buffer.isOnHost()) {
      place(buffer.getAddressAttr(), buffer.getType());
      buffers[buffer.getSymName()] = {buffer.getKind() == "accumulator" ? Gradients : Activations,
                                      buffer.getKind() == "stash", aligned(buffer.getType())};
    }
  }
}

/// Constants are between storage and the area that tasks share.
void ProgramUse::findArea() {
  std::map<int64_t, int64_t> constants;
  program.walk([&](stablehlo::ConstantOp constant) {
    visitAddresses(constant, [&](AddressAttr address, Type type) {
      // One without elements has the offset of the next.
      int64_t &bytes = constants[address.getOffset()];
      bytes = std::max(bytes, aligned(type));
    });
  });
  for (auto [offset, bytes] : constants) {
    always[Workspace] += bytes;
    areaStart = std::max(areaStart, offset + bytes);
  }
}

TaskUse ProgramUse::useOf(TaskOp task) const {
  TaskUse use;
  auto touch = [&](StringRef symbol) {
    if (buffers.contains(symbol))
      use.buffers.insert(symbol.str());
  };
  task.walk([&](Operation *op) {
    if (auto read = dyn_cast<ReadOp>(op))
      touch(read.getSource());
    else if (auto write = dyn_cast<WriteOp>(op))
      touch(write.getTarget());
    else if (auto loop = dyn_cast<LoopOp>(op))
      for (Attribute carried : loop.getCarried())
        touch(cast<FlatSymbolRefAttr>(carried).getValue());
    visitAddresses(op, [&](AddressAttr address, Type type) {
      const int64_t offset = address.getOffset();
      if (offset >= areaStart)
        use.areaBytes = std::max<int64_t>(use.areaBytes, offset + aligned(type) - areaStart);
    });
  });
  return use;
}

std::vector<std::vector<int64_t>> ProgramUse::gather() {
  placeStorage();
  findArea();
  llvm::StringMap<TaskUse> tasks;
  for (auto task : program.getOps<TaskOp>())
    tasks[task.getSymName()] = useOf(task);
  // From the first to the last entry that accesses a buffer, or a stash's micro-batch.
  std::map<std::pair<std::string, int64_t>, std::pair<size_t, size_t>> lives;
  std::vector<std::vector<int64_t>> entries;
  auto schedule = *program.getBody().getOps<ScheduleOp>().begin();
  for (auto [task, microBatch] : llvm::zip_equal(schedule.getTasks(), schedule.getMicroBatches())) {
    const TaskUse &use = tasks[cast<FlatSymbolRefAttr>(task).getValue()];
    const size_t entry = entries.size();
    for (const std::string &buffer : use.buffers)
      lives.try_emplace({buffer, buffers[buffer].isStash ? microBatch : 0}, entry, entry)
          .first->second.second = entry;
    entries.push_back(always);
    entries.back()[Workspace] += use.areaBytes;
  }
  for (const auto &[key, life] : lives)
    for (size_t entry = life.first; entry <= life.second; ++entry)
      entries[entry][buffers[key.first].of] += buffers[key.first].slotBytes;
  return entries;
}

::st::MemoryUse mlir::st::gatherMemoryUse(ModuleOp module) {
  ::st::MemoryUse use;
  use.classes = {"parameters", "optimizer", "gradients", "activations", "workspace", "inputs"};
  auto target = module->getAttrOfType<TargetAttr>("st.target");
  for (auto program : module.getOps<ProgramOp>())
    use.groups.push_back(ProgramUse(program, target.getAlignment()).gather());
  return use;
}
