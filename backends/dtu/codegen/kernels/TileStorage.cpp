#include "backends/dtu/codegen/kernels/TileStorage.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::dtu;

int TileStorage::addBuffer(Area area, int value) {
  const TileValue &v = program.values[value];
  buffers.push_back({area, tileGroups(v.groups), hw::byteWidth(v.type)});
  return static_cast<int>(buffers.size()) - 1;
}

// ---- step values of one phase -----------------------------------------------------------

/// Linear scan over the ops of a phase. A buffer is free after the last op that reads its value,
/// and that op may already write to it.
class TileStorage::PhaseAssigner {
public:
  /// Buffers from `firstShared` on belong to earlier phases and may be reused.
  PhaseAssigner(TileStorage &storage, const TilePhase &phase, int index, size_t firstShared)
      : storage(storage), program(storage.program), phase(phase), index(index) {
    for (size_t buffer = firstShared; buffer < storage.buffers.size(); ++buffer)
      untouched.push_back(buffer);
  }

  void run() {
    findLastUses();
    findPlacesOfOutputs();
    for (int value : phase.inputs)
      give(value, obtain(Area::Slot, value));
    // The matrix engine fills its tile before the first op.
    for (auto [value, description] : llvm::enumerate(program.values))
      if (description.kind == TileValue::Kind::Accumulator)
        give(value, obtain(storage.slotsHoldProducts ? Area::Slot : Area::Temporary, value));
    for (auto [position, opIndex] : llvm::enumerate(phase.ops)) {
      const TileOp &op = program.ops[opIndex];
      if (isStep(op.dst))
        give(op.dst, choose(op, position));
      for (const TileRef &source : op.sources)
        if (isStep(source.value) && lastUse.lookup(source.value) == static_cast<int>(position))
          release(source.value);
    }
  }

private:
  TileStorage &storage;
  const TileProgram &program;
  const TilePhase &phase;
  int index;
  DenseMap<int, int> lastUse;
  DenseSet<int> outputs;        // output values, and values whose buffer an output takes over
  SmallVector<int> untouched;   // buffers that only earlier phases use
  SmallVector<int> freeBuffers; // buffers whose value in this phase is dead

  /// Returns a buffer that this phase does not use yet.
  int obtain(Area area, int value) {
    for (int &buffer : untouched) {
      const Buffer &b = storage.buffers[buffer];
      const TileValue &v = program.values[value];
      if (b.area == area && b.groups == storage.tileGroups(v.groups) &&
          b.width == hw::byteWidth(v.type)) {
        int chosen = buffer;
        untouched.erase(&buffer);
        return chosen;
      }
    }
    return storage.addBuffer(area, value);
  }

  bool isStep(int value) const { return program.values[value].rate == Rate::Step; }
  void give(int value, int buffer) { storage.bufferOf[{index, value}] = buffer; }

  void findLastUses() {
    for (auto [position, opIndex] : llvm::enumerate(phase.ops))
      for (const TileRef &source : program.ops[opIndex].sources)
        lastUse[source.value] = position;
    for (int value : phase.kept)
      lastUse[value] = phase.ops.size();
    for (int output : phase.outputs) {
      outputs.insert(program.outputs[output].ref.value);
      lastUse[program.outputs[output].ref.value] = phase.ops.size();
    }
  }

  /// On a matrix-engine tile, an output takes the buffer of the value it is computed from, so that
  /// this value is already in the buffer from which the queue stores. Loops use input buffers for
  /// that, which are double-buffered.
  void findPlacesOfOutputs() {
    bool hasTile = llvm::any_of(program.values, [](const TileValue &value) {
      return value.kind == TileValue::Kind::Accumulator;
    });
    if (!hasTile)
      return;
    for (size_t position = phase.ops.size(); position-- > 0;) {
      const TileOp &op = program.ops[phase.ops[position]];
      if (!outputs.contains(op.dst))
        continue;
      auto sources = getReplaceable(op, position);
      if (!sources.empty())
        outputs.insert(sources.front()->value);
    }
  }

  /// The operands that die at an elementwise op, over which it may write its result. Inputs come
  /// first: they are often the state that the result replaces.
  SmallVector<const TileRef *> getReplaceable(const TileOp &op, int position) const {
    SmallVector<const TileRef *> sources;
    for (const TileRef &source : op.sources)
      if (!op.reduction && isStep(source.value) && lastUse.lookup(source.value) == position &&
          program.values[source.value].groups == program.values[op.dst].groups &&
          hw::byteWidth(source.type) == hw::byteWidth(op.dstType))
        sources.push_back(&source);
    std::stable_partition(sources.begin(), sources.end(), [&](const TileRef *source) {
      return program.values[source->value].kind == TileValue::Kind::Input;
    });
    return sources;
  }

  void release(int value) {
    int buffer = storage.bufferOf.lookup({index, value});
    if (!llvm::is_contained(freeBuffers, buffer))
      freeBuffers.push_back(buffer);
  }

  bool fits(int buffer, int value) const {
    const Buffer &b = storage.buffers[buffer];
    const TileValue &v = program.values[value];
    return b.groups == storage.tileGroups(v.groups) && b.width == hw::byteWidth(v.type) &&
           (b.area == Area::Slot || !outputs.contains(value));
  }

  int choose(const TileOp &op, int position) {
    for (const TileRef *source : getReplaceable(op, position)) {
      int buffer = storage.bufferOf.lookup({index, source->value});
      if (!fits(buffer, op.dst) || llvm::is_contained(freeBuffers, buffer))
        continue;
      lastUse[source->value] = -1; // ownership passes on; the buffer is not released
      return buffer;
    }
    for (int &buffer : freeBuffers)
      if (fits(buffer, op.dst)) {
        int chosen = buffer;
        freeBuffers.erase(&buffer);
        return chosen;
      }
    return obtain(outputs.contains(op.dst) ? Area::Slot : Area::Temporary, op.dst);
  }
};

// ---- all values ---------------------------------------------------------------------------

/// Assigns buffers of values that steps do not change. Scalars that only ops before the first step
/// use share entries of the scalar area. Returns the number of entries used.
int64_t TileStorage::assignInvariant(ArrayRef<TilePhase> phases) {
  DenseSet<int> stepOps;
  for (const TilePhase &phase : phases)
    stepOps.insert(phase.ops.begin(), phase.ops.end());
  constexpr int kAlways = std::numeric_limits<int>::max();
  DenseMap<int, int> lastUse; // by value, the last op that reads it
  DenseSet<int> before;       // values computed before the first step
  for (auto [index, op] : llvm::enumerate(program.ops)) {
    bool isBefore = program.values[op.dst].rate == Rate::Invariant && !stepOps.contains(index);
    if (isBefore)
      before.insert(op.dst);
    lastUse[op.dst] = isBefore ? static_cast<int>(index) : kAlways;
    for (const TileRef &source : op.sources)
      lastUse[source.value] =
          std::max(lastUse.lookup(source.value), isBefore ? static_cast<int>(index) : kAlways);
  }
  for (const TileOutput &output : program.outputs)
    lastUse[output.ref.value] = kAlways;

  auto isCell = [&](int value) {
    return program.values[value].rate == Rate::Invariant && program.values[value].groups == 0;
  };
  auto give = [&](int value, int buffer) { bufferOf[{-1, value}] = buffer; };
  int64_t cells = 0;
  auto addNew = [&](int value) {
    cells += isCell(value);
    give(value, addBuffer(isCell(value) ? Area::Cell : Area::Fixed, value));
  };
  for (auto [index, value] : llvm::enumerate(program.values))
    if (value.rate != Rate::Step && lastUse.contains(index) &&
        !(isCell(index) && before.contains(index)))
      addNew(index);
  SmallVector<int> free;
  for (auto [index, op] : llvm::enumerate(program.ops)) {
    if (!before.contains(op.dst))
      continue;
    if (isCell(op.dst)) {
      if (free.empty())
        addNew(op.dst);
      else
        give(op.dst, free.pop_back_val());
    }
    for (const TileRef &source : op.sources)
      if (isCell(source.value) && lastUse.lookup(source.value) == static_cast<int>(index)) {
        free.push_back(bufferOf.lookup({-1, source.value}));
        lastUse[source.value] = kAlways; // an op may read a value twice
      }
  }
  return cells;
}

bool TileStorage::assign(ArrayRef<TilePhase> phases, const TileShape &tileShape) {
  shape = tileShape;
  int64_t cells = assignInvariant(phases);
  size_t firstShared = buffers.size();
  for (auto [index, phase] : llvm::enumerate(phases))
    PhaseAssigner(*this, phase, index, firstShared).run();
  return cells * kCellBytes <= kCellAreaBytes;
}

int64_t TileStorage::bufferBytes(const Buffer &buffer, const TileShape &tile) {
  if (buffer.area == Area::Cell)
    return kCellBytes;
  return llvm::alignTo(tile.elements(buffer.groups) * buffer.width, kBufferAlignment);
}

int64_t TileStorage::areaBytes(Area area, const TileShape &tile) const {
  int64_t total = 0;
  for (const Buffer &buffer : buffers)
    if (buffer.area == area)
      total += bufferBytes(buffer, tile);
  return total;
}

int64_t TileStorage::bytes(const TileShape &tile) const {
  return temporaries(tile) + areaBytes(Area::Temporary, tile) + slots * areaBytes(Area::Slot, tile);
}

int64_t TileStorage::temporaries(const TileShape &tile) const {
  return kCellAreaBytes + areaBytes(Area::Fixed, tile);
}

void TileStorage::place(const TileShape &tile) {
  shape = tile;
  fixedStart = kCellAreaBytes;
  temporaryStart = temporaries(tile);
  slotStart = temporaryStart + areaBytes(Area::Temporary, tile);
  slotBytes = areaBytes(Area::Slot, tile);
  int64_t next[4] = {};
  for (Buffer &buffer : buffers) {
    int64_t &position = next[static_cast<int>(buffer.area)];
    buffer.offset = position;
    position += bufferBytes(buffer, tile);
  }
}

Expr TileStorage::offset(unsigned phase, int value, const Expr &slot) const {
  auto it = bufferOf.find({-1, value});
  if (it == bufferOf.end())
    it = bufferOf.find({static_cast<int>(phase), value});
  const Buffer &buffer = buffers[it->second];
  switch (buffer.area) {
  case Area::Cell:
    return buffer.offset;
  case Area::Fixed:
    return fixedStart + buffer.offset;
  case Area::Temporary:
    return temporaryStart + buffer.offset;
  case Area::Slot:
    return slot * slotBytes + (slotStart + buffer.offset);
  }
  llvm_unreachable("all areas are listed");
}
