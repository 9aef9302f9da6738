#include "lib/Runtime/Data/BatchSource.h"
#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/Data/ReadAhead.h"
#include "lib/Support/AtomicFile.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace st {
namespace {

constexpr int32_t kFirstToken = 10, kSentence = 4, kEnd = 5;

BatchSpec specOf(const std::string &task, int64_t batch, int64_t sequence = 19) {
  BatchSpec spec;
  spec.task = task;
  spec.batch = batch;
  spec.sequence = sequence;
  spec.vocabulary = 5000;
  spec.seed = 7;
  spec.options.shortSequenceProbability = 0;
  return spec;
}

// Documents of one-token sentences, so that a sample shows its origin.
Corpus numberedCorpus(int64_t documents, int64_t sentencesEach) {
  Corpus corpus;
  corpus.name = "numbers";
  corpus.ids.textBegin = kFirstToken;
  corpus.ids.textEnd = 4000;
  corpus.ids.endOfDocument = kEnd;
  for (int64_t d = 0; d < documents; ++d) {
    corpus.documents.push_back(static_cast<int64_t>(corpus.sentences.size()));
    for (int64_t s = 0; s < sentencesEach; ++s) {
      corpus.sentences.push_back(static_cast<int64_t>(corpus.tokens.size()));
      corpus.tokens.insert(corpus.tokens.end(), kSentence,
                           kFirstToken + static_cast<int32_t>(d * sentencesEach + s));
    }
  }
  return corpus;
}

const HostTensor &tensor(const Batch &batch, absl::string_view name) {
  return *std::find_if(batch.begin(), batch.end(),
                       [&](const HostTensor &t) { return t.name == name; });
}

// The rows of all tensors of a batch, as bytes.
std::vector<std::string> rowsOf(const Batch &batch, int64_t rows) {
  std::vector<std::string> out(rows);
  for (const HostTensor &t : batch) {
    const size_t width = t.bytes.size() / rows;
    for (int64_t row = 0; row < rows; ++row)
      out[row].append(reinterpret_cast<const char *>(t.bytes.data()) + row * width, width);
  }
  return out;
}

// The smallest text token of a row, which identifies its sample.
int32_t sampleOf(const Batch &batch, int64_t row, int64_t sequence) {
  const int32_t *ids = tensor(batch, "input_ids").ints() + row * sequence;
  const int32_t *labels = tensor(batch, "labels").ints() + row * sequence;
  const bool isClm = batch.size() == 2;
  int32_t least = 1 << 20;
  for (int64_t i = 0; i < sequence; ++i) {
    const int32_t token = !isClm && labels[i] >= 0 ? labels[i] : ids[i];
    if (token >= kFirstToken)
      least = std::min(least, token);
  }
  return least;
}

class EverySample : public testing::TestWithParam<const char *> {
protected:
  // Swapped segments come from one sample, others do not.
  BatchSpec spec(int64_t batch) const {
    const bool isClm = GetParam() == std::string("clm");
    BatchSpec spec = specOf(GetParam(), batch, isClm ? 16 : 19);
    spec.options.otherSegment = OtherSegment::Swapped;
    return spec;
  }
  // 24 documents of 8 sentences: two samples of 4 sentences each.
  std::unique_ptr<BatchSource> source(int64_t batch) const {
    return *createCorpusSource(numberedCorpus(24, 8), spec(batch));
  }
  static constexpr int64_t kSamples = 48;
};

// The global batch is 8: one replica takes its rows, two take four each, eight one each.
TEST_P(EverySample, OnceAnEpochWhateverTheReplicas) {
  std::vector<std::vector<std::string>> sequences;
  for (int64_t replicas : {1, 2, 8}) {
    const int64_t rows = 8 / replicas;
    auto each = source(8);
    std::vector<std::string> sequence;
    std::vector<int32_t> order[3];
    for (int64_t step = 0; step < 3 * kSamples / 8; ++step)
      for (int64_t replica = 0; replica < replicas; ++replica) {
        const Batch batch = *each->batch(step);
        const std::vector<std::string> all = rowsOf(batch, 8);
        for (int64_t row = replica * rows; row < (replica + 1) * rows; ++row) {
          sequence.push_back(all[row]);
          order[step * 8 / kSamples].push_back(sampleOf(batch, row, spec(8).sequence));
        }
      }
    for (std::vector<int32_t> &epoch : order) {
      std::sort(epoch.begin(), epoch.end());
      EXPECT_EQ(epoch.size(), static_cast<size_t>(kSamples));
      EXPECT_EQ(std::unique(epoch.begin(), epoch.end()), epoch.end()) << "a sample came twice";
    }
    sequences.push_back(std::move(sequence));
  }
  EXPECT_EQ(sequences[0], sequences[1]);
  EXPECT_EQ(sequences[0], sequences[2]);
}

// Number i of all samples is the same in batches of any size.
TEST_P(EverySample, OrderIsOfConsumedSamplesAlone) {
  std::vector<std::string> expected;
  for (int64_t size : {1, 2, 8, 16}) {
    auto batches = source(size);
    std::vector<std::string> found;
    for (int64_t i = 0; i < 3 * kSamples / size; ++i)
      for (std::string &row : rowsOf(*batches->batch(i), size))
        found.push_back(std::move(row));
    if (expected.empty())
      expected = found;
    EXPECT_EQ(found, expected) << "batches of " << size;
  }
}

TEST_P(EverySample, EpochsHaveOrdersOfTheirOwn) {
  auto batches = source(kSamples);
  std::vector<int32_t> orders[2];
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    const Batch batch = *batches->batch(epoch);
    for (int64_t row = 0; row < kSamples; ++row)
      orders[epoch].push_back(sampleOf(batch, row, spec(kSamples).sequence));
    EXPECT_FALSE(std::is_sorted(orders[epoch].begin(), orders[epoch].end()));
  }
  EXPECT_NE(orders[0], orders[1]);
}

// A run that ends anywhere and resumes at its last checkpoint, possibly an earlier step.
TEST_P(EverySample, FiftyResumesChangeNothing) {
  auto whole = source(2);
  std::mt19937 draw(11);
  int64_t step = 0;
  for (int resume = 0; resume < 50; ++resume) {
    std::unique_ptr<BatchSource> again = readAhead(source(2), 1 + static_cast<int>(draw() % 3));
    const int64_t end = step + static_cast<int64_t>(draw() % 9);
    for (int64_t i = step; i < end; ++i)
      ASSERT_EQ(rowsOf(*again->batch(i), 2), rowsOf(*whole->batch(i), 2)) << "step " << i;
    step = std::max<int64_t>(0, end - static_cast<int64_t>(draw() % 4));
  }
  EXPECT_GT(step, kSamples);
}

INSTANTIATE_TEST_SUITE_P(All, EverySample, testing::Values("mlm", "clm"));

TEST(MaskedSamplesTest, FifteenPercentAndFourFifths) {
  for (int64_t sequence : {67, 128, 131}) {
    auto source = *createCorpusSource(numberedCorpus(20, 150), specOf("mlm", 64, sequence));
    int64_t text = 0, chosen = 0, masked = 0, kept = 0, follows = 0, rows = 0;
    for (int64_t index = 0; index < 120; ++index) {
      const Batch batch = *source->batch(index);
      const int32_t *ids = tensor(batch, "input_ids").ints(),
                    *labels = tensor(batch, "labels").ints(),
                    *mask = tensor(batch, "attention_mask").ints(),
                    *label = tensor(batch, "next_sentence_label").ints();
      for (int64_t i = 0; i < 64 * sequence; ++i) {
        text += mask[i];
        if (labels[i] == -100)
          continue;
        ++chosen;
        masked += ids[i] == 3;
        kept += ids[i] == labels[i];
      }
      text -= 3 * 64;
      rows += 64;
      follows += std::count(label, label + 64, 0);
    }
    const double of = static_cast<double>(chosen);
    EXPECT_NEAR(of / static_cast<double>(text), 0.15, 0.001) << sequence;
    EXPECT_NEAR(static_cast<double>(masked) / of, 0.8, 0.005) << sequence;
    EXPECT_NEAR(static_cast<double>(kept) / of, 0.1, 0.005) << sequence;
    EXPECT_NEAR(static_cast<double>(follows) / static_cast<double>(rows), 0.5, 0.03) << sequence;
  }
}

TEST(MaskedSamplesTest, OptionsAreHonoured) {
  BatchSpec spec = specOf("mlm", 64, 128);
  spec.options.maskProbability = 0.3;
  spec.options.shortSequenceProbability = 0.5;
  auto source = *createCorpusSource(numberedCorpus(2, 1500), spec);
  int64_t text = 0, chosen = 0, padded = 0;
  for (int64_t index = 0; index < 60; ++index) {
    const Batch batch = *source->batch(index);
    const int32_t *mask = tensor(batch, "attention_mask").ints(),
                  *labels = tensor(batch, "labels").ints();
    for (int64_t row = 0; row < 64; ++row) {
      const int64_t length = std::count(mask + row * 128, mask + row * 128 + 128, 1);
      padded += length < 128;
      text += length - 3;
      chosen += 128 - std::count(labels + row * 128, labels + row * 128 + 128, -100);
    }
  }
  EXPECT_NEAR(static_cast<double>(chosen) / static_cast<double>(text), 0.3, 0.01);
  EXPECT_NEAR(static_cast<double>(padded) / (60 * 64), 0.5, 0.1);
}

TEST(MaskedSamplesTest, SegmentsAreOfOneDocumentOrSwapped) {
  for (OtherSegment other : {OtherSegment::Elsewhere, OtherSegment::Swapped}) {
    BatchSpec spec = specOf("mlm", 8);
    spec.options.otherSegment = other;
    spec.options.maskProbability = 1e-9; // one a row
    auto source = *createCorpusSource(numberedCorpus(24, 8), spec);
    for (int64_t index = 0; index < 40; ++index) {
      const Batch batch = *source->batch(index);
      for (int64_t row = 0; row < 8; ++row) {
        int32_t last = 0, first = 1 << 20; // of the two segments
        for (int64_t i = row * 19; i < (row + 1) * 19; ++i) {
          const int32_t label = tensor(batch, "labels").ints()[i];
          const int32_t token = label >= 0 ? label : tensor(batch, "input_ids").ints()[i];
          const bool isSecond = tensor(batch, "token_type_ids").ints()[i] == 1;
          if (token >= kFirstToken && !isSecond)
            last = std::max(last, token);
          if (token >= kFirstToken && isSecond)
            first = std::min(first, token);
        }
        const bool isNext = tensor(batch, "next_sentence_label").ints()[row] == 0;
        if (isNext)
          EXPECT_EQ(first, last + 1);
        else if (other == OtherSegment::Elsewhere)
          EXPECT_NE(first, last + 1);
        else
          EXPECT_LT(first, last);
      }
    }
  }
}

TEST(SplitTest, AsMegatron) {
  auto bounds = [](absl::string_view text, int64_t count) {
    const Split split = *Split::parse(text);
    std::vector<int64_t> ends;
    for (SplitPart part : {SplitPart::Train, SplitPart::Validation, SplitPart::Test})
      ends.push_back(split.range(part, count).end);
    return ends;
  };
  using testing::ElementsAre;
  EXPECT_THAT(bounds("949,50,1", 1000), ElementsAre(949, 999, 1000));
  EXPECT_THAT(bounds("949,50,1", 20), ElementsAre(19, 20, 20));
  EXPECT_THAT(bounds("969/30/1", 12345), ElementsAre(11963, 12333, 12345));
  EXPECT_THAT(bounds("1", 7), ElementsAre(7, 7, 7));
  EXPECT_THAT(bounds("1,1", 5), ElementsAre(3, 5, 5)); // 2.5 is 2 twice, and all give way by -1.
  for (const char *bad : {"", "a", "1,2,3,4", "-1,2", "0,0", "inf", "1,,2"})
    EXPECT_EQ(
        Split::parse(bad).status().message(),
        absl::StrCat("--split=", bad,
                     ": expected up to three weights of 0 or more, not all 0, such as 949,50,1"));
}

TEST(SplitTest, PartsShareNothing) {
  std::map<int32_t, int> owners;
  for (SplitPart part : {SplitPart::Train, SplitPart::Validation, SplitPart::Test}) {
    BatchSpec spec = specOf("clm", 1, 16);
    spec.options.split = *Split::parse("7,2,1");
    spec.options.part = part;
    auto source = *createCorpusSource(numberedCorpus(20, 4), spec);
    for (int64_t i = 0; i < 40; ++i) {
      const Batch batch = *source->batch(i);
      const int document = (tensor(batch, "input_ids").ints()[0] - kFirstToken) / 4;
      auto [it, isNew] = owners.try_emplace(document, static_cast<int>(part));
      EXPECT_EQ(it->second, static_cast<int>(part)) << "document " << document;
    }
  }
  EXPECT_EQ(owners.size(), 20u);
  BatchSpec spec = specOf("clm", 1, 16);
  spec.options.split = *Split::parse("949,50,1");
  spec.options.part = SplitPart::Test;
  EXPECT_EQ(createCorpusSource(numberedCorpus(20, 4), spec).status().message(),
            "numbers: --split assigns none of its 20 documents to the test part");
}

TEST(CausalSamplesTest, EndsOfDocuments) {
  Corpus corpus;
  corpus.name = "text";
  corpus.ids.endOfDocument = kEnd;
  corpus.tokens = {10, 11, kEnd, 12, 13, 14, kEnd, 15};
  corpus.sentences = {0};
  BatchSpec spec = specOf("clm", 1, 8);
  spec.inputs = {{"position_ids", ElementType::I32, {1, 8}, 0},
                 {"segment_ids", ElementType::I32, {1, 8}, 0}};
  auto rows = [&](const char *name) {
    const Batch batch = *(*createCorpusSource(corpus, spec))->batch(0);
    const int32_t *values = tensor(batch, name).ints();
    return std::vector<int32_t>(values, values + 8);
  };
  using testing::ElementsAre;
  EXPECT_THAT(rows("position_ids"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(rows("segment_ids"), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(rows("labels"), ElementsAre(11, kEnd, 12, 13, 14, kEnd, 15, -100));
  spec.options.resetsPositions = spec.options.resetsAttention = true;
  spec.options.masksEndOfDocument = true;
  EXPECT_THAT(rows("position_ids"), ElementsAre(0, 1, 2, 0, 1, 2, 3, 0));
  EXPECT_THAT(rows("segment_ids"), ElementsAre(0, 0, 0, 1, 1, 1, 1, 2));
  EXPECT_THAT(rows("labels"), ElementsAre(11, kEnd, -100, 13, 14, kEnd, -100, -100));
}

TEST(CausalSamplesTest, PrefixesHaveNoLoss) {
  BatchSpec spec = specOf("clm", 32, 16);
  spec.inputs = {{"prefix_length", ElementType::I32, {32}, 0}};
  spec.options.hasPrefix = true;
  const Batch batch = *(*createCorpusSource(numberedCorpus(64, 4), spec))->batch(0);
  std::map<int32_t, int> lengths;
  for (int64_t row = 0; row < 32; ++row) {
    const int32_t length = tensor(batch, "prefix_length").ints()[row];
    ASSERT_GE(length, 1);
    ASSERT_LT(length, 16);
    ++lengths[length];
    for (int64_t i = 0; i < 15; ++i)
      EXPECT_EQ(tensor(batch, "labels").ints()[row * 16 + i] == -100, i + 1 < length);
  }
  EXPECT_GT(lengths.size(), 8u);
}

TEST(CausalSamplesTest, RefusesOptionsForUnreadInputs) {
  auto error = [](BatchSpec spec) {
    return std::string(createCorpusSource(numberedCorpus(4, 8), spec).status().message());
  };
  BatchSpec spec = specOf("clm", 1, 16);
  spec.options.resetsPositions = true;
  EXPECT_EQ(error(spec),
            "--reset-position-ids: the program reads no \"position_ids\"; st-compile's "
            "--reset-position-ids adds it");
  spec = specOf("clm", 1, 16);
  spec.options.resetsAttention = true;
  EXPECT_EQ(error(spec),
            "--reset-attention-mask: the program reads no \"segment_ids\"; st-compile's "
            "--reset-attention-mask adds it");
  spec = specOf("clm", 1, 16);
  spec.options.hasPrefix = true;
  EXPECT_EQ(error(spec),
            "--prefix-lm: the program reads no \"prefix_length\"; st-compile's --prefix-lm "
            "adds it");
  spec = specOf("mlm", 1);
  spec.options.masksEndOfDocument = true;
  EXPECT_EQ(createBatchSource("synthetic", spec).status().message(),
            "--eod-mask-loss has no effect with --data=synthetic and the task mlm");
  spec = specOf("clm", 1, 16);
  spec.options.maskProbability = 0.2;
  EXPECT_EQ(createBatchSource("text:x", spec).status().message(),
            "--mask-prob has no effect with --data=text:x and the task clm");
}

TEST(JsonLinesTest, DocumentsAndErrors) {
  auto write = [](absl::string_view text) {
    const std::string path = absl::StrCat(testing::TempDir(), "/lines.jsonl");
    EXPECT_TRUE(writeFileAtomically(path, text).ok());
    return path;
  };
  const BatchSpec spec = specOf("clm", 1, 16);
  Corpus corpus = *readJsonLinesCorpus(
      write("{\"text\": \"One. Two.\", \"id\": 3}\n\n{\"text\": \"\"}\n{\"text\": \"\\u00e9.\"}"),
      spec);
  EXPECT_EQ(corpus.numDocuments(), 2); // An empty one is none.
  EXPECT_EQ(corpus.document(1), 2);
  EXPECT_EQ(corpus.tokens.size(), 12u);
  auto error = [&](absl::string_view text) {
    const std::string path = write(text);
    const std::string message(readJsonLinesCorpus(path, spec).status().message());
    EXPECT_EQ(message.find(path), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message.substr(std::min(path.size(), message.size()));
  };
  EXPECT_EQ(error("{\"text\": \"a\"}\n{\"txt\": \"a\"}\n"), ":2: no \"text\"");
  EXPECT_EQ(error("{\"text\": 1}"), ":1.text: expected a string");
  EXPECT_EQ(error("[]"), ":1: expected an object");
  EXPECT_THAT(error("{\"text\": \"a\"\n"), testing::HasSubstr(":1: malformed JSON: parse error"));
  EXPECT_EQ(error("\n"), ": no documents");
}

// Counts requests; number 5 fails.
class CountingSource : public BatchSource {
public:
  explicit CountingSource(std::atomic<int64_t> &furthest) : furthest(furthest) {}
  absl::StatusOr<Batch> batch(int64_t index) const override {
    furthest = std::max<int64_t>(furthest, index);
    if (index == 5)
      return absl::DataLossError("batch 5 is damaged");
    Batch batch;
    batch.emplace_back("n", ElementType::I32, std::vector<int64_t>{1});
    batch[0].ints()[0] = static_cast<int32_t>(index);
    return batch;
  }

private:
  std::atomic<int64_t> &furthest;
};

TEST(ReadAheadTest, SameBatchesAndNoFurtherThanItsDepth) {
  std::atomic<int64_t> furthest{-1};
  auto source = readAhead(std::make_unique<CountingSource>(furthest), 3);
  for (int64_t index : {0, 1, 2, 40, 41, 7, 8, 8}) {
    furthest = -1;
    EXPECT_EQ((*source->batch(index))[0].ints()[0], index);
    EXPECT_LE(furthest, 44);
  }
}

TEST(ReadAheadTest, ErrorsComeInTheirTurn) {
  std::atomic<int64_t> furthest{-1};
  auto source = readAhead(std::make_unique<CountingSource>(furthest), 4);
  for (int64_t index : {3, 4})
    EXPECT_TRUE(source->batch(index).ok());
  EXPECT_EQ(source->batch(5).status().message(), "batch 5 is damaged");
  EXPECT_EQ((*source->batch(6))[0].ints()[0], 6);
}

TEST(ReadAheadTest, EndsAtAnyMoment) {
  for (int64_t i = 0; i < 200; ++i) {
    std::atomic<int64_t> furthest{-1};
    auto source = readAhead(std::make_unique<CountingSource>(furthest), 2);
    for (int64_t k = 0; k < i % 4; ++k)
      EXPECT_TRUE(source->batch(k).ok());
  }
}

} // namespace
} // namespace st
