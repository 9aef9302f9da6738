#include "backends/cuda/codegen/kernels/KernelParts.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::cuda;

mlir::st::KernelOp mlir::cuda::makePart(OpBuilder &builder, mlir::st::KernelOp whole,
                                        StringRef kind, ArrayRef<Value> outputs,
                                        ArrayRef<Cut> cuts) {
  Block &body = whole.getBody().front();
  DenseSet<Value> needed(outputs.begin(), outputs.end());
  auto isCut = [&](Value value) {
    return llvm::any_of(cuts, [&](const Cut &cut) { return cut.inside == value; });
  };
  auto isIn = [&](Operation &op) {
    return llvm::any_of(op.getResults(),
                        [&](Value result) { return !isCut(result) && needed.contains(result); });
  };
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (isIn(op))
      op.walk(
          [&](Operation *inner) { needed.insert(inner->operand_begin(), inner->operand_end()); });
  SmallVector<Value> inputs;
  auto *part = new Block;
  IRMapping mapping;
  auto addInput = [&](Value inside, Value outside) {
    if (!needed.contains(inside))
      return;
    inputs.push_back(outside);
    mapping.map(inside, part->addArgument(inside.getType(), inside.getLoc()));
  };
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), whole.getInputs()))
    addInput(argument, input);
  for (const Cut &cut : cuts)
    addInput(cut.inside, cut.outside);
  SmallVector<Type> types =
      llvm::map_to_vector(outputs, [](Value value) { return value.getType(); });
  auto kernel = mlir::st::KernelOp::create(builder, whole.getLoc(), types,
                                           builder.getStringAttr(kind), inputs);
  kernel->setDiscardableAttrs(whole->getDiscardableAttrDictionary());
  kernel.getBody().push_back(part);
  OpBuilder inside = OpBuilder::atBlockEnd(part);
  for (Operation &op : body.without_terminator())
    if (isIn(op))
      inside.clone(op, mapping);
  mlir::st::YieldOp::create(inside, whole.getLoc(), llvm::map_to_vector(outputs, [&](Value value) {
                              return mapping.lookup(value);
                            }));
  return kernel;
}

mlir::st::KernelOp mlir::cuda::splitKernel(mlir::st::KernelOp kernel, StringRef kind,
                                           ArrayRef<Cut> cuts) {
  OpBuilder builder(kernel);
  Operation *yield = kernel.getBody().front().getTerminator();
  SmallVector<Value> rest;
  SmallVector<Value> results(kernel.getNumResults());
  for (auto [value, result] : llvm::zip_equal(yield->getOperands(), results)) {
    for (const Cut &cut : cuts)
      if (cut.inside == value)
        result = cut.outside;
    if (!result)
      rest.push_back(value);
  }
  mlir::st::KernelOp left;
  if (!rest.empty())
    left = makePart(builder, kernel, kind, rest, cuts);
  size_t next = 0;
  for (auto [old, result] : llvm::zip_equal(kernel.getResults(), results))
    old.replaceAllUsesWith(result ? result : left.getResult(next++));
  kernel.erase();
  return left;
}

LogicalResult mlir::cuda::checkUnplanned(mlir::st::KernelOp kernel, StringRef pass) {
  if (!kernel->hasAttr("st.addresses"))
    return success();
  return kernel.emitOpError("already has an address: run ") << pass << " before plan-memory";
}

Value mlir::cuda::makeKernel(OpBuilder &builder, mlir::st::KernelOp user, StringRef kind,
                             ValueRange inputs, Type type, KernelBody body) {
  Location loc = user.getLoc();
  auto kernel = mlir::st::KernelOp::create(builder, loc, type, builder.getStringAttr(kind), inputs);
  kernel->setDiscardableAttrs(user->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&kernel.getBody(), {}, inputs.getTypes(),
                                     SmallVector<Location>(inputs.size(), loc));
  mlir::st::YieldOp::create(builder, loc, body(builder, block->getArguments()));
  return kernel.getResult(0);
}

Value mlir::cuda::makeConversion(OpBuilder &builder, mlir::st::KernelOp user, Value value,
                                 Type element) {
  Type result = cast<RankedTensorType>(value.getType()).clone(element);
  return makeKernel(builder, user, "loop", value, result,
                    [&](OpBuilder &inside, ValueRange inputs) -> Value {
                      return stablehlo::ConvertOp::create(inside, user.getLoc(), result, inputs[0]);
                    });
}
