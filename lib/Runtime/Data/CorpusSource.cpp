#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/Data/TaskBatch.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <numeric>

namespace st {
namespace {

using Tokens = std::vector<int32_t>;

class CorpusSource : public BatchSource {
public:
  CorpusSource(Corpus corpus, const BatchSpec &spec) : corpus(std::move(corpus)), spec(spec) {}

  absl::StatusOr<Batch> batch(int64_t index) const override {
    TaskBatch batch(spec, corpus.ids);
    for (int64_t row = 0; row < spec.batch; ++row) {
      int64_t example = index * spec.batch + row;
      CounterRandom random(spec.seed, CounterRandom::Examples, static_cast<uint64_t>(example));
      if (spec.task == "mlm")
        ST_RETURN_IF_ERROR(fillMaskedPair(batch, row, random));
      else if (spec.task == "span")
        ST_RETURN_IF_ERROR(fillSpan(batch, row, random));
      else
        ST_RETURN_IF_ERROR(fillWindow(batch, row, example));
    }
    return batch.take();
  }

private:
  // Tokens of text in a row: the room there is, or one time in ten less.
  int64_t chooseLength(CounterRandom &random, int64_t least) const {
    int64_t room = spec.sequence - kPairOverhead;
    return random.chance(10) ? least + random.below(room - least + 1) : room;
  }

  absl::Status fillMaskedPair(TaskBatch &batch, int64_t row, CounterRandom &random) const;
  void mask(absl::Span<int32_t> tokens, absl::Span<int32_t> labels, std::vector<int64_t> candidates,
            CounterRandom &random) const;
  absl::Status fillSpan(TaskBatch &batch, int64_t row, CounterRandom &random) const;
  absl::Status fillWindow(TaskBatch &batch, int64_t row, int64_t example) const;

  Corpus corpus;
  BatchSpec spec;
};

// The first segment ends and the second begins where a sentence does, so that
// the cut itself does not give away which case it is.
absl::Status CorpusSource::fillMaskedPair(TaskBatch &batch, int64_t row,
                                          CounterRandom &random) const {
  const int64_t length = chooseLength(random, 2);
  const int64_t sentence = random.below(corpus.numSentences() - 1);
  int64_t firstBegin = corpus.sentence(sentence), next = sentence + 1;
  while (next + 1 < corpus.numSentences() && corpus.sentence(next + 1) - firstBegin <= length / 2)
    ++next;
  int64_t firstEnd = corpus.sentence(next);
  firstBegin = std::max(firstBegin, firstEnd - length / 2);

  const bool isRandom = random.chance(50);
  int64_t second = next;
  if (isRandom && corpus.numSentences() > 2) {
    second = random.below(corpus.numSentences() - 1);
    second += second >= next;
  }
  int64_t secondBegin = corpus.sentence(second);
  int64_t secondEnd = std::min(corpus.size(), secondBegin + length - (firstEnd - firstBegin));
  ST_ASSIGN_OR_RETURN(const Tokens firstText, corpus.range(firstBegin, firstEnd));
  ST_ASSIGN_OR_RETURN(const Tokens secondText, corpus.range(secondBegin, secondEnd));
  batch.setPair(row, firstText, secondText);
  batch.row("next_sentence_label", row)[0] = second != next;

  std::vector<int64_t> candidates(firstEnd - firstBegin + secondEnd - secondBegin);
  std::iota(candidates.begin(), candidates.end(), 1);
  for (size_t i = firstEnd - firstBegin; i < candidates.size(); ++i)
    ++candidates[i]; // past the [SEP] between the segments
  mask(batch.row("input_ids", row), batch.row("labels", row), std::move(candidates), random);
  return absl::OkStatus();
}

void CorpusSource::mask(absl::Span<int32_t> tokens, absl::Span<int32_t> labels,
                        std::vector<int64_t> candidates, CounterRandom &random) const {
  const int64_t total = static_cast<int64_t>(candidates.size());
  const int64_t chosen = std::max<int64_t>(1, (total * 15 + 50) / 100);
  for (int64_t i = 0; i < chosen; ++i) {
    std::swap(candidates[i], candidates[i + random.below(total - i)]);
    const int64_t position = candidates[i];
    labels[position] = tokens[position];
    const int64_t what = random.below(10);
    if (what < 8)
      tokens[position] = corpus.ids.mask;
    else if (what == 8)
      tokens[position] =
          corpus.ids.textBegin +
          static_cast<int32_t>(random.below(corpus.ids.textEnd - corpus.ids.textBegin));
  }
}

absl::Status CorpusSource::fillSpan(TaskBatch &batch, int64_t row, CounterRandom &random) const {
  constexpr int64_t kLongestQuestion = 8;
  const int64_t length = chooseLength(random, 2);
  const int64_t question = 1 + random.below(std::min(kLongestQuestion, length / 2));
  const int64_t passage = length - question;
  const int64_t begin = random.below(corpus.size() - passage + 1);
  const int64_t place = random.below(passage - question + 1);
  ST_ASSIGN_OR_RETURN(const Tokens text, corpus.range(begin, begin + passage));
  batch.setPair(row, absl::MakeConstSpan(text).subspan(place, question), text);
  const int64_t start = 2 + question + place; // behind [CLS], question and [SEP]
  batch.row("start_positions", row)[0] = static_cast<int32_t>(start);
  batch.row("end_positions", row)[0] = static_cast<int32_t>(start + question - 1);
  return absl::OkStatus();
}

absl::Status CorpusSource::fillWindow(TaskBatch &batch, int64_t row, int64_t example) const {
  const int64_t windows = corpus.size() / spec.sequence;
  const int64_t begin =
      permute(spec.seed, example % windows, windows, example / windows) * spec.sequence;
  ST_ASSIGN_OR_RETURN(const Tokens text, corpus.range(begin, begin + spec.sequence));
  batch.setText(row, text);
  return absl::OkStatus();
}

} // namespace

int64_t Corpus::size() const {
  return indexed ? indexed->numTokens() : static_cast<int64_t>(tokens.size());
}

int64_t Corpus::numSentences() const {
  return indexed ? indexed->numSequences() : static_cast<int64_t>(sentences.size());
}

int64_t Corpus::sentence(int64_t i) const { return indexed ? indexed->begin(i) : sentences[i]; }

absl::StatusOr<std::vector<int32_t>> Corpus::range(int64_t begin, int64_t end) const {
  std::vector<int32_t> text(end - begin);
  if (indexed)
    ST_RETURN_IF_ERROR(indexed->read(begin, vocabulary, absl::MakeSpan(text)));
  else
    std::copy(tokens.begin() + begin, tokens.begin() + end, text.begin());
  return text;
}

absl::Status checkSequenceLength(const BatchSpec &spec) {
  const int64_t least = spec.task == "clm" ? 2 : kPairOverhead + 5;
  if (spec.sequence < least)
    return absl::InvalidArgumentError(absl::StrCat("a sequence of ", spec.sequence,
                                                   " tokens is too short for the task ", spec.task,
                                                   ", which takes at least ", least));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BatchSource>> createCorpusSource(Corpus corpus,
                                                                const BatchSpec &spec) {
  ST_RETURN_IF_ERROR(checkSequenceLength(spec));
  if (corpus.size() < spec.sequence)
    return absl::InvalidArgumentError(absl::StrCat(
        corpus.name, ": ", corpus.size(), " tokens, fewer than one sequence of ", spec.sequence));
  if (spec.task == "mlm" && corpus.numSentences() < 2)
    return absl::InvalidArgumentError(
        absl::StrCat(corpus.name, ": one sentence, and next-sentence prediction takes two"));
  return std::make_unique<CorpusSource>(std::move(corpus), spec);
}

} // namespace st
