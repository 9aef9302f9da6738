//===- ModelConfig.cpp - A Hugging Face config.json -----------------------===//

#include "lib/Frontend/ModelConfig.h"

#include "lib/Frontend/ConfigReader.h"
#include "lib/Support/InputFile.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

StringRef mlir::st::stringify(ModelType type) {
  switch (type) {
  case ModelType::Bert:
    return "bert";
  case ModelType::Gpt2:
    return "gpt2";
  case ModelType::Llama:
    return "llama";
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
  case Task::Classify:
    return "classify";
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
      .Case("classify", Task::Classify)
      .Case("encode", Task::Encode)
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

// Keys that any Hugging Face configuration may carry and that change nothing
// about the training step: how the model was saved, what is printed, how text
// is generated, what a classifier's labels are called. What is not read has its type
// all the same.
constexpr KnownKey commonKeys[] = {{"architectures", KeyType::Array},
                                   {"auto_map", KeyType::Object},
                                   {"bad_words_ids", KeyType::Array},
                                   {"begin_suppress_tokens", KeyType::Array},
                                   {"bos_token_id", KeyType::Number},
                                   {"chunk_size_feed_forward", KeyType::Number},
                                   {"classifier_dropout", KeyType::Number},
                                   {"decoder_start_token_id", KeyType::Number},
                                   {"diversity_penalty", KeyType::Number},
                                   {"do_lower_case", KeyType::Flag},
                                   {"do_sample", KeyType::Flag},
                                   {"dtype", KeyType::FloatType},
                                   {"early_stopping", KeyType::FlagOrString},
                                   {"encoder_no_repeat_ngram_size", KeyType::Number},
                                   {"eos_token_id", KeyType::Numbers},
                                   {"exponential_decay_length_penalty", KeyType::Array},
                                   {"finetuning_task", KeyType::String},
                                   {"forced_bos_token_id", KeyType::Number},
                                   {"forced_eos_token_id", KeyType::Numbers},
                                   {"gradient_checkpointing", KeyType::Flag},
                                   {"id2label", KeyType::Object},
                                   {"label2id", KeyType::Object},
                                   {"length_penalty", KeyType::Number},
                                   {"max_length", KeyType::Number},
                                   {"min_length", KeyType::Number},
                                   {"model_type"},
                                   {"name_or_path", KeyType::String},
                                   {"no_repeat_ngram_size", KeyType::Number},
                                   {"num_beam_groups", KeyType::Number},
                                   {"num_beams", KeyType::Number},
                                   {"num_labels", KeyType::Number},
                                   {"num_return_sequences", KeyType::Number},
                                   {"output_attentions", KeyType::Flag},
                                   {"output_hidden_states", KeyType::Flag},
                                   {"output_past", KeyType::Flag},
                                   {"output_scores", KeyType::Flag},
                                   {"pad_token_id", KeyType::Number},
                                   {"prefix", KeyType::String},
                                   {"problem_type", KeyType::String},
                                   {"remove_invalid_values", KeyType::Flag},
                                   {"repetition_penalty", KeyType::Number},
                                   {"return_dict", KeyType::Flag},
                                   {"return_dict_in_generate", KeyType::Flag},
                                   {"sep_token_id", KeyType::Number},
                                   {"suppress_tokens", KeyType::Array},
                                   {"task_specific_params", KeyType::Object},
                                   {"temperature", KeyType::Number},
                                   {"tf_legacy_loss", KeyType::Flag},
                                   {"tie_word_embeddings"},
                                   {"tokenizer_class", KeyType::String},
                                   {"top_k", KeyType::Number},
                                   {"top_p", KeyType::Number},
                                   {"torch_dtype", KeyType::FloatType},
                                   {"torchscript", KeyType::Flag},
                                   {"transformers_version", KeyType::String},
                                   {"typical_p", KeyType::Number},
                                   {"use_bfloat16", KeyType::Flag},
                                   {"use_cache", KeyType::Flag},
                                   // Refused by value below.
                                   {"add_cross_attention"},
                                   {"cross_attention_hidden_size", KeyType::Number},
                                   {"is_encoder_decoder"},
                                   {"is_decoder"},
                                   {"pruned_heads"},
                                   {"tie_encoder_decoder"}};

constexpr KnownKey bertKeys[] = {{"attention_probs_dropout_prob"},
                                 {"hidden_act"},
                                 {"hidden_dropout_prob"},
                                 {"hidden_size"},
                                 {"initializer_range"},
                                 {"intermediate_size"},
                                 {"layer_norm_eps"},
                                 {"max_position_embeddings"},
                                 {"num_attention_heads"},
                                 {"num_hidden_layers"},
                                 {"position_embedding_type"},
                                 {"type_vocab_size"},
                                 {"vocab_size"},
                                 // Left by the original TensorFlow configurations and never read.
                                 {"directionality", KeyType::String},
                                 {"pooler_fc_size", KeyType::Number},
                                 {"pooler_num_attention_heads", KeyType::Number},
                                 {"pooler_num_fc_layers", KeyType::Number},
                                 {"pooler_size_per_head", KeyType::Number},
                                 {"pooler_type", KeyType::String}};

constexpr KnownKey gpt2Keys[] = {{"activation_function"},
                                 {"attn_pdrop"},
                                 {"embd_pdrop"},
                                 {"initializer_range"},
                                 {"layer_norm_epsilon"},
                                 {"n_embd"},
                                 {"n_head"},
                                 {"n_inner"},
                                 {"n_layer"},
                                 {"n_positions"},
                                 {"resid_pdrop"},
                                 {"vocab_size"},
                                 {"scale_attn_weights"},
                                 {"scale_attn_by_inverse_layer_idx"},
                                 {"reorder_and_upcast_attn", KeyType::Flag},
                                 // Never read, or read by heads that no task here has.
                                 {"n_ctx", KeyType::Number},
                                 {"summary_activation", KeyType::String},
                                 {"summary_first_dropout", KeyType::Number},
                                 {"summary_proj_to_labels", KeyType::Flag},
                                 {"summary_type", KeyType::String},
                                 {"summary_use_proj", KeyType::Flag}};

constexpr KnownKey llamaKeys[] = {{"attention_bias"},
                                  {"attention_dropout"},
                                  {"head_dim"},
                                  {"hidden_act"},
                                  {"hidden_size"},
                                  {"initializer_range"},
                                  {"intermediate_size"},
                                  {"max_position_embeddings"},
                                  {"mlp_bias"},
                                  {"num_attention_heads"},
                                  {"num_hidden_layers"},
                                  {"num_key_value_heads"},
                                  {"rms_norm_eps"},
                                  {"rope_parameters"},
                                  {"rope_scaling"},
                                  {"rope_theta"},
                                  {"vocab_size"},
                                  // How the same products are cut in parts.
                                  {"pretraining_tp", KeyType::Number}};

constexpr KnownKey vitKeys[] = {{"attention_probs_dropout_prob"},
                                {"hidden_act"},
                                {"hidden_dropout_prob"},
                                {"hidden_size"},
                                {"image_size"},
                                {"initializer_range"},
                                {"intermediate_size"},
                                {"layer_norm_eps"},
                                {"num_attention_heads"},
                                {"num_channels"},
                                {"num_hidden_layers"},
                                {"patch_size"},
                                {"qkv_bias"},
                                // Read by heads that no task here has.
                                {"encoder_stride", KeyType::Number},
                                {"pooler_act", KeyType::String},
                                {"pooler_output_size", KeyType::Number}};

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

static Activation readActivation(ConfigReader &reader, StringRef key, StringRef fallback) {
  StringRef name = reader.string(key, fallback);
  auto activation = llvm::StringSwitch<std::optional<Activation>>(name)
                        .Case("gelu", Activation::Gelu)
                        .Cases({"gelu_new", "gelu_pytorch_tanh"}, Activation::GeluTanh)
                        .Case("relu", Activation::Relu)
                        .Cases({"silu", "swish"}, Activation::Silu)
                        .Case("tanh", Activation::Tanh)
                        .Default(std::nullopt);
  if (!activation)
    reader.unexpected(key, "one of gelu, gelu_new, gelu_pytorch_tanh, relu, "
                           "silu, swish, tanh");
  return activation.value_or(Activation::Gelu);
}

/// Refuses a flag that changes the architecture into one not built here.
static void requireFlag(ConfigReader &reader, StringRef key, bool supported) {
  if (reader.boolean(key, supported) != supported)
    reader.error(key, "key '" + key + "': expected " + (supported ? "true" : "false") + ", found " +
                          (supported ? "false" : "true") +
                          ", an architecture that is not supported");
}

static void refuseUnsupportedCommon(ConfigReader &reader) {
  for (StringRef key :
       {"add_cross_attention", "is_encoder_decoder", "is_decoder", "tie_encoder_decoder"})
    requireFlag(reader, key, false);
  const llvm::json::Value *pruned = reader.object().get("pruned_heads");
  if (!pruned || pruned->getAsNull())
    return;
  const llvm::json::Object *heads = pruned->getAsObject();
  if (!heads || !heads->empty())
    reader.unexpected("pruned_heads", "an empty object (pruned heads are not "
                                      "supported)");
}

/// Every layer becomes some hundreds of ops.
constexpr int64_t maxLayers = 1024;

/// The padding token, whose number may count from the end of the vocabulary, as
/// PyTorch's `padding_idx` does.
static std::optional<int64_t> readPaddingToken(ConfigReader &reader, int64_t vocabSize,
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

static void readBert(ConfigReader &reader, ModelConfig &config) {
  config.type = ModelType::Bert;
  config.hiddenSize = reader.size("hidden_size");
  config.layerCount = reader.size("num_hidden_layers", std::nullopt, maxLayers);
  config.headCount = reader.size("num_attention_heads");
  config.intermediateSize = reader.size("intermediate_size");
  config.vocabSize = reader.size("vocab_size");
  config.positionCount = reader.size("max_position_embeddings");
  config.paddingToken = readPaddingToken(reader, config.vocabSize, 0);
  config.typeVocabSize = reader.size("type_vocab_size", 2);
  config.activation = readActivation(reader, "hidden_act", "gelu");
  config.hiddenDropout = reader.probability("hidden_dropout_prob", 0.1);
  config.embeddingDropout = config.hiddenDropout;
  config.attentionDropout = reader.probability("attention_probs_dropout_prob", 0.1);
  config.layerNormEpsilon = reader.positive("layer_norm_eps", 1e-12);
  if (reader.string("position_embedding_type", "absolute") != "absolute")
    reader.unexpected("position_embedding_type", "\"absolute\"");
}

static void readGpt2(ConfigReader &reader, ModelConfig &config) {
  config.type = ModelType::Gpt2;
  config.hiddenSize = reader.size("n_embd");
  config.layerCount = reader.size("n_layer", std::nullopt, maxLayers);
  config.headCount = reader.size("n_head");
  config.intermediateSize = reader.size("n_inner", 4 * config.hiddenSize);
  config.vocabSize = reader.size("vocab_size");
  config.positionCount = reader.size("n_positions");
  config.activation = readActivation(reader, "activation_function", "gelu_new");
  config.embeddingDropout = reader.probability("embd_pdrop", 0.1);
  config.attentionDropout = reader.probability("attn_pdrop", 0.1);
  config.hiddenDropout = reader.probability("resid_pdrop", 0.1);
  config.layerNormEpsilon = reader.positive("layer_norm_epsilon", 1e-5);
  requireFlag(reader, "scale_attn_weights", true);
  requireFlag(reader, "scale_attn_by_inverse_layer_idx", false);
}

/// Refuses rotary positions that are scaled: the object of `key` may name the type
/// "default" and `otherKey`, nothing else.
static void refuseRotaryScaling(ConfigReader &reader, StringRef key, StringRef otherKey = "") {
  const llvm::json::Value *value = reader.object().get(key);
  if (!value || value->getAsNull())
    return;
  const llvm::json::Object *fields = value->getAsObject();
  if (!fields)
    return reader.unexpected(key, "an object or null");
  for (StringRef typeKey : {"rope_type", "type"})
    if (std::optional<StringRef> type = fields->getString(typeKey); type && *type != "default")
      return reader.error(key, "key '" + key + "': expected " + typeKey + " \"default\", found \"" +
                                   *type + "\", a scaling that is not supported");
  for (const auto &field : *fields)
    if (!llvm::is_contained({StringRef("rope_type"), StringRef("type"), otherKey},
                            StringRef(field.first)))
      return reader.unexpected(key, "no scaling of rotary positions");
}

/// The base of the rotary positions, which recent configurations keep in an object
/// of their own.
static double readRotary(ConfigReader &reader) {
  double theta = reader.positive("rope_theta", 10000.0);
  refuseRotaryScaling(reader, "rope_scaling");
  refuseRotaryScaling(reader, "rope_parameters", "rope_theta");
  const llvm::json::Value *parameters = reader.object().get("rope_parameters");
  const llvm::json::Object *fields = parameters ? parameters->getAsObject() : nullptr;
  const llvm::json::Value *base = fields ? fields->get("rope_theta") : nullptr;
  if (!base)
    return theta;
  std::optional<double> number = base->getAsNumber();
  if (number && *number > 0.0 && std::isfinite(*number))
    return *number;
  reader.unexpected("rope_parameters", "a rope_theta above 0");
  return theta;
}

static void readLlama(ConfigReader &reader, ModelConfig &config) {
  config.type = ModelType::Llama;
  config.hiddenSize = reader.size("hidden_size");
  config.layerCount = reader.size("num_hidden_layers", std::nullopt, maxLayers);
  config.headCount = reader.size("num_attention_heads");
  config.keyValueHeadCount = reader.size("num_key_value_heads", config.headCount);
  // 0 stands for what follows from the other sizes.
  config.headSize = reader.size("head_dim", 0);
  config.intermediateSize = reader.size("intermediate_size");
  config.vocabSize = reader.size("vocab_size");
  config.paddingToken = readPaddingToken(reader, config.vocabSize, std::nullopt);
  config.positionCount = reader.size("max_position_embeddings", 2048);
  config.activation = readActivation(reader, "hidden_act", "silu");
  config.attentionDropout = reader.probability("attention_dropout", 0.0);
  config.layerNormEpsilon = reader.positive("rms_norm_eps", 1e-6);
  config.ropeTheta = readRotary(reader);
  config.attentionBias = reader.boolean("attention_bias", false);
  config.mlpBias = reader.boolean("mlp_bias", false);
  if (config.headCount % config.keyValueHeadCount != 0)
    reader.unexpected("num_key_value_heads",
                      "a divisor of num_attention_heads = " + Twine(config.headCount));
}

/// As many labels as are named, else as many as are counted, else two.
static int64_t readLabelCount(ConfigReader &reader) {
  int64_t count = reader.size("num_labels", 2);
  const llvm::json::Value *names = reader.object().get("id2label");
  if (!names || names->getAsNull())
    return count;
  const llvm::json::Object *object = names->getAsObject();
  if (object && !object->empty())
    return object->size();
  reader.unexpected("id2label", "an object with a name for each label");
  return count;
}

static void readVit(ConfigReader &reader, ModelConfig &config) {
  config.type = ModelType::Vit;
  config.hiddenSize = reader.size("hidden_size", 768);
  config.layerCount = reader.size("num_hidden_layers", 12, maxLayers);
  config.headCount = reader.size("num_attention_heads", 12);
  config.intermediateSize = reader.size("intermediate_size", 3072);
  config.activation = readActivation(reader, "hidden_act", "gelu");
  config.hiddenDropout = reader.probability("hidden_dropout_prob", 0.0);
  config.embeddingDropout = config.hiddenDropout;
  config.attentionDropout = reader.probability("attention_probs_dropout_prob", 0.0);
  config.layerNormEpsilon = reader.positive("layer_norm_eps", 1e-12);
  // Squares of it count elements in 32 bits.
  constexpr int64_t maxImageSize = 1 << 14;
  config.imageSize = reader.size("image_size", 224, maxImageSize);
  config.patchSize = reader.size("patch_size", 16);
  config.channelCount = reader.size("num_channels", 3);
  config.attentionBias = reader.boolean("qkv_bias", true);
  config.labelCount = readLabelCount(reader);
  if (config.imageSize % config.patchSize != 0)
    reader.unexpected("patch_size", "a divisor of image_size = " + Twine(config.imageSize));
}

/// The keys of a model, and the function that reads them.
namespace {
struct ModelReader {
  StringRef type;
  void (*read)(ConfigReader &, ModelConfig &);
  ArrayRef<KnownKey> keys;
  StringRef hiddenKey, headsKey;
  bool tiesByDefault;
};
} // namespace

static const ModelReader modelReaders[] = {
    {"bert", readBert, bertKeys, "hidden_size", "num_attention_heads", true},
    {"gpt2", readGpt2, gpt2Keys, "n_embd", "n_head", true},
    {"llama", readLlama, llamaKeys, "hidden_size", "num_attention_heads", false},
    {"vit", readVit, vitKeys, "hidden_size", "num_attention_heads", true},
};

/// The size of a head where the model does not give it.
static void deriveHeadSize(ConfigReader &reader, const ModelReader &model, ModelConfig &config) {
  if (config.headSize == 0) {
    if (config.hiddenSize % config.headCount != 0)
      reader.unexpected(model.headsKey,
                        "a divisor of " + model.hiddenKey + " = " + Twine(config.hiddenSize));
    config.headSize = config.hiddenSize / config.headCount;
  }
  if (config.keyValueHeadCount == 0)
    config.keyValueHeadCount = config.headCount;
  if (config.type == ModelType::Llama && config.headSize % 2 != 0)
    reader.error("head_dim",
                 "rotary positions need heads of an even size, found " + Twine(config.headSize));
}

FailureOr<ModelConfig> mlir::st::parseModelConfig(StringRef json, StringRef path,
                                                  MLIRContext *context) {
  ConfigReader reader(json, path, context);
  StringRef type = reader.string("model_type");
  ModelConfig config;
  const ModelReader *model =
      llvm::find_if(modelReaders, [&](const ModelReader &model) { return model.type == type; });
  if (model == std::end(modelReaders))
    reader.unexpected("model_type", "\"bert\", \"gpt2\", \"llama\" or \"vit\"");
  else
    model->read(reader, config);
  if (reader.failed())
    return failure();

  config.initializerRange = reader.positive("initializer_range", 0.02);
  config.tieWordEmbeddings = reader.boolean("tie_word_embeddings", model->tiesByDefault);
  refuseUnsupportedCommon(reader);
  reader.checkKeys({commonKeys, model->keys});
  deriveHeadSize(reader, *model, config);
  if (reader.failed())
    return failure();

  config.path = path.str();
  // As it was written: a checkpoint gives it back.
  config.json = json.str();
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
