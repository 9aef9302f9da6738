#include "backends/cuda/codegen/Attention.h"

#include "backends/cuda/codegen/SampledRows.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::cuda;

namespace {
constexpr int64_t kRows = Sample::kRows, kColumns = Sample::kColumns;
constexpr int kTrials = 3;

class Matcher {
public:
  Matcher(mlir::st::KernelOp kernel, std::string &reason) : kernel(kernel), reason(reason) {}

  FailureOr<Attention> run();

private:
  mlir::st::KernelOp kernel;
  std::string &reason;
  Chain chain;
  Attention found;
  unsigned batch = 0, head = 0; // groups; the number of groups: there is none
  std::mt19937 random;

  /// What the formula makes of one trial.
  struct Expected {
    Sample probabilities, max, sum;
  };

  LogicalResult refuse(const Twine &why) {
    reason = why.str();
    return failure();
  }
  Value valueOf(unsigned buffer) {
    unsigned inputs = kernel.getInputs().size();
    return buffer < inputs ? kernel.getInputs()[buffer] : kernel.getResult(buffer - inputs);
  }
  LogicalResult setBatch();
  LogicalResult setTensor(StringRef name, const ChainMatrix &matrix, unsigned along,
                          Attention::Tensor &tensor);
  LogicalResult setBias();
  BlockArgument findBias() const;
  LogicalResult checkFormula();
  Sample draw(st::GroupSet groups, double scale);
  LogicalResult sample(const Sample &scores, const Sample &bias, Samples &samples);
  Expected expect(const Sample &scores, const Sample &bias) const;
  LogicalResult setStatistics(const Samples &samples, const Expected &expected);
};
} // namespace

/// Of the groups that are not the rows or the columns, the outer is the batch.
LogicalResult Matcher::setBatch() {
  const unsigned groups = chain.space.getNumGroups();
  SmallVector<unsigned> others;
  for (unsigned group = 0; group < groups; ++group)
    if (group != chain.own && group != chain.streamed)
      others.push_back(group);
  if (others.size() > 2)
    return refuse("its batch has more than two dimensions");
  batch = others.empty() ? groups : others[0];
  head = others.size() < 2 ? groups : others[1];
  auto sizeOf = [&](unsigned group) { return group < groups ? chain.space.getSize(group) : 1; };
  found.batch = sizeOf(batch);
  found.heads = sizeOf(head);
  found.rows = sizeOf(chain.own);
  found.columns = sizeOf(chain.streamed);
  return success();
}

LogicalResult Matcher::setTensor(StringRef name, const ChainMatrix &matrix, unsigned along,
                                 Attention::Tensor &tensor) {
  auto strideOf = [&](unsigned group) {
    return group < matrix.strides.size() ? matrix.strides[group] : 0;
  };
  tensor = {valueOf(matrix.buffer), strideOf(batch), strideOf(head), strideOf(along)};
  if (!matrix.element.isF16() && !matrix.element.isBF16())
    return refuse(name + " is not of a 16-bit type");
  if (matrix.widthStride != 1)
    return refuse(name + " has rows that do not lie dense");
  if ((tensor.batch == 0 && found.batch > 1) || (tensor.head == 0 && found.heads > 1))
    return refuse(name + " is the same for several heads");
  return success();
}

/// What the rows read beside scores; null if that is nothing or more than one argument.
BlockArgument Matcher::findBias() const {
  BlockArgument only;
  for (BlockArgument argument : chain.body().getArguments()) {
    if (argument.use_empty() || argument == chain.producers.front().rows)
      continue;
    if (only)
      return {};
    only = argument;
  }
  return only;
}

LogicalResult Matcher::setBias() {
  BlockArgument bias = findBias();
  if (!bias) {
    for (BlockArgument argument : chain.body().getArguments())
      if (!argument.use_empty() && argument != chain.producers.front().rows)
        return refuse("it reads more than a mask beside its scores");
    return success();
  }
  Value value = kernel.getInputs()[bias.getArgNumber()];
  if (!getElementTypeOrSelf(bias.getType()).isF32())
    return refuse("its mask is not of f32");
  SmallVector<int64_t> strides = chain.space.getStrides(bias);
  auto strideOf = [&](unsigned group) { return group < strides.size() ? strides[group] : 0; };
  found.bias = {value, strideOf(batch), strideOf(head), strideOf(chain.own)};
  if (strideOf(chain.streamed) != 1)
    return refuse("its mask has rows that do not lie dense");
  return success();
}

// ---- the formula --------------------------------------------------------------------------------

Sample Matcher::draw(st::GroupSet groups, double scale) {
  std::uniform_real_distribution<double> numbers(-scale, scale);
  Sample made;
  const bool alongRows = groups >> chain.own & 1, alongColumns = groups >> chain.streamed & 1;
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      const bool isNew = (alongRows || row == 0) && (alongColumns || column == 0);
      made.at(row, column) =
          isNew ? numbers(random) : made.at(alongRows ? row : 0, alongColumns ? column : 0);
    }
  return made;
}

LogicalResult Matcher::sample(const Sample &scores, const Sample &bias, Samples &samples) {
  samples.try_emplace(chain.producers.front().rows, scores);
  if (BlockArgument argument = findBias())
    samples.try_emplace(argument, bias);
  return sampleRows(chain.body(), chain.space, {chain.own, chain.streamed}, samples, reason);
}

Matcher::Expected Matcher::expect(const Sample &scores, const Sample &bias) const {
  Expected expected;
  for (int64_t row = 0; row < kRows; ++row) {
    auto score = [&](int64_t column) {
      return found.scale * scores.at(row, column) + bias.at(row, column);
    };
    const int64_t seen = found.isCausal ? row + 1 : kColumns;
    double max = score(0), sum = 0;
    for (int64_t column = 1; column < seen; ++column)
      max = std::max(max, score(column));
    for (int64_t column = 0; column < seen; ++column)
      sum += std::exp(score(column) - max);
    for (int64_t column = 0; column < kColumns; ++column) {
      expected.probabilities.at(row, column) =
          column < seen ? std::exp(score(column) - max) / sum : 0;
      expected.max.at(row, column) = max;
      expected.sum.at(row, column) = sum;
    }
  }
  return expected;
}

/// What else the kernel stores: numbers of its rows.
LogicalResult Matcher::setStatistics(const Samples &samples, const Expected &expected) {
  Operation *yield = chain.body().getTerminator();
  for (auto [number, index] : llvm::enumerate(chain.stored)) {
    Value value = yield->getOperand(number);
    st::GroupSet groups = chain.space.getGroups(value);
    if ((groups >> chain.own & 1) && (groups >> chain.streamed & 1))
      return refuse("it stores something of each score");
    if (!getElementTypeOrSelf(value.getType()).isF32())
      return refuse("what it stores of rows is not of f32");
    SmallVector<int64_t> strides = chain.space.getStrides(value);
    auto isDense = [&](unsigned group, int64_t size, int64_t stride) {
      return size == 1 || strides[group] == stride;
    };
    if (!isDense(chain.own, found.rows, 1) || !isDense(head, found.heads, found.rows) ||
        !isDense(batch, found.batch, found.heads * found.rows))
      return refuse("what it stores of rows does not lie dense");
    auto is = [&](const Sample &statistic) {
      return isSame(samples.find(value)->second, statistic);
    };
    Value &place = is(expected.max) ? found.max : found.sum;
    if ((!is(expected.max) && !is(expected.sum)) || (place && place != kernel.getResult(index)))
      return refuse("it stores other numbers of rows than a maximum and a sum of exponentials");
    place = kernel.getResult(index);
  }
  return success();
}

LogicalResult Matcher::checkFormula() {
  const Sample none;
  Value made = chain.consumers.front().rows;
  Sample scores = draw(~st::GroupSet(0), 1);
  Samples first;
  if (failed(sample(scores, none, first)))
    return failure();
  found.isCausal = hasCausalMask(chain.body());
  // Between two columns the logarithm of probabilities differs as scores do.
  const Sample &probabilities = first.find(made)->second;
  constexpr int64_t last = kRows - 1;
  found.scale = std::log(probabilities.at(last, 0) / probabilities.at(last, 1)) /
                (scores.at(last, 0) - scores.at(last, 1));
  if (!(found.scale > 0 && std::isfinite(found.scale)))
    return refuse("it is no softmax of its scores");
  if (found.isCausal && findBias())
    return refuse("it is causal and adds another mask");
  found.scale = static_cast<float>(found.scale); // as the constant was
  for (int trial = 0; trial < kTrials; ++trial) {
    scores = draw(~st::GroupSet(0), 2);
    BlockArgument argument = findBias();
    Sample bias = argument ? draw(chain.space.getGroups(argument), 1) : none;
    Samples samples;
    if (failed(sample(scores, bias, samples)))
      return failure();
    Expected expected = expect(scores, bias);
    if (!isSame(samples.find(made)->second, expected.probabilities))
      return refuse("it is no softmax of its scores");
    if (failed(setStatistics(samples, expected)))
      return failure();
  }
  return success();
}

FailureOr<Attention> Matcher::run() {
  FailureOr<Chain> analyzed = analyzeChain(kernel);
  if (failed(analyzed))
    return failure();
  chain = std::move(*analyzed);
  if (chain.own > chain.streamed || chain.producers.size() != 1 || chain.consumers.size() != 1)
    return refuse("it is not one product of scores and one of probabilities");
  const ChainProduct &scores = chain.producers.front(), &values = chain.consumers.front();
  found.depth = scores.width;
  found.width = values.width;
  if (failed(setBatch()) || failed(setTensor("q", scores.own, chain.own, found.q)) ||
      failed(setTensor("k", scores.streamed, chain.streamed, found.k)) ||
      failed(setTensor("v", values.streamed, chain.streamed, found.v)) ||
      failed(setTensor("o", values.own, chain.own, found.o)) || failed(setBias()) ||
      failed(checkFormula()))
    return failure();
  if (scores.own.element != values.own.element || scores.own.element != values.streamed.element)
    return refuse("its matrices are of several types");
  return found;
}

FailureOr<Attention> mlir::cuda::matchAttention(mlir::st::KernelOp chain, std::string &reason) {
  return Matcher(chain, reason).run();
}
