// Kernels of kind "copy": one op that moves data.
//
// A copy is a box of the result, with strides and an offset on both sides. A transpose, whose
// contiguous dimension differs between operand and result, goes through a tile in shared memory, so
// that accesses on both sides are contiguous. A padded result is written once: each element is
// loaded or is padding.
#include "backends/cuda/codegen/kernels/Geometry.h"
#include "backends/cuda/codegen/kernels/KernelEmitter.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;
using llvm::divideCeil;
using mlir::st::denseStrides;
using mlir::st::shapeOf;
using mlir::st::skipReshapes;

/// Side of a transposed tile, and the rows of it that a block moves at once.
static constexpr int64_t kTile = 32, kRowsAtOnce = 8;

namespace {
/// A box of elements: its sizes, and strides and offsets in elements on both sides.
struct Box {
  SmallVector<int64_t> sizes, to, from;
  int64_t toOffset = 0, fromOffset = 0;

  int64_t volume() const {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    return product;
  }
  void simplify();
};

class CopyKernel {
public:
  explicit CopyKernel(KernelEmitter &emitter) : emitter(emitter) {}
  LogicalResult emit();

private:
  KernelEmitter &emitter;
  Type element;
  int64_t threads = 256, blocks = 0; // of the emitted code
  bool isOnlyBox = true;

  LogicalResult copy(Box box, Value operand);
  LogicalResult emitPad(hlo::PadOp op);
  LogicalResult emitConcatenate(hlo::ConcatenateOp op);
  void copyVectors(const Box &box, unsigned source);
  void copyTiles(const Box &box, unsigned source, size_t line);
  FailureOr<Number> getScalar(Value value);
  /// Emits code for `count` separate blocks; the body receives the index among them.
  void forBlocks(int64_t count, llvm::function_ref<void(Value)> body);
  Box fullBox(Value value) const;
};
} // namespace

void Box::simplify() {
  for (size_t i = sizes.size(); i-- > 0;) {
    bool joins = i + 1 < sizes.size() && to[i] == to[i + 1] * sizes[i + 1] &&
                 from[i] == from[i + 1] * sizes[i + 1];
    if (sizes[i] != 1 && !joins)
      continue;
    if (joins && sizes[i] != 1)
      sizes[i + 1] *= sizes[i];
    sizes.erase(sizes.begin() + i);
    to.erase(to.begin() + i);
    from.erase(from.begin() + i);
  }
}

Box CopyKernel::fullBox(Value value) const {
  Box box;
  box.sizes.assign(shapeOf(value).begin(), shapeOf(value).end());
  box.from = box.to = denseStrides(shapeOf(value));
  return box;
}

void CopyKernel::forBlocks(int64_t count, llvm::function_ref<void(Value)> body) {
  int64_t first = blocks;
  blocks += count;
  Value block = emitter.block();
  if (isOnlyBox)
    return body(block);
  Value isAbove = first == 0 ? Value() : emitter.less(emitter.index(first - 1), block);
  emitter.onlyIf(emitter.both(isAbove, emitter.less(block, first + count)),
                 [&] { body(emitter.add(block, -first)); });
}

FailureOr<Number> CopyKernel::getScalar(Value value) {
  while (isa_and_nonnull<hlo::BroadcastInDimOp, hlo::ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (cast<RankedTensorType>(argument.getType()).getNumElements() == 1)
      return emitter.load(emitter.getBuffer(argument), emitter.index(0), element);
  SplatElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return emitter.constant(constant.getSplatValue<Attribute>(), element);
  return emitter.kernel->emitOpError(
      "copies a computed value, which is not supported by the CUDA backend");
}

// ---- boxes --------------------------------------------------------------------------------------

void CopyKernel::copyVectors(const Box &box, unsigned source) {
  Work work;
  work.kept = box.volume();
  work.bytes = divideCeil(getStorageType(element).getIntOrFloatBitWidth(), 8);
  bool isLine = box.sizes.empty() || (box.to.back() == 1 && box.from.back() == 1);
  work.innermost = isLine && !box.sizes.empty() ? box.sizes.back() : 1;
  Geometry geometry = chooseGeometry(work);
  int64_t width = geometry.width;
  bool isAligned = box.toOffset % width == 0 && box.fromOffset % width == 0;
  for (size_t i = 0; i + 1 < box.sizes.size(); ++i)
    isAligned &= box.to[i] % width == 0 && box.from[i] % width == 0;
  forBlocks(geometry.blocks, [&](Value block) {
    Value position =
        emitter.mul(emitter.add(emitter.mul(block, geometry.threads), emitter.thread()), width);
    emitter.onlyIf(emitter.less(position, work.kept), [&] {
      Value to = emitter.index(box.toOffset), from = emitter.index(box.fromOffset);
      for (auto [i, place] : llvm::enumerate(emitter.delinearize(position, box.sizes))) {
        to = emitter.add(to, emitter.mul(place, box.to[i]));
        from = emitter.add(from, emitter.mul(place, box.from[i]));
      }
      emitter.store(emitter.getResultBuffer(0), to,
                    emitter.load(source, from, element, width, isAligned), isAligned);
    });
  });
}

/// `line`: the dimension that is contiguous in the operand.
void CopyKernel::copyTiles(const Box &box, unsigned source, size_t line) {
  size_t last = box.sizes.size() - 1;
  int64_t lines = divideCeil(box.sizes[line], kTile), columns = divideCeil(box.sizes[last], kTile);
  SmallVector<int64_t> outerSizes;
  SmallVector<size_t> outer;
  for (size_t i = 0; i < last; ++i)
    if (i != line) {
      outer.push_back(i);
      outerSizes.push_back(box.sizes[i]);
    }
  int64_t batches = box.volume() / (box.sizes[line] * box.sizes[last]);
  Value tile = emitter.addShared(kTile * (kTile + 1), getComputeType(element));
  Value x = emitter.rem(emitter.thread(), kTile), y = emitter.div(emitter.thread(), kTile);
  forBlocks(batches * lines * columns, [&](Value block) {
    Value column = emitter.mul(emitter.rem(block, columns), kTile);
    Value rest = emitter.div(block, columns);
    Value row = emitter.mul(emitter.rem(rest, lines), kTile);
    Value to = emitter.index(box.toOffset), from = emitter.index(box.fromOffset);
    SmallVector<Value> places = emitter.delinearize(emitter.div(rest, lines), outerSizes);
    for (auto [i, place] : llvm::zip_equal(outer, places)) {
      to = emitter.add(to, emitter.mul(place, box.to[i]));
      from = emitter.add(from, emitter.mul(place, box.from[i]));
    }
    // Threads are adjacent along the operand's line first, then along the result's. The odd row
    // length of the tile avoids bank conflicts.
    for (int64_t k = 0; k < kTile; k += kRowsAtOnce) {
      Value i = emitter.add(row, x), j = emitter.add(emitter.add(y, k), column);
      Value exists =
          emitter.both(emitter.less(i, box.sizes[line]), emitter.less(j, box.sizes[last]));
      emitter.onlyIf(exists, [&] {
        Value place = emitter.add(emitter.mul(i, box.from[line]), emitter.mul(j, box.from[last]));
        Number number = emitter.load(source, emitter.add(from, place), element);
        emitter.storeShared(tile, emitter.add(emitter.mul(x, kTile + 1), emitter.add(y, k)),
                            number);
      });
    }
    emitter.barrier();
    for (int64_t k = 0; k < kTile; k += kRowsAtOnce) {
      Value i = emitter.add(emitter.add(y, k), row), j = emitter.add(column, x);
      Value exists =
          emitter.both(emitter.less(i, box.sizes[line]), emitter.less(j, box.sizes[last]));
      emitter.onlyIf(exists, [&] {
        Value place = emitter.add(emitter.mul(emitter.add(y, k), kTile + 1), x);
        Number number = emitter.loadShared(tile, place, getComputeType(element));
        Value target = emitter.add(emitter.mul(i, box.to[line]), emitter.mul(j, box.to[last]));
        emitter.store(emitter.getResultBuffer(0), emitter.add(to, target), number);
      });
    }
  });
}

LogicalResult CopyKernel::copy(Box box, Value operand) {
  if (box.volume() == 0)
    return success();
  box.simplify();
  auto argument = dyn_cast<BlockArgument>(skipReshapes(operand));
  if (!argument) {
    FailureOr<Number> scalar = getScalar(operand);
    if (failed(scalar))
      return failure();
    forBlocks(divideCeil(box.volume(), threads), [&](Value block) {
      Value position = emitter.add(emitter.mul(block, threads), emitter.thread());
      emitter.onlyIf(emitter.less(position, box.volume()), [&] {
        Value to = emitter.index(box.toOffset);
        for (auto [i, place] : llvm::enumerate(emitter.delinearize(position, box.sizes)))
          to = emitter.add(to, emitter.mul(place, box.to[i]));
        emitter.store(emitter.getResultBuffer(0), to, *scalar);
      });
    });
    return success();
  }
  unsigned source = emitter.getBuffer(argument);
  const auto *line = llvm::find(box.from, 1);
  bool isTransposed = box.sizes.size() > 1 && line < box.from.end() - 1 && box.to.back() == 1 &&
                      box.from.back() > 1;
  size_t dim = line - box.from.begin();
  if (isTransposed && box.sizes[dim] >= kRowsAtOnce && box.sizes.back() >= kRowsAtOnce)
    copyTiles(box, source, dim);
  else
    copyVectors(box, source);
  return success();
}

// ---- ops ----------------------------------------------------------------------------------------

LogicalResult CopyKernel::emitConcatenate(hlo::ConcatenateOp op) {
  SmallVector<int64_t> target = denseStrides(shapeOf(op.getResult()));
  int64_t dim = op.getDimension(), offset = 0;
  isOnlyBox = false;
  for (Value input : op.getInputs()) {
    Box box = fullBox(input);
    box.to = target;
    box.toOffset = offset;
    if (failed(copy(box, input)))
      return failure();
    offset += shapeOf(input)[dim] * target[dim];
  }
  return success();
}

LogicalResult CopyKernel::emitPad(hlo::PadOp op) {
  auto argument = dyn_cast<BlockArgument>(skipReshapes(op.getOperand()));
  FailureOr<Number> padding = getScalar(op.getPaddingValue());
  if (failed(padding))
    return failure();
  FailureOr<Number> inside = *padding;
  if (!argument && failed(inside = getScalar(op.getOperand())))
    return failure();
  ArrayRef<int64_t> sizes = shapeOf(op.getOperand()), shape = shapeOf(op.getResult());
  SmallVector<int64_t> strides = denseStrides(sizes);
  int64_t elements = fullBox(op.getResult()).volume();
  forBlocks(divideCeil(elements, threads), [&](Value block) {
    Value position = emitter.add(emitter.mul(block, threads), emitter.thread());
    emitter.onlyIf(emitter.less(position, elements), [&] {
      Value from = emitter.index(0), isInside;
      for (auto [dim, place] : llvm::enumerate(emitter.delinearize(position, shape))) {
        int64_t low = op.getEdgePaddingLow()[dim], step = op.getInteriorPadding()[dim] + 1;
        Value offset = emitter.add(place, -low);
        if (low > 0)
          isInside = emitter.both(isInside, emitter.less(emitter.index(low - 1), place));
        if (step > 1)
          isInside = emitter.both(isInside, emitter.isZero(emitter.rem(offset, step)));
        Value source = emitter.div(offset, step);
        isInside = emitter.both(isInside, emitter.less(source, sizes[dim]));
        from = emitter.add(from, emitter.mul(source, strides[dim]));
      }
      Number number = *padding;
      if (isInside && !llvm::is_contained(sizes, 0))
        number = emitter.choose(
            isInside,
            [&]() -> SmallVector<Number> {
              return {argument ? emitter.load(emitter.getBuffer(argument), from, element)
                               : *inside};
            },
            [&]() -> SmallVector<Number> { return {*padding}; })[0];
      else if (!isInside) // a scalar
        number = argument ? emitter.load(emitter.getBuffer(argument), from, element) : *inside;
      emitter.store(emitter.getResultBuffer(0), position, number);
    });
  });
  return success();
}

LogicalResult CopyKernel::emit() {
  Operation *op = nullptr;
  for (Operation &candidate : emitter.body.without_terminator()) {
    bool isScalar = llvm::all_of(candidate.getOperands(),
                                 [](Value operand) { return matchPattern(operand, m_Constant()); });
    if (isScalar || isa<hlo::ReshapeOp>(candidate))
      continue;
    if (op)
      return mlir::st::withNote(
          candidate.emitOpError(
              "is the second op of a copy kernel, which is not supported by the CUDA backend"),
          op, "the first is here");
    op = &candidate;
  }
  Value yielded = emitter.body.getTerminator()->getOperand(0);
  element = getElementTypeOrSelf(yielded.getType());
  if (!getComputeType(element))
    return emitter.kernel->emitOpError("has values of ")
           << element << ", which is not supported by the CUDA backend";
  Box box = fullBox(yielded);
  if (!op) { // copies its entire operand
    if (failed(copy(box, yielded)))
      return failure();
    emitter.finish({blocks, threads});
    return success();
  }
  LogicalResult result =
      TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](hlo::TransposeOp transpose) {
            box = fullBox(transpose.getResult());
            SmallVector<int64_t> strides = denseStrides(shapeOf(transpose.getOperand()));
            for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
              box.from[dim] = strides[from];
            return copy(box, transpose.getOperand());
          })
          .Case([&](hlo::SliceOp slice) {
            box = fullBox(slice.getResult());
            box.from = denseStrides(shapeOf(slice.getOperand()));
            for (size_t dim = 0; dim < box.from.size(); ++dim) {
              box.fromOffset += slice.getStartIndices()[dim] * box.from[dim];
              box.from[dim] *= slice.getStrides()[dim];
            }
            return copy(box, slice.getOperand());
          })
          .Case([&](hlo::BroadcastInDimOp broadcast) {
            box = fullBox(broadcast.getResult());
            SmallVector<int64_t> strides = denseStrides(shapeOf(broadcast.getOperand()));
            box.from.assign(box.from.size(), 0);
            for (auto [from, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
              if (shapeOf(broadcast.getOperand())[from] != 1)
                box.from[to] = strides[from];
            return copy(box, broadcast.getOperand());
          })
          .Case([&](hlo::ReverseOp reverse) {
            box = fullBox(reverse.getResult());
            for (int64_t dim : reverse.getDimensions()) {
              box.fromOffset += (box.sizes[dim] - 1) * box.from[dim];
              box.from[dim] = -box.from[dim];
            }
            return copy(box, reverse.getOperand());
          })
          .Case([&](hlo::ConcatenateOp concatenate) { return emitConcatenate(concatenate); })
          .Case([&](hlo::PadOp pad) { return emitPad(pad); })
          .Default([](Operation *other) -> LogicalResult {
            return other->emitOpError("is not supported by the CUDA backend");
          });
  if (succeeded(result))
    emitter.finish({blocks, threads});
  return result;
}

LogicalResult mlir::cuda::emitCopyKernel(KernelEmitter &emitter) {
  return CopyKernel(emitter).emit();
}
