#include "backends/cuda/codegen/KernelParts.h"

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

Value mlir::cuda::makeConversion(OpBuilder &builder, mlir::st::KernelOp user, Value value,
                                 Type element) {
  Location loc = user.getLoc();
  Type result = cast<RankedTensorType>(value.getType()).clone(element);
  auto kernel = mlir::st::KernelOp::create(builder, loc, result, builder.getStringAttr("loop"),
                                           ValueRange(value));
  kernel->setDiscardableAttrs(user->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&kernel.getBody(), {}, value.getType(), loc);
  Value converted = stablehlo::ConvertOp::create(builder, loc, result, body->getArgument(0));
  mlir::st::YieldOp::create(builder, loc, converted);
  return kernel.getResult(0);
}
