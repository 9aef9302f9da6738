// Assigns L1 addresses to the values of a TileProgram.
//
// L1 of a worker holds, from address 0: the scalar area, fixed buffers (invariant and item values),
// temporaries, and two slot areas. The scalar area has constants and scalars. It is at the same
// address in every kernel, so a core may fill it while its queue still stores results of the
// previous kernel. A slot area has the values that the queue loads and stores. With two of them,
// the queue works on one tile while the core computes the next.
#pragma once

#include "backends/dtu/codegen/kernels/TileProgram.h"

namespace mlir::dtu {

/// Bytes of the scalar area, and of one of its entries.
constexpr int64_t kCellAreaBytes = 4096, kCellBytes = 8;
/// Buffers start at multiples of this.
constexpr int64_t kBufferAlignment = 64;

/// The step work between two reductions: what one inner loop computes.
struct TilePhase {
  SmallVector<int> ops;     // computed with every step, in order
  SmallVector<int> inputs;  // values loaded with every step
  SmallVector<int> outputs; // outputs stored with every step
  SmallVector<int> itemOps; // computed once, after the last step
  SmallVector<int> kept;    // values that stay valid until the end of the step
};

class TileStorage {
public:
  /// `slots`: the number of slot areas. `slotsHoldProducts`: results of products are in them too.
  TileStorage(const TileProgram &program, unsigned slots = 2, bool slotsHoldProducts = true)
      : program(program), slots(slots), slotsHoldProducts(slotsHoldProducts) {}
  /// Removes all assignments.
  void reset() {
    buffers.clear();
    bufferOf.clear();
  }

  /// Assigns buffers for the phases, which run in order. Step values live within a phase and share
  /// buffers; others keep one. Rates must be set, and so must `rowGroup` and `colGroup` of the
  /// shape; its size comes later. Returns false if the scalar area is too small.
  bool assign(ArrayRef<TilePhase> phases, const TileShape &shape);

  /// Bytes of L1 up to the end of the slots, for tiles of this size.
  int64_t bytes(const TileShape &shape) const;
  /// The L1 offset of the temporaries; nothing after it outlives a tile.
  int64_t temporaries(const TileShape &shape) const;
  /// Fixes the size of tiles and thereby all offsets.
  void place(const TileShape &shape);

  const TileShape &getShape() const { return shape; }
  /// Returns true if the invariant value has a user.
  bool hasBuffer(int value) const { return bufferOf.contains({-1, value}); }
  /// Byte offset of a value's buffer in a phase and slot.
  Expr offset(unsigned phase, int value, const Expr &slot) const;
  /// The end of the values' bytes, where space for partial results begins; valid after place().
  int64_t end() const { return bytes(shape); }

private:
  enum class Area { Cell, Fixed, Temporary, Slot };
  struct Buffer {
    Area area;
    GroupSet groups; // rows and columns only
    unsigned width;
    int64_t offset = 0; // within the area
  };

  const TileProgram &program;
  unsigned slots;
  bool slotsHoldProducts;
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
