#include "backends/dtu/codegen/kernels/LoopPlan.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;

SmallVector<Expr> mlir::dtu::tileStart(StreamBuilder &stream, ArrayRef<TileDigit> digits,
                                       unsigned groups, const Expr &index) {
  SmallVector<Expr> start(groups, Expr(0));
  int64_t inner = 1;
  for (const TileDigit &digit : llvm::reverse(digits)) {
    bool isOutermost = &digit == digits.begin();
    if (digit.count > 1)
      start[digit.group] = stream.index(index, inner, isOutermost ? 0 : digit.count, digit.tile);
    inner *= digit.count;
  }
  return start;
}

/// Tile sizes in elements. A larger tile is not faster; in a smaller one, instruction overhead
/// exceeds the work.
static constexpr int64_t kLargestTile = 8192, kSmallestTile = 1024;
/// Columns of a tile whose rows are reduced, if it has many of them.
static constexpr int64_t kKeptColumns = 256;
/// Columns of the vector engine's widest element type.
static constexpr int64_t kVectorColumns = 32;

namespace {
class Planner {
public:
  Planner(TileProgram &program, TileStorage &storage, const IterationSpace &space,
          const Machine &machine)
      : program(program), storage(storage), space(space), machine(machine) {}

  llvm::Expected<LoopPlan> run();

private:
  TileProgram &program;
  TileStorage &storage;
  const IterationSpace &space;
  const Machine &machine;
  LoopPlan plan;
  GroupSet reduced = 0;
  int kept = -1, walked = -1; // the tile's kept group and its reduced group

  unsigned numGroups() const { return space.getNumGroups(); }
  int64_t size(int group) const { return group < 0 ? 1 : space.getSize(group); }
  static GroupSet bit(int group) { return group < 0 ? 0 : GroupSet(1) << group; }
  bool isReduced(int group) const { return reduced & bit(group); }
  bool fits(const TileShape &shape) const { return storage.bytes(shape) <= machine.l1Bytes; }

  /// Takes the shape for a plan of one step if it fits into L1; returns false otherwise.
  bool tryShape(const TileShape &shape);
  /// The same for a plan of several steps.
  bool tryStepShape(const TileShape &shape);

  void chooseGroups();
  bool planFullRows();
  bool planKeptTiles();
  bool planElementwise();
  bool planSteps();
  std::optional<int> findOuterKept() const;
  void setItems(const TileShape &shape);
  void setSteps(const TileShape &shape);
  bool assignSingle(GroupSet moving);
  bool assignPhases(GroupSet stepGroups, GroupSet itemGroups);
  /// The size of equal tiles that cover `size` in as few tiles as tiles of at most `maximum` do.
  static int64_t even(int64_t size, int64_t maximum, int64_t multiple);
};
} // namespace

int64_t Planner::even(int64_t size, int64_t maximum, int64_t multiple) {
  maximum = std::clamp<int64_t>(maximum, 1, std::max<int64_t>(size, 1));
  int64_t tile = llvm::divideCeil(size, llvm::divideCeil(size, maximum));
  int64_t rounded = llvm::alignTo(tile, multiple);
  return rounded <= maximum ? rounded : tile;
}

/// Columns are the last group, so that elements contiguous in memory are contiguous in a tile. Rows
/// are the innermost group of the other kind (kept or reduced) if there is a reduction, else the
/// innermost remaining group.
void Planner::chooseGroups() {
  int last = static_cast<int>(numGroups()) - 1;
  plan.shape.colGroup = last;
  plan.shape.padsRows = true;
  for (int group = last - 1; group >= 0 && plan.shape.rowGroup < 0; --group)
    if (reduced == 0 || isReduced(group) != isReduced(last))
      plan.shape.rowGroup = group;
  if (reduced == 0)
    return;
  walked = isReduced(last) ? last : plan.shape.rowGroup;
  kept = isReduced(last) ? plan.shape.rowGroup : last;
}

// ---- one phase: all values of a tile fit L1 together ---------------------------------------

bool Planner::assignSingle(GroupSet moving) {
  program.setRates(moving, 0);
  TilePhase phase;
  for (auto [index, op] : llvm::enumerate(program.ops))
    if (program.values[op.dst].rate == Rate::Step || (op.reduction && op.groups & moving))
      phase.ops.push_back(index);
  for (auto [index, value] : llvm::enumerate(program.values))
    if (value.kind == TileValue::Kind::Input && value.rate == Rate::Step)
      phase.inputs.push_back(index);
  for (unsigned index = 0; index < program.outputs.size(); ++index)
    phase.outputs.push_back(index);
  plan.phases = {phase};
  storage.reset();
  return storage.assign(plan.phases, plan.shape);
}

void Planner::setItems(const TileShape &shape) {
  plan.items.clear();
  for (unsigned group = 0; group < numGroups(); ++group) {
    if (isReduced(group))
      continue;
    int64_t tile = static_cast<int>(group) == shape.rowGroup   ? shape.rows
                   : static_cast<int>(group) == shape.colGroup ? shape.cols
                                                               : 1;
    plan.items.push_back({group, tile, static_cast<int64_t>(llvm::divideCeil(size(group), tile))});
  }
}

void Planner::setSteps(const TileShape &shape) {
  plan.steps.clear();
  for (unsigned group = 0; group < numGroups(); ++group) {
    if (!isReduced(group))
      continue;
    int64_t tile = static_cast<int>(group) == shape.rowGroup   ? shape.rows
                   : static_cast<int>(group) == shape.colGroup ? shape.cols
                                                               : 1;
    plan.steps.push_back({group, tile, static_cast<int64_t>(llvm::divideCeil(size(group), tile))});
  }
}

/// Groups other than `fixed` with more than one element.
static GroupSet movingGroups(const IterationSpace &space, GroupSet fixed) {
  GroupSet moving = 0;
  for (unsigned group = 0; group < space.getNumGroups(); ++group)
    if (!(fixed >> group & 1) && space.getSize(group) > 1)
      moving |= GroupSet(1) << group;
  return moving;
}

bool Planner::tryShape(const TileShape &shape) {
  if (!fits(shape))
    return false;
  setItems(shape);
  storage.place(plan.shape = shape);
  return true;
}

bool Planner::tryStepShape(const TileShape &shape) {
  if (!tryShape(shape))
    return false;
  setSteps(shape);
  return true;
}

/// Without a reduction, tiles split both rows and columns.
bool Planner::planElementwise() {
  TileShape shape = plan.shape;
  int64_t rows = size(shape.rowGroup), cols = size(shape.colGroup);
  int64_t volume = space.getVolume(~GroupSet(0));
  for (int64_t maximum = kLargestTile; maximum >= 1; maximum /= 2) {
    int64_t aim = std::clamp<int64_t>(volume / (2 * machine.workers),
                                      std::min(kSmallestTile, maximum), maximum);
    shape.cols = cols <= aim ? cols : even(cols, aim, kVectorColumns);
    shape.rows = even(rows, std::max<int64_t>(1, aim / shape.cols), 1);
    GroupSet fixed = (shape.cols == cols ? bit(shape.colGroup) : 0) |
                     (shape.rows == rows ? bit(shape.rowGroup) : 0);
    if (!assignSingle(movingGroups(space, fixed)))
      return false;
    if (tryShape(shape))
      return true;
  }
  return false;
}

/// A reduction along columns whose complete rows fit into L1.
bool Planner::planFullRows() {
  if (walked != plan.shape.colGroup || reduced != bit(walked))
    return false;
  TileShape shape = plan.shape;
  shape.cols = size(walked);
  int64_t rows = size(kept);
  if (!assignSingle(movingGroups(space, bit(walked))))
    return false;
  int64_t aim = std::min(kLargestTile / shape.cols,
                         static_cast<int64_t>(llvm::divideCeil(rows, 2 * machine.workers)));
  for (int64_t maximum = std::max<int64_t>(1, aim); maximum >= 1; maximum /= 2) {
    shape.rows = even(rows, maximum, 1);
    if (tryShape(shape))
      return true;
  }
  return false;
}

// ---- several phases: an inner loop runs through the reduction --------------------------------

void mlir::dtu::setPassRates(TileProgram &program, GroupSet steps, GroupSet items) {
  program.setRates(steps, items);
  // The result of a reduction is an item value even if there is only one item.
  for (TileOp &op : program.ops) {
    TileValue &dst = program.values[op.dst];
    if (dst.level > 0 && dst.rate == Rate::Invariant)
      dst.rate = Rate::Item;
  }
}

SmallVector<TilePhase, 0> mlir::dtu::collectPasses(const TileProgram &program, GroupSet steps) {
  auto isStep = [&](int value) { return program.values[value].rate == Rate::Step; };
  SmallVector<TilePhase, 0> phases(program.getNumLevels() + 1);
  SmallVector<unsigned> stepOutputs;
  int last = 0;
  for (auto [index, output] : llvm::enumerate(program.outputs)) {
    if (!(output.groups & steps))
      continue;
    stepOutputs.push_back(index);
    last = std::max(last, program.values[output.ref.value].level);
  }
  for (auto [phaseIndex, phase] : llvm::enumerate(phases)) {
    int level = static_cast<int>(phaseIndex) + 1;
    DenseSet<int> needed;
    if (static_cast<int>(phaseIndex) == last)
      for (unsigned index : stepOutputs) {
        phase.outputs.push_back(index);
        needed.insert(program.outputs[index].ref.value);
      }
    for (size_t i = program.ops.size(); i-- > 0;) {
      const TileOp &op = program.ops[i];
      bool reduces = op.reduction && program.values[op.dst].level == level;
      if (reduces || (!op.reduction && isStep(op.dst) && needed.contains(op.dst))) {
        phase.ops.push_back(i);
        for (const TileRef &source : op.sources)
          needed.insert(source.value);
      } else if (!op.reduction && program.values[op.dst].rate == Rate::Item &&
                 program.values[op.dst].level == level) {
        phase.itemOps.push_back(i);
      }
    }
    std::reverse(phase.ops.begin(), phase.ops.end());
    std::reverse(phase.itemOps.begin(), phase.itemOps.end());
    for (auto [index, value] : llvm::enumerate(program.values))
      if (value.kind == TileValue::Kind::Input && isStep(index) && needed.contains(index))
        phase.inputs.push_back(index);
  }
  return phases;
}

bool Planner::assignPhases(GroupSet stepGroups, GroupSet itemGroups) {
  setPassRates(program, stepGroups, itemGroups);
  plan.phases = collectPasses(program, reduced);
  storage.reset();
  return storage.assign(plan.phases, plan.shape);
}

/// The innermost kept group of several elements besides the columns; std::nullopt if there is none.
std::optional<int> Planner::findOuterKept() const {
  for (int group = plan.shape.colGroup - 1; group >= 0; --group)
    if (!isReduced(group) && size(group) > 1)
      return group;
  return std::nullopt;
}

/// A reduction of few rows, for example over the heads that share a key: with the reduced rows in a
/// tile, the tile would be small. Instead both dimensions of a tile are kept, and each step adds
/// one element of the reduced groups to each element of the tile. Every step rounds its sums, so
/// the type must have 32 bits.
bool Planner::planKeptTiles() {
  const std::optional<int> outer = findOuterKept();
  const bool isNarrow = llvm::any_of(
      program.ops, [](const TileOp &op) { return op.reduction && hw::byteWidth(op.dstType) < 4; });
  if (isReduced(plan.shape.colGroup) || !outer || isNarrow ||
      std::min(kKeptColumns, size(kept)) * size(walked) >= kSmallestTile)
    return false;
  const TileShape before = plan.shape;
  plan.shape.rowGroup = *outer;
  TileShape shape = plan.shape;
  if (assignPhases(reduced, ~reduced)) {
    const int64_t rows = size(shape.rowGroup), cols = size(shape.colGroup),
                  volume = space.getVolume(~reduced);
    for (int64_t maximum = kLargestTile; maximum >= 1; maximum /= 2) {
      const int64_t aim = std::clamp<int64_t>(volume / (2 * machine.workers),
                                              std::min(kSmallestTile, maximum), maximum);
      shape.cols = cols <= aim ? cols : even(cols, aim, kVectorColumns);
      shape.rows = even(rows, std::max<int64_t>(1, aim / shape.cols), 1);
      if (tryStepShape(shape))
        return true;
    }
  }
  plan.shape = before;
  return false;
}

bool Planner::planSteps() {
  TileShape shape = plan.shape;
  bool columnsWalked = walked == shape.colGroup;
  plan.split = space.getVolume(~reduced) == 1;
  if (!assignPhases(reduced, ~reduced))
    return false;
  for (int64_t maximum = kLargestTile; maximum >= 1; maximum /= 2) {
    // First provides items for all workers, then makes steps as long as a tile allows.
    int64_t share = llvm::divideCeil(size(kept), machine.workers);
    // Few rows leave room for more columns.
    int64_t mostKept = std::max(std::min(kKeptColumns, maximum), maximum / size(walked));
    int64_t keptTile = columnsWalked ? std::clamp<int64_t>(maximum / kSmallestTile, 1, share)
                                     : std::clamp<int64_t>(llvm::alignTo(share, 16), 1, mostKept);
    keptTile = even(size(kept), keptTile, columnsWalked ? 1 : 16);
    int64_t walkedTile = std::max<int64_t>(1, maximum / keptTile);
    if (plan.split)
      walkedTile =
          std::min<int64_t>(walkedTile, std::max(kSmallestTile, size(walked) / machine.workers));
    walkedTile = even(size(walked), walkedTile, columnsWalked ? kVectorColumns : 1);
    shape.rows = columnsWalked ? keptTile : walkedTile;
    shape.cols = columnsWalked ? walkedTile : keptTile;
    if (tryStepShape(shape))
      return true;
  }
  return false;
}

llvm::Expected<LoopPlan> Planner::run() {
  auto error = [](const Twine &message) { return llvm::createStringError(message); };
  std::optional<GroupSet> reductions = program.getReducedGroups();
  if (!reductions)
    return error("reduces different dimensions, which is not supported by the DTU backend");
  reduced = *reductions;
  chooseGroups();
  // All workers share a long reduction to a scalar.
  bool isLong = space.getVolume(~reduced) == 1 && space.getVolume(reduced) > 4 * kSmallestTile;
  bool planned = reduced == 0 ? planElementwise()
                              : (!isLong && (planFullRows() || planKeptTiles())) || planSteps();
  if (!planned)
    return error("does not fit the memory of a core, " + Twine(machine.l1Bytes) + " bytes, " +
                 Twine(kCellAreaBytes) + " of them for constants and scalars");
  return plan;
}

llvm::Expected<LoopPlan> mlir::dtu::planLoop(TileProgram &program, TileStorage &storage,
                                             const IterationSpace &space, const Machine &machine) {
  return Planner(program, storage, space, machine).run();
}
