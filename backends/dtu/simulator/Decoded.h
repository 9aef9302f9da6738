// A validated program in the form both engines run: flat expressions, loops with their targets, and
// each instruction's constant properties precomputed.
#pragma once

#include "backends/dtu/isa/Isa.h"
#include "backends/dtu/isa/Validator.h"
#include "backends/dtu/simulator/data/CopyPlan.h"
#include "backends/dtu/simulator/host/HostKernels.h"
#include "lib/Timing/DtuCosts.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace st::dtu {

/// Floats that the vector engine computes in f32.
inline bool is16Bit(DType type) { return type == DType::BF16 || type == DType::F16; }

struct FlatAffine {
  int64_t constant = 0;
  uint32_t count = 0;
  std::array<uint8_t, Affine::kMaxTerms> regs = {};
  std::array<int64_t, Affine::kMaxTerms> coefficients = {};

  FlatAffine() = default;
  explicit FlatAffine(const Affine &affine);
  /// Wraps on overflow; an overflowed address is out of bounds and faults later.
  int64_t operator()(const int64_t *registers) const {
    uint64_t value = static_cast<uint64_t>(constant);
    for (uint32_t i = 0; i < count; ++i)
      value += static_cast<uint64_t>(coefficients[i]) * static_cast<uint64_t>(registers[regs[i]]);
    return static_cast<int64_t>(value);
  }
};

struct FlatExtent {
  int64_t tile = 1;
  uint8_t reg = kZero;
  int64_t limit = 0;

  FlatExtent() = default;
  explicit FlatExtent(const Extent &extent)
      : tile(extent.tile), reg(extent.reg), limit(extent.limit) {}
  bool isOne() const { return tile == 1 && reg == kZero; }
  int64_t operator()(const int64_t *registers) const {
    if (reg == kZero)
      return tile;
    int64_t value = registers[reg];
    if (value >= limit)
      return 0;
    uint64_t left = static_cast<uint64_t>(limit) - static_cast<uint64_t>(value);
    return left < static_cast<uint64_t>(tile) ? static_cast<int64_t>(left) : tile;
  }
};

struct FlatAddress {
  Space space = Space::L3;
  uint8_t alignment = 1; ///< in bytes; the offset must be a multiple
  FlatAffine offset, core;

  FlatAddress() = default;
  FlatAddress(const Address &address, unsigned alignment)
      : space(address.space), alignment(static_cast<uint8_t>(alignment)), offset(address.offset),
        core(address.core) {}
};

/// Strided dimensions of a dte or link instruction.
struct FlatDims {
  std::vector<FlatExtent> sizes;

  FlatDims() = default;
  explicit FlatDims(const std::vector<Extent> &extents);
};

/// The dimensions of a view in order of increasing stride; of equal strides, the inner dimension
/// first.
using StrideOrder = std::vector<uint8_t>;

struct LoopInst {
  uint8_t reg, depth;
  FlatAffine start, limit;
  int64_t step;
  uint32_t begin, end; ///< slots of Loop and EndLoop
};
struct IndexInst {
  uint8_t dst;
  FlatAffine value;
  int64_t divide, modulo, multiply;
};
struct TableInst {
  uint8_t dst;
  FlatAffine index;
};
struct SemaphoreInst {
  FlatAffine semaphore;
  int64_t count;
};
struct BarrierInst {
  int64_t id, participants;
};
struct CopyInst {
  FlatAddress dst, src;
  FlatDims dims;
  std::vector<int64_t> dstStrides, srcStrides;
  StrideOrder dstOrder, srcOrder;
  DType dstType, srcType;
  int64_t multicast;
  ConvertKernel convert = nullptr; ///< null if the types are equal
  CopyPlan plan;                   ///< of a full tile
};
struct FillInst {
  FlatAddress dst;
  FlatDims dims;
  std::vector<int64_t> strides;
  StrideOrder order;
  DType type;
  uint64_t value;
  int64_t multicast;
  CopyPlan plan; ///< of a full tile
};
/// Gather and Scatter: rows of a table picked by an index.
struct RowsInst {
  FlatAddress table, other, index; ///< other: Gather's dst, Scatter's src
  int64_t tableStride, otherStride;
  FlatExtent count, rowElements;
  DType type, indexType;
  FlatAffine base;
  int64_t rows;
  bool clamp;
  Reduce combine = Reduce::None;
  TileKernel add = nullptr; ///< Scatter that combines, of the type it computes in
};
struct LoadInst {
  uint8_t dst;
  FlatAddress address;
  DType type;
};
struct LeaveInst {
  uint8_t unless;
  uint32_t loop; ///< the loop it leaves
};
struct MatmulInst {
  FlatAddress c, a, b;
  FlatExtent m, n, k;
  int64_t ldc, lda, ldb;
  DType type;
  bool transposeA, transposeB, accumulate;
  uint8_t accumulateReg;
};
struct FlatOperand {
  FlatAddress address;
  int64_t rowBytes, colBytes; ///< strides
  DType type;
  uint8_t width;
};
struct VectorInst {
  VectorOp op;
  FlatOperand dst;
  std::array<FlatOperand, 3> src;
  uint8_t operands;
  uint8_t width = 0; ///< the largest element size in bytes among operands and result
  BankSteps bankSteps;
  FlatExtent rows, cols;
  bool accumulate;
  FlatAffine start;
  int64_t rowStep, colStep;
  uint64_t value;
  DType computeType;           ///< of the kernel; f32 for 16-bit types
  TileKernel kernel = nullptr; ///< null for generators and conversions
};
struct LinkInst {
  uint8_t peer;
  FlatAddress address;
  FlatDims dims;
  std::vector<int64_t> strides;
  StrideOrder order;
  DType type;
  int64_t channel;
  Reduce reduce;
  TileKernel combine = nullptr;
};

/// Index of the alternative in Instruction, under a name.
enum class Opcode : uint8_t {
  Loop,
  EndLoop,
  Index,
  Table,
  Wait,
  Signal,
  Barrier,
  Copy,
  Fill,
  Gather,
  Scatter,
  Matmul,
  Vector,
  Send,
  Recv,
  Load,
  Leave,
};

/// An instruction: its kind and its place in the vector of that kind.
struct Slot {
  Opcode opcode;
  uint32_t index;
};

struct DecodedStream {
  Engine engine;
  int64_t first, count;
  std::vector<Slot> slots;
  std::vector<uint8_t> runs;   ///< of each slot: VectorRuns.h
  std::vector<int32_t> labels; ///< of each slot: index into Program labels, -1 before the first
};

struct DecodedProgram {
  Program source;      ///< without instructions
  std::string encoded; ///< the encoded program, for messages
  std::vector<DecodedStream> streams;
  std::vector<std::string> labels; ///< of all streams

  std::vector<LoopInst> loops;
  std::vector<IndexInst> indices;
  std::vector<TableInst> tables;
  std::vector<SemaphoreInst> semaphores;
  std::vector<BarrierInst> barriers;
  std::vector<CopyInst> copies;
  std::vector<FillInst> fills;
  std::vector<RowsInst> rows;
  std::vector<MatmulInst> matmuls;
  std::vector<VectorInst> vectors;
  std::vector<LinkInst> links;
  std::vector<LoadInst> loads;
  std::vector<LeaveInst> leaves;

  int64_t numInstances() const;
};

/// Decodes `program`, which must be valid, for the routines in `kernels`.
std::unique_ptr<DecodedProgram> decodeProgram(const Program &program, const HostKernels &kernels);

/// "program 'update', stream 2 (core), instruction 5 (...)", for messages.
std::string describePlace(const DecodedProgram &program, size_t stream, size_t instruction);

/// Volume of static or actual sizes.
inline int64_t volume(const int64_t *sizes, size_t count) {
  int64_t result = 1;
  for (size_t i = 0; i < count; ++i)
    if (__builtin_mul_overflow(result, sizes[i], &result))
      return int64_t(1) << 62;
  return result;
}

} // namespace st::dtu
