// Work of the link streams, and what the queues must wait for.
#pragma once

#include "backends/dtu/codegen/emission/Accesses.h"
#include "backends/dtu/codegen/kernels/TileEmitter.h"

#include <deque>

namespace mlir::dtu {

/// Link work runs beside the queues, op by op in program order. The leader starts an op's and goes
/// on; it waits for it only where something needs what the op reads or writes.
class Links {
public:
  explicit Links(ProgramBuilder &builder) : builder(builder) {}

  /// What follows is the link work of an op that accesses this.
  void begin(ArrayRef<Access> accesses);

  /// Code that the send (receive) stream runs once the leader has come here.
  void transmit(llvm::function_ref<void(StreamBuilder &)> body);
  void receive(llvm::function_ref<void(StreamBuilder &)> body);
  /// For code that starts and ends in other ways: what the leader has to wait for grows by one.
  void expectTransmitted() { ++flights.back().transmits; }
  void expectReceived() { ++flights.back().receives; }

  /// The leader waits for the ops with which `accesses` clash, and those before them. Whether there
  /// were any.
  bool waitFor(ArrayRef<Access> accesses);
  /// The leader waits for all link work. Other queues know of it once they meet.
  void waitFor() { waitFor(flights.size()); }
  /// All queues meet, behind all link work.
  void synchronize() {
    waitFor();
    builder.barrierOfQueues();
  }

private:
  /// An op whose link work is under way, and how often the streams will say that they are done.
  struct Flight {
    OpenAccesses accesses;
    int64_t transmits = 0, receives = 0;
    /// Of an op without link work.
    bool isOver() const { return transmits == 0 && receives == 0; }
  };

  ProgramBuilder &builder;
  std::deque<Flight> flights;

  /// Waits for the first `count` ops under way.
  void waitFor(size_t count);
};

/// A strided piece of a tensor in memory. All in bytes but the sizes.
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
