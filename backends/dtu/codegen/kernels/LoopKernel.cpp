// Kernels of kind "loop" and "reduce".
#include "backends/dtu/codegen/kernels/KernelContext.h"
#include "backends/dtu/codegen/kernels/LoopPlan.h"

#include "llvm/Support/Error.h"

using namespace mlir;
using namespace mlir::dtu;

// ---- PipelinedLoop ------------------------------------------------------------------------

Expr PipelinedLoop::slotOf(StreamBuilder &stream, const Expr &index) const {
  return stream.index(index - start, step, 2);
}

void PipelinedLoop::emit(ProgramBuilder &builder, Body load, Body compute, Body store) const {
  StreamBuilder &dte = builder.dte, &core = builder.core;
  auto loadAt = [&](const Expr &index) {
    StreamBuilder::Scope scope(dte);
    load(dte, index, slotOf(dte, index));
    dte.signal(builder.semaphore(Sem::Full));
  };
  dte.when(start, limit, loadAt);
  dte.loop(start, limit, step, [&](Expr index) {
    // The core has finished step i-1, whose slot step i+1 uses.
    dte.when(index + step, limit, loadAt);
    dte.wait(builder.semaphore(Sem::Done));
    store(dte, index, slotOf(dte, index));
  });
  core.loop(start, limit, step, [&](Expr index) {
    core.wait(builder.semaphore(Sem::Full));
    compute(core, index, slotOf(core, index));
    core.signal(builder.semaphore(Sem::Done));
  });
}

// ---- loop kernels -------------------------------------------------------------------------

namespace {
class LoopKernel {
public:
  LoopKernel(ProgramBuilder &builder, const IterationSpace &space, const TileProgram &program,
             const TileStorage &storage, const LoopPlan &plan)
      : builder(builder), space(space), program(program), storage(storage), plan(plan),
        emitter(program, storage) {}

  void emit(const KernelContext &context);

private:
  ProgramBuilder &builder;
  const IterationSpace &space;
  const TileProgram &program;
  const TileStorage &storage;
  const LoopPlan &plan;
  TileEmitter emitter;

  void emitWork();
  void emitSingle();
  void emitItems();
  void emitItem(const Expr &itemDte, const Expr &itemCore);
  void emitPhase(unsigned phase, const TilePosition &dteItem, const TilePosition &coreItem);
  void emitCombination(unsigned phase, const TilePosition &coreItem);
  int64_t emitPartials(unsigned phase, llvm::function_ref<void(int op, int64_t address)> body);

  TilePosition origin() const;
  void moveTo(StreamBuilder &stream, TilePosition &position, ArrayRef<TileDigit> digits,
              const Expr &index) const;
  void storeGuarded(StreamBuilder &dte, unsigned phase, int output, const TilePosition &position,
                    ArrayRef<TileDigit> digits) const;
  bool isItemOutput(const TileOutput &output) const;
};
} // namespace

TilePosition LoopKernel::origin() const {
  TilePosition position;
  position.at.assign(space.getNumGroups(), Expr(0));
  position.rows = {plan.shape.rows, hw::kZero, 0};
  position.cols = {plan.shape.cols, hw::kZero, 0};
  return position;
}

/// Decodes tile number `index` of the digits into positions and extents.
void LoopKernel::moveTo(StreamBuilder &stream, TilePosition &position, ArrayRef<TileDigit> digits,
                        const Expr &index) const {
  int64_t inner = 1;
  for (const TileDigit &digit : llvm::reverse(digits)) {
    bool isOutermost = &digit == digits.begin();
    if (digit.count > 1)
      position.at[digit.group] =
          stream.index(index, inner, isOutermost ? 0 : digit.count, digit.tile);
    else
      position.at[digit.group] = 0;
    inner *= digit.count;
    int64_t size = space.getSize(digit.group);
    hw::Extent extent =
        stream.extent(digit.tile, position.at[digit.group], size, size % digit.tile == 0);
    if (static_cast<int>(digit.group) == plan.shape.rowGroup)
      position.rows = extent;
    if (static_cast<int>(digit.group) == plan.shape.colGroup)
      position.cols = extent;
  }
}

/// Stores an output once if the tiles of `digits` repeat it.
void LoopKernel::storeGuarded(StreamBuilder &dte, unsigned phase, int output,
                              const TilePosition &position, ArrayRef<TileDigit> digits) const {
  if (digits.empty())
    return emitter.store(dte, phase, output, position);
  const TileDigit &digit = digits.front();
  if (digit.count == 1 || program.outputs[output].groups >> digit.group & 1)
    return storeGuarded(dte, phase, output, position, digits.drop_front());
  dte.when(position.at[digit.group], 1,
           [&](Expr) { storeGuarded(dte, phase, output, position, digits.drop_front()); });
}

/// One phase: items are loaded, computed and stored in order.
void LoopKernel::emitSingle() {
  auto at = [&](StreamBuilder &stream, Expr index, Expr slot) {
    TilePosition position = origin();
    position.slot = slot;
    moveTo(stream, position, plan.items, index);
    return position;
  };
  const TilePhase &phase = plan.phases[0];
  PipelinedLoop{Expr::instance(), plan.numItems(), builder.workers()}.emit(
      builder,
      [&](StreamBuilder &dte, Expr index, Expr slot) {
        TilePosition position = at(dte, index, slot);
        for (int input : phase.inputs)
          emitter.load(dte, 0, input, position);
      },
      [&](StreamBuilder &core, Expr index, Expr slot) {
        TilePosition position = at(core, index, slot);
        for (int op : phase.ops)
          emitter.compute(core, 0, op, position);
      },
      [&](StreamBuilder &dte, Expr index, Expr slot) {
        TilePosition position = at(dte, index, slot);
        for (int output : phase.outputs)
          storeGuarded(dte, 0, output, position, plan.items);
      });
}

// ---- several phases -----------------------------------------------------------------------

bool LoopKernel::isItemOutput(const TileOutput &output) const {
  return llvm::none_of(plan.steps,
                       [&](const TileDigit &digit) { return output.groups >> digit.group & 1; });
}

/// Runs `body` for each reduction that the phase completes, with the L2 address of its partial
/// results; returns the first address after them.
int64_t LoopKernel::emitPartials(unsigned phase, llvm::function_ref<void(int, int64_t)> body) {
  int64_t address = 0;
  for (unsigned p = 0; p <= phase; ++p)
    for (int op : plan.phases[p].ops) {
      if (!program.ops[op].reduction)
        continue;
      if (p == phase)
        body(op, address);
      address += builder.workers() * kCellBytes;
    }
  return address;
}

/// Each worker has reduced its share; then every worker combines all partial results, in worker
/// order.
void LoopKernel::emitCombination(unsigned phase, const TilePosition &coreItem) {
  StreamBuilder &dte = builder.dte, &core = builder.core;
  int64_t workers = builder.workers(), staging = storage.end();
  core.signal(builder.semaphore(Sem::Done));
  dte.wait(builder.semaphore(Sem::Done));
  auto width = [&](int op) { return static_cast<int64_t>(hw::byteWidth(program.ops[op].dstType)); };
  emitPartials(phase, [&](int op, int64_t address) {
    emitCopy(dte, l2Address(Expr::instance() * width(op) + address),
             l1Address(storage.offset(phase, program.ops[op].dst, 0)), {}, program.ops[op].dstType,
             program.ops[op].dstType);
  });
  builder.barrierOfQueues();
  int64_t end = emitPartials(phase, [&](int op, int64_t address) {
    CopyShape shape;
    shape.add({workers, hw::kZero, 0}, width(op), width(op));
    emitCopy(dte, l1Address(staging + address), l2Address(address), shape, program.ops[op].dstType,
             program.ops[op].dstType);
  });
  builder.useL2(end);
  builder.useL1(staging + end);
  dte.signal(builder.semaphore(Sem::Full));
  core.wait(builder.semaphore(Sem::Full));
  emitPartials(phase, [&](int op, int64_t address) {
    hw::Vector vector;
    vector.op = getReductionOp(*program.ops[op].reduction, /*alongColumns=*/true);
    vector.dst.type = vector.src[0].type = program.ops[op].dstType;
    vector.dst.address.space = vector.src[0].address.space = hw::Space::L1;
    vector.dst.address.offset = storage.offset(phase, program.ops[op].dst, 0).toAffine();
    vector.src[0].address.offset = Expr(staging + address).toAffine();
    vector.cols = {workers, hw::kZero, 0};
    core.emit(std::move(vector));
  });
}

/// One pass over the reduced groups.
void LoopKernel::emitPhase(unsigned index, const TilePosition &dteItem,
                           const TilePosition &coreItem) {
  const TilePhase &phase = plan.phases[index];
  if (phase.ops.empty() && phase.outputs.empty()) {
    for (int op : phase.itemOps)
      emitter.compute(builder.core, index, op, coreItem);
    return;
  }
  for (int op : phase.ops)
    if (program.ops[op].reduction)
      emitter.clear(builder.core, index, op, coreItem);
  auto at = [&](StreamBuilder &stream, const TilePosition &item, Expr step, Expr slot) {
    TilePosition position = item;
    position.slot = slot;
    moveTo(stream, position, plan.steps, step);
    return position;
  };
  PipelinedLoop loop{0, plan.numSteps(), 1};
  if (plan.split)
    loop = {Expr::instance(), plan.numSteps(), builder.workers()};
  loop.emit(
      builder,
      [&](StreamBuilder &dte, Expr step, Expr slot) {
        TilePosition position = at(dte, dteItem, step, slot);
        for (int input : phase.inputs)
          emitter.load(dte, index, input, position);
      },
      [&](StreamBuilder &core, Expr step, Expr slot) {
        TilePosition position = at(core, coreItem, step, slot);
        for (int op : phase.ops)
          emitter.compute(core, index, op, position, program.ops[op].reduction.has_value());
      },
      [&](StreamBuilder &dte, Expr step, Expr slot) {
        TilePosition position = at(dte, dteItem, step, slot);
        for (int output : phase.outputs)
          storeGuarded(dte, index, output, position, plan.steps);
      });
  bool reduces =
      llvm::any_of(phase.ops, [&](int op) { return program.ops[op].reduction.has_value(); });
  if (plan.split && reduces)
    emitCombination(index, coreItem);
  for (int op : phase.itemOps)
    emitter.compute(builder.core, index, op, coreItem);
}

void LoopKernel::emitItem(const Expr &itemDte, const Expr &itemCore) {
  StreamBuilder &dte = builder.dte, &core = builder.core;
  StreamBuilder::Scope dteScope(dte), coreScope(core);
  TilePosition dteItem = origin(), coreItem = origin();
  moveTo(dte, dteItem, plan.items, itemDte);
  moveTo(core, coreItem, plan.items, itemCore);
  for (auto [index, value] : llvm::enumerate(program.values))
    if (value.rate == Rate::Item && value.kind == TileValue::Kind::Input)
      emitter.load(dte, 0, index, dteItem);
  // Also tells the core that the results of the previous item are stored.
  dte.signal(builder.semaphore(Sem::Full));
  core.wait(builder.semaphore(Sem::Full));
  for (auto [index, op] : llvm::enumerate(program.ops))
    if (!op.reduction && program.values[op.dst].rate == Rate::Item &&
        program.values[op.dst].level == 0)
      emitter.compute(core, 0, index, coreItem);
  for (unsigned phase = 0; phase < plan.phases.size(); ++phase)
    emitPhase(phase, dteItem, coreItem);
  core.signal(builder.semaphore(Sem::Done));
  dte.wait(builder.semaphore(Sem::Done));
  for (unsigned index = 0; index < program.outputs.size(); ++index) {
    if (!isItemOutput(program.outputs[index]))
      continue;
    if (plan.split)
      dte.when(Expr::instance(), 1, [&](Expr) { emitter.store(dte, 0, index, dteItem); });
    else
      storeGuarded(dte, 0, index, dteItem, plan.items);
  }
}

void LoopKernel::emitItems() {
  if (plan.split)
    return emitItem(0, 0);
  builder.dte.loop(Expr::instance(), plan.numItems(), builder.workers(), [&](Expr itemDte) {
    builder.core.loop(Expr::instance(), plan.numItems(), builder.workers(),
                      [&](Expr itemCore) { emitItem(itemDte, itemCore); });
  });
}

void LoopKernel::emitWork() {
  emitter.prepare(builder, plan.phases[0].ops, origin());
  if (plan.steps.empty())
    emitSingle();
  else
    emitItems();
}

void LoopKernel::emit(const KernelContext &context) {
  StreamBuilder::Scope dteScope(builder.dte), coreScope(builder.core);
  for (const Placement &place : context.inputs)
    emitter.argumentBases.push_back(baseOf(builder.dte, place));
  for (const Placement &place : context.results)
    emitter.resultBases.push_back(baseOf(builder.dte, place));
  builder.useL1(storage.end());
  if (plan.split || plan.numItems() >= builder.workers())
    return emitWork();
  // Workers without an item do nothing.
  builder.dte.when(Expr::instance(), plan.numItems(), [&](Expr) {
    builder.core.when(Expr::instance(), plan.numItems(), [&](Expr) { emitWork(); });
  });
}

LogicalResult mlir::dtu::emitLoopKernel(KernelContext &context) {
  Operation *op = context.body.getParentOp();
  FailureOr<IterationSpace> space = IterationSpace::analyze(context.body);
  if (failed(space))
    return failure();
  if (!space->isSpanned())
    return op->emitOpError(
        "has no value that spans all its loops, which is not supported by the DTU backend");
  for (unsigned axis = 0; axis < space->getNumAxes(); ++axis)
    if (space->getAxisSize(axis) == 0)
      return op->emitOpError(
          "has a dimension of size 0, which is not supported by the DTU backend");
  space->formGroups();
  FailureOr<TileProgram> program = TileProgram::build(context.body, *space);
  if (failed(program))
    return failure();
  TileStorage storage(*program);
  llvm::Expected<LoopPlan> plan = planLoop(*program, storage, *space, context.builder.machine);
  if (!plan)
    return op->emitOpError(llvm::toString(plan.takeError()));
  if (plan->split)
    context.claimL2();
  LoopKernel(context.builder, *space, *program, storage, *plan).emit(context);
  return success();
}
