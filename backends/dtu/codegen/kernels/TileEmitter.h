// Instructions for the values of a TileProgram: loads, vector ops, stores.
#pragma once

#include "backends/dtu/codegen/kernels/TileStorage.h"

namespace mlir::dtu {

/// A tensor in an arena: where, and how often it exists (micro-batch m uses copy m mod slots).
struct Placement {
  int64_t offset = 0, stride = 0, slots = 1;
  int64_t bytes = 0;
  bool isOnHost = false;

  /// Behind its last copy.
  int64_t end() const { return offset + (std::max<int64_t>(slots, 1) - 1) * stride + bytes; }
};

/// Base address of a tensor in one stream; what depends on the micro-batch goes through a register.
/// Make it once, outside of loops.
Expr baseOf(StreamBuilder &stream, const Placement &place);

/// A view of `extents` dimensions with 0 or 1 as the size of absent ones folded away.
struct CopyShape {
  SmallVector<hw::Extent, 4> sizes;
  SmallVector<int64_t, 4> dst, src; // byte strides
  void add(hw::Extent size, int64_t dstStride, int64_t srcStride) {
    if (size.reg == hw::kZero && size.tile == 1)
      return;
    sizes.push_back(size);
    dst.push_back(dstStride);
    src.push_back(srcStride);
  }
};
/// `multicast`: cores that get the same, from that of `dst` on.
void emitCopy(StreamBuilder &dte, hw::Address dst, hw::Address src, CopyShape shape,
              hw::DType dstType, hw::DType srcType, int64_t multicast = 1);

/// An address in this worker's own L1, from its queue or its core.
hw::Address l1Address(const Expr &offset);
hw::Address l3Address(const Expr &offset);
hw::Address l2Address(const Expr &offset);
/// At a byte of the memory that a tensor lies in.
hw::Address addressIn(const Placement &place, const Expr &offset);

class TileEmitter {
public:
  TileEmitter(const TileProgram &program, const TileStorage &storage)
      : program(program), storage(storage) {}

  /// Base addresses in the queue's stream: of the body's arguments and of the results.
  SmallVector<Expr> argumentBases, resultBases;

  /// Queue: input `value` from L3 to its buffer.
  void load(StreamBuilder &dte, unsigned phase, int value, const TilePosition &position) const;
  /// Queue: an output from its buffer to L3.
  void store(StreamBuilder &dte, unsigned phase, int output, const TilePosition &position) const;

  /// Both: constants, then what is loaded and computed once. `stepOps` are computed elsewhere.
  void prepare(ProgramBuilder &builder, ArrayRef<int> stepOps, const TilePosition &origin) const;
  /// Core: one op. `accumulate`: a reduction adds to what its result holds.
  void compute(StreamBuilder &core, unsigned phase, int op, const TilePosition &position,
               bool accumulate = false) const;
  /// Core: the identity of reduction `op` to its result.
  void clear(StreamBuilder &core, unsigned phase, int op, const TilePosition &position) const;

private:
  const TileProgram &program;
  const TileStorage &storage;

  void fillConstants(StreamBuilder &core) const;
  hw::TileOperand operand(unsigned phase, int value, hw::DType type, GroupSet iterated,
                          const Expr &slot) const;
};

} // namespace mlir::dtu
