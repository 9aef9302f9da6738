// Runs single instructions on data. Each instruction checks every byte that it will touch before it
// touches any. A fault is text in the context and a false result.
#pragma once

#include "backends/dtu/simulator/Decoded.h"
#include "backends/dtu/simulator/Simulator.h"
#include "backends/dtu/simulator/data/DeferredCopies.h"
#include "backends/dtu/simulator/data/HostMatmul.h"
#include "backends/dtu/simulator/data/PackedTiles.h"
#include "backends/dtu/simulator/data/RecentPages.h"

#include <string>

namespace st::dtu {

/// Memories of one cluster while it runs a program, sized as the program declares.
struct ClusterMemory {
  uint8_t *l1 = nullptr, *l2 = nullptr, *l3 = nullptr, *host = nullptr;
  int64_t coreStride = 0; ///< bytes between the L1s of two cores
  int64_t cores = 0;
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0, hostBytes = 0;
};

/// The access of an instruction to the bytes that it resolves.
enum class Access : uint8_t {
  Read,
  Write,     ///< writes some of them, or reads them as well
  Overwrite, ///< writes every one of them
};

/// The context of an instruction: one stream instance of one cluster.
struct ExecContext {
  ClusterMemory memory;
  const int64_t *registers = nullptr;
  int64_t ownCore = -1; ///< for a core stream; in other streams an L1 address names its core
  const HostKernels *kernels = nullptr;
  const HostMatmul *matmul = nullptr;
  TaskWork *work = nullptr; ///< accumulates the work done
  DeferredCopies deferred;
  PackedTiles packed;
  RecentPages recent;
  std::string fault;

  /// Returns the host address of `address` if the bytes low .. high-1 relative to it are in bounds;
  /// null and a fault otherwise. `core` is added to the core an L1 address names; `l1Core`, if
  /// given, receives the result. Deferred copies of these bytes are carried out.
  uint8_t *resolve(const char *what, const FlatAddress &address, int64_t low, int64_t high,
                   Access access, int64_t core = 0, int64_t *l1Core = nullptr);
  /// Sets the data of rows to read, `stride` bytes apart, at `address` or at the source of a
  /// deferred copy, in the wanted form. False and a fault if they are out of bounds.
  bool resolveRows(const char *what, const FlatAddress &address, RowsView &rows,
                   DeferredCopies::Found wanted);
  bool fail(std::string text);
  /// Counts bytes read or written at `address`. For host memory, `isWrite` is the direction of the
  /// transfer.
  void count(const FlatAddress &address, int64_t bytes, bool isWrite);

private:
  /// resolve() without carrying out deferred copies; the core of an L1 address is stored in
  /// `l1Core`.
  uint8_t *locate(const char *what, const FlatAddress &address, int64_t low, int64_t high,
                  int64_t core, int64_t &l1Core);
  void failCore(const char *what, int64_t core);
  /// Bytes low .. high-1 relative to `offset` are outside a memory of `bytes` bytes, or misaligned.
  void failPlace(const char *what, const FlatAddress &address, int64_t offset, int64_t low,
                 int64_t high, int64_t bytes);
};

inline bool isOnChip(Space space) { return space == Space::L1 || space == Space::L2; }

inline uint8_t *ExecContext::locate(const char *what, const FlatAddress &address, int64_t low,
                                    int64_t high, int64_t core, int64_t &l1Core) {
  int64_t offset = address.offset(registers);
  int64_t bytes = memory.l3Bytes;
  uint8_t *base = memory.l3;
  if (address.space == Space::L1) {
    int64_t index = ownCore >= 0 ? ownCore : address.core(registers) + core;
    if (index < 0 || index >= memory.cores) {
      failCore(what, index);
      return nullptr;
    }
    l1Core = index;
    bytes = memory.l1Bytes;
    base = memory.l1 + index * memory.coreStride;
  } else if (address.space == Space::L2) {
    bytes = memory.l2Bytes;
    base = memory.l2;
  } else if (address.space == Space::Host) {
    bytes = memory.hostBytes;
    base = memory.host;
  }
  // low and high are within 2^62, so neither side overflows. Element sizes are 1, 2, 4 or 8 bytes,
  // so no division is needed.
  if (offset < -low || offset > bytes - high || offset & (address.alignment - 1)) {
    failPlace(what, address, offset, low, high, bytes);
    return nullptr;
  }
  return base + offset;
}

inline uint8_t *ExecContext::resolve(const char *what, const FlatAddress &address, int64_t low,
                                     int64_t high, Access access, int64_t core, int64_t *l1Core) {
  int64_t found = 0;
  uint8_t *data = locate(what, address, low, high, core, found);
  if (!data)
    return nullptr;
  if (l1Core)
    *l1Core = found;
  if (address.space != Space::L1 && access != Access::Read) {
    deferred.beforeSourceWrite(data + low, data + high);
    packed.beforeSourceWrite(data + low, data + high);
  }
  if (!isOnChip(address.space))
    return data;
  const int64_t place = address.space == Space::L1 ? found : memory.cores;
  if (access == Access::Read)
    deferred.beforeRead(place, data + low, data + high);
  else
    deferred.beforeWrite(place, data + low, data + high, access == Access::Overwrite);
  return data;
}

inline bool ExecContext::resolveRows(const char *what, const FlatAddress &address, RowsView &rows,
                                     DeferredCopies::Found wanted) {
  int64_t core = 0;
  const int64_t bytes = (rows.rows - 1) * rows.stride + rows.rowBytes;
  rows.data = locate(what, address, 0, bytes, 0, core);
  if (!rows.data)
    return false;
  if (isOnChip(address.space))
    deferred.find(address.space == Space::L1 ? core : memory.cores, rows, wanted);
  return true;
}

bool execute(const CopyInst &copy, ExecContext &context);
bool execute(const FillInst &fill, ExecContext &context);
bool executeGather(const RowsInst &gather, ExecContext &context);
bool executeScatter(const RowsInst &scatter, ExecContext &context);
/// Stores the integer that a load reads in `value`.
bool executeLoad(const LoadInst &load, ExecContext &context, int64_t &value);
bool execute(const MatmulInst &matmul, ExecContext &context);
bool execute(const VectorInst &vector, ExecContext &context);
/// Runs `count` instructions of a run (VectorRuns.h), one strip at a time. On a fault, `at` is the
/// faulting instruction.
bool executeRun(const DecodedProgram &program, const Slot *slots, unsigned count,
                ExecContext &context, unsigned &at);

/// Bytes of the message a link instruction sends or expects.
int64_t messageBytes(const LinkInst &link, const int64_t *registers);
/// Packs the source of a send into `message`.
bool executeSend(const LinkInst &send, ExecContext &context, uint8_t *message);
/// Writes or combines a message of messageBytes().
bool executeReceive(const LinkInst &receive, ExecContext &context, const uint8_t *message);

} // namespace st::dtu
