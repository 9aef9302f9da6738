//===- CollectiveVerifiers.cpp - Constraints of collectives ---------------===//
//
// Labels like (C1) are those of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Verification/VerifierUtils.h"

#include <set>

using namespace mlir;
using namespace mlir::stablehlo;

/// Each row is a group; a device is in one at most.
static LogicalResult verifyReplicaGroups(Operation *op, DenseIntElementsAttr groups) {
  if (groups.getType().getRank() != 2)
    return op->emitOpError("expects replica_groups with 2 dimensions, got ") << groups.getType();
  // A member that is -1 pads a smaller group. Any number may be in the text, also
  // those that hash tables of LLVM reserve.
  std::set<int64_t> seen;
  for (int64_t member : groups.getValues<int64_t>()) {
    if (member < -1)
      return op->emitOpError("expects members of replica_groups to be -1 or more, got ") << member;
    if (member != -1 && !seen.insert(member).second)
      return op->emitOpError("expects members of replica_groups to be distinct, got ")
             << member << " twice";
  }
  return success();
}

/// The operand with `dim` multiplied by the size of a group is the result.
static LogicalResult verifyScaled(Operation *op, StringRef name, Type small, Type large,
                                  int64_t dim, DenseIntElementsAttr groups) {
  auto from = cast<RankedTensorType>(small), to = cast<RankedTensorType>(large);
  if (dim >= from.getRank())
    return op->emitOpError() << "expects " << name << " to be in [0, " << from.getRank()
                             << "), got " << dim;
  SmallVector<int64_t> shape(from.getShape());
  shape[dim] *= groups.getType().getDimSize(1);
  if (to.getElementType() != from.getElementType() || to.getShape() != ArrayRef(shape))
    return op->emitOpError() << "expects sizes in dimension " << dim << " that differ by "
                             << groups.getType().getDimSize(1) << ", the size of a group, got "
                             << small << " and " << large;
  return success();
}

/// The body combines two elements.
static LogicalResult verifyComputation(Operation *op, Region &body, Type operand) {
  Type element = scalarOf(operand);
  return verifyBody(op, "computation", body, {element, element}, {element});
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyReplicaGroups(*this, getReplicaGroups())))
    return failure();
  for (Type operand : getOperandTypes())
    if (failed(verifyComputation(*this, getComputation(), operand)))
      return failure();
  return success();
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyReplicaGroups(*this, getReplicaGroups())))
    return failure();
  if (getNumOperands() != getNumResults())
    return emitOpError("expects as many operands as results, got ")
           << getNumOperands() << " and " << getNumResults();
  for (auto [operand, result] : llvm::zip(getOperandTypes(), getResultTypes()))
    if (failed(verifyScaled(*this, "all_gather_dim", operand, result, getAllGatherDim(),
                            getReplicaGroups())))
      return failure();
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyReplicaGroups(*this, getReplicaGroups())) ||
      failed(verifyScaled(*this, "scatter_dimension", getType(), getOperand().getType(),
                          getScatterDimension(), getReplicaGroups())))
    return failure();
  return verifyComputation(*this, getComputation(), getOperand().getType());
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyReplicaGroups(*this, getReplicaGroups())))
    return failure();
  int64_t split = getSplitDimension(), concat = getConcatDimension(), count = getSplitCount();
  if (getReplicaGroups().getType().getDimSize(1) != count)
    return emitOpError("expects split_count to be ")
           << getReplicaGroups().getType().getDimSize(1) << ", the size of a group, got " << count;
  for (Type type : getOperandTypes()) {
    auto operand = cast<RankedTensorType>(type);
    if (split >= operand.getRank() || concat >= operand.getRank())
      return emitOpError("expects split_dimension and concat_dimension to be in [0, ")
             << operand.getRank() << "), got " << split << " and " << concat;
    if (operand.getDimSize(split) % count != 0)
      return emitOpError("expects split_count ")
             << count << " to divide dimension " << split << " of " << operand;
  }
  return success();
}

LogicalResult CollectiveBroadcastOp::verify() {
  return verifyReplicaGroups(*this, getReplicaGroups());
}

LogicalResult CollectivePermuteOp::verify() {
  DenseIntElementsAttr pairs = getSourceTargetPairs();
  if (pairs.getType().getRank() != 2 || pairs.getType().getDimSize(1) != 2)
    return emitOpError("expects source_target_pairs of the shape Nx2, got ") << pairs.getType();
  std::set<int64_t> seen[2];
  for (auto [i, device] : llvm::enumerate(pairs.getValues<int64_t>())) {
    if (device < 0)
      return emitOpError("expects source_target_pairs to be 0 or more, got ") << device;
    if (!seen[i % 2].insert(device).second)
      return emitOpError("expects one pair for each ")
             << (i % 2 ? "target" : "source") << ", got " << device << " twice";
  }
  return success();
}
