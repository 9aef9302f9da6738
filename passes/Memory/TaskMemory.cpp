#include "passes/Memory/TaskMemory.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;

TaskMemory::TaskMemory(TaskOp task, StorageLayout &layout) : task(task), layout(&layout) {
  int64_t index = 0;
  for (Operation &op : task.getBody().front())
    indices[&op] = index++;
}

FailureOr<TaskMemory> TaskMemory::compute(TaskOp task, StorageLayout &layout) {
  TaskMemory memory(task, layout);
  memory.findLifetimes();
  if (failed(memory.placeWrites()))
    return failure();
  for (Operation &op : task.getBody().front())
    for (Value result : op.getResults()) {
      if (getRoot(result) != result || memory.fixed.contains(result))
        continue;
      int64_t start = memory.getIndex(&op);
      memory.roots.push_back(result);
      memory.intervals.push_back(
          {start, std::max(start, memory.lastUse.lookup(result)), getNumBytes(result.getType())});
    }
  return memory;
}

void TaskMemory::findLifetimes() {
  int64_t end = indices.size();
  for (Operation &op : task.getBody().front()) {
    for (Value operand : op.getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      int64_t &last = lastUse[getRoot(operand)];
      // A send may still be under way while later ops run.
      last = std::max(last, isa<SendOp>(op) ? end : getIndex(&op));
    }
    if (auto read = dyn_cast<ReadOp>(op)) {
      reads[read.getSource()].push_back(read);
      fixed[read] = layout->lookup(read.getSource());
    }
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
      fixed[constant] = layout->getConstant(constant.getValue(), constant.getType());
    if (auto write = dyn_cast<WriteOp>(op))
      ++writeCounts[write.getTarget()];
  }
}

/// Whether making `root` where `read` looks leaves every use of what was read intact.
bool TaskMemory::isSafeBeside(ReadOp read, OpResult root) {
  Operation *maker = root.getOwner();
  if (getIndex(read) > getIndex(maker))
    return false;
  int64_t last = lastUse.lookup(read);
  return last < getIndex(maker) || (last == getIndex(maker) && readsInPlace(maker, read, root));
}

bool TaskMemory::canMakeInTarget(WriteOp write, OpResult root) {
  if (write.getAccumulate() || fixed.contains(root) || writeCounts[write.getTarget()] > 1)
    return false;
  return llvm::all_of(reads[write.getTarget()],
                      [&](ReadOp read) { return isSafeBeside(read, root); });
}

LogicalResult TaskMemory::placeWrites() {
  for (auto write : task.getBody().front().getOps<WriteOp>()) {
    auto root = dyn_cast<OpResult>(getRoot(write.getValue()));
    if (root && canMakeInTarget(write, root)) {
      fixed[root] = layout->lookup(write.getTarget());
      ++numInPlace;
      continue;
    }
    for (ReadOp read : reads[write.getTarget()])
      if (lastUse.lookup(read) > getIndex(write)) {
        InFlightDiagnostic diagnostic = write.emitOpError("overwrites @")
                                        << write.getTarget()
                                        << " while the task still needs what it read from there";
        diagnostic.attachNote(read.getLoc()) << "read here";
        return diagnostic;
      }
  }
  return success();
}

void TaskMemory::annotate(int64_t areaStart) {
  DenseMap<Value, AddressAttr> addresses = fixed;
  MLIRContext *context = task.getContext();
  for (auto [root, interval] : llvm::zip_equal(roots, intervals))
    addresses[root] = AddressAttr::get(context, areaStart + interval.offset, 0, 1);
  for (Operation &op : task.getBody().front()) {
    if (op.getNumResults() == 0)
      continue;
    SmallVector<Attribute> list;
    for (Value result : op.getResults())
      list.push_back(addresses.lookup(getRoot(result)));
    op.setAttr(kAddressesAttr, ArrayAttr::get(context, list));
  }
}
