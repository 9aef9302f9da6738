#include "backends/dtu/codegen/kernels/TileEmitter.h"

using namespace mlir;
using namespace mlir::dtu;

Expr mlir::dtu::baseOf(StreamBuilder &stream, const Placement &place) {
  if (place.slots <= 1 || place.stride == 0)
    return place.offset;
  return stream.index(Expr::reg(hw::kMicroBatch), 1, place.slots, place.stride) + place.offset;
}

static hw::Address address(hw::Space space, const Expr &offset) {
  hw::Address result;
  result.space = space;
  result.offset = offset.toAffine();
  return result;
}

hw::Address mlir::dtu::l1Address(const Expr &offset) {
  hw::Address result = address(hw::Space::L1, offset);
  result.core = Expr::instance().toAffine();
  return result;
}
hw::Address mlir::dtu::l2Address(const Expr &offset) { return address(hw::Space::L2, offset); }
hw::Address mlir::dtu::l3Address(const Expr &offset) { return address(hw::Space::L3, offset); }
hw::Address mlir::dtu::addressIn(const Placement &place, const Expr &offset) {
  return address(place.isOnHost ? hw::Space::Host : hw::Space::L3, offset);
}

void mlir::dtu::emitCopy(StreamBuilder &dte, hw::Address dst, hw::Address src, CopyShape shape,
                         hw::DType dstType, hw::DType srcType, int64_t multicast) {
  // Merges dimensions that are contiguous on both sides.
  for (size_t i = shape.sizes.size(); i-- > 1;) {
    hw::Extent inner = shape.sizes[i], outer = shape.sizes[i - 1];
    if (inner.reg != hw::kZero || outer.reg != hw::kZero ||
        shape.dst[i - 1] != shape.dst[i] * inner.tile ||
        shape.src[i - 1] != shape.src[i] * inner.tile)
      continue;
    shape.sizes[i - 1] = {outer.tile * inner.tile, hw::kZero, 0};
    shape.dst[i - 1] = shape.dst[i];
    shape.src[i - 1] = shape.src[i];
    shape.sizes.erase(shape.sizes.begin() + i);
    shape.dst.erase(shape.dst.begin() + i);
    shape.src.erase(shape.src.begin() + i);
  }
  if (shape.sizes.empty()) {
    shape.sizes.push_back({1, hw::kZero, 0});
    shape.dst.push_back(hw::byteWidth(dstType));
    shape.src.push_back(hw::byteWidth(srcType));
  }
  hw::Copy copy;
  copy.dst = {std::move(dst), {shape.dst.begin(), shape.dst.end()}};
  copy.src = {std::move(src), {shape.src.begin(), shape.src.end()}};
  copy.sizes.assign(shape.sizes.begin(), shape.sizes.end());
  copy.dstType = dstType;
  copy.srcType = srcType;
  copy.multicast = multicast;
  dte.emit(std::move(copy));
}

// ---- queue ------------------------------------------------------------------------------

/// Byte address of element `offset` of a tensor at the tile's position.
static Expr elementAddress(StreamBuilder &dte, const Expr &base, int64_t offset,
                           ArrayRef<int64_t> strides, const TilePosition &position, int64_t width) {
  Expr result = base + offset * width;
  for (auto [at, stride] : llvm::zip_equal(position.at, strides))
    result = dte.compact(result) + at * (stride * width);
  return result;
}

/// The L1 offset of a value's part at the tile's position.
Expr TileEmitter::address(unsigned phase, int index, const TilePosition &position) const {
  const TileValue &value = program.values[index];
  Expr start = storage.offset(phase, index, position.slot);
  const TileShape &shape = storage.getShape();
  const int64_t width = hw::byteWidth(value.type);
  if (shape.hasCols(value.groups))
    start += position.firstCol * width;
  if (shape.hasRows(value.groups))
    start += position.firstRow * (shape.hasCols(value.groups) ? shape.rowPitch() : 1) * width;
  return start;
}

void TileEmitter::load(StreamBuilder &dte, unsigned phase, int index,
                       const TilePosition &position) const {
  StreamBuilder::Scope scope(dte);
  const TileValue &value = program.values[index];
  const TileShape &shape = storage.getShape();
  int64_t width = hw::byteWidth(value.type);
  bool rows = shape.hasRows(value.groups), cols = shape.hasCols(value.groups);
  CopyShape copy;
  if (rows)
    copy.add(position.rows, (cols ? shape.rowPitch() : 1) * width,
             value.strides[shape.rowGroup] * position.rowStep * width);
  if (cols)
    copy.add(position.cols, width, value.strides[shape.colGroup] * width);
  Expr source = elementAddress(dte, argumentBases[value.argument], value.offset, value.strides,
                               position, width);
  emitCopy(dte, l1Address(address(phase, index, position)), l3Address(source), std::move(copy),
           value.type, value.type);
}

void TileEmitter::store(StreamBuilder &dte, unsigned phase, int index,
                        const TilePosition &position) const {
  StreamBuilder::Scope scope(dte);
  const TileOutput &output = program.outputs[index];
  const TileValue &value = program.values[output.ref.value];
  const TileShape &shape = storage.getShape();
  int64_t width = hw::byteWidth(output.ref.type);
  bool rows = shape.hasRows(value.groups), cols = shape.hasCols(value.groups);
  CopyShape copy;
  if (shape.hasRows(output.groups))
    copy.add(position.rows, output.strides[shape.rowGroup] * position.rowStep * width,
             rows ? (cols ? shape.rowPitch() : 1) * width : 0);
  if (shape.hasCols(output.groups))
    copy.add(position.cols, output.strides[shape.colGroup] * width, cols ? width : 0);
  hw::Address target = l3Address(
      elementAddress(dte, resultBases[output.result], 0, output.strides, position, width));
  if (value.kind != TileValue::Kind::Constant)
    return emitCopy(dte, target, l1Address(address(phase, output.ref.value, position)),
                    std::move(copy), output.ref.type, output.ref.type);
  hw::Fill fill;
  fill.dst = {target, {copy.dst.begin(), copy.dst.end()}};
  fill.sizes.assign(copy.sizes.begin(), copy.sizes.end());
  if (fill.sizes.empty()) {
    fill.sizes.push_back({1, hw::kZero, 0});
    fill.dst.strides.push_back(width);
  }
  fill.type = output.ref.type;
  fill.value = value.bits;
  dte.emit(std::move(fill));
}

// ---- core -------------------------------------------------------------------------------

/// The operand as an instruction over `iterated` reads it. A tile without columns is read as one
/// row.
hw::TileOperand TileEmitter::operand(unsigned phase, int index, hw::DType type, GroupSet iterated,
                                     const TilePosition &position) const {
  const TileValue &value = program.values[index];
  const TileShape &shape = storage.getShape();
  hw::TileOperand result;
  result.address.space = hw::Space::L1;
  result.address.offset = address(phase, index, position).toAffine();
  result.type = type;
  bool rows = shape.hasRows(value.groups), cols = shape.hasCols(value.groups);
  if (shape.hasCols(iterated) || !shape.hasRows(iterated)) {
    result.rowStride = rows ? (cols ? shape.rowPitch() : 1) : 0;
    result.colStride = cols ? 1 : 0;
  } else {
    result.rowStride = 0;
    result.colStride = rows ? 1 : 0;
  }
  return result;
}

static void setExtents(hw::Vector &vector, const TileShape &shape, GroupSet iterated,
                       const TilePosition &position) {
  hw::Extent one{1, hw::kZero, 0};
  bool rows = shape.hasRows(iterated), cols = shape.hasCols(iterated);
  vector.rows = rows && cols ? position.rows : one;
  vector.cols = cols ? position.cols : rows ? position.rows : one;
}

void TileEmitter::fillConstants(StreamBuilder &core) const {
  for (auto [index, value] : llvm::enumerate(program.values)) {
    if (value.kind != TileValue::Kind::Constant || !storage.hasBuffer(index))
      continue;
    hw::Vector fill;
    fill.op = hw::VectorOp::Fill;
    fill.dst = operand(0, index, value.type, 0, {});
    fill.value = value.bits;
    core.emit(std::move(fill));
  }
}

void TileEmitter::prepare(ProgramBuilder &builder, ArrayRef<int> stepOps,
                          const TilePosition &origin) const {
  fillConstants(builder.core);
  SmallVector<int> ops, inputs;
  for (auto [index, op] : llvm::enumerate(program.ops))
    if (program.values[op.dst].rate == Rate::Invariant && !llvm::is_contained(stepOps, index))
      ops.push_back(index);
  for (auto [index, value] : llvm::enumerate(program.values))
    if (value.rate == Rate::Invariant && value.kind == TileValue::Kind::Input &&
        storage.hasBuffer(index))
      inputs.push_back(index);
  if (ops.empty() && inputs.empty())
    return;
  for (int input : inputs)
    load(builder.dte, 0, input, origin);
  // The wait also prevents the core from writing buffers that its queue is still storing.
  builder.dte.signal(builder.semaphore(Sem::Full));
  builder.core.wait(builder.semaphore(Sem::Full));
  for (int op : ops)
    compute(builder.core, 0, op, origin);
}

void TileEmitter::clear(StreamBuilder &core, unsigned phase, int index,
                        const TilePosition &position) const {
  const TileOp &op = program.ops[index];
  GroupSet groups = program.values[op.dst].groups;
  hw::Vector fill;
  fill.op = hw::VectorOp::Fill;
  fill.dst = operand(phase, op.dst, op.dstType, groups, position);
  setExtents(fill, storage.getShape(), groups, position);
  fill.value = getIdentity(*op.reduction, op.dstType);
  core.emit(std::move(fill));
}

void TileEmitter::compute(StreamBuilder &core, unsigned phase, int index,
                          const TilePosition &position, bool accumulate) const {
  const TileOp &op = program.ops[index];
  const TileShape &shape = storage.getShape();
  hw::Vector vector;
  vector.op = op.op;
  GroupSet iterated = op.groups;
  if (op.reduction) {
    GroupSet reduced = op.groups & ~program.values[op.dst].groups;
    if (!shape.hasRows(reduced) && !shape.hasCols(reduced)) {
      // The tile is one element of the reduced groups.
      assert(accumulate);
      vector.op = getCombineOp(*op.reduction);
      vector.dst = vector.src[0] = operand(phase, op.dst, op.dstType, iterated, position);
      vector.src[1] = operand(phase, op.sources[0].value, op.sources[0].type, iterated, position);
      setExtents(vector, shape, iterated, position);
      return core.emit(std::move(vector));
    }
    bool alongColumns = shape.hasCols(reduced);
    vector.op = getReductionOp(*op.reduction, alongColumns);
    vector.accumulate = accumulate;
    // Iteration keeps rows and columns separate even if the operand has only rows.
    vector.rows = shape.hasRows(iterated) ? position.rows : hw::Extent{1, hw::kZero, 0};
    vector.cols = shape.hasCols(iterated) ? position.cols : hw::Extent{1, hw::kZero, 0};
    GroupSet both = iterated | (shape.colGroup >= 0 ? GroupSet(1) << shape.colGroup : 0);
    vector.src[0] = operand(phase, op.sources[0].value, op.sources[0].type, both, position);
    vector.dst = operand(phase, op.dst, op.dstType, both, position);
    vector.dst.rowStride = vector.dst.colStride = 1;
    return core.emit(std::move(vector));
  }
  vector.dst = operand(phase, op.dst, op.dstType, iterated, position);
  for (auto [target, source] : llvm::zip(vector.src, op.sources))
    target = operand(phase, source.value, source.type, iterated, position);
  setExtents(vector, shape, iterated, position);
  if (op.op == hw::VectorOp::Iota) {
    vector.start = op.iotaGroup >= 0 ? position.at[op.iotaGroup].toAffine() : hw::Affine();
    const int64_t step = op.iotaGroup == shape.rowGroup ? position.rowStep : 1;
    vector.colStep = shape.hasRows(iterated) || shape.hasCols(iterated) ? step : 0;
  }
  core.emit(std::move(vector));
}
