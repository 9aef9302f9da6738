#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/Data/Sources/ClassSource.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace st {
namespace {

constexpr uint64_t kLargestText = uint64_t{1} << 30;

// The longest sentence. It bounds the memory for a text without sentence ends.
constexpr size_t kMaxBytes = 1 << 16;

// The end of the sentence that begins at `begin`: after a full stop, question mark or exclamation
// mark followed by white space, or after an empty line.
size_t findSentenceEnd(absl::string_view text, size_t begin) {
  bool hasContent = false;
  const size_t last = std::min(text.size(), begin + kMaxBytes);
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
  // Breaks between two words if possible, else between two characters.
  size_t end = last;
  while (end > last - kMaxBytes / 2 && !absl::ascii_isspace(static_cast<unsigned char>(text[end])))
    --end;
  if (end > last - kMaxBytes / 2)
    return end;
  for (end = last; (text[end] & 0xC0) == 0x80 && end > last - 4;)
    --end;
  return end;
}

void appendSentences(absl::string_view text, std::vector<absl::string_view> &sentences) {
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = findSentenceEnd(text, begin);
    sentences.push_back(text.substr(begin, end - begin));
  }
}

// Splits a sentence without an end (a table, another script), so that every document has places
// where a segment may begin.
void addSentence(Corpus &corpus, const std::vector<Token> &tokens) {
  constexpr size_t kLongestSentence = 256;
  for (size_t begin = 0; begin < tokens.size(); begin += kLongestSentence) {
    corpus.sentences.push_back(static_cast<int64_t>(corpus.tokens.size()));
    for (size_t i = begin; i < std::min(begin + kLongestSentence, tokens.size()); ++i)
      corpus.tokens.push_back(tokens[i].id);
  }
}

// Ends the current document and begins a new one.
void addDocument(Corpus &corpus, int32_t closing) {
  const int64_t first = static_cast<int64_t>(corpus.sentences.size());
  if (!corpus.documents.empty() && corpus.documents.back() == first)
    return;
  if (closing >= 0 && first > 0)
    corpus.tokens.push_back(closing);
  corpus.documents.push_back(first);
}

} // namespace

absl::Status encodeAll(const Tokenizer &tokenizer, absl::Span<const absl::string_view> texts,
                       absl::FunctionRef<void(size_t, const std::vector<Token> &)> add) {
  constexpr size_t kTogether = 4096, kBlock = 64;
  for (size_t begin = 0; begin < texts.size(); begin += kTogether) {
    const absl::Span<const absl::string_view> some = texts.subspan(begin, kTogether);
    std::vector<std::vector<Token>> tokens(some.size());
    std::vector<absl::Status> statuses(some.size());
    const int64_t blocks = static_cast<int64_t>((some.size() + kBlock - 1) / kBlock);
    ST_RETURN_IF_ERROR(parallelFor(hostThreadCount(0), blocks, [&](int64_t block) {
      const size_t first = static_cast<size_t>(block) * kBlock;
      for (size_t i = first; i < std::min(first + kBlock, some.size()); ++i)
        statuses[i] = tokenizer.encode(some[i], tokens[i]);
    }));
    for (size_t i = 0; i < some.size(); ++i) {
      ST_RETURN_IF_ERROR(statuses[i]);
      add(begin + i, tokens[i]);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> readJsonLines(const std::string &path,
                                                       absl::Span<const char *const> keys) {
  ST_ASSIGN_OR_RETURN(const std::string file, readFile(path, kLargestText));
  std::vector<std::string> texts;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(file, '\n')) {
    const std::string place = absl::StrCat(path, ":", ++number);
    if (absl::StripAsciiWhitespace(line).empty())
      continue;
    ST_ASSIGN_OR_RETURN(nlohmann::json entry, parseJsonText(line, place));
    for (const char *key : keys) {
      ST_ASSIGN_OR_RETURN(JsonNode field, JsonNode(entry, place).at(key));
      ST_ASSIGN_OR_RETURN(std::string text, field.text());
      texts.push_back(std::move(text));
    }
  }
  if (texts.empty())
    return inFile(path, "no documents");
  return texts;
}

// Decoders need no special tokens.
static bool isCausal(const BatchSpec &spec) {
  return spec.task == "clm" || (classifiesText(spec) && !spec.findInput("attention_mask"));
}

absl::StatusOr<std::unique_ptr<Tokenizer>> createTokenizer(const BatchSpec &spec) {
  if (spec.tokenizerFiles.empty())
    return createByteTokenizer(spec.vocabulary, /*withSpecialTokens=*/!isCausal(spec));
  ST_ASSIGN_OR_RETURN(
      std::unique_ptr<Tokenizer> tokenizer,
      createFileTokenizer(spec.tokenizerFiles, spec.configJson, spec.vocabulary, kModelsPrefix));
  const TokenIds &ids = tokenizer->ids();
  const bool hasPairs = spec.task != "seq2seq" && !isCausal(spec);
  const std::tuple<const char *, int32_t, bool> needed[] = {
      {"[PAD] or <pad>", ids.pad, !isCausal(spec)},
      {"[CLS] or <s>", ids.cls, hasPairs},
      {"[SEP] or </s>", ids.sep, hasPairs},
      {"[MASK] or <mask>", ids.mask, spec.task == "mlm"}};
  for (auto [name, id, isNeeded] : needed)
    if (isNeeded && id < 0)
      return absl::InvalidArgumentError(absl::StrCat("the model's tokenizer has no token ", name,
                                                     ", which the task ", spec.task, " needs"));
  return tokenizer;
}

absl::StatusOr<Corpus> readTextCorpus(const std::string &path, const BatchSpec &spec) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, createTokenizer(spec));
  ST_ASSIGN_OR_RETURN(std::string text, readFile(path, kLargestText));
  std::vector<absl::string_view> sentences;
  appendSentences(text, sentences);
  Corpus corpus;
  corpus.name = path;
  corpus.ids = tokenizer->ids();
  ST_RETURN_IF_ERROR(
      encodeAll(*tokenizer, sentences,
                [&](size_t, const std::vector<Token> &tokens) { addSentence(corpus, tokens); }));
  return corpus;
}

absl::StatusOr<Corpus> readJsonLinesCorpus(const std::string &path, const BatchSpec &spec) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, createTokenizer(spec));
  ST_ASSIGN_OR_RETURN(const std::vector<std::string> texts, readJsonLines(path, {"text"}));
  std::vector<absl::string_view> sentences;
  std::vector<size_t> firsts; // sentence of each document
  for (const std::string &text : texts) {
    firsts.push_back(sentences.size());
    appendSentences(text, sentences);
  }
  Corpus corpus;
  corpus.name = path;
  corpus.ids = tokenizer->ids();
  const int32_t closing = spec.task == "clm" ? corpus.ids.endOfDocument : -1;
  size_t document = 0;
  auto add = [&](size_t sentence, const std::vector<Token> &tokens) {
    for (; document < firsts.size() && firsts[document] <= sentence; ++document)
      addDocument(corpus, closing);
    addSentence(corpus, tokens);
  };
  ST_RETURN_IF_ERROR(encodeAll(*tokenizer, sentences, add));
  if (closing >= 0 && !corpus.tokens.empty())
    corpus.tokens.push_back(closing);
  return corpus;
}

absl::StatusOr<Corpus> openIndexedCorpus(const std::string &prefix, const BatchSpec &spec) {
  Corpus corpus;
  corpus.name = prefix;
  corpus.vocabulary = spec.vocabulary;
  if (spec.task != "clm") {
    // Only the vocabulary defines the tokens that mask and that separate a pair.
    if (spec.tokenizerFiles.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("--data=megatron:", prefix, ": the task ", spec.task,
                       " needs the model folder's tokenizer.json or vocab.txt, and the program "
                       "has neither"));
    ST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, createTokenizer(spec));
    corpus.ids = tokenizer->ids();
  } else if (!spec.tokenizerFiles.empty()) {
    ST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, createTokenizer(spec));
    corpus.ids.endOfDocument = tokenizer->ids().endOfDocument;
  } else {
    ST_ASSIGN_OR_RETURN(const std::optional<int32_t> end,
                        findEndToken(spec.configJson, spec.vocabulary));
    corpus.ids.endOfDocument = end.value_or(-1);
  }
  ST_ASSIGN_OR_RETURN(corpus.indexed, IndexedDataset::open(prefix));
  return corpus;
}

absl::StatusOr<Corpus> createSyntheticCorpus(const BatchSpec &spec) {
  constexpr int32_t kMaxTokens = 256;
  constexpr int64_t kLength = 1 << 16, kSentence = 16;
  Corpus corpus;
  corpus.name = "synthetic data";
  corpus.ids.textBegin = spec.task == "clm" ? 0 : 4;
  const int64_t room = spec.vocabulary - corpus.ids.textBegin;
  if (room < 4)
    return absl::InvalidArgumentError(
        absl::StrCat("synthetic data needs at least ", corpus.ids.textBegin + 4,
                     " token ids, but the model has ", spec.vocabulary));
  const int32_t alphabet = static_cast<int32_t>(std::min<int64_t>(room, kMaxTokens));
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
    // An occasional random step keeps the chain out of short cycles.
    state = draw < 80   ? successors[state][0]
            : draw < 96 ? successors[state][1 + draw % 3]
                        : static_cast<int32_t>(random.below(alphabet));
  }
  return corpus;
}

} // namespace st
