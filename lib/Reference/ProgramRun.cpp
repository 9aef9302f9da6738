#include "lib/Reference/ProgramRun.h"
#include "dialects/St/Interfaces/Notes.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/TensorTypes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {

GroupRun::GroupRun(ProgramOp program, MeshOp mesh, Mailboxes &mailboxes)
    : program(program), mesh(mesh), deviceGrid(RankGrid::ofDevices(mesh)),
      fullGrid(RankGrid::ofDevicesAndMicroBatches(mesh)), mailboxes(mailboxes),
      evaluator(deviceGrid) {}

// The input that a storage is named after, checked against its global type.
static FailureOr<Tensor> findInput(Operation *op, StringRef name, Type globalType,
                                   const NamedTensors &inputs) {
  auto input = inputs.find(name.str());
  if (input == inputs.end())
    return op->emitError("no input '") << name << "'";
  if (!isOfType(input->second, globalType))
    return op->emitError("input '")
           << name << "' is " << toString(input->second) << ", expected " << globalType;
  return input->second;
}

LogicalResult GroupRun::loadState(StateOp op, const NamedTensors &inputs) {
  FailureOr<Tensor> global = findInput(op, op.getName(), op.getGlobalType(), inputs);
  Storage &storage = storages[op.getSymName()];
  storage = {op, op.getLocalType(), /*isPerMicroBatch=*/false, {RankValues()}, {0}};
  if (failed(global))
    return failure();
  return shard(*global, op.getSharding(), deviceGrid, op, storage.slots[0], op.getLocalType(),
               /*isState=*/true);
}

// If the step splits an input over micro-batches, it has one slot for each of them. The split is an
// axis of the sharding, or else the outermost one of dimension micro_dim.
LogicalResult GroupRun::loadInput(InputOp op, const NamedTensors &inputs) {
  FailureOr<Tensor> global = findInput(op, op.getName(), op.getGlobalType(), inputs);
  Storage &storage = storages[op.getSymName()];
  storage = {op, op.getLocalType(), /*isPerMicroBatch=*/false, {RankValues()}, {0}};
  if (failed(global))
    return failure();
  int64_t dim = static_cast<int64_t>(op.getMicroDim());
  if (dim < 0)
    return shard(*global, op.getSharding(), deviceGrid, op, storage.slots[0], op.getLocalType());

  int64_t count = static_cast<int64_t>(mesh.getMicro()), devices = mesh.getNumDevices();
  storage.isPerMicroBatch = true;
  storage.slots.assign(static_cast<size_t>(count), RankValues());
  storage.holds.assign(llvm::seq<int64_t>(count).begin(), llvm::seq<int64_t>(count).end());
  bool isInSharding = op.getSharding().usesAxis(MeshOp::kMicro);
  RankValues all;
  if (isInSharding &&
      failed(shard(*global, op.getSharding(), fullGrid, op, all, op.getLocalType())))
    return failure();
  if (!isInSharding && global->getShape()[dim] % count != 0)
    return op.emitError("dimension ")
           << dim << " does not divide into " << count << " micro-batches";
  for (int64_t m = 0; m < count; ++m) {
    if (isInSharding) {
      storage.slots[m].assign(all.begin() + m * devices, all.begin() + (m + 1) * devices);
      continue;
    }
    Shape shape(global->getShape()), starts(shape.size(), 0);
    shape[dim] /= count;
    starts[dim] = m * shape[dim];
    Tensor part = slice(*global, starts, Shape(shape.size(), 1), shape);
    if (failed(shard(part, op.getSharding(), deviceGrid, op, storage.slots[m], op.getLocalType())))
      return failure();
  }
  return success();
}

LogicalResult GroupRun::start(const NamedTensors &inputs) {
  if (static_cast<int64_t>(program.getDevices().size()) != mesh.getNumDevices())
    return withNote(program.emitError("has ") << program.getDevices().size()
                                              << " devices, its mesh has " << mesh.getNumDevices(),
                    mesh, "the mesh is here");
  // Without a schedule the number of slots has not been decided yet.
  if (failed(findSchedule()))
    return failure();
  size_t microBatches = static_cast<size_t>(mesh.getMicro());
  auto allocate = [&](Operation *op, StringRef name, Type type, bool isPerMicroBatch,
                      size_t slots) {
    storages[name] = {op, type, isPerMicroBatch, SmallVector<RankValues, 1>(slots),
                      SmallVector<int64_t, 1>(slots, -1)};
    return success();
  };
  for (Operation &op : program.getBody().front()) {
    LogicalResult loaded =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<StateOp>([&](StateOp op) { return loadState(op, inputs); })
            .Case<InputOp>([&](InputOp op) { return loadInput(op, inputs); })
            .Case<OutputOp>([&](OutputOp op) {
              return allocate(op, op.getSymName(), op.getLocalType(), true, microBatches);
            })
            .Case<BufferOp>([&](BufferOp op) {
              size_t slots = static_cast<size_t>(std::max<int64_t>(op.getSlots(), 1));
              bool isStash = op.getKind() == "stash";
              return allocate(op, op.getSymName(), op.getType(), isStash,
                              isStash && !hasSchedule ? microBatches : slots);
            })
            .Default(success());
    if (failed(loaded))
      return failure();
  }
  return success();
}

LogicalResult GroupRun::findSchedule() {
  auto ops = program.getBody().getOps<ScheduleOp>();
  hasSchedule = !ops.empty();
  if (!hasSchedule) {
    useDefaultSchedule();
  } else {
    ScheduleOp op = *ops.begin();
    for (auto [task, index] : llvm::zip_equal(op.getTasks(), op.getMicroBatches())) {
      auto taskOp = program.lookupSymbol<TaskOp>(cast<FlatSymbolRefAttr>(task).getAttr());
      if (!taskOp)
        return op.emitError("no task ") << task;
      schedule.push_back({taskOp, index});
    }
  }
  if (!schedule.empty())
    position = schedule.front().first.getBody().front().begin();
  return success();
}

// Every phase for all micro-batches before the next phase.
void GroupRun::useDefaultSchedule() {
  for (StringRef phase :
       {"prologue", "statistics", "totals", "forward", "backward", "weight", "update"}) {
    bool isPerMicroBatch = phase != "prologue" && phase != "totals" && phase != "update";
    for (int64_t m = 0, n = isPerMicroBatch ? mesh.getMicro() : 1; m < n; ++m)
      for (TaskOp task : program.getBody().getOps<TaskOp>())
        if (task.getPhase() == phase)
          schedule.push_back({task, m});
  }
}

LogicalResult GroupRun::advance(bool &moved) {
  while (!isDone()) {
    auto [task, microBatch] = schedule[next];
    Block &body = task.getBody().front();
    evaluator.setMicroBatch(microBatch);
    if (position == body.begin())
      evaluator.set(body.getArgument(0),
                    RankValues(evaluator.getNumRanks(),
                               Tensor::scalar<int64_t>(ElementType::I64, microBatch)));
    for (; position != body.end(); ++position) {
      bool blocked = false;
      if (failed(evalTaskOp(*position, blocked)))
        return failure();
      if (blocked)
        return success();
      evaluator.release(*position);
      moved = true;
    }
    moved = true;
    if (++next < schedule.size())
      position = schedule[next].first.getBody().front().begin();
  }
  return success();
}

LogicalResult GroupRun::evalTaskOp(Operation &op, bool &blocked) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<ReadOp>([&](ReadOp op) { return evalRead(op); })
      .Case<WriteOp>([&](WriteOp op) { return evalWrite(op); })
      .Case<RecvOp>([&](RecvOp op) { return evalRecv(op, blocked); })
      .Case<LoopOp>([&](LoopOp op) { return evalLoop(op); })
      .Case<SendOp>([&](SendOp op) {
        Mailboxes::Key key{program.getSymName(), op.getGroup(), op.getChannel()};
        mailboxes.queues[key].push_back(evaluator.get(op.getOperand()));
        return success();
      })
      .Default([&](Operation *op) { return evaluator.evalOp(*op); });
}

// The body runs like the ops of a task; captured values do not change.
LogicalResult GroupRun::evalLoop(LoopOp op) {
  auto put = [&](StringRef buffer, Value value) {
    storages[buffer].slots[0] = evaluator.get(value);
    storages[buffer].holds[0] = 0;
  };
  for (auto [buffer, init] : llvm::zip_equal(op.getCarried(), op.getInits()))
    put(cast<FlatSymbolRefAttr>(buffer).getValue(), init);
  if (op.getPredicate())
    put(*op.getPredicate(), op.getCondition());
  auto continues = [&](int64_t trip) {
    if (op.getTrips())
      return trip < static_cast<int64_t>(*op.getTrips());
    return toInteger(storages[*op.getPredicate()].slots[0][0]) != 0;
  };
  for (int64_t trip = 0; continues(trip); ++trip)
    for (Operation &inner : op.getBody().front()) {
      bool blocked = false;
      if (auto capture = dyn_cast<CaptureOp>(inner))
        evaluator.set(capture.getResult(), evaluator.get(op.getCaptures()[capture.getIndex()]));
      else if (failed(evalTaskOp(inner, blocked)))
        return failure();
      if (blocked)
        return inner.emitError("inside a loop waits for another group");
    }
  for (auto [buffer, result] : llvm::zip_equal(op.getCarried(), op.getResults()))
    evaluator.set(result, storages[cast<FlatSymbolRefAttr>(buffer).getValue()].slots[0]);
  return success();
}

LogicalResult GroupRun::evalRecv(RecvOp op, bool &blocked) {
  auto &queue =
      mailboxes.queues[{op.getGroup().str(), program.getSymName().str(), op.getChannel()}];
  blocked = queue.empty();
  if (blocked)
    return success();
  if (!isOfType(queue.front()[0], op.getType()))
    return op.emitError("receives ") << toString(queue.front()[0]) << ", expected " << op.getType();
  evaluator.set(op.getResult(), std::move(queue.front()));
  queue.pop_front();
  return success();
}

// The slot of a storage that an access means, and the micro-batch it is for.
LogicalResult GroupRun::getSlot(Operation *op, Storage &storage, Value microBatch, size_t &slot,
                                int64_t &index) {
  index = microBatch ? toInteger(evaluator.get(microBatch)[0]) : 0;
  if (index < 0 || index >= static_cast<int64_t>(mesh.getMicro()))
    return op->emitError("micro-batch ") << index << " of " << mesh.getMicro();
  slot = storage.isPerMicroBatch ? static_cast<size_t>(index) % storage.slots.size() : 0;
  return success();
}

LogicalResult GroupRun::evalRead(ReadOp op) {
  auto it = storages.find(op.getSource());
  if (it == storages.end())
    return op.emitError("reads unknown storage @") << op.getSource();
  Storage &storage = it->second;
  size_t slot;
  int64_t index;
  if (failed(getSlot(op, storage, op.getMicroBatch(), slot, index)))
    return failure();
  const RankValues &values = storage.slots[slot];
  if (values.empty())
    return withNote(op.emitError("reads @")
                        << op.getSource() << " before anything was written to it",
                    storage.op, "the storage is here");
  if (storage.isPerMicroBatch && storage.holds[slot] != index)
    return withNote(op.emitError("reads micro-batch ")
                        << index << " of @" << op.getSource() << ", but its slot holds micro-batch "
                        << storage.holds[slot],
                    storage.op, "the storage is here");
  if (!isOfType(values[0], op.getType()))
    return op.emitError("reads ") << toString(values[0]) << ", expected " << op.getType();
  evaluator.set(op.getResult(), values);
  return success();
}

LogicalResult GroupRun::evalWrite(WriteOp op) {
  auto it = storages.find(op.getTarget());
  if (it == storages.end())
    return op.emitError("writes unknown storage @") << op.getTarget();
  Storage &storage = it->second;
  RankValues values = evaluator.get(op.getValue());
  size_t slot;
  int64_t index;
  if (failed(getSlot(op, storage, op.getMicroBatch(), slot, index)))
    return failure();
  if (!isOfType(values[0], storage.type))
    return withNote(op.emitError("writes ") << toString(values[0]) << " to @" << op.getTarget()
                                            << " of type " << storage.type,
                    storage.op, "the storage is here");
  RankValues &target = storage.slots[slot];
  if (op.getAccumulate() && !target.empty())
    for (auto [value, old] : llvm::zip_equal(values, target))
      value = reduceAcross(*op.getAccumulate(), {old, value});
  target = std::move(values);
  storage.holds[slot] = index;
  storage.isWritten = true;
  return success();
}

void GroupRun::describeWait(Diagnostic &diagnostic) {
  RecvOp recv = getBlockedAt();
  auto [task, microBatch] = schedule[next];
  diagnostic << "@" << program.getSymName() << " waits in @" << task.getSymName()
             << " of micro-batch " << microBatch << " for @" << recv.getGroup() << " over channel "
             << recv.getChannel();
}

LogicalResult GroupRun::collectOutput(OutputOp op, NamedTensors &results) {
  Storage &storage = storages[op.getSymName()];
  if (!storage.isWritten)
    return op.emitError("no task wrote this output");
  std::string name = op.getName().str();
  Tensor global;
  RankValues pieces = storage.slots[0];
  const RankGrid &grid = op.getSharding().usesAxis(MeshOp::kMicro) ? fullGrid : deviceGrid;
  for (size_t m = 1; &grid == &fullGrid && m < storage.slots.size(); ++m) {
    if (storage.slots[m].empty())
      return op.emitError("no task wrote micro-batch ") << m << " of this output";
    pieces.append(storage.slots[m].begin(), storage.slots[m].end());
  }
  if (failed(unshard(pieces, op.getSharding(), grid, op, "output '" + name + "'", global,
                     op.getGlobalType())))
    return failure();
  return addResult(results, name, global, op);
}

LogicalResult GroupRun::collect(NamedTensors &results) {
  for (Operation &op : program.getBody().front()) {
    if (auto output = dyn_cast<OutputOp>(op)) {
      if (failed(collectOutput(output, results)))
        return failure();
    } else if (auto state = dyn_cast<StateOp>(op)) {
      Storage &storage = storages[state.getSymName()];
      std::string name = state.getName().str();
      Tensor global;
      if (!storage.isWritten)
        continue;
      if (failed(unshard(storage.slots[0], state.getSharding(), deviceGrid, state,
                         "state '" + name + "'", global, state.getGlobalType())) ||
          failed(checkStatePadding(storage.slots[0], state.getSharding(), deviceGrid, state,
                                   "state '" + name + "'", global)) ||
          failed(addResult(results, name, global, state)))
        return failure();
    }
  }
  return success();
}

// No rank can continue: reports what each waits for.
static LogicalResult reportDeadlock(ArrayRef<GroupRun *> waiting) {
  InFlightDiagnostic error = waiting.front()->getBlockedAt().emitError("deadlock: ");
  waiting.front()->describeWait(*error.getUnderlyingDiagnostic());
  for (GroupRun *group : waiting.drop_front())
    group->describeWait(error.attachNote(group->getBlockedAt().getLoc()));
  return error;
}

static LogicalResult checkAllReceived(ModuleOp module, const Mailboxes &mailboxes) {
  for (const auto &[key, queue] : mailboxes.queues)
    if (!queue.empty())
      return module.emitError() << queue.size() << " messages from @" << std::get<0>(key) << " to @"
                                << std::get<1>(key) << " over channel " << std::get<2>(key)
                                << " were never received";
  return success();
}

FailureOr<NamedTensors> runPrograms(ModuleOp module, const NamedTensors &inputs) {
  Mailboxes mailboxes;
  SmallVector<std::unique_ptr<GroupRun>> groups;
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    auto mesh = module.lookupSymbol<MeshOp>(program.getMesh());
    if (!mesh)
      return program.emitError("no mesh @") << program.getMesh();
    groups.push_back(std::make_unique<GroupRun>(program, mesh, mailboxes));
    if (failed(groups.back()->start(inputs)))
      return failure();
  }
  SmallVector<GroupRun *> waiting;
  do {
    bool moved = false;
    waiting.clear();
    for (auto &group : groups) {
      if (failed(group->advance(moved)))
        return failure();
      if (!group->isDone())
        waiting.push_back(group.get());
    }
    if (!moved && !waiting.empty())
      return reportDeadlock(waiting);
  } while (!waiting.empty());

  NamedTensors results;
  if (failed(checkAllReceived(module, mailboxes)))
    return failure();
  for (auto &group : groups)
    if (failed(group->collect(results)))
      return failure();
  return results;
}

} // namespace mlir::st::ref
