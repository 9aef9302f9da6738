// Kernels of kind "copy": one op that moves data, run by the queues alone.
#include "backends/dtu/codegen/emission/CopyJob.h"
#include "backends/dtu/codegen/kernels/KernelContext.h"
#include "dialects/St/Interfaces/Notes.h"

#include "dialects/StableHLO/Sharding/JoinedRuns.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;
namespace hlo = mlir::stablehlo;

// ---- jobs -------------------------------------------------------------------------------------

/// A smaller copy runs on one queue.
static constexpr int64_t kSharedCopyBytes = 16384;

void CopyJob::simplify() {
  for (size_t i = sizes.size(); i-- > 0;)
    if (sizes[i] == 1) {
      sizes.erase(sizes.begin() + i);
      dst.erase(dst.begin() + i);
      src.erase(src.begin() + i);
    }
  for (size_t i = sizes.size(); i-- > 1;)
    if (dst[i - 1] == dst[i] * sizes[i] && src[i - 1] == src[i] * sizes[i]) {
      sizes[i - 1] *= sizes[i];
      dst[i - 1] = dst[i];
      src[i - 1] = src[i];
      sizes.erase(sizes.begin() + i);
      dst.erase(dst.begin() + i);
      src.erase(src.begin() + i);
    }
}

/// Emits one instruction, inside loops if there are more dimensions than an instruction takes.
static void emitDims(StreamBuilder &dte, CopyJob job, Expr dstOffset, Expr srcOffset,
                     const Expr &start, int64_t share, std::optional<size_t> shared) {
  if (job.sizes.size() > hw::kMaxCopyDims) {
    size_t dim = shared == size_t(0) ? 1 : 0;
    int64_t size = job.sizes[dim], dstStride = job.dst[dim], srcStride = job.src[dim];
    job.sizes.erase(job.sizes.begin() + dim);
    job.dst.erase(job.dst.begin() + dim);
    job.src.erase(job.src.begin() + dim);
    std::optional<size_t> inner =
        shared && *shared > dim ? std::optional<size_t>(*shared - 1) : shared;
    return dte.loop(0, size, 1, [&](Expr i) {
      emitDims(dte, job, dte.compact(dstOffset) + i * dstStride,
               dte.compact(srcOffset) + i * srcStride, start, share, inner);
    });
  }
  hw::Copy copy;
  copy.dstType = copy.srcType = job.type;
  for (size_t dim = 0; dim < job.sizes.size(); ++dim) {
    copy.sizes.push_back(dim == shared
                             ? dte.extent(share, start, job.sizes[dim], job.sizes[dim] % share == 0)
                             : hw::Extent{job.sizes[dim], hw::kZero, 0});
    copy.dst.strides.push_back(job.dst[dim]);
    copy.src.strides.push_back(job.src[dim]);
  }
  copy.dst.address = l3Address(dstOffset);
  copy.src.address = l3Address(srcOffset);
  copy.dst.address.space = job.dstSpace;
  copy.src.address.space = job.srcSpace;
  if (!job.fill)
    return dte.emit(std::move(copy));
  hw::Fill fill;
  fill.dst = copy.dst;
  fill.sizes = copy.sizes;
  fill.type = job.type;
  fill.value = *job.fill;
  dte.emit(std::move(fill));
}

/// Bytes of occupied L3 bursts if a worker has `share` of a dimension.
int64_t CopyJob::burstBytes(size_t shared, int64_t share, const Machine &machine) const {
  int64_t total = 0;
  auto add = [&](hw::Space space, ArrayRef<int64_t> strides) {
    if (space != hw::Space::L3)
      return;
    SmallVector<::st::AccessDim, 4> dims;
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      dims.push_back({dim == shared ? share : sizes[dim], strides[dim]});
    total += machine.burstBytes(hw::byteWidth(type), std::move(dims));
  };
  add(dstSpace, dst);
  if (!fill)
    add(srcSpace, src);
  return total;
}

/// The dimension to split over the queues. Prefers dimensions with work for every queue, among
/// these the ones that split L3 rows into the fewest bursts, and among these the outermost one. If
/// no dimension has work for every queue, it is the largest.
size_t CopyJob::chooseShared(const Machine &machine) const {
  std::optional<size_t> best;
  int64_t minimum = 0;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] < machine.workers)
      continue;
    const int64_t share = llvm::divideCeil(sizes[dim], machine.workers);
    const int64_t bytes = llvm::divideCeil(sizes[dim], share) * burstBytes(dim, share, machine);
    // A difference that a smaller last share explains does not count.
    if (best && bytes > minimum - minimum / 8)
      continue;
    best = dim;
    minimum = bytes;
  }
  return best ? *best : llvm::max_element(sizes) - sizes.begin();
}

void CopyJob::emit(ProgramBuilder &builder, const Expr &dstBase, const Expr &srcBase) const {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  CopyJob job = *this;
  job.simplify();
  if (job.sizes.empty()) {
    job.sizes.push_back(1);
    job.dst.push_back(hw::byteWidth(type));
    job.src.push_back(hw::byteWidth(type));
  }
  int64_t bytes = hw::byteWidth(type);
  for (int64_t size : job.sizes)
    bytes *= size;
  int64_t workers = builder.workers();
  if (bytes < kSharedCopyBytes || workers == 1)
    return dte.when(Expr::instance(), 1, [&](Expr) {
      emitDims(dte, job, dstBase + dstOffset, srcBase + srcOffset, 0, 0, std::nullopt);
    });
  size_t shared = job.chooseShared(builder.machine);
  int64_t share = llvm::divideCeil(job.sizes[shared], workers);
  int64_t takers = llvm::divideCeil(job.sizes[shared], share);
  dte.when(Expr::instance(), takers, [&](Expr) {
    Expr start = dte.materialize(Expr::instance() * share);
    emitDims(dte, job, dstBase + dstOffset + start * job.dst[shared],
             srcBase + srcOffset + start * job.src[shared], start, share, shared);
  });
}

// ---- ops --------------------------------------------------------------------------------------

namespace {
class CopyKernel {
public:
  explicit CopyKernel(KernelContext &context) : context(context), builder(context.builder) {}
  LogicalResult emit();

private:
  KernelContext &context;
  ProgramBuilder &builder;
  Operation *op = nullptr;
  hw::DType type = hw::DType::F32;
  int64_t width = 4;

  SmallVector<int64_t> byteStrides(Value value) const {
    SmallVector<int64_t> strides = denseStrides(cast<RankedTensorType>(value.getType()).getShape());
    for (int64_t &stride : strides)
      stride *= width;
    return strides;
  }
  ArrayRef<int64_t> shapeOf(Value value) const {
    return cast<RankedTensorType>(value.getType()).getShape();
  }
  FailureOr<const Placement *> placementOf(Value operand) const;
  LogicalResult copy(CopyJob job, Value operand);
  CopyJob fullCopy(Value value) const;

  LogicalResult emitTranspose(hlo::TransposeOp op);
  LogicalResult emitSlice(hlo::SliceOp op);
  LogicalResult emitBroadcast(hlo::BroadcastInDimOp op);
  LogicalResult emitReverse(hlo::ReverseOp op);
  LogicalResult emitConcatenate(hlo::ConcatenateOp op);
  LogicalResult emitPad(hlo::PadOp op);
};
} // namespace

FailureOr<const Placement *> CopyKernel::placementOf(Value operand) const {
  // Reshapes that add or remove unit dimensions are transparent.
  while (auto reshape = operand.getDefiningOp<hlo::ReshapeOp>())
    operand = reshape.getOperand();
  if (auto argument = dyn_cast<BlockArgument>(operand))
    return &context.inputs[argument.getArgNumber()];
  return op->emitOpError(
      "of a computed value is not supported by the DTU backend in a copy kernel");
}

/// A copy of a complete value, with both sides in memory order.
CopyJob CopyKernel::fullCopy(Value value) const {
  CopyJob job;
  job.type = type;
  job.sizes.assign(shapeOf(value).begin(), shapeOf(value).end());
  job.src = job.dst = byteStrides(value);
  return job;
}

/// The bits of a constant operand, broadcast or not.
static std::optional<uint64_t> getFill(Value operand) {
  while (isa_and_nonnull<hlo::BroadcastInDimOp, hlo::ReshapeOp>(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  Attribute constant;
  return matchPattern(operand, m_Constant(&constant)) ? getSplatBits(constant) : std::nullopt;
}

LogicalResult CopyKernel::copy(CopyJob job, Value operand) {
  if ((job.fill = getFill(operand))) {
    StreamBuilder::Scope scope(builder.dte);
    job.emit(builder, baseOf(builder.dte, context.results[0]), 0);
    return success();
  }
  FailureOr<const Placement *> source = placementOf(operand);
  if (failed(source))
    return failure();
  StreamBuilder::Scope scope(builder.dte);
  Expr from = baseOf(builder.dte, **source);
  job.emit(builder, baseOf(builder.dte, context.results[0]), from);
  return success();
}

LogicalResult CopyKernel::emitTranspose(hlo::TransposeOp transpose) {
  CopyJob job = fullCopy(transpose.getResult());
  SmallVector<int64_t> source = byteStrides(transpose.getOperand());
  for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
    job.src[dim] = source[from];
  return copy(job, transpose.getOperand());
}

LogicalResult CopyKernel::emitSlice(hlo::SliceOp slice) {
  CopyJob job = fullCopy(slice.getResult());
  job.src = byteStrides(slice.getOperand());
  for (size_t dim = 0; dim < job.src.size(); ++dim) {
    job.srcOffset += slice.getStartIndices()[dim] * job.src[dim];
    job.src[dim] *= slice.getStrides()[dim];
  }
  return copy(job, slice.getOperand());
}

LogicalResult CopyKernel::emitBroadcast(hlo::BroadcastInDimOp broadcast) {
  CopyJob job = fullCopy(broadcast.getResult());
  SmallVector<int64_t> source = byteStrides(broadcast.getOperand());
  job.src.assign(job.src.size(), 0);
  for (auto [from, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
    if (shapeOf(broadcast.getOperand())[from] != 1)
      job.src[to] = source[from];
  return copy(job, broadcast.getOperand());
}

LogicalResult CopyKernel::emitReverse(hlo::ReverseOp reverse) {
  CopyJob job = fullCopy(reverse.getResult());
  for (int64_t dim : reverse.getDimensions()) {
    job.srcOffset += (job.sizes[dim] - 1) * job.src[dim];
    job.src[dim] = -job.src[dim];
  }
  return copy(job, reverse.getOperand());
}

LogicalResult CopyKernel::emitConcatenate(hlo::ConcatenateOp concatenate) {
  int64_t dim = concatenate.getDimension(), offset = 0;
  SmallVector<int64_t> target = byteStrides(concatenate.getResult());
  for (Value input : concatenate.getInputs()) {
    CopyJob job = fullCopy(input);
    job.dst = target;
    job.dstOffset = offset;
    if (failed(copy(job, input)))
      return failure();
    offset += shapeOf(input)[dim] * target[dim];
  }
  return success();
}

/// Writes the padding everywhere, then the operand over it.
LogicalResult CopyKernel::emitPad(hlo::PadOp pad) {
  CopyJob padding = fullCopy(pad.getResult()), inside = fullCopy(pad.getOperand());
  inside.dst = byteStrides(pad.getResult());
  for (size_t dim = 0; dim < inside.sizes.size(); ++dim) {
    int64_t low = pad.getEdgePaddingLow()[dim], step = pad.getInteriorPadding()[dim] + 1;
    int64_t size = shapeOf(pad.getResult())[dim];
    // Elements first .. last of the operand are inside the result.
    int64_t first = low < 0 ? llvm::divideCeil(-low, step) : 0;
    int64_t last = low >= size ? -1 : std::min(inside.sizes[dim] - 1, (size - 1 - low) / step);
    if (low < 0 && size - 1 - low < 0)
      last = -1;
    inside.sizes[dim] = std::max<int64_t>(0, last - first + 1);
    inside.srcOffset += first * inside.src[dim];
    inside.dstOffset += (low + first * step) * inside.dst[dim];
    inside.dst[dim] *= step;
  }
  padding.src.assign(padding.src.size(), 0);
  if (failed(copy(padding, pad.getPaddingValue())))
    return failure();
  builder.barrierOfQueues();
  if (llvm::is_contained(inside.sizes, 0))
    return success();
  return copy(inside, pad.getOperand());
}

LogicalResult CopyKernel::emit() {
  for (Operation &candidate : context.body.without_terminator())
    if (!isa<hlo::ReshapeOp>(candidate) && !getFill(candidate.getResult(0))) {
      if (op)
        return mlir::st::withNote(
            candidate.emitOpError(
                "is the second op of a copy kernel, which is not supported by the DTU backend"),
            op, "the first is here");
      op = &candidate;
    }
  Value yielded = context.body.getTerminator()->getOperand(0);
  type = getDType(getElementTypeOrSelf(yielded.getType())).value_or(hw::DType::F32);
  width = hw::byteWidth(type);
  if (!op) {
    op = context.body.getTerminator();
    return copy(fullCopy(yielded), yielded);
  }
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](hlo::TransposeOp transpose) { return emitTranspose(transpose); })
      .Case([&](hlo::SliceOp slice) { return emitSlice(slice); })
      .Case([&](hlo::BroadcastInDimOp broadcast) { return emitBroadcast(broadcast); })
      .Case([&](hlo::ReverseOp reverse) { return emitReverse(reverse); })
      .Case([&](hlo::ConcatenateOp concatenate) { return emitConcatenate(concatenate); })
      .Case([&](hlo::PadOp pad) { return emitPad(pad); })
      .Default([](Operation *other) {
        return other->emitOpError("is not supported by the DTU backend");
      });
}

LogicalResult mlir::dtu::emitCopyKernel(KernelContext &context) {
  return CopyKernel(context).emit();
}

bool mlir::dtu::joinsInPlace(const KernelContext &context) {
  if (!hlo::findJoinOfRuns(context.body))
    return false;
  const Placement &joined = context.results.front();
  int64_t offset = joined.offset;
  for (const Placement &part : context.inputs) {
    if (part.offset != offset || part.slots != joined.slots || part.stride != joined.stride)
      return false;
    offset += part.bytes;
  }
  return true;
}
