//===- ModelReaders.h - Readers of each model's configuration ---*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MODELREADERS_H
#define ST_LIB_FRONTEND_MODELREADERS_H

#include "lib/Frontend/ConfigReader.h"
#include "lib/Frontend/ModelConfig.h"

namespace mlir::st {

/// Every layer becomes hundreds of ops.
constexpr int64_t kMaxLayers = 1024;
/// Every choice of a token becomes a dozen ops in each layer.
constexpr int64_t kMaxChoices = 64;
/// A layer has a number for each token and expert.
constexpr int64_t kMaxExperts = 1 << 16;

/// Returns the activation function with that name in transformers.
std::optional<Activation> symbolizeActivation(StringRef name);
Activation readActivation(ConfigReader &reader, StringRef key, StringRef fallback);

/// Reports a flag that selects an unsupported architecture.
void requireFlag(ConfigReader &reader, StringRef key, bool supported);

/// The padding token; negative numbers count from the end of the vocabulary, as in PyTorch's
/// `padding_idx`.
std::optional<int64_t> readPaddingToken(ConfigReader &reader, int64_t vocabSize,
                                        std::optional<int64_t> fallback);

/// Reads the padded number of vocabulary rows. Megatron-LM multiplies the divisor by the number of
/// tensor shards. Here the key already contains the product, because the model does not depend on
/// the layout.
void readVocabRows(ConfigReader &reader, ModelConfig &config);

// The decoders, each with the defaults of its class in transformers or Megatron-LM.
void readGemma(ConfigReader &reader, ModelConfig &config);
void readGpt2(ConfigReader &reader, ModelConfig &config);
void readGptNeoX(ConfigReader &reader, ModelConfig &config);
void readLlama(ConfigReader &reader, ModelConfig &config);
void readMegatronGpt(ConfigReader &reader, ModelConfig &config);
void readMistral(ConfigReader &reader, ModelConfig &config);
void readMixtral(ConfigReader &reader, ModelConfig &config);
void readOpt(ConfigReader &reader, ModelConfig &config);
void readPhi(ConfigReader &reader, ModelConfig &config);
void readQwen2(ConfigReader &reader, ModelConfig &config);
void readQwen2Moe(ConfigReader &reader, ModelConfig &config);
void readQwen3(ConfigReader &reader, ModelConfig &config);

// Models with an encoder and a decoder.
void readBart(ConfigReader &reader, ModelConfig &config);
void readT5(ConfigReader &reader, ModelConfig &config);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MODELREADERS_H
