#include "lib/Runtime/State/ModelFolder.h"
#include "lib/Runtime/Json.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <filesystem>
#include <google/protobuf/util/message_differencer.h>
#include <map>
#include <system_error>
#include <vector>

namespace st {
namespace {

using google::protobuf::Value;

constexpr uint64_t kLargestText = 64 << 20;

// A key of a configuration and its JSON default; empty for defaults that depend on other keys.
struct ConfigKey {
  absl::string_view name, byDefault;
};

// Keys that determine the function of the tensors, in addition to their shapes.
constexpr ConfigKey kBertKeys[] = {{"num_hidden_layers", "12"},
                                   {"num_attention_heads", "12"},
                                   {"hidden_act", "\"gelu\""},
                                   {"layer_norm_eps", "1e-12"},
                                   {"position_embedding_type", "\"absolute\""},
                                   {"is_decoder", "false"}};
constexpr ConfigKey kDistilBertKeys[] = {
    {"n_layers", "6"}, {"n_heads", "12"}, {"activation", "\"gelu\""}};
constexpr ConfigKey kGpt2Keys[] = {{"n_layer", "12"},
                                   {"n_head", "12"},
                                   {"activation_function", "\"gelu_new\""},
                                   {"layer_norm_epsilon", "1e-5"},
                                   {"scale_attn_weights", "true"},
                                   {"scale_attn_by_inverse_layer_idx", "false"}};
constexpr ConfigKey kLlamaKeys[] = {{"num_hidden_layers", "32"}, {"num_attention_heads", "32"},
                                    {"num_key_value_heads", ""}, {"head_dim", ""},
                                    {"hidden_act", "\"silu\""},  {"rms_norm_eps", "1e-6"},
                                    {"rope_theta", "10000"},     {"rope_scaling", "null"}};
constexpr ConfigKey kMistralKeys[] = {{"num_hidden_layers", "32"},  {"num_attention_heads", "32"},
                                      {"num_key_value_heads", "8"}, {"head_dim", ""},
                                      {"hidden_act", "\"silu\""},   {"rms_norm_eps", "1e-6"},
                                      {"rope_theta", "10000"},      {"rope_scaling", "null"},
                                      {"sliding_window", "4096"}};
constexpr ConfigKey kMixtralKeys[] = {{"num_hidden_layers", "32"},  {"num_attention_heads", "32"},
                                      {"num_key_value_heads", "8"}, {"head_dim", ""},
                                      {"hidden_act", "\"silu\""},   {"rms_norm_eps", "1e-5"},
                                      {"rope_theta", "1000000"},    {"rope_scaling", "null"},
                                      {"sliding_window", "null"},   {"num_experts_per_tok", "2"}};
constexpr ConfigKey kQwen2MoeKeys[] = {
    {"num_hidden_layers", "24"},     {"num_attention_heads", "16"},
    {"num_key_value_heads", "16"},   {"head_dim", ""},
    {"hidden_act", "\"silu\""},      {"rms_norm_eps", "1e-6"},
    {"rope_theta", "10000"},         {"rope_scaling", "null"},
    {"use_sliding_window", "false"}, {"max_window_layers", "28"},
    {"num_experts_per_tok", "4"},    {"norm_topk_prob", "false"}};
constexpr ConfigKey kQwen2Keys[] = {{"num_hidden_layers", "32"},   {"num_attention_heads", "32"},
                                    {"num_key_value_heads", "32"}, {"hidden_act", "\"silu\""},
                                    {"rms_norm_eps", "1e-6"},      {"rope_theta", "10000"},
                                    {"rope_scaling", "null"},      {"use_sliding_window", "false"},
                                    {"sliding_window", "4096"},    {"max_window_layers", "28"}};
constexpr ConfigKey kQwen3Keys[] = {
    {"num_hidden_layers", "32"}, {"num_attention_heads", "32"}, {"num_key_value_heads", "32"},
    {"head_dim", "128"},         {"hidden_act", "\"silu\""},    {"rms_norm_eps", "1e-6"},
    {"rope_theta", "10000"},     {"rope_scaling", "null"},      {"use_sliding_window", "false"},
    {"sliding_window", "4096"},  {"max_window_layers", "28"}};
constexpr ConfigKey kGemmaKeys[] = {{"num_hidden_layers", "28"},   {"num_attention_heads", "16"},
                                    {"num_key_value_heads", "16"}, {"head_dim", "256"},
                                    {"rms_norm_eps", "1e-6"},      {"rope_theta", "10000"},
                                    {"rope_scaling", "null"}};
constexpr ConfigKey kGptNeoXKeys[] = {
    {"num_hidden_layers", "44"}, {"num_attention_heads", "64"},
    {"hidden_act", "\"gelu\""},  {"layer_norm_eps", "1e-5"},
    {"rope_theta", "10000"},     {"partial_rotary_factor", "0.25"},
    {"rope_scaling", "null"},    {"use_parallel_residual", "true"}};
constexpr ConfigKey kOptKeys[] = {{"num_hidden_layers", "12"},
                                  {"num_attention_heads", "12"},
                                  {"activation_function", "\"relu\""},
                                  {"do_layer_norm_before", "true"},
                                  {"_remove_final_layer_norm", "false"}};
constexpr ConfigKey kRobertaKeys[] = {
    {"num_hidden_layers", "12"}, {"num_attention_heads", "12"},
    {"hidden_act", "\"gelu\""},  {"layer_norm_eps", "1e-12"},
    {"pad_token_id", "1"},       {"position_embedding_type", "\"absolute\""}};
constexpr ConfigKey kPhiKeys[] = {
    {"num_hidden_layers", "24"},    {"num_attention_heads", "32"},    {"num_key_value_heads", ""},
    {"hidden_act", "\"gelu_new\""}, {"layer_norm_eps", "1e-5"},       {"rope_theta", "10000"},
    {"rope_scaling", "null"},       {"partial_rotary_factor", "0.5"}, {"qk_layernorm", "false"}};
constexpr ConfigKey kMegatronBertKeys[] = {{"num_hidden_layers", "24"},
                                           {"num_attention_heads", "16"},
                                           {"hidden_act", "\"gelu\""},
                                           {"layer_norm_eps", "1e-12"},
                                           {"position_embedding_type", "\"absolute\""},
                                           {"is_decoder", "false"}};
constexpr ConfigKey kMegatronGptKeys[] = {{"num_layers", "24"},
                                          {"num_attention_heads", "16"},
                                          {"hidden_act", "\"gelu_new\""},
                                          {"layernorm_epsilon", "1e-5"},
                                          {"normalization", "\"LayerNorm\""},
                                          {"apply_layernorm_1p", "false"},
                                          {"position_embedding_type", "\"learned_absolute\""},
                                          {"rotary_base", "10000"},
                                          {"rotary_percent", "1"},
                                          {"rope_scaling", "null"},
                                          {"moe_router_topk", "2"},
                                          {"moe_router_pre_softmax", "false"}};
constexpr ConfigKey kBartKeys[] = {{"encoder_layers", "12"},
                                   {"decoder_layers", "12"},
                                   {"encoder_attention_heads", "16"},
                                   {"decoder_attention_heads", "16"},
                                   {"activation_function", "\"gelu\""},
                                   {"scale_embedding", "false"},
                                   {"pad_token_id", "1"},
                                   {"decoder_start_token_id", "2"}};
constexpr ConfigKey kT5Keys[] = {{"num_layers", "6"},
                                 {"num_decoder_layers", ""},
                                 {"num_heads", "8"},
                                 {"relative_attention_num_buckets", "32"},
                                 {"relative_attention_max_distance", "128"},
                                 {"feed_forward_proj", "\"relu\""},
                                 {"layer_norm_epsilon", "1e-6"},
                                 {"scale_decoder_outputs", ""},
                                 {"pad_token_id", "0"},
                                 {"decoder_start_token_id", "0"}};
constexpr ConfigKey kVitKeys[] = {{"num_hidden_layers", "12"}, {"num_attention_heads", "12"},
                                  {"hidden_act", "\"gelu\""},  {"layer_norm_eps", "1e-12"},
                                  {"image_size", "224"},       {"patch_size", "16"}};

constexpr ConfigKey kBertDropouts[] = {{"hidden_dropout_prob", "0.1"},
                                       {"attention_probs_dropout_prob", "0.1"}};
constexpr ConfigKey kDistilBertDropouts[] = {
    {"dropout", "0.1"}, {"attention_dropout", "0.1"}, {"qa_dropout", "0.1"}};
constexpr ConfigKey kGpt2Dropouts[] = {
    {"embd_pdrop", "0.1"}, {"attn_pdrop", "0.1"}, {"resid_pdrop", "0.1"}};
constexpr ConfigKey kLlamaDropouts[] = {{"attention_dropout", "0"}};
// A capacity drops tokens as dropout drops elements.
constexpr ConfigKey kExpertDropouts[] = {{"attention_dropout", "0"},
                                         {"expert_capacity_factor", "null"}};
constexpr ConfigKey kGptNeoXDropouts[] = {{"hidden_dropout", "0"}, {"attention_dropout", "0"}};
constexpr ConfigKey kOptDropouts[] = {{"dropout", "0.1"}, {"attention_dropout", "0"}};
constexpr ConfigKey kPhiDropouts[] = {
    {"embd_pdrop", "0"}, {"resid_pdrop", "0"}, {"attention_dropout", "0"}};
constexpr ConfigKey kMegatronGptDropouts[] = {
    {"hidden_dropout", "0.1"}, {"attention_dropout", "0.1"}, {"expert_capacity_factor", "null"}};
constexpr ConfigKey kBartDropouts[] = {
    {"dropout", "0.1"}, {"attention_dropout", "0"}, {"activation_dropout", "0"}};
constexpr ConfigKey kT5Dropouts[] = {{"dropout_rate", "0.1"}};
constexpr ConfigKey kVitDropouts[] = {{"hidden_dropout_prob", "0"},
                                      {"attention_probs_dropout_prob", "0"}};

struct ModelKeys {
  absl::string_view type;
  absl::Span<const ConfigKey> function, dropouts;
};
constexpr ModelKeys kModels[] = {{"bart", kBartKeys, kBartDropouts},
                                 {"bert", kBertKeys, kBertDropouts},
                                 {"distilbert", kDistilBertKeys, kDistilBertDropouts},
                                 {"gemma", kGemmaKeys, kLlamaDropouts},
                                 {"gpt2", kGpt2Keys, kGpt2Dropouts},
                                 {"gpt_neox", kGptNeoXKeys, kGptNeoXDropouts},
                                 {"llama", kLlamaKeys, kLlamaDropouts},
                                 {"megatron-bert", kMegatronBertKeys, kBertDropouts},
                                 {"megatron-gpt", kMegatronGptKeys, kMegatronGptDropouts},
                                 {"mistral", kMistralKeys, kLlamaDropouts},
                                 {"mixtral", kMixtralKeys, kExpertDropouts},
                                 {"opt", kOptKeys, kOptDropouts},
                                 {"phi", kPhiKeys, kPhiDropouts},
                                 {"qwen2", kQwen2Keys, kLlamaDropouts},
                                 {"qwen2_moe", kQwen2MoeKeys, kExpertDropouts},
                                 {"qwen3", kQwen3Keys, kLlamaDropouts},
                                 {"roberta", kRobertaKeys, kBertDropouts},
                                 {"t5", kT5Keys, kT5Dropouts},
                                 {"vit", kVitKeys, kVitDropouts}};

// The transformers class whose parameters have the names of a task's parameters.
struct TaskClass {
  absl::string_view type, task, name;
};
constexpr TaskClass kClasses[] = {
    {"bart", "seq2seq", "BartForConditionalGeneration"},
    {"bert", "mlm", "BertForPreTraining"},
    {"bert", "span", "BertForQuestionAnswering"},
    {"bert", "classify", "BertForSequenceClassification"},
    {"bert", "classify-tokens", "BertForTokenClassification"},
    {"bert", "encode", "BertModel"},
    {"distilbert", "mlm", "DistilBertForMaskedLM"},
    {"distilbert", "span", "DistilBertForQuestionAnswering"},
    {"distilbert", "classify", "DistilBertForSequenceClassification"},
    {"distilbert", "classify-tokens", "DistilBertForTokenClassification"},
    {"distilbert", "encode", "DistilBertModel"},
    {"gemma", "clm", "GemmaForCausalLM"},
    {"gemma", "classify", "GemmaForSequenceClassification"},
    {"gemma", "classify-tokens", "GemmaForTokenClassification"},
    {"gpt2", "clm", "GPT2LMHeadModel"},
    {"gpt2", "classify", "GPT2ForSequenceClassification"},
    {"gpt2", "classify-tokens", "GPT2ForTokenClassification"},
    {"gpt_neox", "clm", "GPTNeoXForCausalLM"},
    {"gpt_neox", "classify", "GPTNeoXForSequenceClassification"},
    {"gpt_neox", "classify-tokens", "GPTNeoXForTokenClassification"},
    {"llama", "clm", "LlamaForCausalLM"},
    {"llama", "classify", "LlamaForSequenceClassification"},
    {"llama", "classify-tokens", "LlamaForTokenClassification"},
    {"megatron-bert", "mlm", "MegatronBertForPreTraining"},
    {"megatron-bert", "span", "MegatronBertForQuestionAnswering"},
    {"megatron-bert", "classify", "MegatronBertForSequenceClassification"},
    {"megatron-bert", "classify-tokens", "MegatronBertForTokenClassification"},
    {"megatron-bert", "encode", "MegatronBertModel"},
    {"mistral", "clm", "MistralForCausalLM"},
    {"mistral", "classify", "MistralForSequenceClassification"},
    {"mistral", "classify-tokens", "MistralForTokenClassification"},
    {"mixtral", "clm", "MixtralForCausalLM"},
    {"mixtral", "classify", "MixtralForSequenceClassification"},
    {"mixtral", "classify-tokens", "MixtralForTokenClassification"},
    {"opt", "clm", "OPTForCausalLM"},
    {"opt", "classify", "OPTForSequenceClassification"},
    {"phi", "clm", "PhiForCausalLM"},
    {"phi", "classify", "PhiForSequenceClassification"},
    {"phi", "classify-tokens", "PhiForTokenClassification"},
    {"qwen2", "clm", "Qwen2ForCausalLM"},
    {"qwen2", "classify", "Qwen2ForSequenceClassification"},
    {"qwen2", "classify-tokens", "Qwen2ForTokenClassification"},
    {"qwen2_moe", "clm", "Qwen2MoeForCausalLM"},
    {"qwen2_moe", "classify", "Qwen2MoeForSequenceClassification"},
    {"qwen2_moe", "classify-tokens", "Qwen2MoeForTokenClassification"},
    {"qwen3", "clm", "Qwen3ForCausalLM"},
    {"qwen3", "classify", "Qwen3ForSequenceClassification"},
    {"qwen3", "classify-tokens", "Qwen3ForTokenClassification"},
    {"roberta", "mlm", "RobertaForMaskedLM"},
    {"roberta", "span", "RobertaForQuestionAnswering"},
    {"roberta", "classify", "RobertaForSequenceClassification"},
    {"roberta", "classify-tokens", "RobertaForTokenClassification"},
    {"roberta", "encode", "RobertaModel"},
    {"t5", "seq2seq", "T5ForConditionalGeneration"},
    {"vit", "classify", "ViTForImageClassification"}};

// transformers' names for arguments of Megatron-LM, and its older names for rotary positions.
constexpr std::pair<absl::string_view, absl::string_view> kSameKey[] = {
    {"num_hidden_layers", "num_layers"},
    {"hidden_dropout_prob", "hidden_dropout"},
    {"rotary_emb_base", "rope_theta"},
    {"rotary_pct", "partial_rotary_factor"}};

// transformers' names for some functions.
constexpr std::pair<absl::string_view, absl::string_view> kSameActivation[] = {
    {"gelu_accurate", "gelu_new"},     {"gelu_fast", "gelu_new"}, {"gelu_python_tanh", "gelu_new"},
    {"gelu_pytorch_tanh", "gelu_new"}, {"gelu_python", "gelu"},   {"swish", "silu"}};

std::string textOf(const ModelConfig &config, const std::string &key) {
  const Value *value = findField(config, key);
  return value ? value->string_value() : "";
}

double numberOf(const ModelConfig &config, const std::string &key, double byDefault) {
  const Value *value = findField(config, key);
  return value ? value->number_value() : byDefault;
}

const ModelKeys *keysOf(const ModelConfig &program) {
  for (const ModelKeys &model : kModels)
    if (model.type == textOf(program, "model_type"))
      return &model;
  return nullptr;
}

// Defaults that depend on other keys, for Llama and its like and for T5.
Value derivedDefault(const ModelConfig &config, absl::string_view key) {
  Value value;
  const double heads = numberOf(config, "num_attention_heads", 32);
  if (key == "num_key_value_heads")
    value.set_number_value(heads);
  else if (key == "head_dim" && heads > 0)
    value.set_number_value(numberOf(config, "hidden_size", 4096) / heads);
  else if (key == "num_decoder_layers")
    value.set_number_value(numberOf(config, "num_layers", 6));
  else if (key == "scale_decoder_outputs")
    value.set_bool_value(tiesEmbeddings(config));
  else
    value.set_null_value(google::protobuf::NULL_VALUE);
  return value;
}

// The scaling of rotary positions in one form; null if they are not scaled.
Value rotaryScaling(const ModelConfig &config) {
  Value scaling;
  scaling.set_null_value(google::protobuf::NULL_VALUE);
  for (const char *key : {"rope_scaling", "rope_parameters"})
    if (const Value *found = findField(config, key); found && found->has_struct_value())
      scaling = *found;
  if (!scaling.has_struct_value())
    return scaling;
  auto &fields = *scaling.mutable_struct_value()->mutable_fields();
  if (!fields.contains("rope_type") && fields.contains("type"))
    fields["rope_type"] = Value(fields.at("type"));
  for (const char *other : {"type", "rope_theta", "partial_rotary_factor"})
    fields.erase(std::string(other));
  const std::string type =
      fields.contains("rope_type") ? fields.at("rope_type").string_value() : "default";
  // Up to max_position_embeddings dynamic scaling has no effect.
  if (type == "default" || type == "dynamic")
    scaling.set_null_value(google::protobuf::NULL_VALUE);
  else if (type == "llama3" && !fields.contains("original_max_position_embeddings"))
    fields["original_max_position_embeddings"].set_number_value(
        numberOf(config, "max_position_embeddings", 2048));
  return scaling;
}

// Replaces an array of two equal numbers by one number, and a function by its usual name.
Value canonical(Value value) {
  for (const auto &[other, usual] : kSameActivation)
    if (value.string_value() == other)
      value.set_string_value(std::string(usual));
  if (value.has_list_value() && value.list_value().values_size() == 2) {
    const Value first = value.list_value().values(0), second = value.list_value().values(1);
    if (google::protobuf::util::MessageDifferencer::Equals(first, second))
      return first;
  }
  return value;
}

// The effective value: if a key has several names, the first name counts.
Value valueOf(const ModelConfig &config, const ConfigKey &key) {
  const std::string name(key.name);
  if (name == "rope_scaling")
    return rotaryScaling(config);
  const bool isRotary = name == "rope_theta" || name == "partial_rotary_factor";
  const Value *found = findField(config, name);
  for (const auto &[other, usual] : kSameKey)
    if (!found && usual == name)
      found = findField(config, std::string(other));
  // The keys of rotary positions may be in the object that describes their scaling.
  for (const char *object : {"rope_scaling", "rope_parameters"})
    if (const Value *rotary = isRotary ? findField(config, object) : nullptr)
      if (const Value *base = findField(rotary->struct_value(), name))
        found = base;
  // A null window is no window, not the default one.
  if (found && (!found->has_null_value() || name == "sliding_window"))
    return canonical(*found);
  if (key.byDefault.empty())
    return derivedDefault(config, key.name);
  return *findField(*parseJsonObject(absl::StrCat("{\"x\": ", key.byDefault, "}"), "default"), "x");
}

// Returns "'hidden_act' is "relu", …" if the two configurations disagree on a key, else an empty
// text.
std::string compare(const ModelConfig &found, const ModelConfig &own, const ConfigKey &key) {
  const Value theirs = valueOf(found, key), ours = valueOf(own, key);
  if (google::protobuf::util::MessageDifferencer::Equals(theirs, ours))
    return "";
  return absl::StrCat("\"", key.name, "\" is ", printForMessage(theirs),
                      ", the program was compiled with ", printForMessage(ours));
}

absl::Status checkFunction(const std::string &path, const ModelConfig &found,
                           const ModelConfig &own) {
  if (std::string what = compare(found, own, {"model_type", ""}); !what.empty())
    return inFile(path, what);
  if (const ModelKeys *keys = keysOf(own))
    for (const ConfigKey &key : keys->function)
      if (std::string what = compare(found, own, key); !what.empty())
        return inFile(path, what);
  if (tiesEmbeddings(own) && !tiesEmbeddings(found))
    return inFile(path, "does not tie the word embeddings, as the program's configuration does");
  return absl::OkStatus();
}

absl::StatusOr<ModelConfig> ownConfig(const proto::Executable &program) {
  return parseJsonObject(program.model().config_json(), "the program's configuration");
}

// transformers' name for the type of the saved parameters; empty if they have several types.
std::string parameterType(const proto::Executable &program) {
  const std::map<proto::ElementType, std::string> names = {{proto::F32, "float32"},
                                                           {proto::F64, "float64"},
                                                           {proto::BF16, "bfloat16"},
                                                           {proto::F16, "float16"}};
  std::string type;
  for (const proto::Group &group : program.groups())
    for (const proto::State &state : group.states()) {
      auto it = names.find(state.global().element());
      if (state.role() != "parameter" || it == names.end() || it->second == type)
        continue;
      if (!type.empty())
        return "";
      type = it->second;
    }
  return type;
}

} // namespace

bool tiesEmbeddings(const ModelConfig &config) {
  if (const Value *tie = findField(config, "tie_word_embeddings"); tie && !tie->has_null_value())
    return tie->bool_value();
  const std::string type = textOf(config, "model_type");
  for (absl::string_view ties : {"bart", "bert", "distilbert", "gemma", "gpt2", "megatron-bert",
                                 "megatron-gpt", "opt", "roberta", "t5"})
    if (type == ties)
      return true;
  // The first BERTs do not name their model type.
  return type.empty() && findField(config, "type_vocab_size");
}

absl::StatusOr<std::optional<ModelConfig>> readModelConfig(const std::string &path,
                                                           const proto::Executable &program) {
  if (!exists(path))
    return std::nullopt;
  ST_ASSIGN_OR_RETURN(std::string text, readFile(path, kLargestText));
  ST_ASSIGN_OR_RETURN(ModelConfig found, parseJsonObject(text, path));
  if (program.model().config_json().empty())
    return found;
  ST_ASSIGN_OR_RETURN(ModelConfig own, ownConfig(program));
  // Old configurations do not name their model type; they are those of the program's model.
  if (const Value *type = findField(own, "model_type"); type && !findField(found, "model_type"))
    (*found.mutable_fields())["model_type"] = *type;
  ST_RETURN_IF_ERROR(checkFunction(path, found, own));
  return found;
}

std::string compareDropout(const std::string &path, const ModelConfig &found,
                           const proto::Executable &program) {
  absl::StatusOr<ModelConfig> own = ownConfig(program);
  const ModelKeys *keys = own.ok() ? keysOf(*own) : nullptr;
  std::string warnings;
  for (const ConfigKey &key : keys ? keys->dropouts : absl::Span<const ConfigKey>())
    if (std::string what = compare(found, *own, key); !what.empty())
      absl::StrAppend(&warnings, "warning: ", escapeControls(path), ": ", what, "\n");
  return warnings;
}

std::string savedConfig(const proto::Executable &program) {
  std::string text = program.model().config_json();
  absl::StatusOr<ModelConfig> own = ownConfig(program);
  if (!own.ok())
    return text;
  for (const TaskClass &known : kClasses)
    if (known.type == textOf(*own, "model_type") && known.task == program.model().task())
      text = setJsonField(text, "architectures", absl::StrCat("[", quoteJson(known.name), "]"));
  const std::string type = parameterType(program);
  for (const char *key : {"dtype", "torch_dtype"})
    if (findField(*own, key) && !type.empty())
      text = setJsonField(text, key, quoteJson(type));
  return text;
}

std::string savedAdapterConfig(const proto::Executable &program, const std::string &folder) {
  const std::string &text = program.model().adapter_config_json();
  std::error_code ignored;
  const std::string path = std::filesystem::absolute(folder, ignored).lexically_normal().string();
  return text.empty() ? text : setJsonField(text, "base_model_name_or_path", quoteJson(path));
}

} // namespace st
