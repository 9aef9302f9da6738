// Files of measured runs.

#include "lib/Planner/Fitting/Rows.h"
#include "lib/Planner/Fitting/Contradictions.h"

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

TEST(Rows, PartsOfSequencesAndExperts) {
  const std::string header = std::string(kModel) + "tp,pp,micro_batch,global_batch,gpus,",
                    sizes = std::string(kSizes) + "2,2,1,16,64,";
  const MeasuredRow row = parseOne(header + "context,expert", sizes + "4,2");
  EXPECT_EQ(row.layout.context, 4);
  EXPECT_EQ(row.layout.expert, 2);
  EXPECT_EQ(row.layout.replicas, 4);
  EXPECT_EQ(row.layout.microBatches, 4);
  EXPECT_EQ(row.layout.contextAttention, ContextAttention::Unset);
  auto attentionOf = [&](const char *context, const char *value) {
    return parseOne(header + "context,cp_comm_type", sizes + context + "," + value)
        .layout.contextAttention;
  };
  EXPECT_EQ(attentionOf("4", "a2a"), ContextAttention::Heads);
  EXPECT_EQ(attentionOf("4", "p2p"), ContextAttention::Keys);
  EXPECT_EQ(attentionOf("4", "ring"), ContextAttention::Ring);
  EXPECT_EQ(attentionOf("1", "a2a"), ContextAttention::Unset);
  EXPECT_EQ(errorOf(header + "context,context_attention", sizes + "4,values"),
            "r.csv:2: column context_attention: expected heads, keys, ring, a2a, all_gather or "
            "p2p, found "
            "\"values\"");
  EXPECT_EQ(errorOf(header + "dp,context", sizes + "16,2"),
            "r.csv:2: expected gpus = tp x pp x dp x context = 128, found 64");
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
  EXPECT_EQ(errorOf(header + "mem_mib", sizes + "1-2-3"),
            "r.csv:2: column mem_mib: expected a number above 0, or a range such as 5624-6176, "
            "found \"1-2-3\"");
  EXPECT_EQ(errorOf(header + "gpus", sizes + "0"),
            "r.csv:2: column gpus: expected an integer from 1, found \"0\"");
  EXPECT_EQ(errorOf(header + "gpus,devices", sizes + "1,1"),
            "r.csv:1: column devices appears twice");
  EXPECT_EQ(errorOf(header + "accumulation", sizes + "3"),
            "r.csv:2: expected global_batch = dp x micro_batch x accumulation = 3, found 8");
  EXPECT_EQ(errorOf("tp,pp,micro_batch,global_batch", "1,1,1,8"),
            "r.csv:1: expected a column hidden, found none");
  EXPECT_EQ(errorOf(std::string(kModel) + "tp,pp,micro_batch,global_batch",
                    std::string(kSizes) + ",1,1,8"),
            "r.csv:2: column tp: expected an integer from 1, found \"\"");
}

static std::vector<Contradiction> contradictionsOf(const std::string &header,
                                                   const std::vector<std::string> &lines) {
  std::string text = header + "\n";
  for (const std::string &line : lines)
    text += line + "\n";
  auto file = parseRows(text, "r.csv", {});
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? findContradictions(file->rows) : std::vector<Contradiction>();
}

// Replicas do not change a rank's passes and update: the slower row is disturbed.
TEST(Contradictions, TimersOfTheSameWork) {
  const std::string header =
      std::string(kModel) + "tp,pp,dp,micro_batch,global_batch,forward_ms,backward_ms,optimizer_ms";
  const std::string two = std::string(kSizes) + "2,2,2,4,32,",
                    eight = std::string(kSizes) + "2,2,8,4,128,";
  const auto found =
      contradictionsOf(header, {two + "53.94,99.2,10.59", eight + "89.49,113.45,48.84"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].row, 1u);
  EXPECT_EQ(found[0].peer, 0u);
  EXPECT_EQ(found[0].what, "forward 89.49 ms, 53.94 ms for the same work");
  EXPECT_EQ(flaggedRows(found, 2), (std::vector<bool>{false, true}));

  const auto update = contradictionsOf(header, {two + "53.94,99.2,48.84", eight + "55,101,10.59"});
  ASSERT_EQ(update.size(), 1u);
  EXPECT_EQ(update[0].row, 0u);
  EXPECT_EQ(update[0].what, "optimizer 48.84 ms, 10.59 ms for the same work");

  EXPECT_TRUE(contradictionsOf(header, {two + "53.94,99.2,10.59", eight + "60,110,11"}).empty())
      << "a few per cent";
  // Other work: twice the micro-batches, and half of the layers in a stage.
  EXPECT_TRUE(contradictionsOf(header, {two + "53.94,99.2,10.59",
                                        std::string(kSizes) + "2,2,2,4,64,108,200,10.59"})
                  .empty());
  EXPECT_TRUE(contradictionsOf(
                  header, {two + "53.94,99.2,10.59", std::string(kSizes) + "2,1,2,4,32,108,200,21"})
                  .empty());
  // ZeRO splits the update over replicas, not the passes.
  EXPECT_TRUE(
      contradictionsOf(header + ",zero", {two + "53.94,99.2,40,1", eight + "54,99,10,1"}).empty());
  EXPECT_EQ(
      contradictionsOf(header + ",zero", {two + "53.94,99.2,40,1", eight + "54,199,10,1"}).size(),
      1u);
}

TEST(Contradictions, StepsOfOneLayout) {
  const std::string header = std::string(kModel) + "tp,pp,dp,micro_batch,global_batch,iteration_ms";
  const std::string same = std::string(kSizes) + "1,1,8,2,";
  EXPECT_TRUE(
      contradictionsOf(header, {same + "32,100", same + "32,110", same + "64,190"}).empty());
  const auto twice = contradictionsOf(header, {same + "32,100", same + "32,120"});
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(twice[0].row, 1u);
  // Two micro-batches took longer than four.
  const auto fewer = contradictionsOf(header, {same + "64,190", same + "32,200"});
  ASSERT_EQ(fewer.size(), 1u);
  EXPECT_EQ(fewer[0].row, 1u);
  EXPECT_EQ(fewer[0].what, "200 ms for 2 micro-batches, 190 ms for 4");
}
