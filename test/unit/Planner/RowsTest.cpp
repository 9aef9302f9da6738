// Files of measured runs.

#include "lib/Planner/Rows.h"

#include "gtest/gtest.h"

using namespace st;

static MeasuredRow parseOne(const std::string &header, const std::string &line,
                            RowDefaults defaults = {}) {
  auto file = parseRows(header + "\n" + line + "\n", "r.csv", defaults);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? file->rows.at(0) : MeasuredRow();
}

static std::string errorOf(const std::string &header, const std::string &line) {
  auto file = parseRows(header + "\n" + line + "\n", "r.csv", {});
  return file.ok() ? "" : std::string(file.status().message());
}

constexpr const char *kModel = "hidden,heads,layers,";
constexpr const char *kSizes = "1024,16,24,";

TEST(Rows, OtherNamesAndUnits) {
  RowDefaults defaults;
  defaults.devicesPerNode = 4;
  const MeasuredRow row = parseOne(
      "optimizer,nodes,TP,PP,DP,MBS,GBS,NHIDDEN,num_heads,num_layers,seconds_per_iteration,"
      "memory_gb,ZeRO_stage,checkpointing,dtype,padded_vocab,seq_len",
      "8-bit Adam,32,4,16,2,1,2048,11600,80,64,681,31,z1,True,FP16,51200,2048", defaults);
  EXPECT_EQ(row.optimizer, "adam-8bit");
  EXPECT_EQ(row.layout.devices(), 128);
  EXPECT_EQ(row.layout.microBatches, 1024);
  EXPECT_EQ(row.layout.zero, 1);
  EXPECT_EQ(row.layout.recompute, Recompute::Full);
  EXPECT_EQ(row.model.vocabulary, 51200);
  EXPECT_EQ(row.model.precision, "f16");
  EXPECT_DOUBLE_EQ(*row.measuredMs, 681e3);
  EXPECT_DOUBLE_EQ(*row.memoryMib, 31 * 1024);
}

TEST(Rows, RangesRatesAndWhatNobodyMeasured) {
  const std::string degrees = std::string(kModel) + "tp,pp,dp,micro_batch,global_batch,",
                    sizes = std::string(kSizes) + "2,2,2,4,32,";
  const MeasuredRow bert =
      parseOne(degrees + "ms_per_sample,gpu_mem_mib", sizes + "7.25,5624-6176");
  EXPECT_DOUBLE_EQ(*bert.measuredMs, 232);
  EXPECT_DOUBLE_EQ(*bert.memoryMib, 6176);
  EXPECT_DOUBLE_EQ(*parseOne(degrees + "samples_per_second", sizes + "64").measuredMs, 500);
  EXPECT_FALSE(parseOne(degrees + "iteration_ms", sizes).measuredMs);
}

TEST(Rows, AGivenModelNeedsItsMicroBatchAlone) {
  RowDefaults defaults;
  defaults.devicesPerNode = 16;
  defaults.model = PlannedModel{"bert", 12, 768, 12, 128, 28996, "f32"};
  const MeasuredRow row = parseOne("setup,zero_stage,gas,mbs,end_to_end_samples_per_s",
                                   "plain,none,1,128,2502.236", defaults);
  EXPECT_TRUE(row.hasGivenModel);
  EXPECT_EQ(row.layout.replicas, 16);
  EXPECT_EQ(row.layout.globalBatch(), 2048);
  EXPECT_NEAR(*row.measuredMs, 818.468, 1e-3);
}

TEST(Rows, Errors) {
  const std::string header = std::string(kModel) + "tp,pp,micro_batch,global_batch,",
                    sizes = std::string(kSizes) + "1,1,1,8,";
  EXPECT_EQ(errorOf(header + "optimizer", sizes + "lion"),
            "r.csv:2: column optimizer: expected adam, adamw, adam-8bit, adafactor or sgd, found "
            "\"lion\"");
  EXPECT_EQ(errorOf(header + "zero", sizes + "4"),
            "r.csv:2: column zero: expected none or an integer from 0 to 3, found \"4\"");
  EXPECT_EQ(errorOf(header + "recompute", sizes + "some"),
            "r.csv:2: column recompute: expected none, selective or full, found \"some\"");
  EXPECT_EQ(
      errorOf(header + "mem_mib", sizes + "1-2-3"),
      "r.csv:2: column mem_mib: expected a number above 0, or two as 5624-6176, found \"1-2-3\"");
  EXPECT_EQ(errorOf(header + "gpus", sizes + "0"),
            "r.csv:2: column gpus: expected an integer from 1, found \"0\"");
  EXPECT_EQ(errorOf(header + "gpus,devices", sizes + "1,1"),
            "r.csv:1: column devices is there twice");
  EXPECT_EQ(errorOf(header + "accumulation", sizes + "3"),
            "r.csv:2: expected global_batch = dp x micro_batch x accumulation = 3, found 8");
  EXPECT_EQ(errorOf("tp,pp,micro_batch,global_batch", "1,1,1,8"),
            "r.csv:1: expected a column hidden, found none");
  EXPECT_EQ(errorOf(std::string(kModel) + "tp,pp,micro_batch,global_batch",
                    std::string(kSizes) + ",1,1,8"),
            "r.csv:2: column tp: expected an integer from 1, found \"\"");
}
