#include "dialects/St/Utils/KernelParts.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::st;

KernelOp mlir::st::makePart(OpBuilder &builder, KernelOp source, StringRef kind,
                            ArrayRef<Value> outputs, ArrayRef<Cut> cuts) {
  Block &body = source.getBody().front();
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
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), source.getInputs()))
    addInput(argument, input);
  for (const Cut &cut : cuts)
    addInput(cut.inside, cut.outside);
  SmallVector<Type> types =
      llvm::map_to_vector(outputs, [](Value value) { return value.getType(); });
  auto kernel =
      KernelOp::create(builder, source.getLoc(), types, builder.getStringAttr(kind), inputs);
  kernel->setDiscardableAttrs(source->getDiscardableAttrDictionary());
  kernel.getBody().push_back(part);
  OpBuilder inside = OpBuilder::atBlockEnd(part);
  for (Operation &op : body.without_terminator())
    if (isIn(op))
      inside.clone(op, mapping);
  YieldOp::create(inside, source.getLoc(),
                  llvm::map_to_vector(outputs, [&](Value value) { return mapping.lookup(value); }));
  return kernel;
}

KernelOp mlir::st::splitKernel(KernelOp kernel, StringRef kind, ArrayRef<Cut> cuts) {
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
  KernelOp left;
  if (!rest.empty())
    left = makePart(builder, kernel, kind, rest, cuts);
  size_t next = 0;
  for (auto [old, result] : llvm::zip_equal(kernel.getResults(), results))
    old.replaceAllUsesWith(result ? result : left.getResult(next++));
  kernel.erase();
  return left;
}

LogicalResult mlir::st::checkUnplanned(KernelOp kernel, StringRef pass) {
  if (!kernel->hasAttr("st.addresses"))
    return success();
  return kernel.emitOpError("already has an address: run ") << pass << " before plan-memory";
}

Value mlir::st::makeKernel(OpBuilder &builder, KernelOp user, StringRef kind, ValueRange inputs,
                           Type type, MakeBody body) {
  Location loc = user.getLoc();
  auto kernel = KernelOp::create(builder, loc, type, builder.getStringAttr(kind), inputs);
  kernel->setDiscardableAttrs(user->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&kernel.getBody(), {}, inputs.getTypes(),
                                     SmallVector<Location>(inputs.size(), loc));
  YieldOp::create(builder, loc, body(builder, block->getArguments()));
  return kernel.getResult(0);
}
