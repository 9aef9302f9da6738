#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/Json.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <array>

namespace st {
namespace {

constexpr uint64_t kLargestText = uint64_t{1} << 30;

// No sentence is longer. It bounds the memory that a text without sentences takes.
constexpr size_t kMostBytes = 1 << 16;

// Where the sentence that begins at `begin` ends: behind a full stop, question
// or exclamation mark that white space follows, or behind an empty line.
size_t findSentenceEnd(absl::string_view text, size_t begin) {
  bool hasContent = false;
  const size_t last = std::min(text.size(), begin + kMostBytes);
  for (size_t i = begin; i + 1 < last; ++i) {
    const unsigned char next = static_cast<unsigned char>(text[i + 1]);
    const bool stops = text[i] == '.' || text[i] == '!' || text[i] == '?';
    hasContent |= !absl::ascii_isspace(static_cast<unsigned char>(text[i]));
    if (hasContent && stops && absl::ascii_isspace(next))
      return i + 2;
    if (hasContent && text[i] == '\n' && next == '\n')
      return i + 2;
  }
  if (last == text.size())
    return last;
  // Between two words where there are any, else between two characters.
  size_t end = last;
  while (end > last - kMostBytes / 2 && !absl::ascii_isspace(static_cast<unsigned char>(text[end])))
    --end;
  if (end > last - kMostBytes / 2)
    return end;
  for (end = last; (text[end] & 0xC0) == 0x80 && end > last - 4;)
    --end;
  return end;
}

// A sentence without end (a table, another script) is cut, so that there are
// always places where a segment may begin.
void addSentence(Corpus &corpus, const std::vector<Token> &tokens) {
  constexpr size_t kLongestSentence = 256;
  for (size_t begin = 0; begin < tokens.size(); begin += kLongestSentence) {
    corpus.sentences.push_back(static_cast<int64_t>(corpus.tokens.size()));
    for (size_t i = begin; i < std::min(begin + kLongestSentence, tokens.size()); ++i)
      corpus.tokens.push_back(tokens[i].id);
  }
}

} // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> createTokenizer(const BatchSpec &spec) {
  if (!spec.vocabTxt.empty())
    return createWordPieceTokenizer(spec.vocabTxt, spec.configJson, spec.vocabulary);
  return createByteTokenizer(spec.vocabulary, /*withSpecialTokens=*/spec.task != "clm");
}

absl::StatusOr<Corpus> readTextCorpus(const std::string &path, const BatchSpec &spec) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, createTokenizer(spec));
  ST_ASSIGN_OR_RETURN(std::string text, readFile(path, kLargestText));
  Corpus corpus;
  corpus.name = path;
  corpus.ids = tokenizer->ids();
  std::vector<Token> tokens;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = findSentenceEnd(text, begin);
    tokens.clear();
    tokenizer->encode(absl::string_view(text).substr(begin, end - begin), tokens);
    addSentence(corpus, tokens);
    begin = end;
  }
  return corpus;
}

absl::StatusOr<Corpus> openIndexedCorpus(const std::string &prefix, const BatchSpec &spec) {
  Corpus corpus;
  corpus.name = prefix;
  corpus.vocabulary = spec.vocabulary;
  if (spec.task != "clm") {
    // Which tokens mask and divide a pair only the vocabulary says.
    if (spec.vocabTxt.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("--data=megatron:", prefix, ": the task ", spec.task,
                       " needs the model folder's vocab.txt, and the program has none"));
    ST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, createTokenizer(spec));
    corpus.ids = tokenizer->ids();
  }
  ST_ASSIGN_OR_RETURN(corpus.indexed, IndexedDataset::open(prefix));
  return corpus;
}

absl::StatusOr<Corpus> createSyntheticCorpus(const BatchSpec &spec) {
  constexpr int32_t kMostTokens = 256;
  constexpr int64_t kLength = 1 << 16, kSentence = 16;
  Corpus corpus;
  corpus.name = "synthetic data";
  corpus.ids.textBegin = spec.task == "clm" ? 0 : 4;
  const int64_t room = spec.vocabulary - corpus.ids.textBegin;
  if (room < 4)
    return absl::InvalidArgumentError(absl::StrCat("synthetic data takes at least ",
                                                   corpus.ids.textBegin + 4,
                                                   " token ids, the model has ", spec.vocabulary));
  const int32_t alphabet = static_cast<int32_t>(std::min<int64_t>(room, kMostTokens));
  corpus.ids.textEnd = corpus.ids.textBegin + alphabet;

  CounterRandom random(spec.seed, CounterRandom::Corpus, 0);
  std::vector<std::array<int32_t, 4>> successors(alphabet);
  for (std::array<int32_t, 4> &of : successors)
    for (int32_t &successor : of)
      successor = static_cast<int32_t>(random.below(alphabet));
  int32_t state = 0;
  for (int64_t i = 0, length = std::max(kLength, 4 * spec.sequence); i < length; ++i) {
    if (i % kSentence == 0)
      corpus.sentences.push_back(i);
    corpus.tokens.push_back(corpus.ids.textBegin + state);
    const int64_t draw = random.below(100);
    // A step to anywhere now and then keeps the chain out of short cycles.
    state = draw < 80   ? successors[state][0]
            : draw < 96 ? successors[state][1 + draw % 3]
                        : static_cast<int32_t>(random.below(alphabet));
  }
  return corpus;
}

} // namespace st
