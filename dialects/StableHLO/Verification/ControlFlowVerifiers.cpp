//===- ControlFlowVerifiers.cpp - Constraints of control flow -------------===//
//
// Labels like (C1) are those of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Verification/VerifierUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;

LogicalResult WhileOp::verify() {
  // (C1), (C2)
  Type pred = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  TypeRange carried = getOperandTypes();
  if (failed(verifyBody(*this, "cond", getCond(), carried, {pred})))
    return failure();
  return verifyBody(*this, "body", getBody(), carried, carried);
}

/// Branches have no arguments and return the op's results.
static LogicalResult verifyBranches(Operation *op, ArrayRef<StringRef> names) {
  for (auto [i, branch] : llvm::enumerate(op->getRegions())) {
    std::string name = names.empty() ? "branch " + std::to_string(i) : names[i].str();
    if (failed(verifyBody(op, name, branch, {}, op->getResultTypes())))
      return failure();
  }
  return success();
}

LogicalResult IfOp::verify() {
  // (C1)-(C3)
  return verifyBranches(*this, {"true_branch", "false_branch"});
}

LogicalResult CaseOp::verify() {
  // (C1)-(C4)
  if (getBranches().empty())
    return emitOpError("expects at least one branch");
  return verifyBranches(*this, {});
}

LogicalResult GetTupleElementOp::verify() {
  // (C1)
  if (getIndex() >= cast<TupleType>(getOperand().getType()).size())
    return emitOpError("has no element ") << getIndex() << " in " << getOperand().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// custom_call
//===----------------------------------------------------------------------===//

/// Layouts list the dimensions of each tensor, minor to major.
static LogicalResult verifyLayouts(Operation *op, StringRef name, ArrayAttr layouts,
                                   TypeRange types) {
  if (layouts.size() != types.size())
    return op->emitOpError() << "expects " << types.size() << " " << name << ", got "
                             << layouts.size();
  for (auto [layout, type] : llvm::zip(layouts, types)) {
    auto dims = dyn_cast<DenseIntElementsAttr>(layout);
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    SmallVector<int64_t> order;
    if (dims)
      for (const APInt &dim : dims.getValues<APInt>())
        order.push_back(dim.getSExtValue());
    llvm::sort(order);
    if (!dims || !llvm::equal(order, llvm::seq<int64_t>(0, tensor.getRank())))
      return op->emitOpError() << "expects " << name << " to permute the dimensions of " << type
                               << ", got " << layout;
  }
  return success();
}

LogicalResult CustomCallOp::verify() {
  ArrayAttr operandLayouts = getOperandLayoutsAttr(), resultLayouts = getResultLayoutsAttr();
  if (!operandLayouts != !resultLayouts)
    return emitOpError("expects both operand_layouts and result_layouts, or neither");
  if (operandLayouts) {
    // The layouts of one tuple result are those of its values.
    SmallVector<Type> results(getResultTypes());
    if (results.size() == 1)
      if (auto tuple = dyn_cast<TupleType>(results.front()))
        results.assign(tuple.begin(), tuple.end());
    if (failed(verifyLayouts(*this, "operand_layouts", operandLayouts, getOperandTypes())) ||
        failed(verifyLayouts(*this, "result_layouts", resultLayouts, results)))
      return failure();
  }
  for (auto alias : getOutputOperandAliases().getAsRange<OutputOperandAliasAttr>())
    if (alias.getOperandIndex() < 0 || alias.getOperandIndex() >= getNumOperands())
      return emitOpError("expects operand_index of an alias to be in [0, ")
             << getNumOperands() << "), got " << alias.getOperandIndex();
  return success();
}
