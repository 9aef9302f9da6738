#include "passes/Memory/OffloadableStashes.h"
#include "passes/Memory/Recompute/ForwardTask.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::st;

SmallVector<BufferOp> mlir::st::findOffloadable(ProgramOp program) {
  ValueSources sources(program);
  llvm::StringSet<> refused, written, read;
  auto noteOp = [&](TaskOp task, Operation *op) {
    bool isInTask = op->getParentOp() == task;
    if (auto write = dyn_cast<WriteOp>(op)) {
      bool fits = isInTask && task.getPhase() == "forward" && !write.getAccumulate() &&
                  sources.isOfBatch(write.getValue());
      if (!written.insert(write.getTarget()).second || !fits)
        refused.insert(write.getTarget());
    } else if (auto readOp = dyn_cast<ReadOp>(op)) {
      read.insert(readOp.getSource());
      if (!isInTask || (task.getPhase() != "backward" && task.getPhase() != "weight"))
        refused.insert(readOp.getSource());
    } else if (auto loop = dyn_cast<LoopOp>(op)) {
      for (Attribute buffer : loop.getCarried())
        refused.insert(cast<FlatSymbolRefAttr>(buffer).getValue());
    }
  };
  for (auto task : program.getOps<TaskOp>())
    task.walk([&](Operation *op) { noteOp(task, op); });
  SmallVector<BufferOp> found;
  for (auto buffer : program.getOps<BufferOp>()) {
    StringRef name = buffer.getSymName();
    if (buffer.getKind() == "stash" && written.contains(name) && read.contains(name) &&
        !refused.contains(name))
      found.push_back(buffer);
  }
  return found;
}
