#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/Data/PairSamples.h"
#include "lib/Runtime/Data/TaskBatch.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace st {
namespace {

using Tokens = std::vector<int32_t>;

class CorpusSource : public BatchSource {
public:
  CorpusSource(Corpus corpus, const BatchSpec &spec) : corpus(std::move(corpus)), spec(spec) {
    if (spec.task == "mlm")
      pairs = makePairSamples(this->corpus, spec, room());
  }

  /// Samples before the first one repeats.
  int64_t numSamples() const {
    return spec.task == "mlm" ? static_cast<int64_t>(pairs.size())
                              : (corpus.end() - corpus.begin()) / spec.sequence;
  }

  int64_t numBatches() const override {
    return spec.task == "span" ? 0 : batchesFor(numSamples(), spec.batch);
  }

  absl::StatusOr<Batch> batch(int64_t index) const override {
    TaskBatch batch(spec, corpus.ids);
    for (int64_t row = 0; row < spec.batch; ++row) {
      const int64_t example = index * spec.batch + row;
      CounterRandom random(spec.seed, CounterRandom::Examples, static_cast<uint64_t>(example));
      if (spec.task == "span") {
        ST_RETURN_IF_ERROR(fillSpan(batch, row, random));
        continue;
      }
      const int64_t count = numSamples();
      const int64_t sample = permute(spec.seed, example % count, count, example / count);
      if (spec.task == "mlm")
        ST_RETURN_IF_ERROR(fillMaskedPair(batch, row, pairs[sample], random));
      else
        ST_RETURN_IF_ERROR(fillWindow(batch, row, sample, random));
    }
    return batch.take();
  }

private:
  // Text tokens that fit in a row.
  int64_t room() const { return spec.sequence - kPairOverhead; }

  absl::Status fillMaskedPair(TaskBatch &batch, int64_t row, const PairSample &sample,
                              CounterRandom &random) const;
  absl::StatusOr<Tokens> otherSegment(int64_t following, int64_t length,
                                      CounterRandom &random) const;
  void mask(absl::Span<int32_t> tokens, absl::Span<int32_t> labels, std::vector<int64_t> candidates,
            CounterRandom &random) const;
  absl::Status fillSpan(TaskBatch &batch, int64_t row, CounterRandom &random) const;
  absl::Status fillWindow(TaskBatch &batch, int64_t row, int64_t window,
                          CounterRandom &random) const;

  Corpus corpus;
  BatchSpec spec;
  std::vector<PairSample> pairs;
};

// Removes tokens from the longer segment, at the front or the back, until both fit.
void truncate(Tokens &first, Tokens &second, size_t room, CounterRandom &random) {
  size_t total = first.size() + second.size();
  std::pair<size_t, size_t> cuts[2] = {}; // in front and behind
  size_t lengths[2] = {first.size(), second.size()};
  for (; total > room; --total) {
    const int longer = lengths[1] > lengths[0];
    --lengths[longer];
    ++(random.chance(50) ? cuts[longer].first : cuts[longer].second);
  }
  Tokens *segments[2] = {&first, &second};
  for (int i = 0; i < 2; ++i) {
    segments[i]->erase(segments[i]->begin(), segments[i]->begin() + cuts[i].first);
    segments[i]->resize(segments[i]->size() - cuts[i].second);
  }
}

// Tokens starting at a random sentence other than the following one.
absl::StatusOr<Tokens> CorpusSource::otherSegment(int64_t following, int64_t length,
                                                  CounterRandom &random) const {
  int64_t other = corpus.part.begin + random.below(corpus.part.end - corpus.part.begin - 1);
  other += other >= following;
  const int64_t begin = corpus.sentence(other);
  return corpus.range(begin, std::min(corpus.end(), begin + length));
}

// The first segment ends, and the second begins, at a sentence boundary, so that the position
// itself does not reveal which case it is.
absl::Status CorpusSource::fillMaskedPair(TaskBatch &batch, int64_t row, const PairSample &sample,
                                          CounterRandom &random) const {
  const int64_t middle = sample.sentence + 1 + random.below(sample.count - 1);
  const int64_t begin = corpus.sentence(sample.sentence), next = corpus.sentence(middle),
                end = corpus.sentence(sample.sentence + sample.count);
  const bool follows = random.chance(50);
  const bool isSwapped = !follows && spec.options.otherSegment == OtherSegment::Swapped;
  ST_ASSIGN_OR_RETURN(Tokens first, corpus.range(begin, next));
  Tokens second;
  if (follows || isSwapped) {
    ST_ASSIGN_OR_RETURN(second, corpus.range(next, end));
  } else {
    ST_ASSIGN_OR_RETURN(second, otherSegment(middle, std::max<int64_t>(1, end - next), random));
  }
  truncate(first, second, static_cast<size_t>(sample.target), random);
  if (isSwapped)
    std::swap(first, second);
  batch.setPair(row, first, second);
  batch.row("next_sentence_label", row)[0] = !follows;

  std::vector<int64_t> candidates(first.size() + second.size());
  std::iota(candidates.begin(), candidates.end(), 1);
  for (size_t i = first.size(); i < candidates.size(); ++i)
    ++candidates[i]; // skips the [SEP] between the segments
  mask(batch.row("input_ids", row), batch.row("labels", row), std::move(candidates), random);
  return absl::OkStatus();
}

// The fractional token is masked with that probability, so the mean is exact.
void CorpusSource::mask(absl::Span<int32_t> tokens, absl::Span<int32_t> labels,
                        std::vector<int64_t> candidates, CounterRandom &random) const {
  const int64_t total = static_cast<int64_t>(candidates.size());
  const double wanted = spec.options.maskProbability * static_cast<double>(total);
  const int64_t floor = static_cast<int64_t>(wanted);
  const int64_t chosen = floor + random.happens(wanted - static_cast<double>(floor));
  for (int64_t i = 0; i < std::clamp<int64_t>(chosen, 1, total); ++i) {
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
  // The available space, or less one time in ten.
  const int64_t length = random.chance(10) ? 2 + random.below(room() - 1) : room();
  const int64_t question = 1 + random.below(std::min(kLongestQuestion, length / 2));
  const int64_t passage = length - question;
  const int64_t begin = corpus.begin() + random.below(corpus.end() - corpus.begin() - passage + 1);
  const int64_t place = random.below(passage - question + 1);
  ST_ASSIGN_OR_RETURN(const Tokens text, corpus.range(begin, begin + passage));
  batch.setPair(row, absl::MakeConstSpan(text).subspan(place, question), text);
  const int64_t start = 2 + question + place; // after [CLS], question and [SEP]
  batch.row("start_positions", row)[0] = static_cast<int32_t>(start);
  batch.row("end_positions", row)[0] = static_cast<int32_t>(start + question - 1);
  return absl::OkStatus();
}

absl::Status CorpusSource::fillWindow(TaskBatch &batch, int64_t row, int64_t window,
                                      CounterRandom &random) const {
  const int64_t begin = corpus.begin() + window * spec.sequence;
  ST_ASSIGN_OR_RETURN(const Tokens text, corpus.range(begin, begin + spec.sequence));
  batch.setText(row, text);
  batch.markDocuments(row, spec.options);
  if (spec.options.hasPrefix)
    batch.setPrefix(row, 1 + random.below(spec.sequence - 1));
  return absl::OkStatus();
}

// Checks that the program reads the inputs that the options require.
absl::Status checkOptions(const BatchSpec &spec, const TokenIds &ids) {
  const DataOptions &options = spec.options;
  auto reads = [&](absl::string_view name) {
    return std::any_of(spec.inputs.begin(), spec.inputs.end(),
                       [&](const BatchSpec::Input &input) { return input.name == name; });
  };
  struct Need {
    bool isGiven;
    const char *flag, *input;
    bool hasEnds;
  };
  const Need needs[] = {{options.masksEndOfDocument, "--eod-mask-loss", nullptr, true},
                        {options.resetsPositions, "--reset-position-ids", "position_ids", true},
                        {options.resetsAttention, "--reset-attention-mask", "segment_ids", true},
                        {options.hasPrefix, "--prefix-lm", "prefix_length", false}};
  for (auto [isGiven, flag, input, hasEnds] : needs) {
    if (isGiven && input && !reads(input))
      return absl::InvalidArgumentError(absl::StrCat(flag, ": the program reads no \"", input,
                                                     "\"; st-compile's ", flag, " adds it"));
    if (isGiven && hasEnds && ids.endOfDocument < 0)
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": neither the model's tokenizer nor eos_token_id of its "
                             "configuration gives an end-of-document token"));
  }
  return absl::OkStatus();
}

} // namespace

absl::Status checkSequenceLength(const BatchSpec &spec) {
  const int64_t minimum = spec.task == "clm" ? 2 : kPairOverhead + 5;
  if (spec.sequence < minimum)
    return absl::InvalidArgumentError(absl::StrCat("a sequence of ", spec.sequence,
                                                   " tokens is too short for the task ", spec.task,
                                                   ", which needs at least ", minimum));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BatchSource>> createCorpusSource(Corpus corpus,
                                                                const BatchSpec &spec) {
  ST_RETURN_IF_ERROR(checkSequenceLength(spec));
  ST_RETURN_IF_ERROR(checkOptions(spec, corpus.ids));
  ST_RETURN_IF_ERROR(corpus.choosePart(spec.options));
  const std::string name =
      corpus.part.end - corpus.part.begin == corpus.numSentences()
          ? corpus.name
          : absl::StrCat(corpus.name, ", the part for ", nameOf(spec.options.part));
  if (const int64_t tokens = corpus.end() - corpus.begin(); tokens < spec.sequence)
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", tokens, " tokens, fewer than one sequence of ", spec.sequence));
  if (spec.task == "mlm" && corpus.numSentences() < 2)
    return absl::InvalidArgumentError(
        absl::StrCat(corpus.name, ": has one sentence, but next-sentence prediction needs two"));
  auto source = std::make_unique<CorpusSource>(std::move(corpus), spec);
  if (source->numSamples() == 0)
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": no document has the two sentences that next-sentence prediction needs"));
  return source;
}

} // namespace st
