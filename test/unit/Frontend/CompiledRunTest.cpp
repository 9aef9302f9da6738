// st-compile's treatment of Megatron's arguments: all 139 of the case, one by one.
#include "lib/Frontend/Megatron/Compile/CompiledRun.h"
#include "TestInputs.h"

#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace mlir::st;

namespace {

using Values = std::map<std::string, std::string>;

/// The log with other values in its dump.
std::string withValues(std::string log, const Values &values) {
  for (const auto &[name, value] : values) {
    const size_t start = log.find("\n  " + name + " .");
    EXPECT_NE(start, std::string::npos) << name;
    const size_t space = log.find(". ", start) + 1;
    log.replace(space, log.find('\n', start + 1) - space, " " + value);
  }
  return log;
}

std::string caseLog(const Values &values = {}) {
  return withValues(readTestInput("Megatron/megatron-bert-345m-1gpu.log"), values);
}

absl::StatusOr<CompiledRun> tryCompile(const std::string &text) {
  absl::StatusOr<MegatronLog> log = parseMegatronLog(text, "run.log");
  if (!log.ok())
    return log.status();
  absl::StatusOr<CompiledRun> run = compileMegatronRun(*log);
  if (run.ok())
    if (absl::Status refused = run->refusal("run.log"); !refused.ok())
      return refused;
  return run;
}

CompiledRun compileText(const std::string &text) {
  absl::StatusOr<CompiledRun> run = tryCompile(text);
  EXPECT_TRUE(run.ok()) << run.status();
  return run.ok() ? *run : CompiledRun();
}

/// All inputs of the compilation and the run.
auto partsOf(const CompiledRun &run) {
  std::set<std::pair<std::string, std::string>> flags;
  for (const DefaultFlag &flag : run.flags)
    flags.insert({flag.name, flag.value});
  return std::make_tuple(run.config, run.parallel, run.options, flags);
}

std::string flagOf(const CompiledRun &run, const std::string &name) {
  for (const DefaultFlag &flag : run.flags)
    if (flag.name == name)
      return flag.value;
  return "";
}

/// Initial values and changes to them, including that of the argument.
struct Change {
  Values before, change;
};

/// Arguments whose change alone would contradict others.
const std::map<std::string, Change> kChanges = {
    {"hidden_size", {{}, {{"hidden_size", "2048"}, {"kv_channels", "128"}}}},
    {"num_attention_heads", {{}, {{"num_attention_heads", "8"}, {"kv_channels", "128"}}}},
    {"seq_length", {{}, {{"seq_length", "256"}, {"encoder_seq_length", "256"}}}},
    {"encoder_seq_length", {{}, {{"encoder_seq_length", "256"}}}},
    {"tokenizer_type", {{}, {{"tokenizer_type", "BertWordPieceCase"}}}},
    {"vocab_file", {{}, {{"vocab_file", "bert-base-uncased-vocab.txt"}}}},
    {"make_vocab_size_divisible_by", {{}, {{"make_vocab_size_divisible_by", "512"}}}},
    {"fp16", {{}, {{"fp16", "False"}, {"params_dtype", "torch.float32"}}}},
    {"bf16",
     {{{"fp16", "False"}, {"params_dtype", "torch.float32"}},
      {{"bf16", "True"}, {"params_dtype", "torch.bfloat16"}}}},
    {"loss_scale", {{}, {{"loss_scale", "1024.0"}}}},
    {"optimizer", {{}, {{"optimizer", "sgd"}}}},
    {"micro_batch_size", {{}, {{"micro_batch_size", "2"}}}},
    {"tensor_model_parallel_size",
     {{}, {{"tensor_model_parallel_size", "2"}, {"world_size", "2"}}}},
    {"pipeline_model_parallel_size",
     {{}, {{"pipeline_model_parallel_size", "2"}, {"world_size", "2"}}}},
    {"num_layers_per_virtual_pipeline_stage",
     {{{"pipeline_model_parallel_size", "2"}, {"world_size", "2"}},
      {{"num_layers_per_virtual_pipeline_stage", "6"},
       {"virtual_pipeline_model_parallel_size", "2"}}}},
    {"virtual_pipeline_model_parallel_size",
     {{{"pipeline_model_parallel_size", "2"}, {"world_size", "2"}},
      {{"num_layers_per_virtual_pipeline_stage", "6"},
       {"virtual_pipeline_model_parallel_size", "2"}}}},
    {"data_parallel_size", {{}, {{"data_parallel_size", "2"}, {"world_size", "2"}}}},
    {"world_size", {{}, {{"world_size", "2"}, {"data_parallel_size", "2"}}}},
    {"lr_decay_style", {{}, {{"lr_decay_style", "cosine"}}}},
    {"lr_decay_samples",
     {{{"train_iters", "None"}, {"lr_decay_iters", "None"}, {"train_samples", "16000000"}},
      {{"lr_decay_samples", "8000000"}}}},
    {"lr_warmup_iters", {{{"lr_warmup_fraction", "None"}}, {{"lr_warmup_iters", "100"}}}},
    {"lr_warmup_samples", {{{"lr_warmup_fraction", "None"}}, {{"lr_warmup_samples", "100"}}}},
    {"train_samples",
     {{{"lr_decay_iters", "None"}}, {{"train_samples", "800"}, {"train_iters", "None"}}}},
    {"data_path", {{}, {{"data_path", "['other']"}}}},
    {"save", {{}, {{"save", "other"}}}},
    {"load", {{}, {{"load", "other"}}}},
    {"exit_interval", {{}, {{"exit_interval", "50"}}}},
    {"exit_duration_in_mins", {{}, {{"exit_duration_in_mins", "30"}}}},
    {"tensorboard_dir", {{}, {{"tensorboard_dir", "events"}}}},
};

/// Another value of the same kind.
std::string otherValue(const std::string &value) {
  if (value == "True")
    return "False";
  if (value == "False" || value == "None")
    return "True";
  const bool isNumber = value.find_first_not_of("0123456789.e-") == std::string::npos;
  return isNumber && !value.empty() ? std::to_string(std::stod(value) / 2) : "other";
}

Change changeOf(const ArgumentOutcome &outcome) {
  auto it = kChanges.find(outcome.name);
  if (it != kChanges.end())
    return it->second;
  std::string other = otherValue(outcome.value);
  // Counts stay integers.
  if (!outcome.value.empty() && outcome.value.find_first_not_of("0123456789") == std::string::npos)
    other = outcome.value == "0" ? "1" : std::to_string(std::stoll(outcome.value) * 2);
  return {{}, {{outcome.name, other}}};
}

TEST(CompiledRunTest, EveryArgumentHasAnOutcome) {
  for (const char *name :
       {"Megatron/megatron-bert-345m-1gpu.log", "Megatron/megatron-bert-345m-32gpus.log"}) {
    const CompiledRun run = compileText(readTestInput(name));
    EXPECT_EQ(run.outcomes.size(), 139u);
    for (const ArgumentOutcome &outcome : run.outcomes) {
      EXPECT_FALSE(outcome.text.empty()) << outcome.name;
      EXPECT_NE(outcome.status, ArgumentOutcome::Refused) << outcome.name;
      EXPECT_NE(outcome.line, 0u) << outcome.name;
    }
  }
}

TEST(CompiledRunTest, AnotherValueOfAnHonouredArgumentIsAnotherRun) {
  int count = 0;
  for (const ArgumentOutcome &outcome : compileText(caseLog()).outcomes) {
    const Change change = changeOf(outcome);
    const std::string before = caseLog(change.before);
    const CompiledRun start = compileText(before);
    // A different value instead of the first one shows whether it counts here.
    const auto found = std::find_if(start.outcomes.begin(), start.outcomes.end(),
                                    [&](auto &other) { return other.name == outcome.name; });
    ASSERT_NE(found, start.outcomes.end()) << outcome.name;
    if (found->status != ArgumentOutcome::Honoured)
      continue;
    ++count;
    const absl::StatusOr<CompiledRun> changed = tryCompile(withValues(before, change.change));
    if (changed.ok())
      EXPECT_NE(partsOf(*changed), partsOf(start)) << outcome.name;
    else
      EXPECT_NE(changed.status().message().find(outcome.name), std::string::npos)
          << changed.status();
  }
  EXPECT_GE(count, 60);
}

TEST(CompiledRunTest, AnotherValueOfAnArgumentWithoutEffectIsTheSameRunOrRefused) {
  const CompiledRun start = compileText(caseLog());
  std::set<std::string> refused;
  for (const ArgumentOutcome &outcome : start.outcomes) {
    if (outcome.status != ArgumentOutcome::NoEffect)
      continue;
    const bool isNumber = !outcome.value.empty() &&
                          outcome.value.find_first_not_of("0123456789.e-") == std::string::npos;
    const bool isFlag = outcome.value == "True" || outcome.value == "False";
    if (!isNumber && !isFlag)
      continue;
    const Change change = changeOf(outcome);
    const absl::StatusOr<CompiledRun> changed = tryCompile(withValues(caseLog(), change.change));
    if (changed.ok())
      EXPECT_EQ(partsOf(*changed), partsOf(start)) << outcome.name;
    else
      refused.insert(outcome.name);
  }
  EXPECT_EQ(refused,
            (std::set<std::string>{"adlr_autoresume", "apply_residual_connection_post_layernorm",
                                   "distribute_checkpointed_activations", "fp16_lm_cross_entropy",
                                   "fp32_residual_connection", "init_method_xavier_uniform",
                                   "use_one_sent_docs"}));
}

TEST(CompiledRunTest, TheModelAndTheRunOfTheCase) {
  const CompiledRun run = compileText(caseLog());
  for (const char *part :
       {R"("model_type": "megatron-bert")", R"("num_hidden_layers": 24)", R"("hidden_size": 1024)",
        R"("vocab_size": 28996)", R"("make_vocab_size_divisible_by": 29056)",
        R"("hidden_act": "gelu_new")", R"("lm_head_act": "gelu")", R"("bert_binary_head": true)",
        R"("apply_query_key_layer_scaling": true)", R"("use_scaled_init_method": true)",
        R"("layer_norm_eps": 1e-05)", R"("pad_token_id": null)"})
    EXPECT_NE(run.config.find(part), std::string::npos) << part << run.config;
  for (const char *part :
       {R"("accum_degree": 2)", R"("recompute": "full")",
        R"("precision": {"compute": "f16", "reduce": "f16", "loss_scale": "dynamic"})"})
    EXPECT_NE(run.parallel.find(part), std::string::npos) << part << run.parallel;
  EXPECT_EQ(run.options.at("batch"), "8");
  EXPECT_EQ(run.options.at("clip-norm"), "1.0");
  const Values expected = {{"train-steps", "2000000"},
                           {"lr", "0.0001"},
                           {"min-lr", "1e-05"},
                           {"lr-decay-steps", "990000"},
                           {"lr-decay-style", "linear"},
                           {"lr-warmup-fraction", "0.01"},
                           {"seed", "1234"},
                           {"save-interval", "500"},
                           {"save", "checkpoints/bert_cased_345m"},
                           {"load", "checkpoints/bert_cased_345m"},
                           {"data", "megatron:data/processed/enwiki_text/bert_cased/text_sentence"},
                           {"log-interval", "10"},
                           {"log-style", "megatron"},
                           {"tensorboard-log-interval", "1"}};
  for (const auto &[name, value] : expected)
    EXPECT_EQ(flagOf(run, name), value) << name;
}

TEST(CompiledRunTest, TheLayoutOfThirtyTwoDevices) {
  const CompiledRun run = compileText(readTestInput("Megatron/megatron-bert-345m-32gpus.log"));
  for (const char *part : {R"("sharding_size": 2)", R"("stage_cnt": 2)", R"("data": 8)",
                           R"("accum_degree": 4)", R"("schedule": "1f1b")"})
    EXPECT_NE(run.parallel.find(part), std::string::npos) << part << run.parallel;
  EXPECT_NE(run.config.find(R"("make_vocab_size_divisible_by": 29184)"), std::string::npos);
}

TEST(CompiledRunTest, RefusalsNameLineArgumentAndValue) {
  auto error = [](const Values &values) {
    return std::string(tryCompile(caseLog(values)).status().message());
  };
  EXPECT_EQ(error({{"rampup_batch_size", "['4', '4', '100']"}}),
            "run.log:111: argument 'rampup_batch_size': expected None, or train_samples instead of "
            "train_iters; found '4 4 100'");
  EXPECT_EQ(error({{"no_save_optim", "True"}, {"checkpoint_num_layers", "2"}}),
            "run.log:24: argument 'checkpoint_num_layers': expected 1: the input of each layer "
            "is kept; found '2' (and 1 more; --arguments=- lists them)");
}

TEST(CompiledRunTest, ACommandLineHasMegatronsDefaults) {
  const std::string command =
      "python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
      "--seq-length 32 --max-position-embeddings 32 --micro-batch-size 1 --global-batch-size 4 "
      "--vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --lr 1e-3 --train-iters 20 "
      "--eval-interval 10 --lr-decay-style cosine --data-path corpus";
  const CompiledRun run = compileText(command);
  EXPECT_NE(run.config.find(R"("vocab_size": 50257)"), std::string::npos) << run.config;
  EXPECT_EQ(run.options.at("task"), "clm");
  EXPECT_EQ(run.options.at("clip-norm"), "1.0");
  EXPECT_EQ(flagOf(run, "seed"), "1234");
  EXPECT_EQ(flagOf(run, "lr-decay-steps"), "20");
  EXPECT_EQ(run.options.count("reset-position-ids"), 0u);
  EXPECT_EQ(compileText(command + " --reset-position-ids").options.at("reset-position-ids"),
            "true");
  EXPECT_EQ(compileText(command + " --reset-attention-mask").options.at("reset-attention-mask"),
            "true");
  EXPECT_NE(run.config.find(R"("eos_token_id": 50256)"), std::string::npos) << run.config;
  // Megatron's defaults of arguments that the command line omits.
  EXPECT_TRUE(run.evaluates);
  EXPECT_EQ(flagOf(run, "eval-interval"), "10");
  EXPECT_EQ(flagOf(run, "eval-iters"), "100");
  EXPECT_EQ(flagOf(run, "split"), "969,30,1");
  EXPECT_FALSE(compileText(command + " --eval-iters 0").evaluates);
}

// Arguments that the versions of the cases do not have, with the values that newer ones print.
TEST(CompiledRunTest, NewerArguments) {
  const std::string command =
      "python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
      "--seq-length 32 --max-position-embeddings 32 --micro-batch-size 1 --global-batch-size 4 "
      "--vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --lr 1e-3 --train-iters 20 "
      "--weight-decay 0.1";
  const CompiledRun plain = compileText(command);
  EXPECT_EQ(partsOf(plain),
            partsOf(compileText(
                command +
                " --ckpt-format torch_dist --ckpt-fully-parallel-load --async-save "
                "--dist-ckpt-strictness assume_ok_unexpected --exit-signal-handler --manual-gc "
                "--manual-gc-interval 100 --normalization LayerNorm --rotary-percent 1.0 "
                "--position-embedding-type learned_absolute --rotary-base 10000 "
                "--lr-wsd-decay-style exponential --start-weight-decay 0.1 --end-weight-decay 0.1 "
                "--weight-decay-incr-style constant --head-lr-mult 1.0 --tokenizer-model x "
                "--num-dataset-builder-threads 2 --data-cache-path x --enable-experimental")));
  EXPECT_NE(compileText(command + " --norm-epsilon 1e-6").config, plain.config);
  const CompiledRun parts =
      compileText(command + " --train-data-path a --valid-data-path b --test-data-path c");
  EXPECT_EQ(flagOf(parts, "data"), "megatron:a");
  EXPECT_EQ(flagOf(parts, "valid-data"), "megatron:b");
  EXPECT_EQ(flagOf(parts, "test-data"), "megatron:c");
  EXPECT_TRUE(parts.evaluates);
  const auto error = [&](const std::string &more) {
    return std::string(tryCompile(command + more).status().message());
  };
  EXPECT_EQ(error(" --data-path a --train-data-path b"),
            "run.log:1: argument 'train_data_path': expected None with data_path; found 'b'");
  EXPECT_EQ(error(" --end-weight-decay 0.2"),
            "run.log:1: argument 'end_weight_decay': expected 0.1, the weight_decay; found '0.2'");
  EXPECT_NE(error(" --position-embedding-type relative"), "");
  EXPECT_NE(error(" --weight-decay-incr-style linear"), "");
}

// Parts of Llama's and Mixtral's blocks, under the names of the model's configuration.
TEST(CompiledRunTest, PartsOfTodaysModels) {
  const std::string command =
      "torchrun --nproc_per_node 16 pretrain_gpt.py --num-layers 4 --hidden-size 64 "
      "--num-attention-heads 8 --seq-length 32 --max-position-embeddings 64 --micro-batch-size 2 "
      "--global-batch-size 32 --vocab-size 1000 --tokenizer-type NullTokenizer --lr 1e-3 "
      "--train-iters 100 --disable-bias-linear ";
  const auto contains = [&](const std::string &more, std::vector<std::string> parts) {
    const CompiledRun run = compileText(command + more);
    for (const std::string &part : parts)
      EXPECT_NE((run.config + run.parallel).find(part), std::string::npos)
          << part << run.config << run.parallel;
  };
  contains("--swiglu --normalization RMSNorm --group-query-attention --num-query-groups 2 "
           "--kv-channels 16 --position-embedding-type rope --rotary-base 500000 --rotary-percent "
           "0.5 --use-rope-scaling --add-qkv-bias --qk-layernorm --apply-layernorm-1p",
           {R"("hidden_act": "silu")", R"("gated_linear_unit": true)",
            R"("normalization": "RMSNorm")", R"("num_query_groups": 2)", R"("kv_channels": 16)",
            R"("position_embedding_type": "rope")", R"("rotary_base": 500000)",
            R"("rotary_percent": 0.5)", R"("factor": 8})", R"("add_bias_linear": false)",
            R"("add_qkv_bias": true)", R"("qk_layernorm": true)", R"("apply_layernorm_1p": true)",
            R"("ffn_hidden_size": 128)"});
  contains("--squared-relu --position-embedding-type none --context-parallel-size 2",
           {R"("hidden_act": "relu2")", R"("position_embedding_type": "none")", R"("context": 2)",
            R"("data": 8)"});
  contains("--openai-gelu --no-bias-gelu-fusion", {R"("hidden_act": "gelu_new")"});
  contains("--no-bias-gelu-fusion", {R"("hidden_act": "gelu")"});
  contains("--quick-geglu", {R"("hidden_act": "quick_gelu")", R"("gated_linear_unit": true)"});
  contains("--position-embedding-type rope --rotary-seq-len-interpolation-factor 4",
           {R"({"rope_type": "linear", "factor": 4})"});
  const std::string experts = "--swiglu --num-experts 8 --moe-router-topk 3 --moe-aux-loss-coeff "
                              "0.01 --moe-z-loss-coeff 0.001 --moe-ffn-hidden-size 48 ";
  contains(experts + "--expert-model-parallel-size 4 --moe-layer-freq 2 "
                     "--moe-shared-expert-intermediate-size 24 --moe-router-pre-softmax",
           {R"("num_experts": 8)", R"("moe_router_topk": 3)", R"("moe_ffn_hidden_size": 48)",
            R"("moe_aux_loss_coeff": 0.01)", R"("moe_aux_loss_sequences": 2)",
            R"("moe_z_loss_coeff": 0.001)", R"("moe_layer_freq": 2)", R"("expert": 4)",
            R"("moe_shared_expert_intermediate_size": 24)", R"("moe_router_pre_softmax": true)"});
  contains(experts + "--moe-router-load-balancing-type seq_aux_loss",
           {R"("moe_aux_loss_sequences": 1)"});
  EXPECT_EQ(compileText(command + experts + "--moe-router-load-balancing-type none")
                .config.find("aux_loss"),
            std::string::npos);
}

TEST(CompiledRunTest, StableRateAndTheTypeOfGradients) {
  const std::string command =
      "python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
      "--seq-length 32 --max-position-embeddings 32 --micro-batch-size 1 --global-batch-size 4 "
      "--vocab-file gpt2-vocab.json --lr 1e-3 --train-iters 100 --bf16 ";
  const CompiledRun stable = compileText(
      command + "--lr-decay-style WSD --lr-wsd-decay-style cosine --lr-wsd-decay-iters 30");
  EXPECT_EQ(flagOf(stable, "lr-decay-style"), "WSD");
  EXPECT_EQ(flagOf(stable, "lr-wsd-decay-style"), "cosine");
  EXPECT_EQ(flagOf(stable, "lr-wsd-decay-steps"), "30");
  EXPECT_EQ(flagOf(compileText(command + "--lr-wsd-decay-iters 30"), "lr-wsd-decay-steps"), "");
  const std::string rounded = R"("reduce": "bf16")", exact = R"("reduce": "f32")";
  EXPECT_NE(compileText(command).parallel.find(exact), std::string::npos);
  EXPECT_NE(compileText(command + "--grad-reduce-in-bf16").parallel.find(rounded),
            std::string::npos);
}

TEST(CompiledRunTest, TablesHaveEveryArgument) {
  const CompiledRun run = compileText(caseLog());
  const std::string table = printOutcomes(run.outcomes), json = printOutcomesJson(run.outcomes);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 139);
  EXPECT_NE(table.find("eval_interval"), std::string::npos);
  EXPECT_NE(json.find(R"({"argument": "lr", "value": "0.0001", "outcome": "honoured")"),
            std::string::npos);
}

} // namespace
