// The update of a state also writes the values that the next step would compute from it element by
// element, such as 16-bit weights.
#include "backends/cuda/codegen/Passes.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_CONVERTINUPDATE
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

namespace {
/// The kernel that computes the new value of a state, and the write of that value.
struct Update {
  WriteOp write;
  KernelOp kernel;

  explicit operator bool() const { return kernel != nullptr; }
};

class ProgramUpdater {
public:
  explicit ProgramUpdater(ProgramOp program);
  void run();
  int64_t numConverted = 0;

private:
  bool runsOnce(TaskOp task) const;
  StateOp getConvertedState(KernelOp kernel);
  Update findUpdate(StateOp state);
  bool isInBuffer(OpResult result);
  WriteOp findBuffer(OpResult result);
  void keep(OpResult result);
  void convertIn(Update update, KernelOp kernel);

  ProgramOp program;
  SymbolTable symbols;
  TaskOp last;
  DenseMap<StringAttr, int64_t> runs; ///< of each task in a step
  DenseMap<StringAttr, SmallVector<WriteOp, 1>> writes;
  DenseSet<StringAttr> readLast; ///< storage that the last task reads
};

struct ConvertInUpdate : mlir::cuda::impl::ConvertInUpdateBase<ConvertInUpdate> {
  using ConvertInUpdateBase::ConvertInUpdateBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      ProgramUpdater updater(program);
      updater.run();
      numConverted += updater.numConverted;
    }
  }
};
} // namespace

ProgramUpdater::ProgramUpdater(ProgramOp program) : program(program), symbols(program) {
  for (auto schedule : program.getBody().getOps<ScheduleOp>())
    for (Attribute task : schedule.getTasks()) {
      StringAttr name = cast<FlatSymbolRefAttr>(task).getAttr();
      ++runs[name];
      last = symbols.lookup<TaskOp>(name);
    }
  program.walk([&](WriteOp write) { writes[write.getTargetAttr().getAttr()].push_back(write); });
  if (last)
    last.walk([&](ReadOp read) { readLast.insert(read.getSourceAttr().getAttr()); });
}

bool ProgramUpdater::runsOnce(TaskOp task) const { return runs.lookup(task.getSymNameAttr()) == 1; }

/// Returns the state that a kernel reads, if each element of its results depends only on one
/// element of that state. Null otherwise.
StateOp ProgramUpdater::getConvertedState(KernelOp kernel) {
  auto read = kernel.getKind() == "loop" && kernel.getInputs().size() == 1
                  ? kernel.getInputs()[0].getDefiningOp<ReadOp>()
                  : ReadOp();
  if (!read)
    return {};
  ArrayRef<int64_t> shape = read.getType().getShape();
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto constant = dyn_cast<hlo::ConstantOp>(op);
    const bool isSplat = constant && isa<SplatElementsAttr>(constant.getValue());
    if ((!isSplat && !isElementwise(&op)) || op.getNumResults() != 1 ||
        cast<RankedTensorType>(op.getResult(0).getType()).getShape() != shape)
      return {};
  }
  return symbols.lookup<StateOp>(read.getSource());
}

/// Returns no update unless a loop kernel of the last task computes the new value and no other op
/// writes the state.
Update ProgramUpdater::findUpdate(StateOp state) {
  auto written = writes.find(state.getSymNameAttr());
  if (written == writes.end() || written->second.size() != 1)
    return {};
  WriteOp write = written->second.front();
  auto kernel = write.getValue().getDefiningOp<KernelOp>();
  if (write->getParentOp() != last || write.getAccumulate() || !kernel ||
      kernel.getKind() != "loop" || kernel->getBlock() != write->getBlock())
    return {};
  return {write, kernel};
}

/// Returns the write of a value to a buffer that keeps it until the next step. Null if there is
/// none.
WriteOp ProgramUpdater::findBuffer(OpResult result) {
  for (Operation *user : result.getUsers()) {
    auto write = dyn_cast<WriteOp>(user);
    auto buffer = write ? symbols.lookup<BufferOp>(write.getTarget()) : BufferOp();
    if (buffer && buffer.getSlots() == 1 && !buffer.isOnHost() && !write.getAccumulate() &&
        writes.lookup(buffer.getSymNameAttr()).size() == 1 &&
        !readLast.contains(buffer.getSymNameAttr()))
      return write;
  }
  return {};
}

/// Returns true if a result is in such a buffer, or is not written and can get one.
bool ProgramUpdater::isInBuffer(OpResult result) {
  return findBuffer(result) ||
         llvm::none_of(result.getUsers(), [](Operation *user) { return isa<WriteOp>(user); });
}

/// Adds a buffer for a result that has none.
void ProgramUpdater::keep(OpResult result) {
  if (findBuffer(result))
    return;
  OpBuilder builder(*program.getBody().getOps<TaskOp>().begin());
  auto buffer = BufferOp::create(builder, result.getLoc(), builder.getStringAttr("converted"),
                                 builder.getStringAttr("step"), builder.getI64IntegerAttr(1),
                                 TypeAttr::get(result.getType()), AddressAttr(), StringAttr());
  StringAttr name = symbols.insert(buffer);
  builder.setInsertionPointAfter(result.getOwner());
  writes[name].push_back(WriteOp::create(builder, result.getLoc(), result,
                                         FlatSymbolRefAttr::get(name), Value(), ReduceKindAttr()));
}

/// Clones the body of `kernel` into the update, and writes the results to the same buffers.
void ProgramUpdater::convertIn(Update update, KernelOp kernel) {
  KernelOp before = update.kernel;
  const unsigned number = cast<OpResult>(update.write.getValue()).getResultNumber();
  SmallVector<Type> types(before.getResultTypes());
  llvm::append_range(types, kernel.getResultTypes());
  OpBuilder builder(before);
  auto after =
      KernelOp::create(builder, before.getLoc(), types, before.getKindAttr(), before.getInputs());
  after->setDiscardableAttrs(before->getDiscardableAttrDictionary());
  after.getBody().takeBody(before.getBody());
  Operation *yield = after.getBody().front().getTerminator();
  SmallVector<Value> yielded(yield->getOperands());
  Block &body = kernel.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArgument(0), yielded[number]);
  builder.setInsertionPoint(yield);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (Value value : body.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  yield->setOperands(yielded);
  before->replaceAllUsesWith(after->getResults().take_front(before.getNumResults()));
  before.erase();
  builder.setInsertionPointToEnd(&last.getBody().front());
  for (OpResult result : kernel->getResults()) {
    WriteOp kept = findBuffer(result);
    auto buffer = symbols.lookup<BufferOp>(kept.getTarget());
    WriteOp::create(
        builder, kernel.getLoc(),
        after.getResult(result.getResultNumber() + yielded.size() - kernel.getNumResults()),
        kept.getTargetAttr(), buffer.isPerMicroBatch() ? Value(last.getMicroBatch()) : Value(),
        ReduceKindAttr());
  }
  kernel->setAttr(kLeftByUpdateAttr, builder.getUnitAttr());
  ++numConverted;
}

void ProgramUpdater::run() {
  if (!last || !runsOnce(last))
    return;
  for (auto task : program.getBody().getOps<TaskOp>()) {
    if (task == last || !runsOnce(task))
      continue;
    for (auto kernel : llvm::make_early_inc_range(task.getBody().front().getOps<KernelOp>())) {
      StateOp state = getConvertedState(kernel);
      Update update = state ? findUpdate(state) : Update();
      if (!update || !llvm::all_of(kernel->getResults(), [&](OpResult r) { return isInBuffer(r); }))
        continue;
      for (OpResult result : kernel->getResults())
        keep(result);
      convertIn(update, kernel);
    }
  }
}
