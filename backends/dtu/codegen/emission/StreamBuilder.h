// Writes instruction streams. A StreamBuilder is one stream under construction;
// a ProgramBuilder holds the streams of a task and their shared state.
#pragma once

#include "backends/dtu/codegen/emission/Expr.h"
#include "backends/dtu/codegen/emission/Machine.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::dtu {

class StreamBuilder {
public:
  StreamBuilder(hw::Engine engine, int64_t count, int64_t first = 0) {
    stream.engine = engine;
    stream.first = first;
    stream.count = count;
  }

  template <typename Instruction> void emit(Instruction instruction) {
    stream.instructions.push_back(std::move(instruction));
  }

  /// Frees the registers taken during its lifetime.
  class Scope {
  public:
    explicit Scope(StreamBuilder &builder) : builder(builder), first(builder.nextRegister) {}
    ~Scope() { builder.nextRegister = first; }

  private:
    StreamBuilder &builder;
    uint8_t first;
  };

  /// for (i = start; i < limit; i += step) body(i). A loop that is known to run once is emitted
  /// without loop instructions.
  void loop(const Expr &start, const Expr &limit, int64_t step,
            llvm::function_ref<void(Expr)> body);
  /// body(value) if value < limit.
  void when(const Expr &value, const Expr &limit, llvm::function_ref<void(Expr)> body);

  /// ((value / divide) % modulo) * multiply; modulo 0 means none. Emits an instruction only if
  /// needed.
  Expr index(const Expr &value, int64_t divide, int64_t modulo = 0, int64_t multiply = 1);
  /// The value in at most one register, for fields that do not take an expression.
  Expr materialize(const Expr &value);
  /// The value, but at least `least` and at most `most`, in a register.
  Expr clamp(const Expr &value, const Expr &least, const Expr &most);
  /// clamp(value, 0, most) / divide, in one register.
  Expr clampedQuotient(const Expr &value, int64_t most, int64_t divide);
  /// A counter that starts at 0 in this stream; `count` adds 1 to it.
  Expr counter();
  void count(const Expr &counter);
  /// An equal expression with few terms, so that more terms can be added.
  Expr compact(const Expr &value) { return value.getNumTerms() > 2 ? materialize(value) : value; }
  Expr table(const Expr &entry);
  /// The integer at an address; a core reads its own L1.
  Expr load(hw::Address address, hw::DType type);
  /// Leaves the innermost loop if `value` is 0.
  void leaveUnless(const Expr &value);
  /// The register that holds `value`, for fields that name one.
  uint8_t toRegister(const Expr &value);

  /// The extent of a tile at `position`: `tile`, or less at `limit`. `exact`: tiles never extend
  /// past the limit.
  hw::Extent extent(int64_t tile, const Expr &position, int64_t limit, bool exact);

  void wait(const Expr &semaphore, int64_t count = 1);
  void signal(const Expr &semaphore, int64_t count = 1);
  void barrier(int64_t id, int64_t participants);

  /// Following instructions appear under this name in traces.
  void label(llvm::StringRef name);

  bool empty() const { return stream.instructions.empty(); }
  hw::Stream take() { return std::move(stream); }
  /// False if the code needed more registers than there are.
  bool registersSufficed() const { return !outOfRegisters; }

private:
  hw::Stream stream;
  uint8_t nextRegister = hw::kFirstFree;
  bool outOfRegisters = false;

  uint8_t takeRegister();
};

/// Semaphores of the workers, one set per worker. All are 0 when a kernel begins.
enum class Sem : int64_t {
  Start,
  Full,
  Done,
  Empty,
  Free,
  Epilogue,
  TxGo,
  TxStep,
  TxDone,
  RxGo,
  RxLoaded,
  RxStep,
  RxDone,
  LoadGo,
  Produced,
  Count
};

/// Semaphores of the host-memory queue.
enum class HostSem : int64_t { Go, Done, Count };

/// One task's program under construction. Worker w is core w with DTE queue w.
class ProgramBuilder {
public:
  ProgramBuilder(llvm::StringRef name, const Machine &machine);

  const Machine &machine;
  /// `loader` is a DTE queue in addition to the workers' queues, for copies that link work waits
  /// for; only if `hasLoader`. `host` is a queue for copies to and from the host's memory; only if
  /// `hasHostQueue`.
  StreamBuilder core, dte, tx, rx, loader, host;

  int64_t workers() const { return machine.workers; }
  bool hasLoader() const { return machine.dteQueues > machine.workers; }
  bool hasHostQueue() const { return machine.dteQueues > machine.workers + 1; }
  /// The semaphore of the executing worker.
  Expr semaphore(Sem sem) const { return Expr::instance() + semaphoreBase(sem); }
  /// The semaphore of worker 0, the leader, which alone synchronises with the link streams.
  Expr leaderSemaphore(Sem sem) const { return Expr(semaphoreBase(sem)); }
  Expr hostSemaphore(HostSem sem) const {
    return Expr(semaphoreBase(Sem::Count) + static_cast<int64_t>(sem));
  }
  /// Emits code of the leader's queue.
  void leader(llvm::function_ref<void()> body) {
    dte.when(Expr::instance(), 1, [&](Expr) { body(); });
  }
  /// A core may write L1 for a kernel only after its queue has stored the results of earlier
  /// kernels.
  void startKernel() {
    dte.signal(semaphore(Sem::Start));
    core.wait(semaphore(Sem::Start));
  }
  /// Synchronises all DTE queues: stores before it are visible to loads after it.
  void barrierOfQueues() { dte.barrier(0, workers()); }

  void useL1(int64_t bytes) { program.l1Bytes = std::max(program.l1Bytes, bytes); }
  void useL2(int64_t bytes) { program.l2Bytes = std::max(program.l2Bytes, bytes); }
  void useL3(int64_t bytes) { program.l3Bytes = std::max(program.l3Bytes, bytes); }
  void useHost(int64_t bytes) { program.hostBytes = std::max(program.hostBytes, bytes); }
  void useTable(int64_t entries) { program.tableSize = std::max(program.tableSize, entries); }

  void label(llvm::StringRef name);
  bool registersSufficed() const;
  hw::Program take();

private:
  hw::Program program;

  int64_t semaphoreBase(Sem sem) const { return static_cast<int64_t>(sem) * workers(); }
};

} // namespace mlir::dtu
