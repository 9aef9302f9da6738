// Tile instructions on data: the matrix and the vector engine.
#include "backends/dtu/simulator/data/Execute.h"

#include "backends/dtu/isa/Names.h"
#include "backends/dtu/simulator/data/VectorRuns.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

namespace st::dtu {

bool execute(const MatmulInst &inst, ExecContext &context) {
  const int64_t *registers = context.registers;
  int64_t m = inst.m(registers), n = inst.n(registers), k = inst.k(registers);
  bool accumulate =
      inst.accumulateReg == kZero ? inst.accumulate : registers[inst.accumulateReg] != 0;
  if (m <= 0 || n <= 0 || (k <= 0 && accumulate))
    return true;
  auto bytes = [](int64_t rows, int64_t cols, int64_t stride, int64_t width) {
    return ((rows - 1) * stride + cols) * width;
  };
  uint8_t *c = context.resolve("C", inst.c, 0, bytes(m, n, inst.ldc, 4), Access::Write);
  if (!c)
    return false;
  if (k <= 0) {
    for (int64_t r = 0; r < m; ++r)
      std::memset(c + r * inst.ldc * 4, 0, static_cast<size_t>(n * 4));
    return true;
  }
  const int64_t width = byteWidth(inst.type);
  RowsView a = {nullptr, inst.transposeA ? k : m, (inst.transposeA ? m : k) * width,
                inst.lda * width},
           b = {nullptr, inst.transposeB ? n : k, (inst.transposeB ? k : n) * width,
                inst.ldb * width};
  if (!context.resolveRows("A", inst.a, a, DeferredCopies::Found::Apart) ||
      !context.resolveRows("B", inst.b, b, DeferredCopies::Found::Apart))
    return false;
  HostMatmul::Operand left = {a.data, a.stride / width, inst.transposeA},
                      right = {b.data, b.stride / width, inst.transposeB};
  // Cores that copied a tile of B from the same source share its packed form.
  PackedB packed;
  int64_t packedBytes = context.matmul->packedBytes(right, inst.type, n, k);
  if (b.isElsewhere && packedBytes > 0)
    packed = context.packed.get(b, inst.type, inst.transposeB, packedBytes);
  context.matmul->run(reinterpret_cast<float *>(c), inst.ldc, left, right, inst.type, m, n, k,
                      accumulate, packed);
  context.work->macs += m * n * k;
  return true;
}

namespace {

/// Larger than any L1; bounds the operand buffers.
constexpr int64_t kMaxTileElements = int64_t(1) << 24;

/// Elements of a strip: strips of a few operands fit into the host's L1 cache together.
constexpr int64_t kStrip = 1024;

/// Prefetches the operands that a run reads from the host's memory, one strip ahead and in column
/// order. The host's own prefetcher stops at page ends, and a strip is about a page.
class Prefetcher {
public:
  void add(const uint8_t *data, int64_t width) {
    for (unsigned i = 0; i < count; ++i)
      if (sources[i].data == data)
        return;
    if (count < sources.size())
      sources[count++] = {data, width};
  }

  /// Fetches one of `parts` parts of columns col .. col+cols-1.
  void fetch(int64_t col, int64_t cols, unsigned part, unsigned parts) const {
    for (unsigned i = 0; i < count; ++i) {
      const int64_t bytes = cols * sources[i].width;
      const uint8_t *data = sources[i].data + col * sources[i].width;
      for (int64_t at = bytes * part / parts / kLine * kLine; at < bytes * (part + 1) / parts;
           at += kLine)
        __builtin_prefetch(data + at, 0, 2);
    }
  }

private:
  static constexpr int64_t kLine = 64;
  struct Source {
    const uint8_t *data;
    int64_t width;
  };
  std::array<Source, 8> sources;
  unsigned count = 0;
};

/// A resolved instruction of a run, ready to process any part of its tile. TileOp::prepare() sets
/// all members: most runs are shorter than the array of their stages.
struct Stage {
  struct Source {
    const uint8_t *data;
    int64_t rowBytes, width;
    bool scalar;
    bool isElsewhere;      ///< at the source of a deferred copy
    ConvertKernel convert; ///< into the type that the kernel computes in; null if it has that type
  };
  TileKernel kernel; ///< null: converts its one source
  std::array<Source, 3> sources;
  unsigned count;
  uint8_t *dst;
  int64_t dstRowBytes, dstWidth;
  ConvertKernel convert; ///< converts the kernel's result, or the source; null if nothing is needed

  bool isDense(int64_t cols) const {
    bool dense = dstRowBytes == cols * dstWidth;
    for (unsigned k = 0; k < count; ++k)
      dense &= sources[k].rowBytes == (sources[k].scalar ? 0 : cols * sources[k].width);
    return dense;
  }

  /// Rows row .. row+rows-1, columns col .. col+cols-1.
  void run(int64_t row, int64_t rows, int64_t col, int64_t cols) const {
    uint8_t *out = dst + row * dstRowBytes + col * dstWidth;
    TileArgs args;
    args.rows = rows;
    args.cols = cols;
    for (unsigned k = 0; k < count; ++k) {
      const Source &source = sources[k];
      args.src[k] = source.data + row * source.rowBytes + (source.scalar ? 0 : col * source.width);
      args.srcRow[k] = source.rowBytes;
      args.scalar[k] = source.scalar;
      if (!source.convert)
        continue;
      const int64_t converted = source.scalar ? 1 : cols, rowBytes = converted * 4;
      uint8_t *packed = threadScratch(k, rows * rowBytes);
      const int64_t distinct = source.rowBytes == 0 ? 1 : rows;
      for (int64_t r = 0; r < distinct; ++r)
        source.convert(packed + r * rowBytes, args.src[k] + r * source.rowBytes, converted);
      args.src[k] = packed;
      args.srcRow[k] = source.rowBytes == 0 ? 0 : rowBytes;
    }
    if (!kernel) {
      for (int64_t r = 0; r < rows; ++r)
        convert(out + r * dstRowBytes, args.src[0] + r * args.srcRow[0], cols);
      return;
    }
    args.dst = out;
    args.dstRow = dstRowBytes;
    if (convert) {
      args.dst = threadScratch(3, rows * cols * 4);
      args.dstRow = cols * 4;
    }
    kernel(args);
    if (convert)
      for (int64_t r = 0; r < rows; ++r)
        convert(out + r * dstRowBytes, args.dst + r * args.dstRow, cols);
  }
};

/// A vector instruction prepared for its kernel: actual sizes and resolved operands.
class TileOp {
public:
  TileOp(const VectorInst &inst, ExecContext &context)
      : inst(inst), context(context), rows(inst.rows(context.registers)),
        cols(inst.cols(context.registers)) {}

  bool run() {
    bool reduction = isReduction(inst.op);
    if (reduction ? outputElements() <= 0 : rows <= 0 || cols <= 0)
      return true;
    if (reduction && (rows <= 0 || cols <= 0) && inst.accumulate)
      return true;
    if (rows > kMaxTileElements || cols > kMaxTileElements || rows * cols > kMaxTileElements)
      return context.fail(absl::StrCat("tile of ", rows, " x ", cols, " elements"));
    if (!resolveAll())
      return false;
    if (inst.op == VectorOp::Fill)
      fill();
    else if (inst.op == VectorOp::Iota)
      iota();
    else if (!inst.kernel)
      convert();
    else if (reduction)
      reduce();
    else
      elementwise();
    return true;
  }

  /// Resolves an instruction of a run. Returns false on a fault.
  bool prepare(Stage &stage) {
    if (!resolveAll())
      return false;
    stage.kernel = inst.kernel;
    stage.count = inst.operands;
    for (unsigned k = 0; k < inst.operands; ++k) {
      stage.sources[k] = {src[k].data,          src[k].rowBytes,    src[k].width,
                          src[k].colBytes == 0, src[k].isElsewhere, nullptr};
      if (inst.kernel && is16Bit(src[k].type))
        stage.sources[k].convert = findConvertKernel(*context.kernels, DType::F32, src[k].type);
    }
    stage.dst = dst.data;
    stage.dstRowBytes = dst.rowBytes;
    stage.dstWidth = dst.width;
    stage.convert = nullptr;
    if (!inst.kernel)
      stage.convert = findConvertKernel(*context.kernels, dst.type, src[0].type);
    else if (is16Bit(dst.type))
      stage.convert = findConvertKernel(*context.kernels, dst.type, DType::F32);
    return true;
  }

private:
  struct Operand {
    uint8_t *data = nullptr; ///< written through dst alone
    int64_t rowBytes = 0, colBytes = 0;
    DType type = DType::F32;
    int64_t width = 4;
    bool isElsewhere = false;
  };

  const VectorInst &inst;
  ExecContext &context;
  int64_t rows, cols;
  Operand dst, src[3];

  int64_t outputElements() const { return isRowReduction(inst.op) ? rows : cols; }

  static void describe(const FlatOperand &from, Operand &to) {
    to.rowBytes = from.rowBytes;
    to.colBytes = from.colBytes;
    to.type = from.type;
    to.width = from.width;
  }

  uint8_t *resolve(const char *what, const FlatOperand &from, int64_t r, int64_t c, Access access) {
    int64_t low = 0, high = 0;
    for (auto [stride, size] : {std::pair{from.rowBytes, r}, {from.colBytes, c}}) {
      constexpr int64_t far = int64_t(1) << 60;
      int64_t reach;
      if (__builtin_mul_overflow(stride, size - 1, &reach))
        reach = stride < 0 ? -far : far;
      (reach < 0 ? low : high) += std::clamp(reach, -far, far);
    }
    return context.resolve(what, from.address, low, high + from.width, access);
  }

  bool resolveSource(const char *what, const FlatOperand &from, Operand &to) {
    describe(from, to);
    const bool isRows =
        from.colBytes == from.width && (rows == 1 || from.rowBytes >= cols * from.width);
    if (!isRows) {
      to.data = resolve(what, from, rows, cols, Access::Read);
      return to.data;
    }
    const int64_t rowBytes = cols * from.width;
    RowsView view = {nullptr, rows, rowBytes, rows == 1 ? rowBytes : from.rowBytes};
    if (!context.resolveRows(what, from.address, view, DeferredCopies::Found::Apart))
      return false;
    to.data = const_cast<uint8_t *>(view.data);
    to.isElsewhere = view.isElsewhere;
    if (rows > 1)
      to.rowBytes = view.stride;
    return true;
  }

  bool resolveAll() {
    // Sources first: the destination may overlap the source of a deferred copy.
    constexpr const char *names[] = {"operand a", "operand b", "operand c"};
    if (rows > 0 && cols > 0)
      for (unsigned k = 0; k < inst.operands; ++k)
        if (!resolveSource(names[k], inst.src[k], src[k]))
          return false;
    bool reduction = isReduction(inst.op), byRow = isRowReduction(inst.op);
    int64_t r = reduction && !byRow ? 1 : rows, c = byRow ? 1 : cols;
    describe(inst.dst, dst);
    bool all =
        !reduction && dst.colBytes == dst.width && (rows == 1 || dst.rowBytes == cols * dst.width);
    dst.data = resolve("destination", inst.dst, r, c, all ? Access::Overwrite : Access::Write);
    return dst.data;
  }

  /// Copies (and converts) between an operand's view and a dense one of `type`.
  void transfer(uint8_t *to, const int64_t *toStrides, DType toType, const uint8_t *from,
                const int64_t *fromStrides, DType fromType, int64_t r, int64_t c) {
    int64_t sizes[2] = {r, c};
    CopyPlan plan =
        planCopy(2, sizes, toStrides, fromStrides, byteWidth(toType), byteWidth(fromType));
    if (toType != fromType)
      runConvertingCopy(plan, to, from, findConvertKernel(*context.kernels, toType, fromType));
    else
      runCopy(plan, to, from, findTransposeKernel(*context.kernels, byteWidth(toType)));
  }

  /// Converts an operand to `type` with contiguous columns, or a single column.
  void pack(Operand &operand, DType type, unsigned slot) {
    bool scalar = operand.colBytes == 0;
    bool inPlace = scalar || operand.colBytes == operand.width || cols == 1;
    if (inPlace && operand.type == type)
      return;
    int64_t width = byteWidth(type), c = scalar ? 1 : cols, r = operand.rowBytes == 0 ? 1 : rows;
    uint8_t *packed = threadScratch(slot, r * c * width);
    int64_t to[2] = {c * width, width}, from[2] = {operand.rowBytes, operand.colBytes};
    transfer(packed, to, type, operand.data, from, operand.type, r, c);
    operand = {packed, operand.rowBytes == 0 ? 0 : c * width, scalar ? 0 : width, type, width};
  }

  void unpack(const uint8_t *packed, DType type, int64_t r, int64_t c) {
    int64_t width = byteWidth(type);
    int64_t to[2] = {dst.rowBytes, dst.colBytes}, from[2] = {c * width, width};
    transfer(dst.data, to, dst.type, packed, from, type, r, c);
  }

  /// A single column becomes one row of the transposed matrix.
  void transpose() {
    std::swap(rows, cols);
    for (Operand *operand : {&dst, &src[0], &src[1], &src[2]})
      std::swap(operand->rowBytes, operand->colBytes);
  }

  bool isDense(const Operand &operand) const {
    return (operand.colBytes == operand.width && operand.rowBytes == cols * operand.width) ||
           (operand.colBytes == 0 && operand.rowBytes == 0);
  }

  void elementwise() {
    if (cols == 1 && rows > 1)
      transpose();
    DType resultType =
        inst.dst.type == DType::I1 && (isCompare(inst.op) || inst.op == VectorOp::IsFinite)
            ? DType::I1
            : inst.computeType;
    for (unsigned k = 0; k < inst.operands; ++k)
      pack(src[k], inst.op == VectorOp::Select && k == 0 ? DType::I1 : inst.computeType, k);
    bool direct = dst.type == resultType && (dst.colBytes == dst.width || cols == 1);
    int64_t width = byteWidth(resultType);
    Operand out = direct ? dst
                         : Operand{threadScratch(3, rows * cols * width), cols * width, width,
                                   resultType, width};
    bool dense = isDense(out);
    for (unsigned k = 0; k < inst.operands; ++k)
      dense &= isDense(src[k]);
    int64_t r = dense ? 1 : rows, c = dense ? rows * cols : cols;
    TileArgs args = arguments(out, r, c);
    inst.kernel(args);
    if (!direct)
      unpack(out.data, resultType, rows, cols);
  }

  TileArgs arguments(const Operand &out, int64_t r, int64_t c) const {
    TileArgs args;
    args.dst = out.data;
    args.dstRow = out.rowBytes;
    args.rows = r;
    args.cols = c;
    for (unsigned k = 0; k < inst.operands; ++k) {
      args.src[k] = src[k].data;
      args.srcRow[k] = src[k].rowBytes;
      args.scalar[k] = src[k].colBytes == 0;
    }
    return args;
  }

  void reduce() {
    bool byRow = isRowReduction(inst.op);
    int64_t r = byRow ? rows : 1, c = byRow ? 1 : cols;
    if (rows > 0 && cols > 0)
      pack(src[0], inst.computeType, 0);
    int64_t width = byteWidth(inst.computeType);
    bool direct = dst.type == inst.computeType && (byRow || dst.colBytes == width || cols == 1);
    Operand out =
        direct ? dst
               : Operand{threadScratch(3, r * c * width), width, width, inst.computeType, width};
    if (!direct && inst.accumulate) {
      int64_t to[2] = {c * width, width}, from[2] = {dst.rowBytes, dst.colBytes};
      transfer(out.data, to, inst.computeType, dst.data, from, dst.type, r, c);
    }
    TileArgs args = arguments(out, std::max<int64_t>(rows, 0), std::max<int64_t>(cols, 0));
    args.accumulate = inst.accumulate;
    inst.kernel(args);
    if (!direct)
      unpack(out.data, inst.computeType, r, c);
  }

  void convert() {
    if (cols == 1 && rows > 1)
      transpose();
    int64_t to[2] = {dst.rowBytes, dst.colBytes}, from[2] = {src[0].rowBytes, src[0].colBytes};
    transfer(dst.data, to, dst.type, src[0].data, from, src[0].type, rows, cols);
  }

  void fill() {
    int64_t sizes[2] = {rows, cols}, strides[2] = {dst.rowBytes, dst.colBytes};
    runFill(planCopy(2, sizes, strides, strides, static_cast<unsigned>(dst.width),
                     static_cast<unsigned>(dst.width)),
            dst.data, inst.value);
  }

  void iota() {
    uint64_t start = static_cast<uint64_t>(inst.start(context.registers));
    int64_t *values = reinterpret_cast<int64_t *>(threadScratch(4, cols * 8));
    for (int64_t r = 0; r < rows; ++r) {
      uint64_t first = start + static_cast<uint64_t>(r) * static_cast<uint64_t>(inst.rowStep);
      for (int64_t c = 0; c < cols; ++c)
        values[c] = static_cast<int64_t>(first + static_cast<uint64_t>(c) *
                                                     static_cast<uint64_t>(inst.colStep));
      int64_t to[2] = {0, dst.colBytes}, from[2] = {0, 8};
      transfer(dst.data + r * dst.rowBytes, to, dst.type, reinterpret_cast<const uint8_t *>(values),
               from, DType::I64, 1, cols);
    }
  }
};

} // namespace

/// Kernels begin with a fill of one element for each of their constants.
static bool executeFillOfOne(const VectorInst &fill, ExecContext &context) {
  uint8_t *dst =
      context.resolve("destination", fill.dst.address, 0, fill.dst.width, Access::Overwrite);
  if (!dst)
    return false;
  std::memcpy(dst, &fill.value, fill.dst.width);
  return true;
}

bool execute(const VectorInst &inst, ExecContext &context) {
  if (inst.op == VectorOp::Fill && inst.rows.isOne() && inst.cols.isOne())
    return executeFillOfOne(inst, context);
  return TileOp(inst, context).run();
}

bool executeRun(const DecodedProgram &program, const Slot *slots, unsigned count,
                ExecContext &context, unsigned &at) {
  const VectorInst &first = program.vectors[slots[0].index];
  int64_t rows = first.rows(context.registers), cols = first.cols(context.registers);
  if (rows <= 0 || cols <= 0)
    return true;
  if (rows > kMaxTileElements || cols > kMaxTileElements || rows * cols > kMaxTileElements)
    return context.fail(absl::StrCat("tile of ", rows, " x ", cols, " elements"));
  std::array<Stage, kMaxRun> stages;
  bool dense = true;
  for (at = 0; at < count; ++at) {
    if (!TileOp(program.vectors[slots[at].index], context).prepare(stages[at]))
      return false;
    dense &= rows == 1 || stages[at].isDense(cols);
  }
  Prefetcher prefetcher;
  if (dense) {
    cols *= rows;
    rows = 1;
    for (unsigned i = 0; i < count; ++i)
      for (unsigned k = 0; k < stages[i].count; ++k)
        if (const Stage::Source &source = stages[i].sources[k]; source.isElsewhere)
          prefetcher.add(source.data, source.width);
  }
  const int64_t stripCols = std::min(cols, kStrip);
  const int64_t stripRows = std::max<int64_t>(kStrip / stripCols, 1);
  for (int64_t row = 0; row < rows; row += stripRows)
    for (int64_t col = 0; col < cols; col += stripCols)
      for (unsigned i = 0; i < count; ++i) {
        if (const int64_t next = col + stripCols; next < cols)
          prefetcher.fetch(next, std::min(stripCols, cols - next), i, count);
        stages[i].run(row, std::min(stripRows, rows - row), col, std::min(stripCols, cols - col));
      }
  return true;
}

} // namespace st::dtu
