#include "backends/dtu/codegen/collectives/Links.h"

using namespace mlir;
using namespace mlir::dtu;

void Links::begin(ArrayRef<Access> accesses) { flights.emplace_back().accesses.insert(accesses); }

void Links::transmit(llvm::function_ref<void(StreamBuilder &)> body) {
  builder.leader([&] { builder.dte.signal(builder.leaderSemaphore(Sem::TxGo)); });
  builder.tx.wait(builder.leaderSemaphore(Sem::TxGo));
  StreamBuilder::Scope scope(builder.tx);
  body(builder.tx);
  builder.tx.signal(builder.leaderSemaphore(Sem::TxDone));
  expectTransmitted();
}

void Links::receive(llvm::function_ref<void(StreamBuilder &)> body) {
  builder.leader([&] { builder.dte.signal(builder.leaderSemaphore(Sem::RxGo)); });
  builder.rx.wait(builder.leaderSemaphore(Sem::RxGo));
  StreamBuilder::Scope scope(builder.rx);
  body(builder.rx);
  builder.rx.signal(builder.leaderSemaphore(Sem::RxDone));
  expectReceived();
}

bool Links::waitFor(ArrayRef<Access> accesses) {
  size_t count = flights.size();
  while (count > 0 && (flights[count - 1].isOver() || !flights[count - 1].accesses.clash(accesses)))
    --count;
  waitFor(count);
  return count > 0;
}

void Links::waitFor(size_t count) {
  int64_t transmits = 0, receives = 0;
  for (; count > 0; --count, flights.pop_front()) {
    transmits += flights.front().transmits;
    receives += flights.front().receives;
  }
  if (transmits == 0 && receives == 0)
    return;
  // Each stream completes its ops in order, so the first signals belong to the first ops.
  builder.leader([&] {
    if (transmits > 0)
      builder.dte.wait(builder.leaderSemaphore(Sem::TxDone), transmits);
    if (receives > 0)
      builder.dte.wait(builder.leaderSemaphore(Sem::RxDone), receives);
  });
}

hw::View mlir::dtu::viewOf(const Piece &piece, hw::Space space) {
  hw::View view;
  view.address.space = space;
  view.address.offset = piece.offset.toAffine();
  view.strides.assign(piece.strides.begin(), piece.strides.end());
  return view;
}

void mlir::dtu::emitSend(StreamBuilder &tx, const Expr &peer, const Piece &piece, int64_t channel) {
  hw::Send send;
  send.peer = tx.toRegister(peer);
  send.src = viewOf(piece);
  send.sizes.assign(piece.sizes.begin(), piece.sizes.end());
  send.type = piece.type;
  send.channel = channel;
  tx.emit(std::move(send));
}

void mlir::dtu::emitRecv(StreamBuilder &rx, const Expr &peer, const Piece &piece, int64_t channel,
                         hw::Reduce reduce, hw::Space space) {
  hw::Recv recv;
  recv.peer = rx.toRegister(peer);
  recv.dst = viewOf(piece, space);
  recv.sizes.assign(piece.sizes.begin(), piece.sizes.end());
  recv.type = piece.type;
  recv.channel = channel;
  recv.reduce = reduce;
  rx.emit(std::move(recv));
}
