// Where the values of a TileProgram lie in L1.
//
// L1 of a worker is, from 0 up: the cells (constants and scalars; they keep
// their place from kernel to kernel, so that a core may fill them while its
// queue still stores the last results of the kernel before), fixed buffers
// (invariant and item values), temporaries, and the slot area twice (what the
// queue loads and stores, so that it works on one tile while the core computes
// the next).
#pragma once

#include "backends/dtu/codegen/kernels/TileProgram.h"

namespace mlir::dtu {

/// Bytes of the cell area.
constexpr int64_t kCellAreaBytes = 4096, kCellBytes = 8;
/// Buffers start at multiples of this.
constexpr int64_t kBufferAlignment = 64;

/// A part of the step work between two reductions: what one inner loop computes.
struct TilePhase {
  SmallVector<int> ops;     // computed with every step, in order
  SmallVector<int> inputs;  // values loaded with every step
  SmallVector<int> outputs; // outputs stored with every step
  SmallVector<int> itemOps; // computed once, after the last step
};

class TileStorage {
public:
  TileStorage(const TileProgram &program, unsigned slots = 2) : program(program), slots(slots) {}
  /// Forgets all assignments.
  void reset() {
    buffers.clear();
    bufferOf.clear();
  }

  /// Assigns buffers for the phases, which run one after the other. Values of rate Step live within
  /// a phase and share buffers; others keep one. Rates must be set. `rowGroup` and `colGroup` of
  /// the shape must be; its size comes later. False if the cells do not suffice.
  bool assign(ArrayRef<TilePhase> phases, const TileShape &shape);

  /// Bytes of L1 up to the end of the slots, for tiles of a size.
  int64_t bytes(const TileShape &shape) const;
  /// Bytes of L1 before the temporaries, behind which nothing outlives a tile.
  int64_t temporaries(const TileShape &shape) const;
  /// Fixes the size of tiles and thereby every offset.
  void place(const TileShape &shape);

  const TileShape &getShape() const { return shape; }
  /// Whether anything reads the invariant value.
  bool hasBuffer(int value) const { return bufferOf.contains({-1, value}); }
  /// Byte offset of a value's buffer in the phase, in the slot.
  Expr offset(unsigned phase, int value, const Expr &slot) const;
  /// Fixed bytes for something besides the values (64 partial results), valid after place().
  int64_t end() const { return bytes(shape); }

private:
  enum class Area { Cell, Fixed, Temporary, Slot };
  struct Buffer {
    Area area;
    GroupSet groups; // of rows and columns only
    unsigned width;
    int64_t offset = 0; // within the area
  };

  const TileProgram &program;
  unsigned slots;
  TileShape shape;
  SmallVector<Buffer> buffers;
  DenseMap<std::pair<int, int>, int> bufferOf; // (phase, value); phase -1: all phases
  int64_t fixedStart = 0, temporaryStart = 0, slotStart = 0, slotBytes = 0;

  class PhaseAssigner;

  GroupSet tileGroups(GroupSet groups) const {
    return groups & ((shape.rowGroup >= 0 ? GroupSet(1) << shape.rowGroup : 0) |
                     (shape.colGroup >= 0 ? GroupSet(1) << shape.colGroup : 0));
  }
  int addBuffer(Area area, int value);
  int64_t assignInvariant(ArrayRef<TilePhase> phases);
  int64_t areaBytes(Area area, const TileShape &tile) const;
  static int64_t bufferBytes(const Buffer &buffer, const TileShape &tile);
};

} // namespace mlir::dtu
