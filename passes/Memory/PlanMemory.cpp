#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "passes/Memory/Capacity.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/TaskMemory.h"

namespace mlir::st {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Memory/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct PlanMemory : mlir::st::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override;
  LogicalResult plan(ProgramOp program, int64_t alignment, int64_t microBatches);
};
} // namespace

static bool usesHost(Operation *module) {
  for (auto program : cast<ModuleOp>(module).getOps<ProgramOp>())
    for (auto buffer : program.getOps<BufferOp>())
      if (buffer.isOnHost())
        return true;
  return false;
}

/// Programs of a module have the same classes.
static void record(ProgramOp program, const StorageLayout &layout, MemoryClasses classes,
                   int64_t arenaBytes) {
  OpBuilder builder(program);
  auto entry = [&](StringRef name, int64_t bytes) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(bytes));
  };
  program->setAttr(kArenaBytesAttr, builder.getI64IntegerAttr(arenaBytes));
  SmallVector<NamedAttribute> entries = {
      entry("parameters", classes.parameters), entry("optimizer", classes.optimizer),
      entry("gradients", classes.gradients),   entry("activations", classes.activations),
      entry("workspace", classes.workspace),   entry("inputs", classes.inputs)};
  if (usesHost(program->getParentOp()))
    entries.push_back(entry("host", classes.host));
  if (layout.getHostEnd() > 0)
    program->setAttr(kHostArenaBytesAttr, builder.getI64IntegerAttr(layout.getHostEnd()));
  program->setAttr(kMemoryAttr, builder.getDictionaryAttr(entries));
}

LogicalResult PlanMemory::plan(ProgramOp program, int64_t alignment, int64_t microBatches) {
  StorageLayout layout(program, alignment, microBatches);
  SmallVector<TaskMemory, 0> tasks;
  int64_t areaBytes = 0;
  for (auto task : program.getOps<TaskOp>()) {
    FailureOr<TaskMemory> memory = TaskMemory::compute(task.getBody().front(), layout);
    if (failed(memory))
      return failure();
    areaBytes = std::max(areaBytes, memory->place(alignment));
    numInPlace += memory->getNumInPlace();
    tasks.push_back(std::move(*memory));
  }
  for (TaskMemory &memory : tasks)
    memory.annotate(layout.getEnd());
  MemoryClasses classes = layout.getClasses();
  classes.workspace += areaBytes;
  record(program, layout, classes, layout.getEnd() + areaBytes);
  return success();
}

static constexpr FactContract kContract = {
    {Fact::Mesh, Fact::Programs}, FactSet({Fact::TensorOps}) | FactSet::from(Fact::Addresses)};

void PlanMemory::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(checkFacts(module, getArgument(), kContract)))
    return signalPassFailure();
  MeshOp mesh = getMesh(module);
  auto target = module->getAttrOfType<TargetAttr>("st.target");
  constexpr int64_t kDefaultAlignment = 64;
  int64_t alignment = target ? target.getAlignment() : kDefaultAlignment;
  for (auto program : module.getOps<ProgramOp>())
    if (failed(plan(program, alignment, mesh.getMicro())))
      return signalPassFailure();
  if (target && failed(checkCapacity(module, target)))
    signalPassFailure();
}
