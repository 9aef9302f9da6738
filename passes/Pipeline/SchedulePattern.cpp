#include "passes/Pipeline/SchedulePattern.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cassert>

using namespace mlir::st;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// Units with a fixed order among themselves.
using Stream = SmallVector<ScheduledUnit>;

/// A schedule is a list of repeated patterns. A pattern takes one unit from each of its streams;
/// exhausted streams are skipped.
class OrderBuilder {
public:
  explicit OrderBuilder(ArrayRef<Stream> streams) : streams(streams), next(streams.size()) {}

  void repeat(int64_t times, ArrayRef<unsigned> pattern) {
    for (int64_t i = 0; i < times; ++i)
      for (unsigned stream : pattern)
        if (!isAtEnd(stream))
          order.push_back(streams[stream][next[stream]++]);
  }
  void repeatUntilEnd(unsigned of, ArrayRef<unsigned> pattern) {
    while (!isAtEnd(of))
      repeat(1, pattern);
  }
  SmallVector<ScheduledUnit> take() { return std::move(order); }

private:
  bool isAtEnd(unsigned stream) const { return next[stream] == streams[stream].size(); }

  ArrayRef<Stream> streams;
  SmallVector<size_t> next;
  SmallVector<ScheduledUnit> order;
};
} // namespace

static Stream makeStream(ScheduledUnit::Kind kind, int64_t chunk, int64_t microBatches) {
  Stream stream;
  for (int64_t m = 0; m < microBatches; ++m)
    stream.push_back({kind, chunk, m});
  return stream;
}

/// Virtual stages take turns, each for as many micro-batches as there are groups (Narayanan et al.,
/// "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021).
static Stream makeInterleavedStream(ScheduledUnit::Kind kind, const ScheduleShape &shape) {
  Stream stream;
  for (int64_t first = 0; first < shape.microBatches; first += shape.numGroups)
    for (int64_t turn = 0; turn < shape.numChunks; ++turn)
      for (int64_t m = first, end = std::min(first + shape.numGroups, shape.microBatches); m < end;
           ++m) {
        int64_t chunk = kind == ScheduledUnit::Forward ? turn : shape.numChunks - 1 - turn;
        stream.push_back({kind, chunk, m});
      }
  return stream;
}

/// `warmUp` forwards; then alternating backwards and forwards, with weight gradients `delay`
/// backwards later.
static SmallVector<ScheduledUnit> makeOneStreamOrder(const Stream &forward, const Stream &backward,
                                                     const Stream &weight, int64_t warmUp,
                                                     int64_t delay) {
  enum : unsigned { F, B, W };
  const Stream streams[] = {forward, backward, weight};
  OrderBuilder builder(streams);
  builder.repeat(warmUp, {F});
  builder.repeat(delay, {B, F});
  builder.repeatUntilEnd(B, {B, W, F});
  builder.repeatUntilEnd(W, {W});
  return builder.take();
}

/// Two virtual stages per group, the second in reverse order: group 0 has the model's first and
/// last stage. As in Qi et al., "Zero Bubble Pipeline Parallelism" (ICLR 2024), ZB-V: without idle
/// time if forward, backward and weight take equally long and there are 2 p - 1 micro-batches.
static SmallVector<ScheduledUnit> makeVOrder(const ScheduleShape &shape) {
  enum : unsigned { F0, B0, W0, F1, B1, W1 };
  SmallVector<Stream> streams;
  for (int64_t chunk : {0, 1})
    for (auto kind : {ScheduledUnit::Forward, ScheduledUnit::Backward, ScheduledUnit::Weight})
      streams.push_back(makeStream(kind, chunk, shape.microBatches));
  int64_t before = shape.group, behind = shape.numGroups - shape.group;
  OrderBuilder builder(streams);
  builder.repeat(2 * behind - 1, {F0});
  builder.repeat(before, {F1, F0});
  builder.repeat(behind, {F1, B1, W1});
  builder.repeatUntilEnd(F1, {F0, B0, W0, F1, B1, W1});
  builder.repeat(before, {B0, B1});
  builder.repeat(behind, {B0, W0});
  builder.repeatUntilEnd(B1, {B0, B1});
  builder.repeatUntilEnd(B0, {B0});
  builder.repeatUntilEnd(W1, {W1});
  builder.repeatUntilEnd(W0, {W0});
  return builder.take();
}

SmallVector<ScheduledUnit> mlir::st::makeScheduleOrder(ScheduleKind kind,
                                                       const ScheduleShape &shape) {
  assert(allowsVirtualStages(kind, shape.numChunks) && "checked by the caller");
  if (kind == ScheduleKind::ZeroBubbleV)
    return makeVOrder(shape);
  int64_t p = shape.numGroups, g = shape.group, v = shape.numChunks;
  Stream forward = makeInterleavedStream(ScheduledUnit::Forward, shape),
         backward = makeInterleavedStream(ScheduledUnit::Backward, shape),
         weight = makeInterleavedStream(ScheduledUnit::Weight, shape);
  auto order = [&](int64_t warmUp, int64_t delay) {
    return makeOneStreamOrder(forward, backward, weight, warmUp, delay);
  };
  switch (kind) {
  case ScheduleKind::Sequential:
    return order(/*warmUp=*/1, /*delay=*/0);
  case ScheduleKind::GPipe:
    return order(shape.microBatches, 0);
  case ScheduleKind::OneForwardOneBackward:
    return order(p - g, 0);
  case ScheduleKind::Interleaved:
    return order(v == 1 ? p - g : 2 * (p - g - 1) + (v - 1) * p + 1, 0);
  case ScheduleKind::ZeroBubbleH1:
    return order(p - g, g);
  case ScheduleKind::ZeroBubbleH2:
    return order(2 * (p - g) - 1, 2 * g);
  case ScheduleKind::ZeroBubbleV:
  case ScheduleKind::Listed:
    break;
  }
  llvm_unreachable("handled above, or no pattern");
}
