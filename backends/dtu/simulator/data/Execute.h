// Runs single instructions on data. Each checks every byte it will touch before
// it touches one; a fault is text in the context and a false result.
#pragma once

#include "backends/dtu/simulator/Decoded.h"
#include "backends/dtu/simulator/Simulator.h"
#include "backends/dtu/simulator/data/DeferredCopies.h"
#include "backends/dtu/simulator/data/HostMatmul.h"
#include "backends/dtu/simulator/data/PackedTiles.h"
#include "backends/dtu/simulator/data/RecentPages.h"

#include <string>

namespace st::dtu {

/// Memories of one cluster while it runs a program, cut to what the program declares.
struct ClusterMemory {
  uint8_t *l1 = nullptr, *l2 = nullptr, *l3 = nullptr, *host = nullptr;
  int64_t coreStride = 0; ///< bytes between the L1s of two cores
  int64_t cores = 0;
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0, hostBytes = 0;
};

/// What an instruction does with the bytes it resolves.
enum class Access : uint8_t {
  Read,
  Write,     ///< some of them, or reads them too
  Overwrite, ///< writes each of them
};

/// What an instruction runs in: one stream instance of one cluster.
struct ExecContext {
  ClusterMemory memory;
  const int64_t *registers = nullptr;
  int64_t ownCore = -1; ///< in a core stream; else an L1 address names its core
  const HostKernels *kernels = nullptr;
  const HostMatmul *matmul = nullptr;
  TaskWork *work = nullptr; ///< counts what is done
  DeferredCopies deferred;
  PackedTiles packed;
  RecentPages recent;
  std::string fault;

  /// Where `address` lies, if bytes low .. high-1 from it are inside; null and a fault otherwise.
  /// `core` shifts the core an L1 address names; `l1Core`, if given, gets the one it comes to.
  /// What was put off of these bytes is done.
  uint8_t *resolve(const char *what, const FlatAddress &address, int64_t low, int64_t high,
                   Access access, int64_t core = 0, int64_t *l1Core = nullptr);
  /// Rows to be read, `stride` bytes apart, at `address` or where they have yet to be copied from,
  /// in the form that is wanted. Null data and a fault if they are not inside.
  RowsView resolveRows(const char *what, const FlatAddress &address, RowsView rows,
                       DeferredCopies::Found wanted);
  bool fail(std::string text);
  /// Counts bytes read or written at `address`; `isWrite`: of the host, which way they go.
  void count(const FlatAddress &address, int64_t bytes, bool isWrite);

private:
  /// resolve() without regard to what was put off; the core of an L1 in `l1Core`.
  uint8_t *locate(const char *what, const FlatAddress &address, int64_t low, int64_t high,
                  int64_t core, int64_t &l1Core);
};

bool execute(const CopyInst &copy, ExecContext &context);
bool execute(const FillInst &fill, ExecContext &context);
bool executeGather(const RowsInst &gather, ExecContext &context);
bool executeScatter(const RowsInst &scatter, ExecContext &context);
/// The integer that a load reads.
bool executeLoad(const LoadInst &load, ExecContext &context, int64_t &value);
bool execute(const MatmulInst &matmul, ExecContext &context);
bool execute(const VectorInst &vector, ExecContext &context);
/// `count` instructions of a run (VectorRuns.h), a strip at a time; on a fault, `at` is the
/// instruction that has it.
bool executeRun(const DecodedProgram &program, const Slot *slots, unsigned count,
                ExecContext &context, unsigned &at);

/// Bytes of the message a link instruction sends or expects.
int64_t messageBytes(const LinkInst &link, const int64_t *registers);
/// Packs what a send reads into `message`.
bool executeSend(const LinkInst &send, ExecContext &context, uint8_t *message);
/// Writes or combines a message of messageBytes().
bool executeReceive(const LinkInst &receive, ExecContext &context, const uint8_t *message);

} // namespace st::dtu
