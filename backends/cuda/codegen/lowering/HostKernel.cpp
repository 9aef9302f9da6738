#include "backends/cuda/codegen/lowering/HostKernel.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/attention/HostCopies.h"
#include "backends/cuda/codegen/kernels/ElementaryFunctions.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::cuda;

static constexpr int64_t kWarp = 32;

/// The type without the memory spaces of GPUs.
static Type hostType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !isa_and_nonnull<gpu::AddressSpaceAttr>(memref.getMemorySpace()))
    return type;
  return MemRefType::get(memref.getShape(), memref.getElementType(), memref.getLayout());
}

/// Returns true for a load of a single word of shared memory, such as the block number that the
/// first thread stores there (expand-semaphores). All threads load the same value.
static bool readsSharedWord(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  if (!load)
    return false;
  MemRefType type = load.getMemRefType();
  return type.getShape() == ArrayRef<int64_t>{1} && type.getElementType().isInteger(32) &&
         isa_and_nonnull<gpu::AddressSpaceAttr>(type.getMemorySpace());
}

/// Returns the bytes of dynamic shared memory that the kernel's views cover.
static int64_t getDynamicBytes(gpu::DynamicSharedMemoryOp memory) {
  int64_t bytes = 0;
  for (Operation *user : memory->getUsers()) {
    auto view = dyn_cast<memref::ViewOp>(user);
    std::optional<int64_t> begin =
        view ? getConstantIntValue(view.getByteShift()) : std::optional<int64_t>();
    if (begin)
      bytes = std::max(bytes, *begin + view.getType().getNumElements() *
                                           static_cast<int64_t>(llvm::divideCeil(
                                               view.getType().getElementTypeBitWidth(), 8)));
  }
  return bytes;
}

// ---- analysis -----------------------------------------------------------------------------------

bool HostKernel::containsCollective(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<gpu::BarrierOp, gpu::ShuffleOp, nvgpu::MmaSyncOp, nvgpu::LdMatrixOp,
                   TakeTicketOp, SemaphoreWaitOp, SemaphoreReleaseOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void HostKernel::assignSegments(Block &block) {
  commonBlocks.insert(&block);
  ++numSegments;
  for (Operation &op : block) {
    bool ends = op.hasTrait<OpTrait::IsTerminator>();
    if (!ends && !containsCollective(&op) && !readsSharedWord(&op)) {
      segments[&op] = numSegments;
      continue;
    }
    collectives.insert(&op);
    segments[&op] = ++numSegments;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        assignSegments(inner);
    ++numSegments;
  }
}

/// The ancestor of an op, or the op itself, that is directly in a common block.
Operation *HostKernel::commonAncestor(Operation *op) {
  while (!commonBlocks.contains(op->getBlock()))
    op = op->getParentOp();
  return op;
}

bool HostKernel::isUniform(Value value) {
  if (uniform.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !commonBlocks.contains(op->getBlock()) || collectives.contains(op) ||
      isa<gpu::ThreadIdOp, gpu::LaneIdOp>(op) || op->getNumRegions() > 0 || !isMemoryEffectFree(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isUniform(operand); });
}

/// Returns true if a thread's value has a user in another segment.
bool HostKernel::isUsedInOtherSegment(Value value) {
  unsigned own = segments.lookup(value.getDefiningOp());
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *common = commonAncestor(user);
    return collectives.contains(common) || segments.lookup(common) != own;
  });
}

// ---- values -------------------------------------------------------------------------------------

/// Allocates memory that is freed at the end of the function.
Value HostKernel::allocate(MemRefType type) {
  // Vector accesses require alignment to their full size.
  allocations.push_back(memref::AllocOp::create(builder, loc, type, builder.getI64IntegerAttr(64)));
  return allocations.back();
}

/// Returns the array of a value; created at the start of the function.
Value HostKernel::arrayOf(Value value) {
  Value &array = arrays[value];
  if (!array) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&host.getBody().front());
    array = allocate(MemRefType::get({threads}, value.getType()));
  }
  return array;
}

Value HostKernel::mapUniform(Value value) {
  if (Value mapped = uniform.lookupOrNull(value))
    return mapped;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    mapUniform(operand);
  for (Value result : builder.clone(*op, uniform)->getResults())
    result.setType(hostType(result.getType()));
  return uniform.lookup(value);
}

Value HostKernel::valueAt(Value value, Value thread) {
  if (isUniform(value))
    return mapUniform(value);
  return memref::LoadOp::create(builder, loc, arrayOf(value), thread);
}

Value HostKernel::threadId(gpu::ThreadIdOp op, Value thread) {
  unsigned dimension = static_cast<unsigned>(op.getDimension());
  int64_t stride = 1;
  for (unsigned i = 0; i < dimension; ++i)
    stride *= blockSize[i];
  Value id = arith::DivUIOp::create(builder, loc, thread, index(stride));
  return arith::RemUIOp::create(builder, loc, id, index(blockSize[dimension]));
}

/// Replaces the thread ids in an op's regions.
void HostKernel::replaceThreadIds(Operation *op, Value thread) {
  OpBuilder::InsertionGuard guard(builder);
  op->walk([&](gpu::ThreadIdOp id) {
    builder.setInsertionPoint(id);
    id.replaceAllUsesWith(threadId(id, thread));
    id.erase();
  });
}

void HostKernel::forThreads(llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, index(0), index(threads), index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value thread = loop.getInductionVar();
  if (descending)
    thread = arith::SubIOp::create(builder, loc, index(threads - 1), thread);
  body(thread);
}

void HostKernel::assign(ValueRange from, ValueRange to) {
  if (from.empty())
    return;
  SmallVector<Value> targets = llvm::map_to_vector(to, [&](Value value) { return arrayOf(value); });
  for (Value value : from)
    if (isUniform(value))
      mapUniform(value);
  forThreads([&](Value thread) {
    SmallVector<Value> values =
        llvm::map_to_vector(from, [&](Value value) { return valueAt(value, thread); });
    for (auto [value, target] : llvm::zip_equal(values, targets))
      memref::StoreOp::create(builder, loc, value, target, thread);
  });
}

// ---- code ---------------------------------------------------------------------------------------

/// Emits the ops of one segment in a loop over threads.
void HostKernel::emitRun(ArrayRef<Operation *> run) {
  if (run.empty())
    return;
  DenseSet<Operation *> inside(run.begin(), run.end());
  llvm::SetVector<Value> outside;
  for (Operation *op : run)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        Block *block = operand.getParentBlock();
        if (commonBlocks.contains(block) && !(maker && inside.contains(maker)))
          outside.insert(operand);
      }
    });
  for (Value value : outside)
    if (isUniform(value))
      mapUniform(value);
  forThreads([&](Value thread) {
    IRMapping mapping;
    for (Value value : outside)
      mapping.map(value, valueAt(value, thread));
    for (Operation *op : run) {
      if (auto id = dyn_cast<gpu::ThreadIdOp>(op)) {
        mapping.map(id.getResult(), threadId(id, thread));
      } else {
        Operation *clone = builder.clone(*op, mapping);
        for (Value result : clone->getResults())
          result.setType(hostType(result.getType()));
        replaceThreadIds(clone, thread);
      }
      for (Value result : op->getResults())
        if (isUsedInOtherSegment(result))
          memref::StoreOp::create(builder, loc, mapping.lookup(result), arrayOf(result), thread);
    }
  });
}

/// Returns an array of a value for all threads.
Value HostKernel::arrayWith(Value value) {
  if (isUniform(value)) {
    mapUniform(value);
    forThreads([&](Value thread) {
      memref::StoreOp::create(builder, loc, valueAt(value, thread), arrayOf(value), thread);
    });
  }
  return arrayOf(value);
}

void HostKernel::emitMatrixProduct(nvgpu::MmaSyncOp op) {
  SmallVector<Value> arguments;
  for (Value value : {op.getMatrixA(), op.getMatrixB(), op.getMatrixC()})
    arguments.push_back(arrayWith(value));
  arguments.push_back(arrayOf(op.getResult()));
  func::CallOp::create(builder, loc, matrices().getProduct(op), arguments);
}

void HostKernel::emitMatrixLoad(nvgpu::LdMatrixOp op) {
  func::FuncOp function = matrices().getLoad(op);
  Value memory = mapUniform(op.getSrcMemref());
  memory = memref::CastOp::create(builder, loc, function.getArgumentTypes()[0], memory);
  func::CallOp::create(
      builder, loc, function,
      ValueRange{memory, arrayWith(op.getIndices().front()), arrayOf(op.getRes())});
}

void HostKernel::emitShuffle(gpu::ShuffleOp op) {
  Value result = arrayOf(op.getShuffleResult()), valid = arrayOf(op.getValid());
  for (Value operand : op->getOperands())
    if (isUniform(operand))
      mapUniform(operand);
  forThreads([&](Value thread) {
    auto toIndex = [&](Value value) -> Value {
      return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), value);
    };
    auto combine = [&](auto tag, Value a, Value b) -> Value {
      return decltype(tag)::create(builder, loc, a, b);
    };
    Value offset = toIndex(valueAt(op.getOffset(), thread));
    Value width = toIndex(valueAt(op.getWidth(), thread));
    // The lanes of a warp shuffle within parts of `width`.
    Value lane = combine(arith::RemUIOp(), thread, index(kWarp));
    Value inPart = combine(arith::RemUIOp(), lane, width);
    Value first = combine(arith::SubIOp(), thread, inPart), partner;
    switch (op.getMode()) {
    case gpu::ShuffleMode::XOR:
      partner = combine(arith::XOrIOp(), inPart, offset);
      break;
    case gpu::ShuffleMode::UP:
      partner = combine(arith::SubIOp(), inPart, offset);
      break;
    case gpu::ShuffleMode::DOWN:
      partner = combine(arith::AddIOp(), inPart, offset);
      break;
    case gpu::ShuffleMode::IDX:
      partner = offset;
      break;
    }
    Value source = combine(arith::AddIOp(), first, partner);
    auto less = [&](Value a, Value b) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
    };
    Value exists = combine(arith::AndIOp(), less(partner, width), less(source, index(threads)));
    // A thread without a partner keeps its value.
    source = arith::SelectOp::create(builder, loc, exists, source, thread);
    Value number = valueAt(op.getValue(), source);
    memref::StoreOp::create(builder, loc, number, result, thread);
    memref::StoreOp::create(builder, loc, exists, valid, thread);
  });
}

void HostKernel::emitSharedWord(memref::LoadOp op) {
  Value memory = mapUniform(op.getMemRef());
  uniform.map(op.getResult(), memref::LoadOp::create(builder, loc, memory, index(0)).getResult());
}

/// Stores 1 in @st_unmet_wait, which the caller of the kernel reads: a block would have to wait.
void HostKernel::emitOutOfOrder() {
  auto module = kernel->getParentOfType<ModuleOp>();
  auto word = MemRefType::get({1}, builder.getI32Type());
  if (!module.lookupSymbol(kUnmetWaitSymbol)) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto zero = DenseElementsAttr::get(RankedTensorType::get({1}, builder.getI32Type()), 0);
    memref::GlobalOp::create(top, module.getLoc(), kUnmetWaitSymbol, StringAttr(), word, zero,
                             /*constant=*/false, /*alignment=*/IntegerAttr());
  }
  Value missed = memref::GetGlobalOp::create(builder, loc, word, kUnmetWaitSymbol);
  Value one = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
  memref::StoreOp::create(builder, loc, one, missed, ValueRange{index(0)});
}

/// Emits an op that orders blocks: cuda.take_ticket, cuda.semaphore_wait or cuda.semaphore_release.
/// The host runs blocks one after the other in the order of their tickets, so a block never has to
/// wait. If a block would wait, the words were not zero before the launch, and the kernel reports
/// this.
LogicalResult HostKernel::emitOrderOp(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (!isUniform(operand))
      return op->emitOpError("has operands that differ between threads");
    mapUniform(operand);
  }
  Value semaphores = uniform.lookup(op->getOperand(0)), place = uniform.lookup(op->getOperand(1));
  auto cast = [&](Type type, Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, type, value);
  };
  Value word = memref::LoadOp::create(builder, loc, semaphores, place);
  if (auto take = dyn_cast<TakeTicketOp>(op)) {
    uniform.map(take.getTicket(), cast(builder.getIndexType(), word));
    Value one = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
    Value next = arith::AddIOp::create(builder, loc, word, one);
    memref::StoreOp::create(builder, loc, next, semaphores, place);
    return success();
  }
  Value value = cast(builder.getI32Type(), uniform.lookup(op->getOperand(2)));
  if (isa<SemaphoreReleaseOp>(op)) {
    memref::StoreOp::create(builder, loc, value, semaphores, place);
    return success();
  }
  Value isOther = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, word, value);
  auto branch = scf::IfOp::create(builder, loc, isOther, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitOutOfOrder();
  return success();
}

LogicalResult HostKernel::emitFor(scf::ForOp op) {
  for (Value bound : {op.getLowerBound(), op.getUpperBound(), op.getStep()})
    if (!isUniform(bound))
      return op.emitOpError(
          "contains a barrier or a shuffle and has bounds that differ between threads");
  assign(op.getInitArgs(), op.getRegionIterArgs());
  auto loop = scf::ForOp::create(builder, loc, mapUniform(op.getLowerBound()),
                                 mapUniform(op.getUpperBound()), mapUniform(op.getStep()));
  uniform.map(op.getInductionVar(), loop.getInductionVar());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    if (failed(emitBlock(*op.getBody())))
      return failure();
    assign(op.getBody()->getTerminator()->getOperands(), op.getRegionIterArgs());
  }
  assign(op.getRegionIterArgs(), op.getResults());
  return success();
}

LogicalResult HostKernel::emitIf(scf::IfOp op) {
  if (!isUniform(op.getCondition()))
    return op.emitOpError(
        "contains a barrier or a shuffle and has a condition that differs between threads");
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(builder, loc, mapUniform(op.getCondition()), hasElse);
  for (auto [from, to] : {std::pair(&op.getThenRegion(), &branch.getThenRegion()),
                          std::pair(&op.getElseRegion(), &branch.getElseRegion())}) {
    if (from->empty())
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&to->front());
    if (failed(emitBlock(from->front())))
      return failure();
    assign(from->front().getTerminator()->getOperands(), op.getResults());
  }
  return success();
}

LogicalResult HostKernel::emitCollective(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](gpu::BarrierOp) { return success(); })
      .Case([&](nvgpu::MmaSyncOp product) {
        emitMatrixProduct(product);
        return success();
      })
      .Case([&](nvgpu::LdMatrixOp load) {
        emitMatrixLoad(load);
        return success();
      })
      .Case<TakeTicketOp, SemaphoreWaitOp, SemaphoreReleaseOp>(
          [&](Operation *turn) { return emitOrderOp(turn); })
      .Case([&](gpu::ShuffleOp shuffle) {
        emitShuffle(shuffle);
        return success();
      })
      .Case([&](memref::LoadOp load) {
        emitSharedWord(load);
        return success();
      })
      .Case([&](scf::ForOp loop) { return emitFor(loop); })
      .Case([&](scf::IfOp branch) { return emitIf(branch); })
      .Default([](Operation *other) {
        return other->emitOpError(
            "contains a barrier or a shuffle, which only scf.for and scf.if may contain");
      });
}

LogicalResult HostKernel::emitBlock(Block &block) {
  // Uniform values of an inner block are valid only inside it.
  IRMapping outer = uniform;
  SmallVector<Operation *> run;
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    if (collectives.contains(&op)) {
      emitRun(run);
      run.clear();
      if (failed(emitCollective(&op)))
        return failure();
    } else if (op.getNumResults() == 0 || !isUniform(op.getResult(0))) {
      run.push_back(&op);
    }
  }
  emitRun(run);
  uniform = outer;
  return success();
}

LogicalResult HostKernel::emit(func::FuncOp &function) {
  std::optional<ArrayRef<int32_t>> size = kernel.getKnownBlockSize();
  if (!size)
    return kernel.emitOpError("has no known_block_size, which gpu-to-host needs");
  if (!llvm::hasSingleElement(kernel.getBody()))
    return kernel.emitOpError("has several blocks, expected structured control flow");
  blockSize.assign(size->begin(), size->end());
  for (int64_t extent : blockSize)
    threads *= extent;
  if (failed(makeCopiesOfThreads(kernel, threads, descending)))
    return failure();
  Block &body = kernel.getBody().front();
  SmallVector<Type> types(3, builder.getIndexType());
  llvm::append_range(types, kernel.getFunctionType().getInputs());
  builder.setInsertionPoint(kernel->getParentOp());
  host = func::FuncOp::create(builder, loc, kernel.getName(), builder.getFunctionType(types, {}));
  host.setPrivate();
  function = host;
  Block *entry = host.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  func::ReturnOp::create(builder, loc);
  builder.setInsertionPointToStart(entry);

  unsigned numArguments = kernel.getFunctionType().getNumInputs();
  for (unsigned i = 0; i < numArguments; ++i)
    uniform.map(body.getArgument(i), entry->getArgument(i + 3));
  for (BlockArgument buffer : body.getArguments().drop_front(numArguments))
    uniform.map(buffer, allocate(cast<MemRefType>(hostType(buffer.getType()))));
  for (auto memory : body.getOps<gpu::DynamicSharedMemoryOp>())
    uniform.map(memory.getResult(),
                allocate(MemRefType::get({getDynamicBytes(memory)}, builder.getI8Type())));
  assignSegments(body);

  Value ids[3];
  for (int i = 2; i >= 0; --i) {
    Value end = entry->getArgument(i);
    auto loop = scf::ForOp::create(builder, loc, index(0), end, index(1));
    builder.setInsertionPointToStart(loop.getBody());
    ids[i] = loop.getInductionVar();
    if (descending) {
      Value last = arith::SubIOp::create(builder, loc, end, index(1));
      ids[i] = arith::SubIOp::create(builder, loc, last, ids[i]);
    }
  }
  for (Operation &op : body) {
    if (auto id = dyn_cast<gpu::BlockIdOp>(op))
      uniform.map(id.getResult(), ids[static_cast<unsigned>(id.getDimension())]);
    if (auto dim = dyn_cast<gpu::GridDimOp>(op))
      uniform.map(dim.getResult(), entry->getArgument(static_cast<unsigned>(dim.getDimension())));
    if (auto dim = dyn_cast<gpu::BlockDimOp>(op))
      uniform.map(dim.getResult(), index(blockSize[static_cast<unsigned>(dim.getDimension())]));
  }
  if (failed(emitBlock(body)))
    return failure();
  builder.setInsertionPoint(entry->getTerminator());
  for (Value memory : allocations)
    memref::DeallocOp::create(builder, loc, memory);
  return success();
}
