// Kernels of kind "chain": products that make rows, work on these, products that read them.
//
// A block takes 64 points along its own loop; along the other loop everything streams by, 64 points
// at a time. Of such a tile of 64 x 64 each of 256 threads has 4 x 4 points in registers: sums of
// products, of operands that come through shared memory in slices of their depth, then all that is
// made of them point by point. Reductions run along what streams by. Each that depends on another
// one has a pass of its own over all tiles, which computes the products again, so nothing is ever
// kept of a tile. In the last pass values of tiles are stored, and what products read goes through
// shared memory, where sums of 64 x width points stay in registers from tile to tile.
//
// Rows are the block's own loop, and their columns stream by; for products that contract the rows
// it is the other way around.
#include "backends/cuda/codegen/ChainPlan.h"
#include "backends/cuda/codegen/PointValues.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::GroupSet;

/// Points of a tile along either loop, threads along them, and points of a thread along them.
static constexpr int64_t kTile = 64, kSide = 16, kPart = kTile / kSide;
static constexpr int64_t kThreads = kSide * kSide;
/// Depth of a slice of a product's operands.
static constexpr int64_t kSlice = 16;
/// Elements of a row in shared memory, so that neither side meets a bank twice; of 16 bits of a
/// slice, and of a tile.
static constexpr int64_t kPitch = kTile + 1, kSlicePitch = kSlice + 8, kPanelPitch = kTile + 8;
/// Of a product of a warp's tensor core: rows, columns, and numbers of each thread.
static constexpr int64_t kCoreRows = 16, kCoreColumns = 8, kCoreNumbers = 4;

namespace {
class ChainKernel {
public:
  ChainKernel(KernelEmitter &emitter, Chain &chain)
      : emitter(emitter), chain(chain), values(emitter, chain.body(), chain.space),
        ownSize(chain.space.getSize(chain.own)), streamedSize(chain.space.getSize(chain.streamed)) {
  }

  LogicalResult emit();

private:
  /// A point along one of the two loops; where there is none, the last one stands in.
  struct Point {
    Value coordinate, exists; // null: always
  };
  using Numbers = SmallVector<Number>;
  using Tile = llvm::function_ref<LogicalResult(Value first, SmallVectorImpl<Number> &carried)>;

  KernelEmitter &emitter;
  Chain &chain;
  PointValues values;
  int64_t ownSize, streamedSize;
  Value slow, fast;            ///< numbers of this thread along the sides of a block
  Value ownLane, streamedLane; ///< of these, those along the loops
  Value firstOwn;              ///< point of this block
  Point own[kPart];            ///< of this thread
  PointValues::Known ofOwn[kPart];
  Value left, right, tile, panel, slice; ///< shared memory

  /// Whether tensor cores compute the products: all that these read is of one type of 16 bits.
  bool usesCores = false;
  Type narrow;             ///< this type
  Value warpRow, warpHalf; ///< first row of this warp in a tile, and which half of the columns
  Value laneRow, lanePair; ///< of this thread in a core's operands: its row, and twice its column

  Point makePoint(Value coordinate, int64_t size);
  Point streamedPoint(Value first, int64_t part);
  void enterOwn(int64_t part);
  void leaveOwn(int64_t part);
  Number zero() { return emitter.constant(emitter.builder.getF32FloatAttr(0), f32()); }
  Type f32() { return emitter.builder.getF32Type(); }

  LogicalResult prepare(ArrayRef<Value> needed);
  SmallVector<ChainProduct *> producersOf(ArrayRef<Value> needed);
  FailureOr<Numbers> forTiles(Numbers carried, Tile tile);
  LogicalResult forPoints(Value first, ArrayRef<ChainProduct *> producers,
                          llvm::function_ref<LogicalResult(int64_t, const Point &)> body);

  Value outerPosition(const ChainMatrix &matrix);
  void loadSlice(Value shared, const ChainMatrix &matrix, Value outer, unsigned group, Value first,
                 Value depth, int64_t width);
  Numbers multiply(const ChainProduct &product, Value first);
  void findCores();
  Numbers multiplyByCores(const ChainProduct &product, Value first);
  Numbers addByCores(const ChainProduct &product, Value start, ArrayRef<Number> sums);
  Numbers multiplyCore(ArrayRef<Value> a, Value columns, Value column, ArrayRef<Number> sums);
  /// Of one of the numbers that a thread has of products by cores, so many of them along a row.
  std::pair<Value, Value> placeOf(int64_t number, int64_t columns);
  Numbers addProduct(const ChainProduct &product, Value first, ArrayRef<Number> sums);
  void storeProduct(const ChainProduct &product, ArrayRef<Number> sums);

  LogicalResult reduce(SmallVectorImpl<PointValues::Sum> &level);
  LogicalResult finish();
};
} // namespace

/// Columns of a product's result that each thread has.
static int64_t columnsOf(const ChainProduct &product) {
  return llvm::divideCeil(product.width, kSide);
}

// ---- points -------------------------------------------------------------------------------------

ChainKernel::Point ChainKernel::makePoint(Value coordinate, int64_t size) {
  if (size % kTile == 0)
    return {coordinate, {}};
  return {emitter.min(coordinate, size - 1), emitter.less(coordinate, size)};
}

ChainKernel::Point ChainKernel::streamedPoint(Value first, int64_t part) {
  return makePoint(emitter.add(emitter.add(first, streamedLane), part * kSide), streamedSize);
}

/// What is known of a point along the block's own loop stays known between passes.
void ChainKernel::enterOwn(int64_t part) {
  std::swap(values.ofRow, ofOwn[part]);
  values.coordinates[chain.own] = own[part].coordinate;
}

void ChainKernel::leaveOwn(int64_t part) { std::swap(values.ofRow, ofOwn[part]); }

/// Makes known, of each own point, what does not vary along what streams by.
LogicalResult ChainKernel::prepare(ArrayRef<Value> needed) {
  for (int64_t part = 0; part < kPart; ++part) {
    enterOwn(part);
    DenseSet<Value> seen;
    for (Value value : needed)
      if (failed(values.prepare(value, seen)))
        return failure();
    leaveOwn(part);
  }
  return success();
}

/// The products that make what values of tiles are computed from.
SmallVector<ChainProduct *> ChainKernel::producersOf(ArrayRef<Value> needed) {
  SmallVector<Value> stack(needed);
  DenseSet<Value> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (values.isOfRow(value) || !seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (op && !mlir::st::isArgumentSlice(op))
      llvm::append_range(stack, op->getOperands());
  }
  SmallVector<ChainProduct *> found;
  for (ChainProduct &product : chain.producers)
    if (seen.contains(product.rows))
      found.push_back(&product);
  return found;
}

FailureOr<ChainKernel::Numbers> ChainKernel::forTiles(Numbers carried, Tile tile) {
  LogicalResult result = success();
  carried = emitter.loop(emitter.index(0), emitter.index(llvm::divideCeil(streamedSize, kTile)), 1,
                         carried, [&](Value i, ArrayRef<Number> before) {
                           Numbers next(before);
                           if (succeeded(result))
                             result = tile(emitter.mul(i, kTile), next);
                           return next;
                         });
  return failed(result) ? FailureOr<Numbers>(failure()) : carried;
}

/// At each of a thread's points of the tile that begins at `first`, with its number among them.
LogicalResult
ChainKernel::forPoints(Value first, ArrayRef<ChainProduct *> producers,
                       llvm::function_ref<LogicalResult(int64_t, const Point &)> body) {
  SmallVector<Numbers> made;
  for (const ChainProduct *product : producers)
    made.push_back(multiply(*product, first));
  for (int64_t part = 0; part < kPart; ++part) {
    Point streamed = streamedPoint(first, part);
    for (int64_t row = 0; row < kPart; ++row) {
      int64_t point = row * kPart + part;
      enterOwn(row);
      values.coordinates[chain.streamed] = streamed.coordinate;
      values.ofChunk.clear();
      for (auto [product, numbers] : llvm::zip_equal(producers, made))
        values.ofChunk[product->rows] = numbers[point].value;
      LogicalResult result = body(point, streamed);
      values.ofChunk.clear();
      leaveOwn(row);
      if (failed(result))
        return failure();
    }
  }
  return success();
}

// ---- products -----------------------------------------------------------------------------------

Value ChainKernel::outerPosition(const ChainMatrix &matrix) {
  Value position = emitter.index(0);
  for (auto [group, stride] : llvm::enumerate(matrix.strides))
    if (group != chain.own && group != chain.streamed && stride != 0)
      position = emitter.add(position, emitter.mul(values.coordinates[group], stride));
  return position;
}

/// Brings 64 points of an operand along `group` and a slice of its depth to shared memory, depth by
/// depth; zeros where there is no more of it.
void ChainKernel::loadSlice(Value shared, const ChainMatrix &matrix, Value outer, unsigned group,
                            Value first, Value depth, int64_t width) {
  // Neighbouring threads take neighbours in memory.
  bool isDeep = matrix.widthStride == 1;
  int64_t size = chain.space.getSize(group);
  for (int64_t part = 0; part < kPart; ++part) {
    Value across = isDeep ? emitter.add(slow, part * kSide) : emitter.rem(emitter.thread(), kTile);
    Value along =
        isDeep ? fast
               : emitter.add(emitter.div(emitter.thread(), kTile), part * (kThreads / kTile));
    Point point = makePoint(emitter.add(first, across), size);
    Value place = emitter.add(depth, along);
    Value exists = width % kSlice == 0 ? Value() : emitter.less(place, width);
    if (exists)
      place = emitter.min(place, width - 1);
    Value position =
        emitter.add(outer, emitter.add(emitter.mul(point.coordinate, matrix.strides[group]),
                                       emitter.mul(place, matrix.widthStride)));
    Number number = emitter.load(matrix.buffer, position, matrix.element).toFloat(f32());
    if (exists)
      number = emitter.number(exists).select(number, zero());
    if (usesCores)
      emitter.storeShared(shared, emitter.add(emitter.mul(across, kSlicePitch), along),
                          number.toFloat(narrow));
    else
      emitter.storeShared(shared, emitter.add(emitter.mul(along, kPitch), across), number);
  }
}

// ---- tensor cores -------------------------------------------------------------------------------

/// Rows of a tile are shared by two warps, each of which has half of the columns.
void ChainKernel::findCores() {
  SmallVector<Type> types;
  for (const ChainProduct &product : chain.producers)
    types.append({product.own.element, product.streamed.element});
  for (const ChainProduct &product : chain.consumers)
    types.append({getElementTypeOrSelf(product.rows.getType()), product.streamed.element});
  usesCores = !types.empty() && llvm::all_equal(types) && isa<FloatType>(types.front()) &&
              types.front().getIntOrFloatBitWidth() == 16;
  if (!usesCores)
    return;
  narrow = types.front();
  constexpr int64_t warp = 32, quad = 4;
  Value number = emitter.div(emitter.thread(), warp), lane = emitter.rem(emitter.thread(), warp);
  warpRow = emitter.mul(emitter.rem(number, kTile / kCoreRows), kCoreRows);
  warpHalf = emitter.div(number, kTile / kCoreRows);
  laneRow = emitter.div(lane, quad);
  lanePair = emitter.mul(emitter.rem(lane, quad), 2);
}

std::pair<Value, Value> ChainKernel::placeOf(int64_t number, int64_t columns) {
  const int64_t core = number / kCoreNumbers, ofCore = number % kCoreNumbers;
  Value row = emitter.add(emitter.add(warpRow, laneRow), ofCore / 2 * (kCoreRows / 2));
  Value column = emitter.add(emitter.mul(warpHalf, columns / 2), lanePair);
  return {row, emitter.add(column, core * kCoreColumns + ofCore % 2)};
}

/// `columns` has the second operand, column by column, of which this core has eight from one on.
ChainKernel::Numbers ChainKernel::multiplyCore(ArrayRef<Value> a, Value columns, Value column,
                                               ArrayRef<Number> sums) {
  Value place = emitter.add(emitter.mul(emitter.add(column, laneRow), kSlicePitch), lanePair);
  SmallVector<Value> b;
  for (int64_t half = 0; half < 2; ++half)
    b.push_back(emitter.loadSharedPair(columns, emitter.add(place, half * kSlice / 2), narrow));
  return emitter.multiplyMatrices(a, b, sums);
}

/// The product at the points of a tile, which go from the warps to the threads that have these.
ChainKernel::Numbers ChainKernel::multiplyByCores(const ChainProduct &product, Value first) {
  Value ownOuter = outerPosition(product.own), streamedOuter = outerPosition(product.streamed);
  constexpr int64_t cores = kTile / 2 / kCoreColumns;
  Numbers sums(cores * kCoreNumbers, zero());
  sums = emitter.loop(
      emitter.index(0), emitter.index(product.width), kSlice, sums,
      [&](Value depth, ArrayRef<Number> carried) {
        loadSlice(left, product.own, ownOuter, chain.own, firstOwn, depth, product.width);
        loadSlice(right, product.streamed, streamedOuter, chain.streamed, first, depth,
                  product.width);
        emitter.barrier();
        SmallVector<Value> a;
        for (int64_t pair = 0; pair < 4; ++pair) {
          Value row = emitter.add(emitter.add(warpRow, laneRow), pair % 2 * (kCoreRows / 2));
          Value place = emitter.add(emitter.mul(row, kSlicePitch), lanePair);
          a.push_back(
              emitter.loadSharedPair(left, emitter.add(place, pair / 2 * (kSlice / 2)), narrow));
        }
        Numbers next;
        for (int64_t core = 0; core < cores; ++core) {
          Value column = emitter.add(emitter.mul(warpHalf, kTile / 2), core * kCoreColumns);
          next.append(
              multiplyCore(a, right, column, carried.slice(core * kCoreNumbers, kCoreNumbers)));
        }
        emitter.barrier();
        return next;
      });
  for (auto [number, sum] : llvm::enumerate(sums)) {
    auto [row, column] = placeOf(static_cast<int64_t>(number), kTile);
    emitter.storeShared(tile, emitter.add(emitter.mul(row, kPitch), column), sum);
  }
  emitter.barrier();
  Type type = getComputeType(getElementTypeOrSelf(product.rows.getType()));
  Numbers points;
  for (int64_t point = 0; point < kPart * kPart; ++point) {
    Value row = emitter.add(ownLane, point / kPart * kSide);
    Value column = emitter.add(streamedLane, point % kPart * kSide);
    points.push_back(emitter.loadShared(tile, emitter.add(emitter.mul(row, kPitch), column), f32())
                         .toFloat(type));
  }
  emitter.barrier();
  return points;
}

/// Adds the product of a slice of the panel's columns, from one on, and what lies in the slice.
ChainKernel::Numbers ChainKernel::addByCores(const ChainProduct &product, Value start,
                                             ArrayRef<Number> sums) {
  SmallVector<Value> a;
  for (int64_t pair = 0; pair < 4; ++pair) {
    Value row = emitter.add(emitter.add(warpRow, laneRow), pair % 2 * (kCoreRows / 2));
    Value place = emitter.add(emitter.add(emitter.mul(row, kPanelPitch), start), lanePair);
    a.push_back(emitter.loadSharedPair(panel, emitter.add(place, pair / 2 * (kSlice / 2)), narrow));
  }
  const int64_t cores = columnsOf(product);
  Numbers next;
  for (int64_t core = 0; core < cores; ++core) {
    Value column = emitter.add(emitter.mul(warpHalf, cores * kCoreColumns), core * kCoreColumns);
    next.append(multiplyCore(a, slice, column, sums.slice(core * kCoreNumbers, kCoreNumbers)));
  }
  return next;
}

// ---- products without them ----------------------------------------------------------------------

/// The product's result at this thread's points of a tile, rounded to its type.
ChainKernel::Numbers ChainKernel::multiply(const ChainProduct &product, Value first) {
  if (usesCores)
    return multiplyByCores(product, first);
  Value ownOuter = outerPosition(product.own), streamedOuter = outerPosition(product.streamed);
  Numbers sums(kPart * kPart, zero());
  sums = emitter.loop(
      emitter.index(0), emitter.index(product.width), kSlice, sums,
      [&](Value depth, ArrayRef<Number> carried) {
        loadSlice(left, product.own, ownOuter, chain.own, firstOwn, depth, product.width);
        loadSlice(right, product.streamed, streamedOuter, chain.streamed, first, depth,
                  product.width);
        emitter.barrier();
        Numbers added =
            emitter.loop(emitter.index(0), emitter.index(kSlice), 1, carried,
                         [&](Value step, ArrayRef<Number> before) {
                           Value row = emitter.mul(step, kPitch);
                           auto fetch = [&](Value shared, Value lane, int64_t part) {
                             Value place = emitter.add(emitter.add(row, lane), part * kSide);
                             return emitter.loadShared(shared, place, f32());
                           };
                           Numbers a, b, next;
                           for (int64_t part = 0; part < kPart; ++part) {
                             a.push_back(fetch(left, ownLane, part));
                             b.push_back(fetch(right, streamedLane, part));
                           }
                           for (int64_t point = 0; point < kPart * kPart; ++point)
                             next.push_back(a[point / kPart].fma(b[point % kPart], before[point]));
                           return next;
                         });
        emitter.barrier();
        return added;
      });
  Type type = getComputeType(getElementTypeOrSelf(product.rows.getType()));
  for (Number &sum : sums)
    sum = sum.toFloat(type);
  return sums;
}

/// Adds the product of the tile in the panel and what lies along it to the sums.
ChainKernel::Numbers ChainKernel::addProduct(const ChainProduct &product, Value first,
                                             ArrayRef<Number> sums) {
  const ChainMatrix &matrix = product.streamed;
  Value outer = outerPosition(matrix);
  int64_t columns = columnsOf(product), pitch = columns * kSide;
  bool isTurned = matrix.widthStride != 1 && matrix.strides[chain.streamed] == 1;
  int64_t most = std::min(kTile, static_cast<int64_t>(llvm::alignTo(streamedSize, kSlice)));
  return emitter.loop(
      emitter.index(0), emitter.index(most), kSlice, sums,
      [&](Value start, ArrayRef<Number> carried) {
        Value along = isTurned ? fast : slow;
        Point point = makePoint(emitter.add(emitter.add(first, start), along), streamedSize);
        for (int64_t part = 0; part < columns; ++part) {
          Value across = emitter.add(isTurned ? slow : fast, part * kSide);
          Value exists = point.exists, column = across;
          if (product.width % kSide != 0) {
            exists = emitter.both(exists, emitter.less(across, product.width));
            column = emitter.min(across, product.width - 1);
          }
          Value position = emitter.add(
              outer, emitter.add(emitter.mul(point.coordinate, matrix.strides[chain.streamed]),
                                 emitter.mul(column, matrix.widthStride)));
          Number number = emitter.load(matrix.buffer, position, matrix.element).toFloat(f32());
          if (exists)
            number = emitter.number(exists).select(number, zero());
          if (usesCores)
            emitter.storeShared(slice, emitter.add(emitter.mul(across, kSlicePitch), along),
                                number.toFloat(narrow));
          else
            emitter.storeShared(slice, emitter.add(emitter.mul(along, pitch), across), number);
        }
        emitter.barrier();
        if (usesCores) {
          Numbers added = addByCores(product, start, carried);
          emitter.barrier();
          return added;
        }
        Numbers added = emitter.loop(
            emitter.index(0), emitter.index(kSlice), 1, carried,
            [&](Value step, ArrayRef<Number> before) {
              Numbers a, b, next;
              Value place = emitter.add(emitter.add(emitter.mul(slow, kPitch), start), step);
              for (int64_t part = 0; part < kPart; ++part)
                a.push_back(
                    emitter.loadShared(panel, emitter.add(place, part * kSide * kPitch), f32()));
              Value row = emitter.add(emitter.mul(step, pitch), fast);
              for (int64_t part = 0; part < columns; ++part)
                b.push_back(emitter.loadShared(slice, emitter.add(row, part * kSide), f32()));
              for (int64_t point = 0; point < kPart * columns; ++point)
                next.push_back(a[point / columns].fma(b[point % columns], before[point]));
              return next;
            });
        emitter.barrier();
        return added;
      });
}

void ChainKernel::storeProduct(const ChainProduct &product, ArrayRef<Number> sums) {
  const ChainMatrix &matrix = product.own;
  Value outer = outerPosition(matrix);
  int64_t columns = columnsOf(product);
  Type type = getComputeType(matrix.element);
  for (int64_t index = 0; index < kPart * columns; ++index) {
    Value inTile = emitter.add(slow, index / columns * kSide);
    Value column = emitter.add(fast, index % columns * kSide);
    if (usesCores)
      std::tie(inTile, column) = placeOf(index, columns * kSide);
    Value row = emitter.add(firstOwn, inTile);
    Value exists = ownSize % kTile == 0 ? Value() : emitter.less(row, ownSize);
    if (product.width % kSide != 0)
      exists = emitter.both(exists, emitter.less(column, product.width));
    Value position = emitter.add(outer, emitter.add(emitter.mul(row, matrix.strides[chain.own]),
                                                    emitter.mul(column, matrix.widthStride)));
    emitter.onlyIf(exists,
                   [&] { emitter.store(matrix.buffer, position, sums[index].toFloat(type)); });
  }
}

// ---- passes over all tiles ----------------------------------------------------------------------

LogicalResult ChainKernel::reduce(SmallVectorImpl<PointValues::Sum> &level) {
  SmallVector<Value> needed;
  Numbers totals;
  for (PointValues::Sum &sum : level) {
    needed.push_back(sum.op.getInputs()[0]);
    totals.append(kPart, values.identityOf(sum));
  }
  if (failed(prepare(needed)))
    return failure();
  SmallVector<ChainProduct *> producers = producersOf(needed);
  FailureOr<Numbers> sums = forTiles(totals, [&](Value first, SmallVectorImpl<Number> &carried) {
    return forPoints(first, producers, [&](int64_t point, const Point &streamed) {
      for (auto [i, sum] : llvm::enumerate(level)) {
        Number &total = carried[i * kPart + point / kPart];
        FailureOr<Number> next = values.accumulate(sum, total, streamed.exists);
        if (failed(next))
          return failure();
        total = *next;
      }
      return success();
    });
  });
  if (failed(sums))
    return failure();
  for (auto [i, sum] : llvm::enumerate(level))
    for (int64_t part = 0; part < kPart; ++part) {
      Number total =
          emitter.combineAcross(sum.combiner, (*sums)[i * kPart + part], kSide, kThreads);
      enterOwn(part);
      LogicalResult result = values.finishSum(sum, total);
      leaveOwn(part);
      if (failed(result))
        return failure();
    }
  return success();
}

/// The last pass: results.
LogicalResult ChainKernel::finish() {
  Operation *yield = chain.body().getTerminator();
  SmallVector<std::pair<Value, unsigned>> stored; // with their buffers
  SmallVector<Value> needed, tiles, panels;
  for (auto [value, result] : llvm::zip(yield->getOperands(), chain.stored)) {
    stored.push_back({value, emitter.getResultBuffer(result)});
    needed.push_back(value);
    if (!values.isOfRow(value))
      tiles.push_back(value);
  }
  Numbers sums;
  for (ChainProduct &product : chain.consumers) {
    if (!llvm::is_contained(panels, product.rows))
      panels.push_back(product.rows);
    sums.append(kPart * columnsOf(product), zero());
  }
  llvm::append_range(needed, panels);
  llvm::append_range(tiles, panels);
  if (failed(prepare(needed)))
    return failure();
  GroupSet all = (GroupSet(1) << chain.space.getNumGroups()) - 1;
  SmallVector<ChainProduct *> producers = producersOf(tiles);
  auto makeTile = [&](Value first, SmallVectorImpl<Number> &carried) -> LogicalResult {
    SmallVector<Numbers> read(panels.size(), Numbers(kPart * kPart, zero()));
    auto atPoint = [&](int64_t point, const Point &streamed) -> LogicalResult {
      Value exists = emitter.both(own[point / kPart].exists, streamed.exists);
      for (auto [value, buffer] : stored)
        if (!values.isOfRow(value) && failed(values.store(value, buffer, all, exists)))
          return failure();
      for (auto [panel, numbers] : llvm::zip_equal(panels, read)) {
        FailureOr<Number> number = values.get(panel);
        if (failed(number))
          return failure();
        numbers[point] = number->toFloat(f32());
        if (streamed.exists)
          numbers[point] = emitter.number(streamed.exists).select(numbers[point], zero());
      }
      return success();
    };
    if (failed(forPoints(first, producers, atPoint)))
      return failure();
    for (auto [value, numbers] : llvm::zip_equal(panels, read)) {
      for (auto [point, number] : llvm::enumerate(numbers)) {
        Value row = emitter.add(ownLane, static_cast<int64_t>(point) / kPart * kSide);
        Value column = emitter.add(streamedLane, static_cast<int64_t>(point) % kPart * kSide);
        if (usesCores)
          emitter.storeShared(panel, emitter.add(emitter.mul(row, kPanelPitch), column),
                              number.toFloat(narrow));
        else
          emitter.storeShared(panel, emitter.add(emitter.mul(row, kPitch), column), number);
      }
      emitter.barrier();
      size_t next = 0;
      for (const ChainProduct &product : chain.consumers) {
        size_t count = kPart * columnsOf(product);
        if (product.rows == value) {
          Numbers added = addProduct(product, first, ArrayRef(carried).slice(next, count));
          llvm::copy(added, carried.begin() + next);
        }
        next += count;
      }
    }
    return success();
  };
  if (!tiles.empty()) {
    FailureOr<Numbers> made = forTiles(sums, makeTile);
    if (failed(made))
      return failure();
    size_t next = 0;
    for (const ChainProduct &product : chain.consumers) {
      size_t count = kPart * columnsOf(product);
      storeProduct(product, ArrayRef(*made).slice(next, count));
      next += count;
    }
  }
  // Results of rows alone: the first of the threads that share one.
  GroupSet rows = all & ~(GroupSet(1) << chain.streamed);
  for (int64_t part = 0; part < kPart; ++part) {
    enterOwn(part);
    Value condition = emitter.both(own[part].exists, emitter.isZero(streamedLane));
    for (auto [value, buffer] : stored)
      if (values.isOfRow(value) && failed(values.store(value, buffer, rows, condition)))
        return failure();
    leaveOwn(part);
  }
  return success();
}

LogicalResult ChainKernel::emit() {
  if (failed(values.findReductions()))
    return failure();
  GroupSet streamed = GroupSet(1) << chain.streamed;
  if (!values.levels.empty() && (values.reduced != streamed || chain.own > chain.streamed))
    return emitter.kernel->emitOpError(
        "reduces something else than its columns, which has no CUDA code generation in a chain");
  values.reduced = streamed;
  int64_t tiles = llvm::divideCeil(ownSize, kTile);
  SmallVector<unsigned> outer;
  int64_t blocks = tiles;
  for (unsigned group = 0; group < chain.space.getNumGroups(); ++group)
    if (group != chain.own && group != chain.streamed) {
      outer.push_back(group);
      blocks *= chain.space.getSize(group);
    }
  values.setPosition(outer, emitter.div(emitter.block(), tiles));
  firstOwn = emitter.mul(emitter.rem(emitter.block(), tiles), kTile);
  slow = emitter.div(emitter.thread(), kSide);
  fast = emitter.rem(emitter.thread(), kSide);
  // The columns of rows are neighbours in memory.
  bool ownsRows = chain.own < chain.streamed;
  ownLane = ownsRows ? slow : fast;
  streamedLane = ownsRows ? fast : slow;
  for (int64_t part = 0; part < kPart; ++part)
    own[part] = makePoint(emitter.add(emitter.add(firstOwn, ownLane), part * kSide), ownSize);
  findCores();
  Type shared = usesCores ? narrow : f32();
  left = emitter.addShared(usesCores ? kTile * kSlicePitch : kSlice * kPitch, shared);
  right = emitter.addShared(usesCores ? kTile * kSlicePitch : kSlice * kPitch, shared);
  if (usesCores && !chain.producers.empty())
    tile = emitter.addShared(kTile * kPitch, f32());
  if (!chain.consumers.empty()) {
    panel = emitter.addShared(kTile * (usesCores ? kPanelPitch : kPitch), shared);
    int64_t columns = 0;
    for (const ChainProduct &product : chain.consumers)
      columns = std::max(columns, columnsOf(product) * kSide);
    slice = emitter.addShared((usesCores ? kSlicePitch : kSlice) * columns, shared);
  }
  for (SmallVector<PointValues::Sum> &level : values.levels)
    if (failed(reduce(level)))
      return failure();
  if (failed(finish()))
    return failure();
  emitter.finish({blocks, kThreads});
  return success();
}

LogicalResult mlir::cuda::emitChainKernel(KernelEmitter &emitter) {
  FailureOr<Chain> chain = analyzeChain(cast<mlir::st::KernelOp>(emitter.kernel));
  if (failed(chain))
    return failure();
  return ChainKernel(emitter, *chain).emit();
}
