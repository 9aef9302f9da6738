// Values read from DeepSpeed's configurations.
#include "TestInputs.h"
#include "lib/Frontend/DeepSpeed/DeepSpeedConfig.h"
#include "lib/Frontend/DeepSpeed/DeepSpeedKeys.h"

#include "gtest/gtest.h"
#include <set>

using namespace mlir::st;

namespace {

TrainingRun readRun(const std::string &json, TrainingRun run = {}, int64_t devices = 0) {
  absl::Status status = readDeepSpeedConfig(json, "ds.json", run, devices);
  EXPECT_TRUE(status.ok()) << status;
  return run;
}

std::string errorOf(const std::string &json, int64_t devices = 0) {
  TrainingRun run;
  return std::string(readDeepSpeedConfig(json, "ds.json", run, devices).message());
}

const KeyStatus *findStatus(const TrainingRun &run, const std::string &key) {
  for (const KeyStatus &status : run.keys)
    if (status.key == key)
      return &status;
  return nullptr;
}

TEST(DeepSpeedTest, BertBase) {
  TrainingRun run = readRun(readTestInput("DeepSpeed/bert-base.json"));
  EXPECT_EQ(run.globalBatch, 3520);
  EXPECT_EQ(run.microBatch, 220);
  EXPECT_EQ(run.accumulation, 1);
  EXPECT_EQ(run.dataParallel, 16);
  EXPECT_EQ(run.worldSize, 16);
  EXPECT_EQ(run.precision, RunPrecision::F32);
  EXPECT_EQ(run.zeroStage, 0);
  EXPECT_EQ(run.reduceBucket, 500000000);
  EXPECT_EQ(run.gatherBucket, 500000000);
  EXPECT_FALSE(run.overlapGradientReduction);
  EXPECT_EQ(run.optimizer, "adamw");
  EXPECT_EQ(run.learningRate, 5e-5);
  EXPECT_TRUE(run.autotunes);
  ASSERT_TRUE(findStatus(run, "autotuning.metric"));
  EXPECT_EQ(findStatus(run, "autotuning.metric")->reason, "the planner runs its own search");
  EXPECT_EQ(findStatus(run, "zero_optimization.stage")->status, KeyStatus::Honoured);
  EXPECT_EQ(findStatus(run, "zero_optimization.stage")->line, 9u);
}

TEST(DeepSpeedTest, TwoBatchSizesDecideTheThird) {
  auto expect = [](const char *json) {
    TrainingRun run = readRun(json, {}, 8);
    EXPECT_EQ(run.globalBatch, 64) << json;
    EXPECT_EQ(run.microBatch, 4) << json;
    EXPECT_EQ(run.accumulation, 2) << json;
    EXPECT_EQ(run.dataParallel, 8) << json;
  };
  expect(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4})");
  expect(R"({"train_batch_size": 64, "gradient_accumulation_steps": 2})");
  expect(R"({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})");
  EXPECT_EQ(readRun(R"({"train_batch_size": 64})", {}, 8).microBatch, 8);
  EXPECT_EQ(readRun(R"({"train_micro_batch_size_per_gpu": 4})", {}, 8).globalBatch, 32);
}

TEST(DeepSpeedTest, BatchSizesThatContradict) {
  EXPECT_EQ(errorOf(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
 "gradient_accumulation_steps": 3})",
                    8),
            "ds.json:1: key 'train_batch_size': expected train_batch_size = "
            "train_micro_batch_size_per_gpu x gradient_accumulation_steps x replicas, found "
            "train_batch_size 64, train_micro_batch_size_per_gpu 4, gradient_accumulation_steps "
            "3, 8 replicas");
  EXPECT_NE(errorOf(R"({"train_batch_size": 65, "train_micro_batch_size_per_gpu": 4})", 8), "");
  EXPECT_NE(errorOf(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
                        "gradient_accumulation_steps": 3})"),
            "");
}

TEST(DeepSpeedTest, AutoIsLeftToTheRun) {
  TrainingRun given;
  given.microBatch = 4;
  given.globalBatch = 32;
  given.dataParallel = 4;
  given.worldSize = 4;
  given.precision = given.reduceType = RunPrecision::BF16;
  given.clip = 0.5;
  TrainingRun run = readRun(R"({"train_batch_size": "auto", "gradient_clipping": "auto",
    "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
    "fp16": {"enabled": "auto", "loss_scale": 0}, "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto",
      "offload_param": {"device": "cpu"}, "offload_optimizer": {"device": "nvme"}}})",
                            given);
  EXPECT_EQ(run.accumulation, 2);
  EXPECT_EQ(run.precision, RunPrecision::BF16);
  EXPECT_EQ(run.clip, 0.5);
  EXPECT_EQ(run.zeroStage, 3);
  EXPECT_EQ(run.parameterOffload, RunOffload::Host);
  EXPECT_EQ(run.optimizerOffload, RunOffload::Disk);
  EXPECT_EQ(findStatus(run, "train_batch_size")->reason, "left to the arguments of the run");
}

TEST(DeepSpeedTest, PrecisionAndReductions) {
  EXPECT_EQ(readRun(R"({"fp16": {"enabled": true}})").precision, RunPrecision::F16);
  TrainingRun run = readRun(R"({"bf16": {"enabled": true}, "communication_data_type": "fp32"})");
  EXPECT_EQ(run.precision, RunPrecision::BF16);
  EXPECT_EQ(run.reduceType, RunPrecision::F32);
}

TEST(DeepSpeedTest, TableNamesEachKeyOnce) {
  std::set<std::string> names;
  for (const DeepSpeedKey &key : deepSpeedKeys()) {
    EXPECT_TRUE(names.insert(key.name.str()).second) << key.name.str();
    EXPECT_EQ(key.note.empty(), key.status == DeepSpeedStatus::Honoured) << key.name.str();
  }
}

TEST(DeepSpeedTest, Errors) {
  EXPECT_EQ(errorOf("{\n \"train_batchsize\": 1}"),
            "ds.json:2: unknown key 'train_batchsize'; did you mean 'train_batch_size'?");
  EXPECT_EQ(errorOf(R"({"zero_optimization": {"stage": 4}})"),
            "ds.json:1: key 'zero_optimization.stage': expected a stage from 0 to 3, found 4");
  EXPECT_EQ(errorOf(R"({"train_batch_size": 2.5})"),
            "ds.json:1: key 'train_batch_size': expected an integer from 1 to 2^31 - 1, found "
            "2.5");
  EXPECT_EQ(errorOf(R"({"fp16": true})"), "ds.json:1: key 'fp16': expected an object, found true");
  EXPECT_EQ(errorOf(R"({"elasticity": {"enabled": true}})"),
            "ds.json:1: key 'elasticity': expected no such section, or \"enabled\": false, since a "
            "batch size that depends on the number of devices has no single plan, found "
            "{\"enabled\":true}");
  EXPECT_EQ(errorOf(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})"),
            "ds.json:1: key 'fp16': expected one of fp16 and bf16 to be enabled, found both");
  EXPECT_EQ(errorOf(R"({"optimizer": {"type": "Lion"}})"),
            "ds.json:1: key 'optimizer.type': expected one of Adam, AdamW, FusedAdam, CPUAdam, "
            "SGD, Lamb, found Lion");
  EXPECT_EQ(errorOf(R"({"steps_per_print": 1, "steps_per_print": 2})"),
            "ds.json:1: key 'steps_per_print': expected it once, found it twice");
  EXPECT_EQ(errorOf("[]"), "ds.json: expected a JSON object, found []");
}

} // namespace
