// Values read from Megatron's logs and command lines.
#include "lib/Frontend/Megatron/Megatron.h"
#include "TestInputs.h"

#include "gtest/gtest.h"
#include <set>

using namespace mlir::st;

namespace {

TrainingRun readRun(const std::string &text) {
  absl::StatusOr<MegatronLog> log = parseMegatronLog(text, "run.log");
  EXPECT_TRUE(log.ok()) << log.status();
  if (!log.ok())
    return {};
  absl::StatusOr<TrainingRun> run = buildTrainingRun(*log);
  EXPECT_TRUE(run.ok()) << run.status();
  return run.ok() ? *run : TrainingRun();
}

std::string errorOf(const std::string &text) {
  absl::StatusOr<MegatronLog> log = parseMegatronLog(text, "run.log");
  if (!log.ok())
    return std::string(log.status().message());
  absl::StatusOr<TrainingRun> run = buildTrainingRun(*log);
  return run.ok() ? "" : std::string(run.status().message());
}

const std::string model = " --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
                          "--seq-length 512 --max-position-embeddings 512 --micro-batch-size 4 ";
const std::string bert = "python pretrain_bert.py" + model;
const std::string gpt = "python pretrain_gpt.py" + model;

TEST(MegatronTest, LogOfOneDevice) {
  TrainingRun run = readRun(readTestInput("Megatron/megatron-bert-345m-1gpu.log"));
  EXPECT_EQ(run.family, RunFamily::MegatronBert);
  EXPECT_TRUE(run.binaryHead);
  EXPECT_EQ(run.layers, 24);
  EXPECT_EQ(run.hidden, 1024);
  EXPECT_EQ(run.heads, 16);
  EXPECT_EQ(run.headSize, 64);
  EXPECT_EQ(run.keyValueHeads, 16);
  EXPECT_EQ(run.ffnHidden, 4096);
  EXPECT_EQ(run.sequence, 512);
  EXPECT_EQ(run.maxPositions, 512);
  EXPECT_EQ(run.vocabulary, 28996);
  EXPECT_EQ(run.paddedVocabulary, 29056);
  EXPECT_EQ(run.attentionDropout, 0.1);
  EXPECT_EQ(run.precision, RunPrecision::F16);
  EXPECT_EQ(run.reduceType, RunPrecision::F16);
  EXPECT_EQ(run.optimizer, "adam");
  EXPECT_EQ(run.clip, 1.0);
  EXPECT_EQ(run.microBatch, 4);
  EXPECT_EQ(run.globalBatch, 8);
  EXPECT_EQ(run.accumulation, 2);
  EXPECT_EQ(run.worldSize, 1);
  EXPECT_EQ(run.recomputation, RunRecomputation::Full);
  EXPECT_EQ(run.layersPerCheckpoint, 1);
  EXPECT_EQ(run.gradientReduction, RunGradientReduction::Local);
  EXPECT_TRUE(run.scatterGatherInPipeline);
  EXPECT_EQ(run.trainIterations, 2000000);
  EXPECT_EQ(run.decayIterations, 990000);
  EXPECT_EQ(run.warmupFraction, 0.01);
  ASSERT_TRUE(run.measured);
  EXPECT_EQ(run.measured->perSample, 22.39);
  EXPECT_EQ(run.measured->timers.at("backward-compute"), 90.74);
  EXPECT_EQ(run.measured->memoryMax, 8430.0);
  EXPECT_EQ(run.measured->memoryCapacity, 40537.0);
}

TEST(MegatronTest, LogOfThirtyTwoDevices) {
  TrainingRun run = readRun(readTestInput("Megatron/megatron-bert-345m-32gpus.log"));
  EXPECT_EQ(run.family, RunFamily::MegatronBert);
  EXPECT_EQ(run.tensorParallel, 2);
  EXPECT_EQ(run.pipelineParallel, 2);
  EXPECT_EQ(run.dataParallel, 8);
  EXPECT_EQ(run.worldSize, 32);
  EXPECT_EQ(run.globalBatch, 128);
  EXPECT_EQ(run.accumulation, 4);
  EXPECT_EQ(run.paddedVocabulary, 29184);
  ASSERT_TRUE(run.measured);
  EXPECT_EQ(run.measured->memoryMin, 4548.0);
  EXPECT_EQ(run.measured->memoryMax, 4876.0);
  EXPECT_EQ(run.measured->timers.at("backward-send-forward-recv"), 2.62);
}

TEST(MegatronTest, EachKeyWithoutEffectHasAReason) {
  TrainingRun run = readRun(readTestInput("Megatron/megatron-bert-345m-32gpus.log"));
  EXPECT_EQ(run.keys.size(), 139u);
  for (const KeyStatus &status : run.keys)
    EXPECT_EQ(status.reason.empty(), status.status == KeyStatus::Honoured) << status.key;
}

TEST(MegatronTest, TablesNameEachArgumentOnce) {
  std::set<std::string> names;
  for (llvm::ArrayRef<Argument> table : argumentTables())
    for (const Argument &argument : table) {
      EXPECT_TRUE(names.insert(argument.name.str()).second) << argument.name.str();
      EXPECT_EQ(argument.note.empty(), argument.status == ArgumentStatus::Honoured)
          << argument.name.str();
    }
  for (const ArgumentAlias &alias : argumentAliases())
    EXPECT_TRUE(findArgument(alias.name)) << alias.option.str();
}

TEST(MegatronTest, CommandLineHasMegatronsDefaults) {
  TrainingRun run = readRun(gpt + "--bf16 --lr 1.5e-4 --no-bias-gelu-fusion --vocab-file=v.json");
  EXPECT_EQ(run.family, RunFamily::MegatronGpt);
  EXPECT_EQ(run.ffnHidden, 4096);
  EXPECT_EQ(run.precision, RunPrecision::BF16);
  EXPECT_EQ(run.reduceType, RunPrecision::F32);
  EXPECT_EQ(run.vocabulary, 50257);
  EXPECT_EQ(run.paddedVocabulary, 50304);
  EXPECT_EQ(run.worldSize, 1);
  EXPECT_EQ(run.globalBatch, 4);
  EXPECT_EQ(run.accumulation, 1);
  EXPECT_EQ(run.learningRate, 1.5e-4);
  EXPECT_FALSE(run.fusedBiasGelu);
  EXPECT_TRUE(run.fusedSoftmax);
  EXPECT_EQ(run.recomputation, RunRecomputation::None);
}

TEST(MegatronTest, ShellFile) {
  TrainingRun run = readRun(R"(#!/bin/bash
# A comment's quote.
export GPUS=8; NODES=${SLURM_NNODES:-4}
WORLD_SIZE=$(($GPUS*$NODES))
LAUNCHER="--nproc_per_node $GPUS --nnodes $NODES --node_rank $RANK"
MODEL="
    --num-layers 24 \
    --hidden-size 1024
    --num-attention-heads 16 --max-position-embeddings 1024 --seq-length 1024
"
BATCH=(
    --micro-batch-size 2   # (one of many
    --global-batch-size=$((4*WORLD_SIZE))
)
torchrun $LAUNCHER pretrain_gpt.py \
    $MODEL "${BATCH[@]}" \
    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 \
    --num-layers-per-virtual-pipeline-stage 3 --sequence-parallel \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 3 \
    --use-distributed-optimizer --save $1 --data-path 0.3 "a b" 0.7 c $EXTRA \
    --swiglu --untie-embeddings-and-output-weights --position-embedding-type rope \
    2>&1 | tee log.txt
)");
  EXPECT_EQ(run.worldSize, 32);
  EXPECT_EQ(run.layers, 24);
  EXPECT_EQ(run.globalBatch, 128);
  EXPECT_EQ(run.dataParallel, 4);
  EXPECT_EQ(run.accumulation, 16);
  EXPECT_EQ(run.virtualStages, 2);
  EXPECT_TRUE(run.sequenceParallel);
  EXPECT_EQ(run.recomputation, RunRecomputation::Full);
  EXPECT_EQ(run.layersPerCheckpoint, 3);
  EXPECT_EQ(run.zeroStage, 1);
  EXPECT_TRUE(run.swiglu);
  EXPECT_TRUE(run.untiedEmbeddings);
  EXPECT_EQ(run.positions, RunPositions::Rotary);
  EXPECT_EQ(run.ffnHidden, 2688);
}

TEST(MegatronTest, NamespaceLineWithRanks) {
  TrainingRun run = readRun(
      "[default0]:using world size: 8, data-parallel-size: 4, tensor-model-parallel size: 2, "
      "pipeline-model-parallel size: 1 \n"
      "[default0]:Namespace(DDP_impl='torch', data_path=['a', 'b, c'], global_batch_size=32, "
      "hidden_size=1024, max_position_embeddings=512, micro_batch_size=4, num_attention_heads=16, "
      "num_layers=24, params_dtype=torch.float16, fp16=True, seq_length=512, zero_stage=1.0, "
      "deepspeed=True, tensor_model_parallel_size=2, num_experts=[1])\n"
      "[default7]: iteration 100/ 1000 | consumed samples: 3200 | elapsed time per iteration "
      "(ms): 179.5 | learning rate: 1.000E-06 | global batch size: 32 |\n");
  EXPECT_EQ(run.worldSize, 8);
  EXPECT_EQ(run.dataParallel, 4);
  EXPECT_EQ(run.accumulation, 2);
  EXPECT_EQ(run.zeroStage, 1);
  EXPECT_EQ(run.gradientReduction, RunGradientReduction::Torch);
  ASSERT_TRUE(run.measured);
  EXPECT_EQ(run.measured->perIteration, 179.5);
}

TEST(MegatronTest, DumpGoesBeforeTheCommandLine) {
  std::string log = readTestInput("Megatron/megatron-bert-345m-1gpu.log");
  log.replace(log.find("--micro-batch-size 4"), 20, "--micro-batch-size 2");
  TrainingRun run = readRun(log);
  EXPECT_EQ(run.microBatch, 4);
  auto overruled = llvm::find_if(run.keys, [](const KeyStatus &status) {
    return status.key == "micro_batch_size" && status.status == KeyStatus::NoEffect;
  });
  ASSERT_NE(overruled, run.keys.end());
  EXPECT_EQ(overruled->reason, "the argument dump overrides the command line");
}

TEST(MegatronTest, TheLastOfTwoDumpsCounts) {
  std::string first = readTestInput("Megatron/megatron-bert-345m-1gpu.log");
  TrainingRun run = readRun(first + readTestInput("Megatron/megatron-bert-345m-32gpus.log"));
  EXPECT_EQ(run.worldSize, 32);
  EXPECT_EQ(run.measured->memoryMax, 4876.0);
}

TEST(MegatronTest, TimersAsRanges) {
  TrainingRun run = readRun(bert + "\n(min, max) time across ranks (ms):\n"
                                   "    forward-compute ..........: (43.20, 44.10)\n"
                                   "    optimizer ................: (9.00, 9.50)\n"
                                   "[Rank 0] (after 10 iterations) memory (MB) | allocated: 1.0 | "
                                   "max allocated: 2.0 | reserved: 3.0 | max reserved: 4.5\n");
  ASSERT_TRUE(run.measured);
  EXPECT_EQ(run.measured->timers.at("forward-compute"), 44.10);
  EXPECT_EQ(run.measured->timers.at("optimizer"), 9.50);
  EXPECT_EQ(run.measured->memoryMax, 4.5);
}

/// Lines of a newer version: other names, long names without dots, empty values.
TEST(MegatronTest, NewerDump) {
  TrainingRun run = readRun("INFO:megatron.core:setting number of microbatches to constant 16\n"
                            "------------------------ arguments ------------------------\n"
                            "  add_bias_linear ................................. True\n"
                            "  add_qkv_bias .................................... True\n"
                            "  attention_backend ............................... AttnBackend.auto\n"
                            "  config_logger_dir ............................... \n"
                            "  cp_comm_type .................................... ['p2p']\n"
                            "  encoder_num_layers .............................. 12\n"
                            "  encoder_seq_length .............................. 512\n"
                            "  fp16 ............................................ True\n"
                            "  global_batch_size ............................... 16\n"
                            "  hidden_size ..................................... 768\n"
                            "  inference_dynamic_batching_buffer_guaranteed_fraction  0.2\n"
                            "  inference_dynamic_batching_buffer_overflow_factor  None\n"
                            "  keep_fp8_transpose_cache_when_using_custom_fsdp . False\n"
                            "  micro_batch_size ................................ 1\n"
                            "  no_bias_gelu_fusion ............................. True\n"
                            "  num_attention_heads ............................. 12\n"
                            "  num_layers ...................................... 12\n"
                            "  num_query_groups ................................ 1\n"
                            "  params_dtype .................................... torch.float16\n"
                            "  recompute_granularity ........................... selective\n"
                            "  seq_length ...................................... 512\n"
                            "  tokenizer_type .................................. GPT2BPETokenizer\n"
                            "  use_distributed_optimizer ....................... True\n"
                            "  world_size ...................................... 1\n"
                            "-------------------- end of arguments ---------------------\n");
  EXPECT_EQ(run.layers, 12);
  EXPECT_EQ(run.keyValueHeads, 12);
  EXPECT_EQ(run.vocabulary, 50257);
  EXPECT_EQ(run.accumulation, 16);
  EXPECT_EQ(run.recomputation, RunRecomputation::Selective);
  EXPECT_EQ(run.zeroStage, 1);
  EXPECT_FALSE(run.fusedBiasGelu);
  EXPECT_EQ(run.keys.size(), 24u);
}

TEST(MegatronTest, KnownVocabularies) {
  EXPECT_EQ(knownVocabulary("a/bert-large-cased-vocab.txt"), 28996);
  EXPECT_EQ(knownVocabulary("bert-base-uncased/vocab.txt"), 30522);
  EXPECT_EQ(knownVocabulary("data/gpt2-vocab.json"), 50257);
  EXPECT_EQ(knownVocabulary("vocab.txt"), std::nullopt);
}

TEST(MegatronTest, Errors) {
  EXPECT_EQ(errorOf(gpt + "--num-layrs 24"),
            "run.log:1: unknown argument '--num-layrs'; did you mean 'num_layers'?");
  EXPECT_EQ(errorOf(gpt + "--clip-grad -1"), "run.log:1: argument '--clip-grad': expected a finite "
                                             "number of at least 0, found '-1'");
  EXPECT_EQ(errorOf(gpt + "\\\n --fp16 \\\n --hidden-dropout 1.5"),
            "run.log:3: argument '--hidden-dropout': expected a number from 0 to 1, found '1.5'");
  EXPECT_EQ(errorOf(gpt + "--fp16=1"),
            "run.log:1: argument '--fp16': expected no value, found '1'");
  EXPECT_EQ(errorOf(gpt + "--lr"), "run.log:1: argument '--lr': expected a value, found none");
  EXPECT_EQ(errorOf(gpt + "--DDP-impl horovod"),
            "run.log:1: argument '--DDP-impl': expected one of local, torch, found 'horovod'");
  EXPECT_EQ(errorOf(gpt + "--num-experts 8"),
            "run.log: argument 'add_bias_linear': expected False (--disable-bias-linear), since "
            "experts have no biases, found none");
  EXPECT_EQ(errorOf("python pretrain_gpt.py --hidden-size 8"),
            "run.log: argument 'num_layers': expected an integer from 1 to 2^31 - 1, found "
            "none");
  EXPECT_EQ(errorOf("python pretrain_t5.py" + model),
            "run.log:1: expected pretrain_bert.py or pretrain_gpt.py, found 'pretrain_t5.py'");
  EXPECT_EQ(errorOf(gpt + "--tensor-model-parallel-size 3"),
            "run.log:1: 16 attention heads do not divide over 3 tensor-parallel devices "
            "(num_attention_heads 16, tensor_model_parallel_size 3)");
  EXPECT_EQ(errorOf("hello"),
            "run.log: expected a Megatron command line or argument dump, found neither");
  EXPECT_EQ(errorOf("---- arguments ----\n  num_layers ........ 2\n"),
            "run.log:1: the argument dump does not end: expected 'end of arguments', found the end "
            "of the file");
  EXPECT_EQ(errorOf("---- arguments ----\n  num_layers ..... 2\n  num_layers ..... 3\n"),
            "run.log:3: argument 'num_layers' appears twice: expected '2' as before, found '3'");
}

} // namespace
