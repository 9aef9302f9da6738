#include "lib/Driver/Planning/GatherWork.h"

#include "backends/common/ProgramToExecutable.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <optional>
#include <set>

using namespace mlir;
using namespace mlir::st;
namespace proto = ::st::proto;

/// Smaller values do not matter for memory traffic and do not connect ops: scalars, counters of
/// random bits.
constexpr int64_t kFewElements = 8;

static int64_t elementsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() : 0;
}

static bool isView(Operation *op) {
  return isa_and_present<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp, stablehlo::ConvertOp>(
      op);
}

/// Returns true for an op that is free under any software.
static bool isFree(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() || isView(op) ||
         isa<stablehlo::IotaOp, AxisIndexOp, ReadOp, WriteOp, SendOp, RecvOp>(op);
}

static bool isCollective(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, CollectivePermuteOp>(op);
}

/// Returns true for an op that is one kernel under any software.
static bool standsAlone(Operation *op) {
  return isa<stablehlo::DotGeneralOp, KernelOp>(op) || isCollective(op);
}

/// Looks through views.
static Value throughViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static proto::ElementType protoType(Type type) {
  if (type.isBF16())
    return proto::BF16;
  if (type.isF16())
    return proto::F16;
  if (type.isF64())
    return proto::F64;
  return type.isInteger() ? proto::I32 : proto::F32;
}

static int64_t widthOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 0;
}

namespace {

/// The origin of an op.
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
  TensorIndex(proto::ProgramWork &work, const DenseMap<Operation *, int64_t> &blocks)
      : work(work), blocks(blocks) {}

  /// The index of a value's tensor; none for weights, batches and values other than floats.
  std::optional<uint32_t> find(Value value, double bytes);

private:
  proto::ProgramWork &work;
  const DenseMap<Operation *, int64_t> &blocks;
  DenseMap<Value, uint32_t> indices;
};

/// One task, with its ops in groups.
class TaskWork {
public:
  TaskWork(TaskOp task, const DenseMap<Operation *, int64_t> &blocks, TensorIndex &tensors)
      : task(task), phase(task.getPhase()), blocks(blocks), tensors(tensors) {}

  void gather(llvm::MapVector<int64_t, proto::PhaseWork> &byBlock);
  static NameScope scopeOf(Operation *op);

private:
  void group();
  void connect(Operation *op, llvm::MapVector<Value, SmallVector<Operation *>> &takers);
  double bytesOf(Value value) const;
  proto::OpWork sumUp(ArrayRef<Operation *> ops) const;
  void nameTensors(const llvm::SetVector<Value> &taken, const llvm::SetVector<Value> &handedOn,
                   proto::OpWork &work) const;
  proto::ElementType narrowestFloat(const llvm::SetVector<Value> &taken,
                                    const llvm::SetVector<Value> &left) const;
  void describeProduct(stablehlo::DotGeneralOp dot, proto::OpWork &work) const;
  void describeCollective(Operation *op, proto::OpWork &work) const;

  TaskOp task;
  const StringRef phase;
  const DenseMap<Operation *, int64_t> &blocks;
  TensorIndex &tensors;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, NameScope> scopes;
  llvm::EquivalenceClasses<Operation *> groups;
};

} // namespace

NameScope TaskWork::scopeOf(Operation *op) {
  NameScope scope;
  if (auto kernel = dyn_cast<KernelOp>(op))
    for (Operation &inner : kernel.getBody().front())
      if (!isFree(&inner)) {
        op = &inner;
        break;
      }
  op->getLoc()->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (!named)
      return WalkResult::advance();
    StringRef name = named.getName().getValue();
    if (name.consume_front("transpose")) {
      scope.isGradient = true;
      if (!name.consume_front("(") || !name.consume_back(")"))
        return WalkResult::advance();
    }
    scope.path = name.str();
    return WalkResult::interrupt();
  });
  return scope;
}

/// Groups an op with ops of the same layer whose values it uses, or that share an operand with it.
void TaskWork::connect(Operation *op, llvm::MapVector<Value, SmallVector<Operation *>> &takers) {
  groups.insert(op);
  if (standsAlone(op))
    return;
  const NameScope &own = scopes[op];
  auto joins = [&](Operation *other) {
    if (other == op || standsAlone(other))
      return;
    auto found = scopes.find(other);
    if (found != scopes.end() && found->second.path == own.path &&
        found->second.isGradient == own.isGradient && blocks.lookup(other) == blocks.lookup(op))
      groups.unionSets(op, other);
  };
  for (Value operand : op->getOperands()) {
    Value value = throughViews(operand);
    if (Operation *maker = value.getDefiningOp())
      joins(maker);
    if (elementsOf(value) <= kFewElements)
      continue;
    for (Operation *other : takers[value])
      joins(other);
    takers[value].push_back(op);
  }
}

void TaskWork::group() {
  for (Operation &op : task.getBody().front())
    if (!isFree(&op)) {
      ops.push_back(&op);
      scopes[&op] = scopeOf(&op);
    }
  llvm::MapVector<Value, SmallVector<Operation *>> takers;
  for (Operation *op : ops)
    connect(op, takers);
}

/// Bytes of a value; in 16 bits if the program also has it in 16 bits, a framework's only copy.
double TaskWork::bytesOf(Value value) const {
  int64_t width = widthOf(value.getType());
  for (Operation *user : value.getUsers())
    if (isa<stablehlo::ConvertOp>(user))
      width = std::min(width, widthOf(user->getResult(0).getType()));
  for (Operation *op = value.getDefiningOp(); isa_and_present<stablehlo::ConvertOp>(op);
       op = op->getOperand(0).getDefiningOp())
    width = std::min(width, widthOf(op->getOperand(0).getType()));
  return static_cast<double>(elementsOf(value) * width);
}

void TaskWork::describeProduct(stablehlo::DotGeneralOp dot, proto::OpWork &work) const {
  work.set_kind(proto::OpWork::PRODUCT);
  auto numbers = dot.getDotDimensionNumbers();
  const double before = work.flops();
  auto left = cast<RankedTensorType>(dot.getLhs().getType()),
       right = cast<RankedTensorType>(dot.getRhs().getType());
  int64_t batch = 1, k = 1;
  for (int64_t dim : numbers.getLhsBatchingDimensions())
    batch *= left.getDimSize(dim);
  for (int64_t dim : numbers.getLhsContractingDimensions())
    k *= left.getDimSize(dim);
  int64_t m = left.getNumElements() / (batch * k), n = right.getNumElements() / (batch * k);
  work.set_flops(before + 2.0 * static_cast<double>(m) * static_cast<double>(n) *
                              static_cast<double>(k) * static_cast<double>(batch));
  // If several products share a kernel, records the sizes of the first.
  if (before > 0)
    return;
  work.set_m(m);
  work.set_n(n);
  work.set_k(k);
  work.set_batch(batch);
  work.set_type(protoType(left.getElementType()));
}

void TaskWork::describeCollective(Operation *op, proto::OpWork &work) const {
  work.set_kind(proto::OpWork::COLLECTIVE);
  work.set_collective(op->getName().stripDialect().str());
  for (Attribute axis : op->getAttrOfType<ArrayAttr>("axes"))
    work.add_axes(cast<StringAttr>(axis).getValue().str());
  double bytes = 0;
  const bool gathers = isa<AllGatherOp>(op);
  for (Value value : gathers ? ValueRange(op->getResults()) : ValueRange(op->getOperands())) {
    bytes += static_cast<double>(elementsOf(value) * widthOf(value.getType()));
    work.set_type(protoType(getElementTypeOrSelf(value.getType())));
  }
  work.set_bytes(bytes);
}

/// The type in which a framework holds these values: 16 bits if the program has one in 16 bits.
proto::ElementType TaskWork::narrowestFloat(const llvm::SetVector<Value> &taken,
                                            const llvm::SetVector<Value> &left) const {
  auto type = proto::F32;
  auto look = [&](Value value) {
    const proto::ElementType own = protoType(getElementTypeOrSelf(value.getType()));
    if (own == proto::F16 || own == proto::BF16)
      type = own;
  };
  for (const auto &values : {taken, left})
    for (Value value : values) {
      look(value);
      for (Operation *user : value.getUsers())
        if (isa<stablehlo::ConvertOp>(user))
          look(user->getResult(0));
    }
  return type;
}

std::optional<uint32_t> TensorIndex::find(Value value, double bytes) {
  Operation *maker = value.getDefiningOp();
  if (!maker || isa<ReadOp>(maker) || elementsOf(value) <= kFewElements ||
      !isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return std::nullopt;
  auto [found, isNew] = indices.try_emplace(value, static_cast<uint32_t>(work.tensors_size()));
  if (isNew) {
    proto::TensorWork &tensor = *work.add_tensors();
    tensor.set_block(blocks.lookup_or(maker, -1));
    tensor.set_elements(static_cast<double>(elementsOf(value)));
    tensor.set_bytes(bytes);
  }
  proto::TensorWork &tensor = *work.mutable_tensors(static_cast<int>(found->second));
  tensor.set_bytes(std::min(tensor.bytes(), bytes));
  return found->second;
}

/// The backward pass keeps the shard of a gathered tensor, and gathers it again.
void TaskWork::nameTensors(const llvm::SetVector<Value> &taken,
                           const llvm::SetVector<Value> &handedOn, proto::OpWork &work) const {
  if (phase != "forward")
    return;
  for (Value value : taken) {
    while (auto gather = value.getDefiningOp<AllGatherOp>())
      value = throughViews(gather->getOperand(0));
    if (auto index = tensors.find(value, bytesOf(value)))
      work.add_reads(*index);
  }
  // A framework's op returns its results in the type in which it computes.
  const double width = work.type() == proto::F16 || work.type() == proto::BF16 ? 2 : 4;
  for (Value value : handedOn) {
    const double bytes = std::min(bytesOf(value), static_cast<double>(elementsOf(value)) * width);
    if (auto index = tensors.find(value, bytes))
      work.add_writes(*index);
  }
}

proto::OpWork TaskWork::sumUp(ArrayRef<Operation *> members) const {
  proto::OpWork work;
  const NameScope &scope = scopes.find(members.front())->second;
  work.set_region(scope.region().str());
  work.set_is_gradient(scope.isGradient);
  work.set_is_recomputed(!scope.isGradient && (phase == "backward" || phase == "weight"));
  work.set_ops(static_cast<double>(members.size()));
  llvm::SmallPtrSet<Operation *, 8> inside(members.begin(), members.end());
  // Values that only the backward pass uses are written, but not passed on to an op.
  llvm::SetVector<Value> taken, left, handedOn;
  for (Operation *op : members) {
    for (Value operand : op->getOperands()) {
      Value value = throughViews(operand);
      Operation *maker = value.getDefiningOp();
      if (!maker || inside.contains(maker) || (isFree(maker) && !isa<ReadOp, RecvOp>(maker)))
        continue;
      taken.insert(value);
    }
    for (Value result : op->getResults()) {
      SmallVector<Value> shown = {result};
      while (!shown.empty()) {
        Value value = shown.pop_back_val();
        for (Operation *user : value.getUsers())
          if (isView(user))
            shown.push_back(user->getResult(0));
          else if (!inside.contains(user)) {
            left.insert(result);
            if (!isa<WriteOp>(user))
              handedOn.insert(result);
          }
      }
    }
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
      describeProduct(dot, work);
    else if (isa<KernelOp>(op))
      op->walk([&](stablehlo::DotGeneralOp dot) { describeProduct(dot, work); });
    else if (isCollective(op))
      describeCollective(op, work);
    else
      work.set_flops(work.flops() + static_cast<double>(elementsOf(op->getResult(0))));
  }
  double read = 0, written = 0, largest = 0;
  auto floats = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value.getType()))
               ? static_cast<double>(elementsOf(value))
               : 0.0;
  };
  for (Value value : taken) {
    read += bytesOf(value);
    work.set_read_elements(work.read_elements() + floats(value));
    work.set_largest_elements(std::max(work.largest_elements(), floats(value)));
  }
  for (Value value : left) {
    written += bytesOf(value);
    largest = std::max(largest, floats(value));
  }
  work.set_written_elements(largest);
  work.set_largest_elements(std::max(work.largest_elements(), largest));
  if (work.kind() == proto::OpWork::MEMORY)
    work.set_type(narrowestFloat(taken, left));
  work.set_read_bytes(read);
  work.set_written_bytes(written);
  nameTensors(taken, handedOn, work);
  return work;
}

void TaskWork::gather(llvm::MapVector<int64_t, proto::PhaseWork> &byBlock) {
  group();
  llvm::MapVector<Operation *, SmallVector<Operation *>> members;
  for (Operation *op : ops)
    members[groups.getLeaderValue(op)].push_back(op);
  // An accumulation reads the accumulator and the value, and writes the sum.
  for (auto write : task.getOps<WriteOp>()) {
    if (!write.getAccumulate() || elementsOf(write.getValue()) <= kFewElements)
      continue;
    proto::PhaseWork &phase = byBlock[blocks.lookup_or(write, -1)];
    phase.set_block(blocks.lookup_or(write, -1));
    phase.set_phase(this->phase.str());
    proto::OpWork &work = *phase.add_ops();
    const auto elements = static_cast<double>(elementsOf(write.getValue()));
    const Type type = write.getValue().getType();
    work.set_region("accumulate");
    work.set_is_gradient(true);
    work.set_ops(1);
    work.set_flops(elements);
    work.set_read_bytes(2 * elements * static_cast<double>(widthOf(type)));
    work.set_written_bytes(elements * static_cast<double>(widthOf(type)));
    work.set_read_elements(2 * elements);
    work.set_written_elements(elements);
    work.set_largest_elements(elements);
    work.set_type(protoType(getElementTypeOrSelf(type)));
  }
  for (auto &[leader, list] : members) {
    int64_t block = -1;
    for (Operation *op : list)
      block = std::max(block, blocks.lookup_or(op, -1));
    proto::PhaseWork &phase = byBlock[block];
    phase.set_block(block);
    phase.set_phase(task.getPhase().str());
    *phase.add_ops() = sumUp(list);
  }
}

/// The first scope of an op's location, which names its layer.
static std::string layerOf(Operation *op) {
  return StringRef(TaskWork::scopeOf(op).path).split('/').first.str();
}

/// The block of each op: its mark; for gradients the layer in their location; otherwise the block
/// of an operand.
static DenseMap<Operation *, int64_t> findBlocks(ProgramOp program) {
  DenseMap<Operation *, int64_t> blocks;
  llvm::StringMap<int64_t> layers;
  for (auto task : program.getOps<TaskOp>())
    for (Operation &op : task.getBody().front())
      op.walk([&](Operation *inner) {
        auto mark = inner->getAttrOfType<IntegerAttr>(kBlockAttr);
        if (!mark)
          return;
        blocks[&op] = std::max(blocks.lookup_or(&op, -1), mark.getInt());
        layers.try_emplace(layerOf(inner), mark.getInt());
      });
  for (auto task : program.getOps<TaskOp>())
    for (Operation &op : task.getBody().front()) {
      if (blocks.contains(&op) || op.hasTrait<OpTrait::ConstantLike>())
        continue;
      int64_t block = -1;
      if (auto found = layers.find(layerOf(&op)); found != layers.end())
        block = found->second;
      else
        for (Value operand : op.getOperands())
          if (Operation *maker = operand.getDefiningOp())
            block = std::max(block, blocks.lookup_or(maker, -1));
      blocks[&op] = block;
    }
  return blocks;
}

/// The block that uses an operand. A kernel may fuse the end of one block with the start of the
/// next; the block of the user inside the kernel then counts.
static int64_t blockOfUse(OpOperand &use, const DenseMap<Operation *, int64_t> &blocks) {
  if (auto kernel = dyn_cast<KernelOp>(use.getOwner()))
    for (Operation *inner : kernel.getBody().getArgument(use.getOperandNumber()).getUsers())
      if (auto mark = inner->getAttrOfType<IntegerAttr>(kBlockAttr))
        return mark.getInt();
  return blocks.lookup_or(use.getOwner(), -1);
}

/// The blocks whose forward pass uses a value, through views.
static void gatherUsers(Value value, const DenseMap<Operation *, int64_t> &blocks,
                        std::set<int64_t> &users) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    int64_t block = blockOfUse(use, blocks);
    if (block >= 0)
      users.insert(block);
    else if (isView(user))
      gatherUsers(user->getResult(0), blocks, users);
  }
}

/// The read that a value copies, possibly in another type. Looks through views, and through a
/// kernel that only copies or converts its one operand. Null for other values.
static ReadOp copiedFrom(Value value) {
  value = throughViews(value);
  Operation *maker = value.getDefiningOp();
  if (maker && !isa<ReadOp>(maker) && maker->getNumOperands() == 1 && maker->getNumResults() == 1 &&
      elementsOf(maker->getOperand(0)) == elementsOf(value))
    maker = throughViews(maker->getOperand(0)).getDefiningOp();
  return dyn_cast_or_null<ReadOp>(maker);
}

static void gatherStates(ProgramOp program, const DenseMap<Operation *, int64_t> &blocks,
                         proto::ProgramWork &work) {
  llvm::StringMap<std::set<int64_t>> users;
  // A task may compute a copy in another type once per step; forward tasks read it from a buffer.
  llvm::StringMap<StringRef> shownBy;
  for (auto task : program.getOps<TaskOp>())
    for (auto write : task.getOps<WriteOp>())
      if (auto read = copiedFrom(write.getValue()))
        shownBy[write.getTarget()] = read.getSource();
  for (auto task : program.getOps<TaskOp>())
    if (task.getPhase() == "forward")
      for (auto read : task.getOps<ReadOp>()) {
        StringRef source = read.getSource();
        if (auto found = shownBy.find(source); found != shownBy.end())
          source = found->second;
        gatherUsers(read.getResult(), blocks, users[source]);
      }
  // A prologue reads a part of some states once per step: the positions of a rank's tokens.
  for (auto task : program.getOps<TaskOp>())
    if (task.getPhase() == "prologue")
      for (auto read : task.getOps<ReadOp>())
        if (users[read.getSource()].empty())
          gatherUsers(read.getResult(), blocks, users[read.getSource()]);
  llvm::StringMap<StringRef> symbols;
  for (auto state : program.getOps<StateOp>())
    symbols[state.getName()] = state.getSymName();
  for (auto state : program.getOps<StateOp>()) {
    proto::StateWork &added = *work.add_states();
    added.set_name(state.getName().str());
    added.set_role(state.getRole().str());
    StringRef owner = state.getOf().empty() ? state.getName() : state.getOf();
    for (int64_t block : users[symbols.lookup(owner)])
      added.add_blocks(block);
    auto global = cast<RankedTensorType>(state.getGlobalType()),
         local = cast<RankedTensorType>(state.getLocalType());
    added.set_elements(global.getNumElements());
    added.set_local_elements(local.getNumElements());
    // 8-bit moments are integers.
    added.set_type(getBinaryType(local.getElementType()).value_or(proto::ELEMENT_TYPE_UNSPECIFIED));
  }
}

static void gatherStashes(ProgramOp program, const DenseMap<Operation *, int64_t> &blocks,
                          proto::ProgramWork &work) {
  std::map<std::tuple<int64_t, StringRef, StringRef>, double> bytes;
  llvm::StringMap<Type> stashes;
  llvm::StringSet<> ofWeights; ///< used by weight tasks
  for (auto buffer : program.getOps<BufferOp>())
    if (buffer.getKind() == "stash")
      stashes[buffer.getSymName()] = buffer.getType();
  for (auto task : program.getOps<TaskOp>())
    if (task.getPhase() == "weight")
      for (auto read : task.getOps<ReadOp>())
        ofWeights.insert(read.getSource());
  for (auto task : program.getOps<TaskOp>())
    for (auto write : task.getOps<WriteOp>())
      if (auto found = stashes.find(write.getTarget()); found != stashes.end()) {
        auto type = cast<RankedTensorType>(found->second);
        Operation *maker = write.getValue().getDefiningOp();
        bytes[{maker ? blocks.lookup_or(maker, -1) : -1, task.getPhase(),
               ofWeights.contains(write.getTarget()) ? "weight" : "backward"}] +=
            static_cast<double>(type.getNumElements() * widthOf(type));
      }
  for (auto &[key, sum] : bytes) {
    const auto &[block, made, until] = key;
    proto::StashWork &stash = *work.add_stashes();
    stash.set_block(block);
    stash.set_bytes(sum);
    stash.set_made(made.str());
    stash.set_until(until.str());
  }
}

/// Gathers the values that cross from one layer to the next in the forward task.
static void gatherBoundary(ProgramOp program, const DenseMap<Operation *, int64_t> &blocks,
                           proto::ProgramWork &work) {
  for (auto task : program.getOps<TaskOp>()) {
    if (task.getPhase() != "forward")
      continue;
    llvm::SetVector<Value> crossing;
    for (Operation &op : task.getBody().front()) {
      if (blocks.lookup_or(&op, -1) != 2 || isView(&op))
        continue;
      for (Value operand : op.getOperands()) {
        Value value = throughViews(operand);
        Operation *maker = value.getDefiningOp();
        if (maker && !isFree(maker) && blocks.lookup_or(maker, -1) == 1 &&
            elementsOf(value) > kFewElements)
          crossing.insert(value);
      }
    }
    for (Value value : crossing) {
      work.set_boundary_elements(work.boundary_elements() + static_cast<double>(elementsOf(value)));
      int64_t width = widthOf(value.getType());
      for (Operation *user : value.getUsers())
        if (isa<stablehlo::ConvertOp>(user))
          width = std::min(width, widthOf(user->getResult(0).getType()));
      work.set_boundary_bytes(work.boundary_bytes() +
                              static_cast<double>(elementsOf(value) * width));
    }
  }
}

proto::ProgramWork mlir::st::gatherWork(ModuleOp module) {
  proto::ProgramWork work;
  for (auto program : module.getOps<ProgramOp>()) {
    DenseMap<Operation *, int64_t> blocks = findBlocks(program);
    TensorIndex tensors(work, blocks);
    for (auto task : program.getOps<TaskOp>()) {
      llvm::MapVector<int64_t, proto::PhaseWork> byBlock;
      TaskWork(task, blocks, tensors).gather(byBlock);
      for (auto &[block, phase] : byBlock) {
        work.set_layers(std::max<int64_t>(work.layers(), block - 1));
        *work.add_phases() = std::move(phase);
      }
    }
    gatherStates(program, blocks, work);
    gatherStashes(program, blocks, work);
    gatherBoundary(program, blocks, work);
  }
  return work;
}
