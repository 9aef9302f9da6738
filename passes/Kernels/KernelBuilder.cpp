#include "passes/Kernels/KernelBuilder.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Utils/KernelParts.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::st;

/// Pseudo-axes of arguments that do not follow the kernel's space: sliced ones, and the operands of
/// an op that is alone in its kernel.
static constexpr Axes kSliced = ~Axes(0), kOperand = Axes(1) << 31;

// ---- one kernel -------------------------------------------------------------------

KernelBody::KernelBody(const KernelPlan &plan, const PlanNode &node, ArrayRef<Value> outputs)
    : plan(plan), node(node), outputs(outputs), region(std::make_unique<Region>()),
      body(outputs.front().getContext()) {
  body.setInsertionPointToEnd(&region->emplaceBlock());
  SmallVector<Value> yielded;
  for (Value output : outputs) {
    Axes axes = node.materialized.contains(output) ? allAxes(squeeze(output).size())
                                                   : plan.getAxes(output.getDefiningOp());
    yielded.push_back(get(output, axes));
  }
  YieldOp::create(body, outputs.front().getLoc(), yielded);
}

Value KernelBody::argument(Value value, Axes axes) {
  Value &known = this->known[{value.getAsOpaquePointer(), axes}];
  if (!known) {
    known = region->front().addArgument(value.getType(), value.getLoc());
    inputs.push_back(value);
  }
  return known;
}

Value KernelBody::clone(Operation *op, ArrayRef<Value> operands, Value wanted, Axes axes) {
  IRMapping mapping;
  Operation *copy = body.clone(*op, mapping);
  copy->setOperands(operands);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
    known[{from.getAsOpaquePointer(), axes}] = to;
  return known[{wanted.getAsOpaquePointer(), axes}];
}

Value KernelBody::get(Value value, Axes axes) {
  auto found = known.find({value.getAsOpaquePointer(), axes});
  if (found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  bool inlined = plan.getKinds().isInline(value);
  bool own = node.ops.contains(op);
  if (!own && !inlined)
    return argument(value, axes);
  bool alone = own && (node.kind == PlanNode::Copy || node.kind == PlanNode::Gather ||
                       node.kind == PlanNode::Scatter || isa<stablehlo::DotGeneralOp>(op));
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *producer = operand.get().getDefiningOp();
    if (alone && node.kind == PlanNode::Attention && node.ops.contains(producer))
      operands.push_back(get(operand.get(), plan.getAxes(producer)));
    else if (alone && !isFilled(operand))
      operands.push_back(argument(operand.get(), kOperand + operand.getOperandNumber()));
    else if (alone)
      operands.push_back(get(operand.get(), allAxes(squeeze(operand.get()).size())));
    else if (isa<stablehlo::SliceOp>(op))
      operands.push_back(argument(operand.get(), kSliced));
    else
      operands.push_back(get(operand.get(), getOperandAxes(operand, axes, node.space)));
  }
  return clone(op, operands, value, axes);
}

static StringRef getKindName(PlanNode::Kind kind) {
  switch (kind) {
  case PlanNode::TaskOp:
    break;
  case PlanNode::Loop:
    return "loop";
  case PlanNode::Attention:
    return "attention";
  case PlanNode::Reduce:
    return "reduce";
  case PlanNode::Matmul:
    return "matmul";
  case PlanNode::Copy:
    return "copy";
  case PlanNode::Gather:
    return "gather";
  case PlanNode::Scatter:
    return "scatter";
  }
  llvm_unreachable("not a kernel");
}

Operation *KernelBody::create(OpBuilder &builder, ValueRange operands) {
  SmallVector<Type> types =
      llvm::map_to_vector(outputs, [](Value value) { return value.getType(); });
  Operation *main = node.ops.empty() ? outputs.front().getDefiningOp() : node.ops.front();
  auto kernel = KernelOp::create(builder, main->getLoc(), types,
                                 builder.getStringAttr(getKindName(node.kind)), operands);
  kernel.getBody().takeBody(*region);
  if (node.streamed && plan.marksStreamed())
    kernel->setAttr(kStreamedAttr, builder.getUnitAttr());
  return kernel;
}

// ---- the task ---------------------------------------------------------------------

/// Records that a value must be in memory.
void TaskRebuilder::demand(Value value) {
  const PlanNode &home = plan.getHome(value);
  if (home.kind == PlanNode::TaskOp)
    return;
  // An alias refers to the value that its operand's kernel writes.
  while (!home.materialized.contains(value) && !home.ops.contains(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  outputs[&home].insert(value);
}

/// Builds the kernels from last to first, so that the values that later kernels read are known.
void TaskRebuilder::planBodies() {
  SmallVector<const PlanNode *> order = plan.getOrder();
  for (const PlanNode *node : llvm::reverse(order)) {
    for (Operation *write : node->writes)
      demand(cast<WriteOp>(write).getValue());
    if (node->kind == PlanNode::TaskOp) {
      for (Value operand : node->ops.front()->getOperands())
        if (isa<RankedTensorType>(operand.getType()))
          demand(operand);
      continue;
    }
    auto found = outputs.find(node);
    if (found == outputs.end())
      continue;
    auto body = std::make_unique<KernelBody>(plan, *node, found->second.getArrayRef());
    for (Value input : body->getInputs())
      demand(input);
    bodies[node] = std::move(body);
  }
}

Value TaskRebuilder::getTaskValue(OpBuilder &builder, Value value) {
  auto found = values.find(value);
  if (found != values.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  Value source = getTaskValue(builder, op->getOperand(0));
  Value alias = stablehlo::ReshapeOp::create(builder, op->getLoc(), value.getType(), source);
  values[value] = alias;
  return alias;
}

void TaskRebuilder::emit(OpBuilder &builder, const PlanNode &node) {
  auto moveOp = [&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        operand.set(getTaskValue(builder, operand.get()));
    op->remove();
    builder.insert(op);
    for (Value result : op->getResults())
      values[result] = result;
  };
  if (node.kind == PlanNode::TaskOp) {
    moveOp(node.ops.front());
  } else if (auto found = bodies.find(&node); found != bodies.end()) {
    SmallVector<Value> operands;
    for (Value input : found->second->getInputs())
      operands.push_back(getTaskValue(builder, input));
    Operation *kernel = found->second->create(builder, operands);
    for (auto [original, result] : llvm::zip_equal(outputs[&node], kernel->getResults()))
      values[original] = result;
  }
  for (Operation *write : node.writes)
    moveOp(write);
}

int64_t TaskRebuilder::run() {
  planBodies();
  // Remaining ops move back from the old body; the others are dropped with it.
  Block rest;
  rest.getOperations().splice(rest.end(), task.getOperations());
  OpBuilder builder = OpBuilder::atBlockEnd(&task);
  for (const PlanNode *node : plan.getOrder())
    emit(builder, *node);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(rest)))
    op.erase();
  return bodies.size();
}
