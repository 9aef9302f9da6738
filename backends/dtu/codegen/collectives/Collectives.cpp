#include "backends/dtu/codegen/collectives/Collectives.h"

#include "backends/dtu/codegen/collectives/Pieces.h"
#include "backends/dtu/codegen/emission/CopyJob.h"
#include "backends/dtu/codegen/kernels/VectorOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;

/// Larger reductions do not use a single exchange.
static constexpr int64_t kExchangeBytes = 4096;

// ---- operands -----------------------------------------------------------------------------------

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static hw::DType dtypeOf(Value value) { return *getDType(typeOf(value).getElementType()); }

static int64_t bytesOf(Value value) {
  return typeOf(value).getNumElements() * hw::byteWidth(dtypeOf(value));
}

static Reduction reductionOf(mlir::st::ReduceKind kind) {
  switch (kind) {
  case mlir::st::ReduceKind::Sum:
    return Reduction::Sum;
  case mlir::st::ReduceKind::Max:
    return Reduction::Max;
  case mlir::st::ReduceKind::Min:
    return Reduction::Min;
  case mlir::st::ReduceKind::And:
    return Reduction::And;
  case mlir::st::ReduceKind::Or:
    return Reduction::Or;
  }
  llvm_unreachable("all kinds are listed");
}

// ---- rings --------------------------------------------------------------------------------------

CollectiveEmitter::Ring CollectiveEmitter::ringOf(StreamBuilder &stream, ArrayAttr axes) {
  Ring ring;
  ring.entry = table.addAxes(axes);
  ring.size = table.getSize(axes);
  ring.position = stream.table(ring.entry);
  builder.useTable(table.size());
  return ring;
}

Expr CollectiveEmitter::Ring::member(StreamBuilder &stream, const Expr &offset) const {
  return stream.index(position + offset, 1, size);
}

void CollectiveEmitter::copyUnsplit(RankedTensorType type, const Placement &operand,
                                    const Placement &result) {
  CopyJob job;
  job.type = *getDType(type.getElementType());
  job.sizes.push_back(type.getNumElements());
  job.src.push_back(hw::byteWidth(job.type));
  job.dst = job.src;
  StreamBuilder::Scope scope(builder.dte);
  Expr from = baseOf(builder.dte, operand);
  job.emit(builder, baseOf(builder.dte, result), from);
}

// ---- all-reduce ---------------------------------------------------------------------------------

/// The offset of each tensor in a slot of an exchange, followed by the slot's size.
template <typename Tensors> static SmallVector<int64_t> offsetsInSlot(const Tensors &tensors) {
  SmallVector<int64_t> offsets = {0};
  for (const auto &tensor : tensors)
    offsets.push_back(offsets.back() + llvm::alignTo(tensor.bytes(), kBufferAlignment));
  return offsets;
}

/// Every member sends its tensors to all others; slot p of L2 receives those of member p.
void CollectiveEmitter::exchange(st::AllReduceOp op, Tensors tensors) {
  SmallVector<int64_t> offsets = offsetsInSlot(tensors);
  int64_t size = table.getSize(op.getAxes()), slot = offsets.back();
  links.transmit([&](StreamBuilder &tx) {
    Ring ring = ringOf(tx, op.getAxes());
    tx.loop(1, size, 1, [&](Expr q) {
      Expr peer = ring.rankOf(tx, ring.member(tx, q));
      forEach(tx, tensors, [&](const Tensor &t) {
        emitSend(tx, peer, denseAt(baseOf(tx, t.operand), t.elements(), t.type), kGroupChannel);
      });
    });
  });
  links.receive([&](StreamBuilder &rx) {
    Ring ring = ringOf(rx, op.getAxes());
    rx.loop(1, size, 1, [&](Expr q) {
      Expr member = ring.member(rx, q), peer = ring.rankOf(rx, member);
      for (auto [t, offset] : llvm::zip(tensors, offsets))
        emitRecv(rx, peer, denseAt(member * slot + offset, t.elements(), t.type), kGroupChannel,
                 hw::Reduce::None, hw::Space::L2);
    });
  });
  builder.useL2(size * slot);
  builder.leader([&] {
    StreamBuilder::Scope scope(builder.dte);
    Ring ring = ringOf(builder.dte, op.getAxes());
    for (auto [t, offset] : llvm::zip(tensors, offsets)) {
      StreamBuilder::Scope inner(builder.dte);
      int64_t width = hw::byteWidth(t.type);
      CopyShape shape;
      shape.add({t.elements(), hw::kZero, 0}, width, width);
      emitCopy(builder.dte, l2Address(ring.position * slot + offset),
               l3Address(baseOf(builder.dte, t.operand)), shape, t.type, t.type);
    }
  });
  // All queues synchronise, because the leader also waits for link work of other ops.
  links.synchronize();
  combine(op, tensors);
}

/// The leader's core adds up the slots in member order.
void CollectiveEmitter::combine(st::AllReduceOp op, Tensors tensors) {
  StreamBuilder &dte = builder.dte, &core = builder.core;
  SmallVector<int64_t> offsets = offsetsInSlot(tensors);
  int64_t size = table.getSize(op.getAxes()), slot = offsets.back();
  // After the scalar area, which a core fills ahead of its queue.
  int64_t gathered = kCellAreaBytes, sum = gathered + size * slot;
  builder.useL1(sum + slot);
  builder.leader([&] {
    for (auto [t, offset] : llvm::zip(tensors, offsets)) {
      int64_t width = hw::byteWidth(t.type);
      CopyShape shape;
      shape.add({size, hw::kZero, 0}, slot, slot);
      shape.add({t.elements(), hw::kZero, 0}, width, width);
      emitCopy(dte, l1Address(gathered + offset), l2Address(offset), shape, t.type, t.type);
    }
    dte.signal(builder.semaphore(Sem::Full));
    dte.wait(builder.semaphore(Sem::Done));
    for (auto [t, offset] : llvm::zip(tensors, offsets)) {
      StreamBuilder::Scope scope(dte);
      int64_t width = hw::byteWidth(t.type);
      CopyShape out;
      out.add({t.elements(), hw::kZero, 0}, width, width);
      emitCopy(dte, l3Address(baseOf(dte, t.result)), l1Address(sum + offset), out, t.type, t.type);
    }
  });
  core.when(Expr::instance(), 1, [&](Expr) {
    core.wait(builder.semaphore(Sem::Full));
    for (auto [t, offset] : llvm::zip(tensors, offsets)) {
      hw::Vector vector;
      vector.op = getReductionOp(reductionOf(op.getKind()), /*alongColumns=*/false);
      vector.dst.type = vector.src[0].type = t.type;
      vector.dst.address.space = vector.src[0].address.space = hw::Space::L1;
      vector.dst.address.offset.constant = sum + offset;
      vector.src[0].address.offset.constant = gathered + offset;
      vector.src[0].rowStride = slot / static_cast<int64_t>(hw::byteWidth(t.type));
      vector.rows = {size, hw::kZero, 0};
      vector.cols = {t.elements(), hw::kZero, 0};
      core.emit(std::move(vector));
    }
    core.signal(builder.semaphore(Sem::Done));
  });
}

LogicalResult CollectiveEmitter::allReduce(st::AllReduceOp op, Tensors tensors) {
  if (usesL2(op))
    exchange(op, tensors);
  else
    ringReduce(op, tensors);
  return success();
}

/// An exchange must synchronise all queues, unlike other collectives, so it is used only for small
/// data.
bool CollectiveEmitter::isExchanged(ArrayAttr axes, int64_t bytes, int64_t slot) {
  int64_t size = table.getSize(axes);
  if (bytes > kExchangeBytes || size * slot > builder.machine.l2Bytes ||
      kCellAreaBytes + (size + 1) * slot > builder.machine.l1Bytes)
    return false;
  // Rings work on the result, so small operands are copied there first. In groups with too many
  // pairs, the links' latency makes exchanges slower than rings.
  ::st::Picoseconds rings = planOf(axes, bytes).time + this->rings.copyTime(bytes);
  if (this->rings.exchangeTime({}, size, bytes) > rings)
    return false;
  auto [hop, isNew] = exchanges.try_emplace(axes);
  if (isNew)
    hop->second = this->rings.hopOf(table.getExchange(axes));
  return this->rings.exchangeTime(hop->second, size, bytes) <= rings;
}

bool CollectiveEmitter::usesL2(Operation *op) {
  auto allReduce = dyn_cast<st::AllReduceOp>(op);
  if (!allReduce || table.getSize(allReduce.getAxes()) == 1)
    return false;
  int64_t bytes = 0, slot = 0;
  for (Value input : op->getOperands()) {
    bytes += bytesOf(input);
    slot += llvm::alignTo(bytesOf(input), kBufferAlignment);
  }
  return isExchanged(allReduce.getAxes(), bytes, slot);
}

// ---- all-to-all, slices, permutations -----------------------------------------------------------

/// Part `index` along one dimension of a dense tensor. Adjacent dimensions are one dimension,
/// except `dim` and `other`.
static Piece blockOf(RankedTensorType type, hw::DType dtype, int64_t dim, int64_t other,
                     int64_t parts, const Expr &index, const Expr &base) {
  auto isSeparate = [&](int64_t d) { return d == dim || d == other; };
  Piece piece;
  piece.type = dtype;
  int64_t stride = hw::byteWidth(dtype);
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    int64_t size = type.getDimSize(d) / (d == dim ? parts : 1);
    if (d == dim)
      piece.offset = base + index * (size * stride);
    if (d + 1 < type.getRank() && !isSeparate(d) && !isSeparate(d + 1)) {
      piece.sizes.front().tile *= size;
    } else {
      piece.sizes.insert(piece.sizes.begin(), hw::Extent{size, hw::kZero, 0});
      piece.strides.insert(piece.strides.begin(), stride);
    }
    stride *= type.getDimSize(d);
  }
  return piece;
}

/// Every member sends part q of its tensor to member q, nearest members first.
LogicalResult CollectiveEmitter::allToAll(st::AllToAllOp op, const Placement &operand,
                                          const Placement &result) {
  hw::DType type = dtypeOf(op.getOperand());
  RankedTensorType from = typeOf(op.getOperand()), to = typeOf(op.getResult());
  int64_t size = table.getSize(op.getAxes());
  auto outgoing = [&](const Expr &index, const Expr &base) {
    return blockOf(from, type, op.getSplitDim(), op.getConcatDim(), size, index, base);
  };
  auto incoming = [&](const Expr &index, const Expr &base) {
    return blockOf(to, type, op.getConcatDim(), op.getSplitDim(), size, index, base);
  };
  links.transmit([&](StreamBuilder &tx) {
    Ring ring = ringOf(tx, op.getAxes());
    Expr base = baseOf(tx, operand);
    tx.loop(1, size, 1, [&](Expr q) {
      Expr member = ring.member(tx, q);
      emitSend(tx, ring.rankOf(tx, member), outgoing(member, base), kGroupChannel);
    });
  });
  links.receive([&](StreamBuilder &rx) {
    Ring ring = ringOf(rx, op.getAxes());
    Expr base = baseOf(rx, result);
    rx.loop(1, size, 1, [&](Expr q) {
      Expr member = ring.member(rx, Expr(size) - q);
      emitRecv(rx, ring.rankOf(rx, member), incoming(member, base), kGroupChannel);
    });
  });
  builder.leader([&] {
    StreamBuilder::Scope scope(builder.dte);
    Ring ring = ringOf(builder.dte, op.getAxes());
    copyPiece(builder.dte, incoming(ring.position, baseOf(builder.dte, result)),
              outgoing(ring.position, baseOf(builder.dte, operand)));
  });
  return success();
}

LogicalResult CollectiveEmitter::allSlice(st::AllSliceOp op, const Placement &operand,
                                          const Placement &result) {
  hw::DType type = dtypeOf(op.getOperand());
  StreamBuilder::Scope scope(builder.dte);
  Ring ring = ringOf(builder.dte, op.getAxes());
  Piece source = partOf(typeOf(op.getOperand()), type, op.getDim(), ring.size, ring.position,
                        baseOf(builder.dte, operand));
  Piece target =
      partOf(typeOf(op.getResult()), type, op.getDim(), 1, 0, baseOf(builder.dte, result));
  copyShared(builder, target, source);
  return success();
}

/// A rank without a source returns zeros. A rank that is its own target copies.
LogicalResult CollectiveEmitter::permute(st::CollectivePermuteOp op, const Placement &operand,
                                         const Placement &result) {
  int64_t entry = table.addPairs(op.getAxes(), op.getPairs());
  builder.useTable(table.size());
  hw::DType type = dtypeOf(op.getOperand());
  RankedTensorType tensor = typeOf(op.getOperand());
  CopyJob copy;
  copy.type = type;
  copy.sizes.push_back(tensor.getNumElements());
  copy.dst.push_back(hw::byteWidth(type));
  copy.src = copy.dst;
  {
    StreamBuilder::Scope scope(builder.dte);
    Expr to = baseOf(builder.dte, result);
    if (static_cast<int64_t>(op.getPairs().size()) != 2 * table.getSize(op.getAxes())) {
      CopyJob zeros = copy;
      zeros.fill = 0;
      zeros.emit(builder, to, 0);
    }
    Expr from = baseOf(builder.dte, operand);
    builder.dte.when(0, builder.dte.table(entry + 4), [&](Expr) { copy.emit(builder, to, from); });
  }
  builder.barrierOfQueues();
  auto fullPiece = [&](const Expr &base) {
    Piece piece;
    piece.type = type;
    piece.offset = base;
    piece.sizes.push_back({tensor.getNumElements(), hw::kZero, 0});
    piece.strides.push_back(hw::byteWidth(type));
    return piece;
  };
  links.transmit([&](StreamBuilder &tx) {
    Expr count = tx.table(entry), peer = tx.table(entry + 1), base = baseOf(tx, operand);
    tx.when(0, count, [&](Expr) { emitSend(tx, peer, fullPiece(base), kGroupChannel); });
  });
  links.receive([&](StreamBuilder &rx) {
    Expr count = rx.table(entry + 2), peer = rx.table(entry + 3), base = baseOf(rx, result);
    rx.when(0, count, [&](Expr) { emitRecv(rx, peer, fullPiece(base), kGroupChannel); });
  });
  return success();
}

LogicalResult CollectiveEmitter::emit(Operation *op, ArrayRef<Placement> operands,
                                      ArrayRef<Placement> results) {
  SmallVector<Tensor> tensors;
  for (auto [before, after, operand, result] :
       llvm::zip_equal(op->getOperands(), op->getResults(), operands, results)) {
    std::optional<hw::DType> type = getDType(getElementTypeOrSelf(before.getType()));
    if (!type)
      return op->emitOpError("moves ")
             << before.getType() << ", a type that the DTU does not support";
    tensors.push_back({typeOf(before), typeOf(after), operand, result, *type});
  }
  // Axes of size 1 need no messages.
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  if (axes && table.getSize(axes) == 1) {
    for (const Tensor &t : tensors)
      copyUnsplit(t.after, t.operand, t.result);
    return success();
  }
  if (isa<st::AllGatherOp, st::ReduceScatterOp>(op))
    choosePieces(op, tensors);
  const Placement &operand = operands.front(), &result = results.front();
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](st::AllReduceOp o) { return allReduce(o, tensors); })
      .Case([&](st::AllGatherOp o) { return allGather(o, tensors); })
      .Case([&](st::ReduceScatterOp o) { return reduceScatter(o, tensors); })
      .Case([&](st::AllToAllOp o) { return allToAll(o, operand, result); })
      .Case([&](st::AllSliceOp o) { return allSlice(o, operand, result); })
      .Case([&](st::CollectivePermuteOp o) { return permute(o, operand, result); })
      .Default([](Operation *other) {
        return other->emitOpError("is not supported by the DTU backend");
      });
}
