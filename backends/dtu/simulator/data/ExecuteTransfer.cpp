// Transfers on data: copies, fills, gathers, scatters and the ends of links.
#include "backends/dtu/simulator/data/Execute.h"

#include "backends/dtu/isa/Names.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

namespace st::dtu {

bool ExecContext::fail(std::string text) {
  fault = std::move(text);
  return false;
}

void ExecContext::count(const FlatAddress &address, int64_t bytes, bool isWrite) {
  switch (address.space) {
  case Space::L1:
    work->l1Bytes += bytes;
    break;
  case Space::L2:
    work->l2Bytes += bytes;
    break;
  case Space::L3:
    work->l3Bytes += bytes;
    break;
  case Space::Host:
    (isWrite ? work->toHostBytes : work->fromHostBytes) += bytes;
    break;
  }
}

void ExecContext::failCore(const char *what, int64_t core) {
  fail(absl::StrCat(what, " names core ", core, " of ", memory.cores));
}

void ExecContext::failPlace(const char *what, const FlatAddress &address, int64_t offset,
                            int64_t low, int64_t high, int64_t bytes) {
  if (offset < -low || offset > bytes - high) {
    __int128 first = __int128(offset) + low, last = __int128(offset) + high;
    bool printable = first >= INT64_MIN && last <= INT64_MAX;
    fail(absl::StrCat(what, " covers bytes ", printable ? static_cast<int64_t>(first) : offset,
                      " to ", printable ? static_cast<int64_t>(last) : offset, " of ",
                      name(address.space), ", but the program has only ", bytes));
    return;
  }
  fail(absl::StrCat(what, " at byte ", offset, " of ", name(address.space), " is not aligned to ",
                    static_cast<int>(address.alignment)));
}

namespace {

struct Sizes {
  int64_t values[kMaxCopyDims];
  size_t count;
};

Sizes sizesOf(const FlatDims &dims, const int64_t *registers) {
  Sizes sizes;
  sizes.count = dims.sizes.size();
  for (size_t i = 0; i < sizes.count; ++i)
    sizes.values[i] = dims.sizes[i](registers);
  return sizes;
}

bool isFull(const FlatDims &dims, const int64_t *registers) {
  for (const FlatExtent &size : dims.sizes)
    if (size(registers) != size.tile)
      return false;
  return true;
}

bool rangesMeet(const uint8_t *a, const uint8_t *aEnd, const uint8_t *b, const uint8_t *bEnd) {
  return a < bEnd && b < aEnd;
}

} // namespace

/// A stride of 0 reads the same element again.
static int64_t distinctElements(const CopyInst &copy, const int64_t *registers) {
  int64_t count = 1;
  for (size_t i = 0; i < copy.dims.sizes.size(); ++i)
    if (copy.srcStrides[i] != 0)
      count *= copy.dims.sizes[i](registers);
  return count;
}

bool execute(const CopyInst &copy, ExecContext &context) {
  CopyPlan partial;
  const bool full = isFull(copy.dims, context.registers);
  if (!full) {
    Sizes sizes = sizesOf(copy.dims, context.registers);
    partial = planCopy(sizes.count, sizes.values, copy.dstStrides.data(), copy.srcStrides.data(),
                       byteWidth(copy.dstType), byteWidth(copy.srcType));
  }
  const CopyPlan &plan = full ? copy.plan : partial;
  if (plan.kind == CopyPlan::Kind::Empty)
    return true;
  // A copy towards the cores can be deferred, because every instruction that reads the tile checks
  // for it.
  RowsView rows;
  const bool waits = !copy.convert && isOnChip(copy.dst.space) && copy.src.space != Space::Host &&
                     copy.src.space > copy.dst.space && DeferredCopies::canDefer(plan, rows);
  const uint8_t *src = nullptr;
  if (!waits)
    src = context.resolve("source", copy.src, plan.srcLow, plan.srcHigh, Access::Read);
  else if (context.resolveRows("source", copy.src, rows, DeferredCopies::Found::Split))
    src = rows.data;
  if (!src)
    return false;
  if (waits && copy.src.space == Space::L3 && rows.rows == 1)
    context.recent.noteRead(rows.data, rows.data + rows.rowBytes);
  TransposeKernel transpose = plan.kind == CopyPlan::Kind::Transpose
                                  ? findTransposeKernel(*context.kernels, plan.dstWidth)
                                  : nullptr;
  for (int64_t i = 0; i < copy.multicast; ++i) {
    int64_t core = 0;
    uint8_t *dst = context.resolve("destination", copy.dst, plan.dstLow, plan.dstHigh,
                                   isDense(plan) ? Access::Overwrite : Access::Write, i, &core);
    if (!dst)
      return false;
    if (waits) {
      context.deferred.defer(copy.dst.space == Space::L1 ? core : context.memory.cores, dst, rows);
    } else if (copy.convert) {
      runConvertingCopy(plan, dst, src, copy.convert);
    } else if (copy.dst.space == copy.src.space &&
               rangesMeet(dst + plan.dstLow, dst + plan.dstHigh, src + plan.srcLow,
                          src + plan.srcHigh)) {
      CopyPlan careful = plan;
      careful.mayOverlap = true;
      runCopy(careful, dst, src, transpose);
    } else {
      // Data written to L3 is rarely read again soon.
      const bool leaves = copy.dst.space == Space::L3 && copy.src.space != Space::L3 &&
                          !(plan.count == 1 && context.recent.has(dst));
      runCopy(plan, dst, src, transpose, /*stream=*/leaves);
    }
    context.count(copy.dst, plan.elements * plan.dstWidth, /*isWrite=*/true);
  }
  context.count(copy.src, distinctElements(copy, context.registers) * plan.srcWidth,
                /*isWrite=*/false);
  return true;
}

bool execute(const FillInst &fill, ExecContext &context) {
  CopyPlan partial;
  const bool full = isFull(fill.dims, context.registers);
  if (!full) {
    Sizes sizes = sizesOf(fill.dims, context.registers);
    partial = planCopy(sizes.count, sizes.values, fill.strides.data(), fill.strides.data(),
                       byteWidth(fill.type), byteWidth(fill.type));
  }
  const CopyPlan &plan = full ? fill.plan : partial;
  if (plan.kind == CopyPlan::Kind::Empty)
    return true;
  for (int64_t i = 0; i < fill.multicast; ++i) {
    uint8_t *dst = context.resolve("destination", fill.dst, plan.dstLow, plan.dstHigh,
                                   isDense(plan) ? Access::Overwrite : Access::Write, i);
    if (!dst)
      return false;
    runFill(plan, dst, fill.value);
    context.count(fill.dst, plan.elements * plan.dstWidth, /*isWrite=*/true);
  }
  return true;
}

namespace {

/// The parts of a Gather or Scatter, resolved and checked.
struct Rows {
  int64_t count, elements, rowBytes;
  uint8_t *table, *other;
  const uint8_t *index;
};

/// Low and high byte of `count` rows.
void rowSpan(int64_t count, int64_t stride, int64_t rowBytes, int64_t &low, int64_t &high) {
  constexpr __int128 far = __int128(1) << 61;
  __int128 reach = __int128(stride) * (count - 1);
  low = static_cast<int64_t>(std::max(std::min<__int128>(reach, 0), -far));
  high = static_cast<int64_t>(std::min(std::max<__int128>(reach, 0) + rowBytes, far));
}

/// Returns false without a fault if there are no rows.
bool resolveParts(const RowsInst &inst, ExecContext &context, bool isScatter, Rows &rows) {
  rows.count = inst.count(context.registers);
  rows.elements = inst.rowElements(context.registers);
  if (rows.count <= 0 || rows.elements <= 0)
    return false;
  rows.rowBytes = rows.elements * byteWidth(inst.type);
  int64_t low, high;
  rowSpan(rows.count, inst.otherStride, rows.rowBytes, low, high);
  rows.other = context.resolve(isScatter ? "source" : "destination", inst.other, low, high,
                               isScatter ? Access::Read : Access::Write);
  if (!rows.other)
    return false;
  rowSpan(rows.count, byteWidth(inst.indexType), byteWidth(inst.indexType), low, high);
  rows.index = context.resolve("index", inst.index, low, high, Access::Read);
  if (!rows.index)
    return false;
  rows.table = nullptr;
  if (inst.rows > 0) {
    rowSpan(inst.rows, inst.tableStride, rows.rowBytes, low, high);
    rows.table =
        context.resolve("table", inst.table, low, high, isScatter ? Access::Write : Access::Read);
  }
  return rows.table || inst.rows <= 0;
}

/// Returns index[i] - base, or a row outside of any table if the difference overflows.
int64_t rowAt(const Rows &rows, DType indexType, int64_t base, int64_t i) {
  int64_t value = 0;
  if (indexType == DType::I32) {
    int32_t narrow;
    std::memcpy(&narrow, rows.index + i * 4, 4);
    value = narrow;
  } else if (indexType == DType::U32) {
    uint32_t narrow;
    std::memcpy(&narrow, rows.index + i * 4, 4);
    value = narrow;
  } else {
    std::memcpy(&value, rows.index + i * 8, 8);
  }
  int64_t row;
  if (__builtin_sub_overflow(value, base, &row))
    return value < 0 ? INT64_MIN : INT64_MAX;
  return row;
}

/// Skipped and zeroed rows count as if they were read from the table, because simulated time does
/// not depend on indices.
void countRows(const RowsInst &inst, const Rows &rows, bool isScatter, ExecContext &context) {
  const int64_t bytes = rows.count * rows.rowBytes;
  context.count(inst.table, inst.combine == Reduce::None ? bytes : 2 * bytes, isScatter);
  context.count(inst.other, bytes, !isScatter);
  context.count(inst.index, rows.count * byteWidth(inst.indexType), /*isWrite=*/false);
}

} // namespace

bool executeGather(const RowsInst &gather, ExecContext &context) {
  Rows rows;
  if (!resolveParts(gather, context, /*isScatter=*/false, rows))
    return context.fault.empty();
  int64_t base = gather.base(context.registers);
  for (int64_t i = 0; i < rows.count; ++i) {
    int64_t row = rowAt(rows, gather.indexType, base, i);
    if (gather.clamp)
      row = std::clamp<int64_t>(row, 0, gather.rows - 1);
    uint8_t *dst = rows.other + i * gather.otherStride;
    if (row >= 0 && row < gather.rows)
      std::memcpy(dst, rows.table + row * gather.tableStride, static_cast<size_t>(rows.rowBytes));
    else
      std::memset(dst, 0, static_cast<size_t>(rows.rowBytes));
  }
  countRows(gather, rows, /*isScatter=*/false, context);
  return true;
}

bool executeScatter(const RowsInst &scatter, ExecContext &context) {
  Rows rows;
  if (!resolveParts(scatter, context, /*isScatter=*/true, rows))
    return context.fault.empty();
  int64_t base = scatter.base(context.registers);
  ConvertKernel toF32 = nullptr, fromF32 = nullptr;
  if (scatter.type == DType::BF16 || scatter.type == DType::F16) {
    toF32 = findConvertKernel(*context.kernels, DType::F32, scatter.type);
    fromF32 = findConvertKernel(*context.kernels, scatter.type, DType::F32);
  }
  int64_t width = byteWidth(scatter.type);
  CopyPlan row = planCopy(1, &rows.elements, &width, &width, static_cast<unsigned>(width),
                          static_cast<unsigned>(width));
  for (int64_t i = 0; i < rows.count; ++i) {
    int64_t at = rowAt(rows, scatter.indexType, base, i);
    if (at < 0 || at >= scatter.rows)
      continue;
    uint8_t *target = rows.table + at * scatter.tableStride;
    const uint8_t *source = rows.other + i * scatter.otherStride;
    if (scatter.combine == Reduce::None)
      std::memcpy(target, source, static_cast<size_t>(rows.rowBytes));
    else
      runCombine(row, target, source, scatter.add, toF32, fromF32);
  }
  countRows(scatter, rows, /*isScatter=*/true, context);
  return true;
}

bool executeLoad(const LoadInst &load, ExecContext &context, int64_t &value) {
  unsigned width = byteWidth(load.type);
  const uint8_t *from = context.resolve("address", load.address, 0, width, Access::Read);
  if (!from)
    return false;
  uint64_t bits = 0;
  std::memcpy(&bits, from, width);
  bool isSigned = load.type == DType::I8 || load.type == DType::I16 || load.type == DType::I32;
  unsigned shift = 64 - 8 * width;
  value = isSigned ? static_cast<int64_t>(bits << shift) >> shift : static_cast<int64_t>(bits);
  return true;
}

// ---- links --------------------------------------------------------------------

int64_t messageBytes(const LinkInst &link, const int64_t *registers) {
  Sizes sizes = sizesOf(link.dims, registers);
  for (size_t i = 0; i < sizes.count; ++i)
    if (sizes.values[i] == 0)
      return 0;
  int64_t elements = volume(sizes.values, sizes.count), bytes;
  return __builtin_mul_overflow(elements, static_cast<int64_t>(byteWidth(link.type)), &bytes)
             ? int64_t(1) << 62
             : bytes;
}

bool executeSend(const LinkInst &send, ExecContext &context, uint8_t *message) {
  Sizes sizes = sizesOf(send.dims, context.registers);
  int64_t dense[kMaxCopyDims];
  unsigned width = byteWidth(send.type);
  denseStrides(sizes.count, sizes.values, width, dense);
  CopyPlan plan = planCopy(sizes.count, sizes.values, dense, send.strides.data(), width, width);
  if (plan.kind == CopyPlan::Kind::Empty)
    return true;
  const uint8_t *src =
      context.resolve("source", send.address, plan.srcLow, plan.srcHigh, Access::Read);
  if (!src)
    return false;
  runCopy(plan, message, src, findTransposeKernel(*context.kernels, width));
  context.count(send.address, plan.elements * plan.srcWidth, /*isWrite=*/false);
  return true;
}

bool executeReceive(const LinkInst &receive, ExecContext &context, const uint8_t *message) {
  Sizes sizes = sizesOf(receive.dims, context.registers);
  int64_t dense[kMaxCopyDims];
  unsigned width = byteWidth(receive.type);
  denseStrides(sizes.count, sizes.values, width, dense);
  CopyPlan plan = planCopy(sizes.count, sizes.values, receive.strides.data(), dense, width, width);
  if (plan.kind == CopyPlan::Kind::Empty)
    return true;
  uint8_t *dst =
      context.resolve("destination", receive.address, plan.dstLow, plan.dstHigh, Access::Write);
  if (!dst)
    return false;
  // A combining copy reads the destination before it writes.
  const int64_t bytes = plan.elements * plan.dstWidth;
  context.count(receive.address, receive.reduce == Reduce::None ? bytes : 2 * bytes,
                /*isWrite=*/true);
  if (receive.reduce == Reduce::None) {
    runCopy(plan, dst, message, findTransposeKernel(*context.kernels, width),
            /*stream=*/receive.address.space == Space::L3);
    return true;
  }
  ConvertKernel toF32 = nullptr, fromF32 = nullptr;
  if (receive.type == DType::BF16 || receive.type == DType::F16) {
    toF32 = findConvertKernel(*context.kernels, DType::F32, receive.type);
    fromF32 = findConvertKernel(*context.kernels, receive.type, DType::F32);
  }
  runCombine(plan, dst, message, receive.combine, toF32, fromF32);
  return true;
}

} // namespace st::dtu
