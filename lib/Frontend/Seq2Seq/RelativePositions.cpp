//===- RelativePositions.cpp - Buckets of distances -----------------------===//

#include "lib/Frontend/Seq2Seq/RelativePositions.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::st;
using stablehlo::ComparisonDirection;

int64_t st::bucketOf(const RelativePositions &positions, int64_t distance, bool isBidirectional) {
  int64_t count = positions.bucketCount, first = 0;
  if (isBidirectional) {
    count /= 2;
    first = distance > 0 ? count : 0;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(0, -distance);
  }
  const int64_t exact = count / 2;
  if (distance < exact)
    return first + distance;
  // In single precision, as transformers computes it: the results differ by rounding at the ends of
  // intervals.
  const float wavelengths = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                            static_cast<float>(std::log(static_cast<double>(positions.maxDistance) /
                                                        static_cast<double>(exact)));
  const auto further = static_cast<int64_t>(wavelengths * static_cast<float>(count - exact));
  return first + std::min(exact + further, count - 1);
}

Value st::emitBuckets(Emitter &emit, const RelativePositions &positions, int64_t sequence,
                      bool isBidirectional) {
  // A bucket holds an interval of distances. Comparing distances with both ends avoids a table of
  // all pairs in the program.
  const int64_t count = positions.bucketCount;
  constexpr int32_t none = 1 << 30;
  std::vector<int32_t> least(count, none), most(count, -none);
  for (int64_t distance = 1 - sequence; distance < sequence; ++distance) {
    const int64_t bucket = bucketOf(positions, distance, isBidirectional);
    least[bucket] = std::min(least[bucket], static_cast<int32_t>(distance));
    most[bucket] = std::max(most[bucket], static_cast<int32_t>(distance));
  }
  Type word = emit.builder.getI32Type();
  const SmallVector<int64_t> shape = {sequence, sequence, count};
  auto ends = [&](const std::vector<int32_t> &values) {
    Value vector = emit.constant(
        DenseElementsAttr::get(RankedTensorType::get({count}, word), ArrayRef(values)));
    return emit.broadcast(vector, {2}, shape);
  };
  Value distance = emit.sub(emit.iota(shape, word, 1), emit.iota(shape, word, 0));
  Value isInside = emit.bitAnd(emit.compare(ComparisonDirection::GE, distance, ends(least)),
                               emit.compare(ComparisonDirection::LE, distance, ends(most)));
  return emit.convert(isInside, emit.builder.getF32Type());
}
