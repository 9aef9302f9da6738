//===- ModelConfig.h - A Hugging Face config.json ---------------*- C++ -*-===//
//
// The front end's description of a model: the architecture fields of a config.json, checked and
// under common names.
//
//===----------------------------------------------------------------------===//

#ifndef ST_LIB_FRONTEND_MODELCONFIG_H
#define ST_LIB_FRONTEND_MODELCONFIG_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::st {

enum class ModelType {
  Bart,
  Bert,
  DistilBert,
  Gemma,
  Gpt2,
  GptNeoX,
  Llama,
  MegatronBert,
  MegatronGpt,
  Mistral,
  Mixtral,
  Opt,
  Phi,
  Qwen2,
  Qwen2Moe,
  Qwen3,
  Roberta,
  T5,
  Vit
};

/// The training task of the model, which determines its head and its loss.
enum class Task {
  /// `mlm`: masked tokens and whether the second sentence follows the first
  /// (BertForPreTraining); masked tokens alone for families without a head for sentences.
  MaskedLm,
  /// `span`: where the answer starts and ends (BertForQuestionAnswering).
  Span,
  /// `clm`: the next token (GPT2LMHeadModel, LlamaForCausalLM and their like, GPTModel of
  /// Megatron-LM).
  CausalLm,
  /// `seq2seq`: the tokens of a target, given a source (T5ForConditionalGeneration,
  /// BartForConditionalGeneration).
  Seq2Seq,
  /// `classify`: the class of an image or of a text (ViTForImageClassification,
  /// BertForSequenceClassification, LlamaForSequenceClassification and their like).
  Classify,
  /// `classify-tokens`: the class of each token (BertForTokenClassification and its like).
  ClassifyTokens,
  /// `encode`: no training; computes the last hidden states without dropout (BertModel).
  Encode
};

enum class Activation { Gelu, GeluTanh, QuickGelu, Relu, ReluSquared, Silu, Tanh };

/// The way in which a causal language model learns the order of its tokens, if its family has
/// several.
enum class PositionKind { Learned, Rotary, None };

/// The kind of the labels of images or texts, which determines the loss: the number of one class, a
/// probability of each class, or numbers to regress.
enum class Problem { SingleLabel, MultiLabel, Regression };

/// Rotary positions: the base of their wavelengths, and the scaling for texts longer than the
/// original ones.
struct RotaryPositions {
  enum Scaling { None, Linear, Llama3, Yarn } scaling = None;
  double theta = 10000.0;
  /// The part of each head that rotates.
  double fraction = 1.0;
  double factor = 1.0;
  /// For Llama3: the number of waves in `originalPositions` at which scaling is complete, and at
  /// which there is none.
  double lowFrequencyFactor = 0.0;
  double highFrequencyFactor = 0.0;
  int64_t originalPositions = 0;
  /// For Yarn. A frequency with more than `betaFast` periods in `originalPositions` is unchanged,
  /// and one with fewer than `betaSlow` is interpolated. The bounds between them may be rounded to
  /// integers. Rotated queries and keys are multiplied by a factor.
  double betaFast = 32.0;
  double betaSlow = 1.0;
  bool truncates = true;
  double attentionFactor = 1.0;
};

/// Layers whose MLP is a mixture of experts: a router chooses some of them for each token.
struct ExpertsConfig {
  /// Experts of a layer; 0 if the model has no such layers.
  int64_t count = 0;
  /// Experts that a token chooses, at most `count`.
  int64_t perToken = 0;
  int64_t intermediateSize = 0;
  /// The inner size of the shared expert, which every token uses in addition; 0 if there is none.
  int64_t sharedSize = 0;
  /// True if the weights of a token's experts add up to 1.
  bool normalizesWeights = true;
  /// The weight of the balance loss; 0 without one.
  double balanceCoefficient = 0.0;
  /// The weight of the router's z-loss; 0 without one.
  double zCoefficient = 0.0;
  /// True if the balance loss is a mean over sequences instead of one number for the batch.
  bool balancesSequences = false;
  /// Megatron-LM's balance loss: the sum over layers of their losses, divided by `perToken`. Each
  /// is a mean over groups of that many sequences; unset: transformers' loss. 0: one group.
  std::optional<int64_t> balanceGroup;
  /// Each expert takes at most this many times its even share of a sequence; all tokens if unset.
  std::optional<double> capacityFactor;
  /// True for each layer with experts. Layers beyond the last element are like the last one.
  std::vector<bool> layers;
};

/// The decoder of a model that also has an encoder; the encoder's sizes are in ModelConfig.
struct DecoderConfig {
  int64_t layerCount = 0;
  int64_t headCount = 0;
  int64_t intermediateSize = 0;
  /// The token that precedes the labels in the decoder's input.
  int64_t startToken = 0;
  /// The decoder's input after a label that is ignored.
  int64_t paddingToken = 0;
};

/// Biases of scores by the distance of two positions (Raffel et al., 2019).
struct RelativePositions {
  int64_t bucketCount = 0;
  /// Distances from here on share a bucket.
  int64_t maxDistance = 0;
};

/// Inputs of a causal language model per sequence, in addition to its tokens.
struct CausalInputs {
  bool prefix = false;    ///< prefix_length: positions that attend to each other both ways
  bool positions = false; ///< position_ids: the position of each token
  bool segments = false;  ///< segment_ids: tokens attend only to tokens of the same segment
};

/// The sides of an image or of a patch, in pixels.
struct Extent {
  int64_t height = 0;
  int64_t width = 0;
};

StringRef stringify(ModelType type);
StringRef stringify(Task task);
std::optional<Task> symbolizeTask(StringRef name);

/// The architecture of a model. Sizes are positive, probabilities in [0, 1). Fields that a model
/// does not use keep their defaults.
struct ModelConfig {
  ModelType type = ModelType::Bert;
  int64_t hiddenSize = 0;
  int64_t layerCount = 0;
  int64_t headCount = 0;
  /// Size of one head: hiddenSize / headCount unless the model sets it.
  int64_t headSize = 0;
  /// Number of heads of keys and values; divides headCount.
  int64_t keyValueHeadCount = 0;
  int64_t intermediateSize = 0;
  int64_t vocabSize = 0;
  /// Rows of the word embeddings and the output: vocabSize, padded to the model's multiple. No
  /// token uses a padding row, but softmax includes it.
  int64_t vocabRows = 0;
  int64_t positionCount = 0;
  /// Rows of the table of positions before the row of the first position.
  int64_t firstPosition = 0;
  /// Zero if the model has no token types.
  int64_t typeVocabSize = 0;
  /// The token whose row of the embeddings starts as zero and gets no gradient from lookups.
  std::optional<int64_t> paddingToken;
  /// The token that pads a text shorter than its row; unset if there is none.
  std::optional<int64_t> fillToken;
  Activation activation = Activation::Gelu;
  double embeddingDropout = 0.0;
  double attentionDropout = 0.0;
  double hiddenDropout = 0.0;
  double activationDropout = 0.0; ///< after the activation of an MLP
  double spanDropout = 0.0;       ///< before the head of `span`
  double classDropout = 0.0;      ///< in the head of `classify`
  double tokenClassDropout = 0.0; ///< before the head of `classify-tokens`
  double layerNormEpsilon = 0.0;
  double initializerRange = 0.0;
  double normInitialValue = 1.0; ///< of the weights of root mean square norms
  bool tieWordEmbeddings = true;
  /// True if the projections of queries, keys and values, of the output of attention and of the
  /// inner layers have a bias.
  bool attentionBias = true;
  bool attentionOutBias = true;
  bool mlpBias = true;
  /// True if scores are divided by the root of headSize, and those of layer i by i + 1.
  bool scalesAttention = true;
  bool scalesAttentionByLayer = false;
  /// True if layer i divides the products of queries and keys by i + 1, and multiplies the scores
  /// before softmax by it, so that the products do not overflow in 16 bits.
  bool scalesProductsByLayer = false;
  /// True if the scores are scaled instead of the queries. Not part of the file; if unset, the
  /// target decides. Saves passes over the queries and their gradients if scores are not stored.
  std::optional<bool> scalesScores;
  CausalInputs inputs; ///< Not part of the file.
  /// For families whose models differ in their blocks (megatron-gpt): norms divide by the root mean
  /// square, their weights are stored minus one, and the heads of queries and keys have separate
  /// norms.
  bool usesRmsNorm = false;
  bool storesNormsLessOne = false;
  bool normalizesHeads = false;
  /// For decoders: true if each block normalises the residual sums instead of the inputs of its
  /// branches; true if the output of the last block is normalised.
  bool normalizesSums = false;
  bool hasFinalNorm = true;
  /// For decoders: the size of the token embeddings and of the head's input, if projections change
  /// it from and to `hiddenSize`.
  std::optional<int64_t> embeddingSize;
  PositionKind positionKind = PositionKind::Learned;
  /// True if the initial values of layers that write to the residual stream are divided by the root
  /// of the number of these layers.
  bool scalesResidualInit = false;
  /// For encoders: the activation of the head for masked tokens; true if there are token types;
  /// true if there is a head for the next-sentence loss.
  Activation headActivation = Activation::Gelu;
  bool hasBinaryHead = true;
  RotaryPositions rotary;
  /// The number of positions that a token attends to, its own included; all before it if unset.
  std::optional<int64_t> slidingWindow;
  /// True for each layer that attends to the window; all do if empty.
  std::vector<bool> windowLayers;
  /// True if both branches of a block read the same input.
  bool hasParallelBranches = false;
  ExpertsConfig experts;
  DecoderConfig decoder;
  RelativePositions relativePositions;
  /// True if embeddings are multiplied by the root of hiddenSize, and the head's input divided by
  /// it.
  bool scalesEmbeddings = false;
  bool scalesHeadInput = false;
  /// True if a product of the same size is the gate of an MLP's inner layer.
  bool gatesMlp = false;
  /// patchSize divides imageSize.
  Extent imageSize;
  Extent patchSize;
  int64_t channelCount = 0;
  int64_t labelCount = 0;
  Problem problem = Problem::SingleLabel;
  /// The path of the configuration, for messages.
  std::string path;
  /// The original text of the configuration, with its model type added if it was missing.
  std::string json;

  bool hasWindow(int64_t layer) const {
    const auto last = static_cast<int64_t>(windowLayers.size()) - 1;
    return slidingWindow && (last < 0 || windowLayers[std::min(layer, last)]);
  }
  bool hasExperts(int64_t layer) const {
    const auto last = static_cast<int64_t>(experts.layers.size()) - 1;
    return experts.count > 0 && experts.layers[std::min(layer, last)];
  }
  /// Elements of each head that rotate.
  int64_t rotatedSize() const {
    return static_cast<int64_t>(static_cast<double>(headSize) * rotary.fraction);
  }
  /// Rows and columns of patches.
  Extent patchGrid() const {
    return {imageSize.height / patchSize.height, imageSize.width / patchSize.width};
  }
};

/// Parses the text of a config.json; `path` names it in messages. Each error is one diagnostic that
/// names the file, the key, the expected and the found value.
FailureOr<ModelConfig> parseModelConfig(StringRef json, StringRef path, MLIRContext *context);

/// Reads a config.json, or the one in the folder `path`.
FailureOr<ModelConfig> loadModelConfig(StringRef path, MLIRContext *context);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MODELCONFIG_H
