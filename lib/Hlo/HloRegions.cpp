// Computations that an instruction calls as regions of its op.
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Hlo/HloToStableHlo.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;
namespace sh = mlir::stablehlo;

/// Fills a region with a called computation, whose arguments are those of the block, of `types`, or
/// values that the region captures.
LogicalResult HloToStableHlo::fillRegion(const hlo::Instruction &at, Region &region, int index,
                                         ArrayRef<Type> types, ValueRange captured) {
  FailureOr<const hlo::Computation *> computation = called(at, index);
  if (failed(computation))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locations(types.size(), locationOf(at));
  Block *block = builder.createBlock(&region, region.end(), types, locations);
  FailureOr<HloValues> results = emitComputation(
      **computation, captured.empty() ? ValueRange(block->getArguments()) : captured);
  if (failed(results))
    return failure();
  sh::ReturnOp::create(builder, locationOf(at), *results);
  return success();
}

/// The type of one element.
static Type scalarOf(Value value) {
  return RankedTensorType::get({}, cast<RankedTensorType>(value.getType()).getElementType());
}

LogicalResult HloToStableHlo::addRegions(const hlo::Instruction &at, ArrayRef<HloResult> operands,
                                         OperationState &state) {
  StringRef opcode = at.opcode();
  SmallVector<Type> scalars;
  if (opcode == "reduce" || opcode == "scatter" || opcode == "reduce-window") {
    for (size_t i = 0; i < state.types.size() && i < state.operands.size(); ++i)
      scalars.push_back(scalarOf(state.operands[i]));
    scalars.append(SmallVector<Type>(scalars));
    return fillRegion(at, *state.addRegion(), 0, scalars);
  }
  if (opcode == "all-reduce" || opcode == "reduce-scatter" || opcode == "select-and-scatter") {
    if (state.operands.empty())
      return error(at) << "has no operands";
    scalars.append(2, scalarOf(state.operands[0]));
    int count = opcode == "select-and-scatter" ? 2 : 1;
    for (int i = 0; i < count; ++i)
      if (failed(fillRegion(at, *state.addRegion(), i, scalars)))
        return failure();
    return success();
  }
  if (opcode == "sort" || opcode == "map") {
    for (Value operand : state.operands)
      scalars.append(opcode == "sort" ? 2 : 1, scalarOf(operand));
    return fillRegion(at, *state.addRegion(), 0, scalars);
  }
  if (opcode == "while") {
    // HLO lists the body first, StableHLO the condition.
    Region *condition = state.addRegion(), *body = state.addRegion();
    return success(succeeded(fillRegion(at, *condition, 1, state.types)) &&
                   succeeded(fillRegion(at, *body, 0, state.types)));
  }
  return opcode == "conditional" ? addConditional(at, operands, state) : success();
}

/// A branch has one operand, a tensor or a tuple, after the predicate or index.
LogicalResult HloToStableHlo::addConditional(const hlo::Instruction &at,
                                             ArrayRef<HloResult> operands, OperationState &state) {
  int branches = at.called_computation_ids_size();
  if (static_cast<int>(operands.size()) != branches + 1 || operands[0].values.size() != 1)
    return error(at) << "has " << operands.size() << " operands for " << branches << " branches";
  Value choice = operands[0].values[0];
  bool isPredicate = getElementTypeOrSelf(choice.getType()).isInteger(1);
  if (isPredicate && branches != 2)
    return error(at) << "has " << branches << " branches for a predicate";
  state.name = OperationName(isPredicate ? "stablehlo.if" : "stablehlo.case", context);
  state.operands.assign({choice});
  for (int i = 0; i < branches; ++i)
    if (failed(fillRegion(at, *state.addRegion(), i, {}, operands[i + 1].values)))
      return failure();
  return success();
}
