// Collectives as copies and kernels that read what other ranks have in their arenas. All members
// meet before, so that operands are there, and after all have read, so that they may be
// overwritten. What lies where an operand lies waits in scratch memory until then. Sums are made in
// the order of the members, the same on each.
#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/TaskConverter.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <functional>

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

/// A kernel that adds up takes an argument for each member.
static constexpr int64_t kMostMembers = 256;
static constexpr uint64_t kScratchAlignment = 256;

struct TaskConverter::Exchange {
  Operation *op;
  /// Entry of the table with the rank's position, behind it those with the ranks of all members.
  int64_t position = 0, count = 1;
  SmallVector<Place> operands;
  int64_t scratchBytes = 0;
  SmallVector<std::function<LogicalResult()>> afterwards; ///< what follows the second meeting

  Place memberPlace(const Place &place, int64_t member) const {
    Place there = place;
    there.peer = position + 1 + member;
    return there;
  }

  /// Memory of the collective for a tensor.
  Place takeScratch(RankedTensorType type) {
    auto address = mlir::st::AddressAttr::get(op->getContext(), scratchBytes, 0, 1);
    Place place{address, type};
    place.isScratch = true;
    scratchBytes += llvm::alignTo(place.bytes(), kScratchAlignment);
    return place;
  }

  /// Whether nobody reads a place during the collective.
  bool isFree(const Place &place) const {
    return llvm::none_of(operands, [&](const Place &operand) {
      auto end = [](const Place &of) {
        return of.address.getOffset() + (of.address.getSlots() - 1) * of.address.getStride() +
               of.bytes();
      };
      return place.address.getOffset() < end(operand) && operand.address.getOffset() < end(place);
    });
  }
};

// ---- parts --------------------------------------------------------------------------------------

static RankedTensorType partOf(RankedTensorType type, int64_t dim, int64_t count) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= count;
  return RankedTensorType::get(shape, type.getElementType());
}

void TaskConverter::copyPart(Location loc, const Place &whole, const Place &part, int64_t dim,
                             Value number, Direction direction) {
  if (part.bytes() == 0)
    return;
  int64_t rows = 1;
  for (int64_t size : part.type.getShape().take_front(dim))
    rows *= size;
  const int64_t rowBytes = part.bytes() / rows, pitch = whole.bytes() / rows;
  auto rowType = MemRefType::get({rowBytes}, builder.getI8Type());
  // A view begins where the place does, and the part of the whole so many rows of it further.
  auto firstRow = [&](const Place &place, Value further) -> Value {
    auto begin = view(loc, place).getDefiningOp<memref::ViewOp>();
    Value offset = begin.getByteShift();
    if (further) {
      Value width = arith::ConstantIndexOp::create(builder, loc, rowBytes);
      Value distance = arith::MulIOp::create(builder, loc, further, width);
      offset = arith::AddIOp::create(builder, loc, offset, distance);
    }
    return memref::ViewOp::create(builder, loc, rowType, begin.getSource(), offset, ValueRange());
  };
  Value inWhole = firstRow(whole, number), inPart = firstRow(part, Value());
  if (direction == Direction::FromWhole)
    CopyRowsOp::create(builder, loc, inWhole, inPart, rows, pitch, rowBytes);
  else
    CopyRowsOp::create(builder, loc, inPart, inWhole, rows, rowBytes, pitch);
}

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

/// The loop kernel that reduces places of one type. 16-bit floats are added up in f32 and rounded
/// once.
LogicalResult TaskConverter::reduce(Operation *op, ArrayRef<Place> parts, const Place &to,
                                    mlir::st::ReduceKind kind) {
  OpBuilder ir(op->getContext());
  Location loc = op->getLoc();
  Value like = op->getResult(0);
  for (Value result : op->getResults())
    if (result.getType() == to.type)
      like = result;
  SmallVector<Value> operands(parts.size(), like);
  ownKernels.emplace_back(
      mlir::st::KernelOp::create(ir, loc, TypeRange(to.type), ir.getStringAttr("loop"), operands));
  mlir::st::KernelOp kernel = *ownKernels.back();
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

// ---- collectives --------------------------------------------------------------------------------

void TaskConverter::meet(const Exchange &exchange) {
  MeetOp::create(builder, exchange.op->getLoc(), exchange.position + 1, exchange.count);
}

/// One tensor of a collective, between its meetings.
LogicalResult TaskConverter::exchange(Exchange &exchange, const Place &from, const Place &to) {
  Operation *op = exchange.op;
  Location loc = op->getLoc();
  auto constant = [this, loc](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<Place> operands;
  for (int64_t member = 0; member < exchange.count; ++member)
    operands.push_back(exchange.memberPlace(from, member));
  // Where a whole result is made, and then copied from.
  auto takeTarget = [&] {
    if (exchange.isFree(to))
      return to;
    Place target = exchange.takeScratch(to.type);
    exchange.afterwards.push_back([this, op, target, to] { return copy(op, target, to); });
    return target;
  };
  // This rank's part of what each member has.
  auto takeParts = [&](int64_t dim) {
    Value position = TableEntryOp::create(builder, loc, builder.getIndexType(), exchange.position);
    SmallVector<Place> parts;
    for (const Place &operand : operands) {
      parts.push_back(exchange.takeScratch(partOf(from.type, dim, exchange.count)));
      copyPart(loc, operand, parts.back(), dim, position, Direction::FromWhole);
    }
    return parts;
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mlir::st::AllReduceOp sum) {
        return reduce(op, operands, takeTarget(), sum.getKind());
      })
      .Case([&](mlir::st::AllGatherOp gather) {
        Place target = takeTarget();
        for (auto [member, operand] : llvm::enumerate(operands))
          copyPart(loc, target, operand, gather.getDim(), constant(member), Direction::IntoWhole);
        return success();
      })
      .Case([&](mlir::st::ReduceScatterOp sum) {
        SmallVector<Place> parts = takeParts(sum.getDim());
        exchange.afterwards.push_back(
            [this, op, parts, to, kind = sum.getKind()] { return reduce(op, parts, to, kind); });
        return success();
      })
      .Case([&](mlir::st::AllToAllOp swap) {
        SmallVector<Place> parts = takeParts(swap.getSplitDim());
        const int64_t dim = swap.getConcatDim();
        exchange.afterwards.push_back([this, loc, constant, parts, to, dim] {
          for (auto [member, part] : llvm::enumerate(parts))
            copyPart(loc, to, part, dim, constant(member), Direction::IntoWhole);
          return success();
        });
        return success();
      })
      .Case([&](mlir::st::CollectivePermuteOp permute) {
        Place source = from;
        source.peer = table.addSources(permute.getAxes(), permute.getPairs());
        copyPart(loc, source, takeTarget(), 0, Value(), Direction::FromWhole);
        return success();
      })
      .Default([](Operation *other) { return other->emitOpError("is no collective"); });
}

LogicalResult TaskConverter::convertCollective(Operation *op) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  Exchange all{op};
  all.position = table.addAxes(axes);
  all.count = table.getSize(axes);
  if (all.count > kMostMembers)
    return op->emitOpError("of ") << all.count << " devices has no CUDA code generation; expected "
                                  << "at most " << kMostMembers;
  SmallVector<Place> results;
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    FailureOr<Place> from = placeOf(operand), to = placeOf(result);
    if (failed(from) || failed(to))
      return failure();
    all.operands.push_back(*from);
    results.push_back(*to);
  }
  meet(all);
  for (auto [from, to] : llvm::zip_equal(SmallVector<Place>(all.operands), results))
    if (from.bytes() > 0 && failed(exchange(all, from, to)))
      return failure();
  meet(all);
  for (const std::function<LogicalResult()> &finish : all.afterwards)
    if (failed(finish()))
      return failure();
  scratchBytes = std::max(scratchBytes, all.scratchBytes);
  return success();
}

LogicalResult TaskConverter::convertAllSlice(mlir::st::AllSliceOp slice) {
  FailureOr<Place> from = placeOf(slice.getOperand()), to = placeOf(slice.getResult());
  if (failed(from) || failed(to))
    return failure();
  Exchange alone{slice};
  alone.operands.push_back(*from);
  Place target = alone.isFree(*to) ? *to : alone.takeScratch(to->type);
  scratchBytes = std::max(scratchBytes, alone.scratchBytes);
  Value position = TableEntryOp::create(builder, slice.getLoc(), builder.getIndexType(),
                                        table.addAxes(slice.getAxes()));
  copyPart(slice.getLoc(), *from, target, slice.getDim(), position, Direction::FromWhole);
  return copy(slice, target, *to);
}

// ---- messages -----------------------------------------------------------------------------------

FailureOr<int64_t> TaskConverter::counterpartIn(Operation *op, FlatSymbolRefAttr group) {
  auto other =
      SymbolTable::lookupNearestSymbolFrom<mlir::st::ProgramOp>(program->getParentOp(), group);
  if (!other)
    return op->emitOpError("names ") << group << ", which is no program";
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
