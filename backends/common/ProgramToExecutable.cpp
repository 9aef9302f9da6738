#include "backends/common/ProgramToExecutable.h"

#include "dialects/St/IR/NamedRows.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StackedState.h"
#include "dialects/St/Interfaces/Shapes.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;
using namespace mlir::st;
namespace proto = ::st::proto;

static constexpr int64_t kFormatVersion = 3;

// ---- types and slices -----------------------------------------------------------------------

std::optional<proto::ElementType> mlir::st::getBinaryType(Type element) {
  if (isa<BFloat16Type>(element))
    return proto::BF16;
  if (isa<Float16Type>(element))
    return proto::F16;
  if (isa<Float32Type>(element))
    return proto::F32;
  if (isa<Float64Type>(element))
    return proto::F64;
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return std::nullopt;
  const bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return isUnsigned ? std::nullopt : std::optional(proto::I1);
  case 8:
    return isUnsigned ? proto::U8 : proto::I8;
  case 16:
    return isUnsigned ? proto::U16 : proto::I16;
  case 32:
    return isUnsigned ? proto::U32 : proto::I32;
  case 64:
    return isUnsigned ? proto::U64 : proto::I64;
  default:
    return std::nullopt;
  }
}

static LogicalResult setType(Operation *op, Type from, proto::TensorType &to) {
  auto tensor = cast<RankedTensorType>(from);
  std::optional<proto::ElementType> type = getBinaryType(tensor.getElementType());
  if (!type)
    return op->emitOpError("has type ") << from << ", which a binary cannot hold";
  to.set_element(*type);
  for (int64_t size : tensor.getShape())
    to.add_shape(size);
  return success();
}

/// Sets each rank's part of a tensor, of at most `local` elements. Spatial axes are listed major to
/// minor; `micro` does not affect ranks.
static LogicalResult setSlice(Operation *op, ShardingAttr sharding, Type global, Type local,
                              MeshOp mesh, int64_t ranks, proto::Slice &slice) {
  auto sizeOf = [&](StringRef axis) { return mesh.getAxisSize(axis).value_or(1); };
  auto globalShape = cast<RankedTensorType>(global).getShape(),
       held = cast<RankedTensorType>(local).getShape();
  SmallVector<int64_t> padded(held);
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim)
    padded[dim] *= getAxesSize(sharding.getAxes(dim), mesh);
  if (hasUnsplitParts(sharding)) {
    auto fine = splitAtUnshardedParts(sharding, padded, sizeOf);
    if (!fine)
      return op->emitOpError("has local type ")
             << local << ", which is not a shard of " << sharding;
    slice.mutable_view()->Add(fine->shape.begin(), fine->shape.end());
    for (ArrayAttr parts : sharding.getDims())
      slice.add_view_ranks(1 + llvm::count_if(parts, llvm::IsaPred<IntegerAttr>));
    sharding = fine->sharding;
  } else if (ArrayRef<int64_t>(padded) != globalShape) {
    slice.mutable_local()->Add(held.begin(), held.end());
  }
  auto spatial = [&](int64_t dim) {
    SmallVector<StringRef> axes = sharding.getAxes(dim);
    llvm::erase(axes, MeshOp::kMicro);
    return axes;
  };
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim) {
    int64_t count = 1;
    for (StringRef axis : spatial(dim))
      count *= sizeOf(axis);
    slice.add_counts(count);
  }
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t dim = 0; dim < sharding.getRank(); ++dim) {
      int64_t part = 0;
      for (StringRef axis : spatial(dim))
        part = part * sizeOf(axis) + mesh.getCoordinate(rank, axis);
      slice.add_parts(part);
    }
  return success();
}

/// The dimension of the slice that is split over micro-batches.
static int64_t microDimOf(InputOp op) {
  auto sharding = op.getSharding();
  if (op.getMicroDim() < 0 || !hasUnsplitParts(sharding))
    return op.getMicroDim();
  int64_t dim = 0;
  for (ArrayAttr parts : sharding.getDims()) {
    for (Attribute part : parts) {
      if (part == StringAttr::get(op.getContext(), MeshOp::kMicro))
        return dim;
      dim += isa<IntegerAttr>(part);
    }
    ++dim;
  }
  return op.getMicroDim();
}

/// For an output, -1 if it is equal for all micro-batches.
static int64_t microDimOf(OutputOp op) {
  auto micro = StringAttr::get(op.getContext(), MeshOp::kMicro);
  int64_t dim = 0;
  for (ArrayAttr parts : op.getSharding().getDims()) {
    for (Attribute part : parts) {
      if (part == micro)
        return dim;
      dim += hasUnsplitParts(op.getSharding()) && isa<IntegerAttr>(part);
    }
    ++dim;
  }
  return -1;
}

// ---- groups ---------------------------------------------------------------------------------

namespace {
class GroupBuilder {
public:
  GroupBuilder(ProgramOp program, MeshOp mesh, const ExecutableSource &source, proto::Group &group)
      : program(program), mesh(mesh), source(source), group(group),
        ranks(program.getDevices().size()) {}

  LogicalResult run();

private:
  ProgramOp program;
  MeshOp mesh;
  const ExecutableSource &source;
  proto::Group &group;
  int64_t ranks;
  int64_t arenaEnd = 0, hostEnd = 0; // of everything that has an address

  FailureOr<AddressAttr> place(Operation *storage, Type type);
  LogicalResult addState(StateOp state);
  LogicalResult addInput(InputOp input);
  LogicalResult addOutput(OutputOp output);
  LogicalResult addTask(TaskOp task);
  LogicalResult addConstants();
  void addSchedule(ScheduleOp schedule);
  void addMemoryClasses();
};
} // namespace

FailureOr<AddressAttr> GroupBuilder::place(Operation *storage, Type type) {
  auto address = storage->getAttrOfType<AddressAttr>("address");
  if (!address)
    return storage->emitOpError("has no address: run plan-memory first");
  arenaEnd =
      std::max(arenaEnd, address.getOffset() + (address.getSlots() - 1) * address.getStride() +
                             getNumBytes(type));
  return address;
}

/// A row is identified by the name of its tensor.
static void placeInStack(DictionaryAttr stack, proto::State &state) {
  if (auto name = stack.getAs<StringAttr>("name"))
    state.set_name(name.str());
  if (auto of = stack.getAs<StringAttr>("of"))
    state.set_parameter(of.str());
  auto row = stack.getAs<IntegerAttr>("row"), rows = stack.getAs<IntegerAttr>("rows");
  if (!row || !rows || state.global().shape_size() == 0)
    return;
  state.mutable_slice()->set_first_row(row.getInt());
  state.mutable_slice()->set_rows(state.global().shape(0));
  // Rows of a stack are not split further: the view's dimensions begin with the rows.
  if (state.slice().view_size() != 0)
    state.mutable_slice()->set_view(0, rows.getInt());
  state.mutable_global()->set_shape(0, rows.getInt());
}

LogicalResult GroupBuilder::addState(StateOp op) {
  proto::State &state = *group.add_states();
  FailureOr<AddressAttr> address = place(op, op.getLocalType());
  if (failed(address) || failed(setType(op, op.getGlobalType(), *state.mutable_global())))
    return failure();
  state.set_name(op.getName().str());
  state.set_role(op.getRole().str());
  state.set_parameter(op.getOf().str());
  if (failed(setSlice(op, op.getSharding(), op.getGlobalType(), op.getLocalType(), mesh, ranks,
                      *state.mutable_slice())))
    return failure();
  if (auto stack = op->getAttrOfType<DictionaryAttr>(kStackAttr))
    placeInStack(stack, state);
  state.set_has_named_rows(op->hasAttr(kNamedRowsAttr));
  state.set_offset(address->getOffset());
  state.set_init_stream(op.getInitStream().value_or(0));
  proto::Initializer &init = *state.mutable_init();
  DictionaryAttr how = op.getInitAttr();
  auto kind = how ? how.getAs<StringAttr>("kind") : StringAttr();
  if (kind && kind.getValue() == "normal") {
    init.set_kind(proto::Initializer::NORMAL);
    if (auto deviation = how.getAs<FloatAttr>("std"))
      init.set_stddev(deviation.getValueAsDouble());
    if (auto row = how.getAs<IntegerAttr>("zero_row"))
      init.set_zero_row(row.getInt());
  } else if (kind && kind.getValue() == "ones") {
    init.set_kind(proto::Initializer::ONES);
  } else if (kind && kind.getValue() == "constant") {
    init.set_kind(proto::Initializer::CONSTANT);
    if (auto value = how.getAs<FloatAttr>("value"))
      init.set_value(value.getValueAsDouble());
  } else if (kind && kind.getValue() != "zeros") {
    return op.emitOpError("has unknown initializer ")
           << kind << R"(, expected "normal", "constant", "ones" or "zeros")";
  }
  return success();
}

LogicalResult GroupBuilder::addInput(InputOp op) {
  proto::Input &input = *group.add_inputs();
  FailureOr<AddressAttr> address = place(op, op.getLocalType());
  if (failed(address) || failed(setType(op, op.getGlobalType(), *input.mutable_global())))
    return failure();
  input.set_name(op.getName().str());
  input.set_role(op.getRole().str());
  if (failed(setSlice(op, op.getSharding(), op.getGlobalType(), op.getLocalType(), mesh, ranks,
                      *input.mutable_slice())))
    return failure();
  if (auto limit = op->getAttrOfType<IntegerAttr>("st.limit"))
    input.set_limit(limit.getInt());
  input.set_offset(address->getOffset());
  int64_t slots = address->getSlots(), microDim = op.getMicroDim();
  input.set_micro_dim(microDimOf(op));
  int64_t microBatches = microDim < 0 ? 1 : mesh.getMicro();
  if (slots != microBatches)
    return op.emitOpError("has an address of ")
           << slots << " slots for " << microBatches << " micro-batches";
  input.set_micro_stride(slots > 1 ? address->getStride() : getNumBytes(op.getLocalType()));
  return success();
}

LogicalResult GroupBuilder::addOutput(OutputOp op) {
  const int64_t microDim = microDimOf(op);
  if (op.isPerMicroBatch() && microDim < 0)
    return op.emitOpError("\"")
           << op.getName()
           << "\" is an unreduced sum over micro-batches; a binary can only return reduced values";
  proto::Output &output = *group.add_outputs();
  FailureOr<AddressAttr> address = place(op, op.getLocalType());
  if (failed(address) || failed(setType(op, op.getGlobalType(), *output.mutable_global())))
    return failure();
  output.set_name(op.getName().str());
  output.set_role(op.getRole().str());
  if (failed(setSlice(op, op.getSharding(), op.getGlobalType(), op.getLocalType(), mesh, ranks,
                      *output.mutable_slice())))
    return failure();
  output.set_offset(address->getOffset());
  if (microDim >= 0) {
    output.set_micro_dim(microDim);
    output.set_micro_stride(address->getSlots() > 1 ? address->getStride()
                                                    : getNumBytes(op.getLocalType()));
  }
  return success();
}

LogicalResult GroupBuilder::addTask(TaskOp op) {
  FailureOr<TaskCode> code = source.getCode(op);
  if (failed(code))
    return failure();
  arenaEnd = std::max(arenaEnd, code->arenaEnd);
  hostEnd = std::max(hostEnd, code->hostEnd);
  proto::Task &task = *group.add_tasks();
  task.set_name(op.getSymName().str());
  task.set_phase(op.getPhase().str());
  task.set_stage(op.getStage());
  task.set_program(std::move(code->program));
  return success();
}

/// Returns the elements in order, little-endian. An i1 takes a byte.
static std::string bytesOf(DenseElementsAttr data) {
  std::string bytes;
  auto append = [&](const APInt &value) {
    unsigned width = llvm::divideCeil(value.getBitWidth(), 8);
    uint64_t bits = value.getZExtValue();
    for (unsigned i = 0; i < width; ++i)
      bytes.push_back(static_cast<char>(bits >> (8 * i)));
  };
  if (isa<FloatType>(data.getElementType()))
    for (const APFloat &value : data.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : data.getValues<APInt>())
      append(value);
  return bytes;
}

LogicalResult GroupBuilder::addConstants() {
  auto list = program->getAttrOfType<ArrayAttr>(source.constants);
  if (!list)
    return success();
  for (Attribute element : list) {
    auto entry = dyn_cast<DictionaryAttr>(element);
    auto offset = entry ? entry.getAs<IntegerAttr>("offset") : IntegerAttr();
    auto data = entry ? entry.getAs<DenseElementsAttr>("data") : DenseElementsAttr();
    if (!offset || !data)
      return program.emitOpError("expects ")
             << source.constants << " to be dictionaries of offset and data";
    // A constant without elements shares the next constant's offset.
    if (data.empty())
      continue;
    // Several tasks may read one constant.
    bool isKnown = llvm::any_of(group.constants(), [&](const proto::ConstantData &known) {
      return known.offset() == offset.getInt();
    });
    if (isKnown)
      continue;
    proto::ConstantData &constant = *group.add_constants();
    constant.set_offset(offset.getInt());
    constant.set_data(bytesOf(data));
    arenaEnd = std::max<int64_t>(arenaEnd, offset.getInt() + constant.data().size());
  }
  return success();
}

void GroupBuilder::addSchedule(ScheduleOp schedule) {
  for (auto [task, microBatch] : llvm::zip_equal(schedule.getTasks(), schedule.getMicroBatches())) {
    StringRef name = cast<FlatSymbolRefAttr>(task).getValue();
    auto it = llvm::find_if(group.tasks(),
                            [&](const proto::Task &t) { return StringRef(t.name()) == name; });
    proto::ScheduleEntry &entry = *group.add_schedule();
    entry.set_task(it - group.tasks().begin());
    entry.set_micro_batch(microBatch);
  }
}

/// Adds the classes of memory in the memory plan.
void GroupBuilder::addMemoryClasses() {
  auto classes = program->getAttrOfType<DictionaryAttr>("st.memory");
  if (!classes)
    return;
  for (NamedAttribute entry : classes) {
    auto bytes = dyn_cast<IntegerAttr>(entry.getValue());
    if (!bytes)
      continue;
    proto::MemoryClass &memory = *group.add_memory();
    memory.set_name(entry.getName().str());
    memory.set_bytes(bytes.getInt());
  }
}

LogicalResult GroupBuilder::run() {
  group.set_name(program.getSymName().str());
  group.mutable_stages()->Add(program.getStages().begin(), program.getStages().end());
  group.mutable_device_ids()->Add(program.getDevices().begin(), program.getDevices().end());
  group.set_first_rank(program.getFirstRank());
  if (auto size = program->getAttrOfType<IntegerAttr>(source.tableSize))
    group.set_table_size(size.getInt());
  if (auto tables = program->getAttrOfType<DenseI64ArrayAttr>(source.rankTables))
    group.mutable_rank_tables()->Add(tables.asArrayRef().begin(), tables.asArrayRef().end());
  for (Operation &op : program.getBody().front()) {
    LogicalResult added = success();
    if (auto state = dyn_cast<StateOp>(op))
      added = addState(state);
    else if (auto input = dyn_cast<InputOp>(op))
      added = addInput(input);
    else if (auto output = dyn_cast<OutputOp>(op))
      added = addOutput(output);
    else if (auto task = dyn_cast<TaskOp>(op))
      added = addTask(task);
    if (failed(added))
      return failure();
  }
  auto schedules = program.getBody().getOps<ScheduleOp>();
  if (!llvm::hasSingleElement(schedules))
    return program.emitOpError("has no schedule: run schedule-pipeline first");
  addSchedule(*schedules.begin());
  if (failed(addConstants()))
    return failure();
  if (auto planned = program->getAttrOfType<IntegerAttr>("st.arena_bytes"))
    arenaEnd = std::max(arenaEnd, planned.getInt());
  if (auto planned = program->getAttrOfType<IntegerAttr>("st.host_arena_bytes"))
    hostEnd = std::max(hostEnd, planned.getInt());
  group.set_arena_bytes(arenaEnd);
  group.set_host_arena_bytes(hostEnd);
  addMemoryClasses();
  return success();
}

// ---- executable -----------------------------------------------------------------------------

static std::string stringOf(ModuleOp module, StringRef name) {
  auto attribute = module->getAttrOfType<StringAttr>(name);
  return attribute ? attribute.getValue().str() : std::string();
}

static int64_t integerOf(ModuleOp module, StringRef name) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : 0;
}

static void setModel(ModuleOp module, proto::Executable &executable) {
  proto::ModelInfo &model = *executable.mutable_model();
  model.set_model_type(stringOf(module, "st.model_type"));
  model.set_task(stringOf(module, "st.task"));
  model.set_batch(integerOf(module, "st.batch"));
  model.set_sequence(integerOf(module, "st.sequence"));
  model.set_vocabulary(integerOf(module, "st.vocabulary"));
  model.set_config_json(stringOf(module, "st.model_config"));
  model.set_adapter_config_json(stringOf(module, "st.adapter_config"));
  model.set_vocab_txt(stringOf(module, "st.vocab_txt"));
  if (auto files = module->getAttrOfType<DictionaryAttr>("st.tokenizer_files"))
    for (NamedAttribute file : files)
      if (auto text = dyn_cast<StringAttr>(file.getValue()))
        (*model.mutable_tokenizer_files())[file.getName().str()] = text.str();
  proto::OptimizerInfo &optimizer = *executable.mutable_optimizer();
  if (auto description = module->getAttrOfType<DictionaryAttr>("st.optimizer"))
    for (NamedAttribute field : description) {
      if (auto number = dyn_cast<FloatAttr>(field.getValue()))
        (*optimizer.mutable_constants())[field.getName().str()] = number.getValueAsDouble();
      else if (auto kind = dyn_cast<StringAttr>(field.getValue());
               kind && field.getName() == "kind")
        optimizer.set_kind(kind.str());
    }
  if (auto rate = module->getAttrOfType<FloatAttr>("st.learning_rate"))
    optimizer.set_learning_rate(rate.getValueAsDouble());
}

static LogicalResult setRunFlags(ModuleOp module, proto::Executable &executable) {
  auto flags = module->getAttrOfType<ArrayAttr>("st.run_flags");
  if (!flags)
    return success();
  for (Attribute flag : flags) {
    auto pair = dyn_cast<ArrayAttr>(flag);
    if (!pair || pair.size() != 2 || !isa<StringAttr>(pair[0]) || !isa<StringAttr>(pair[1]))
      return module.emitError("st.run_flags: expected pairs of strings, found ") << flag;
    proto::RunFlag &added = *executable.add_run_flags();
    added.set_name(cast<StringAttr>(pair[0]).str());
    added.set_value(cast<StringAttr>(pair[1]).str());
  }
  return success();
}

static std::string summaryOf(ModuleOp module, const proto::Executable &executable) {
  int64_t stages = 0;
  std::set<int64_t> devices; // several ranks may share one
  for (const proto::Group &group : executable.groups()) {
    stages += group.stages_size();
    devices.insert(group.device_ids().begin(), group.device_ids().end());
  }
  std::string schedule = stringOf(module, "st.schedule");
  return llvm::formatv("{0} stages on {1} devices in {2} groups, {3} micro-batches{4}", stages,
                       devices.size(), executable.groups_size(), executable.micro_batches(),
                       schedule.empty() ? "" : ", schedule " + schedule)
      .str();
}

LogicalResult mlir::st::fillExecutable(ModuleOp module, const ExecutableSource &source,
                                       proto::Executable &executable) {
  executable.set_format_version(kFormatVersion);
  MeshOp mesh = getMesh(module);
  if (!mesh)
    return module.emitError("has no st.mesh");
  executable.set_micro_batches(mesh.getMicro());
  for (auto program : module.getOps<ProgramOp>())
    if (failed(GroupBuilder(program, mesh, source, *executable.add_groups()).run()))
      return failure();
  if (executable.groups_size() == 0)
    return module.emitError("has no st.program");
  setModel(module, executable);
  executable.set_summary(summaryOf(module, executable));
  return setRunFlags(module, executable);
}

std::string mlir::st::serialize(const proto::Executable &executable) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  executable.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}
