#include "backends/dtu/codegen/emission/TaskEmitter.h"

#include "backends/dtu/codegen/emission/CopyJob.h"
#include "backends/dtu/codegen/kernels/VectorOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dtu;

TaskEmitter::TaskEmitter(st::TaskOp task, const Machine &machine, KnownTilings &tilings,
                         RankTable &table, const ::st::DtuRings &rings)
    : task(task), program(task->getParentOfType<st::ProgramOp>()), tilings(tilings), table(table),
      builder(task.getSymName(), machine), links(builder), hostCopies(builder),
      collectives(builder, links, table, rings), symbols(program) {}

// ---- memory -----------------------------------------------------------------------------------

static FailureOr<int64_t> byteSize(Operation *op, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::optional<hw::DType> dtype = getDType(tensor.getElementType());
  if (!dtype)
    return op->emitOpError("has values of ")
           << tensor.getElementType() << ", a type that the DTU does not support";
  return tensor.getNumElements() * hw::byteWidth(*dtype);
}

static Placement toPlacement(mlir::st::AddressAttr address, int64_t bytes) {
  return {address.getOffset(), address.getStride(), address.getSlots(), bytes};
}

FailureOr<Placement> TaskEmitter::placementOf(Value value) {
  Operation *op = value.getDefiningOp();
  auto addresses = op ? op->getAttrOfType<ArrayAttr>("st.addresses") : ArrayAttr();
  unsigned number = cast<OpResult>(value).getResultNumber();
  auto address = addresses && number < addresses.size()
                     ? dyn_cast<st::AddressAttr>(addresses[number])
                     : st::AddressAttr();
  if (!address)
    return op->emitOpError(
        "has no st.addresses, which convert-to-dtu needs: run plan-memory first");
  FailureOr<int64_t> bytes = byteSize(op, value.getType());
  if (failed(bytes))
    return failure();
  return toPlacement(address, *bytes);
}

FailureOr<Placement> TaskEmitter::placementOfStorage(Operation *user, StringRef symbol) {
  Operation *storage = symbols.lookup(symbol);
  auto address = storage ? storage->getAttrOfType<st::AddressAttr>("address") : st::AddressAttr();
  if (!address)
    return user->emitOpError("names storage @")
           << symbol << ", which has no address: run plan-memory first";
  auto type = storage->getAttrOfType<TypeAttr>(isa<st::BufferOp>(storage) ? "type" : "local_type");
  FailureOr<int64_t> bytes = byteSize(user, type.getValue());
  if (failed(bytes))
    return failure();
  Placement place = toPlacement(address, *bytes);
  auto buffer = dyn_cast<st::BufferOp>(storage);
  if ((place.isOnHost = buffer && buffer.isOnHost()))
    builder.useHost(place.end());
  return place;
}

void TaskEmitter::access(SmallVectorImpl<Access> &list, const Placement &place, bool isWrite) {
  // A task runs for one micro-batch, whose slot represents the others: all places of a storage have
  // the same slots.
  list.push_back({/*isL2=*/false, place.offset, place.offset + place.bytes, isWrite});
  builder.useL3(place.end());
}

void TaskEmitter::order(ArrayRef<Access> accesses) {
  accessesOfOp.clear();
  open(accesses);
}

/// Shared panels, partial results and exchanges all use the same place in L2.
void TaskEmitter::claimL2() { open(Access{/*isL2=*/true, 0, 1, /*isWrite=*/true}); }

void TaskEmitter::open(ArrayRef<Access> accesses) {
  accessesOfOp.append(accesses.begin(), accesses.end());
  const bool waitedForLinks = links.waitFor(accesses), waitedForHost = hostCopies.waitFor(accesses);
  if (waitedForLinks || waitedForHost || opened.clash(accesses)) {
    builder.barrierOfQueues();
    opened = OpenAccesses();
    // The accesses of this op happen after the synchronisation.
    accesses = accessesOfOp;
  }
  opened.insert(accesses);
}

void TaskEmitter::meet() {
  hostCopies.waitFor();
  links.synchronize();
  opened = OpenAccesses();
}

// ---- ops --------------------------------------------------------------------------------------

void TaskEmitter::copy(Type type, const Placement &from, const Placement &to) {
  auto tensor = cast<RankedTensorType>(type);
  CopyJob job;
  job.type = *getDType(tensor.getElementType());
  job.sizes.push_back(tensor.getNumElements());
  job.dst.push_back(hw::byteWidth(job.type));
  job.src = job.dst;
  StreamBuilder::Scope scope(builder.dte);
  Expr source = baseOf(builder.dte, from);
  job.emit(builder, baseOf(builder.dte, to), source);
}

static bool isSame(const Placement &a, const Placement &b) {
  return a.offset == b.offset && a.stride == b.stride && a.slots == b.slots;
}

/// target = target op value, emitted as a loop kernel.
LogicalResult TaskEmitter::accumulate(st::WriteOp write, const Placement &value,
                                      const Placement &target) {
  OpBuilder ir(write.getContext());
  Type type = write.getValue().getType();
  Location loc = write.getLoc();
  OwningOpRef<st::KernelOp> kernel =
      st::KernelOp::create(ir, loc, TypeRange(type), ir.getStringAttr("loop"),
                           ValueRange{write.getValue(), write.getValue()});
  Block *body = ir.createBlock(&kernel->getBody(), {}, {type, type}, {loc, loc});
  Value old = body->getArgument(0), added = body->getArgument(1), sum;
  switch (*write.getAccumulate()) {
  case st::ReduceKind::Sum:
    sum = stablehlo::AddOp::create(ir, loc, old, added);
    break;
  case st::ReduceKind::Max:
    sum = stablehlo::MaxOp::create(ir, loc, old, added);
    break;
  case st::ReduceKind::Min:
    sum = stablehlo::MinOp::create(ir, loc, old, added);
    break;
  case st::ReduceKind::And:
    sum = stablehlo::AndOp::create(ir, loc, old, added);
    break;
  case st::ReduceKind::Or:
    sum = stablehlo::OrOp::create(ir, loc, old, added);
    break;
  }
  st::YieldOp::create(ir, loc, sum);
  auto claim = [&] { claimL2(); };
  KernelContext context{builder, tilings, *body, {target, value}, {target}, claim};
  builder.startKernel();
  return emitLoopKernel(context);
}

/// Reads host memory; any other read refers to its storage in place.
LogicalResult TaskEmitter::emitRead(st::ReadOp read) {
  FailureOr<Placement> source = placementOfStorage(read, read.getSource());
  if (failed(source))
    return failure();
  if (!source->isOnHost)
    return success();
  if (isa<st::LoopOp>(read->getParentOp()))
    return read.emitOpError("of the host's memory in a loop is not supported by the DTU backend");
  FailureOr<Placement> place = placementOf(read.getResult());
  if (failed(place))
    return failure();
  SmallVector<Access> accesses;
  access(accesses, *place, true);
  order(accesses);
  builder.label(("fetch " + read.getSource()).str());
  hostCopies.copy(*source, *place, *getDType(read.getType().getElementType()), accesses);
  return success();
}

LogicalResult TaskEmitter::copyToHost(st::WriteOp write, const Placement &value,
                                      const Placement &target) {
  if (write.getAccumulate() || isa<st::LoopOp>(write->getParentOp()))
    return write.emitOpError("to the host's memory ")
           << (write.getAccumulate() ? "that accumulates" : "in a loop")
           << " is not supported by the DTU backend";
  SmallVector<Access> accesses;
  access(accesses, value, false);
  order(accesses);
  builder.label(("offload " + write.getTarget()).str());
  auto type = cast<RankedTensorType>(write.getValue().getType());
  hostCopies.copy(value, target, *getDType(type.getElementType()), accesses);
  return success();
}

LogicalResult TaskEmitter::emitWrite(st::WriteOp write) {
  FailureOr<Placement> value = placementOf(write.getValue());
  FailureOr<Placement> target = placementOfStorage(write, write.getTarget());
  if (failed(value) || failed(target))
    return failure();
  if (target->isOnHost)
    return copyToHost(write, *value, *target);
  if (!write.getAccumulate() && isSame(*value, *target))
    return success();
  SmallVector<Access> accesses;
  access(accesses, *value, false);
  access(accesses, *target, true);
  order(accesses);
  builder.label(("write " + write.getTarget()).str());
  if (write.getAccumulate())
    return accumulate(write, *value, *target);
  copy(write.getValue().getType(), *value, *target);
  return success();
}

LogicalResult TaskEmitter::emitReshape(Operation *reshape) {
  FailureOr<Placement> from = placementOf(reshape->getOperand(0)),
                       to = placementOf(reshape->getResult(0));
  if (failed(from) || failed(to))
    return failure();
  if (isSame(*from, *to))
    return success();
  SmallVector<Access> accesses;
  access(accesses, *from, false);
  access(accesses, *to, true);
  order(accesses);
  copy(reshape->getResult(0).getType(), *from, *to);
  return success();
}

/// The label shown in traces: the kernel's kind, and the layer if the location names one.
static std::string labelOf(Operation *op, StringRef what) {
  std::string label = what.str();
  op->getLoc()->walk([&](Location loc) {
    auto name = dyn_cast<NameLoc>(loc);
    if (!name)
      return WalkResult::advance();
    label += " " + name.getName().str();
    return WalkResult::interrupt();
  });
  return label;
}

LogicalResult TaskEmitter::emitKernel(st::KernelOp kernel) {
  if (llvm::all_of(kernel.getResultTypes(),
                   [](Type type) { return cast<RankedTensorType>(type).getNumElements() == 0; }))
    return success();
  auto claim = [&] { claimL2(); };
  KernelContext context{builder, tilings, kernel.getBody().front(), {}, {}, claim};
  SmallVector<Access> accesses;
  for (auto [list, values, isWrite] :
       {std::tuple(&context.inputs, ValueRange(kernel.getInputs()), false),
        std::tuple(&context.results, ValueRange(kernel.getResults()), true)})
    for (Value value : values) {
      FailureOr<Placement> place = placementOf(value);
      if (failed(place))
        return failure();
      list->push_back(*place);
      access(accesses, *place, isWrite);
    }
  if (joinsInPlace(context))
    return success();
  using Emitter = LogicalResult (*)(KernelContext &);
  static const std::pair<StringRef, Emitter> emitters[] = {
      {"loop", emitLoopKernel},           {"reduce", emitLoopKernel}, {"matmul", emitMatmulKernel},
      {"attention", emitAttentionKernel}, {"copy", emitCopyKernel},   {"gather", emitGatherKernel},
      {"scatter", emitScatterKernel}};
  const auto *it =
      llvm::find_if(emitters, [&](const auto &entry) { return entry.first == kernel.getKind(); });
  if (it == std::end(emitters))
    return kernel.emitOpError("has kind \"")
           << kernel.getKind() << "\", which is not supported by the DTU backend";
  order(accesses);
  builder.label(labelOf(kernel, kernel.getKind()));
  builder.startKernel();
  return it->second(context);
}

FailureOr<TaskEmitter::Message>
TaskEmitter::beginMessage(Operation *op, Value value, FlatSymbolRefAttr group, bool isReceived) {
  FailureOr<Placement> place = placementOf(value);
  auto peer = SymbolTable::lookupNearestSymbolFrom<st::ProgramOp>(program->getParentOp(), group);
  if (failed(place))
    return failure();
  if (!peer)
    return op->emitOpError("names group ") << group << ", which does not exist";
  SmallVector<Access> accesses;
  access(accesses, *place, isReceived);
  order(accesses);
  builder.label(labelOf(op, isReceived ? "recv" : "send"));
  beginLinkWork();
  return Message{*place, cast<RankedTensorType>(value.getType()),
                 Expr::reg(hw::kRank) + static_cast<int64_t>(peer.getFirstRank())};
}

/// All bytes of a message.
Piece TaskEmitter::pieceOf(StreamBuilder &stream, const Message &message) {
  const hw::DType dtype = *getDType(message.type.getElementType());
  return {baseOf(stream, message.place),
          {{message.type.getNumElements(), hw::kZero, 0}},
          {hw::byteWidth(dtype)},
          dtype};
}

LogicalResult TaskEmitter::emitSend(st::SendOp send) {
  FailureOr<Message> message =
      beginMessage(send, send.getOperand(), send.getGroupAttr(), /*isReceived=*/false);
  if (failed(message))
    return failure();
  links.transmit([&](StreamBuilder &tx) {
    dtu::emitSend(tx, message->peer, pieceOf(tx, *message), send.getChannel());
  });
  return success();
}

LogicalResult TaskEmitter::emitRecv(st::RecvOp recv) {
  FailureOr<Message> message =
      beginMessage(recv, recv.getResult(), recv.getGroupAttr(), /*isReceived=*/true);
  if (failed(message))
    return failure();
  links.receive([&](StreamBuilder &rx) {
    dtu::emitRecv(rx, message->peer, pieceOf(rx, *message), recv.getChannel());
  });
  return success();
}

LogicalResult TaskEmitter::emitCollective(Operation *op) {
  SmallVector<Placement> operands, results;
  SmallVector<Access> accesses;
  for (auto [list, values, isWrite] : {std::tuple(&operands, ValueRange(op->getOperands()), false),
                                       std::tuple(&results, ValueRange(op->getResults()), true)})
    for (Value value : values) {
      FailureOr<Placement> place = placementOf(value);
      if (failed(place))
        return failure();
      list->push_back(*place);
      access(accesses, *place, isWrite);
    }
  order(accesses);
  if (collectives.usesL2(op))
    claimL2();
  builder.label(labelOf(op, op->getName().stripDialect()));
  beginLinkWork();
  return collectives.emit(op, operands, results);
}

/// A rank's coordinate is in its table and the micro-batch in a register; the vector engine writes
/// the value.
LogicalResult TaskEmitter::emitAxisIndex(st::AxisIndexOp op) {
  FailureOr<Placement> place = placementOf(op.getResult());
  if (failed(place))
    return failure();
  SmallVector<Access> accesses;
  access(accesses, *place, true);
  order(accesses);
  builder.label("axis_index");
  // After the scalar area, which a core fills ahead of its queue.
  builder.useL1(kCellAreaBytes + kBufferAlignment);
  StreamBuilder &core = builder.core, &dte = builder.dte;
  core.when(Expr::instance(), 1, [&](Expr) {
    hw::Vector vector;
    vector.op = hw::VectorOp::Iota;
    vector.dst.type = hw::DType::I32;
    vector.dst.address.space = hw::Space::L1;
    vector.dst.address.offset.constant = kCellAreaBytes;
    if (op.getAxis() == st::MeshOp::kMicro) {
      vector.start = Expr::reg(hw::kMicroBatch).toAffine();
    } else {
      int64_t entry = table.addShifted(op.getAxisAttr(), op.getShift());
      builder.useTable(table.size());
      vector.start = core.table(entry).toAffine();
    }
    // The queue has stored all results of the previous kernel.
    core.wait(builder.semaphore(Sem::Full));
    core.emit(std::move(vector));
    core.signal(builder.semaphore(Sem::Done));
  });
  builder.leader([&] {
    StreamBuilder::Scope scope(dte);
    dte.signal(builder.semaphore(Sem::Full));
    dte.wait(builder.semaphore(Sem::Done));
    emitCopy(dte, l3Address(baseOf(dte, *place)), l1Address(kCellAreaBytes), {}, hw::DType::I32,
             hw::DType::I32);
  });
  return success();
}

LogicalResult TaskEmitter::emitConstant(Operation *op) {
  FailureOr<Placement> place = placementOf(op->getResult(0));
  if (failed(place))
    return failure();
  auto value = dyn_cast<DenseElementsAttr>(cast<stablehlo::ConstantOp>(op).getValue());
  if (!value)
    return op->emitOpError("of this form is not supported by the DTU backend");
  constants.push_back({place->offset, value});
  return success();
}

LogicalResult TaskEmitter::emit(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](st::CaptureOp) { return success(); })
      .Case([&](st::ReadOp read) { return emitRead(read); })
      .Case([&](st::LoopOp loop) { return emitLoop(loop); })
      .Case([&](st::WriteOp write) { return emitWrite(write); })
      .Case([&](st::KernelOp kernel) { return emitKernel(kernel); })
      .Case([&](st::SendOp send) { return emitSend(send); })
      .Case([&](st::RecvOp recv) { return emitRecv(recv); })
      .Case([&](st::AxisIndexOp index) { return emitAxisIndex(index); })
      .Case([&](stablehlo::ReshapeOp reshape) { return emitReshape(reshape); })
      .Case([&](stablehlo::ConstantOp constant) { return emitConstant(constant); })
      .Case<st::AllReduceOp, st::AllGatherOp, st::ReduceScatterOp, st::AllToAllOp, st::AllSliceOp,
            st::CollectivePermuteOp>(
          [&](Operation *collective) { return emitCollective(collective); })
      .Default([](Operation *other) {
        return other->emitOpError("is not supported by the DTU backend");
      });
}

FailureOr<hw::Program> TaskEmitter::run() {
  if (failed(emitBlock(task.getBody().front())))
    return failure();
  hostCopies.waitFor();
  links.waitFor();
  if (!builder.registersSufficed())
    return task.emitOpError("needs more registers than a stream has");
  return builder.take();
}
