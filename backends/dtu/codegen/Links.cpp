#include "backends/dtu/codegen/Links.h"

using namespace mlir;
using namespace mlir::dtu;

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

void Links::settle() {
  if (pendingTransmits == 0 && pendingReceives == 0)
    return;
  builder.leader([&] {
    if (pendingTransmits > 0)
      builder.dte.wait(builder.leaderSemaphore(Sem::TxDone), pendingTransmits);
    if (pendingReceives > 0)
      builder.dte.wait(builder.leaderSemaphore(Sem::RxDone), pendingReceives);
  });
  pendingTransmits = pendingReceives = 0;
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
