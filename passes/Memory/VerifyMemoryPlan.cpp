#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/Passes.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::st {
#define GEN_PASS_DEF_VERIFYMEMORYPLAN
#include "passes/Memory/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct VerifyMemoryPlan : mlir::st::impl::VerifyMemoryPlanBase<VerifyMemoryPlan> {
  void runOnOperation() override;
};

/// The bytes of a value, over all its slots.
struct Extent {
  int64_t begin = 0, end = 0;

  Extent() = default;
  Extent(AddressAttr address, Type type)
      : begin(address.getOffset()),
        end(begin + (address.getSlots() - 1) * address.getStride() + getNumBytes(type)) {}
  bool overlaps(const Extent &other) const { return begin < other.end && other.begin < end; }
};

/// A value in memory that ops up to `lastUse` read.
struct Content {
  Value value;
  AddressAttr address;
  Extent extent;
  int64_t lastUse = 0;
};

/// Returns true if two values of a task share bytes. All values of one micro-batch are in one slot.
static bool overlap(const Content &a, const Content &b) {
  if (a.address.getSlots() != b.address.getSlots() ||
      a.address.getStride() != b.address.getStride())
    return a.extent.overlaps(b.extent);
  int64_t bytesA = getNumBytes(a.value.getType()), bytesB = getNumBytes(b.value.getType());
  return a.address.getOffset() < b.address.getOffset() + bytesB &&
         b.address.getOffset() < a.address.getOffset() + bytesA;
}

struct StoragePlace {
  Operation *op = nullptr;
  AddressAttr address;
  Extent extent;

  bool isOnHost() const {
    auto buffer = dyn_cast_or_null<BufferOp>(op);
    return buffer && buffer.isOnHost();
  }
};

class ProgramChecker {
public:
  ProgramChecker(ProgramOp program, int64_t microBatches)
      : program(program), microBatches(microBatches) {}
  LogicalResult check();

private:
  LogicalResult addStorage(Operation *op, StringRef symbol, AddressAttr address, Type type,
                           int64_t copies);
  LogicalResult checkStorage();
  LogicalResult checkDisjoint(MutableArrayRef<StoragePlace> places, int64_t bytes);
  LogicalResult checkTask(Block &block);
  LogicalResult checkResults(Operation &op, int64_t index);
  LogicalResult checkAgainstStorage(OpResult result, const Content &content);
  LogicalResult checkWrite(WriteOp write, int64_t index);

  ProgramOp program;
  int64_t microBatches;
  int64_t arenaBytes = 0, hostBytes = 0;
  llvm::StringMap<StoragePlace> storage;
  SmallVector<StoragePlace> sortedStorage, onHost; ///< the former on the device
  // The current task:
  DenseMap<Value, int64_t> lastUse;
  SmallVector<Content> contents;
};
} // namespace

/// Returns true if a value is at its place in the result of the op that concatenates it.
static bool isInItsPart(Operation *op, Value value, AddressAttr address, AddressAttr result) {
  auto kernel = dyn_cast_or_null<KernelOp>(op);
  if (!kernel || address.getSlots() != result.getSlots() ||
      address.getStride() != result.getStride())
    return false;
  for (auto [input, offset] : llvm::zip(kernel.getInputs(), getJoinedOffsets(kernel)))
    if (getRoot(input) == value && address.getOffset() == result.getOffset() + offset)
      return true;
  return false;
}

static std::string print(const Extent &extent) {
  return ("[" + Twine(extent.begin) + ", " + Twine(extent.end) + ")").str();
}

LogicalResult ProgramChecker::addStorage(Operation *op, StringRef symbol, AddressAttr address,
                                         Type type, int64_t copies) {
  if (!address)
    return op->emitOpError("has no address; expected plan-memory to have run");
  if (address.getSlots() != copies)
    return op->emitOpError("has ") << address.getSlots() << " slots, expected " << copies;
  if (copies > 1 && address.getStride() < getNumBytes(type))
    return op->emitOpError("has slots ")
           << address.getStride() << " bytes apart for values of " << getNumBytes(type);
  storage[symbol] = {op, address, Extent(address, type)};
  (storage[symbol].isOnHost() ? onHost : sortedStorage).push_back(storage[symbol]);
  return success();
}

LogicalResult ProgramChecker::checkStorage() {
  for (Operation &op : program.getBody().front()) {
    auto added = success();
    if (auto state = dyn_cast<StateOp>(op))
      added = addStorage(&op, state.getSymName(), state.getAddressAttr(), state.getLocalType(), 1);
    else if (auto input = dyn_cast<InputOp>(op))
      added = addStorage(&op, input.getSymName(), input.getAddressAttr(), input.getLocalType(),
                         input.isPerMicroBatch() ? microBatches : 1);
    else if (auto output = dyn_cast<OutputOp>(op))
      added = addStorage(&op, output.getSymName(), output.getAddressAttr(), output.getLocalType(),
                         output.isPerMicroBatch() ? microBatches : 1);
    else if (auto buffer = dyn_cast<BufferOp>(op))
      added = addStorage(&op, buffer.getSymName(), buffer.getAddressAttr(), buffer.getType(),
                         buffer.getSlots());
    if (failed(added))
      return failure();
  }
  if (failed(checkDisjoint(sortedStorage, arenaBytes)))
    return failure();
  return checkDisjoint(onHost, hostBytes);
}

/// Sorts the storage of one arena and checks that it is in bounds and disjoint.
LogicalResult ProgramChecker::checkDisjoint(MutableArrayRef<StoragePlace> places, int64_t bytes) {
  llvm::sort(places, [](const StoragePlace &a, const StoragePlace &b) {
    return a.extent.begin < b.extent.begin;
  });
  for (size_t i = 0; i < places.size(); ++i) {
    const StoragePlace &place = places[i];
    if (place.extent.end > bytes)
      return place.op->emitOpError("is at ")
             << print(place.extent) << ", outside the arena of " << bytes << " bytes"
             << (place.isOnHost() ? " on the host" : "");
    if (i > 0 && places[i - 1].extent.overlaps(place.extent)) {
      InFlightDiagnostic diagnostic = place.op->emitOpError("at ")
                                      << print(place.extent) << " overlaps other storage";
      diagnostic.attachNote(places[i - 1].op->getLoc()) << "at " << print(places[i - 1].extent);
      return diagnostic;
    }
  }
  return success();
}

/// A value may be in storage only if it is written there.
LogicalResult ProgramChecker::checkAgainstStorage(OpResult result, const Content &content) {
  auto read = result.getDefiningOp<ReadOp>();
  if (read && !storage.lookup(read.getSource()).isOnHost()) {
    if (storage.lookup(read.getSource()).address != content.address)
      return withNote(read.emitOpError("has address ")
                          << content.address << ", expected that of @" << read.getSource(),
                      storage.lookup(read.getSource()).op, "the storage is here");
    return success();
  }
  if (auto loop = result.getDefiningOp<LoopOp>()) {
    auto buffer = cast<FlatSymbolRefAttr>(loop.getCarried()[result.getResultNumber()]);
    if (storage.lookup(buffer.getValue()).address != content.address)
      return withNote(loop.emitOpError("result ")
                          << result.getResultNumber() << " has address " << content.address
                          << ", expected that of " << buffer,
                      storage.lookup(buffer.getValue()).op, "the storage is here");
    return success();
  }
  // A captured value may be one that the task has read.
  if (result.getDefiningOp<CaptureOp>())
    return success();
  auto *place = llvm::partition_point(sortedStorage, [&](const StoragePlace &other) {
    return other.extent.end <= content.extent.begin;
  });
  if (place == sortedStorage.end() || !place->extent.overlaps(content.extent))
    return success();
  auto isWrittenThere = [&](Value value, AddressAttr address, auto &&self) -> bool {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (isa<stablehlo::ReshapeOp>(user))
        return self(user->getResult(0), address, self);
      if (isInItsPart(user, getRoot(value), address, place->address))
        return self(user->getResult(0), place->address, self);
      auto write = dyn_cast<WriteOp>(user);
      return write && !write.getAccumulate() && address == place->address &&
             storage.lookup(write.getTarget()).op == place->op;
    });
  };
  if (isWrittenThere(result, content.address, isWrittenThere))
    return success();
  InFlightDiagnostic diagnostic = result.getOwner()->emitOpError("result ")
                                  << result.getResultNumber() << " at " << print(content.extent)
                                  << " is in storage that no write of this value targets";
  diagnostic.attachNote(place->op->getLoc()) << "at " << print(place->extent);
  return diagnostic;
}

LogicalResult ProgramChecker::checkResults(Operation &op, int64_t index) {
  auto addresses = op.getAttrOfType<ArrayAttr>(kAddressesAttr);
  if (!addresses || addresses.size() != op.getNumResults())
    return op.emitOpError("expects st.addresses to have one address per result");
  for (auto [result, attribute] : llvm::zip_equal(op.getResults(), addresses)) {
    auto address = dyn_cast<AddressAttr>(attribute);
    if (!address)
      return op.emitOpError("expects st.addresses to have one address per result");
    Content content{result, address, Extent(address, result.getType()), lastUse.lookup(result)};
    if (content.extent.end > arenaBytes)
      return op.emitOpError("result ")
             << result.getResultNumber() << " is at " << print(content.extent)
             << ", outside the arena of " << arenaBytes << " bytes";
    if (getRoot(result) != result)
      continue;
    if (failed(checkAgainstStorage(result, content)))
      return failure();
    // A read of host memory writes its copy, like any op.
    auto read = dyn_cast<ReadOp>(op);
    bool isThere = read ? !storage.lookup(read.getSource()).isOnHost()
                        : isa<CaptureOp, stablehlo::ConstantOp>(op);
    if (!isThere)
      for (const Content &other : contents) {
        bool needed = other.lastUse > index || other.value.getDefiningOp() == &op ||
                      (other.lastUse == index &&
                       !(other.address == address && readsInPlace(&op, other.value, result)));
        if (!needed || !overlap(other, content) ||
            isInItsPart(&op, other.value, other.address, address))
          continue;
        InFlightDiagnostic diagnostic = op.emitOpError("result ")
                                        << result.getResultNumber() << " at "
                                        << print(content.extent) << " overwrites a value at "
                                        << print(other.extent) << " that is still needed";
        diagnostic.attachNote(other.value.getLoc()) << "that value is defined here";
        return diagnostic;
      }
    contents.push_back(content);
  }
  return success();
}

LogicalResult ProgramChecker::checkWrite(WriteOp write, int64_t index) {
  const StoragePlace place = storage.lookup(write.getTarget());
  if (place.isOnHost())
    return success();
  Value written = getRoot(write.getValue());
  for (const Content &other : contents)
    if (other.value != written && other.lastUse > index && other.extent.overlaps(place.extent) &&
        !isInItsPart(written.getDefiningOp(), other.value, other.address, place.address)) {
      InFlightDiagnostic diagnostic = write.emitOpError("overwrites a value at ")
                                      << print(other.extent) << " that is still needed";
      diagnostic.attachNote(other.value.getLoc()) << "that value is defined here";
      return diagnostic;
    }
  return success();
}

LogicalResult ProgramChecker::checkTask(Block &block) {
  for (auto loop : block.getOps<LoopOp>())
    if (failed(checkTask(loop.getBody().front())))
      return failure();
  lastUse.clear();
  contents.clear();
  for (auto [index, op] : llvm::enumerate(block))
    for (Value operand : op.getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        lastUse[getRoot(operand)] = index;
  int64_t index = -1;
  for (Operation &op : block) {
    ++index;
    llvm::erase_if(contents, [&](const Content &content) { return content.lastUse < index; });
    if (op.getNumResults() > 0 && failed(checkResults(op, index)))
      return failure();
    if (auto write = dyn_cast<WriteOp>(op); write && failed(checkWrite(write, index)))
      return failure();
  }
  return success();
}

LogicalResult ProgramChecker::check() {
  auto bytes = program->getAttrOfType<IntegerAttr>(kArenaBytesAttr);
  if (!bytes)
    return program.emitOpError("has no st.arena_bytes; expected plan-memory to have run");
  arenaBytes = bytes.getInt();
  if (auto onHost = program->getAttrOfType<IntegerAttr>(kHostArenaBytesAttr))
    hostBytes = onHost.getInt();
  if (failed(checkStorage()))
    return failure();
  for (auto task : program.getOps<TaskOp>())
    if (failed(checkTask(task.getBody().front())))
      return failure();
  return success();
}

static constexpr FactContract kContract = {{Fact::Programs}, {Fact::DeviceCode}};

void VerifyMemoryPlan::runOnOperation() {
  if (failed(checkFacts(getOperation(), getArgument(), kContract)))
    return signalPassFailure();
  MeshOp mesh = getMesh(getOperation());
  for (auto program : getOperation().getOps<ProgramOp>())
    if (failed(ProgramChecker(program, mesh ? mesh.getMicro() : 1).check()))
      return signalPassFailure();
  markAllAnalysesPreserved();
}
