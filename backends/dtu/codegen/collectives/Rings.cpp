// All-reduce, all-gather and reduce-scatter as rings of the members.
#include "backends/dtu/codegen/collectives/Collectives.h"
#include "backends/dtu/codegen/collectives/Pieces.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;

// ---- pieces -----------------------------------------------------------------------------------

/// The number of pieces for a tensor with `bytes` of `total`: a power of two, like
/// `pieces`.
static int64_t shareOf(int64_t pieces, int64_t bytes, int64_t total) {
  int64_t share = total > 0 ? pieces * bytes / total : 1;
  return share > 1 ? llvm::bit_floor(static_cast<uint64_t>(share)) : 1;
}

const ::st::DtuHop &CollectiveEmitter::hopOf(ArrayAttr axes, int64_t stride, int64_t size) {
  auto [hop, isNew] = hops.try_emplace({axes.getAsOpaquePointer(), stride, size});
  if (isNew)
    hop->second = rings.hopOf(table.getRing(axes, stride, size));
  return hop->second;
}

::st::DtuRingPlan CollectiveEmitter::planOf(ArrayAttr axes, int64_t bytes) {
  return rings.planOf(table.getSize(axes), bytes,
                      [&](int64_t stride, int64_t size) { return hopOf(axes, stride, size); });
}

void CollectiveEmitter::choosePieces(Operation *op, MutableArrayRef<Tensor> tensors) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  int64_t size = table.getSize(axes);
  ::st::DtuRingSteps ring;
  auto partBytes = [&](const Tensor &t) {
    return isa<st::AllGatherOp>(op) ? t.bytes() : t.bytes() / size;
  };
  for (const Tensor &t : tensors)
    ring.bytes += partBytes(t);
  ring.steps = size - 1;
  // A reducing receive reads as well; the local part is first copied to its destination.
  if (isa<st::ReduceScatterOp>(op))
    ring.written = ring.loaded = 2;
  int64_t pieces = rings.piecesOf(hopOf(axes, 1, size), ring);
  for (Tensor &t : tensors)
    t.pieces = shareOf(pieces, partBytes(t), ring.bytes);
}

/// Calls `body` for each piece of each tensor's part.
template <typename Tensors, typename Body>
static void forEachPiece(StreamBuilder &stream, const Tensors &tensors, Body body) {
  forEach(stream, tensors, [&](const auto &tensor) {
    stream.loop(0, tensor.pieces, 1, [&](const Expr &piece) { body(tensor, piece); });
  });
}

// ---- all-reduce -------------------------------------------------------------------------------

/// An all-reduce in place, with one chunk per member. A stage works on a range of chunks (the first
/// stage on all) in `size` blocks. In step i, a member sends block number - 1 - i, which it has
/// just received, to the next member. The first size - 1 receives reduce and leave each member one
/// complete block, on which the next stage works; the remaining receives pass complete blocks on.
class CollectiveEmitter::StagedReduce {
public:
  StagedReduce(CollectiveEmitter &emitter, st::AllReduceOp op, Tensors tensors);

  void transmit(StreamBuilder &tx);
  void receive(StreamBuilder &rx);

private:
  using Stage = ::st::DtuRingStage;
  /// A stage as a stream sees it.
  struct View {
    Expr number; // of this member in its ring
    Expr first;  // first chunk of the range
    Expr peer;   // global rank
  };

  CollectiveEmitter &emitter;
  ArrayAttr axes;
  hw::Reduce reduce;
  Tensors tensors;
  int64_t members, bytes = 0;
  std::vector<Stage> stages;

  Expr step() const { return emitter.builder.leaderSemaphore(Sem::RxStep); }
  bool isLast(size_t stage) const { return stage + 1 == stages.size(); }
  /// Chunks of a block.
  int64_t chunksOf(const Stage &stage) const { return members / (stage.stride * stage.size); }
  int64_t piecesOf(const Stage &stage, const Tensor &t) const {
    return shareOf(stage.pieces, t.bytes(), bytes);
  }
  /// Messages of a block of each tensor.
  int64_t messagesOf(const Stage &stage) const;

  View viewOf(StreamBuilder &stream, size_t stage, int64_t ahead) const;
  Piece pieceOf(StreamBuilder &stream, const Stage &stage, const Tensor &t, const Expr &first,
                const Expr &piece) const;
  template <typename Body>
  void eachPiece(StreamBuilder &stream, const Stage &stage, const View &view, const Expr &block,
                 Body body) const;
  /// Steps of a stage. Except for the first, each send waits for the data that it passes on.
  void send(StreamBuilder &tx, size_t stage, int64_t from, int64_t to) const;
  void receive(StreamBuilder &rx, size_t stage, int64_t from, int64_t to, bool isEnd) const;
};

CollectiveEmitter::StagedReduce::StagedReduce(CollectiveEmitter &emitter, st::AllReduceOp op,
                                              Tensors tensors)
    : emitter(emitter), axes(op.getAxes()), reduce(reduceOf(op.getKind())), tensors(tensors),
      members(emitter.table.getSize(axes)) {
  for (const Tensor &t : tensors)
    bytes += t.bytes();
  stages = emitter.planOf(axes, bytes).stages;
}

int64_t CollectiveEmitter::StagedReduce::messagesOf(const Stage &stage) const {
  int64_t messages = 0;
  for (const Tensor &t : tensors)
    messages += piecesOf(stage, t);
  return messages;
}

CollectiveEmitter::StagedReduce::View
CollectiveEmitter::StagedReduce::viewOf(StreamBuilder &stream, size_t stage, int64_t ahead) const {
  Ring ring = emitter.ringOf(stream, axes);
  View view;
  for (size_t outer = 0; outer < stage; ++outer) {
    auto blockOf = [&] {
      return stream.index(ring.position, stages[outer].stride, stages[outer].size,
                          chunksOf(stages[outer]));
    };
    if (outer == 0) {
      view.first = blockOf();
      continue;
    }
    // One register holds the sum: an expression has room for the digits of few stages.
    StreamBuilder::Scope scope(stream);
    hw::Index sum;
    sum.dst = view.first.getSingleRegister();
    sum.value = (view.first + blockOf()).toAffine();
    stream.emit(std::move(sum));
  }
  auto [stride, size, pieces] = stages[stage];
  view.number = stream.index(ring.position, stride, size);
  Expr other = stream.index(view.number + ahead, 1, size, stride);
  view.peer = ring.rankOf(stream, ring.position - view.number * stride + other);
  return view;
}

Piece CollectiveEmitter::StagedReduce::pieceOf(StreamBuilder &stream, const Stage &stage,
                                               const Tensor &t, const Expr &first,
                                               const Expr &piece) const {
  // Pieces of all stages end at chunk boundaries.
  int64_t maximum = 1;
  for (const Stage &other : stages)
    maximum = std::max(maximum, piecesOf(other, t));
  int64_t chunk = llvm::alignTo(llvm::divideCeil(t.elements(), members), 16 * maximum);
  return rangeOf(stream, first * chunk, piece, chunksOf(stage) * chunk / piecesOf(stage, t),
                 t.elements(), members * chunk, t.type, baseOf(stream, t.result));
}

template <typename Body>
void CollectiveEmitter::StagedReduce::eachPiece(StreamBuilder &stream, const Stage &stage,
                                                const View &view, const Expr &block,
                                                Body body) const {
  Expr first = view.first + block * chunksOf(stage);
  forEach(stream, tensors, [&](const Tensor &t) {
    stream.loop(0, piecesOf(stage, t), 1,
                [&](const Expr &piece) { body(pieceOf(stream, stage, t, first, piece)); });
  });
}

void CollectiveEmitter::StagedReduce::send(StreamBuilder &tx, size_t stage, int64_t from,
                                           int64_t to) const {
  StreamBuilder::Scope scope(tx);
  View view = viewOf(tx, stage, 1);
  int64_t size = stages[stage].size;
  auto one = [&](const Expr &number, bool isReceived) {
    StreamBuilder::Scope scope(tx);
    Expr block = tx.index(view.number + (2 * size - 1) - number, 1, size);
    eachPiece(tx, stages[stage], view, block, [&](const Piece &piece) {
      if (isReceived)
        tx.wait(step());
      emitSend(tx, view.peer, piece, kGroupChannel);
    });
  };
  one(from, /*isReceived=*/false);
  tx.loop(from + 1, to, 1, [&](const Expr &number) { one(number, /*isReceived=*/true); });
}

void CollectiveEmitter::StagedReduce::transmit(StreamBuilder &tx) {
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    // This stage works on the last blocks that the previous one received, split differently.
    if (stage > 0)
      tx.wait(step(), messagesOf(stages[stage - 1]));
    send(tx, stage, 0, (isLast(stage) ? 2 : 1) * (stages[stage].size - 1));
  }
  for (size_t stage = stages.size() - 1; stage-- > 0;) {
    tx.wait(step(), messagesOf(stages[stage + 1]));
    send(tx, stage, stages[stage].size - 1, 2 * (stages[stage].size - 1));
  }
}

void CollectiveEmitter::StagedReduce::receive(StreamBuilder &rx, size_t stage, int64_t from,
                                              int64_t to, bool isEnd) const {
  StreamBuilder::Scope scope(rx);
  int64_t size = stages[stage].size;
  View view = viewOf(rx, stage, size - 1);
  auto one = [&](const Expr &number, hw::Reduce kind, bool continues) {
    StreamBuilder::Scope scope(rx);
    Expr block = rx.index(view.number + (2 * size - 2) - number, 1, size);
    eachPiece(rx, stages[stage], view, block, [&](const Piece &piece) {
      emitRecv(rx, view.peer, piece, kGroupChannel, kind);
      if (continues)
        rx.signal(step());
    });
  };
  auto some = [&](int64_t begin, int64_t end, hw::Reduce kind) {
    rx.loop(begin, end, 1, [&](const Expr &number) { one(number, kind, /*continues=*/true); });
  };
  some(from, std::min(to, size - 1), reduce);
  some(std::max(from, size - 1), isEnd ? to - 1 : to, hw::Reduce::None);
  if (isEnd)
    one(to - 1, hw::Reduce::None, /*continues=*/false);
}

void CollectiveEmitter::StagedReduce::receive(StreamBuilder &rx) {
  for (size_t stage = 0; stage < stages.size(); ++stage)
    receive(rx, stage, 0, (isLast(stage) ? 2 : 1) * (stages[stage].size - 1),
            /*isEnd=*/stages.size() == 1);
  for (size_t stage = stages.size() - 1; stage-- > 0;)
    receive(rx, stage, stages[stage].size - 1, 2 * (stages[stage].size - 1), /*isEnd=*/stage == 0);
}

void CollectiveEmitter::ringReduce(st::AllReduceOp op, Tensors tensors) {
  bool copies = false;
  for (const Tensor &t : tensors)
    if (t.operand.offset != t.result.offset) {
      copyUnsplit(t.before, t.operand, t.result);
      copies = true;
    }
  if (copies)
    builder.barrierOfQueues();
  StagedReduce staged(*this, op, tensors);
  links.transmit([&](StreamBuilder &tx) { staged.transmit(tx); });
  links.receive([&](StreamBuilder &rx) { staged.receive(rx); });
}

// ---- all-gather, reduce-scatter -----------------------------------------------------------------

/// n - 1 steps: the local part is sent first, then each received part is passed on. Meanwhile the
/// leader's queues copy the local part to its place.
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
    auto receive = [&](const Expr &step, bool continues) {
      Expr number = ring.member(rx, Expr(size - 1) - step);
      forEachPiece(rx, tensors, [&](const Tensor &t, const Expr &piece) {
        emitRecv(rx, previous, sliceOf(rx, part(rx, t, number), piece, t.pieces), kGroupChannel);
        if (continues)
          rx.signal(builder.leaderSemaphore(Sem::RxStep));
      });
    };
    rx.loop(0, size - 2, 1, [&](Expr step) { receive(step, /*continues=*/true); });
    receive(size - 2, /*continues=*/false);
  });
  forEach(builder.dte, tensors, [&](const Tensor &t) {
    Ring ring = ringOf(builder.dte, op.getAxes());
    Piece target = part(builder.dte, t, ring.position);
    copyShared(builder, target, own(builder.dte, t));
  });
  return success();
}

/// n - 1 steps: part position - 1 is sent first. Each received part is added to the local one,
/// which the loader (or the leader, if there is none) has copied into the result, and is passed on;
/// the last one is the result.
LogicalResult CollectiveEmitter::reduceScatter(st::ReduceScatterOp op, Tensors tensors) {
  int64_t size = table.getSize(op.getAxes()), dim = op.getDim(), steps = size - 1;
  auto operandPart = [&](StreamBuilder &stream, const Tensor &t, const Expr &number) {
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
                  sliceOf(dte, operandPart(dte, t, number), piece, t.pieces));
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
      emitSend(tx, next, sliceOf(tx, operandPart(tx, t, first), piece, t.pieces), kGroupChannel);
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
  auto receive = [&](bool continues) {
    forEachPiece(rx, tensors, [&](const Tensor &t, const Expr &piece) {
      rx.wait(builder.leaderSemaphore(Sem::RxLoaded));
      emitRecv(rx, previous, sliceOf(rx, own(rx, t), piece, t.pieces), kGroupChannel,
               reduceOf(op.getKind()));
      if (continues)
        rx.signal(builder.leaderSemaphore(Sem::RxStep));
    });
  };
  rx.loop(0, steps - 1, 1, [&](Expr) { receive(/*continues=*/true); });
  receive(/*continues=*/false);
  rx.signal(builder.leaderSemaphore(Sem::RxDone));
  links.expectReceived();
  return success();
}
