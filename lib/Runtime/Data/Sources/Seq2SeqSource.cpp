#include "lib/Runtime/Data/Sources/Seq2SeqSource.h"
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

struct Pair {
  Tokens source, target;
};

// The special tokens around a text.
struct Surrounding {
  Tokens before, after;

  int64_t size() const { return static_cast<int64_t>(before.size() + after.size()); }
  Tokens around(absl::Span<const int32_t> text) const {
    Tokens tokens = before;
    tokens.insert(tokens.end(), text.begin(), text.end());
    tokens.insert(tokens.end(), after.begin(), after.end());
    return tokens;
  }
};

// Every pair occurs once before any is repeated, in another order each time.
class Seq2SeqSource : public BatchSource {
public:
  Seq2SeqSource(const BatchSpec &spec, TokenIds ids, std::vector<Pair> pairs, Split::Range part)
      : spec(spec), ids(ids), pairs(std::move(pairs)), part(part) {}

  absl::StatusOr<Batch> batch(int64_t index) const override {
    TaskBatch batch(spec, ids);
    const int64_t count = part.end - part.begin;
    for (int64_t row = 0; row < spec.batch; ++row) {
      const int64_t example = index * spec.batch + row;
      const Pair &pair =
          pairs[part.begin + permute(spec.seed, example % count, count, example / count)];
      batch.setSourceAndTarget(row, pair.source, pair.target);
    }
    return batch.take();
  }

  int64_t numBatches() const override { return batchesFor(part.end - part.begin, spec.batch); }

private:
  BatchSpec spec;
  TokenIds ids;
  std::vector<Pair> pairs;
  Split::Range part;
};

// Fails if a row has no room for a token other than the special ones.
absl::Status checkLengths(const BatchSpec &spec, const Surrounding &special) {
  for (int64_t length : {spec.sequence, labelSequence(spec)})
    if (length <= special.size())
      return absl::InvalidArgumentError(
          absl::StrCat("a sequence of ", length, " tokens is too short for the task ", spec.task,
                       ", which needs at least ", special.size() + 1));
  return absl::OkStatus();
}

// The special tokens of the tokenizer, or the one that ends a text.
absl::StatusOr<Surrounding> findSpecial(const Tokenizer &tokenizer) {
  Surrounding special;
  const int32_t mark = tokenizer.ids().textBegin;
  const Tokens around = tokenizer.addSpecial({mark});
  if (around.size() == 1) {
    const TokenIds &ids = tokenizer.ids();
    special.after = {ids.endOfDocument >= 0 ? ids.endOfDocument : ids.sep};
    if (special.after[0] < 0)
      return absl::InvalidArgumentError(
          "the model's tokenizer has no end-of-text token, which the task seq2seq needs");
    return special;
  }
  const auto middle = std::find(around.begin(), around.end(), mark);
  special.before.assign(around.begin(), middle);
  if (middle != around.end())
    special.after.assign(middle + 1, around.end());
  return special;
}

absl::StatusOr<std::unique_ptr<BatchSource>> createSource(const std::string &name,
                                                          const BatchSpec &spec, TokenIds ids,
                                                          std::vector<Pair> pairs) {
  const auto count = static_cast<int64_t>(pairs.size());
  const Split::Range part = spec.options.split.range(spec.options.part, count);
  if (part.empty())
    return absl::NotFoundError(absl::StrCat(name, ": --split assigns none of its ", count,
                                            " pairs to the ", nameOf(spec.options.part), " part"));
  return std::make_unique<Seq2SeqSource>(spec, ids, std::move(pairs), part);
}

} // namespace

absl::StatusOr<std::unique_ptr<BatchSource>> createJsonLinesPairs(const std::string &path,
                                                                  const BatchSpec &spec) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, createTokenizer(spec));
  ST_ASSIGN_OR_RETURN(const Surrounding special, findSpecial(*tokenizer));
  ST_RETURN_IF_ERROR(checkLengths(spec, special));
  ST_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                      readJsonLines(path, {"source", "target"}));
  std::vector<Pair> pairs(texts.size() / 2);
  auto add = [&](size_t text, const std::vector<Token> &tokens) {
    const bool isSource = text % 2 == 0;
    const int64_t length = isSource ? spec.sequence : labelSequence(spec);
    Tokens kept;
    for (const Token &token : tokens)
      if (static_cast<int64_t>(kept.size()) < length - special.size())
        kept.push_back(token.id);
    Pair &pair = pairs[text / 2];
    (isSource ? pair.source : pair.target) = special.around(kept);
  };
  ST_RETURN_IF_ERROR(
      encodeAll(*tokenizer, std::vector<absl::string_view>(texts.begin(), texts.end()), add));
  return createSource(path, spec, tokenizer->ids(), std::move(pairs));
}

absl::StatusOr<std::unique_ptr<BatchSource>> createSyntheticPairs(const BatchSpec &spec) {
  ST_ASSIGN_OR_RETURN(const Corpus corpus, createSyntheticCorpus(spec));
  const Surrounding special{{}, {corpus.ids.sep}};
  ST_RETURN_IF_ERROR(checkLengths(spec, special));
  CounterRandom random(spec.seed, CounterRandom::Classes, 0);
  const int32_t first = corpus.ids.textBegin, alphabet = corpus.ids.textEnd - first;
  Tokens replacement(alphabet);
  std::iota(replacement.begin(), replacement.end(), first);
  for (int32_t i = 0; i < alphabet; ++i)
    std::swap(replacement[i], replacement[i + random.below(alphabet - i)]);

  const int64_t room = spec.sequence - 1, targetRoom = labelSequence(spec) - 1;
  std::vector<Pair> pairs;
  for (int64_t begin = 0; begin + room <= corpus.size(); begin += room) {
    CounterRandom lengths(spec.seed, CounterRandom::Lengths, pairs.size());
    // The available space, or less one time in ten.
    const int64_t length = lengths.chance(10) ? 1 + lengths.below(room) : room;
    ST_ASSIGN_OR_RETURN(const Tokens text, corpus.range(begin, begin + length));
    Tokens target;
    for (int64_t i = 0; i < std::min(length, targetRoom); ++i)
      target.push_back(replacement[text[i] - first]);
    pairs.push_back({special.around(text), special.around(target)});
  }
  return createSource(corpus.name, spec, corpus.ids, std::move(pairs));
}

} // namespace st
