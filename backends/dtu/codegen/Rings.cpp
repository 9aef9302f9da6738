// All-reduce, all-gather and reduce-scatter as rings of the members.
#include "backends/dtu/codegen/Collectives.h"
#include "backends/dtu/codegen/CopyJob.h"
#include "backends/dtu/codegen/Pieces.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;

// ---- pieces -----------------------------------------------------------------------------------

void CollectiveEmitter::choosePieces(Operation *op, MutableArrayRef<Tensor> tensors) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  int64_t size = table.getSize(axes);
  ::st::DtuRingSteps ring;
  auto partBytes = [&](const Tensor &t) {
    return isa<st::AllGatherOp>(op) ? t.bytes() : llvm::divideCeil(t.bytes(), size);
  };
  for (const Tensor &t : tensors)
    ring.bytes += partBytes(t);
  ring.steps = isa<st::AllReduceOp>(op) ? 2 * (size - 1) : size - 1;
  // A receive that reduces reads as well: in an all-reduce half of them do. The own part of a
  // reduce-scatter is copied to where it is received onto.
  if (isa<st::AllReduceOp>(op))
    ring.written = 1.5;
  if (isa<st::ReduceScatterOp>(op))
    ring.written = ring.loaded = 2;
  auto [hop, isNew] = hops.try_emplace(axes);
  if (isNew)
    hop->second = rings.hopOf(table.getRing(axes));
  int64_t bytes = llvm::divideCeil(ring.bytes, rings.piecesOf(hop->second, ring));
  for (Tensor &t : tensors)
    t.pieces = std::max<int64_t>(1, (partBytes(t) + bytes / 2) / std::max<int64_t>(1, bytes));
}

/// Calls `body` for each piece of each tensor's part.
template <typename Tensors, typename Body>
static void forEachPiece(StreamBuilder &stream, const Tensors &tensors, Body body) {
  forEach(stream, tensors, [&](const auto &tensor) {
    stream.loop(0, tensor.pieces, 1, [&](const Expr &piece) { body(tensor, piece); });
  });
}

// ---- all-reduce -------------------------------------------------------------------------------

/// 2 (n - 1) steps on n chunks: in step i a member sends chunk position - 1 - i, which it has just
/// received, to the next one. The first n - 1 receives reduce and leave each member one whole
/// chunk; the others pass the whole chunks on.
void CollectiveEmitter::ringReduce(st::AllReduceOp op, Tensors tensors) {
  int64_t size = table.getSize(op.getAxes()), last = 2 * size - 3;
  auto chunk = [&](StreamBuilder &stream, const Tensor &t, const Expr &number, const Expr &piece) {
    return chunkOf(stream, number * t.pieces + piece, size * t.pieces, t.elements(), t.type,
                   baseOf(stream, t.result));
  };
  bool copies = false;
  for (const Tensor &t : tensors)
    if (t.operand.offset != t.result.offset) {
      copyWhole(t.before, t.operand, t.result);
      copies = true;
    }
  if (copies)
    builder.barrierOfQueues();
  links.transmit([&](StreamBuilder &tx) {
    Ring ring = ringOf(tx, op.getAxes());
    Expr next = ring.rankOf(tx, ring.member(tx, 1));
    auto send = [&](const Expr &step, bool isReceived) {
      StreamBuilder::Scope scope(tx);
      Expr number = ring.member(tx, Expr(2 * size - 1) - step);
      forEachPiece(tx, tensors, [&](const Tensor &t, const Expr &piece) {
        if (isReceived)
          tx.wait(builder.leaderSemaphore(Sem::RxStep));
        emitSend(tx, next, chunk(tx, t, number, piece), kGroupChannel);
      });
    };
    send(0, /*isReceived=*/false);
    tx.loop(1, last + 1, 1, [&](Expr step) { send(step, /*isReceived=*/true); });
  });
  links.receive([&](StreamBuilder &rx) {
    Ring ring = ringOf(rx, op.getAxes());
    Expr previous = ring.rankOf(rx, ring.member(rx, size - 1));
    auto receive = [&](const Expr &step, hw::Reduce reduce, bool goesOn) {
      Expr number = ring.member(rx, Expr(2 * size - 2) - step);
      forEachPiece(rx, tensors, [&](const Tensor &t, const Expr &piece) {
        emitRecv(rx, previous, chunk(rx, t, number, piece), kGroupChannel, reduce);
        if (goesOn)
          rx.signal(builder.leaderSemaphore(Sem::RxStep));
      });
    };
    rx.loop(0, size - 1, 1,
            [&](Expr step) { receive(step, reduceOf(op.getKind()), /*goesOn=*/true); });
    rx.loop(size - 1, last, 1,
            [&](Expr step) { receive(step, hw::Reduce::None, /*goesOn=*/true); });
    receive(last, hw::Reduce::None, /*goesOn=*/false);
  });
}

// ---- all-gather, reduce-scatter -----------------------------------------------------------------

/// n - 1 steps: the own part goes out as it is, then each part received goes on. The leader's
/// queues put the own part into its place meanwhile.
LogicalResult CollectiveEmitter::allGather(st::AllGatherOp op, Tensors tensors) {
  int64_t size = table.getSize(op.getAxes()), dim = op.getDim();
  auto own = [&](StreamBuilder &stream, const Tensor &t) {
    return partOf(t.before, t.type, dim, 1, 0, baseOf(stream, t.operand));
  };
  auto part = [&](StreamBuilder &stream, const Tensor &t, const Expr &number) {
    return partOf(t.after, t.type, dim, size, number, baseOf(stream, t.result));
  };
  links.transmit([&](StreamBuilder &tx) {
    Ring ring = ringOf(tx, op.getAxes());
    Expr next = ring.rankOf(tx, ring.member(tx, 1));
    forEachPiece(tx, tensors, [&](const Tensor &t, const Expr &piece) {
      emitSend(tx, next, sliceOf(tx, own(tx, t), piece, t.pieces), kGroupChannel);
    });
    tx.loop(1, size - 1, 1, [&](Expr step) {
      Expr number = ring.member(tx, Expr(size) - step);
      forEachPiece(tx, tensors, [&](const Tensor &t, const Expr &piece) {
        tx.wait(builder.leaderSemaphore(Sem::RxStep));
        emitSend(tx, next, sliceOf(tx, part(tx, t, number), piece, t.pieces), kGroupChannel);
      });
    });
  });
  links.receive([&](StreamBuilder &rx) {
    Ring ring = ringOf(rx, op.getAxes());
    Expr previous = ring.rankOf(rx, ring.member(rx, size - 1));
    auto receive = [&](const Expr &step, bool goesOn) {
      Expr number = ring.member(rx, Expr(size - 1) - step);
      forEachPiece(rx, tensors, [&](const Tensor &t, const Expr &piece) {
        emitRecv(rx, previous, sliceOf(rx, part(rx, t, number), piece, t.pieces), kGroupChannel);
        if (goesOn)
          rx.signal(builder.leaderSemaphore(Sem::RxStep));
      });
    };
    rx.loop(0, size - 2, 1, [&](Expr step) { receive(step, /*goesOn=*/true); });
    receive(size - 2, /*goesOn=*/false);
  });
  forEach(builder.dte, tensors, [&](const Tensor &t) {
    Ring ring = ringOf(builder.dte, op.getAxes());
    Piece target = part(builder.dte, t, ring.position), source = own(builder.dte, t);
    CopyJob job;
    job.type = t.type;
    for (auto [extent, dst, src] : llvm::zip_equal(target.sizes, target.strides, source.strides)) {
      job.sizes.push_back(extent.tile);
      job.dst.push_back(dst);
      job.src.push_back(src);
    }
    job.emit(builder, target.offset, source.offset);
  });
  return success();
}

/// n - 1 steps: part position - 1 goes out as it is; each part received is added to the own one,
/// which the loader (the leader where there is none) puts into the result first, and goes on, but
/// for the last, which is the result.
LogicalResult CollectiveEmitter::reduceScatter(st::ReduceScatterOp op, Tensors tensors) {
  int64_t size = table.getSize(op.getAxes()), dim = op.getDim(), steps = size - 1;
  auto whole = [&](StreamBuilder &stream, const Tensor &t, const Expr &number) {
    return partOf(t.before, t.type, dim, size, number, baseOf(stream, t.operand));
  };
  auto own = [&](StreamBuilder &stream, const Tensor &t) {
    return partOf(t.after, t.type, dim, 1, 0, baseOf(stream, t.result));
  };
  auto loadAll = [&](StreamBuilder &dte) {
    StreamBuilder::Scope scope(dte);
    Ring ring = ringOf(dte, op.getAxes());
    auto load = [&](const Expr &step, bool isSent) {
      StreamBuilder::Scope inner(dte);
      Expr number = ring.member(dte, Expr(2 * size - 2) - step);
      forEachPiece(dte, tensors, [&](const Tensor &t, const Expr &piece) {
        if (isSent)
          dte.wait(builder.leaderSemaphore(Sem::TxStep));
        copyPiece(dte, sliceOf(dte, own(dte, t), piece, t.pieces),
                  sliceOf(dte, whole(dte, t, number), piece, t.pieces));
        dte.signal(builder.leaderSemaphore(Sem::RxLoaded));
      });
    };
    load(0, /*isSent=*/false);
    dte.loop(1, steps, 1, [&](Expr step) { load(step, /*isSent=*/true); });
  };
  builder.leader([&] {
    builder.dte.signal(builder.leaderSemaphore(Sem::TxGo));
    if (builder.hasLoader())
      builder.dte.signal(builder.leaderSemaphore(Sem::LoadGo));
    else
      loadAll(builder.dte);
  });
  if (builder.hasLoader()) {
    builder.loader.wait(builder.leaderSemaphore(Sem::LoadGo));
    loadAll(builder.loader);
  }
  {
    StreamBuilder &tx = builder.tx;
    StreamBuilder::Scope scope(tx);
    tx.wait(builder.leaderSemaphore(Sem::TxGo));
    Ring ring = ringOf(tx, op.getAxes());
    Expr next = ring.rankOf(tx, ring.member(tx, 1)), first = ring.member(tx, size - 1);
    forEachPiece(tx, tensors, [&](const Tensor &t, const Expr &piece) {
      emitSend(tx, next, sliceOf(tx, whole(tx, t, first), piece, t.pieces), kGroupChannel);
    });
    tx.loop(1, steps, 1, [&](Expr) {
      forEachPiece(tx, tensors, [&](const Tensor &t, const Expr &piece) {
        tx.wait(builder.leaderSemaphore(Sem::RxStep));
        emitSend(tx, next, sliceOf(tx, own(tx, t), piece, t.pieces), kGroupChannel);
        tx.signal(builder.leaderSemaphore(Sem::TxStep));
      });
    });
    tx.signal(builder.leaderSemaphore(Sem::TxDone));
    links.expectTransmitted();
  }
  StreamBuilder &rx = builder.rx;
  StreamBuilder::Scope scope(rx);
  Ring ring = ringOf(rx, op.getAxes());
  Expr previous = ring.rankOf(rx, ring.member(rx, size - 1));
  auto receive = [&](bool goesOn) {
    forEachPiece(rx, tensors, [&](const Tensor &t, const Expr &piece) {
      rx.wait(builder.leaderSemaphore(Sem::RxLoaded));
      emitRecv(rx, previous, sliceOf(rx, own(rx, t), piece, t.pieces), kGroupChannel,
               reduceOf(op.getKind()));
      if (goesOn)
        rx.signal(builder.leaderSemaphore(Sem::RxStep));
    });
  };
  rx.loop(0, steps - 1, 1, [&](Expr) { receive(/*goesOn=*/true); });
  receive(/*goesOn=*/false);
  rx.signal(builder.leaderSemaphore(Sem::RxDone));
  links.expectReceived();
  return success();
}
