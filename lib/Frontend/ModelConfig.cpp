//===- ModelConfig.cpp - A Hugging Face config.json -----------------------===//

#include "lib/Frontend/ModelConfig.h"

#include "lib/Frontend/ConfigKeys.h"
#include "lib/Frontend/ModelReaders.h"
#include "lib/Frontend/Seq2Seq/Seq2SeqFamily.h"
#include "lib/Support/InputFile.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

StringRef mlir::st::stringify(ModelType type) {
  switch (type) {
  case ModelType::Bart:
    return "bart";
  case ModelType::Bert:
    return "bert";
  case ModelType::DistilBert:
    return "distilbert";
  case ModelType::Gemma:
    return "gemma";
  case ModelType::Gpt2:
    return "gpt2";
  case ModelType::GptNeoX:
    return "gpt_neox";
  case ModelType::Llama:
    return "llama";
  case ModelType::MegatronBert:
    return "megatron-bert";
  case ModelType::MegatronGpt:
    return "megatron-gpt";
  case ModelType::Mistral:
    return "mistral";
  case ModelType::Mixtral:
    return "mixtral";
  case ModelType::Opt:
    return "opt";
  case ModelType::Phi:
    return "phi";
  case ModelType::Qwen2:
    return "qwen2";
  case ModelType::Qwen2Moe:
    return "qwen2_moe";
  case ModelType::Qwen3:
    return "qwen3";
  case ModelType::Roberta:
    return "roberta";
  case ModelType::T5:
    return "t5";
  case ModelType::Vit:
    return "vit";
  }
  llvm_unreachable("unknown model type");
}

StringRef mlir::st::stringify(Task task) {
  switch (task) {
  case Task::MaskedLm:
    return "mlm";
  case Task::Span:
    return "span";
  case Task::CausalLm:
    return "clm";
  case Task::Seq2Seq:
    return "seq2seq";
  case Task::Classify:
    return "classify";
  case Task::ClassifyTokens:
    return "classify-tokens";
  case Task::Encode:
    return "encode";
  }
  llvm_unreachable("unknown task");
}

std::optional<Task> mlir::st::symbolizeTask(StringRef name) {
  return llvm::StringSwitch<std::optional<Task>>(name)
      .Case("mlm", Task::MaskedLm)
      .Case("span", Task::Span)
      .Case("clm", Task::CausalLm)
      .Case("seq2seq", Task::Seq2Seq)
      .Case("classify", Task::Classify)
      .Case("classify-tokens", Task::ClassifyTokens)
      .Case("encode", Task::Encode)
      .Default(std::nullopt);
}

std::optional<Activation> mlir::st::symbolizeActivation(StringRef name) {
  // Some functions have several names, for implementations that agree in f32.
  return llvm::StringSwitch<std::optional<Activation>>(name)
      .Cases({"gelu", "gelu_python"}, Activation::Gelu)
      .Cases({"gelu_new", "gelu_fast", "gelu_accurate", "gelu_pytorch_tanh", "gelu_python_tanh"},
             Activation::GeluTanh)
      .Case("quick_gelu", Activation::QuickGelu)
      .Case("relu", Activation::Relu)
      .Case("relu2", Activation::ReluSquared)
      .Cases({"silu", "swish"}, Activation::Silu)
      .Case("tanh", Activation::Tanh)
      .Default(std::nullopt);
}

Activation mlir::st::readActivation(ConfigReader &reader, StringRef key, StringRef fallback) {
  std::optional<Activation> activation = symbolizeActivation(reader.string(key, fallback));
  if (!activation)
    reader.unexpected(key, "one of gelu, gelu_accurate, gelu_fast, gelu_new, gelu_python, "
                           "gelu_python_tanh, gelu_pytorch_tanh, quick_gelu, relu, relu2, silu, "
                           "swish, tanh");
  return activation.value_or(Activation::Gelu);
}

void mlir::st::requireFlag(ConfigReader &reader, StringRef key, bool supported) {
  if (reader.boolean(key, supported) != supported)
    reader.error(key, "key '" + key + "': expected " + (supported ? "true" : "false") + ", found " +
                          (supported ? "false" : "true") +
                          ", an architecture that is not supported");
}

static void refuseUnsupportedCommon(ConfigReader &reader, ModelType type) {
  for (StringRef key : {"add_cross_attention", "is_decoder", "tie_encoder_decoder"})
    requireFlag(reader, key, false);
  requireFlag(reader, "is_encoder_decoder", findSeq2SeqFamily(type));
  const llvm::json::Value *pruned = reader.object().get("pruned_heads");
  if (!pruned || pruned->getAsNull())
    return;
  const llvm::json::Object *heads = pruned->getAsObject();
  if (!heads || !heads->empty())
    reader.unexpected("pruned_heads", "an empty object (pruned heads are not "
                                      "supported)");
}

std::optional<int64_t> mlir::st::readPaddingToken(ConfigReader &reader, int64_t vocabSize,
                                                  std::optional<int64_t> fallback) {
  const llvm::json::Value *value = reader.object().get("pad_token_id");
  if (!value)
    return fallback;
  if (value->getAsNull())
    return std::nullopt;
  std::optional<int64_t> token = value->getAsInteger();
  if (token && *token >= -vocabSize && *token < vocabSize)
    return *token < 0 ? *token + vocabSize : *token;
  reader.unexpected("pad_token_id",
                    "null or a token, at least -vocab_size and below vocab_size = " +
                        Twine(vocabSize));
  return std::nullopt;
}

/// The dropout of classification heads; null means the default.
static double readClassDropout(ConfigReader &reader, double fallback) {
  const llvm::json::Value *value = reader.object().get("classifier_dropout");
  return value && value->getAsNull() ? fallback
                                     : reader.probability("classifier_dropout", fallback);
}

/// The padding token is unset if its number is outside of the vocabulary.
static std::optional<int64_t> readFillToken(const ConfigReader &reader, const ModelConfig &config) {
  const llvm::json::Value *value = reader.object().get("pad_token_id");
  if (!value || config.paddingToken)
    return config.paddingToken;
  std::optional<int64_t> token = value->getAsInteger();
  return token && *token >= 0 && *token < config.vocabSize ? token : std::nullopt;
}

/// Defaults that differ between configurations of BERT and MegatronBERT.
struct BertSizes {
  int64_t hidden, layers, heads, intermediate, vocabulary;
};

static void readAnyBert(ConfigReader &reader, ModelConfig &config, const BertSizes &sizes) {
  config.hiddenSize = reader.size("hidden_size", sizes.hidden);
  config.layerCount = reader.size("num_hidden_layers", sizes.layers, kMaxLayers);
  config.headCount = reader.size("num_attention_heads", sizes.heads);
  config.intermediateSize = reader.size("intermediate_size", sizes.intermediate);
  config.vocabSize = reader.size("vocab_size", sizes.vocabulary);
  config.positionCount = reader.size("max_position_embeddings", 512);
  config.paddingToken = readPaddingToken(reader, config.vocabSize, 0);
  config.typeVocabSize = reader.size("type_vocab_size", 2);
  config.activation = readActivation(reader, "hidden_act", "gelu");
  config.headActivation = config.activation;
  config.hiddenDropout = reader.probability("hidden_dropout_prob", 0.1);
  config.embeddingDropout = config.hiddenDropout;
  config.attentionDropout = reader.probability("attention_probs_dropout_prob", 0.1);
  config.layerNormEpsilon = reader.positive("layer_norm_eps", 1e-12);
  config.classDropout = config.tokenClassDropout = readClassDropout(reader, config.hiddenDropout);
  if (reader.string("position_embedding_type", "absolute") != "absolute")
    reader.unexpected("position_embedding_type", "\"absolute\"");
}

static void readBert(ConfigReader &reader, ModelConfig &config) {
  readAnyBert(reader, config, {768, 12, 12, 3072, 30522});
}

static void readRoberta(ConfigReader &reader, ModelConfig &config) {
  readAnyBert(reader, config, {768, 12, 12, 3072, 50265});
  config.hasBinaryHead = false;
  config.headActivation = Activation::Gelu;
  config.paddingToken = readPaddingToken(reader, config.vocabSize, 1);
  // Position numbers start after the padding token's number.
  if (!config.paddingToken)
    return reader.unexpected("pad_token_id", "a token: position numbers start after it");
  config.firstPosition = *config.paddingToken + 1;
  if (config.positionCount <= config.firstPosition)
    reader.unexpected("max_position_embeddings",
                      "more than pad_token_id + 1 = " + Twine(config.firstPosition));
  config.positionCount -= config.firstPosition;
}

static void readDistilBert(ConfigReader &reader, ModelConfig &config) {
  config.hiddenSize = reader.size("dim", 768);
  config.layerCount = reader.size("n_layers", 6, kMaxLayers);
  config.headCount = reader.size("n_heads", 12);
  config.intermediateSize = reader.size("hidden_dim", 3072);
  config.vocabSize = reader.size("vocab_size", 30522);
  config.positionCount = reader.size("max_position_embeddings", 512);
  config.paddingToken = readPaddingToken(reader, config.vocabSize, 0);
  config.activation = config.headActivation = readActivation(reader, "activation", "gelu");
  config.hiddenDropout = config.embeddingDropout = reader.probability("dropout", 0.1);
  config.attentionDropout = reader.probability("attention_dropout", 0.1);
  config.spanDropout = reader.probability("qa_dropout", 0.1);
  config.classDropout = reader.probability("seq_classif_dropout", 0.2);
  config.tokenClassDropout = config.hiddenDropout;
  config.layerNormEpsilon = 1e-12;
  config.hasBinaryHead = false;
  requireFlag(reader, "sinusoidal_pos_embds", false);
}

void mlir::st::readVocabRows(ConfigReader &reader, ModelConfig &config) {
  const int64_t multiple = reader.sizeOrNull("make_vocab_size_divisible_by", 1);
  config.vocabRows = llvm::divideCeil(config.vocabSize, multiple) * multiple;
  if (config.vocabRows > INT32_MAX)
    reader.unexpected("make_vocab_size_divisible_by",
                      "a number that pads vocab_size = " + Twine(config.vocabSize) +
                          " to at most 2147483647 rows");
}

static void readMegatronBert(ConfigReader &reader, ModelConfig &config) {
  readAnyBert(reader, config, {1024, 24, 16, 4096, 29056});
  readVocabRows(reader, config);
  config.classDropout = config.tokenClassDropout = config.hiddenDropout;
  // Megatron-LM has this key, transformers' class does not.
  config.scalesProductsByLayer = reader.boolean("apply_query_key_layer_scaling", false);
  config.scalesResidualInit = reader.boolean("use_scaled_init_method", false);
  config.hasBinaryHead = reader.boolean("bert_binary_head", true);
  config.headActivation =
      readActivation(reader, "lm_head_act", reader.string("hidden_act", "gelu"));
}

/// The number of named labels, else the given number, else two.
static int64_t readLabelCount(ConfigReader &reader) {
  int64_t count = reader.sizeOrNull("num_labels", 2);
  const llvm::json::Value *names = reader.object().get("id2label");
  if (!names || names->getAsNull())
    return count;
  const llvm::json::Object *object = names->getAsObject();
  if (object && !object->empty())
    return object->size();
  reader.unexpected("id2label", "an object with a name for each label");
  return count;
}

/// A single label is a number by default.
static Problem readProblem(ConfigReader &reader, int64_t labelCount) {
  StringRef fallback = labelCount == 1 ? "regression" : "single_label_classification";
  auto problem = llvm::StringSwitch<std::optional<Problem>>(reader.string("problem_type", fallback))
                     .Case("single_label_classification", Problem::SingleLabel)
                     .Case("multi_label_classification", Problem::MultiLabel)
                     .Case("regression", Problem::Regression)
                     .Default(std::nullopt);
  if (!problem)
    reader.unexpected("problem_type", "\"single_label_classification\", "
                                      "\"multi_label_classification\" or \"regression\"");
  return problem.value_or(Problem::SingleLabel);
}

/// A number for both sides, or an array of height and width.
static Extent readExtent(ConfigReader &reader, StringRef key, int64_t fallback, int64_t limit) {
  const llvm::json::Value *value = reader.object().get(key);
  const llvm::json::Array *sides = value ? value->getAsArray() : nullptr;
  if (!sides) {
    const int64_t side = reader.size(key, fallback, limit);
    return {side, side};
  }
  SmallVector<int64_t> sizes;
  for (const llvm::json::Value &side : *sides)
    sizes.push_back(side.getAsInteger().value_or(0));
  if (sizes.size() == 2 && llvm::all_of(sizes, [&](int64_t s) { return s >= 1 && s <= limit; }))
    return {sizes[0], sizes[1]};
  reader.unexpected(key, "an integer from 1 to " + Twine(limit) + ", or an array of two of them");
  return {1, 1};
}

static void readVit(ConfigReader &reader, ModelConfig &config) {
  config.hiddenSize = reader.size("hidden_size", 768);
  config.layerCount = reader.size("num_hidden_layers", 12, kMaxLayers);
  config.headCount = reader.size("num_attention_heads", 12);
  config.intermediateSize = reader.size("intermediate_size", 3072);
  config.activation = readActivation(reader, "hidden_act", "gelu");
  config.hiddenDropout = reader.probability("hidden_dropout_prob", 0.0);
  config.embeddingDropout = config.hiddenDropout;
  config.attentionDropout = reader.probability("attention_probs_dropout_prob", 0.0);
  config.layerNormEpsilon = reader.positive("layer_norm_eps", 1e-12);
  // The product of two sizes counts elements in 32 bits.
  constexpr int64_t maxImageSize = 1 << 14;
  config.imageSize = readExtent(reader, "image_size", 224, maxImageSize);
  config.patchSize = readExtent(reader, "patch_size", 16, maxImageSize);
  config.channelCount = reader.size("num_channels", 3);
  config.attentionBias = reader.boolean("qkv_bias", true);
  const auto [height, width] = config.imageSize;
  if (height % config.patchSize.height != 0 || width % config.patchSize.width != 0)
    reader.unexpected("patch_size", "a divisor of image_size = " + Twine(height) +
                                        (height == width ? "" : " x " + std::to_string(width)));
}

/// The reader of a model's configuration.
namespace {
struct ModelReader {
  ModelType type;
  void (*read)(ConfigReader &, ModelConfig &);
  StringRef hiddenKey, headsKey;
  bool tiesByDefault;
  StringRef classPrefix; ///< of its classes in transformers; empty if there are none
};
} // namespace

static const ModelReader modelReaders[] = {
    {ModelType::Bart, readBart, "d_model", "encoder_attention_heads", true, "Bart"},
    {ModelType::Bert, readBert, "hidden_size", "num_attention_heads", true, "Bert"},
    {ModelType::DistilBert, readDistilBert, "dim", "n_heads", true, "DistilBert"},
    {ModelType::Gemma, readGemma, "hidden_size", "num_attention_heads", true, "Gemma"},
    {ModelType::Gpt2, readGpt2, "n_embd", "n_head", true, "GPT2"},
    {ModelType::GptNeoX, readGptNeoX, "hidden_size", "num_attention_heads", false, "GPTNeoX"},
    {ModelType::Llama, readLlama, "hidden_size", "num_attention_heads", false, "Llama"},
    {ModelType::MegatronBert, readMegatronBert, "hidden_size", "num_attention_heads", true,
     "MegatronBert"},
    {ModelType::MegatronGpt, readMegatronGpt, "hidden_size", "num_attention_heads", true, ""},
    {ModelType::Mistral, readMistral, "hidden_size", "num_attention_heads", false, "Mistral"},
    {ModelType::Mixtral, readMixtral, "hidden_size", "num_attention_heads", false, "Mixtral"},
    {ModelType::Opt, readOpt, "hidden_size", "num_attention_heads", true, "OPT"},
    {ModelType::Phi, readPhi, "hidden_size", "num_attention_heads", false, "Phi"},
    {ModelType::Qwen2, readQwen2, "hidden_size", "num_attention_heads", false, "Qwen2"},
    {ModelType::Qwen2Moe, readQwen2Moe, "hidden_size", "num_attention_heads", false, "Qwen2Moe"},
    {ModelType::Qwen3, readQwen3, "hidden_size", "num_attention_heads", false, "Qwen3"},
    {ModelType::Roberta, readRoberta, "hidden_size", "num_attention_heads", true, "Roberta"},
    {ModelType::T5, readT5, "d_model", "num_heads", true, "T5"},
    {ModelType::Vit, readVit, "hidden_size", "num_attention_heads", true, "ViT"},
};

/// The model of a class of transformers, such as BertForMaskedLM; null if there is none.
static const ModelReader *findByClass(StringRef name) {
  const ModelReader *found = llvm::find_if(modelReaders, [&](const ModelReader &model) {
    StringRef rest = name;
    // A longer name may be that of another model, such as Phi3ForCausalLM.
    return !model.classPrefix.empty() && rest.consume_front(model.classPrefix) &&
           llvm::any_of(ArrayRef<StringRef>{"DoubleHeadsModel", "For", "LMHeadModel", "Model"},
                        [&](StringRef kind) { return rest.starts_with(kind); });
  });
  return found == std::end(modelReaders) ? nullptr : found;
}

/// The model of a configuration that predates `model_type`, which a warning names: that of its
/// classes, or BERT if it names no class but has a key that only BERT and its successors have. Null
/// if the configuration does not identify the model, or after an error.
static const ModelReader *assumeModel(ConfigReader &reader) {
  const llvm::json::Array *classes = reader.object().getArray("architectures");
  const ModelReader *model = nullptr;
  StringRef key = "architectures";
  if (classes && !classes->empty()) {
    for (const llvm::json::Value &name : *classes) {
      const ModelReader *found = findByClass(name.getAsString().value_or(""));
      if (!found || (model && found != model)) {
        reader.unexpected(key, "classes of one supported model, because there is no model_type");
        return nullptr;
      }
      model = found;
    }
  } else if (reader.object().get("type_vocab_size")) {
    key = "type_vocab_size";
    model = findByClass("BertModel");
  }
  if (model)
    reader.warning(key, "there is no key 'model_type'; assumed \"" + stringify(model->type) +
                            "\" because of key '" + key + "'");
  return model;
}

/// Derives the size of a head if the model does not set it.
static void deriveHeadSize(ConfigReader &reader, const ModelReader &model, ModelConfig &config) {
  if (config.headSize == 0) {
    if (config.hiddenSize % config.headCount != 0)
      reader.unexpected(model.headsKey,
                        "a divisor of " + model.hiddenKey + " = " + Twine(config.hiddenSize));
    config.headSize = config.hiddenSize / config.headCount;
  }
  if (config.keyValueHeadCount == 0)
    config.keyValueHeadCount = config.headCount;
  const int64_t rotated = config.rotatedSize();
  if (!isDecoder(config.type) || !describeDecoder(config).hasRotaryPositions ||
      (rotated >= 2 && rotated % 2 == 0))
    return;
  const std::string part = config.rotary.fraction == 1.0
                               ? ""
                               : " and " + std::to_string(rotated) + " elements of a head rotate";
  reader.error("head_dim", "head_dim (or hidden_size / num_attention_heads) is " +
                               Twine(config.headSize) + part +
                               (part.empty() ? "; rotary positions need heads of an even size"
                                             : "; rotary positions need an even number"));
}

FailureOr<ModelConfig> mlir::st::parseModelConfig(StringRef json, StringRef path,
                                                  MLIRContext *context) {
  ConfigReader reader(json, path, context);
  const ModelReader *assumed = reader.object().get("model_type") ? nullptr : assumeModel(reader);
  StringRef type = reader.string("model_type", assumed ? stringify(assumed->type) : "");
  ModelConfig config;
  const ModelReader *model = llvm::find_if(
      modelReaders, [&](const ModelReader &model) { return stringify(model.type) == type; });
  if (model == std::end(modelReaders))
    reader.unexpected("model_type",
                      "one of " + llvm::join(llvm::map_range(modelReaders,
                                                             [](const ModelReader &model) {
                                                               return stringify(model.type);
                                                             }),
                                             ", "));
  if (reader.failed())
    return failure();

  config.type = model->type;
  config.initializerRange = reader.positive("initializer_range", 0.02);
  model->read(reader, config);
  if (config.vocabRows == 0)
    config.vocabRows = config.vocabSize;
  config.tieWordEmbeddings = reader.boolean("tie_word_embeddings", model->tiesByDefault);
  config.fillToken = readFillToken(reader, config);
  if (isDecoder(config.type))
    config.tokenClassDropout = readClassDropout(reader, 0.1);
  config.labelCount = readLabelCount(reader);
  config.problem = readProblem(reader, config.labelCount);
  refuseUnsupportedCommon(reader, config.type);
  reader.checkKeys(keysOf(config.type));
  if (reader.failed())
    return failure();
  deriveHeadSize(reader, *model, config);
  if (reader.failed())
    return failure();

  config.path = path.str();
  // The original text, which checkpoints return.
  config.json = json.str();
  if (assumed)
    config.json.insert(json.find('{') + 1, ("\"model_type\": \"" + type + "\", ").str());
  return config;
}

FailureOr<ModelConfig> mlir::st::loadModelConfig(StringRef path, MLIRContext *context) {
  SmallString<256> file(path);
  if (llvm::sys::fs::is_directory(path))
    llvm::sys::path::append(file, "config.json");
  auto text = ::st::readInputFile(file.str().str(), ::st::kMaxConfigBytes);
  if (!text.ok())
    return emitError(FileLineColLoc::get(context, file, 1, 1))
           << "cannot read the model's configuration: " << std::string(text.status().message());
  return parseModelConfig(*text, file, context);
}
