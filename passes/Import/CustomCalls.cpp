#include "passes/Import/CustomCalls.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;
using Direction = hlo::ComparisonDirection;

namespace {
/// Expands one ragged_all_to_all: each device sends a slice of rows to each member of its group.
/// Operands: rows to send, the result's other rows, and for each member the slice's first row, its
/// number of rows, and its first row in the receiver's result; the numbers of rows to receive.
class RaggedExchange {
public:
  RaggedExchange(OpBuilder &builder, hlo::CustomCallOp op, DenseIntElementsAttr groups)
      : emit(builder, op->getBlock(), op.getLoc()), op(op), groups(groups),
        members(groups.getType().getDimSize(1)) {}

  Value run();

private:
  Value gather(Value local);
  Value exchange(Value numbers);
  Value takeRows(Value rows, Value numbers);
  hlo::ChannelHandleAttr channel() {
    return hlo::ChannelHandleAttr::get(op->getContext(), /*handle=*/1, /*type=*/0);
  }

  Emitter emit;
  hlo::CustomCallOp op;
  DenseIntElementsAttr groups;
  int64_t members;
};
} // namespace

/// The rows of all members, one member after the other.
Value RaggedExchange::gather(Value local) {
  SmallVector<int64_t> shape(Emitter::shapeOf(local));
  shape[0] *= members;
  return hlo::AllGatherOp::create(emit.builder, emit.loc,
                                  TypeRange{Emitter::typeOf(local).clone(shape)}, ValueRange{local},
                                  /*all_gather_dim=*/0, groups, channel(),
                                  /*use_global_device_ids=*/true)
      ->getResult(0);
}

/// Element i of the result is the element that member i has for this device.
Value RaggedExchange::exchange(Value numbers) {
  return hlo::AllToAllOp::create(emit.builder, emit.loc, TypeRange{numbers.getType()},
                                 ValueRange{numbers}, /*split_dimension=*/0,
                                 /*concat_dimension=*/0, members, groups, channel())
      ->getResult(0);
}

Value RaggedExchange::takeRows(Value rows, Value numbers) {
  const int64_t rank = Emitter::typeOf(rows).getRank(), count = Emitter::shapeOf(numbers)[0];
  SmallVector<int64_t> sizes(Emitter::shapeOf(rows)), shape(sizes);
  sizes[0] = 1;
  shape[0] = count;
  auto dims = hlo::GatherDimensionNumbersAttr::get(
      op->getContext(), llvm::to_vector(llvm::seq<int64_t>(1, rank)), /*collapsedSliceDims=*/{0},
      {}, {}, /*startIndexMap=*/{0}, /*indexVectorDim=*/1);
  return hlo::GatherOp::create(emit.builder, emit.loc, Emitter::typeOf(rows).clone(shape), rows,
                               emit.reshape(numbers, {count, 1}), dims,
                               emit.builder.getDenseI64ArrayAttr(sizes),
                               /*indices_are_sorted=*/false);
}

Value RaggedExchange::run() {
  Value rows = op->getOperand(0), output = op->getOperand(1);
  const int64_t numRows = Emitter::shapeOf(rows)[0], numResults = Emitter::shapeOf(output)[0];
  Type element = Emitter::typeOf(op->getOperand(2)).getElementType();
  Value first = exchange(op->getOperand(2)), count = exchange(op->getOperand(3)),
        to = exchange(op->getOperand(4));
  // For each member and row of the result: the row's number among the member's rows.
  SmallVector<int64_t> table = {members, numResults};
  const auto spread = [&](Value ofMember) { return emit.broadcast(ofMember, {0}, table); };
  Value row = emit.iota(table, element, 1), member = emit.iota(table, element, 0);
  Value step = emit.sub(row, spread(to));
  Value arrives = emit.bitAnd(emit.compare(Direction::GE, step, emit.zerosLike(step)),
                              emit.compare(Direction::LT, step, spread(count)));
  Value source =
      emit.add(emit.scale(member, static_cast<double>(numRows)), emit.add(step, spread(first)));
  source = emit.reduceMax(emit.select(arrives, source, emit.splatLike(source, -1)), {0});
  Value isReceived = emit.compare(Direction::GE, source, emit.zerosLike(source));
  Value received = takeRows(gather(rows), emit.max(source, emit.zerosLike(source)));
  return emit.select(emit.broadcast(isReceived, {0}, Emitter::shapeOf(output)), received, output);
}

static LogicalResult expandRaggedExchange(hlo::CustomCallOp op) {
  auto config = op->getAttrOfType<DictionaryAttr>("backend_config");
  auto groups = config ? config.getAs<DenseIntElementsAttr>("replica_groups") : nullptr;
  if (op->getNumOperands() != 6 || op->getNumResults() != 1 || !groups ||
      groups.getType().getRank() != 2)
    return op->emitOpError("@ragged_all_to_all expects six operands, one result and "
                           "replica_groups in its backend_config");
  OpBuilder builder(op);
  op->getResult(0).replaceAllUsesWith(RaggedExchange(builder, op, groups).run());
  op->erase();
  return success();
}

bool mlir::st::isCallOf(Operation *op, StringRef target) {
  auto call = dyn_cast_or_null<stablehlo::CustomCallOp>(op);
  return call && call.getCallTargetName() == target;
}

LogicalResult mlir::st::importCustomCalls(ModuleOp module) {
  SmallVector<hlo::CustomCallOp> exchanges, placements;
  module.walk([&](hlo::CustomCallOp op) {
    StringRef target = op.getCallTargetName();
    if (target == "ragged_all_to_all")
      exchanges.push_back(op);
    else if (target == "annotate_device_placement" || target == "LayoutConstraint")
      placements.push_back(op);
  });
  for (hlo::CustomCallOp op : placements) {
    if (TypeRange(op->getOperandTypes()) != TypeRange(op->getResultTypes()))
      return op->emitOpError("@") << op.getCallTargetName()
                                  << " expects results of its operands' types";
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  }
  for (hlo::CustomCallOp op : exchanges)
    if (failed(expandRaggedExchange(op)))
      return failure();
  return success();
}
