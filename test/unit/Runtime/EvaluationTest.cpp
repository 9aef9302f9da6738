#include "lib/Runtime/Evaluation/EvaluationReport.h"
#include "lib/Runtime/Evaluation/EvaluationSums.h"
#include "lib/Runtime/Evaluation/SpanScore.h"

#include <cmath>
#include <gtest/gtest.h>

namespace st {
namespace {

TEST(SpanScoreTest, AnswersAreNormalised) {
  EXPECT_EQ(normalizeAnswer("  The  Quick, brown\tFOX! "), "quick brown fox");
  EXPECT_EQ(normalizeAnswer("an A the"), "");
  EXPECT_EQ(normalizeAnswer("Theatre and Anna"), "theatre and anna");
  EXPECT_EQ(normalizeAnswer("U.S."), "us");
  // Python's lower() and regular expressions know Unicode.
  EXPECT_EQ(normalizeAnswer("\u00c9cole\u00a0\u00c4"), "\u00e9cole \u00e4");
  EXPECT_EQ(normalizeAnswer("the\u2013end of l\u2019a"), "\u2013end of l\u2019");
}

// Values of SQuAD 1.1's evaluation script.
TEST(SpanScoreTest, ScoresAreThoseOfSquad) {
  EXPECT_TRUE(isExactMatch("the Denver Broncos", "Denver Broncos!"));
  EXPECT_FALSE(isExactMatch("Denver", "Denver Broncos"));
  EXPECT_DOUBLE_EQ(f1Score("Denver", "Denver Broncos"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(f1Score("in the city of Santa Clara", "Santa Clara, California"), 0.5);
  EXPECT_DOUBLE_EQ(f1Score("red red blue", "red green"), 0.4);
  EXPECT_DOUBLE_EQ(f1Score("x", "y"), 0);
  EXPECT_DOUBLE_EQ(f1Score("the", "a"), 0);
  EXPECT_DOUBLE_EQ(f1Score("the", "b"), 0);
}

TEST(SpanScoreTest, TheBestSpanIsOrderedAndShort) {
  const std::vector<float> start = {9, 0, 1, 5, 0}, end = {0, 8, 0, 0, 4};
  EXPECT_EQ(findBestSpan(start, end, 0, 5, 30), std::pair(int64_t{0}, int64_t{1}));
  EXPECT_EQ(findBestSpan(start, end, 1, 5, 30), std::pair(int64_t{3}, int64_t{4}));
  EXPECT_EQ(findBestSpan(start, end, 0, 5, 1), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(findBestSpan({1, 1}, {1, 1}, 0, 2, 30), std::pair(int64_t{0}, int64_t{0}));
}

TEST(EvaluationSumsTest, LossesAreMeansAndAccuraciesCountLabels) {
  BatchSpec spec;
  spec.task = "mlm";
  EvaluationSums sums(spec);
  sums.add({{"loss", {3}}, {"lm_loss", {2}}, {"masked_lm_correct", {1}}, {"masked_lm_count", {4}}},
           {}, 0);
  sums.add({{"loss", {5}}, {"lm_loss", {4}}, {"masked_lm_correct", {5}}, {"masked_lm_count", {8}}},
           {}, 1);
  const std::map<std::string, double> expected = {
      {"loss", 4}, {"lm_loss", 3}, {"masked_lm_accuracy", 0.5}, {"perplexity", std::exp(3.0)}};
  EXPECT_EQ(sums.values(), expected);
}

// A row with an answer that is found except for one word, and one with an answer outside of its
// window.
TEST(EvaluationSumsTest, SpansAreTextOfTheVocabulary) {
  BatchSpec spec;
  spec.task = "span";
  spec.batch = 2;
  spec.sequence = 8;
  spec.tokenizerFiles["vocab.txt"] = "[PAD]\n[CLS]\n[SEP]\nwho\nsanta\n##s\nclara\nthe\n";
  Batch batch;
  const auto add = [&](const char *name, std::vector<int64_t> shape, std::vector<int32_t> values) {
    batch.emplace_back(name, ElementType::I32, std::move(shape));
    std::copy(values.begin(), values.end(), batch.back().ints());
  };
  const std::vector<int32_t> row = {1, 3, 2, 7, 4, 5, 6, 2};
  std::vector<int32_t> ids = row;
  ids.insert(ids.end(), row.begin(), row.end());
  add("input_ids", {2, 8}, ids);
  add("token_type_ids", {2, 8}, {0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1});
  add("attention_mask", {2, 8}, std::vector<int32_t>(16, 1));
  add("start_positions", {2}, {4, 0});
  add("end_positions", {2}, {6, 0});
  std::vector<float> starts(16, 0), ends(16, 0);
  starts[3] = 5; // "the santas" for "santas clara"
  ends[5] = 5;
  ends[7] = 9; // [SEP] is no answer
  EvaluationSums sums(spec);
  sums.add({{"start_logits", starts}, {"end_logits", ends}}, batch, 0);
  const std::map<std::string, double> values = sums.values();
  EXPECT_EQ(values.at("exact_match"), 0);
  EXPECT_DOUBLE_EQ(values.at("f1"), 2.0 / 3);
}

// The answer of a question is the best one of its windows; the best of its right answers counts.
TEST(AnswerScoresTest, QuestionsAreScoredOverTheirWindows) {
  Questions asked;
  asked.isShuffled = false;
  asked.texts = {{"the red cat sat", {{4, 0, 3}, {5, 4, 7}, {6, 8, 11}, {7, 12, 15}}}};
  asked.questions = {{"a", 0, {9}, 1, 1, {"Red", "red cat"}, 2}, {"b", 0, {9}, 3, 3, {"sat"}, 2}};
  asked.windows = {{0, 0, 3}, {0, 2, 4}, {1, 0, 3}, {1, 2, 4}};
  BatchSpec spec;
  spec.batch = 1;
  spec.sequence = 8;
  AnswerScores scores(spec, &asked);
  // [CLS] question [SEP] text: the text begins at position 3.
  const auto add = [&](int64_t window, int64_t start, int64_t end, float logit) {
    std::vector<float> starts(8, 0), ends(8, 0);
    starts[start] = ends[end] = logit;
    starts[1] = ends[1] = 9; // the question is no answer
    scores.add(starts, ends, {}, window);
  };
  add(0, 4, 5, 2); // "red cat"
  EXPECT_TRUE(scores.values().empty());
  add(1, 4, 4, 1); // "sat", with less
  add(1, 4, 4, 5); // the window was added before
  add(2, 3, 3, 1); // "the"; the other window is missing
  const std::map<std::string, std::string> expected = {{"a", "red cat"}};
  EXPECT_EQ(scores.predictions(), expected);
  EXPECT_EQ(scores.values().at("exact_match"), 1);
  add(3, 3, 4, 3); // "cat sat"
  EXPECT_EQ(scores.predictions().at("b"), "cat sat");
  EXPECT_EQ(scores.values().at("exact_match"), 0.5);
  EXPECT_DOUBLE_EQ(scores.values().at("f1"), (1 + 2.0 / 3) / 2);
}

TEST(EvaluationReportTest, PredictionsAreJson) {
  EvaluationReport report;
  EXPECT_EQ(printPredictions(report), "{}\n");
  report.predictions = {{"a", "the \"red\" cat"}, {"b", ""}};
  EXPECT_EQ(printPredictions(report), "{\"a\": \"the \\\"red\\\" cat\",\n \"b\": \"\"}\n");
}

TEST(EvaluationReportTest, MegatronsLinesAndTags) {
  EvaluationReport report;
  report.part = "validation";
  report.step = 20;
  report.values = {{"loss", 25}, {"perplexity", 1}};
  const std::string line =
      " validation loss at iteration 20 | lm loss value: 2.500000E+01 | lm loss PPL: "
      "4.851652E+08 | ";
  const std::string rule(line.size() + 1, '-');
  EXPECT_EQ(printMegatronEvaluation(report), rule + "\n" + line + "\n" + rule + "\n");
  const std::map<std::string, double> tags = tagEvaluation(report);
  EXPECT_EQ(tags.at("lm loss validation"), 25);
  EXPECT_DOUBLE_EQ(tags.at("lm loss validation ppl"), std::exp(20.0));
  EXPECT_EQ(printEvaluation(report),
            "validation after step 20: loss 25  perplexity 1  host 0.000 s\n");
}

} // namespace
} // namespace st
