#include "lib/Driver/Planning/GatherWork.h"

#include "backends/common/ProgramToExecutable.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Driver/Planning/TaskGroups.h"
#include "lib/Driver/Planning/WorkValues.h"
#include "lib/Planner/Step/Blocks.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

using namespace mlir;
using namespace mlir::st;
using ::st::PlannedModel;
namespace proto = ::st::proto;

/// The first scope of an op's location, which names its layer.
static std::string layerOf(Operation *op) {
  return StringRef(TaskGroups::scopeOf(op).path).split('/').first.str();
}

/// The layer of an op, from its location or from the parameter that it updates.
static int64_t findLayer(Operation *op, const llvm::StringMap<int64_t> &layers) {
  if (auto found = layers.find(layerOf(op)); found != layers.end())
    return found->second;
  const std::string path = TaskGroups::scopeOf(op).path;
  StringRef parameter = path;
  if (parameter.consume_front("optimizer/"))
    for (const auto &layer : layers)
      if (!layer.first().empty() && parameter.starts_with(layer.first().str() + "."))
        return layer.second;
  return -1;
}

/// The block of each op: its mark; for gradients and updates the layer in their location; otherwise
/// the block of an operand.
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
      int64_t block = findLayer(&op, layers);
      if (block < 0)
        for (Value operand : op.getOperands())
          if (Operation *maker = operand.getDefiningOp())
            block = std::max(block, blocks.lookup_or(maker, -1));
      blocks[&op] = block;
    }
  return blocks;
}

/// The blocks of layers, by their scopes, such as "transformer.h.0".
static std::map<std::string, int64_t> findLayers(ProgramOp program) {
  std::map<std::string, int64_t> layers;
  program.walk([&](Operation *op) {
    auto mark = op->getAttrOfType<IntegerAttr>(kBlockAttr);
    std::string scope = mark ? layerOf(op) : "";
    if (!scope.empty() && llvm::isDigit(scope.back()))
      layers.try_emplace(scope, mark.getInt());
  });
  return layers;
}

/// The block that uses an operand. If a kernel fuses the end of one block with the start of the
/// next, this is the block of the user inside the kernel.
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
    else if (isOperandView(user))
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

/// Returns true if another layer of the same stack has a state like `owner` of the layer `scope`.
/// If none has, all layers may share the state, such as a table of distances.
static bool isOfOtherLayers(StringRef owner, StringRef scope,
                            const std::map<std::string, int64_t> &layers,
                            const llvm::StringMap<StringRef> &states) {
  auto stackOf = [](StringRef layer) { return layer.rtrim("0123456789"); };
  return llvm::any_of(layers, [&](const auto &other) {
    return other.first != scope && stackOf(other.first) == stackOf(scope) &&
           states.contains(other.first + owner.drop_front(scope.size()).str());
  });
}

static bool isSplitOver(ShardingAttr sharding, StringRef axis) {
  return llvm::any_of(sharding.getDims(), [&](ArrayAttr axes) {
    return llvm::is_contained(axes, StringAttr::get(axes.getContext(), axis));
  });
}

static void gatherStates(ProgramOp program, const DenseMap<Operation *, int64_t> &blocks,
                         const PlannedModel &model, proto::ProgramWork &work) {
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
  const std::map<std::string, int64_t> layers = findLayers(program);
  llvm::StringSet<> written; ///< by any task
  for (auto task : program.getOps<TaskOp>())
    task.walk([&](WriteOp write) { written.insert(write.getTarget()); });
  llvm::StringMap<StringRef> symbols;
  for (auto state : program.getOps<StateOp>())
    symbols[state.getName()] = state.getSymName();
  for (auto state : program.getOps<StateOp>()) {
    proto::StateWork &added = *work.add_states();
    added.set_name(state.getName().str());
    added.set_role(state.getRole().str());
    StringRef owner = state.getOf().empty() ? state.getName() : state.getOf();
    // A weight belongs to its layer even if a collective or a view hides its use.
    auto layer = llvm::find_if(
        layers, [&](const auto &each) { return owner.starts_with(each.first + "."); });
    if (layer != layers.end() && isOfOtherLayers(owner, layer->first, layers, symbols))
      added.add_blocks(layer->second);
    // The only layer of its kind has weights that no other layer has.
    else if (layer == layers.end() || model.hasUnequalLayers())
      for (int64_t block : users[symbols.lookup(owner)])
        added.add_blocks(block);
    added.set_is_frozen(state.getRole() == "parameter" && !written.contains(state.getSymName()));
    added.set_is_of_experts(isSplitOver(state.getSharding(), "expert"));
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
    const auto &[block, created, until] = key;
    proto::StashWork &stash = *work.add_stashes();
    stash.set_block(block);
    stash.set_bytes(sum);
    stash.set_made(created.str());
    stash.set_until(until.str());
  }
}

/// The bytes of the values that cross from one layer to the next in the forward task. From a layer
/// of a decoder, the values of the encoder cross as well.
static void gatherBoundary(ProgramOp program, const DenseMap<Operation *, int64_t> &blocks,
                           ArrayRef<int64_t> from, int64_t to, double &elements, double &bytes) {
  for (auto task : program.getOps<TaskOp>()) {
    if (task.getPhase() != "forward")
      continue;
    llvm::SetVector<Value> crossing;
    for (Operation &op : task.getBody().front()) {
      if (blocks.lookup_or(&op, -1) != to || isOperandView(&op))
        continue;
      for (Value operand : op.getOperands()) {
        Value value = throughViews(operand);
        Operation *maker = value.getDefiningOp();
        if (maker && !isFree(maker) && llvm::is_contained(from, blocks.lookup_or(maker, -1)) &&
            elementsOf(value) > kFewElements)
          crossing.insert(value);
      }
    }
    for (Value value : crossing) {
      elements += static_cast<double>(elementsOf(value));
      int64_t width = widthOf(value.getType());
      for (Operation *user : value.getUsers())
        if (isa<stablehlo::ConvertOp>(user))
          width = std::min(width, widthOf(user->getResult(0).getType()));
      bytes += static_cast<double>(elementsOf(value) * width);
    }
  }
}

proto::ProgramWork mlir::st::gatherWork(ModuleOp module, const PlannedModel &model) {
  proto::ProgramWork work;
  for (auto program : module.getOps<ProgramOp>()) {
    DenseMap<Operation *, int64_t> blocks = findBlocks(program);
    TensorIndex tensors(work, blocks);
    for (auto task : program.getOps<TaskOp>()) {
      llvm::MapVector<int64_t, proto::PhaseWork> byBlock;
      TaskGroups(task, blocks, tensors).gather(byBlock);
      for (auto &[block, phase] : byBlock) {
        work.set_layers(std::max<int64_t>(work.layers(), block - 1));
        *work.add_phases() = std::move(phase);
      }
    }
    gatherStates(program, blocks, model, work);
    gatherStashes(program, blocks, work);
    double elements = 0, bytes = 0, decoderElements = 0, decoderBytes = 0;
    gatherBoundary(program, blocks, {1}, 2, elements, bytes);
    if (const int64_t bridge = model.bridgeBlock(); model.decoderLayers > 0)
      gatherBoundary(program, blocks, {bridge - 1, bridge, bridge + 1}, bridge + 2, decoderElements,
                     decoderBytes);
    work.set_boundary_elements(work.boundary_elements() + elements);
    work.set_boundary_bytes(work.boundary_bytes() + bytes);
    work.set_decoder_boundary_bytes(work.decoder_boundary_bytes() + decoderBytes);
  }
  return work;
}
