// The instruction set of a DTU cluster. docs/dtu-isa.md is the specification; this header is its
// in-memory form, shared by the code generator, the assembler and the simulator.
//
// A cluster owns a slice of L3 (device memory), one L2, and `cores` cores with a private L1 each. A
// program is a set of instruction streams, one per engine group, that run concurrently and
// synchronise only through semaphores and barriers:
//
//   core streams   matrix and vector instructions; they access L1 of their own core only
//   dte streams    asynchronous copies between L1, L2, L3 and the memory of the host
//   tx/rx streams  link sends and receives, in program order per direction
//
// A stream is written once and executed by `count` instances (for example one per core); register
// kInstance distinguishes them. An instance runs its instructions in order: each completes before
// the next starts. Only different instances overlap, so double buffering is a dte stream and a core
// stream that exchange semaphores. No two instances of a program have the same (engine, number).
//
// Tasks of a rank run one after the other; a task ends when all its instances have ended. At its
// start, L1 and L2 are undefined and semaphores are 0; L3 and the host keep their contents. Access
// to the same bytes from two instances without a semaphore or barrier between them is a program
// error with undefined data.
//
// An instruction with a zero extent does nothing, with two exceptions: a Matmul with k = 0 that
// does not accumulate clears C, and an empty reduction that does not accumulate writes the
// identity.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace st::dtu {

enum class Space : uint8_t { L1, L2, L3, Host };

enum class DType : uint8_t { I1, I8, U8, I16, U16, I32, U32, I64, U64, BF16, F16, F32, F64 };

/// Size in bytes of one element; I1 takes one byte, 0 or 1.
unsigned byteWidth(DType type);

/// 64-bit integer registers of a stream instance. The first four are read-only.
enum Register : uint8_t {
  kZero = 0,       ///< always 0
  kInstance = 1,   ///< index of this instance within its stream, 0 .. count-1
  kMicroBatch = 2, ///< micro-batch for which the task runs
  kRank = 3,       ///< rank within the device group
  kFirstFree = 4,
  kNumRegisters = 32,
};

/// constant + sum of coefficient * register. At most kMaxTerms terms.
struct Affine {
  static constexpr unsigned kMaxTerms = 6;
  struct Term {
    uint8_t reg = kZero;
    int64_t coefficient = 0;
  };
  int64_t constant = 0;
  std::vector<Term> terms;
};

/// The op that combines received data with the destination; None replaces the destination.
enum class Reduce : uint8_t { None, Sum, Max, Min, And, Or, Mul };

/// A byte address. In a dte stream an L1 address names its core through `core`
/// (an affine expression); in a core stream `core` is ignored: a core sees only its own L1.
struct Address {
  Space space = Space::L3;
  Affine offset;
  Affine core;
};

/// The size of one dimension of a tile: `tile`, or the remainder at a ragged edge, clamp(limit -
/// R[reg], 0, tile), if reg is not kZero.
struct Extent {
  int64_t tile = 1;
  uint8_t reg = kZero;
  int64_t limit = 0;
};

/// A strided view for dte and link instructions; dimension 0 is outermost, strides in bytes.
struct View {
  Address address;
  std::vector<int64_t> strides;
};

constexpr unsigned kMaxCopyDims = 6;

/// Maximum nesting depth of the loops of a stream.
constexpr unsigned kMaxLoopDepth = 16;

// ---- control, in every stream -------------------------------------------------

/// for (R[reg] = start; R[reg] < limit; R[reg] += step) { ... } EndLoop
struct Loop {
  uint8_t reg = kFirstFree;
  Affine start;
  Affine limit;
  int64_t step = 1;
};
struct EndLoop {};

/// R[dst] = ((value / divide) % modulo) * multiply, floor semantics on non-negative
/// values; modulo 0 means no modulo.
struct Index {
  uint8_t dst = kFirstFree;
  Affine value;
  int64_t divide = 1;
  int64_t modulo = 0;
  int64_t multiply = 1;
};

/// R[dst] = rank table[index]: constants of this rank (peers, slots), which keep programs
/// rank-symbolic.
struct Table {
  uint8_t dst = kFirstFree;
  Affine index;
};

/// Blocks until semaphore >= count, then subtracts count. Semaphores start at 0; each cluster has
/// one set per task.
struct Wait {
  Affine semaphore;
  int64_t count = 1;
};
/// Adds count once all earlier instructions of this stream instance have completed.
struct Signal {
  Affine semaphore;
  int64_t count = 1;
};
/// Rendezvous of `participants` stream instances of this cluster; reusable.
struct Barrier {
  int64_t id = 0;
  int64_t participants = 1;
};

// ---- dte ----------------------------------------------------------------------

/// dst[...] = convert(src[...]); a stride of 0 in src broadcasts. dst and src must not overlap.
/// `multicast` > 1 needs dst in L1: the same offset of cores core .. core+multicast-1 is
/// written, and the source is read once.
struct Copy {
  View dst, src;
  std::vector<Extent> sizes;
  DType dstType = DType::F32, srcType = DType::F32;
  int64_t multicast = 1;
};
/// dst[...] = value (bit pattern of one element of `type`, in the low bits).
struct Fill {
  View dst;
  std::vector<Extent> sizes;
  DType type = DType::F32;
  uint64_t value = 0;
  int64_t multicast = 1; ///< as for Copy
};
/// For i < count: row j = index[i] - base(affine). dst row i = table row j if 0 <= j < rows;
/// otherwise zero, or with `clamp` the nearest valid row. A row is
/// `rowElements` contiguous elements.
struct Gather {
  Address dst, table, index;
  int64_t dstStride = 0, tableStride = 0; ///< bytes between rows
  Extent count, rowElements;
  DType type = DType::F32, indexType = DType::I32;
  Affine base;
  int64_t rows = 0;
  bool clamp = false;
};
/// For i < count in order: table row (index[i] - base) = or op= src row i; rows out of range are
/// skipped.
struct Scatter {
  Address table, src, index;
  int64_t tableStride = 0, srcStride = 0;
  Extent count, rowElements;
  DType type = DType::F32, indexType = DType::I32;
  Affine base;
  int64_t rows = 0;
  Reduce combine = Reduce::Sum;
};

// ---- matrix engine ------------------------------------------------------------

/// C[m,n] (f32 in L1) = or += A[m,k] * B[k,n]; leading dimensions in elements.
/// transposeA: A is stored [k,m]; transposeB: B is stored [n,k].
struct Matmul {
  Address c, a, b;
  Extent m, n, k;
  int64_t ldc = 0, lda = 0, ldb = 0;
  DType type = DType::F32; ///< of A and B: F32, BF16 or F16
  bool transposeA = false, transposeB = false;
  bool accumulate = false;
  /// Accumulate if R[accumulateReg] != 0 (first K tile overwrites); kZero: use `accumulate`.
  uint8_t accumulateReg = kZero;
};

// ---- vector engine ------------------------------------------------------------

enum class VectorOp : uint8_t {
  // unary; Copy also converts between types
  Copy,
  Neg,
  Abs,
  Not,
  Sign,
  Exp,
  Expm1,
  Log,
  Log1p,
  Logistic,
  Tanh,
  Sqrt,
  Rsqrt,
  Cbrt,
  Erf,
  Erfc,
  Sin,
  Cos,
  Floor,
  Ceil,
  Round /* half away */,
  RoundEven,
  IsFinite,
  // binary
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  Pow,
  Rem,
  And,
  Or,
  Xor,
  Shl,
  ShrLogical,
  ShrArith,
  RotateLeft,
  CmpEq,
  CmpNe,
  CmpLt,
  CmpLe,
  CmpGt,
  CmpGe,
  // ternary: select(pred, a, b), clamp(lo, x, hi), a * b + c with two roundings
  Select,
  Clamp,
  MulAdd,
  // generators: dst[r][c] = start + r*rowStep + c*colStep (integer)
  Iota,
  Fill,
  // reductions over columns to dst[r], or over rows to dst[c]; `accumulate` combines the result
  // with dst
  RowSum,
  RowMax,
  RowMin,
  ColSum,
  ColMax,
  ColMin,
  // binary; last in the list so that programs of older files keep their numbers
  MulHigh,
};

/// A 2-D tile operand in L1; strides in elements, 0 broadcasts.
struct TileOperand {
  Address address;
  int64_t rowStride = 0, colStride = 1;
  DType type = DType::F32;
};

/// dst[r][c] = op(src0[r][c], src1[r][c], src2[r][c]) over rows x cols. Arithmetic is done in the
/// type of src0 (of src1 for Select); for Copy a conversion as StableHLO's convert. Reductions
/// write dst by dst.rowStride (Row*) or dst.colStride (Col*). An operand may be the same tile as
/// dst; any other overlap is a program error. 16-bit operands are computed in f32 and rounded once,
/// to dst.type. Sums have one order: RowSum adds column c to partial sum c mod 16 and then folds
/// the partial sums 16 -> 8 -> 4 -> 2 -> 1 (i with i + half); ColSum adds rows top to bottom;
/// `accumulate` is dst + result.
struct Vector {
  VectorOp op = VectorOp::Copy;
  TileOperand dst;
  std::array<TileOperand, 3> src;
  Extent rows, cols;
  bool accumulate = false;
  Affine start;                     ///< Iota
  int64_t rowStep = 0, colStep = 0; ///< Iota
  uint64_t value = 0;               ///< Fill: bit pattern of dst.type
};

// ---- links --------------------------------------------------------------------

/// Sends a strided view to the rank (of all groups of the executable) in R[peer], on `channel`.
/// Messages of one (source, destination, channel) arrive in order. A send never waits for its
/// receive: the message stays in the receiver's landing buffer until then, across tasks if
/// necessary.
struct Send {
  uint8_t peer = kZero;
  View src;
  std::vector<Extent> sizes;
  DType type = DType::F32;
  int64_t channel = 0;
};
/// Receives the next message of (R[peer], this rank, channel): dst = or op= it. Byte counts must
/// agree.
struct Recv {
  uint8_t peer = kZero;
  View dst;
  std::vector<Extent> sizes;
  DType type = DType::F32;
  int64_t channel = 0;
  Reduce reduce = Reduce::None;
};

// ---- control by data ------------------------------------------------------------

/// R[dst] = the integer at `address`, widened to 64 bits.
struct Load {
  uint8_t dst = kFirstFree;
  Address address;
  DType type = DType::I64;
};
/// Leaves the innermost loop unless R[unless] != 0.
struct Leave {
  uint8_t unless = kZero;
};

using Instruction = std::variant<Loop, EndLoop, Index, Table, Wait, Signal, Barrier, Copy, Fill,
                                 Gather, Scatter, Matmul, Vector, Send, Recv, Load, Leave>;

/// Control flow and synchronisation may occur in any stream, Load in Core and Dte; Matmul and
/// Vector only in Core, Copy, Fill, Gather and Scatter only in Dte, Send only in Tx and Recv only
/// in Rx.
enum class Engine : uint8_t { Core, Dte, Tx, Rx };

/// Link queues per direction. Queues are a program-order notion; all of them share the physical
/// ports.
constexpr unsigned kLinkQueues = 8;

/// One instruction stream, run by instances first .. first+count-1 of the engine
/// (core number, dte queue number, link queue number).
struct Stream {
  Engine engine = Engine::Core;
  int64_t first = 0, count = 1;
  std::vector<Instruction> instructions;
  std::vector<std::string> labels; ///< names of kernels, for traces
  std::vector<std::pair<int64_t, int64_t>>
      labelStarts; ///< (instruction index, label index), ascending
};

/// One task's program for every rank of a device group.
struct Program {
  std::string name;
  int64_t semaphores = 0, barriers = 0;
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0, hostBytes = 0; ///< highest byte used + 1
  int64_t tableSize = 0;
  std::vector<Stream> streams;
};

} // namespace st::dtu
