// Passes over tiles in which the maxima of rows, and the sums of exponentials relative to them, are
// final only after the last tile.
#include "backends/cuda/codegen/attention/AttentionKernel.h"
#include "backends/cuda/codegen/kernels/OnlineSums.h"

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

FailureOr<Number> AttentionKernel::emitExponential(const ElementValues::Sum &sum, Number x) {
  stablehlo::ReduceOp reduce = sum.op;
  return emitElementwise(reduce.getInputs()[0].getDefiningOp(), x);
}

/// Makes later exponentials relative to the new maxima, and rescales the sums that are relative to
/// the maxima `before`. `carried`: maxima, then sums, for each row of the thread. `scales` is
/// ordered by sum, then row.
LogicalResult AttentionKernel::enterMaxima(const Sums &maxima, const Sums &level,
                                           ArrayRef<Number> before, MutableArrayRef<Number> carried,
                                           SmallVectorImpl<Number> &scales) {
  const size_t parts = tile->parallelParts;
  for (auto [i, sum] : llvm::enumerate(level)) {
    const size_t maximum = *findMaximum(sum, maxima);
    for (size_t part = 0; part < parts; ++part) {
      Number below = getBelow(carried[maximum * parts + part]);
      FailureOr<Number> scale = emitExponential(sum, before[maximum * parts + part] - below);
      if (failed(scale))
        return failure();
      Number &total = carried[(maxima.size() + i) * parts + part];
      total = total * *scale;
      scales.push_back(*scale);
      stablehlo::ReduceOp reduce = maxima[maximum].op;
      ofParallel[part][reduce.getResult(0)] = below.value;
    }
  }
  return success();
}

/// Finalises maxima and sums. `sums` has the totals of all tiles. `scales` receives the ratios of
/// exponentials relative to the tiles' maxima to those relative to the final maxima, which include
/// the reductions' initial values.
LogicalResult AttentionKernel::finishSoftmax(Sums &maxima, Sums &level,
                                             MutableArrayRef<Number> sums,
                                             SmallVectorImpl<Number> &scales) {
  const size_t parts = tile->parallelParts;
  auto ofSum = [&](size_t i) { return sums.slice(i * parts, parts); };
  for (auto [i, maximum] : llvm::enumerate(maxima))
    if (failed(finishSum(maximum, ofSum(i))))
      return failure();
  for (auto [i, sum] : llvm::enumerate(level)) {
    const size_t maximum = *findMaximum(sum, maxima);
    for (size_t part = 0; part < parts; ++part) {
      Number greatest = emitter.number(ofParallel[part].lookup(maxima[maximum].op.getResult(0)));
      FailureOr<Number> scale = emitExponential(sum, ofSum(maximum)[part] - greatest);
      if (failed(scale))
        return failure();
      Number &total = ofSum(maxima.size() + i)[part];
      total = total * *scale;
      scales.push_back(*scale);
    }
    if (failed(finishSum(sum, ofSum(maxima.size() + i))))
      return failure();
  }
  return success();
}

static SmallVector<Value> inputsOf(ArrayRef<ElementValues::Sum> sums) {
  return llvm::map_to_vector(sums, [](const ElementValues::Sum &sum) -> Value {
    return hlo::ReduceOp(sum.op).getInputs()[0];
  });
}

/// Initial values of the maxima and sums of each row of a thread.
AttentionKernel::Numbers AttentionKernel::getIdentities(const Sums &maxima, const Sums &level) {
  Numbers totals;
  for (const Sums *sums : {&maxima, &level})
    for (const ElementValues::Sum &sum : *sums)
      totals.append(tile->parallelParts, values.identityOf(sum));
  return totals;
}

/// Sums exponentials in the pass that finds the maxima. Each thread sums relative to its running
/// maximum, and rescales its sum when the maximum rises (Milakov and Gimelshein, "Online normalizer
/// calculation for softmax", 2018).
LogicalResult AttentionKernel::reduceWithExponentials(Sums &maxima, Sums &level) {
  const size_t parts = tile->parallelParts, numMaxima = maxima.size() * parts;
  SmallVector<Value> needed = inputsOf(maxima);
  Numbers totals = getIdentities(maxima, level);
  if (failed(prepare(needed)))
    return failure();
  SmallVector<AttentionProduct *> producers = producersOf(needed);
  auto atTile = [&](Value first, SmallVectorImpl<Number> &carried) -> LogicalResult {
    ProductTiles products = multiply(first, producers);
    Numbers before(carried.begin(), carried.end()), scales;
    MutableArrayRef<Number> all(carried);
    if (failed(accumulate(first, products, maxima, all.take_front(numMaxima))))
      return failure();
    SmallVector<ElementValues::Known> known = ofParallel;
    if (failed(enterMaxima(maxima, level, before, all, scales)) ||
        failed(accumulate(first, products, level, all.drop_front(numMaxima))))
      return failure();
    ofParallel = known;
    return success();
  };
  FailureOr<Numbers> sums = forTiles(totals, producers, atTile);
  if (failed(sums))
    return failure();
  Numbers scales;
  return finishSoftmax(maxima, level, *sums, scales);
}

// ---- the last pass, with the softmax ------------------------------------------------------------

/// Returns true if all operands of consumers are a softmax that a later maximum only scales, and
/// tiles have no other use.
bool AttentionKernel::canFinishWithSoftmax(const Sums &level) {
  Results results = getResults();
  return results.tiles.empty() && !results.panels.empty() &&
         llvm::all_of(results.panels,
                      [&](Value panel) { return findSoftmaxScale(panel, level).has_value(); });
}

/// Visits the scale of each of the products' sums, by softmax sum and row.
void AttentionKernel::forScaledSums(const Sums &level, AtScaledSum body) {
  size_t index = 0;
  for (const AttentionProduct &product : fused.consumers) {
    const SoftmaxScale scale = *findSoftmaxScale(product.rows, level);
    for (int64_t i = 0, end = tile->countSums(product); i < end; ++i)
      body(index++, scale, tile->getPartOfSum(product, i));
  }
}

/// Adds a tile to maxima, sums of exponentials and sums of products, which `carried` has in this
/// order.
LogicalResult AttentionKernel::addSoftmaxTile(Value first, const Sums &maxima, const Sums &level,
                                              ArrayRef<AttentionProduct *> producers,
                                              const Results &results,
                                              MutableArrayRef<Number> carried) {
  const size_t parts = tile->parallelParts, numMaxima = maxima.size() * parts;
  ProductTiles products = multiply(first, producers);
  Numbers before(carried.begin(), carried.end()), scales;
  MutableArrayRef<Number> sums = carried.drop_front(numMaxima + level.size() * parts);
  if (failed(accumulate(first, products, maxima, carried.take_front(numMaxima))))
    return failure();
  for (size_t i = 0; i < numMaxima; ++i)
    carried[i] = tile->combine(maxima[i / parts].combiner, carried[i], i % parts);
  SmallVector<ElementValues::Known> known = ofParallel;
  if (failed(enterMaxima(maxima, level, before, carried, scales)))
    return failure();
  // Tiles are not divided.
  for (const ElementValues::Sum &sum : level)
    for (ElementValues::Known &ofPart : ofParallel)
      ofPart[hlo::ReduceOp(sum.op).getResult(0)] = values.identityOf(sum).constant(1).value;
  forScaledSums(level, [&](size_t index, const SoftmaxScale &scale, size_t part) {
    sums[index] = sums[index] * scales[scale.sum * parts + part];
  });
  SmallVector<Numbers> panels(results.panels.size());
  for (Numbers &panel : panels)
    panel.assign(parts * tile->streamedParts, emitter.number(first));
  auto atElement = [&](int64_t part, int64_t element, Value exists) -> LogicalResult {
    for (auto [i, sum] : llvm::enumerate(level)) {
      Number &total = carried[numMaxima + i * parts + part];
      FailureOr<Number> next = values.accumulate(sum, total, exists);
      if (failed(next))
        return failure();
      total = *next;
    }
    for (auto [panel, numbers] : llvm::zip_equal(results.panels, panels)) {
      FailureOr<Number> number = getPanel(panel, exists);
      if (failed(number))
        return failure();
      numbers[element] = *number;
    }
    return success();
  };
  if (failed(forElements(first, products, atElement)))
    return failure();
  addProducts(first, results, panels, sums);
  ofParallel = known;
  return success();
}

/// One pass for maxima, sums and products: sums of products are scaled like the sums of
/// exponentials, by which they are divided at the end ("FlashAttention-2", 2023). All threads of a
/// row then need the same maximum at each tile.
LogicalResult AttentionKernel::finishWithSoftmax(Sums &maxima, Sums &level) {
  Results results = getResults();
  const size_t parts = tile->parallelParts, numReduced = (maxima.size() + level.size()) * parts;
  SmallVector<Value> needed = inputsOf(maxima);
  Numbers totals = getIdentities(maxima, level);
  totals.append(results.sums);
  if (failed(prepare(needed)))
    return failure();
  SmallVector<Value> tiles(needed);
  llvm::append_range(tiles, results.panels);
  SmallVector<AttentionProduct *> producers = producersOf(tiles);
  FailureOr<Numbers> carried =
      forTiles(totals, withConsumers(producers), [&](Value first, SmallVectorImpl<Number> &before) {
        return addSoftmaxTile(first, maxima, level, producers, results, before);
      });
  if (failed(carried))
    return failure();
  Numbers scales;
  MutableArrayRef<Number> all(*carried), sums = all.drop_front(numReduced);
  if (failed(finishSoftmax(maxima, level, all.take_front(numReduced), scales)))
    return failure();
  Numbers divided;
  for (auto [i, scale] : llvm::enumerate(scales)) {
    stablehlo::ReduceOp reduce = level[i / parts].op;
    divided.push_back(scale / emitter.number(ofParallel[i % parts].lookup(reduce.getResult(0))));
  }
  forScaledSums(level, [&](size_t index, const SoftmaxScale &scale, size_t part) {
    const size_t i = scale.sum * parts + part;
    sums[index] = sums[index] * (scale.isDivided ? divided[i] : scales[i]);
  });
  storeProducts(sums);
  return storeRows(results);
}
