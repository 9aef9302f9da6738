//===- ModelConfig.h - A Hugging Face config.json ---------------*- C++ -*-===//
//
// What the front end knows of a model: the architecture fields of a
// config.json, checked and under one set of names.
//
//===----------------------------------------------------------------------===//

#ifndef ST_LIB_FRONTEND_MODELCONFIG_H
#define ST_LIB_FRONTEND_MODELCONFIG_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mlir::st {

enum class ModelType { Bert, Gpt2, Llama, MegatronBert, MegatronGpt, Vit };

/// What the model is trained to do, which decides its head and its loss.
enum class Task {
  /// `mlm`: masked tokens and whether the second sentence follows the first
  /// (BertForPreTraining).
  MaskedLm,
  /// `span`: where the answer starts and ends (BertForQuestionAnswering).
  Span,
  /// `clm`: the next token (GPT2LMHeadModel, LlamaForCausalLM, GPTModel of Megatron-LM).
  CausalLm,
  /// `classify`: what a picture shows (ViTForImageClassification).
  Classify,
  /// `encode`: nothing; the last hidden states without dropout (BertModel).
  Encode
};

enum class Activation { Gelu, GeluTanh, QuickGelu, Relu, Silu, Tanh };

/// What the labels of a picture are, which decides the loss: the number of one
/// class, a probability of each class, or numbers to come close to.
enum class Problem { SingleLabel, MultiLabel, Regression };

/// Rotary positions: the base of their wave lengths, and how these are stretched
/// for texts longer than those the model first saw.
struct RotaryPositions {
  enum Scaling { None, Linear, Llama3 } scaling = None;
  double theta = 10000.0;
  double factor = 1.0;
  /// Of Llama3: how many waves fit into `originalPositions` where the stretching is
  /// full and where there is none.
  double lowFrequencyFactor = 0.0;
  double highFrequencyFactor = 0.0;
  int64_t originalPositions = 0;
};

/// The sides of a picture or of a patch, in pixels.
struct Extent {
  int64_t height = 0;
  int64_t width = 0;
};

StringRef stringify(ModelType type);
StringRef stringify(Task task);
std::optional<Task> symbolizeTask(StringRef name);

/// The architecture of a model. Sizes are positive, probabilities in [0, 1).
/// Fields that a model does not have keep their defaults.
struct ModelConfig {
  ModelType type = ModelType::Bert;
  int64_t hiddenSize = 0;
  int64_t layerCount = 0;
  int64_t headCount = 0;
  /// Of one head: hiddenSize / headCount unless the model says otherwise.
  int64_t headSize = 0;
  /// Heads of keys and values; divides headCount.
  int64_t keyValueHeadCount = 0;
  int64_t intermediateSize = 0;
  int64_t vocabSize = 0;
  /// Of the word embeddings and the output: vocabSize, or the next multiple of what the
  /// model pads it to. No token stands for the padding, but softmax counts it.
  int64_t vocabRows = 0;
  int64_t positionCount = 0;
  /// Zero where the model has no token types.
  int64_t typeVocabSize = 0;
  /// Its row of the embeddings starts as zero, and looking it up gives it no gradient.
  std::optional<int64_t> paddingToken;
  Activation activation = Activation::Gelu;
  double embeddingDropout = 0.0;
  double attentionDropout = 0.0;
  double hiddenDropout = 0.0;
  double layerNormEpsilon = 0.0;
  double initializerRange = 0.0;
  bool tieWordEmbeddings = true;
  /// Whether the projections of attention (of queries, keys and values alone in a
  /// vit) and of the inner layers have a bias.
  bool attentionBias = true;
  bool mlpBias = true;
  /// Whether scores are divided by the root of headSize, and those of layer i by i + 1.
  bool scalesAttention = true;
  bool scalesAttentionByLayer = false;
  /// Whether the products of queries and keys of layer i are divided by i + 1, and the scores that
  /// softmax takes multiplied by it: in 16 bits the products then do not overflow.
  bool scalesProductsByLayer = false;
  /// Whether layers that write to the residual stream start smaller, by the root of how many
  /// there are.
  bool scalesResidualInit = false;
  /// Of a BERT: what its head for masked tokens computes, and whether there are token types and a
  /// head that says whether the second sentence follows the first.
  Activation headActivation = Activation::Gelu;
  bool hasBinaryHead = true;
  RotaryPositions rotary;
  /// patchSize divides imageSize.
  Extent imageSize;
  Extent patchSize;
  int64_t channelCount = 0;
  int64_t labelCount = 0;
  Problem problem = Problem::SingleLabel;
  /// Where the configuration was read, for messages.
  std::string path;
  /// The configuration as it was written, with its model type where that was missing.
  std::string json;

  /// Rows and columns of patches.
  Extent patchGrid() const {
    return {imageSize.height / patchSize.height, imageSize.width / patchSize.width};
  }
};

/// Parses the text of a config.json; `path` names it in messages. Each error is
/// one diagnostic that names the file, the key, and what was expected and found.
FailureOr<ModelConfig> parseModelConfig(StringRef json, StringRef path, MLIRContext *context);

/// Reads a config.json, or the one in the folder `path`.
FailureOr<ModelConfig> loadModelConfig(StringRef path, MLIRContext *context);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MODELCONFIG_H
