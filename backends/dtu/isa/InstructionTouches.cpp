#include "backends/dtu/isa/InstructionTouches.h"

#include "backends/dtu/isa/Names.h"

namespace st::dtu {
namespace {

/// Collects the memory accesses of an instruction as the instance runs it.
class Touches {
public:
  Touches(const StreamWalker &walker, TouchVisitor visit) : walker(walker), visit(visit) {}

  absl::Status status;

  void operator()(const Copy &copy) {
    view(copy.src, copy.sizes, copy.srcType, false);
    view(copy.dst, copy.sizes, copy.dstType, true, copy.multicast);
  }
  void operator()(const Fill &fill) { view(fill.dst, fill.sizes, fill.type, true, fill.multicast); }
  void operator()(const Gather &gather) {
    int64_t count = walker.value(gather.count), indexWidth = byteWidth(gather.indexType),
            row = walker.value(gather.rowElements) * byteWidth(gather.type);
    rows(gather.index, count, indexWidth, indexWidth, false);
    rows(gather.table, count > 0 ? gather.rows : 0, gather.tableStride, row, false);
    rows(gather.dst, count, gather.dstStride, row, true);
  }
  void operator()(const Scatter &scatter) {
    int64_t count = walker.value(scatter.count), indexWidth = byteWidth(scatter.indexType),
            row = walker.value(scatter.rowElements) * byteWidth(scatter.type);
    rows(scatter.index, count, indexWidth, indexWidth, false);
    rows(scatter.src, count, scatter.srcStride, row, false);
    rows(scatter.table, count > 0 ? scatter.rows : 0, scatter.tableStride, row, true);
  }
  void operator()(const Matmul &matmul) {
    int64_t m = walker.value(matmul.m), n = walker.value(matmul.n), k = walker.value(matmul.k),
            width = byteWidth(matmul.type);
    matrix(matmul.a, matmul.transposeA ? k : m, matmul.transposeA ? m : k, matmul.lda, width,
           false);
    matrix(matmul.b, matmul.transposeB ? n : k, matmul.transposeB ? k : n, matmul.ldb, width,
           false);
    matrix(matmul.c, m, n, matmul.ldc, 4, true);
  }
  void operator()(const Vector &vector) {
    int64_t rows = walker.value(vector.rows), cols = walker.value(vector.cols);
    for (size_t i = 0; i < operandCount(vector.op); ++i)
      tile(vector.src[i], rows, cols, false);
    bool isReduced = isReduction(vector.op), isRows = isRowReduction(vector.op);
    tile(vector.dst, isReduced && !isRows ? 1 : rows, isRows ? 1 : cols, true);
  }
  void operator()(const Send &send) { view(send.src, send.sizes, send.type, false); }
  void operator()(const Recv &recv) { view(recv.dst, recv.sizes, recv.type, true); }
  template <typename Other> void operator()(const Other &) {}

private:
  using Dims = StridedBytes::Dims;

  void touch(const Address &address, Dims dims, int64_t width, bool isWrite,
             int64_t multicast = 1) {
    if (status.ok())
      status = visit(address, std::move(dims), width, isWrite, multicast);
  }
  void view(const View &view, const std::vector<Extent> &sizes, DType type, bool isWrite,
            int64_t multicast = 1) {
    Dims dims;
    for (size_t i = 0; i < sizes.size(); ++i)
      dims.push_back({walker.value(sizes[i]), view.strides[i]});
    touch(view.address, std::move(dims), byteWidth(type), isWrite, multicast);
  }
  void rows(const Address &address, int64_t count, int64_t stride, int64_t row, bool isWrite) {
    if (row > 0)
      touch(address, {{count, stride}}, row, isWrite);
  }
  void matrix(const Address &address, int64_t rows, int64_t cols, int64_t ld, int64_t width,
              bool isWrite) {
    touch(address, {{rows, ld * width}, {cols, width}}, width, isWrite);
  }
  void tile(const TileOperand &tile, int64_t rows, int64_t cols, bool isWrite) {
    int64_t width = byteWidth(tile.type);
    touch(tile.address, {{rows, tile.rowStride * width}, {cols, tile.colStride * width}}, width,
          isWrite);
  }

  const StreamWalker &walker;
  TouchVisitor visit;
};

} // namespace

absl::Status visitTouches(const StreamWalker &walker, TouchVisitor visit) {
  Touches touches(walker, visit);
  std::visit(touches, walker.next());
  return touches.status;
}

} // namespace st::dtu
