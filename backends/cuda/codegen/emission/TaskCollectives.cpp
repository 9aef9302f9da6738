// Collectives as exchanges of pieces with all members, between copies that pack the sent data and
// unpack the received data. Tensors of one type are exchanged together. A sum is a kernel over the
// data of all members in the order of the members, so that all have the same bits.
#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/emission/TaskConverter.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

/// A kernel that sums has one argument per member.
static constexpr int64_t kMaxMembers = 256;
static constexpr uint64_t kScratchAlignment = 256;
/// Largest all-reduce that sends all data to all members, which saves an exchange.
static constexpr int64_t kMaxGatheredBytes = 16384;
/// The channel of all messages between ranks of one device group.
static constexpr int64_t kPermuteChannel = 0;

struct TaskConverter::Collective {
  /// A tensor's places before and after the collective.
  struct Tensor {
    Place from, to;
  };

  Operation *op;
  /// Table entry with the rank's position; the ranks of all members follow it.
  int64_t position = 0, count = 1;
  SmallVector<Tensor> tensors{}; ///< non-empty, of one element type
  int64_t scratchBytes = 0;

  Type element() const { return tensors.front().from.type.getElementType(); }
  bool isAlone() const { return tensors.size() == 1; }

  /// Allocates scratch memory for elements.
  Place takeScratch(int64_t elements) {
    auto address = mlir::st::AddressAttr::get(op->getContext(), scratchBytes, 0, 1);
    Place place{address, RankedTensorType::get({elements}, element())};
    place.isScratch = true;
    scratchBytes += llvm::alignTo(place.bytes(), kScratchAlignment);
    return place;
  }

  /// Returns true if no sent tensor overlaps the place.
  bool isFree(const Place &place) const {
    return llvm::none_of(tensors, [&](const Tensor &tensor) {
      auto end = [](const Place &of) {
        return of.address.getOffset() + (of.address.getSlots() - 1) * of.address.getStride() +
               of.bytes();
      };
      return place.address.getOffset() < end(tensor.from) &&
             tensor.from.address.getOffset() < end(place);
    });
  }
};

// ---- parts --------------------------------------------------------------------------------------

static RankedTensorType partOf(RankedTensorType type, int64_t dim, int64_t count) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= count;
  return RankedTensorType::get(shape, type.getElementType());
}

/// Number of contiguous runs of a part along a dimension.
static int64_t rowsOf(RankedTensorType type, int64_t dim) {
  int64_t rows = 1;
  for (int64_t size : type.getShape().take_front(dim))
    rows *= size;
  return rows;
}

/// A place that begins some elements after another one.
static Place behind(const Place &place, int64_t elements, RankedTensorType type) {
  Place part = place;
  part.type = type;
  const int64_t width = getStorageType(type.getElementType()).getIntOrFloatBitWidth() / 8;
  mlir::st::AddressAttr address = place.address;
  part.address =
      mlir::st::AddressAttr::get(address.getContext(), address.getOffset() + elements * width,
                                 address.getStride(), address.getSlots());
  return part;
}

static Place behind(const Place &place, int64_t elements, int64_t count) {
  return behind(place, elements, RankedTensorType::get({count}, place.type.getElementType()));
}

/// The place with a one-dimensional shape.
static Place flat(const Place &place) { return behind(place, 0, place.type.getNumElements()); }

Value TaskConverter::bytesView(Location loc, const Place &place, int64_t bytes, Value further) {
  // The view begins at the place, or `further` times `bytes` later.
  auto begin = view(loc, place).getDefiningOp<memref::ViewOp>();
  Value offset = begin.getByteShift();
  if (further) {
    Value width = arith::ConstantIndexOp::create(builder, loc, bytes);
    Value distance = arith::MulIOp::create(builder, loc, further, width);
    offset = arith::AddIOp::create(builder, loc, offset, distance);
  }
  return memref::ViewOp::create(builder, loc, MemRefType::get({bytes}, builder.getI8Type()),
                                begin.getSource(), offset, ValueRange());
}

void TaskConverter::copyPart(Location loc, const Place &full, const Place &part, int64_t dim,
                             Value number, Direction direction) {
  if (part.bytes() == 0)
    return;
  const int64_t rows = rowsOf(part.type, dim);
  const int64_t rowBytes = part.bytes() / rows, pitch = full.bytes() / rows;
  Value inFull = bytesView(loc, full, rowBytes, number);
  Value inPart = bytesView(loc, part, rowBytes, Value());
  if (direction == Direction::FromFull)
    CopyRowsOp::create(builder, loc, inFull, inPart, rows, pitch, rowBytes);
  else
    CopyRowsOp::create(builder, loc, inPart, inFull, rows, rowBytes, pitch);
}

// ---- sums ---------------------------------------------------------------------------------------

static Value combine(OpBuilder &builder, Location loc, mlir::st::ReduceKind kind, Value a,
                     Value b) {
  switch (kind) {
  case mlir::st::ReduceKind::Sum:
    return hlo::AddOp::create(builder, loc, a, b);
  case mlir::st::ReduceKind::Max:
    return hlo::MaxOp::create(builder, loc, a, b);
  case mlir::st::ReduceKind::Min:
    return hlo::MinOp::create(builder, loc, a, b);
  case mlir::st::ReduceKind::And:
    return hlo::AndOp::create(builder, loc, a, b);
  case mlir::st::ReduceKind::Or:
    return hlo::OrOp::create(builder, loc, a, b);
  }
  llvm_unreachable("all kinds are listed");
}

LogicalResult TaskConverter::reduce(Operation *op, ArrayRef<Place> parts, const Place &to,
                                    mlir::st::ReduceKind kind) {
  OpBuilder ir(op->getContext());
  Location loc = op->getLoc();
  // The operands are placeholders, because the launch passes places instead.
  SmallVector<Value> operands(parts.size(), op->getOperand(0));
  generatedKernels.emplace_back(
      mlir::st::KernelOp::create(ir, loc, TypeRange(to.type), ir.getStringAttr("loop"), operands));
  mlir::st::KernelOp kernel = *generatedKernels.back();
  Block *body = ir.createBlock(&kernel.getBody(), {}, SmallVector<Type>(parts.size(), to.type),
                               SmallVector<Location>(parts.size(), loc));
  const bool isNarrow = isa<Float16Type, BFloat16Type>(to.type.getElementType());
  RankedTensorType wide =
      isNarrow ? RankedTensorType::get(to.type.getShape(), ir.getF32Type()) : to.type;
  Value total;
  for (Value argument : body->getArguments()) {
    Value term = isNarrow ? hlo::ConvertOp::create(ir, loc, wide, argument) : argument;
    total = total ? combine(ir, loc, kind, total, term) : term;
  }
  if (isNarrow)
    total = hlo::ConvertOp::create(ir, loc, to.type, total);
  mlir::st::YieldOp::create(ir, loc, total);
  SmallVector<Place> places(parts);
  places.push_back(to);
  return launch(kernel, places);
}

/// Reduces the received pieces, one from each member, to one.
LogicalResult TaskConverter::reducePieces(const Collective &all, const Place &pieces,
                                          const Place &to, mlir::st::ReduceKind kind) {
  const int64_t elements = to.type.getNumElements();
  SmallVector<Place> parts;
  for (int64_t member = 0; member < all.count; ++member)
    parts.push_back(behind(pieces, member * elements, elements));
  return reduce(all.op, parts, to, kind);
}

// ---- exchanges ----------------------------------------------------------------------------------

void TaskConverter::exchange(const Collective &all, const Place &from, bool isSame,
                             const Place &to) {
  const int64_t bytes = to.bytes() / all.count;
  Location loc = all.op->getLoc();
  ExchangeOp::create(builder, loc, bytesView(loc, from, bytes, Value()), isSame ? 0 : bytes,
                     bytesView(loc, to, bytes, Value()), bytes, all.position + 1, all.count,
                     all.op->getName().stripDialect());
}

/// Packs the tensors one after the other.
Place TaskConverter::packTensors(Collective &all) {
  if (all.isAlone())
    return flat(all.tensors.front().from);
  int64_t elements = 0;
  for (const Collective::Tensor &tensor : all.tensors)
    elements += tensor.from.type.getNumElements();
  Place packed = all.takeScratch(elements);
  packInto(all, packed);
  return packed;
}

void TaskConverter::packInto(const Collective &all, const Place &packed) {
  int64_t at = 0;
  for (const Collective::Tensor &tensor : all.tensors) {
    copy(all.op, tensor.from, behind(packed, at, tensor.from.type));
    at += tensor.from.type.getNumElements();
  }
}

void TaskConverter::unpackTensors(const Collective &all, const Place &packed) {
  int64_t at = 0;
  for (const Collective::Tensor &tensor : all.tensors) {
    copy(all.op, behind(packed, at, tensor.to.type), tensor.to);
    at += tensor.to.type.getNumElements();
  }
}

/// Packs for each member one piece: its parts of all tensors along a dimension.
Place TaskConverter::packParts(Collective &all, int64_t dim) {
  if (all.isAlone() && rowsOf(all.tensors.front().from.type, dim) == 1)
    return flat(all.tensors.front().from);
  int64_t elements = 0;
  for (const Collective::Tensor &tensor : all.tensors)
    elements += tensor.from.type.getNumElements();
  Place packed = all.takeScratch(elements);
  Location loc = all.op->getLoc();
  int64_t at = 0;
  for (int64_t member = 0; member < all.count; ++member)
    for (const Collective::Tensor &tensor : all.tensors) {
      RankedTensorType part = partOf(tensor.from.type, dim, all.count);
      copyPart(loc, tensor.from, behind(packed, at, part), dim,
               arith::ConstantIndexOp::create(builder, loc, member), Direction::FromFull);
      at += part.getNumElements();
    }
  return packed;
}

/// Place for the pieces of all members: the result, if they need no reordering.
Place TaskConverter::takeReceived(Collective &all, int64_t dim) {
  const Place &to = all.tensors.front().to;
  if (all.isAlone() && rowsOf(to.type, dim) == 1 && all.isFree(to))
    return flat(to);
  int64_t elements = 0;
  for (const Collective::Tensor &tensor : all.tensors)
    elements += tensor.to.type.getNumElements();
  return all.takeScratch(elements);
}

/// Unpacks the results, which join the members' parts along a dimension.
void TaskConverter::unpackParts(const Collective &all, const Place &received, int64_t dim) {
  if (!received.isScratch)
    return;
  Location loc = all.op->getLoc();
  int64_t at = 0;
  for (int64_t member = 0; member < all.count; ++member)
    for (const Collective::Tensor &tensor : all.tensors) {
      RankedTensorType part = partOf(tensor.to.type, dim, all.count);
      copyPart(loc, tensor.to, behind(received, at, part), dim,
               arith::ConstantIndexOp::create(builder, loc, member), Direction::IntoFull);
      at += part.getNumElements();
    }
}

// ---- collectives --------------------------------------------------------------------------------

/// Small tensors: all members gather all data, and each sums it. Large tensors: each member sums
/// one piece, and all gather the sums.
LogicalResult TaskConverter::convertAllReduce(Collective &all, mlir::st::ReduceKind kind) {
  int64_t elements = 0, bytes = 0;
  for (const Collective::Tensor &tensor : all.tensors) {
    elements += tensor.from.type.getNumElements();
    bytes += tensor.from.bytes();
  }
  if (bytes <= kMaxGatheredBytes) {
    Place packed = packTensors(all), received = all.takeScratch(all.count * elements);
    exchange(all, packed, /*isSame=*/true, received);
    Place target = all.isAlone() ? flat(all.tensors.front().to) : packed;
    if (failed(reducePieces(all, received, target, kind)))
      return failure();
    if (!all.isAlone())
      unpackTensors(all, target);
    return success();
  }
  const int64_t piece = llvm::divideCeil(elements, all.count);
  const bool isPacked = !all.isAlone() || elements % all.count != 0;
  // The elements after the last one of the last piece are padding.
  Place packed = isPacked ? all.takeScratch(all.count * piece) : flat(all.tensors.front().from);
  if (isPacked)
    packInto(all, packed);
  Place received = all.takeScratch(all.count * piece), sum = all.takeScratch(piece);
  exchange(all, packed, /*isSame=*/false, received);
  if (failed(reducePieces(all, received, sum, kind)))
    return failure();
  Place target = isPacked ? packed : flat(all.tensors.front().to);
  exchange(all, sum, /*isSame=*/true, target);
  if (isPacked)
    unpackTensors(all, target);
  return success();
}

LogicalResult TaskConverter::convertReduceScatter(Collective &all, int64_t dim,
                                                  mlir::st::ReduceKind kind) {
  Place packed = packParts(all, dim), received = all.takeScratch(packed.type.getNumElements());
  exchange(all, packed, /*isSame=*/false, received);
  if (all.isAlone())
    return reducePieces(all, received, flat(all.tensors.front().to), kind);
  Place sum = all.takeScratch(packed.type.getNumElements() / all.count);
  if (failed(reducePieces(all, received, sum, kind)))
    return failure();
  unpackTensors(all, sum);
  return success();
}

LogicalResult TaskConverter::convertPermute(mlir::st::CollectivePermuteOp permute,
                                            const Place &from, const Place &to) {
  const int64_t target = table.addNeighbours(permute.getAxes(), permute.getPairs());
  const int64_t source = target + 1;
  Location loc = permute.getLoc();
  SendOp::create(builder, loc, view(loc, from), target, kPermuteChannel);
  ReceiveOp::create(builder, loc, view(loc, to), source, kPermuteChannel);
  return success();
}

LogicalResult TaskConverter::convertTensors(Collective &all) {
  return TypeSwitch<Operation *, LogicalResult>(all.op)
      .Case([&](mlir::st::AllReduceOp sum) { return convertAllReduce(all, sum.getKind()); })
      .Case([&](mlir::st::AllGatherOp gather) {
        Place packed = packTensors(all), received = takeReceived(all, gather.getDim());
        exchange(all, packed, /*isSame=*/true, received);
        unpackParts(all, received, gather.getDim());
        return success();
      })
      .Case([&](mlir::st::ReduceScatterOp sum) {
        return convertReduceScatter(all, sum.getDim(), sum.getKind());
      })
      .Case([&](mlir::st::AllToAllOp swap) {
        Place packed = packParts(all, swap.getSplitDim());
        Place received = takeReceived(all, swap.getConcatDim());
        exchange(all, packed, /*isSame=*/false, received);
        unpackParts(all, received, swap.getConcatDim());
        return success();
      })
      .Case([&](mlir::st::CollectivePermuteOp permute) {
        return convertPermute(permute, all.tensors.front().from, all.tensors.front().to);
      })
      .Default([](Operation *other) { return other->emitOpError("is not a collective"); });
}

LogicalResult TaskConverter::convertCollective(Operation *op) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  const int64_t position = table.addAxes(axes), count = table.getSize(axes);
  if (count > kMaxMembers)
    return op->emitOpError("of ") << count
                                  << " devices is not supported by the CUDA backend; expected "
                                  << "at most " << kMaxMembers;
  Collective all{op, position, count};
  all.scratchBytes = bodyScratchBytes;
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    FailureOr<Place> from = placeOf(operand), to = placeOf(result);
    if (failed(from) || failed(to))
      return failure();
    if (from->bytes() > 0)
      all.tensors.push_back({*from, *to});
  }
  if (all.tensors.empty())
    return success();
  for (const Collective::Tensor &tensor : all.tensors)
    if (tensor.from.type.getElementType() != all.element())
      return op->emitOpError("of ") << all.element() << " and " << tensor.from.type.getElementType()
                                    << " together is not supported by the CUDA backend";
  LogicalResult done = convertTensors(all);
  scratchBytes = std::max(scratchBytes, all.scratchBytes);
  return done;
}

LogicalResult TaskConverter::convertAllSlice(mlir::st::AllSliceOp slice) {
  FailureOr<Place> from = placeOf(slice.getOperand()), to = placeOf(slice.getResult());
  if (failed(from) || failed(to))
    return failure();
  Collective alone{slice, 0, 1, {{*from, *to}}};
  alone.scratchBytes = bodyScratchBytes;
  Place target = *to;
  if (!alone.isFree(*to))
    target = behind(alone.takeScratch(to->type.getNumElements()), 0, to->type);
  scratchBytes = std::max(scratchBytes, alone.scratchBytes);
  Value position = TableEntryOp::create(builder, slice.getLoc(), builder.getIndexType(),
                                        table.addAxes(slice.getAxes()));
  copyPart(slice.getLoc(), *from, target, slice.getDim(), position, Direction::FromFull);
  copy(slice, target, *to);
  return success();
}

// ---- messages -----------------------------------------------------------------------------------

FailureOr<int64_t> TaskConverter::counterpartIn(Operation *op, FlatSymbolRefAttr group) {
  auto other =
      SymbolTable::lookupNearestSymbolFrom<mlir::st::ProgramOp>(program->getParentOp(), group);
  if (!other)
    return op->emitOpError("names ") << group << ", which is not a program";
  return table.addCounterpart(other);
}

LogicalResult TaskConverter::convertSend(mlir::st::SendOp send) {
  FailureOr<Place> place = placeOf(send.getOperand());
  FailureOr<int64_t> peer = counterpartIn(send, send.getGroupAttr());
  if (failed(place) || failed(peer))
    return failure();
  SendOp::create(builder, send.getLoc(), view(send.getLoc(), *place), *peer, send.getChannel());
  return success();
}

LogicalResult TaskConverter::convertReceive(mlir::st::RecvOp receive) {
  FailureOr<Place> place = placeOf(receive.getResult());
  FailureOr<int64_t> peer = counterpartIn(receive, receive.getGroupAttr());
  if (failed(place) || failed(peer))
    return failure();
  ReceiveOp::create(builder, receive.getLoc(), view(receive.getLoc(), *place), *peer,
                    receive.getChannel());
  return success();
}
