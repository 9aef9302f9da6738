#include "passes/Memory/TaskMemory.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;

TaskMemory::TaskMemory(Block &block, StorageLayout &layout) : block(&block), layout(&layout) {
  int64_t index = 0;
  for (Operation &op : block)
    indices[&op] = index++;
}

FailureOr<TaskMemory> TaskMemory::compute(Block &block, StorageLayout &layout) {
  TaskMemory memory(block, layout);
  memory.findLifetimes();
  if (failed(memory.placeWrites()))
    return failure();
  memory.keepOperandsInFlight();
  for (Operation &op : block)
    for (Value result : op.getResults()) {
      if (getRoot(result) != result || memory.fixed.contains(result))
        continue;
      int64_t start = memory.getIndex(&op);
      memory.roots.push_back(result);
      memory.intervals.push_back(
          {start, std::max(start, memory.lastUse.lookup(result)), getNumBytes(result.getType())});
    }
  for (auto loop : block.getOps<LoopOp>()) {
    FailureOr<TaskMemory> body = compute(loop.getBody().front(), layout);
    if (failed(body))
      return failure();
    int64_t at = memory.getIndex(loop);
    memory.numInPlace += body->numInPlace;
    memory.loops.push_back(
        {loop, std::make_unique<TaskMemory>(std::move(*body)), memory.intervals.size()});
    memory.intervals.push_back({at, at, 0});
  }
  return memory;
}

int64_t TaskMemory::place(int64_t alignment) {
  for (Loop &loop : loops)
    intervals[loop.interval].bytes = loop.body->place(alignment);
  return placeIntervals(intervals, alignment);
}

void TaskMemory::findLifetimes() {
  int64_t end = indices.size();
  for (Operation &op : *block) {
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
    if (auto loop = dyn_cast<LoopOp>(op))
      for (auto [result, buffer] : llvm::zip_equal(loop.getResults(), loop.getCarried()))
        fixed[result] = layout->lookup(cast<FlatSymbolRefAttr>(buffer).getValue());
    if (auto capture = dyn_cast<CaptureOp>(op))
      fixed[capture] = AddressAttr(); // known once the values around the loop are placed
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
  for (auto write : block->getOps<WriteOp>()) {
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

void TaskMemory::keepOperandsInFlight() {
  for (Operation &op : *block) {
    if (!movesOverLinks(&op) || op.getNumResults() == 0)
      continue;
    int64_t needed = indices.size();
    for (Operation *user : getUsersOfRoots(&op))
      needed = std::min(needed, getIndex(user));
    for (Value operand : op.getOperands()) {
      int64_t &last = lastUse[getRoot(operand)];
      last = std::max(last, needed - 1);
    }
  }
}

void TaskMemory::annotate(int64_t areaStart, ArrayRef<AddressAttr> captured) {
  if (block->empty())
    return;
  DenseMap<Value, AddressAttr> addresses = fixed;
  MLIRContext *context = block->getParentOp()->getContext();
  for (auto [root, interval] : llvm::zip(roots, intervals))
    addresses[root] = AddressAttr::get(context, areaStart + interval.offset, 0, 1);
  for (auto capture : block->getOps<CaptureOp>())
    addresses[capture] = captured[capture.getIndex()];
  for (Loop &loop : loops)
    loop.body->annotate(areaStart + intervals[loop.interval].offset,
                        llvm::map_to_vector(loop.op.getCaptures(), [&](Value value) {
                          return addresses.lookup(getRoot(value));
                        }));
  for (Operation &op : *block) {
    if (op.getNumResults() == 0)
      continue;
    SmallVector<Attribute> list;
    for (Value result : op.getResults())
      list.push_back(addresses.lookup(getRoot(result)));
    op.setAttr(kAddressesAttr, ArrayAttr::get(context, list));
  }
}
