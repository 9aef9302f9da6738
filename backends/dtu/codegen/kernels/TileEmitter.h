// Instructions for the values of a TileProgram: loads, vector ops, stores.
#pragma once

#include "backends/dtu/codegen/kernels/TileStorage.h"

namespace mlir::dtu {

/// A tensor in an arena: its offset and the number of its copies (micro-batch m uses copy m mod
/// slots).
struct Placement {
  int64_t offset = 0, stride = 0, slots = 1;
  int64_t bytes = 0;
  bool isOnHost = false;

  /// The end of its last copy.
  int64_t end() const { return offset + (std::max<int64_t>(slots, 1) - 1) * stride + bytes; }
};

/// Base address of a tensor in one stream. If it depends on the micro-batch, it uses a register, so
/// call this once, outside loops.
Expr baseOf(StreamBuilder &stream, const Placement &place);

/// A view of `extents` dimensions, without absent ones and those of size 1.
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
/// `multicast`: number of cores that receive the copy, starting with that of `dst`.
void emitCopy(StreamBuilder &dte, hw::Address dst, hw::Address src, CopyShape shape,
              hw::DType dstType, hw::DType srcType, int64_t multicast = 1);

/// An address in this worker's own L1, from its queue or its core.
hw::Address l1Address(const Expr &offset);
hw::Address l3Address(const Expr &offset);
hw::Address l2Address(const Expr &offset);
/// An address in the memory that holds a tensor.
hw::Address addressIn(const Placement &place, const Expr &offset);

class TileEmitter {
public:
  TileEmitter(const TileProgram &program, const TileStorage &storage)
      : program(program), storage(storage) {}

  /// Base addresses of the body's arguments and of the results, in the queue's stream.
  SmallVector<Expr> argumentBases, resultBases;

  /// Queue: loads input `value` from L3 to its buffer.
  void load(StreamBuilder &dte, unsigned phase, int value, const TilePosition &position) const;
  /// Queue: stores an output from its buffer to L3.
  void store(StreamBuilder &dte, unsigned phase, int output, const TilePosition &position) const;

  /// Both streams: constants, then values that are loaded or computed once, except `stepOps`.
  void prepare(ProgramBuilder &builder, ArrayRef<int> stepOps, const TilePosition &origin) const;
  /// Core: computes one op. `accumulate`: a reduction adds to its result.
  void compute(StreamBuilder &core, unsigned phase, int op, const TilePosition &position,
               bool accumulate = false) const;
  /// Core: writes the identity of reduction `op` to its result.
  void clear(StreamBuilder &core, unsigned phase, int op, const TilePosition &position) const;

private:
  const TileProgram &program;
  const TileStorage &storage;

  Expr address(unsigned phase, int value, const TilePosition &position) const;
  void fillConstants(StreamBuilder &core) const;
  hw::TileOperand operand(unsigned phase, int value, hw::DType type, GroupSet iterated,
                          const TilePosition &position) const;
};

} // namespace mlir::dtu
