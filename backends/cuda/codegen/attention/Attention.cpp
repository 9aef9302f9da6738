#include "backends/cuda/codegen/attention/Attention.h"

#include "backends/cuda/codegen/attention/AttentionCandidate.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::cuda;

namespace {
class Matcher {
public:
  Matcher(mlir::st::KernelOp kernel, std::string &reason) : rows(kernel, reason) {}

  FailureOr<Attention> run();

private:
  AttentionCandidate rows;
  Attention found;
  std::mt19937 random;

  LogicalResult checkFormula();
  LogicalResult sample(const Sample &scores, const Sample &bias, Samples &samples);
  LogicalResult setStatistics(const Samples &samples, const ExpectedRows &expected);
};
} // namespace

LogicalResult Matcher::sample(const Sample &scores, const Sample &bias, Samples &samples) {
  samples.try_emplace(rows.fused.producers.front().rows, scores);
  if (rows.bias)
    samples.try_emplace(rows.bias, bias);
  return rows.sample(samples);
}

/// Finds the row statistics that the kernel stores besides its output.
LogicalResult Matcher::setStatistics(const Samples &samples, const ExpectedRows &expected) {
  const st::IterationSpace &space = rows.fused.space;
  for (auto [number, index] : llvm::enumerate(rows.fused.stored)) {
    Value value = rows.fused.body().getTerminator()->getOperand(number);
    st::GroupSet along = space.getGroups(value);
    if ((along >> rows.groups.rows & 1) && (along >> rows.groups.columns & 1))
      return rows.refuse("it stores a value for each score");
    if (!getElementTypeOrSelf(value.getType()).isF32())
      return rows.refuse("its stored row statistics are not f32");
    SmallVector<int64_t> strides = space.getStrides(value);
    auto isDense = [&](unsigned group, int64_t size, int64_t stride) {
      return size == 1 || strides[group] == stride;
    };
    if (!isDense(rows.groups.rows, found.rows, 1) ||
        !isDense(rows.inGroup, found.group, found.rows) ||
        !isDense(rows.head, found.heads / found.group, found.group * found.rows) ||
        !isDense(rows.batch, found.batch, found.heads * found.rows))
      return rows.refuse("its stored row statistics are not contiguous");
    auto is = [&](const Sample &statistic) {
      return isSame(samples.find(value)->second, statistic);
    };
    Value result = rows.kernel.getResult(index);
    Value &place = is(expected.max) ? found.max : found.sum;
    if ((!is(expected.max) && !is(expected.sum)) || (place && place != result))
      return rows.refuse("it stores row statistics other than a maximum and a sum of "
                         "exponentials");
    place = result;
  }
  return success();
}

LogicalResult Matcher::checkFormula() {
  const Sample none;
  Value created = rows.fused.consumers.front().rows;
  Sample scores = rows.draw(kAllGroups, 1, random);
  Samples first;
  if (failed(sample(scores, none, first)))
    return failure();
  found.isCausal = hasCausalMask(rows.fused.body());
  found.scale = findScale(scores, first.find(created)->second);
  if (found.scale == 0)
    return rows.refuse("it does not compute a softmax of its scores");
  if (found.isCausal && rows.bias)
    return rows.refuse("it is causal and adds another mask");
  for (int trial = 0; trial < kTrials; ++trial) {
    scores = rows.draw(kAllGroups, 2, random);
    Sample bias = rows.bias ? rows.draw(rows.fused.space.getGroups(rows.bias), 1, random) : none;
    Samples samples;
    if (failed(sample(scores, bias, samples)))
      return failure();
    ExpectedRows expected(found, scores, bias);
    if (!isSame(samples.find(created)->second, expected.probabilities))
      return rows.refuse("it does not compute a softmax of its scores");
    if (failed(setStatistics(samples, expected)))
      return failure();
  }
  return success();
}

FailureOr<Attention> Matcher::run() {
  if (failed(rows.read(found)))
    return failure();
  const FusedAttention &fused = rows.fused;
  if (fused.parallel > fused.streamed || fused.producers.size() != 1 || fused.consumers.size() != 1)
    return rows.refuse("it has products other than those of scores and of probabilities");
  const AttentionProduct &scores = fused.producers.front(), &values = fused.consumers.front();
  found.depth = scores.width;
  found.width = values.width;
  if (failed(rows.set("q", scores.parallel, fused.parallel, found, found.q)) ||
      failed(rows.set("k", scores.streamed, fused.streamed, found, found.k, /*isShared=*/true)) ||
      failed(rows.set("v", values.streamed, fused.streamed, found, found.v, /*isShared=*/true)) ||
      failed(rows.set("o", values.parallel, fused.parallel, found, found.o)))
    return failure();
  if (scores.parallel.element != values.parallel.element ||
      scores.parallel.element != values.streamed.element)
    return rows.refuse("its matrices have different types");
  SmallVector<BlockArgument> read = rows.readArguments();
  if (read.size() > 1)
    return rows.refuse("it reads more than its scores and one mask");
  if (!read.empty()) {
    rows.bias = read.front();
    if (failed(rows.setBias(found)))
      return failure();
  }
  if (failed(checkFormula()))
    return failure();
  return found;
}

FailureOr<Attention> mlir::cuda::matchAttention(mlir::st::KernelOp kernel, std::string &reason) {
  return Matcher(kernel, reason).run();
}
