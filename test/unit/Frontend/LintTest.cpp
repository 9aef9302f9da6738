// The findings of single contradictions, word for word.
#include "lib/Frontend/Megatron/Lint.h"
#include "TestInputs.h"

#include "gtest/gtest.h"

using namespace mlir::st;

namespace {

std::vector<std::string> findings(const std::string &text) {
  absl::StatusOr<MegatronLog> log = parseMegatronLog(text, "run.log");
  EXPECT_TRUE(log.ok()) << log.status();
  std::vector<std::string> printed;
  if (log.ok())
    for (const LintFinding &finding : lintMegatronLog(*log))
      printed.push_back(printFinding(finding, "run.log"));
  return printed;
}

using Strings = std::vector<std::string>;

constexpr const char *cased =
    "warning: the tokenizer lowers the case of a text, and the vocabulary is cased "
    "[cased-vocabulary]";
constexpr const char *decay =
    "warning: the learning rate decays over 990000 and the training takes 2000000 iterations "
    "[decay-length]";

TEST(LintTest, LogOfOneDevice) {
  EXPECT_EQ(
      findings(readTestInput("Megatron/megatron-bert-345m-1gpu.log")),
      (Strings{std::string("run.log:132,141: ") + cased, std::string("run.log:78,133: ") + decay}));
}

TEST(LintTest, LogOfThirtyTwoDevices) {
  EXPECT_EQ(
      findings(readTestInput("Megatron/megatron-bert-345m-32gpus.log")),
      (Strings{std::string("run.log:129,138: ") + cased, std::string("run.log:75,130: ") + decay,
               "run.log:46,146: warning: 100 iterations at a global batch of 128 are 12800 "
               "samples, not 1280 [sample-count]"}));
}

/// The log of 32 devices without its contradictions, and with one line changed.
std::string changed(const std::string &name, const std::string &value) {
  std::string log = readTestInput("Megatron/megatron-bert-345m-32gpus.log");
  auto set = [&](const std::string &argument, const std::string &text) {
    size_t at = log.find("  " + argument + " .");
    ASSERT_NE(at, std::string::npos) << argument;
    size_t start = log.find(' ', at + argument.size() + 4) + 1;
    log.replace(start, log.find('\n', start) - start, text);
  };
  set("lr_decay_iters", "2000000");
  set("tokenizer_type", "BertWordPieceCase");
  size_t samples = log.find("1280 samples");
  log.replace(samples, 4, "12800");
  if (!name.empty())
    set(name, value);
  return log;
}

TEST(LintTest, NothingToFind) { EXPECT_EQ(findings(changed("", "")), Strings()); }

TEST(LintTest, Layout) {
  EXPECT_EQ(findings(changed("world_size", "64")),
            Strings{"run.log:26,106,124,140: error: 64 processes are not 2 tensor-parallel x 2 "
                    "pipeline stages x 8 replicas = 32 [world-size-product]"});
  EXPECT_EQ(findings(changed("num_layers", "25")),
            Strings{"run.log:97,106: error: 25 layers do not divide into 2 pipeline stages "
                    "[layers-per-stage]"});
  EXPECT_EQ(findings(changed("rank", "32")),
            Strings{"run.log:109,140: warning: rank 32 is not one of 32 processes "
                    "[rank-outside-world]"});
  EXPECT_EQ(findings(changed("checkpoint_num_layers", "5")),
            Strings{"run.log:20,21,97,106: warning: 5 layers a checkpoint do not divide the 12 "
                    "layers that a device runs in one go [checkpoint-layers]"});
}

TEST(LintTest, OddSizesThatAreFine) {
  EXPECT_EQ(findings(changed("ffn_hidden_size", "2730")), Strings());
  EXPECT_EQ(findings(changed("max_position_embeddings", "1024")), Strings());
  EXPECT_EQ(findings(changed("split", "969, 30, 1")), Strings());
  EXPECT_EQ(findings(changed("lr_decay_iters", "None")), Strings());
  EXPECT_EQ(findings(changed("load", "checkpoints/bert_cased_345m")), Strings());
  EXPECT_EQ(findings(changed("vocab_extra_ids", "100")), Strings());
}

TEST(LintTest, PartsOfTodaysModels) {
  const auto found = [](const std::string &more) {
    return findings("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 "
                    "--num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 "
                    "--micro-batch-size 1 --global-batch-size 32 --vocab-size 32000 "
                    "--tokenizer-type NullTokenizer --disable-bias-linear " +
                    more);
  };
  const std::string experts = "--num-experts 8 --swiglu ";
  EXPECT_EQ(found("--position-embedding-type rope --rotary-base 500000 --kv-channels 128 "
                  "--group-query-attention --num-query-groups 2 --tensor-model-parallel-size 4 "
                  "--sequence-parallel --expert-model-parallel-size 2 --context-parallel-size 2 "
                  "--lr-decay-style WSD --lr-wsd-decay-iters 10 --train-iters 100 "
                  "--lr-decay-iters 100 --bf16 --grad-reduce-in-bf16 " +
                  experts),
            Strings());
  EXPECT_EQ(found("--num-query-groups 4"),
            (Strings{"run.log:1: warning: there are 4 groups of queries, but "
                     "group_query_attention is not set [query-groups]"}));
  EXPECT_EQ(found("--group-query-attention --num-query-groups 6 --num-attention-heads 12 "
                  "--hidden-size 480 --tensor-model-parallel-size 4"),
            (Strings{"run.log:1: warning: 6 groups of queries and 4 tensor-parallel devices do not "
                     "divide each other [query-groups]"}));
  EXPECT_EQ(found("--rotary-base 500000"),
            (Strings{"run.log:1: warning: rotary_base is given, but the model has no rotary "
                     "positions [rotary-positions]"}));
  EXPECT_EQ(found("--expert-model-parallel-size 3 " + experts),
            (Strings{"run.log:1: error: 8 experts do not divide over 3 expert-parallel devices "
                     "[experts-per-device]"}));
  EXPECT_EQ(found("--moe-router-topk 9 " + experts),
            (Strings{"run.log:1: error: a token chooses 9 of 8 experts [expert-choices]"}));
  EXPECT_EQ(found("--tensor-model-parallel-size 2 " + experts),
            (Strings{"run.log:1: warning: experts with tensor-parallel devices need "
                     "sequence_parallel, which is not set [expert-sequence]"}));
  EXPECT_EQ(
      found("--context-parallel-size 8 --seq-length 1000 --max-position-embeddings 1000").size(),
      1u);
  EXPECT_EQ(found("--lr-decay-style WSD"),
            (Strings{"run.log:1: warning: lr_decay_style is WSD, but the length of its decay is "
                     "not given [stable-decay]"}));
  EXPECT_EQ(found("--lr-decay-style WSD --lr-wsd-decay-iters 95 --lr-warmup-iters 10 "
                  "--train-iters 100"),
            (Strings{"run.log:1: warning: the final decay is 95 long, longer than the 90 after the "
                     "warm-up [stable-decay]"}));
  EXPECT_EQ(found("--grad-reduce-in-bf16"),
            (Strings{"run.log:1: warning: grad_reduce_in_bf16 is set without bf16 "
                     "[gradient-type]"}));
  EXPECT_EQ(found("--bf16 --grad-reduce-in-bf16 --accumulate-allreduce-grads-in-fp32"),
            (Strings{"run.log:1: warning: gradients are reduced both in bf16 and in fp32 "
                     "[gradient-type]"}));
}

TEST(LintTest, CommandLineAndDump) {
  std::string log = readTestInput("Megatron/megatron-bert-345m-1gpu.log");
  log.replace(log.find("--micro-batch-size 4"), 20, "--micro-batch-size 2");
  EXPECT_EQ(findings(log).back(),
            "run.log:2,89: warning: the command line gives micro_batch_size as '2', the argument "
            "dump as '4' [command-line-disagrees]");
}

TEST(LintTest, ScriptDecidesTheTokenizer) {
  EXPECT_EQ(findings("python pretrain_bert.py --num-layers 2 --vocab-file bert-base-cased.txt"),
            Strings{std::string("run.log:1: ") + cased});
}

TEST(LintTest, FindingsHaveTheirValues) {
  absl::StatusOr<MegatronLog> log = parseMegatronLog(changed("min_lr", "0.5"), "run.log");
  ASSERT_TRUE(log.ok());
  std::vector<LintFinding> found = lintMegatronLog(*log);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "min-lr");
  using Values = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(found[0].values, (Values{{"lr", "0.0001"}, {"min_lr", "0.5"}}));
  EXPECT_FALSE(found[0].preventsPlan);
}

TEST(LintTest, TheDocumentNamesEveryFinding) {
  std::ifstream file(ST_SOURCE_DIR "/docs/other-configurations.md");
  std::string document{std::istreambuf_iterator<char>(file), {}};
  for (llvm::StringRef id : lintIds())
    EXPECT_NE(document.find("`" + id.str() + "`"), std::string::npos) << id.str();
}

} // namespace
