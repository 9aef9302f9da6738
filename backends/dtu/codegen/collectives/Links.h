// Emits the work of the link streams, and the waits of queues for it.
#pragma once

#include "backends/dtu/codegen/emission/Accesses.h"
#include "backends/dtu/codegen/kernels/TileEmitter.h"

#include <deque>

namespace mlir::dtu {

/// Link work runs concurrently with the queues, op by op in program order. The leader starts an
/// op's link work and continues. It waits only where another op needs what that op reads or writes.
class Links {
public:
  explicit Links(ProgramBuilder &builder) : builder(builder) {}

  /// Begins the link work of an op with these accesses.
  void begin(ArrayRef<Access> accesses);

  /// Code that the send (receive) stream runs once the leader has reached this point.
  void transmit(llvm::function_ref<void(StreamBuilder &)> body);
  void receive(llvm::function_ref<void(StreamBuilder &)> body);
  /// For code that signals its completion itself: the leader must wait for one more signal.
  void expectTransmitted() { ++flights.back().transmits; }
  void expectReceived() { ++flights.back().receives; }

  /// Makes the leader wait for ops that conflict with `accesses`, and for those before them.
  /// Returns true if there were any.
  bool waitFor(ArrayRef<Access> accesses);
  /// Makes the leader wait for all link work. Other queues observe its completion when they next
  /// synchronise.
  void waitFor() { waitFor(flights.size()); }
  /// Synchronises all queues after all link work.
  void synchronize() {
    waitFor();
    builder.barrierOfQueues();
  }

private:
  /// An op whose link work is in progress, and how often the streams will signal its completion.
  struct Flight {
    OpenAccesses accesses;
    int64_t transmits = 0, receives = 0;
    /// True for an op without link work.
    bool isOver() const { return transmits == 0 && receives == 0; }
  };

  ProgramBuilder &builder;
  std::deque<Flight> flights;

  /// Waits for the first `count` ops in progress.
  void waitFor(size_t count);
};

/// A strided piece of a tensor in memory. All fields except sizes are in bytes.
struct Piece {
  Expr offset;
  SmallVector<hw::Extent, 4> sizes;
  SmallVector<int64_t, 4> strides;
  hw::DType type = hw::DType::F32;
};
hw::View viewOf(const Piece &piece, hw::Space space = hw::Space::L3);
void emitSend(StreamBuilder &tx, const Expr &peer, const Piece &piece, int64_t channel);
void emitRecv(StreamBuilder &rx, const Expr &peer, const Piece &piece, int64_t channel,
              hw::Reduce reduce = hw::Reduce::None, hw::Space space = hw::Space::L3);

} // namespace mlir::dtu
