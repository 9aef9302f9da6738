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
  memory.placeJoined();
  for (Operation &op : block)
    for (Value result : op.getResults()) {
      if (getRoot(result) != result || memory.fixed.contains(result) ||
          memory.joined.contains(result))
        continue;
      int64_t start = memory.getStart(cast<OpResult>(result));
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

/// A copy to the host is in transit while the next ones are computed.
void TaskMemory::holdForHost() {
  SmallVector<WriteOp> writes;
  SmallVector<int64_t> bytes;
  for (auto write : block->getOps<WriteOp>())
    if (layout->isOnHost(write.getTarget())) {
      writes.push_back(write);
      bytes.push_back(getNumBytes(write.getValue().getType()));
    }
  for (auto [i, write] : llvm::enumerate(writes)) {
    size_t next = getFirstNotInTransit(bytes, i);
    int64_t &last = lastUse[getRoot(write.getValue())];
    last = std::max<int64_t>(last, next < writes.size() ? getIndex(writes[next]) : indices.size());
  }
}

void TaskMemory::findLifetimes() {
  int64_t end = indices.size();
  for (Operation &op : *block) {
    for (Value operand : op.getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      int64_t &last = lastUse[getRoot(operand)];
      // A send may still be in transit while later ops run.
      last = std::max(last, isa<SendOp>(op) ? end : getIndex(&op));
    }
    if (auto read = dyn_cast<ReadOp>(op)) {
      // A read of host memory creates a copy, which is placed like any value.
      if (!layout->isOnHost(read.getSource())) {
        reads[read.getSource()].push_back(read);
        fixed[read] = layout->lookup(read.getSource());
      }
    }
    if (auto loop = dyn_cast<LoopOp>(op))
      for (auto [result, buffer] : llvm::zip_equal(loop.getResults(), loop.getCarried()))
        fixed[result] = layout->lookup(cast<FlatSymbolRefAttr>(buffer).getValue());
    if (auto capture = dyn_cast<CaptureOp>(op))
      fixed[capture] = AddressAttr(); // set once the values around the loop are placed
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
      fixed[constant] = layout->getConstant(constant.getValue(), constant.getType());
    if (auto write = dyn_cast<WriteOp>(op))
      ++writeCounts[write.getTarget()];
  }
  holdForHost();
}

/// Returns true if computing `root` in the storage of `read` leaves every use of the read value
/// intact.
bool TaskMemory::canOverwrite(ReadOp read, OpResult root) {
  Operation *maker = root.getOwner();
  if (getIndex(read) > getIndex(maker))
    return false;
  int64_t last = lastUse.lookup(read);
  return last < getIndex(maker) || (last == getIndex(maker) && readsInPlace(maker, read, root));
}

bool TaskMemory::canMakeInTarget(WriteOp write, OpResult root) {
  if (layout->isOnHost(write.getTarget()) || write.getAccumulate() || fixed.contains(root) ||
      writeCounts[write.getTarget()] > 1)
    return false;
  return llvm::all_of(reads[write.getTarget()],
                      [&](ReadOp read) { return canOverwrite(read, root); });
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
        InFlightDiagnostic diagnostic =
            write.emitOpError("overwrites @")
            << write.getTarget() << " while the task still needs a value that it read from there";
        diagnostic.attachNote(read.getLoc()) << "read here";
        return diagnostic;
      }
  }
  return success();
}

/// Returns true if a write needs no copy because its value is computed in place.
bool TaskMemory::isInTarget(WriteOp write) const {
  auto place = fixed.find(getRoot(write.getValue()));
  return place != fixed.end() && place->second == layout->lookup(write.getTarget());
}

void TaskMemory::keepOperandsInFlight() {
  int64_t end = indices.size();
  for (Operation &op : *block) {
    if (!movesOverLinks(&op) || op.getNumResults() == 0)
      continue;
    // No op waits for a write whose value is already in place.
    int64_t needed = findFirstUse(
        &op,
        [&](Operation *user) {
          auto write = dyn_cast<WriteOp>(user);
          return write && isInTarget(write) ? end : getIndex(user);
        },
        end);
    if (needed == end)
      needed = findFirstUse(&op, [&](Operation *user) { return getIndex(user); }, end);
    for (Value operand : op.getOperands()) {
      int64_t &last = lastUse[getRoot(operand)];
      last = std::max(last, needed - 1);
    }
  }
}

/// Returns true if the value can be computed in a part of another: its memory is not shared.
bool TaskMemory::canMakeInPart(Value root) {
  Operation *maker = root.getDefiningOp();
  auto kernel = dyn_cast_or_null<KernelOp>(maker);
  return maker && maker->getBlock() == block && (kernel || movesOverLinks(maker)) &&
         !(kernel && !getJoinedOffsets(kernel).empty()) && !fixed.contains(root) &&
         !joined.contains(root);
}

/// Returns true if the task does not read the storage of a value, so that it may be written
/// earlier.
bool TaskMemory::isNeverRead(Value root) {
  return llvm::all_of(block->getOps<WriteOp>(), [&](WriteOp write) {
    return getRoot(write.getValue()) != root || reads[write.getTarget()].empty();
  });
}

void TaskMemory::placeJoined() {
  for (auto kernel : block->getOps<KernelOp>()) {
    SmallVector<int64_t> offsets = getJoinedOffsets(kernel);
    Value joinedResult = kernel->getResult(0);
    if (offsets.empty() || (fixed.contains(joinedResult) && !isNeverRead(joinedResult)))
      continue;
    SmallVector<Value> parts = llvm::map_to_vector(kernel.getInputs(), getRoot);
    if (!llvm::all_of(parts, [&](Value part) { return canMakeInPart(part); }) ||
        llvm::SmallDenseSet<Value>(parts.begin(), parts.end()).size() != parts.size())
      continue;
    for (auto [part, offset] : llvm::zip_equal(parts, offsets)) {
      joined[part] = {joinedResult, offset};
      int64_t &last = lastUse[joinedResult];
      last = std::max(last, lastUse.lookup(part));
      auto [start, isNew] = joinStart.try_emplace(joinedResult, getIndex(part.getDefiningOp()));
      start->second = std::min(start->second, getIndex(part.getDefiningOp()));
    }
    ++numInPlace;
  }
}

int64_t TaskMemory::getStart(OpResult root) const {
  auto start = joinStart.find(root);
  return start != joinStart.end() ? start->second : getIndex(root.getOwner());
}

void TaskMemory::annotate(int64_t areaStart, ArrayRef<AddressAttr> captured) {
  if (block->empty())
    return;
  DenseMap<Value, AddressAttr> addresses = fixed;
  MLIRContext *context = block->getParentOp()->getContext();
  for (auto [root, interval] : llvm::zip(roots, intervals))
    addresses[root] = AddressAttr::get(context, areaStart + interval.offset, 0, 1);
  for (auto &[part, place] : joined) {
    AddressAttr joinedAddress = addresses.lookup(place.result);
    addresses[part] = AddressAttr::get(context, joinedAddress.getOffset() + place.offset,
                                       joinedAddress.getStride(), joinedAddress.getSlots());
  }
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
