// Work of the link streams, and what the queues must wait for.
#pragma once

#include "backends/dtu/codegen/TileEmitter.h"

namespace mlir::dtu {

/// Link work runs beside the queues: the leader starts it and waits for it when the queues meet
/// next.
class Links {
public:
  explicit Links(ProgramBuilder &builder) : builder(builder) {}

  /// Code that the send (receive) stream runs once everything before is done.
  void transmit(llvm::function_ref<void(StreamBuilder &)> body);
  void receive(llvm::function_ref<void(StreamBuilder &)> body);
  /// For code that starts and ends in other ways: what the leader has to wait for grows by one.
  void expectTransmitted() { ++pendingTransmits; }
  void expectReceived() { ++pendingReceives; }

  /// The leader waits for all link work.
  void settle();
  /// All queues meet, behind all link work.
  void synchronize() {
    settle();
    builder.barrierOfQueues();
  }

private:
  ProgramBuilder &builder;
  int64_t pendingTransmits = 0, pendingReceives = 0;
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
