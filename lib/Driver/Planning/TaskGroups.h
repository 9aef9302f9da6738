// The work of one task, with its ops in groups that a framework may compute in one kernel.
#ifndef ST_DRIVER_PLANNING_TASKGROUPS_H
#define ST_DRIVER_PLANNING_TASKGROUPS_H

#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Proto/work.pb.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <string>

namespace mlir::st {

/// The task and block that an op comes from.
struct NameScope {
  std::string path; ///< the scopes of the front end's layers, as "transformer.h.0/attn/dropout"
  bool isGradient = false;

  StringRef region() const {
    return StringRef(path).rsplit('/').second.empty() ? StringRef(path)
                                                      : StringRef(path).rsplit('/').second;
  }
};

/// Tensors passed between ops of the forward pass.
class TensorIndex {
public:
  TensorIndex(::st::proto::ProgramWork &work, const DenseMap<Operation *, int64_t> &blocks)
      : work(work), blocks(blocks) {}

  /// The index of a value's tensor; none for weights, batches and values other than floats.
  std::optional<uint32_t> find(Value value, double bytes);

private:
  ::st::proto::ProgramWork &work;
  const DenseMap<Operation *, int64_t> &blocks;
  DenseMap<Value, uint32_t> indices;
};

/// One task, with its ops in groups.
class TaskGroups {
public:
  TaskGroups(TaskOp task, const DenseMap<Operation *, int64_t> &blocks, TensorIndex &tensors)
      : task(task), phase(task.getPhase()), blocks(blocks), tensors(tensors) {}

  void gather(llvm::MapVector<int64_t, ::st::proto::PhaseWork> &byBlock);
  static NameScope scopeOf(Operation *op);

private:
  void group();
  void connect(Operation *op, llvm::MapVector<Value, SmallVector<Operation *>> &users);
  double bytesOf(Value value) const;
  ::st::proto::OpWork sumUp(ArrayRef<Operation *> ops) const;
  void nameTensors(const llvm::SetVector<Value> &taken, const llvm::SetVector<Value> &outputs,
                   ::st::proto::OpWork &work) const;
  ::st::proto::ElementType narrowestFloat(const llvm::SetVector<Value> &taken,
                                          const llvm::SetVector<Value> &left) const;
  void describeProduct(stablehlo::DotGeneralOp dot, ::st::proto::OpWork &work) const;
  void describeCollective(Operation *op, ::st::proto::OpWork &work) const;

  TaskOp task;
  const StringRef phase;
  const DenseMap<Operation *, int64_t> &blocks;
  TensorIndex &tensors;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, NameScope> scopes;
  llvm::EquivalenceClasses<Operation *> groups;
};

} // namespace mlir::st

#endif // ST_DRIVER_PLANNING_TASKGROUPS_H
