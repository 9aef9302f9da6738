#include "lib/Runtime/Data/BatchSource.h"
#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/CounterRandom.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace st {
namespace {

BatchSpec makeSpec(const std::string &task, int64_t batch = 4, int64_t sequence = 32) {
  BatchSpec spec;
  spec.task = task;
  spec.batch = batch;
  spec.sequence = sequence;
  spec.vocabulary = 512;
  spec.seed = 7;
  return spec;
}

std::string writeFile(const std::string &name, absl::string_view content) {
  std::string path = absl::StrCat(testing::TempDir(), "/", name);
  EXPECT_TRUE(writeFileAtomically(path, content).ok());
  return path;
}

std::string writeText() {
  std::string text;
  for (int i = 0; i < 60; ++i)
    absl::StrAppend(&text, "Sentence number ", i, " of this text says little. ",
                    i % 7 == 0 ? "\n\n" : "");
  return writeFile("data-test.txt", text);
}

const HostTensor &tensor(const Batch &batch, absl::string_view name) {
  auto it =
      std::find_if(batch.begin(), batch.end(), [&](const HostTensor &t) { return t.name == name; });
  EXPECT_NE(it, batch.end()) << name;
  return *it;
}

std::string errorOf(const std::string &data, const BatchSpec &spec) {
  absl::StatusOr<std::unique_ptr<BatchSource>> source = createBatchSource(data, spec);
  EXPECT_FALSE(source.ok()) << data;
  std::string message(source.status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

class CorpusSourceTest : public testing::TestWithParam<std::pair<const char *, const char *>> {
protected:
  std::string data() const {
    return GetParam().second == std::string("text") ? "text:" + writeText() : "synthetic";
  }
  std::string task() const { return GetParam().first; }
};

TEST_P(CorpusSourceTest, BatchesArePure) {
  BatchSpec spec = makeSpec(task());
  auto a = *createBatchSource(data(), spec), b = *createBatchSource(data(), spec);
  for (int64_t index : {5, 0, 1000000}) {
    Batch x = *a->batch(index), y = *b->batch(index), next = *b->batch(index + 1);
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(x[i].bytes, y[i].bytes);
    EXPECT_NE(x[0].bytes, next[0].bytes);
  }
  spec.seed = 8;
  EXPECT_NE((*(*createBatchSource(data(), spec))->batch(0))[0].bytes, (*a->batch(0))[0].bytes);
}

TEST_P(CorpusSourceTest, ValuesAreInRange) {
  BatchSpec spec = makeSpec(task());
  auto source = *createBatchSource(data(), spec);
  for (int64_t index = 0; index < 50; ++index) {
    Batch batch = *source->batch(index);
    for (const HostTensor &t : batch)
      for (size_t i = 0; i < t.bytes.size() / 4; ++i) {
        ASSERT_LT(t.ints()[i], spec.vocabulary);
        ASSERT_TRUE(t.ints()[i] >= 0 || (t.name == "labels" && t.ints()[i] == -100));
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CorpusSourceTest,
                         testing::Values(std::pair{"mlm", "text"}, std::pair{"span", "text"},
                                         std::pair{"clm", "text"}, std::pair{"mlm", "synthetic"},
                                         std::pair{"span", "synthetic"},
                                         std::pair{"clm", "synthetic"}));

TEST(MaskedLanguageDataTest, MasksFifteenPercent) {
  auto source = *createBatchSource("text:" + writeText(), makeSpec("mlm"));
  int64_t text = 0, chosen = 0, masked = 0, kept = 0, follows = 0, rows = 0, padded = 0;
  for (int64_t index = 0; index < 500; ++index) {
    Batch batch = *source->batch(index);
    const int32_t *ids = tensor(batch, "input_ids").ints(),
                  *labels = tensor(batch, "labels").ints();
    const int32_t *mask = tensor(batch, "attention_mask").ints();
    const int32_t *types = tensor(batch, "token_type_ids").ints();
    for (int64_t row = 0; row < 4; ++row, ++rows) {
      int64_t begin = row * 32, length = std::count(mask + begin, mask + begin + 32, 1);
      padded += length < 32;
      follows += tensor(batch, "next_sentence_label").ints()[row] == 0;
      EXPECT_EQ(ids[begin], 1);
      EXPECT_EQ(ids[begin + length - 1], 2);
      EXPECT_EQ(std::count(ids + begin, ids + begin + length, 2), 2);
      EXPECT_TRUE(std::is_sorted(types + begin, types + begin + length));
      text += length - 3;
      for (int64_t i = begin; i < begin + 32; ++i) {
        EXPECT_EQ(mask[i], i < begin + length);
        if (labels[i] == -100)
          continue;
        ++chosen;
        masked += ids[i] == 3;
        kept += ids[i] == labels[i];
        EXPECT_GE(labels[i], 4);
      }
    }
  }
  EXPECT_NEAR(static_cast<double>(chosen) / static_cast<double>(text), 0.15, 0.02);
  EXPECT_NEAR(static_cast<double>(masked) / static_cast<double>(chosen), 0.8, 0.02);
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(chosen), 0.1, 0.02);
  EXPECT_NEAR(static_cast<double>(follows) / static_cast<double>(rows), 0.5, 0.05);
  EXPECT_GT(padded, 0);
}

TEST(SpanDataTest, TheAnswerIsTheQuestion) {
  auto source = *createBatchSource("text:" + writeText(), makeSpec("span"));
  for (int64_t index = 0; index < 200; ++index) {
    Batch batch = *source->batch(index);
    for (int64_t row = 0; row < 4; ++row) {
      const int32_t *ids = tensor(batch, "input_ids").ints() + row * 32;
      int32_t start = tensor(batch, "start_positions").ints()[row];
      int32_t end = tensor(batch, "end_positions").ints()[row];
      ASSERT_LE(start, end);
      ASSERT_LT(end, 31);
      EXPECT_EQ(ids[end - start + 2], 2);
      EXPECT_TRUE(std::equal(ids + start, ids + end + 1, ids + 1));
    }
  }
}

TEST(CausalDataTest, EveryWindowOnceAPass) {
  BatchSpec spec = makeSpec("clm", 1, 16);
  auto source = *createBatchSource("text:" + writeText(), spec);
  Corpus corpus = *readTextCorpus(writeText(), spec);
  const int64_t windows = static_cast<int64_t>(corpus.tokens.size()) / 16;
  std::set<std::vector<int32_t>> seen, expected;
  for (int64_t i = 0; i < windows; ++i) {
    Batch batch = *source->batch(windows + i);
    const int32_t *ids = tensor(batch, "input_ids").ints(),
                  *labels = tensor(batch, "labels").ints();
    EXPECT_TRUE(std::equal(ids + 1, ids + 16, labels));
    EXPECT_EQ(labels[15], -100);
    seen.insert({ids, ids + 16});
    expected.insert({corpus.tokens.begin() + 16 * i, corpus.tokens.begin() + 16 * (i + 1)});
  }
  EXPECT_EQ(seen, expected);
}

// A text without sentences is cut, between words and never within a character.
TEST(TextCorpusTest, LongTextsAreCut) {
  for (const char *piece : {"word ", "\xC3\xA9"}) {
    std::string text;
    while (text.size() < 300000)
      text += piece;
    BatchSpec spec = makeSpec("mlm");
    spec.tokenizerFiles["vocab.txt"] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword\ne\n##e\n";
    spec.vocabulary = 8;
    Corpus corpus = *readTextCorpus(writeFile("long.txt", text), spec);
    EXPECT_GE(corpus.sentences.size(), 4u);
    for (int32_t token : corpus.tokens)
      EXPECT_TRUE(token == 5 || token == 1) << token; // An endless word is unknown.
    EXPECT_EQ(readTextCorpus(writeFile("long.txt", text), makeSpec("clm"))->tokens.size(),
              text.size());
  }
}

// The loss of a model can fall below the entropy of single tokens.
TEST(SyntheticDataTest, PairsSayMoreThanTokens) {
  Corpus corpus = *createSyntheticCorpus(makeSpec("clm"));
  std::map<int32_t, double> single;
  std::map<std::pair<int32_t, int32_t>, double> pairs;
  for (size_t i = 0; i + 1 < corpus.tokens.size(); ++i) {
    ++single[corpus.tokens[i]];
    ++pairs[{corpus.tokens[i], corpus.tokens[i + 1]}];
  }
  const double n = static_cast<double>(corpus.tokens.size() - 1);
  double singleEntropy = 0, pairEntropy = 0;
  for (auto &[token, count] : single)
    singleEntropy -= count / n * std::log(count / n);
  for (auto &[pair, count] : pairs)
    pairEntropy -= count / n * std::log(count / n);
  EXPECT_GT(singleEntropy, 3.0);
  EXPECT_LT(pairEntropy - singleEntropy, singleEntropy / 2);
}

TEST(SquadDataTest, AnswersMapToTokens) {
  // The context has a character of two bytes before the answer.
  std::string path = writeFile("squad.json", R"({"version": "1.1", "data": [{"title": "t",
    "paragraphs": [{"context": "Caf\u00e9 is where the cat sat on a mat.", "qas": [
      {"id": "a", "question": "Who sat?", "answers": [{"text": "cat", "answer_start": 18}]}]}]}]})");
  auto source = *createBatchSource("squad:" + path, makeSpec("span", 1, 64));
  Batch batch = *source->batch(0);
  const int32_t *ids = tensor(batch, "input_ids").ints();
  std::string answer;
  for (int32_t i = tensor(batch, "start_positions").ints()[0];
       i <= tensor(batch, "end_positions").ints()[0]; ++i)
    answer += static_cast<char>(ids[i] - 4);
  EXPECT_EQ(answer, "cat");
}

TEST(SquadDataTest, AnswersOutsideTheWindowAreTheFirstToken) {
  std::string context(200, 'x');
  context += " end";
  std::string path =
      writeFile("squad-long.json",
                absl::StrCat(R"({"data": [{"paragraphs": [{"context": ")", context,
                             R"(", "qas": [{"question": "q", "answers": [{"text": "end", )",
                             R"("answer_start": 201}]}]}]}]})"));
  auto source = *createBatchSource("squad:" + path, makeSpec("span", 1, 64));
  std::multiset<int32_t> starts;
  // 60 tokens per window, at a distance of 30: six windows reach the end of 204.
  for (int64_t i = 0; i < 6; ++i)
    starts.insert(tensor(*source->batch(i), "start_positions").ints()[0]);
  EXPECT_EQ(starts.count(0), 5u);
  EXPECT_EQ(*starts.rbegin(), 201 - 150 + 3);
}

TEST(SquadDataTest, EvaluationsKeepTheWindowsOfAQuestionTogether) {
  std::string paragraphs;
  for (int i = 0; i < 9; ++i)
    absl::StrAppend(&paragraphs, i ? "," : "", R"({"context": ")", std::string(50 + 20 * i, 'x'),
                    R"(", "qas": [{"question": "q", "answers": []}]})");
  BatchSpec spec = makeSpec("span", 2, 64);
  spec.options.isEvaluation = true;
  auto source = *createBatchSource(
      "squad:" + writeFile("squad-9.json", R"({"data": [{"paragraphs": [)" + paragraphs + "]}]}"),
      spec);
  const Questions &asked = *source->questions();
  EXPECT_EQ(asked.questions[3].id, "data[0].paragraphs[3].qas[0]");
  EXPECT_EQ(source->numBatches(), (static_cast<int64_t>(asked.windows.size()) + 1) / 2);
  std::vector<size_t> order;
  for (size_t i = 0; i < asked.windows.size(); ++i) {
    EXPECT_EQ(asked.windowOf(static_cast<int64_t>(i)), i);
    if (order.empty() || order.back() != asked.windows[i].question)
      order.push_back(asked.windows[i].question);
  }
  EXPECT_EQ(order.size(), 9u);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST(TensorFileDataTest, BothShapesAndWideIntegers) {
  BatchSpec spec = makeSpec("", 2, 3);
  spec.inputs = {{"a", ElementType::I32, {2, 3}}, {"b", ElementType::I32, {2}}};
  std::vector<int32_t> a(3 * 6);
  std::vector<int64_t> b = {10, 11, 12, 13, 14, 15};
  for (int32_t i = 0; i < 18; ++i)
    a[i] = i;
  auto bytes = [](auto &values) {
    return absl::Span<const uint8_t>(reinterpret_cast<const uint8_t *>(values.data()),
                                     values.size() * sizeof(values[0]));
  };
  std::string path = absl::StrCat(testing::TempDir(), "/batches.safetensors");
  ASSERT_TRUE(writeSafetensors(path, {{{"a", ElementType::I32, {3, 2, 3}}, bytes(a)},
                                      {{"b", ElementType::I64, {6}}, bytes(b)}})
                  .ok());
  auto source = *createBatchSource(path, spec);
  Batch batch = *source->batch(4); // 4 modulo 3
  EXPECT_EQ(batch[0].ints()[0], 6);
  EXPECT_EQ(batch[1].ints()[1], 13);

  b[3] = int64_t{1} << 40;
  ASSERT_TRUE(writeSafetensors(path, {{{"a", ElementType::I32, {3, 2, 3}}, bytes(a)},
                                      {{"b", ElementType::I64, {6}}, bytes(b)}})
                  .ok());
  source = *createBatchSource(path, spec);
  EXPECT_TRUE(source->batch(0).ok());
  EXPECT_FALSE(source->batch(1).ok());

  spec.inputs[0].shape = {4, 3};
  EXPECT_TRUE(absl::StrContains(errorOf(path, spec), "tensor \"a\" is i32[3,2,3]"));
  spec.inputs[0].name = "c";
  EXPECT_TRUE(absl::StrContains(errorOf(path, spec), "no tensor \"c\""));
}

TEST(BatchSourceTest, BadInputIsOneLine) {
  BatchSpec mlm = makeSpec("mlm"), span = makeSpec("span");
  EXPECT_TRUE(absl::StrContains(errorOf("nonsense", mlm), "expected synthetic"));
  EXPECT_TRUE(absl::StrContains(errorOf("text:/nonexistent", mlm), "/nonexistent: cannot read"));
  EXPECT_TRUE(absl::StrContains(errorOf("text:/tmp", mlm), "not a regular file"));
  EXPECT_TRUE(absl::StrContains(errorOf("text:" + writeFile("short.txt", "Hi."), mlm),
                                "3 tokens, fewer than one sequence of 32"));
  EXPECT_TRUE(absl::StrContains(errorOf("text:" + writeFile("one.txt", std::string(100, 'x')), mlm),
                                "one sentence"));
  EXPECT_TRUE(
      absl::StrContains(errorOf("squad:x", mlm), "--data=squad:x: supports only the task span"));
  EXPECT_TRUE(absl::StrContains(errorOf("x.safetensors", mlm), "x.safetensors: cannot read"));
  EXPECT_TRUE(absl::StrContains(errorOf("synthetic", makeSpec("")), "no such batches exist"));
  EXPECT_TRUE(absl::StrContains(errorOf("synthetic", makeSpec("mlm", 1, 4)), "too short"));
  BatchSpec small = makeSpec("mlm");
  small.vocabulary = 100;
  EXPECT_TRUE(absl::StrContains(errorOf("text:" + writeText(), small), "needs 260 token ids"));
  small.vocabulary = 7;
  EXPECT_TRUE(absl::StrContains(errorOf("synthetic", small), "at least 8 token ids"));
}

TEST(BatchSourceTest, BadSquadIsOneLine) {
  BatchSpec span = makeSpec("span");
  auto error = [&](absl::string_view text) {
    return errorOf("squad:" + writeFile("bad.json", text), span);
  };
  EXPECT_TRUE(absl::StrContains(error("{\"data\": ["), "malformed JSON"));
  EXPECT_TRUE(absl::StrContains(error("{'data': []}"), "malformed JSON"));
  EXPECT_TRUE(absl::StrContains(error("{\"data\": [],}"), "malformed JSON"));
  EXPECT_TRUE(absl::StrContains(error("{}"), "no \"data\""));
  EXPECT_TRUE(absl::StrContains(error("{\"data\": 3}"), "a wrong \"data\""));
  EXPECT_TRUE(absl::StrContains(error("{\"data\": [3]}"), "is not an object"));
  EXPECT_TRUE(absl::StrContains(error("{\"data\": []}"), "no questions"));
  EXPECT_TRUE(absl::StrContains(error(R"({"data": [{"paragraphs": [{"context": "a b",
    "qas": [{"question": "q", "answers": [{"text": "b", "answer_start": 1}]}]}]}]})"),
                                "data[0].paragraphs[0].qas[0]: the answer at character 1"));
  std::string deep = "{\"data\": ";
  for (int i = 0; i < 100000; ++i)
    deep += '[';
  EXPECT_TRUE(absl::StrContains(error(deep), "nesting deeper"));
}

TEST(PermuteTest, IsAPermutation) {
  for (int64_t count : {1, 2, 3, 10, 97, 1000}) {
    std::set<int64_t> seen;
    for (int64_t i = 0; i < count; ++i)
      seen.insert(permute(3, i, count, 5));
    EXPECT_EQ(static_cast<int64_t>(seen.size()), count);
    EXPECT_EQ(*seen.rbegin(), count - 1);
  }
}

} // namespace
} // namespace st
