#include "backends/common/ReachingDefinitions.h"
#include "backends/cuda/codegen/attention/AttentionCandidate.h"
#include "backends/cuda/codegen/attention/JoinedGradient.h"

using namespace mlir;
using namespace mlir::cuda;

namespace {
class GradientMatcher {
public:
  GradientMatcher(mlir::st::KernelOp ofRows, mlir::st::KernelOp ofColumns, std::string &reason)
      : rows(ofRows, reason), columns(ofColumns, reason), definitions(ofRows) {}

  FailureOr<Attention> run();

private:
  AttentionCandidate rows, columns;
  mlir::st::ReachingDefinitions definitions;
  Attention found;
  std::mt19937 random;

  /// The positions of the products. The producers of each kernel compute the scores and the
  /// gradient of probabilities; the consumers of `columns` compute dV and dK.
  struct Roles {
    unsigned scores = 0, columnScores = 0, values = 0;
  };

  /// A row statistic that the forward kernel stashed.
  struct Statistic {
    BlockArgument argument;
    bool isMax = false;
  };
  SmallVector<Statistic> statistics;
  Attention forward; ///< the kernel that stashed the statistics
  bool hasForward = false;

  bool isSameValue(Value one, Value other) const;
  bool isSameTensor(const Attention::Tensor &one, const Attention::Tensor &other) const;
  bool setTensors(const Roles &roles);
  bool sampleBoth(const Roles &roles, const Sample &scores, const Sample &gradients,
                  const Sample &bias, const ExpectedRows *expected, Samples &ofRows,
                  Samples &ofColumns);
  bool hasFormula(const Roles &roles);
  bool isStatistic(AttentionCandidate &candidate, BlockArgument argument);
  bool isOfForward() const;
  LogicalResult setBias();
};
} // namespace

/// Returns true if two values outside of kernels are the same, as two reads of a buffer or two
/// reshapes of a value are.
bool GradientMatcher::isSameValue(Value one, Value other) const {
  auto addressOf = [](Value value) -> Attribute {
    Operation *op = value.getDefiningOp();
    auto addresses = op ? op->getAttrOfType<ArrayAttr>("st.addresses") : ArrayAttr();
    unsigned number = op ? cast<OpResult>(value).getResultNumber() : 0;
    return addresses && number < addresses.size() ? addresses[number] : Attribute();
  };
  return one == other || (one.getType() == other.getType() &&
                          (definitions.of(one) == definitions.of(other) ||
                           (addressOf(one) && addressOf(one) == addressOf(other))));
}

bool GradientMatcher::isSameTensor(const Attention::Tensor &one,
                                   const Attention::Tensor &other) const {
  return one.batch == other.batch && one.head == other.head && one.row == other.row &&
         isSameValue(one.value, other.value);
}

/// Checks that both kernels read the same matrices where the formula requires it.
bool GradientMatcher::setTensors(const Roles &roles) {
  const FusedAttention &a = rows.fused, &b = columns.fused;
  const AttentionProduct &scores = a.producers[roles.scores],
                         &other = a.producers[1 - roles.scores];
  const AttentionProduct &dQ = a.consumers.front();
  const AttentionProduct &scoresAgain = b.producers[roles.columnScores],
                         &otherAgain = b.producers[1 - roles.columnScores];
  const AttentionProduct &dV = b.consumers[roles.values], &dK = b.consumers[1 - roles.values];
  const unsigned row = rows.groups.rows, column = rows.groups.columns;
  const unsigned rowAgain = columns.groups.rows, columnAgain = columns.groups.columns;
  found.depth = scores.width;
  found.width = other.width;
  const bool isShared = true;
  Attention::Tensor k, k2, q2, q3, v2, dO2, dO3;
  return succeeded(rows.set("q", scores.parallel, row, found, found.q)) &&
         succeeded(rows.set("k", scores.streamed, column, found, found.k, isShared)) &&
         succeeded(rows.set("do", other.parallel, row, found, found.dO)) &&
         succeeded(rows.set("v", other.streamed, column, found, found.v, isShared)) &&
         succeeded(rows.set("dq", dQ.parallel, row, found, found.dQ)) &&
         succeeded(rows.set("k", dQ.streamed, column, found, k, isShared)) &&
         succeeded(columns.set("k", scoresAgain.parallel, columnAgain, found, k2, isShared)) &&
         succeeded(columns.set("q", scoresAgain.streamed, rowAgain, found, q2)) &&
         succeeded(columns.set("v", otherAgain.parallel, columnAgain, found, v2, isShared)) &&
         succeeded(columns.set("do", otherAgain.streamed, rowAgain, found, dO2)) &&
         succeeded(columns.set("dk", dK.parallel, columnAgain, found, found.dK)) &&
         succeeded(columns.set("q", dK.streamed, rowAgain, found, q3)) &&
         succeeded(columns.set("dv", dV.parallel, columnAgain, found, found.dV)) &&
         succeeded(columns.set("do", dV.streamed, rowAgain, found, dO3)) &&
         isSameTensor(found.k, k) && isSameTensor(found.k, k2) && isSameTensor(found.q, q2) &&
         isSameTensor(found.q, q3) && isSameTensor(found.v, v2) && isSameTensor(found.dO, dO2) &&
         isSameTensor(found.dO, dO3);
}

bool GradientMatcher::sampleBoth(const Roles &roles, const Sample &scores, const Sample &gradients,
                                 const Sample &bias, const ExpectedRows *expected, Samples &ofRows,
                                 Samples &ofColumns) {
  // The first trial finds the scale, which does not depend on the statistics.
  for (const Statistic &statistic : statistics)
    (statistic.argument.getOwner() == &rows.fused.body() ? ofRows : ofColumns)
        .try_emplace(statistic.argument, !expected         ? Sample(statistic.isMax ? 0 : 1)
                                         : statistic.isMax ? expected->max
                                                           : expected->sum);
  ofRows.try_emplace(rows.fused.producers[roles.scores].rows, scores);
  ofRows.try_emplace(rows.fused.producers[1 - roles.scores].rows, gradients);
  if (rows.bias)
    ofRows.try_emplace(rows.bias, bias);
  if (failed(rows.sample(ofRows)))
    return false;
  ofColumns.try_emplace(columns.fused.producers[roles.columnScores].rows, scores);
  ofColumns.try_emplace(columns.fused.producers[1 - roles.columnScores].rows, gradients);
  for (BlockArgument argument : columns.readArguments()) {
    if (ofColumns.contains(argument))
      continue;
    auto result = dyn_cast<OpResult>(columns.outside(argument));
    if (!result || result.getOwner() != rows.kernel) {
      ofColumns.try_emplace(argument, bias);
      continue;
    }
    // The first kernel stores this value.
    const auto *stored = llvm::find(rows.fused.stored, result.getResultNumber());
    if (stored == rows.fused.stored.end())
      return false;
    Value created =
        rows.fused.body().getTerminator()->getOperand(stored - rows.fused.stored.begin());
    ofColumns.try_emplace(argument, ofRows.find(created)->second);
  }
  return succeeded(columns.sample(ofColumns));
}

/// dV uses the probabilities p; dQ and dK use scale * p * (dp - sum of p * dp along the row).
bool GradientMatcher::hasFormula(const Roles &roles) {
  Value ofValues = columns.fused.consumers[roles.values].rows;
  Value ofKeys = columns.fused.consumers[1 - roles.values].rows;
  Value ofQueries = rows.fused.consumers.front().rows;
  found.scale = 1;
  for (int trial = 0; trial <= kTrials; ++trial) {
    Sample scores = rows.draw(kAllGroups, 2, random), gradients = rows.draw(kAllGroups, 2, random);
    Sample bias;
    if (rows.bias && trial > 0)
      bias = rows.draw(rows.fused.space.getGroups(rows.bias), 1, random);
    std::optional<ExpectedRows> expected;
    if (trial > 0)
      expected.emplace(found, scores, bias);
    Samples ofRows, ofColumns;
    if (!sampleBoth(roles, scores, gradients, bias, expected ? &*expected : nullptr, ofRows,
                    ofColumns))
      return false;
    if (trial == 0) { // Finds the scale, without a bias.
      found.scale = findScale(scores, ofColumns.find(ofValues)->second);
      if (found.scale == 0)
        return false;
      continue;
    }
    Sample ofScores;
    for (int64_t row = 0; row < Sample::kRows; ++row) {
      double sum = 0;
      for (int64_t column = 0; column < Sample::kColumns; ++column)
        sum += expected->probabilities.at(row, column) * gradients.at(row, column);
      for (int64_t column = 0; column < Sample::kColumns; ++column)
        ofScores.at(row, column) = found.scale * expected->probabilities.at(row, column) *
                                   (gradients.at(row, column) - sum);
    }
    if (!isSame(ofColumns.find(ofValues)->second, expected->probabilities) ||
        !isSame(ofColumns.find(ofKeys)->second, ofScores) ||
        !isSame(ofRows.find(ofQueries)->second, ofScores))
      return false;
  }
  return true;
}

/// Records an argument that is a maximum or sum of each row from the forward kernel.
bool GradientMatcher::isStatistic(AttentionCandidate &candidate, BlockArgument argument) {
  Value definition = definitions.of(candidate.outside(argument));
  Operation *op = definition.getDefiningOp();
  auto kernel = op ? op->getParentOfType<mlir::st::KernelOp>() : nullptr;
  std::string reason;
  if (!kernel || kernel.getKind() != "attention" || kernel == rows.kernel ||
      kernel == columns.kernel)
    return false;
  if (!hasForward) {
    FailureOr<Attention> attention = matchAttention(kernel, reason);
    if (failed(attention))
      return false;
    forward = *attention;
    hasForward = true;
  }
  for (bool isMax : {true, false})
    if (Value kept = isMax ? forward.max : forward.sum;
        kept && definitions.of(kept) == definition &&
        !(candidate.fused.space.getGroups(argument) >> candidate.groups.columns & 1)) {
      statistics.push_back({argument, isMax});
      return true;
    }
  return false;
}

/// Checks that the statistics are those of the same scores: the chunks of a longer row may receive
/// the maximum of the full row.
bool GradientMatcher::isOfForward() const {
  if (statistics.empty())
    return true;
  auto isSameAs = [&](const Attention::Tensor &one, const Attention::Tensor &other) {
    return one.batch == other.batch && one.head == other.head && one.row == other.row &&
           !one.value == !other.value &&
           (!one.value || definitions.areSame(one.value, other.value));
  };
  return forward.batch == found.batch && forward.heads == found.heads &&
         forward.group == found.group && forward.rows == found.rows &&
         forward.columns == found.columns && forward.depth == found.depth &&
         forward.scale == found.scale && forward.isCausal == found.isCausal &&
         isSameAs(forward.q, found.q) && isSameAs(forward.k, found.k) &&
         isSameAs(forward.bias, found.bias);
}

/// Requires the same mask in both kernels, or none in either.
LogicalResult GradientMatcher::setBias() {
  SmallVector<BlockArgument> ofRows = rows.readArguments(), ofColumns = columns.readArguments();
  llvm::erase_if(ofRows, [&](BlockArgument argument) { return isStatistic(rows, argument); });
  llvm::erase_if(ofColumns, [&](BlockArgument argument) { return isStatistic(columns, argument); });
  if (ofRows.size() > 1)
    return rows.refuse("it reads more than its scores and one mask");
  if (!ofRows.empty()) {
    rows.bias = ofRows.front();
    if (failed(rows.setBias(found)))
      return failure();
  }
  for (BlockArgument argument : ofColumns) {
    if (columns.outside(argument).getDefiningOp() == rows.kernel)
      continue;
    columns.bias = argument;
    Attention again = found;
    if (!rows.bias || failed(columns.setBias(again)) || !isSameTensor(found.bias, again.bias))
      return rows.refuse("its two kernels read different masks");
  }
  return success();
}

FailureOr<Attention> GradientMatcher::run() {
  Attention again;
  if (failed(rows.read(found)) || failed(columns.read(again)))
    return failure();
  const FusedAttention &a = rows.fused, &b = columns.fused;
  if (a.parallel > a.streamed || b.parallel < b.streamed || a.producers.size() != 2 ||
      b.producers.size() != 2 || a.consumers.size() != 1 || b.consumers.size() != 2)
    return rows.refuse("its products are not those of an attention gradient");
  const Type type = a.producers.front().parallel.element;
  for (const auto *products : {&a.producers, &a.consumers, &b.producers, &b.consumers})
    for (const AttentionProduct &product : *products)
      if (product.parallel.element != type || product.streamed.element != type)
        return rows.refuse("its matrices have different types");
  if (found.batch != again.batch || found.heads != again.heads || found.group != again.group ||
      found.rows != again.rows || found.columns != again.columns)
    return rows.refuse("its two kernels have different sizes");
  for (unsigned index : a.stored)
    for (Operation *user : rows.kernel.getResult(index).getUsers())
      if (user != columns.kernel)
        return rows.refuse("its stored row statistics have another user");
  if (!b.stored.empty())
    return rows.refuse("it stores a value for each score");
  if (failed(setBias()))
    return failure();
  found.isCausal = hasCausalMask(a.body());
  if (found.isCausal != hasCausalMask(b.body()) || (found.isCausal && rows.bias))
    return rows.refuse("it is causal and adds another mask");
  for (unsigned roles = 0; roles < 8; ++roles) {
    const Roles tried = {roles & 1, roles >> 1 & 1, roles >> 2};
    if (!setTensors(tried) || !hasFormula(tried))
      continue;
    if (!isOfForward())
      return rows.refuse("it reads the maxima or sums of other scores");
    for (const Statistic &statistic : statistics)
      (statistic.isMax ? found.max : found.sum) =
          (statistic.argument.getOwner() == &rows.fused.body() ? rows : columns)
              .outside(statistic.argument);
    return found;
  }
  return rows.refuse("it does not compute the gradient of a softmax");
}

FailureOr<Attention> mlir::cuda::matchAttentionGradient(mlir::st::KernelOp ofRows,
                                                        mlir::st::KernelOp ofColumns,
                                                        std::string &reason) {
  return GradientMatcher(ofRows, ofColumns, reason).run();
}

// ---- the joined kernel --------------------------------------------------------------------------

/// The matrices that the products of a gradient read identify them: dQ and the scores read k, dK
/// and the scores read q.
FailureOr<Attention> mlir::cuda::matchJoinedGradient(mlir::st::KernelOp kernel,
                                                     std::string &reason) {
  AttentionCandidate gradient(kernel, reason);
  auto scale = kernel->getAttrOfType<FloatAttr>(kGradientScaleAttr);
  if (!scale)
    return gradient.refuse("it is not a gradient of attention without dropout");
  Attention found;
  if (failed(gradient.read(found)))
    return failure();
  FusedAttention &fused = gradient.fused;
  if (fused.producers.size() != 2 || fused.consumers.size() != 2 || fused.crossing.size() != 1)
    return gradient.refuse("its products do not form an attention gradient");
  const AttentionProduct &dQ = fused.crossing.front();
  const unsigned first = fused.producers[0].parallel == dQ.parallel ? 0 : 1;
  const AttentionProduct &scores = fused.producers[first], &other = fused.producers[1 - first];
  const unsigned ofKeys = fused.consumers[0].streamed == scores.streamed ? 0 : 1;
  const AttentionProduct &dK = fused.consumers[ofKeys], &dV = fused.consumers[1 - ofKeys];
  if (!(scores.parallel == dQ.parallel) || !(dK.streamed == scores.streamed) ||
      !(dV.streamed == other.streamed))
    return gradient.refuse("its products do not read the matrices of an attention gradient");
  found.scale = scale.getValueAsDouble();
  found.depth = scores.width;
  found.width = other.width;
  found.isCausal = hasCausalMask(fused.body());
  const unsigned row = gradient.groups.rows, column = gradient.groups.columns;
  if (failed(gradient.set("q", scores.streamed, row, found, found.q)) ||
      failed(gradient.set("k", scores.parallel, column, found, found.k, /*isShared=*/true)) ||
      failed(gradient.set("v", other.parallel, column, found, found.v, /*isShared=*/true)) ||
      failed(gradient.set("do", other.streamed, row, found, found.dO)) ||
      failed(gradient.set("dq", dQ.streamed, row, found, found.dQ)) ||
      failed(gradient.set("dk", dK.parallel, column, found, found.dK)) ||
      failed(gradient.set("dv", dV.parallel, column, found, found.dV)))
    return failure();
  for (BlockArgument argument : gradient.readArguments())
    if (fused.space.getGroups(argument) >> column & 1) {
      if (gradient.bias)
        return gradient.refuse("it reads more than its scores and one mask");
      gradient.bias = argument;
    }
  if (gradient.bias && failed(gradient.setBias(found)))
    return failure();
  return found;
}
