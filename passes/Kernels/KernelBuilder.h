// Builds st.kernel ops from a task's plan.
#pragma once

#include "mlir/IR/Builders.h"
#include "passes/Kernels/KernelPlan.h"
#include <map>
#include <memory>

namespace mlir::st {

/// The body of one kernel; its inputs and results are values of the task before fusion.
class KernelBody {
public:
  KernelBody(const KernelPlan &plan, const PlanNode &node, ArrayRef<Value> outputs);

  ArrayRef<Value> getInputs() const { return inputs; }
  /// Creates the kernel; `operands` are the task's values of the inputs.
  Operation *create(OpBuilder &builder, ValueRange operands);

private:
  Value get(Value value, Axes axes);
  Value argument(Value value, Axes axes);
  Value clone(Operation *op, ArrayRef<Value> operands, Value wanted, Axes axes);

  const KernelPlan &plan;
  const PlanNode &node;
  SmallVector<Value> outputs;
  SmallVector<Value> inputs;
  std::unique_ptr<Region> region;
  OpBuilder body;
  std::map<std::pair<void *, Axes>, Value> known; ///< values of the body, by original and alignment
};

/// Rebuilds a task's body from its plan.
class TaskRebuilder {
public:
  TaskRebuilder(Block &task, const KernelPlan &plan) : task(task), plan(plan) {}
  /// Returns the number of kernels.
  int64_t run();

private:
  void demand(Value value);
  void planBodies();
  void emit(OpBuilder &builder, const PlanNode &node);
  Value getTaskValue(OpBuilder &builder, Value value);

  Block &task;
  const KernelPlan &plan;
  DenseMap<const PlanNode *, llvm::SetVector<Value>> outputs;
  DenseMap<const PlanNode *, std::unique_ptr<KernelBody>> bodies;
  DenseMap<Value, Value> values; ///< original values to those of the new body
};

} // namespace mlir::st
