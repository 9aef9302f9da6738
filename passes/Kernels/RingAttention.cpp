// Ring attention: devices send keys and values to their neighbours in a ring.
#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Collectives.h"
#include "passes/Kernels/Passes.h"
#include "passes/Kernels/RingKernel.h"
#include "llvm/ADT/SetVector.h"

#include <deque>

namespace mlir::st {
#define GEN_PASS_DEF_RINGATTENTION
#include "passes/Kernels/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

namespace {
/// An op on gathered values. It runs once for each part.
struct Member {
  Operation *op;
  llvm::SmallSetVector<Value, 2> sources; ///< the gathers whose parts it reads
  int64_t turn = 0; ///< the number of turns of the ring before it that it needs
  std::optional<RingKernel> kernel;

  /// Returns true if it leaves values that are not parts.
  bool isEnd() const { return isa<ReduceScatterOp>(op) || (kernel && kernel->combines()); }
};

/// One turn of some sources: each of their parts visits each device.
struct Turn {
  int64_t number = 0;
  SmallVector<Member *> members; ///< in program order
  llvm::SmallSetVector<Value, 2> sources;
  Operation *place = nullptr; ///< the ops of the turn precede it
};

/// The rings of one task.
class TaskRings {
public:
  TaskRings(Block &task, StringAttr axis, FlatSymbolRefAttr mesh, int64_t parts)
      : task(task), axis(axis), mesh(mesh), parts(parts) {}

  /// Replaces gathers; returns the number of turns.
  int64_t run();

private:
  Block &task;
  StringAttr axis;
  FlatSymbolRefAttr mesh;
  int64_t parts;
  SmallVector<Value> sources; ///< gathered keys and values
  DenseMap<Value, GatheredDim> gathered;
  std::deque<Member> members; ///< in program order
  DenseMap<Operation *, Member *> memberOf;
  SmallVector<Turn> turns;

  bool isOverAxis(ArrayAttr axes) const { return axes.size() == 1 && axes[0] == axis; }
  Operation *findMembers();
  bool addMember(Operation *op);
  bool addKernel(Member &member, KernelOp kernel);
  bool reaches(Value source, llvm::function_ref<bool(Operation *)> isGoal) const;
  void chooseSources();
  Operation *findTurns();
  void addToTurn(Member &end);
  Operation *fillTurn(Turn &turn);
  Operation *placeTurn(Turn &turn);

  Value sendOn(OpBuilder &builder, Value value) const;
  void emit(Turn &turn);
  void eraseMembers();
};
} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool isAttention(Operation *op) {
  auto kernel = dyn_cast<KernelOp>(op);
  return kernel && kernel.getKind() == "attention";
}

// ---- members ------------------------------------------------------------------------------------

bool TaskRings::addKernel(Member &member, KernelOp kernel) {
  if (!llvm::is_contained({"attention", "copy", "loop", "reduce"}, kernel.getKind()))
    return false;
  member.kernel.emplace(kernel, parts);
  if (!member.kernel->plan(gathered))
    return false;
  for (auto [value, result] : llvm::zip_equal(
           kernel.getBody().front().getTerminator()->getOperands(), kernel.getResults()))
    if (std::optional<GatheredDim> dim = member.kernel->getDims().get(value))
      gathered[result] = *dim;
  return true;
}

/// Returns false if an op needs more than one part at a time.
bool TaskRings::addMember(Operation *op) {
  Member &member = members.emplace_back();
  member.op = op;
  memberOf[op] = &member;
  for (Value operand : op->getOperands()) {
    if (llvm::is_contained(sources, operand))
      member.sources.insert(operand);
    else if (gathered.contains(operand))
      member.sources.insert_range(memberOf[operand.getDefiningOp()]->sources);
  }
  if (auto kernel = dyn_cast<KernelOp>(op))
    return addKernel(member, kernel);
  if (auto reshape = dyn_cast<hlo::ReshapeOp>(op)) {
    std::optional<GatheredDim> dim = reshapeGathered(typeOf(reshape.getOperand()), typeOf(reshape),
                                                     gathered.lookup(reshape.getOperand()), parts);
    if (dim)
      gathered[reshape] = *dim;
    return dim.has_value();
  }
  auto scatter = dyn_cast<ReduceScatterOp>(op);
  return scatter && isOverAxis(scatter.getAxes()) && scatter.getKind() == ReduceKind::Sum &&
         llvm::all_of(scatter.getInputs(), [&](Value input) {
           const auto dim = static_cast<int64_t>(scatter.getDim());
           auto found = gathered.find(input);
           return found != gathered.end() &&
                  found->second == GatheredDim{dim, typeOf(input).getDimSize(dim) / parts};
         });
}

/// Collects the ops on gathered values. Returns an op that prevents a ring; null if there is none.
Operation *TaskRings::findMembers() {
  gathered.clear();
  members.clear();
  memberOf.clear();
  for (Value source : sources) {
    auto gather = source.getDefiningOp<AllGatherOp>();
    const auto dim = static_cast<int64_t>(gather.getDim());
    gathered[source] = {dim, typeOf(source).getDimSize(dim) / parts};
  }
  for (Operation &op : task)
    if (llvm::any_of(op.getOperands(), [&](Value value) { return gathered.contains(value); }) &&
        !addMember(&op))
      return &op;
  return nullptr;
}

/// Returns true if some op on parts of the source is a goal.
bool TaskRings::reaches(Value source, llvm::function_ref<bool(Operation *)> isGoal) const {
  SmallVector<Value> stack{source};
  DenseSet<Value> seen;
  while (!stack.empty())
    for (Operation *user : stack.pop_back_val().getUsers()) {
      if (isGoal(user))
        return true;
      for (Value result : user->getResults())
        if (gathered.contains(result) && seen.insert(result).second)
          stack.push_back(result);
    }
  return false;
}

/// Drops gathers until the others have a ring and reach attention.
void TaskRings::chooseSources() {
  for (auto gather : task.getOps<AllGatherOp>())
    if (isOverAxis(gather.getAxes()))
      llvm::append_range(sources, gather.getResults());
  while (!sources.empty()) {
    Operation *obstacle = findMembers();
    if (!obstacle)
      obstacle = findTurns();
    bool ofAttention = false;
    const size_t before = sources.size();
    llvm::erase_if(sources, [&](Value source) {
      const bool isRead = reaches(source, isAttention);
      if (!obstacle)
        return !isRead;
      if (!reaches(source, [&](Operation *op) { return op == obstacle; }))
        return false;
      ofAttention |= isRead || isAttention(obstacle);
      return true;
    });
    if (ofAttention)
      obstacle->emitRemark(
          "needs the keys or values of all devices together, so they are gathered");
    assert((!obstacle || sources.size() < before) && "an obstacle reads a part of some source");
    if (sources.size() == before)
      return;
  }
}

// ---- turns --------------------------------------------------------------------------------------

/// An op that needs a result of one turn belongs to a later one. Returns an op that prevents a
/// ring.
Operation *TaskRings::findTurns() {
  DenseMap<Value, int64_t> known; ///< the number of turns before a value is known
  turns.clear();
  for (Operation &op : task) {
    int64_t turn = 0;
    for (Value operand : op.getOperands())
      turn = std::max(turn, known.lookup(operand));
    Member *member = memberOf.lookup(&op);
    for (Value result : op.getResults())
      known[result] = turn + (member && !gathered.contains(result));
    if (!member)
      continue;
    member->turn = turn;
    if (member->isEnd())
      addToTurn(*member);
  }
  for (Turn &turn : turns) {
    Operation *obstacle = fillTurn(turn);
    if (!obstacle)
      obstacle = placeTurn(turn);
    if (obstacle)
      return obstacle;
  }
  return nullptr;
}

/// Members with the same sources are in one turn. Other layers have separate turns.
void TaskRings::addToTurn(Member &end) {
  Turn *found = nullptr;
  auto shares = [&](Turn &turn) {
    return turn.number == end.turn &&
           llvm::any_of(end.sources, [&](Value source) { return turn.sources.contains(source); });
  };
  for (auto *turn = turns.begin(); turn != turns.end();) {
    if (!shares(*turn)) {
      ++turn;
    } else if (!found) {
      found = turn++;
    } else {
      found->sources.insert_range(turn->sources);
      turn = turns.erase(turn);
    }
  }
  if (!found) {
    found = &turns.emplace_back();
    found->number = end.turn;
  }
  found->sources.insert_range(end.sources);
}

/// Collects the members that the results of a turn need.
Operation *TaskRings::fillTurn(Turn &turn) {
  DenseSet<Operation *> needed;
  for (Member &member : llvm::reverse(members)) {
    const bool isEnd =
        member.turn == turn.number && member.isEnd() &&
        llvm::any_of(member.sources, [&](Value source) { return turn.sources.contains(source); });
    if (!isEnd && !needed.contains(member.op))
      continue;
    // Repeating copies and conversions costs little, repeating attention does not.
    if (member.turn != turn.number && isAttention(member.op))
      return member.op;
    turn.members.push_back(&member);
    for (Value operand : member.op->getOperands())
      if (gathered.contains(operand) && !turn.sources.contains(operand))
        needed.insert(operand.getDefiningOp());
  }
  std::reverse(turn.members.begin(), turn.members.end());
  return nullptr;
}

/// Finds a place after all operands of a turn and before all users of its results.
Operation *TaskRings::placeTurn(Turn &turn) {
  Operation *place = nullptr;
  auto moveAfter = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == &task && !op->isBeforeInBlock(place))
      place = op->getNextNode();
  };
  for (Member *member : turn.members)
    if (member->isEnd() && (!place || member->op->isBeforeInBlock(place)))
      place = member->op;
  for (Value source : turn.sources)
    moveAfter(
        source.getDefiningOp<AllGatherOp>().getInputs()[cast<OpResult>(source).getResultNumber()]);
  for (Member *member : turn.members)
    for (Value operand : member->op->getOperands())
      if (!gathered.contains(operand))
        moveAfter(operand);
  turn.place = place;
  for (Member *member : turn.members)
    for (Value result : member->op->getResults())
      if (member->isEnd() && !gathered.contains(result))
        for (Operation *user : result.getUsers())
          if (user->isBeforeInBlock(place))
            return member->op;
  return nullptr;
}

// ---- code ---------------------------------------------------------------------------------------

/// Sends a value to the previous device of the ring: each device gets that of the next one.
Value TaskRings::sendOn(OpBuilder &builder, Value value) const {
  SmallVector<int64_t> pairs;
  for (int64_t target = 0; target < parts; ++target)
    pairs.append({(target + 1) % parts, target});
  return CollectivePermuteOp::create(builder, value.getLoc(), value, pairs,
                                     builder.getArrayAttr({axis}), mesh.getValue());
}

/// In step i, the device with coordinate d has part i + d of the sources. The sums of a part are
/// sent along with it, and the part's owner adds its contribution last.
void TaskRings::emit(Turn &turn) {
  OpBuilder builder(turn.place);
  const Location loc = turn.members.front()->op->getLoc();
  DenseMap<Value, Value> own, sums; // contributions to operands of reduce-scatters
  IRMapping held;                   // a device's parts
  for (Value source : turn.sources)
    held.map(
        source,
        source.getDefiningOp<AllGatherOp>().getInputs()[cast<OpResult>(source).getResultNumber()]);
  for (Member *member : turn.members)
    if (member->kernel)
      member->kernel->begin(builder, gathered);
  for (int64_t step = 0; step < parts; ++step) {
    IRMapping part = held;
    auto index = AxisIndexOp::create(builder, loc, RankedTensorType::get({}, builder.getI32Type()),
                                     axis.getValue(), mesh.getValue(), step);
    if (step + 1 < parts)
      for (Value source : turn.sources)
        held.map(source, sendOn(builder, held.lookup(source)));
    for (Member *member : turn.members) {
      if (member->kernel) {
        member->kernel->addPart(builder, part, index, step + 1 == parts);
      } else if (auto reshape = dyn_cast<hlo::ReshapeOp>(member->op)) {
        RankedTensorType type =
            getPartType(typeOf(reshape), gathered.lookup(reshape.getResult()), parts);
        part.map(reshape.getResult(), hlo::ReshapeOp::create(builder, reshape.getLoc(), type,
                                                             part.lookup(reshape.getOperand()))
                                          .getResult());
      } else {
        for (Value input : cast<ReduceScatterOp>(member->op).getInputs()) {
          Value addend = part.lookup(input);
          if (step == 0)
            own[input] = addend;
          else if (step == 1)
            sums[input] = addend;
          else
            sums[input] = addTensors(builder, sendOn(builder, sums[input]), addend);
        }
      }
    }
    if (index->use_empty())
      index->erase();
  }
  for (Member *member : turn.members) {
    if (member->kernel && member->kernel->combines())
      member->kernel->end(builder);
    if (auto scatter = dyn_cast<ReduceScatterOp>(member->op))
      for (auto [input, result] : llvm::zip_equal(scatter.getInputs(), scatter.getResults()))
        result.replaceAllUsesWith(addTensors(builder, sendOn(builder, sums[input]), own[input]));
  }
  for (Member *member : turn.members)
    if (member->kernel)
      member->kernel->finish();
}

/// Erases the ops that the turns replace. A gather of several tensors keeps those that have other
/// users.
void TaskRings::eraseMembers() {
  for (Member &member : llvm::reverse(members))
    member.op->erase();
  llvm::SmallSetVector<Operation *, 4> gathers;
  for (Value source : sources)
    gathers.insert(source.getDefiningOp());
  for (Operation *op : gathers) {
    auto gather = cast<AllGatherOp>(op);
    SmallVector<Value> inputs, results;
    for (auto [input, result] : llvm::zip_equal(gather.getInputs(), gather.getResults()))
      if (!result.use_empty()) {
        inputs.push_back(input);
        results.push_back(result);
      }
    if (!inputs.empty()) {
      OpBuilder builder(gather);
      auto rest = AllGatherOp::create(builder, gather.getLoc(), ValueRange(results).getTypes(),
                                      inputs, gather.getDim(), gather.getAxes(), gather.getMesh());
      for (auto [old, result] : llvm::zip_equal(results, rest.getResults()))
        old.replaceAllUsesWith(result);
    }
    gather->erase();
  }
}

int64_t TaskRings::run() {
  chooseSources();
  if (sources.empty())
    return 0;
  for (Turn &turn : turns)
    emit(turn);
  eraseMembers();
  return static_cast<int64_t>(turns.size());
}

// ---- the pass -----------------------------------------------------------------------------------

static constexpr FactContract kContract = {
    {Fact::Mesh, Fact::Programs}, FactSet({Fact::TensorOps}) | FactSet::from(Fact::Addresses)};

namespace {
struct RingAttention : mlir::st::impl::RingAttentionBase<RingAttention> {
  using RingAttentionBase::RingAttentionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkFacts(module, getArgument(), kContract)))
      return signalPassFailure();
    auto axis = module->getAttrOfType<StringAttr>(kRingAxisAttr);
    if (!axis)
      return;
    MeshOp mesh = getMesh(module);
    const std::optional<int64_t> parts = mesh.getAxisSize(axis);
    if (!parts) {
      module.emitError() << kRingAxisAttr << " is " << axis << "; expected an axis of the mesh @"
                         << mesh.getSymName();
      return signalPassFailure();
    }
    if (*parts == 1)
      return;
    // In a ring, the order of additions differs between devices.
    if (module->hasAttr(kExactSumsAttr)) {
      module.emitRemark("needs exact sums, so keys and values are gathered");
      return;
    }
    for (auto program : module.getOps<ProgramOp>())
      for (auto task : program.getOps<TaskOp>())
        numTurns +=
            TaskRings(task.getBody().front(), axis, FlatSymbolRefAttr::get(mesh), *parts).run();
  }
};
} // namespace
