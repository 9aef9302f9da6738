#include "lib/Runtime/State/ModelFolder.h"
#include "ToyProgram.h"
#include "lib/Runtime/Json.h"
#include "lib/Support/AtomicFile.h"

#include "absl/strings/match.h"

#include <gtest/gtest.h>

namespace st {
namespace {

constexpr char kBert[] =
    R"({"model_type": "bert", "num_hidden_layers": 2, "num_attention_heads": 4})";
constexpr char kGpt2[] = R"({"model_type": "gpt2", "n_layer": 2, "n_head": 4})";
constexpr char kLlama[] =
    R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32})";
constexpr char kLinear[] =
    R"({"model_type": "llama", "rope_scaling": {"type": "linear", "factor": 2}})";
constexpr char kMegatronGpt[] = R"({"model_type": "megatron-gpt", "num_layers": 2})";
constexpr char kMegatronBert[] = R"({"model_type": "megatron-bert"})";
constexpr char kVit[] = R"({"model_type": "vit"})";
constexpr char kUntyped[] = R"({"type_vocab_size": 2})";

std::string pathOf(absl::string_view text) {
  const std::string path = testing::TempDir() + "/model-folder.json";
  EXPECT_TRUE(writeFileAtomically(path, text).ok());
  return path;
}

proto::Executable programOf(absl::string_view config, const std::string &task = "mlm") {
  proto::Executable program = makeToyProgram(1, 1);
  program.mutable_model()->set_config_json(std::string(config));
  program.mutable_model()->set_task(task);
  return program;
}

// A configuration with one more key.
std::string with(const char *config, const char *key, const char *value) {
  return setJsonField(config, key, value);
}

TEST(ModelFolderTest, ComparesWhatChangesTheFunction) {
  const struct {
    const char *own, *key, *value, *expected; // expected: part of the error, or null
  } cases[] = {
      {kBert, "hidden_act", "\"gelu\"", ""},
      {kBert, "hidden_act", "\"relu\"", "\"hidden_act\" is \"relu\", the program"},
      {kBert, "layer_norm_eps", "1e-12", ""},
      {kBert, "layer_norm_eps", "0.000000000001", ""},
      {kBert, "layer_norm_eps", "1e-5",
       "\"layer_norm_eps\" is 1e-05, the program was compiled with 1e-12"},
      {kBert, "num_attention_heads", "2", "\"num_attention_heads\" is 2"},
      {kBert, "num_attention_heads", "\"4\"", "\"num_attention_heads\" is \"4\""},
      {kBert, "is_decoder", "true", "\"is_decoder\" is true"},
      {kBert, "position_embedding_type", "\"relative_key\"", "\"position_embedding_type\""},
      {kBert, "model_type", "\"gpt2\"", "\"model_type\" is \"gpt2\""},
      {kBert, "tie_word_embeddings", "false", "does not tie"},
      {kBert, "tie_word_embeddings", "null", ""},
      {kBert, "vocab_size", "7", ""}, // A shape shows it.
      {kBert, "hidden_dropout_prob", "0.5", ""},
      {kGpt2, "activation_function", "\"gelu_pytorch_tanh\"", ""},
      {kGpt2, "activation_function", "\"gelu\"", "\"activation_function\""},
      {kGpt2, "scale_attn_by_inverse_layer_idx", "true",
       "\"scale_attn_by_inverse_layer_idx\" is true"},
      {kLlama, "num_key_value_heads", "4", ""},
      {kLlama, "num_key_value_heads", "2",
       "\"num_key_value_heads\" is 2, the program was compiled with 4"},
      {kLlama, "head_dim", "8", ""},
      {kLlama, "head_dim", "16", "\"head_dim\" is 16"},
      {kLlama, "rope_parameters", R"({"rope_theta": 10000.0, "rope_type": "default"})", ""},
      {kLlama, "rope_parameters", R"({"rope_theta": 5e5})", "\"rope_theta\" is 500000"},
      {kLlama, "rope_scaling", R"({"rope_type": "default"})", ""},
      {kLlama, "rope_scaling", R"({"rope_type": "llama3", "factor": 8})",
       "\"rope_scaling\" is an object"},
      {kLlama, "rope_scaling", R"({"type": "dynamic", "factor": 2})", ""},
      {kLlama, "rope_parameters", R"({"rope_type": "linear", "factor": 4})",
       "\"rope_scaling\" is an object"},
      {kLinear, "rope_scaling", R"({"rope_type": "linear", "factor": 2.0})", ""},
      {kLinear, "rope_scaling", R"({"rope_type": "linear", "factor": 4})",
       "\"rope_scaling\" is an object"},
      {kLlama, "num_hidden_layers", "2", ""},
      {kGpt2, "activation_function", "\"gelu_fast\"", ""},
      {kMegatronGpt, "layernorm_epsilon", "1e-3", "\"layernorm_epsilon\" is 0.001"},
      {kMegatronGpt, "num_attention_heads", "16", ""},
      {kMegatronGpt, "tie_word_embeddings", "false", "does not tie"},
      {kMegatronGpt, "normalization", "\"LayerNorm\"", ""},
      {kMegatronGpt, "normalization", "\"RMSNorm\"", "\"normalization\" is \"RMSNorm\""},
      {kMegatronGpt, "position_embedding_type", "\"rope\"", "\"position_embedding_type\""},
      {kMegatronGpt, "rotary_base", "500000", "\"rotary_base\" is 500000"},
      {kMegatronGpt, "rotary_percent", "1.0", ""},
      {kMegatronGpt, "moe_router_topk", "3", "\"moe_router_topk\" is 3"},
      {kMegatronBert, "num_hidden_layers", "24", ""},
      {kMegatronBert, "num_hidden_layers", "12", "\"num_hidden_layers\" is 12"},
      {kVit, "image_size", "[224, 224]", ""},
      {kVit, "image_size", "[224, 192]", "\"image_size\" is an array"},
      {kVit, "num_hidden_layers", "12", ""},
      {kUntyped, "layer_norm_eps", "1e-12", ""},
  };
  for (const auto &test : cases) {
    auto found = readModelConfig(pathOf(with(test.own, test.key, test.value)), programOf(test.own));
    EXPECT_EQ(found.ok(), *test.expected == 0) << test.key << " " << test.value << found.status();
    EXPECT_TRUE(absl::StrContains(found.status().message(), test.expected)) << found.status();
  }
  EXPECT_FALSE(readModelConfig("/nonexistent/config.json", programOf(kBert))->has_value());
  // A folder without a model type is one of the program's model, with the defaults of that.
  for (const char *own : {kMegatronBert, kVit})
    EXPECT_TRUE(readModelConfig(pathOf("{}"), programOf(own)).ok()) << own;
}

TEST(ModelFolderTest, KnowsBothNamesOfAnArgument) {
  const char *found = R"({"model_type": "megatron-gpt", "num_hidden_layers": 2})";
  EXPECT_TRUE(readModelConfig(pathOf(found), programOf(kMegatronGpt)).ok());
  const char *deeper = R"({"model_type": "megatron-gpt", "num_hidden_layers": 3})";
  EXPECT_FALSE(readModelConfig(pathOf(deeper), programOf(kMegatronGpt)).ok());
}

TEST(ModelFolderTest, WarnsOfDropout) {
  const std::string text = with(kBert, "hidden_dropout_prob", "0.25");
  EXPECT_EQ(compareDropout("c", *parseJsonObject(text, ""), programOf(kBert)),
            "warning: c: \"hidden_dropout_prob\" is 0.25, the program was compiled with 0.1\n");
  EXPECT_EQ(compareDropout("c", *parseJsonObject(kBert, ""), programOf(kBert)), "");
}

TEST(ModelFolderTest, SavesTheClassThatWasTrained) {
  const std::string own =
      R"({ "model_type" : "bert", "architectures": ["X"], "layer_norm_eps": 1e-12, "dtype": "float16"})";
  EXPECT_EQ(
      savedConfig(programOf(own, "span")),
      R"({ "model_type" : "bert", "architectures": ["BertForQuestionAnswering"], "layer_norm_eps": 1e-12, "dtype": "float32"})");
  EXPECT_EQ(savedConfig(programOf(kGpt2, "clm")).substr(0, 40),
            R"({"architectures": ["GPT2LMHeadModel"], ")");
  EXPECT_EQ(savedConfig(programOf("", "clm")), "");
}

} // namespace
} // namespace st
