#include "backends/cuda/codegen/executable/CommandList.h"

#include "backends/common/ProgramToExecutable.h"
#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/analysis/BufferUses.h"
#include "backends/cuda/codegen/kernels/SharedMemory.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::cuda;
namespace proto = ::st::proto;

static LogicalResult refuse(Operation *op, const Twine &what) {
  return op->emitOpError() << what << ", so it cannot be converted to a command";
}

static int64_t bytesOf(Type type) {
  auto buffer = cast<MemRefType>(type);
  return buffer.getNumElements() * buffer.getElementTypeBitWidth() / 8;
}

// ---- places -------------------------------------------------------------------------------------

/// Adds an offset to a place. Supports constants, the slot of a micro-batch times a stride, and an
/// entry of the rank table times a stride.
static LogicalResult addOffset(Value value, proto::CudaPlace &place) {
  if (std::optional<int64_t> constant = getConstantIntValue(value)) {
    place.set_offset(place.offset() + *constant);
    return success();
  }
  Operation *op = value.getDefiningOp();
  if (auto sum = dyn_cast_or_null<arith::AddIOp>(op))
    return success(succeeded(addOffset(sum.getLhs(), place)) &&
                   succeeded(addOffset(sum.getRhs(), place)));
  auto product = dyn_cast_or_null<arith::MulIOp>(op);
  std::optional<int64_t> stride = product ? getConstantIntValue(product.getRhs()) : std::nullopt;
  if (!stride)
    return failure();
  if (auto entry = product.getLhs().getDefiningOp<TableEntryOp>()) {
    if (place.has_position())
      return failure();
    place.set_position(entry.getEntry());
    place.set_position_stride(*stride);
    return success();
  }
  if (std::optional<int64_t> factor = getConstantIntValue(product.getLhs())) {
    place.set_offset(place.offset() + *factor * *stride);
    return success();
  }
  auto slot = product.getLhs().getDefiningOp<arith::RemUIOp>();
  std::optional<int64_t> slots = slot ? getConstantIntValue(slot.getRhs()) : std::nullopt;
  if (!slots || place.slots() != 1)
    return failure();
  place.set_slots(*slots);
  place.set_stride(*stride);
  return success();
}

static LogicalResult setPlace(Operation *user, Value buffer, proto::CudaPlace &place) {
  place.set_slots(1);
  auto view = buffer.getDefiningOp<memref::ViewOp>();
  Operation *memory = view ? view.getSource().getDefiningOp() : nullptr;
  place.set_scratch(isa_and_nonnull<ScratchOp>(memory));
  const bool isKnown = view && (place.scratch() || isa<BlockArgument>(view.getSource()));
  if (!isKnown || failed(addOffset(view.getByteShift(), place)))
    return refuse(user, "has an operand that is not a view of an arena");
  return success();
}

/// The alignment of a place in bytes, up to the largest that kernels use.
static int64_t alignmentOf(const proto::CudaPlace &place) {
  constexpr int64_t maximum = 16;
  int64_t common = place.offset() | place.position_stride() | maximum;
  if (place.slots() > 1)
    common |= place.stride();
  return common & -common;
}

// ---- commands -----------------------------------------------------------------------------------

LogicalResult CommandLists::translateLaunch(gpu::LaunchFuncOp launch, proto::CudaLaunch &command) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(launch, launch.getKernel());
  gpu::KernelDim3 grid = launch.getGridSizeOperandValues(),
                  block = launch.getBlockSizeOperandValues();
  std::optional<int64_t> blocks = getConstantIntValue(grid.x),
                         threads = getConstantIntValue(block.x);
  if (!kernel || !blocks || !threads)
    return refuse(launch, "has an unknown kernel or grid");
  auto [it, isNew] = numbers.try_emplace(kernel, kernels.size());
  if (isNew) {
    kernels.push_back(kernel);
    Grid &grid = grids.emplace_back();
    grid = {*blocks, *threads, SmallVector<int64_t>(launch.getNumKernelOperands(), 16), {}};
    for (BlockArgument argument : kernel.getArguments().take_front(launch.getNumKernelOperands()))
      grid.arguments.push_back({bytesOf(argument.getType()), isOnlyRead(argument)});
  }
  if (grids[it->second].blocks != *blocks || grids[it->second].threads != *threads)
    return refuse(launch, "launches a kernel with a different grid than an earlier launch");
  command.set_kernel(it->second);
  Grid &known = grids[it->second];
  for (auto [number, argument] : llvm::enumerate(launch.getKernelOperands())) {
    proto::CudaPlace &place = *command.add_arguments();
    if (failed(setPlace(launch, argument, place)))
      return failure();
    known.alignments[number] = std::min(known.alignments[number], alignmentOf(place));
  }
  return success();
}

proto::CudaKernel CommandLists::describe(size_t kernel) const {
  proto::CudaKernel description;
  gpu::GPUFuncOp function = kernels[kernel];
  description.set_name(function.getName().str());
  description.set_blocks(grids[kernel].blocks);
  description.set_threads(grids[kernel].threads);
  description.set_shared_bytes(getDynamicSharedBytes(function));
  for (Type type : function.getFunctionType().getInputs())
    description.add_argument_bytes(bytesOf(type));
  for (int64_t alignment : grids[kernel].alignments)
    description.add_argument_alignments(alignment);
  if (auto bytes = function->getAttrOfType<FloatAttr>(kBytesAttr))
    description.set_bytes(bytes.getValueAsDouble());
  if (auto flops = function->getAttrOfType<FloatAttr>(kProductFlopsAttr))
    description.set_product_flops(flops.getValueAsDouble());
  if (auto type = function->getAttrOfType<TypeAttr>(kProductTypeAttr))
    if (auto binary = mlir::st::getBinaryType(type.getValue()))
      description.set_product_type(*binary);
  return description;
}

static LogicalResult translateCopy(gpu::MemcpyOp copy, proto::CudaCopy &command) {
  command.set_rows(1);
  command.set_row_bytes(bytesOf(copy.getSrc().getType()));
  return success(succeeded(setPlace(copy, copy.getSrc(), *command.mutable_from())) &&
                 succeeded(setPlace(copy, copy.getDst(), *command.mutable_to())));
}

static void setMatrix(MatrixAttr from, proto::CudaMatrix &to) {
  to.set_row(from.getRow());
  to.set_column(from.getColumn());
  to.mutable_batch()->Add(from.getBatch().begin(), from.getBatch().end());
}

/// Translates all but the body.
static LogicalResult translateProduct(ProductOp product, proto::CudaProduct &command) {
  command.set_m(product.getM());
  command.set_n(product.getN());
  command.set_k(product.getK());
  command.mutable_batch()->Add(product.getBatch().begin(), product.getBatch().end());
  command.set_scale(product.getScale().convertToDouble());
  auto typeOf = [](Value buffer) {
    return mlir::st::getBinaryType(cast<MemRefType>(buffer.getType()).getElementType());
  };
  std::optional<proto::ElementType> type = typeOf(product.getA()), dType = typeOf(product.getD());
  if (!type || !dType)
    return refuse(product, "has elements of an unsupported type");
  command.set_type(*type);
  command.set_d_type(*dType);
  auto precision =
      product->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(mlir::st::kPrecisionAttr);
  auto products = precision ? precision.getAs<StringAttr>("products") : StringAttr();
  command.set_tf32(*type == proto::F32 && products && products.getValue() == "tf32");
  setMatrix(product.getAMatrix(), *command.mutable_a_matrix());
  setMatrix(product.getBMatrix(), *command.mutable_b_matrix());
  setMatrix(product.getDMatrix(), *command.mutable_d_matrix());
  // Both enumerations use the same values.
  command.set_activation(
      static_cast<proto::CudaProduct::Activation>(static_cast<int>(product.getActivation())));
  command.set_sums_of_a(product.getSummed() == Operand::A);
  auto setOptional = [&](Value buffer, auto mutablePlace) {
    return buffer ? setPlace(product, buffer, *(command.*mutablePlace)()) : success();
  };
  using Command = proto::CudaProduct;
  if (failed(setOptional(product.getC(), &Command::mutable_addend)) ||
      failed(setOptional(product.getBias(), &Command::mutable_bias)) ||
      failed(setOptional(product.getAux(), &Command::mutable_aux)) ||
      failed(setOptional(product.getSums(), &Command::mutable_sums)))
    return failure();
  return success(succeeded(setPlace(product, product.getA(), *command.mutable_a())) &&
                 succeeded(setPlace(product, product.getB(), *command.mutable_b())) &&
                 succeeded(setPlace(product, product.getD(), *command.mutable_d())));
}

/// Translates all but the body.
static LogicalResult translateAttention(AttentionOp attention, proto::CudaAttention &command) {
  command.set_batch(attention.getBatch());
  command.set_heads(attention.getHeads());
  command.set_rows(attention.getRows());
  command.set_columns(attention.getColumns());
  command.set_depth(attention.getDepth());
  command.set_width(attention.getWidth());
  command.set_type(cast<MemRefType>(attention.getQ().getType()).getElementType().isF16()
                       ? proto::F16
                       : proto::BF16);
  command.set_scale(attention.getScale().convertToDouble());
  command.set_causal(attention.getCausal());
  auto setHeads = [&](Value buffer, std::optional<ArrayRef<int64_t>> strides,
                      auto getHeads) -> LogicalResult {
    if (!buffer)
      return success();
    proto::CudaHeads &heads = *(command.*getHeads)();
    heads.set_batch((*strides)[0]);
    heads.set_head((*strides)[1]);
    heads.set_row((*strides)[2]);
    return setPlace(attention, buffer, *heads.mutable_place());
  };
  using Command = proto::CudaAttention;
  if (const auto group = static_cast<int64_t>(attention.getGroup()); group > 1)
    for (proto::CudaHeads *heads : {command.mutable_k(), command.mutable_v()})
      heads->set_group(group);
  if ((attention.getMax() &&
       failed(setPlace(attention, attention.getMax(), *command.mutable_max()))) ||
      (attention.getSum() &&
       failed(setPlace(attention, attention.getSum(), *command.mutable_sum()))))
    return failure();
  return success(
      succeeded(setHeads(attention.getQ(), attention.getQStrides(), &Command::mutable_q)) &&
      succeeded(setHeads(attention.getK(), attention.getKStrides(), &Command::mutable_k)) &&
      succeeded(setHeads(attention.getV(), attention.getVStrides(), &Command::mutable_v)) &&
      succeeded(setHeads(attention.getO(), attention.getOStrides(), &Command::mutable_o)) &&
      succeeded(
          setHeads(attention.getBias(), attention.getBiasStrides(), &Command::mutable_bias)) &&
      succeeded(setHeads(attention.getDO(), attention.getDOStrides(), &Command::mutable_d_o)) &&
      succeeded(setHeads(attention.getDQ(), attention.getDQStrides(), &Command::mutable_d_q)) &&
      succeeded(setHeads(attention.getDK(), attention.getDKStrides(), &Command::mutable_d_k)) &&
      succeeded(setHeads(attention.getDV(), attention.getDVStrides(), &Command::mutable_d_v)));
}

/// Sets the place from which the host fetches the predicate of the next trip.
static LogicalResult setPredicate(scf::WhileOp loop, proto::CudaLoop &command) {
  auto fetches = loop.getBefore().getOps<gpu::MemcpyOp>();
  if (!llvm::hasSingleElement(fetches))
    return refuse(loop, "does not fetch one predicate");
  return setPlace(loop, (*fetches.begin()).getSrc(), *command.mutable_predicate());
}

static LogicalResult translateIndex(WriteIndexOp write, proto::CudaIndex &command) {
  if (auto entry = write.getValue().getDefiningOp<TableEntryOp>())
    command.set_entry(entry.getEntry());
  else if (!isa<BlockArgument>(write.getValue()))
    return refuse(write, "writes a number that is neither the micro-batch nor a table entry");
  return setPlace(write, write.getTarget(), *command.mutable_to());
}

static LogicalResult translateRows(CopyRowsOp copy, proto::CudaCopy &command) {
  command.set_rows(copy.getRows());
  command.set_row_bytes(bytesOf(copy.getFrom().getType()));
  command.set_from_pitch(copy.getFromPitch());
  command.set_to_pitch(copy.getToPitch());
  return success(succeeded(setPlace(copy, copy.getFrom(), *command.mutable_from())) &&
                 succeeded(setPlace(copy, copy.getTo(), *command.mutable_to())));
}

static LogicalResult translateExchange(ExchangeOp exchange, proto::CudaExchange &command) {
  command.set_name(exchange.getName().str());
  command.set_bytes(exchange.getBytes());
  command.set_from_stride(exchange.getFromStride());
  command.set_to_stride(exchange.getToStride());
  command.set_first(exchange.getFirst());
  command.set_count(exchange.getCount());
  return success(succeeded(setPlace(exchange, exchange.getFrom(), *command.mutable_from())) &&
                 succeeded(setPlace(exchange, exchange.getTo(), *command.mutable_to())));
}

static LogicalResult translateSend(SendOp send, proto::CudaSend &command) {
  command.set_bytes(bytesOf(send.getFrom().getType()));
  command.set_peer(send.getPeer());
  command.set_channel(send.getChannel());
  return setPlace(send, send.getFrom(), *command.mutable_from());
}

static LogicalResult translateReceive(ReceiveOp receive, proto::CudaReceive &command) {
  command.set_bytes(bytesOf(receive.getTo().getType()));
  command.set_peer(receive.getPeer());
  command.set_channel(receive.getChannel());
  return setPlace(receive, receive.getTo(), *command.mutable_to());
}

/// Translates a product or attention, with the equivalent commands of its body.
template <typename OpTy, typename CommandTy>
LogicalResult CommandLists::translateWithBody(OpTy op, CommandTy &command,
                                              LogicalResult (*translate)(OpTy, CommandTy &)) {
  if (failed(translate(op, command)))
    return failure();
  if (op.getBody().empty())
    return success();
  return translateBlock(op.getBody().front(), *command.mutable_body());
}

LogicalResult CommandLists::translateCounted(scf::ForOp loop, proto::CudaLoop &command) {
  std::optional<int64_t> trips = getConstantIntValue(loop.getUpperBound());
  if (!trips)
    return refuse(loop, "has an unknown trip count");
  command.set_trips(*trips);
  return translateBlock(*loop.getBody(), *command.mutable_body());
}

LogicalResult CommandLists::translateWhile(scf::WhileOp loop, proto::CudaLoop &command) {
  if (failed(setPredicate(loop, command)))
    return failure();
  return translateBlock(loop.getAfter().front(), *command.mutable_body());
}

LogicalResult CommandLists::translateOp(Operation *op, Commands &commands) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](gpu::LaunchFuncOp launch) {
        proto::CudaCommand &command = *commands.Add();
        command.set_left_by_update(launch->hasAttr(kLeftByUpdateAttr));
        return translateLaunch(launch, *command.mutable_launch());
      })
      .Case(
          [&](gpu::MemcpyOp copy) { return translateCopy(copy, *commands.Add()->mutable_copy()); })
      .Case([&](ProductOp product) {
        return translateWithBody(product, *commands.Add()->mutable_product(), translateProduct);
      })
      .Case([&](AttentionOp attention) {
        return translateWithBody(attention, *commands.Add()->mutable_attention(),
                                 translateAttention);
      })
      .Case([&](WriteIndexOp write) {
        return translateIndex(write, *commands.Add()->mutable_index());
      })
      .Case([&](CopyRowsOp copy) { return translateRows(copy, *commands.Add()->mutable_copy()); })
      .Case([&](ExchangeOp exchange) {
        return translateExchange(exchange, *commands.Add()->mutable_exchange());
      })
      .Case([&](SendOp send) { return translateSend(send, *commands.Add()->mutable_send()); })
      .Case([&](ReceiveOp receive) {
        return translateReceive(receive, *commands.Add()->mutable_receive());
      })
      .Case(
          [&](scf::ForOp loop) { return translateCounted(loop, *commands.Add()->mutable_loop()); })
      .Case(
          [&](scf::WhileOp loop) { return translateWhile(loop, *commands.Add()->mutable_loop()); })
      .Case([&](memref::AllocaOp) { return success(); }) // for the predicate of a loop
      .Default([](Operation *other) -> LogicalResult {
        // The users of a place translate it.
        if (isMemoryEffectFree(other) || other->hasTrait<OpTrait::IsTerminator>())
          return success();
        return refuse(other, "has no translation");
      });
}

LogicalResult CommandLists::translateBlock(Block &block, Commands &commands) {
  for (Operation &op : block)
    if (failed(translateOp(&op, commands)))
      return failure();
  return success();
}

FailureOr<proto::CudaProgram> CommandLists::translate(func::FuncOp task) {
  proto::CudaProgram program;
  if (failed(translateBlock(task.getBody().front(), *program.mutable_commands())))
    return failure();
  assignStreams(program, [&](int64_t kernel) -> ArrayRef<KernelArgument> {
    return grids[static_cast<size_t>(kernel)].arguments;
  });
  return program;
}
