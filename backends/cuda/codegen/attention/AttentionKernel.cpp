// Kernels of kind "attention": fused attention-like kernels of products (matmuls), elementwise work
// and reductions of their results, and products that read these.
//
// A block handles 64 indices of the parallel loop, and iterates over the reduction loop in tiles of
// up to 64 indices. Each thread holds some elements of a tile in registers (AttentionTile.h): the
// accumulators of products, then the results of elementwise ops. Reductions run along the reduction
// loop. A reduction that depends on another one needs a separate pass over all tiles. It recomputes
// the products, so that no tile is stored. The maxima and sums of a softmax share a pass. If only
// products read the softmax, they share the last pass too (SoftmaxPass.cpp). The last pass stores
// elements of tiles and computes the products that read them. Their accumulators, 64 x width
// elements, stay in registers across tiles.
//
// The parallel loop runs over rows and the reduction loop over columns; for products that contract
// the rows it is the other way around.
#include "backends/cuda/codegen/attention/AttentionKernel.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::GroupSet;

// ---- elements -----------------------------------------------------------------------------------

/// Caches values of a parallel index, so that later passes over the reduction loop reuse them.
void AttentionKernel::enterParallel(int64_t part) {
  std::swap(values.ofRow, ofParallel[part]);
  values.coordinates[fused.parallel] = parallel[part].coordinate;
}

void AttentionKernel::leaveParallel(int64_t part) { std::swap(values.ofRow, ofParallel[part]); }

/// Computes for each parallel index the values that do not vary along the reduction loop.
LogicalResult AttentionKernel::prepare(ArrayRef<Value> needed) {
  for (int64_t part = 0; part < tile->parallelParts; ++part) {
    enterParallel(part);
    DenseSet<Value> seen;
    for (Value value : needed)
      if (failed(values.prepare(value, seen)))
        return failure();
    leaveParallel(part);
  }
  return success();
}

/// Returns the products that the needed values of tiles depend on.
SmallVector<AttentionProduct *> AttentionKernel::producersOf(ArrayRef<Value> needed) {
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
  SmallVector<AttentionProduct *> found;
  for (AttentionProduct &product : fused.producers)
    if (seen.contains(product.rows))
      found.push_back(&product);
  return found;
}

FailureOr<AttentionKernel::Numbers>
AttentionKernel::forTiles(Numbers carried, ArrayRef<AttentionProduct *> products, AtTile body) {
  LogicalResult result = success();
  tile->beginPass(products, firstTile, endTiles);
  carried = emitter.loop(firstTile, endTiles, 1, carried, [&](Value i, ArrayRef<Number> before) {
    Numbers next(before);
    tile->enterTile(i);
    // All threads have written their contribution to the previous tile.
    if (serial)
      emitter.onlyIf(emitter.less(firstTile, i), [&] { releaseSemaphore(emitter.add(i, -1)); });
    if (succeeded(result))
      result = body(emitter.mul(i, tile->shape.streamedSize), next);
    return next;
  });
  if (serial) {
    emitter.barrier();
    emitter.onlyIf(emitter.less(firstTile, endTiles),
                   [&] { releaseSemaphore(emitter.add(endTiles, -1)); });
  }
  return failed(result) ? FailureOr<Numbers>(failure()) : carried;
}

/// Rounds the results to the products' types, two adjacent elements per instruction.
AttentionKernel::ProductTiles AttentionKernel::multiply(Value first,
                                                        ArrayRef<AttentionProduct *> producers) {
  ProductTiles products;
  for (const AttentionProduct *product : producers) {
    Numbers numbers = tile->multiply(*product, first);
    Type type = getComputeType(getElementTypeOrSelf(product->rows.getType()));
    for (size_t i = 0; i + 1 < numbers.size() && !type.isF32(); i += 2) {
      Number pair = joinElements(ArrayRef(numbers).slice(i, 2)).toFloat(type);
      llvm::copy(elementsOf(pair), numbers.begin() + i);
    }
    products.push_back({product->rows, std::move(numbers)});
  }
  return products;
}

/// Calls `body` for each of a thread's elements of the tile that begins at `first`.
LogicalResult AttentionKernel::forElements(Value first, const ProductTiles &products,
                                           AtElement body) {
  for (int64_t part = 0; part < tile->streamedParts; ++part) {
    LoopIndex streamed = tile->getLoopIndex(tile->getStreamedPlace(first, part), fused.streamed);
    for (int64_t row = 0; row < tile->parallelParts; ++row) {
      int64_t element = row * tile->streamedParts + part;
      enterParallel(row);
      values.coordinates[fused.streamed] = streamed.coordinate;
      values.ofChunk.clear();
      for (const auto &[value, numbers] : products)
        values.ofChunk[value] = numbers[element].value;
      LogicalResult result = body(row, element, streamed.exists);
      values.ofChunk.clear();
      leaveParallel(row);
      if (failed(result))
        return failure();
    }
  }
  return success();
}

// ---- passes over all tiles ----------------------------------------------------------------------

/// Adds a tile's elements to the totals, one number per reduction and parallel index.
LogicalResult AttentionKernel::accumulate(Value first, const ProductTiles &products,
                                          const Sums &level, MutableArrayRef<Number> totals) {
  return forElements(first, products, [&](int64_t part, int64_t, Value exists) {
    for (auto [i, sum] : llvm::enumerate(level)) {
      Number &total = totals[i * tile->parallelParts + part];
      FailureOr<Number> next = values.accumulate(sum, total, exists);
      if (failed(next))
        return failure();
      total = *next;
    }
    return success();
  });
}

/// Combines the totals of all threads that share a parallel index.
LogicalResult AttentionKernel::finishSum(ElementValues::Sum &sum, ArrayRef<Number> totals) {
  for (int64_t part = 0; part < tile->parallelParts; ++part) {
    Number total = tile->combine(sum.combiner, totals[part], part);
    enterParallel(part);
    LogicalResult result = values.finishSum(sum, total);
    leaveParallel(part);
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult AttentionKernel::reduce(Sums &level) {
  SmallVector<Value> needed;
  Numbers totals;
  for (ElementValues::Sum &sum : level) {
    needed.push_back(sum.op.getInputs()[0]);
    totals.append(tile->parallelParts, values.identityOf(sum));
  }
  if (failed(prepare(needed)))
    return failure();
  SmallVector<AttentionProduct *> producers = producersOf(needed);
  FailureOr<Numbers> sums =
      forTiles(totals, producers, [&](Value first, SmallVectorImpl<Number> &carried) {
        return accumulate(first, multiply(first, producers), level, carried);
      });
  if (failed(sums))
    return failure();
  for (auto [i, sum] : llvm::enumerate(level))
    if (failed(finishSum(sum, ArrayRef(*sums).slice(i * tile->parallelParts, tile->parallelParts))))
      return failure();
  return success();
}

// ---- the last pass ------------------------------------------------------------------------------

AttentionKernel::Results AttentionKernel::getResults() {
  Results results;
  Operation *yield = fused.body().getTerminator();
  for (auto [value, result] : llvm::zip(yield->getOperands(), fused.stored)) {
    results.stored.push_back({value, emitter.getResultBuffer(result)});
    if (!values.isOfRow(value))
      results.tiles.push_back(value);
  }
  Number zero = emitter.constant(emitter.builder.getF32FloatAttr(0), emitter.builder.getF32Type());
  for (auto *products : {&fused.consumers, &fused.crossing})
    for (AttentionProduct &product : *products)
      if (!llvm::is_contained(results.panels, product.rows))
        results.panels.push_back(product.rows);
  for (const AttentionProduct &product : fused.consumers)
    results.sums.append(tile->countSums(product), zero);
  return results;
}

/// Returns the current element of a value that products read, or zero out of bounds. Skips the
/// rounding of a value that `publish` rounds to the same type.
FailureOr<Number> AttentionKernel::getPanel(Value panel, Value exists) {
  auto round = panel.getDefiningOp<stablehlo::ConvertOp>();
  if (round && getElementTypeOrSelf(round.getOperand().getType()).isF32() &&
      getElementTypeOrSelf(panel.getType()) == tile->getPanelType())
    panel = round.getOperand();
  FailureOr<Number> number = values.get(panel);
  if (failed(number))
    return failure();
  Number wide = number->toFloat(emitter.builder.getF32Type());
  return exists ? emitter.number(exists).select(wide, wide.constant(0)) : wide;
}

/// Returns all products that need their operands loaded in the last pass.
SmallVector<AttentionProduct *>
AttentionKernel::withConsumers(ArrayRef<AttentionProduct *> producers) {
  SmallVector<AttentionProduct *> products(producers);
  for (AttentionProduct &product : fused.consumers)
    products.push_back(&product);
  return products;
}

/// Accumulates a tile into the products' sums.
void AttentionKernel::addProducts(Value first, const Results &results, ArrayRef<Numbers> panels,
                                  MutableArrayRef<Number> sums) {
  if (serial)
    return addProductsSerially(first, results, panels, sums);
  for (auto [value, numbers] : llvm::zip_equal(results.panels, panels)) {
    tile->publish(numbers, 0);
    size_t next = 0;
    for (const AttentionProduct &product : fused.consumers) {
      const size_t count = tile->countSums(product);
      MutableArrayRef<Number> addends = sums.slice(next, count);
      if (product.rows == value)
        llvm::copy(tile->add(product, first, 0, addends), addends.begin());
      next += count;
    }
  }
}

void AttentionKernel::storeProducts(ArrayRef<Number> sums) {
  for (const AttentionProduct &product : fused.consumers) {
    const size_t count = tile->countSums(product);
    tile->store(product, sums.take_front(count));
    sums = sums.drop_front(count);
  }
}

/// Stores per-row results from the first of the threads that share a row.
LogicalResult AttentionKernel::storeRows(const Results &results) {
  GroupSet rows = (GroupSet(1) << fused.space.getNumGroups()) - 1;
  rows &= ~(GroupSet(1) << fused.streamed);
  for (int64_t part = 0; part < tile->parallelParts; ++part) {
    enterParallel(part);
    Value condition = emitter.both(parallel[part].exists,
                                   emitter.isZero(tile->getStreamedPlace(emitter.index(0), 0)));
    for (auto [value, buffer] : results.stored)
      if (values.isOfRow(value) && failed(values.store(value, buffer, rows, condition)))
        return failure();
    leaveParallel(part);
  }
  return success();
}

LogicalResult AttentionKernel::finish() {
  Results results = getResults();
  SmallVector<Value> needed, tiles(results.tiles);
  for (auto [value, buffer] : results.stored)
    needed.push_back(value);
  llvm::append_range(needed, results.panels);
  llvm::append_range(tiles, results.panels);
  if (failed(prepare(needed)))
    return failure();
  GroupSet all = (GroupSet(1) << fused.space.getNumGroups()) - 1;
  SmallVector<AttentionProduct *> producers = producersOf(tiles);
  auto makeTile = [&](Value first, SmallVectorImpl<Number> &carried) -> LogicalResult {
    SmallVector<Numbers> panels(results.panels.size());
    for (Numbers &panel : panels)
      panel.assign(tile->parallelParts * tile->streamedParts, emitter.number(first));
    auto atElement = [&](int64_t part, int64_t element, Value streamedExists) -> LogicalResult {
      Value exists = emitter.both(parallel[part].exists, streamedExists);
      for (auto [value, buffer] : results.stored)
        if (!values.isOfRow(value) && failed(values.store(value, buffer, all, exists)))
          return failure();
      for (auto [panel, numbers] : llvm::zip_equal(results.panels, panels)) {
        // Without crossing products, the block stores no result for rows out of bounds.
        FailureOr<Number> number = getPanel(panel, serial ? exists : streamedExists);
        if (failed(number))
          return failure();
        numbers[element] = *number;
      }
      return success();
    };
    if (failed(forElements(first, multiply(first, producers), atElement)))
      return failure();
    addProducts(first, results, panels, carried);
    return success();
  };
  if (!tiles.empty()) {
    FailureOr<Numbers> sums = forTiles(results.sums, withConsumers(producers), makeTile);
    if (failed(sums))
      return failure();
    storeProducts(*sums);
  }
  return storeRows(results);
}

LogicalResult AttentionKernel::emit() {
  if (failed(values.findReductions()))
    return failure();
  for (Sums &level : values.levels)
    for (ElementValues::Sum &sum : level)
      sum.combiner.useInstruction();
  GroupSet streamed = GroupSet(1) << fused.streamed;
  if (!values.levels.empty() && (values.reduced != streamed || fused.parallel > fused.streamed))
    return emitter.kernel->emitOpError("reduces dimensions other than its columns, which is not "
                                       "supported by the CUDA backend in an attention kernel");
  values.reduced = streamed;
  const int64_t parallelSize = AttentionTile::getParallelSize(emitter, fused);
  if (parallelSize == 0 || (!fused.crossing.empty() && !values.levels.empty()))
    return emitter.kernel->emitOpError("of kind \"attention\" mixes products that contract its "
                                       "rows with products that do not: run split-attention first");
  parallelTiles = llvm::divideCeil(fused.space.getSize(fused.parallel), parallelSize);
  SmallVector<unsigned> outer;
  int64_t heads = 1;
  for (unsigned group = 0; group < fused.space.getNumGroups(); ++group)
    if (group != fused.parallel && group != fused.streamed) {
      outer.push_back(group);
      heads *= fused.space.getSize(group);
    }
  const int64_t blocks = heads * parallelTiles;
  Value parallelTile = enterBlock(heads);
  values.setPosition(outer, serial ? serial->head : emitter.div(emitter.block(), parallelTiles));
  Value firstParallel = emitter.mul(parallelTile, parallelSize);
  tile = AttentionTile::create(emitter, fused, values, firstParallel);
  if (serial)
    serial->tiles = emitter.index(
        llvm::divideCeil(fused.space.getSize(fused.streamed), tile->shape.streamedSize));
  setTiles(firstParallel);
  for (int64_t part = 0; part < tile->parallelParts; ++part)
    parallel.push_back(
        tile->getLoopIndex(tile->getParallelPlace(firstParallel, part), fused.parallel));
  ofParallel.resize(tile->parallelParts);
  tile->begin();
  bool isFinished = false;
  for (size_t i = 0; i < values.levels.size(); ++i) {
    Sums &level = values.levels[i];
    Sums *next = i + 1 < values.levels.size() ? &values.levels[i + 1] : nullptr;
    bool isSoftmax = next && llvm::all_of(*next, [&](const ElementValues::Sum &sum) {
                       return findMaximum(sum, level).has_value();
                     });
    const bool isLast = i + 1 + isSoftmax == values.levels.size();
    if (isSoftmax && isLast && canFinishWithSoftmax(*next)) {
      if (failed(finishWithSoftmax(level, *next)))
        return failure();
      isFinished = true;
    } else if (failed(isSoftmax ? reduceWithExponentials(level, *next) : reduce(level))) {
      return failure();
    }
    i += isSoftmax;
  }
  if (!isFinished && failed(finish()))
    return failure();
  emitter.finish({blocks, tile->shape.threads, tile->shape.together});
  return success();
}

LogicalResult mlir::cuda::emitAttentionKernel(KernelEmitter &emitter) {
  FailureOr<FusedAttention> fused = analyzeAttention(cast<mlir::st::KernelOp>(emitter.kernel));
  if (failed(fused))
    return failure();
  return AttentionKernel(emitter, *fused).emit();
}
