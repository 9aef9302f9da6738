#include "passes/Memory/Capacity.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/OffloadableStashes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace mlir::st;

namespace {
/// The arenas of one device, and the program with the largest part.
struct DeviceLoad {
  int64_t bytes = 0, ranks = 0, hostBytes = 0;
  ProgramOp largest;
};
} // namespace

static int64_t hostBytes(ProgramOp program) {
  auto bytes = program->getAttrOfType<IntegerAttr>(kHostArenaBytesAttr);
  return bytes ? bytes.getInt() : 0;
}

static int64_t arenaBytes(ProgramOp program) {
  return program->getAttrOfType<IntegerAttr>(kArenaBytesAttr).getInt();
}

/// Rows of a micro-batch on a device: the smallest over its inputs; 1 if it has none.
static int64_t rowsOf(ProgramOp program) {
  int64_t rows = 0;
  for (auto input : program.getOps<InputOp>())
    if (input.isPerMicroBatch()) {
      auto type = cast<RankedTensorType>(input.getLocalType());
      int64_t size = type.getDimSize(static_cast<int64_t>(input.getMicroDim()));
      rows = rows == 0 ? size : std::min(rows, size);
    }
  return std::max<int64_t>(rows, 1);
}

/// The bytes by which stashes shrink with `factor` times as many, correspondingly smaller
/// micro-batches. A group that already holds all micro-batches would hold more of them, up to one
/// per remaining stage.
static int64_t savedByMicroBatches(ProgramOp program, int64_t stagesLeft, int64_t micro,
                                   int64_t factor) {
  int64_t saved = 0;
  for (auto buffer : program.getOps<BufferOp>()) {
    if (buffer.getKind() != "stash" || buffer.isOnHost())
      continue;
    int64_t slots = buffer.getSlots(), later = slots;
    if (slots >= micro)
      later = std::clamp(stagesLeft, slots, micro * factor);
    int64_t bytes = getNumBytes(buffer.getType());
    saved += slots * bytes - later * llvm::divideCeil(bytes, factor);
  }
  return saved;
}

/// The bytes saved if replicas shard the optimizer state that each now replicates.
static int64_t savedByZero(ProgramOp program, int64_t replicas) {
  int64_t saved = 0;
  for (auto state : program.getOps<StateOp>())
    if (state.getRole() != "parameter" && !state.getSharding().usesAxis("data") &&
        !state.getSharding().usesAxis("context")) {
      int64_t bytes = getNumBytes(state.getLocalType());
      saved += bytes - llvm::divideCeil(bytes, replicas);
    }
  return saved;
}

/// The bytes that a recomputation policy saves of the stashes of all micro-batches in flight, minus
/// what one block takes while it is recomputed; 0 if not recorded.
static int64_t savedByRecomputing(ProgramOp program, StringRef policy) {
  llvm::StringMap<int64_t> slots;
  for (auto buffer : program.getOps<BufferOp>())
    if (buffer.getKind() == "stash" && !buffer.isOnHost())
      slots[buffer.getSymName()] = static_cast<int64_t>(buffer.getSlots());
  int64_t saved = 0, largest = 0;
  for (auto task : program.getOps<TaskOp>()) {
    auto savings = task->getAttrOfType<DictionaryAttr>(kRecomputeSavesAttr);
    auto own = savings ? savings.getAs<DenseI64ArrayAttr>(policy) : DenseI64ArrayAttr();
    if (!own)
      continue;
    int64_t inFlight = 0;
    for (auto write : task.getBody().front().getOps<WriteOp>())
      inFlight = std::max(inFlight, slots.lookup(write.getTarget()));
    saved += inFlight * own[0];
    largest = std::max(largest, own[1]);
  }
  return std::max<int64_t>(saved - largest, 0);
}

/// Bytes that offloading frees on the device: all offloadable stashes minus the largest one, which
/// is read back.
static int64_t savedByOffload(ProgramOp program) {
  int64_t saved = 0, largest = 0;
  for (BufferOp buffer : findOffloadable(program))
    if (!buffer.isOnHost()) {
      int64_t bytes = getNumBytes(buffer.getType());
      saved += static_cast<int64_t>(buffer.getSlots()) * bytes;
      largest = std::max(largest, bytes);
    }
  return std::max<int64_t>(saved - largest, 0);
}

/// The first change that frees enough memory, in order of cost in time: smaller micro-batches (a
/// longer schedule), sharded optimizer state (a gather), recomputation (a few percent of a step, or
/// a forward pass), offloading (the host link), more devices.
static std::string cheapestChange(ModuleOp module, const DeviceLoad &load, TargetAttr target) {
  const int64_t memoryBytes = target.getMemoryBytes();
  ProgramOp program = load.largest;
  MeshOp mesh = getMesh(module);
  const int64_t excess = llvm::divideCeil(load.bytes - memoryBytes, load.ranks);
  const int64_t micro = mesh.getMicro(), rows = rowsOf(program);
  int64_t stages = 0, stagesBefore = 0;
  for (auto other : module.getOps<ProgramOp>()) {
    stagesBefore += other == program ? 0 : other->isBeforeInBlock(program);
    ++stages;
  }
  for (int64_t factor = 2; factor <= rows; ++factor)
    if (rows % factor == 0 &&
        savedByMicroBatches(program, stages - stagesBefore, micro, factor) >= excess)
      return llvm::formatv("{0} micro-batches (accum_degree) of {1} rows per device fit",
                           micro * factor, rows / factor);
  const int64_t replicas =
      mesh.getAxisSize("data").value_or(1) * mesh.getAxisSize("context").value_or(1);
  if (replicas > 1 && savedByZero(program, replicas) >= excess)
    return "\"zero\": 1 in the parallel file frees enough";
  for (StringRef policy : {"selective", "full"})
    if (int64_t saved = savedByRecomputing(program, policy); saved >= excess)
      return llvm::formatv(
          "\"recompute\": \"{0}\" in the parallel file frees about {1} bytes, which "
          "is enough",
          policy, saved);
  if (int64_t saved = savedByOffload(program); target.getHostBytes() > 0 && saved >= excess)
    return llvm::formatv(
        "\"offload\": true in the parallel file moves about {0} bytes to the host, which "
        "is enough",
        saved);
  return llvm::formatv("it needs {0} times as many shards (sharding_size) or stages (stage_cnt)",
                       llvm::divideCeil(load.bytes, memoryBytes));
}

static std::string listClasses(ProgramOp program) {
  std::string text;
  for (NamedAttribute entry : program->getAttrOfType<DictionaryAttr>(kMemoryAttr))
    text += llvm::formatv("{0}{1} {2}", text.empty() ? "" : ", ", entry.getName().strref(),
                          cast<IntegerAttr>(entry.getValue()).getInt());
  return text;
}

LogicalResult mlir::st::checkCapacity(ModuleOp module, TargetAttr target) {
  const int64_t memoryBytes = target.getMemoryBytes();
  std::map<int64_t, DeviceLoad> devices;
  for (auto program : module.getOps<ProgramOp>())
    for (int64_t device : program.getDevices()) {
      DeviceLoad &load = devices[device];
      load.bytes += arenaBytes(program);
      load.hostBytes += hostBytes(program);
      ++load.ranks;
      if (!load.largest || arenaBytes(program) > arenaBytes(load.largest))
        load.largest = program;
    }
  for (auto &[device, load] : devices)
    if (load.bytes > memoryBytes)
      return load.largest.emitError()
             << "device group " << load.largest.getSymName() << ": device " << device << " needs "
             << load.bytes << " bytes"
             << (load.ranks > 1 ? llvm::formatv(" for its {0} ranks", load.ranks).str() : "")
             << " and has " << memoryBytes << " (a rank: " << listClasses(load.largest) << "); "
             << cheapestChange(module, load, target);
  for (auto &[device, load] : devices)
    if (load.hostBytes > target.getHostBytes())
      return load.largest.emitError()
             << "device group " << load.largest.getSymName() << ": device " << device
             << " offloads " << load.hostBytes << " bytes, but its host memory holds "
             << target.getHostBytes()
             << "; a larger {\"bytes\": n} of offload in the parallel file keeps more on the "
                "device";
  return success();
}
