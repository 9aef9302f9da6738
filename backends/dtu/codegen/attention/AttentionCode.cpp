#include "backends/dtu/codegen/attention/AttentionCode.h"

using namespace mlir;
using namespace mlir::dtu;

Expr mlir::dtu::rowAddress(StreamBuilder &dte, Expr address, ArrayRef<int64_t> strides,
                           const TilePosition &position, int64_t bytes) {
  for (auto [at, stride] : llvm::zip_equal(position.at, strides))
    address = dte.compact(address) + at * (stride * bytes);
  return address;
}

void AttentionCode::setDigits() {
  for (unsigned group = 0; group < fused.space.getNumGroups(); ++group) {
    if (static_cast<int>(group) == fused.streamed)
      continue;
    int64_t tile = static_cast<int>(group) == fused.parallel ? tiling.rows * builder.workers() : 1;
    int64_t size = fused.space.getSize(group);
    digits.push_back({group, tile, static_cast<int64_t>(llvm::divideCeil(size, tile))});
    items *= digits.back().count;
  }
}

void AttentionCode::setBases(const KernelContext &context) {
  for (const Placement &place : context.inputs)
    emitter.argumentBases.push_back(baseOf(builder.dte, place));
  for (const Placement &place : context.results)
    resultBases.push_back(baseOf(builder.dte, place));
  for (unsigned index : fused.stored)
    emitter.resultBases.push_back(resultBases[index]);
}

TilePosition AttentionCode::positionOf(StreamBuilder &stream, const Expr &item) const {
  TilePosition position;
  position.at = tileStart(stream, digits, fused.space.getNumGroups(), item);
  const TileDigit &rows = digits.back();
  const int64_t size = fused.space.getSize(rows.group), step = tiling.rowStep;
  const bool exact = rows.count * rows.tile == size;
  Expr &first = position.at[rows.group];
  first += Expr::instance() * (step == 1 ? tiling.rows : 1);
  position.rowStep = step;
  if (exact || step == 1) {
    position.rows = stream.extent(tiling.rows, first, size, exact);
  } else {
    // Each round covers `step` rows. The last round may be incomplete.
    const int64_t missing = step - 1 - (size - 1) % step,
                  rounds = static_cast<int64_t>(llvm::divideCeil(size, step));
    position.rows = stream.extent(tiling.rows, stream.index(first + missing, step), rounds, false);
  }
  position.cols = {fused.space.getSize(unsigned(fused.streamed)), hw::kZero, 0};
  return position;
}

void AttentionCode::loadRowOperands(const TilePosition &position) const {
  StreamBuilder &dte = builder.dte;
  for (auto [product, target] : llvm::zip_equal(fused.producers, tiling.rowOperands)) {
    StreamBuilder::Scope scope(dte);
    const MatmulOperand &rows = product.rows;
    int64_t width = hw::byteWidth(product.type), bytes = hw::byteWidth(rows.type);
    CopyShape copy;
    copy.add(position.rows, product.matrix.width * width,
             rows.strides[fused.parallel] * position.rowStep * bytes);
    copy.add({product.matrix.width, hw::kZero, 0}, width, rows.depth.front() * bytes);
    Expr source = rowAddress(dte, emitter.argumentBases[rows.argument] + rows.offset * bytes,
                             rows.strides, position, bytes);
    emitCopy(dte, l1Address(target), l3Address(source), std::move(copy), product.type, rows.type);
  }
}

void AttentionCode::loadShare(const AttentionProduct &product, const TilePosition &position,
                              const Expr &start, int64_t block, const Expr &target) const {
  StreamBuilder &dte = builder.dte;
  const StreamedMatrix &matrix = product.matrix;
  int64_t width = hw::byteWidth(product.type), bytes = hw::byteWidth(matrix.type);
  int64_t share = block / builder.workers(), size = fused.space.getSize(matrix.group);
  Expr first = dte.compact(start + Expr::instance() * share);
  hw::Extent own = dte.extent(share, first, size, size % block == 0);
  hw::Extent across{matrix.width, hw::kZero, 0};
  int64_t streamStride = matrix.streamStride() * bytes, widthStride = matrix.widthStride * bytes;
  int64_t step = matrix.streamInside ? width : matrix.width * width;
  CopyShape copy;
  if (matrix.streamInside)
    copy.add(across, block * width, widthStride);
  copy.add(own, step, streamStride);
  if (!matrix.streamInside)
    copy.add(across, width, widthStride);
  Expr source = rowAddress(dte, emitter.argumentBases[matrix.argument] + matrix.offset * bytes,
                           matrix.strides, position, bytes);
  source = dte.compact(source) + first * streamStride;
  hw::Address to = l1Address(target + Expr::instance() * (share * step));
  to.core = Expr(0).toAffine();
  emitCopy(dte, to, l3Address(source), std::move(copy), product.type, matrix.type,
           builder.workers());
}

void AttentionCode::storeResult(const AttentionProduct &product, hw::Extent rows, int64_t rowStride,
                                const TilePosition &position, const Expr &from) const {
  StreamBuilder &dte = builder.dte;
  int64_t width = hw::byteWidth(product.resultType);
  CopyShape copy;
  copy.add(rows, rowStride * width, product.matrix.width * width);
  copy.add({product.matrix.width, hw::kZero, 0}, product.resultColumnStride * width, width);
  Expr target =
      rowAddress(dte, resultBases[product.result], product.resultStrides, position, width);
  emitCopy(dte, l3Address(target), l1Address(from), std::move(copy), product.resultType,
           product.resultType);
}

void AttentionCode::round(const AttentionProduct &product, hw::Extent rows, const Expr &from,
                          const Expr &to) const {
  if (product.resultType == hw::DType::F32)
    return;
  hw::Vector vector;
  vector.op = hw::VectorOp::Copy;
  auto set = [&](hw::TileOperand &operand, const Expr &place, hw::DType type) {
    operand.address.space = hw::Space::L1;
    operand.address.offset = place.toAffine();
    operand.type = type;
    operand.rowStride = product.matrix.width;
    operand.colStride = 1;
  };
  set(vector.dst, to, product.resultType);
  set(vector.src[0], from, hw::DType::F32);
  vector.rows = rows;
  vector.cols = {product.matrix.width, hw::kZero, 0};
  builder.core.emit(std::move(vector));
}

AttentionCode::Blocks AttentionCode::getBlocks(StreamBuilder &stream,
                                               const mlir::st::DiagonalBand &band,
                                               const Expr &first, int64_t count, int64_t length,
                                               int64_t size) {
  const auto all = static_cast<int64_t>(llvm::divideCeil(length, size));
  auto at = [&](const mlir::st::DiagonalBand::TileBound &bound) {
    return stream.clampedQuotient(first * bound.step + bound.offset, all * bound.divisor,
                                  bound.divisor);
  };
  return {band.hasFirst() ? at(band.getFirstTile(size)) : Expr(0),
          band.hasLast() ? at(band.getEndTile(count, size)) : Expr(all)};
}
