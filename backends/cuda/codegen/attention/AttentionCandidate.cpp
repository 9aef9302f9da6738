#include "backends/cuda/codegen/attention/AttentionCandidate.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace mlir::cuda;

/// Returns true if a product reads the same matrix for all of a group of the space.
bool AttentionCandidate::isSharedAlong(unsigned group) const {
  auto isShared = [&](const AttentionMatrix &matrix) { return matrix.strides[group] == 0; };
  return llvm::any_of(fused.producers, [&](const AttentionProduct &product) {
    return isShared(product.parallel) || isShared(product.streamed);
  });
}

/// The outermost group besides rows and columns is the batch, the next one the heads. Heads that
/// share keys are the innermost one.
LogicalResult AttentionCandidate::read(Attention &attention) {
  FailureOr<FusedAttention> analyzed = analyzeAttention(kernel);
  if (failed(analyzed))
    return failure();
  fused = std::move(*analyzed);
  groups = {std::min(fused.parallel, fused.streamed), std::max(fused.parallel, fused.streamed)};
  const unsigned count = fused.space.getNumGroups();
  SmallVector<unsigned> others;
  for (unsigned group = 0; group < count; ++group)
    if (group != groups.rows && group != groups.columns)
      others.push_back(group);
  inGroup = count;
  if (!others.empty() && isSharedAlong(others.back()))
    inGroup = others.pop_back_val();
  if (others.size() > 2)
    return refuse("its batch has more than two dimensions");
  batch = others.empty() ? count : others[0];
  head = others.size() < 2 ? count : others[1];
  attention.batch = getSize(batch);
  attention.group = getSize(inGroup);
  attention.heads = getSize(head) * attention.group;
  attention.rows = getSize(groups.rows);
  attention.columns = getSize(groups.columns);
  return success();
}

static int64_t strideOf(ArrayRef<int64_t> strides, unsigned group) {
  return group < strides.size() ? strides[group] : 0;
}

bool AttentionCandidate::setHeadStride(ArrayRef<int64_t> strides, int64_t &stride) const {
  const int64_t ofGroups = strideOf(strides, head), ofHeads = strideOf(strides, inGroup),
                heads = getSize(inGroup);
  stride = heads == 1 ? ofGroups : ofHeads;
  return heads == 1 || getSize(head) == 1 || ofGroups == ofHeads * heads;
}

LogicalResult AttentionCandidate::set(StringRef name, const AttentionMatrix &matrix, unsigned along,
                                      const Attention &attention, Attention::Tensor &tensor,
                                      bool isShared) {
  const unsigned inputs = kernel.getInputs().size();
  Value value = matrix.buffer < inputs ? Value(kernel.getInputs()[matrix.buffer])
                                       : Value(kernel.getResult(matrix.buffer - inputs));
  ArrayRef<int64_t> strides = matrix.strides;
  tensor = {value, strideOf(strides, batch), strideOf(strides, head), strideOf(strides, along)};
  if (!matrix.element.isF16() && !matrix.element.isBF16())
    return refuse(name + " is not of a 16-bit type");
  if (matrix.widthStride != 1)
    return refuse(name + " has rows that are not contiguous");
  if (isShared && strideOf(strides, inGroup) != 0)
    return refuse(name + " is not the same for the heads of a group");
  if (!isShared && !setHeadStride(strides, tensor.head))
    return refuse(name + " has heads at different distances");
  const int64_t heads = isShared ? attention.heads / attention.group : attention.heads;
  if ((tensor.batch == 0 && attention.batch > 1) || (tensor.head == 0 && heads > 1))
    return refuse(name + " is the same for several heads");
  return success();
}

SmallVector<BlockArgument> AttentionCandidate::readArguments() const {
  SmallVector<BlockArgument> read;
  for (BlockArgument argument : fused.body().getArguments()) {
    const bool isProduct = llvm::any_of(
        fused.producers, [&](const AttentionProduct &product) { return product.rows == argument; });
    if (!argument.use_empty() && !isProduct)
      read.push_back(argument);
  }
  return read;
}

LogicalResult AttentionCandidate::setBias(Attention &attention) {
  if (!getElementTypeOrSelf(bias.getType()).isF32())
    return refuse("its mask is not f32");
  SmallVector<int64_t> strides = fused.space.getStrides(bias);
  attention.bias = {outside(bias), strideOf(strides, batch), 0, strideOf(strides, groups.rows)};
  if (strideOf(strides, groups.columns) != 1)
    return refuse("its mask has rows that are not contiguous");
  if (!setHeadStride(strides, attention.bias.head))
    return refuse("its mask has heads at different distances");
  return success();
}

Sample AttentionCandidate::draw(st::GroupSet along, double maximum, std::mt19937 &random) const {
  std::uniform_real_distribution<double> numbers(-maximum, maximum);
  Sample created;
  const bool alongRows = along >> groups.rows & 1, alongColumns = along >> groups.columns & 1;
  for (int64_t row = 0; row < Sample::kRows; ++row)
    for (int64_t column = 0; column < Sample::kColumns; ++column) {
      const bool isNew = (alongRows || row == 0) && (alongColumns || column == 0);
      created.at(row, column) =
          isNew ? numbers(random) : created.at(alongRows ? row : 0, alongColumns ? column : 0);
    }
  return created;
}

ExpectedRows::ExpectedRows(const Attention &attention, const Sample &scores, const Sample &bias) {
  for (int64_t row = 0; row < Sample::kRows; ++row) {
    auto score = [&](int64_t column) {
      return attention.scale * scores.at(row, column) + bias.at(row, column);
    };
    const int64_t seen = attention.isCausal ? row + 1 : Sample::kColumns;
    double maximum = score(0), all = 0;
    for (int64_t column = 1; column < seen; ++column)
      maximum = std::max(maximum, score(column));
    for (int64_t column = 0; column < seen; ++column)
      all += std::exp(score(column) - maximum);
    for (int64_t column = 0; column < Sample::kColumns; ++column) {
      probabilities.at(row, column) = column < seen ? std::exp(score(column) - maximum) / all : 0;
      max.at(row, column) = maximum;
      sum.at(row, column) = all;
    }
  }
}

/// Between two columns the logarithms of probabilities differ by scale times the difference of the
/// scores. The scale is an f32 constant.
double mlir::cuda::findScale(const Sample &scores, const Sample &probabilities) {
  constexpr int64_t last = Sample::kRows - 1; // this row attends to all columns
  const double scale =
      static_cast<float>(std::log(probabilities.at(last, 0) / probabilities.at(last, 1)) /
                         (scores.at(last, 0) - scores.at(last, 1)));
  return scale > 0 && std::isfinite(scale) ? scale : 0;
}
