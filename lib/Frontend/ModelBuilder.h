//===- ModelBuilder.h - The layers of models ------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MODELBUILDER_H
#define ST_LIB_FRONTEND_MODELBUILDER_H

#include "dialects/St/IR/Signature.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "lib/Frontend/ModelConfig.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// The initial value of a parameter, as in the attribute `st.init`.
struct Init {
  enum Kind { Normal, Zeros, Ones, Constant } kind;
  double standardDeviation = 0.0;
  /// A row of a Normal matrix that starts as zero.
  std::optional<int64_t> zeroRow = std::nullopt;
  double value = 0.0; ///< of a Constant
};

/// The dimensions of a weight matrix: [out, in] for Linear layers, [in, out] for Conv1D layers.
enum class WeightLayout { OutIn, InOut };

struct DecoderFamily;
struct EncoderFamily;

/// A bias of scores [B, heads, S, T]: a value, or null, whose dimensions correspond to `dims` of
/// the scores.
struct ScoreBias {
  Value value;
  SmallVector<int64_t> dims;
};

/// Builds @main op by op. Parameters and batch arguments join the signature when they are first
/// requested, parameters before the batch.
class ModelBuilder : private OpBuilder::Listener {
public:
  /// `targetSequence`, if given, is the length of a decoder's sequences; else `sequence`.
  ModelBuilder(ModuleOp module, const ModelConfig &config, int64_t batch, int64_t sequence,
               std::optional<int64_t> targetSequence = std::nullopt);

  const ModelConfig &config;
  const int64_t batch;
  const int64_t sequence;
  const int64_t targetSequence;

private:
  OpBuilder builder;
  func::FuncOp function;
  Signature signature;

public:
  /// Emits at the end of @main, with the current block and scope.
  Emitter emit;

  /// During its lifetime, ops are named `<enclosing scopes>/<name>`.
  class Scope {
  public:
    Scope(ModelBuilder &model, const Twine &name);
    ~Scope();

  private:
    ModelBuilder &model;
    size_t outerLength;
    Location outerLoc;
  };
  /// The `st.block` of the following ops.
  void setBlock(int64_t index) { blockIndex = index; }

  Value parameter(const Twine &name, ArrayRef<int64_t> shape, Init init, bool decays = true);
  Value weight(const Twine &name, ArrayRef<int64_t> shape) {
    return parameter(name, shape, {Init::Normal, config.initializerRange});
  }
  /// A parameter that is not trained, but is saved in checkpoints.
  Value frozenParameter(const Twine &name, ArrayRef<int64_t> shape, Init init);
  /// A weight that tensor shards replicate.
  Value unshardedWeight(const Twine &name, ArrayRef<int64_t> shape);
  /// The weights `<name>` [...] of `count` equal parts of the model, stacked: [count, ...]. In
  /// checkpoints they are separate tensors, and the number of the part replaces the `*` in
  /// `name`.
  Value stackedWeight(const Twine &name, int64_t count, ArrayRef<int64_t> shape,
                      std::optional<double> standardDeviation = std::nullopt);
  /// An i32 argument with values in [0, limit).
  Value batchArgument(StringRef name, ArrayRef<int64_t> shape, int64_t limit);
  /// An f32 argument.
  Value batchArgument(StringRef name, ArrayRef<int64_t> shape);
  /// Makes @main also return the values given to `measure` and the counts, for an evaluation.
  void keepMeasures() { keepsMeasures = true; }
  /// Adds a result of an evaluation; otherwise does nothing.
  void measure(StringRef name, Value value);
  /// For an evaluation, returns the number of labels [...] that are not `ignored` as
  /// `<name>_count`, and the number of these whose logit in `logits` [..., C] is the largest as
  /// `<name>_correct`. Of equal logits the first counts.
  void measureCorrect(StringRef name, Value logits, Value labels, int64_t ignored);
  /// Ends @main with its results: the loss, or an output of that name, and the measured values.
  void finish(Value result, StringRef name = "loss", StringRef role = "loss");

  // Layers. Shapes: x is [..., H]. Each names its ops `<enclosing scopes>/<layer>`, such as
  // ".../softmax". A product with a weight has the name of the enclosing scope.

  /// x W^T + b (x W + b for InOut) with the parameters `<name>.weight` and
  /// `<name>.bias`.
  Value dense(Value x, const Twine &name, int64_t outSize, WeightLayout layout,
              std::optional<double> standardDeviation = std::nullopt, bool hasBias = true);
  /// Product of x with a [out, in] matrix over their last dimensions.
  Value project(Value x, Value matrix);
  Value addBias(Value x, const Twine &name);
  /// With the parameters `<name>.weight`, or one plus it, and `<name>.bias`.
  Value layerNorm(Value x, const Twine &name, bool isPlusOne = false);
  /// x / root mean square of x, times the parameter `<name>.weight`, or times one plus it.
  Value rmsNorm(Value x, const Twine &name, bool isPlusOne = false);
  Value activation(Value x, Activation kind);
  /// Along the last dimension.
  Value softmax(Value x);
  /// log(sum of exp(x)) along the last dimension.
  Value logSumExp(Value x);
  /// The parameter [vocabRows, H] of the token embeddings, or [vocabRows, embeddingSize]. The row
  /// of the padding token, if the model has one, starts as zero.
  Value tokenTable(const Twine &name);
  /// Rows of `table` [V, H] at `ids` [...]: [..., H]. No gradient flows to the row
  /// `padding`.
  Value embedding(Value table, Value ids, std::optional<int64_t> padding = std::nullopt);
  /// x [B, S, H] plus S rows of `table` [positions, H], from row `first`.
  Value addPositions(Value x, Value table, int64_t first = 0);
  /// Rows of `table` [R, n] at `ids` [...]: [..., n].
  Value gatherRows(Value table, Value ids);
  /// x + y, a branch and its residual connection.
  Value addResidual(Value x, Value y);
  /// Zeroes each element with the probability and scales the others up. Emits nothing if the
  /// probability is 0.
  Value dropout(Value x, double probability);
  /// Reshapes x [B, S, heads * d] to [B, S, heads, d]; the default d is that of the configuration.
  /// A value that is already split stays.
  Value splitHeads(Value x, std::optional<int64_t> size = std::nullopt);
  /// softmax(scale q k^T + bias) v over heads, with dropout; the default `scale` is 1 / sqrt(d). q,
  /// k and v are [B, S, heads * d], split or not; `bias`, if not null, broadcasts along `biasDims`
  /// to [B, heads, S, S]. Returns [B, S, heads * d]. If so configured, layer `layer`,
  /// counted from 0, divides the products by its number and multiplies the scores by it.
  Value attention(Value query, Value key, Value value, Value bias, ArrayRef<int64_t> biasDims,
                  std::optional<double> scale = std::nullopt, int64_t layer = 0);
  /// The same with several biases. Keys and values may have another length than queries.
  Value attention(Value query, Value key, Value value, ArrayRef<ScoreBias> biases,
                  std::optional<double> scale = std::nullopt, int64_t layer = 0);
  /// Standard deviation of the initial values of a layer that writes to the residual stream.
  double residualDeviation() const;
  /// A mask [S, S]: 0 where a position attends to another one. The lowest number for later
  /// positions, and for positions before its `window`, which includes the position itself. S is
  /// `length`, if given.
  Value causalBias(std::optional<int64_t> window = std::nullopt,
                   std::optional<int64_t> length = std::nullopt);
  /// 0 where `visible` is true, and the lowest number elsewhere.
  Value scoreBias(Value visible);
  /// The mean cross entropy of `logits` [..., C] over the labels [...] that are not `ignored`. A
  /// label outside of [0, C) selects no probability.
  Value crossEntropy(Value logits, Value labels, int64_t ignored);
  /// The mean cross entropy of sigmoid(`logits`) and the probabilities `labels`.
  Value binaryCrossEntropy(Value logits, Value labels);
  /// The mean square of the differences.
  Value squaredError(Value x, Value labels);
  /// The loss of the logits [B, labels] of images or texts and the batch's `labels`, as the
  /// configuration's problem_type specifies.
  Value classLoss(Value logits);
  /// The loss of the logits [B, S, labels] of tokens and the batch's `labels` [B, S].
  Value tokenClassLoss(Value logits);
  /// Broadcasts x to `shape`; its dimensions are the leading ones of `shape`.
  Value broadcastLeading(Value x, ArrayRef<int64_t> shape);

private:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint previous) override;
  /// [B, heads, S, T].
  Value attentionScores(Value query, Value key, double scale);
  Value maskScores(Value scores, Value bias, ArrayRef<int64_t> biasDims);
  /// [B, heads, S, d].
  Value attentionContext(Value probabilities, Value value);
  /// x [B, heads, S, d] as [B, S, heads * d].
  Value mergeHeads(Value x);
  Value mean(Value x);
  Value rngKey();
  Value insertBatch(ArrayRef<NamedAttribute> attrs, Type type);

  std::string scopePath;
  int64_t blockIndex = 0;
  unsigned parameterCount = 0;
  /// Numbers the dropouts of the model in program order.
  uint32_t dropoutSites = 0;
  Value rngKeyArgument;
  bool keepsMeasures = false;
  SmallVector<std::pair<std::string, Value>> measures;
};

/// The forward losses, one function per kind of model; each returns the result.
Value buildDecoder(ModelBuilder &model, const DecoderFamily &family, Task task);
Value buildEncoder(ModelBuilder &model, const EncoderFamily &family, Task task);
Value buildVit(ModelBuilder &model);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MODELBUILDER_H
