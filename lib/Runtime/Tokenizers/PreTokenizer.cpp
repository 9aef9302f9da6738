#include "lib/Runtime/Tokenizers/PreTokenizer.h"
#include "lib/Runtime/Tokenizers/Split.h"
#include "lib/Runtime/Tokenizers/Text/ByteLevel.h"
#include "lib/Runtime/Tokenizers/Text/Regex.h"
#include "lib/Runtime/Tokenizers/Text/Unicode.h"

#include "absl/strings/match.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <optional>

namespace st {
namespace {

class BertPreTokenizer : public PreTokenizer {
  absl::Status apply(Words &words) const override {
    splitAtChars(words, SplitBehavior::Removed, isWhiteSpace);
    splitAtChars(words, SplitBehavior::Isolated, isPunctuation);
    return absl::OkStatus();
  }
};

// Splits at a class of characters.
class CharSplit : public PreTokenizer {
public:
  CharSplit(std::function<bool(char32_t)> isDelimiter, SplitBehavior behavior)
      : isDelimiter(std::move(isDelimiter)), behavior(behavior) {}
  absl::Status apply(Words &words) const override {
    splitAtChars(words, behavior, isDelimiter);
    return absl::OkStatus();
  }

private:
  std::function<bool(char32_t)> isDelimiter;
  SplitBehavior behavior;
};

class PatternSplit : public PreTokenizer {
public:
  PatternSplit(Regex pattern, SplitBehavior behavior, bool inverts)
      : pattern(std::move(pattern)), behavior(behavior), inverts(inverts) {}
  absl::Status apply(Words &words) const override {
    return splitWords(words, behavior, inverts,
                      [&](absl::string_view text, absl::FunctionRef<void(size_t, size_t)> found) {
                        return pattern.forEachMatch(text, found);
                      });
  }

private:
  Regex pattern;
  SplitBehavior behavior;
  bool inverts;
};

class ByteLevelPreTokenizer : public PreTokenizer {
public:
  ByteLevelPreTokenizer(bool addsPrefixSpace, std::optional<Regex> pattern)
      : addsPrefixSpace(addsPrefixSpace), pattern(std::move(pattern)) {}

  absl::Status apply(Words &words) const override {
    if (addsPrefixSpace)
      addSpaces(words);
    if (pattern)
      ST_RETURN_IF_ERROR(
          splitWords(words, SplitBehavior::Isolated, /*inverts=*/false,
                     [&](absl::string_view text, absl::FunctionRef<void(size_t, size_t)> found) {
                       return pattern->forEachMatch(text, found);
                     }));
    AlignedText mapped;
    mapped.reserve(words.text.size() + words.text.size() / 4);
    for (Words::Range &word : words.ranges) {
      const size_t begin = mapped.size();
      appendByteLevel(words.text, word.begin, word.end, mapped);
      word = {begin, mapped.size()};
    }
    words.text = std::move(mapped);
    return absl::OkStatus();
  }

private:
  static void addSpaces(Words &words) {
    AlignedText spaced;
    spaced.reserve(words.text.size() + words.ranges.size());
    for (Words::Range &word : words.ranges) {
      const size_t begin = spaced.size();
      if (words.text.bytes()[word.begin] != ' ')
        spaced.append(" ", words.text.source(word.begin, word.begin));
      spaced.append(words.text, word.begin, word.end);
      word = {begin, spaced.size()};
    }
    words.text = std::move(spaced);
  }

  bool addsPrefixSpace;
  std::optional<Regex> pattern;
};

// SentencePiece's: replaces blanks by a visible character, which begins words.
class Metaspace : public PreTokenizer {
public:
  enum class Scheme { Always, First, Never };
  Metaspace(std::string blank, Scheme scheme, bool splits)
      : blank(std::move(blank)), scheme(scheme), splits(splits) {}

  absl::Status apply(Words &words) const override {
    AlignedText out;
    out.reserve(words.text.size() + words.text.size() / 2);
    for (Words::Range &word : words.ranges) {
      const size_t begin = out.size();
      const absl::string_view bytes = words.text.bytes().substr(0, word.end);
      const char first = bytes[word.begin];
      const bool hasBlank = first == ' ' || absl::StartsWith(bytes.substr(word.begin), blank);
      const SourceRange place = words.text.source(word.begin, word.begin);
      if (!hasBlank && (scheme == Scheme::Always || (scheme == Scheme::First && place.begin == 0)))
        out.append(blank, place);
      for (size_t i = word.begin; i < word.end; ++i)
        if (bytes[i] == ' ')
          out.append(blank, words.text.source(i, i + 1));
        else
          out.append(words.text, i, i + 1);
      word = {begin, out.size()};
    }
    words.text = std::move(out);
    return splits ? splitAtBlanks(words) : absl::OkStatus();
  }

private:
  absl::Status splitAtBlanks(Words &words) const {
    return splitWords(words, SplitBehavior::MergedWithNext, /*inverts=*/false,
                      [&](absl::string_view text, absl::FunctionRef<void(size_t, size_t)> found) {
                        for (size_t at = text.find(blank); at != text.npos;
                             at = text.find(blank, at + blank.size()))
                          found(at, at + blank.size());
                        return absl::OkStatus();
                      });
  }

  std::string blank;
  Scheme scheme;
  bool splits;
};

class Sequence : public PreTokenizer {
public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps(std::move(steps)) {}
  absl::Status apply(Words &words) const override {
    for (const std::unique_ptr<PreTokenizer> &step : steps)
      ST_RETURN_IF_ERROR(step->apply(words));
    return absl::OkStatus();
  }

private:
  std::vector<std::unique_ptr<PreTokenizer>> steps;
};

using Result = absl::StatusOr<std::unique_ptr<PreTokenizer>>;

Result readMetaspace(const JsonNode &node) {
  // Older versions have "str_rep" and "add_prefix_space".
  ST_RETURN_IF_ERROR(node.allow(
      {"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"}));
  ST_ASSIGN_OR_RETURN(std::string blank, node.text("replacement", "\xE2\x96\x81"));
  ST_ASSIGN_OR_RETURN(bool adds, node.flag("add_prefix_space", true));
  ST_ASSIGN_OR_RETURN(std::string scheme, node.text("prepend_scheme", adds ? "always" : "never"));
  ST_ASSIGN_OR_RETURN(bool splits, node.flag("split", true));
  if (blank.empty() || charAt(blank, 0).end != blank.size())
    return node.error("\"replacement\" is not one character");
  constexpr std::pair<absl::string_view, Metaspace::Scheme> kSchemes[] = {
      {"always", Metaspace::Scheme::Always},
      {"first", Metaspace::Scheme::First},
      {"never", Metaspace::Scheme::Never}};
  for (auto [name, value] : kSchemes)
    if (scheme == name)
      return std::make_unique<Metaspace>(std::move(blank), value, splits);
  return node.error(
      absl::StrCat("the prepend_scheme ", quoteForMessage(scheme), " is not supported"));
}

Result readByteLevel(const JsonNode &node) {
  // "trim_offsets" only affects how tokens are printed.
  ST_RETURN_IF_ERROR(node.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  ST_ASSIGN_OR_RETURN(bool adds, node.flag("add_prefix_space", true));
  ST_ASSIGN_OR_RETURN(bool divides, node.flag("use_regex", true));
  if (divides)
    return createByteLevelPreTokenizer(adds);
  return std::make_unique<ByteLevelPreTokenizer>(adds, std::nullopt);
}

Result readSplit(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "pattern", "behavior", "invert"}));
  ST_ASSIGN_OR_RETURN(JsonNode patternNode, node.at("pattern"));
  ST_ASSIGN_OR_RETURN(Regex pattern, readPattern(patternNode));
  ST_ASSIGN_OR_RETURN(SplitBehavior behavior, readSplitBehavior(node));
  ST_ASSIGN_OR_RETURN(bool inverts, node.flag("invert", false));
  return std::make_unique<PatternSplit>(std::move(pattern), behavior, inverts);
}

Result readPunctuation(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "behavior"}));
  SplitBehavior behavior = SplitBehavior::Isolated;
  if (node.has("behavior")) {
    ST_ASSIGN_OR_RETURN(behavior, readSplitBehavior(node));
  }
  return std::make_unique<CharSplit>(isPunctuation, behavior);
}

Result readDigits(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "individual_digits"}));
  ST_ASSIGN_OR_RETURN(bool each, node.flag("individual_digits", false));
  return std::make_unique<CharSplit>(isNumber,
                                     each ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
}

Result readCharDelimiter(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "delimiter"}));
  ST_ASSIGN_OR_RETURN(JsonNode field, node.at("delimiter"));
  ST_ASSIGN_OR_RETURN(std::string text, field.text());
  if (text.empty() || charAt(text, 0).end != text.size())
    return field.error("expected one character");
  const char32_t delimiter = charAt(text, 0).code;
  return std::make_unique<CharSplit>([=](char32_t code) { return code == delimiter; },
                                     SplitBehavior::Removed);
}

Result readWhitespace(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type"}));
  ST_ASSIGN_OR_RETURN(Regex pattern, Regex::compile(R"(\w+|[^\w\s]+)"));
  return std::make_unique<PatternSplit>(std::move(pattern), SplitBehavior::Removed,
                                        /*inverts=*/true);
}

Result readSequence(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "pretokenizers"}));
  ST_ASSIGN_OR_RETURN(JsonNode list, node.at("pretokenizers"));
  ST_RETURN_IF_ERROR(list.expectArray());
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (size_t i = 0; i < list.json().size(); ++i) {
    ST_ASSIGN_OR_RETURN(auto step, readPreTokenizer(list.element(i)));
    steps.push_back(std::move(step));
  }
  return std::make_unique<Sequence>(std::move(steps));
}

Result readBert(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type"}));
  return createBertPreTokenizer();
}

Result readWhitespaceSplit(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type"}));
  return std::make_unique<CharSplit>(isWhiteSpace, SplitBehavior::Removed);
}

} // namespace

std::unique_ptr<PreTokenizer> createBertPreTokenizer() {
  return std::make_unique<BertPreTokenizer>();
}

Result createByteLevelPreTokenizer(bool addsPrefixSpace) {
  ST_ASSIGN_OR_RETURN(
      Regex pattern,
      Regex::compile(
          R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"));
  return std::make_unique<ByteLevelPreTokenizer>(addsPrefixSpace, std::move(pattern));
}

Result readPreTokenizer(const JsonNode &node) {
  constexpr std::pair<absl::string_view, Result (*)(const JsonNode &)> kReaders[] = {
      {"BertPreTokenizer", readBert},
      {"ByteLevel", readByteLevel},
      {"CharDelimiterSplit", readCharDelimiter},
      {"Digits", readDigits},
      {"Metaspace", readMetaspace},
      {"Punctuation", readPunctuation},
      {"Sequence", readSequence},
      {"Split", readSplit},
      {"Whitespace", readWhitespace},
      {"WhitespaceSplit", readWhitespaceSplit}};
  ST_ASSIGN_OR_RETURN(JsonNode typeNode, node.at("type"));
  ST_ASSIGN_OR_RETURN(std::string type, typeNode.text());
  for (auto [name, read] : kReaders)
    if (type == name)
      return read(node);
  return node.error(absl::StrCat("the pre-tokenizer ", quoteForMessage(type), " is not supported"));
}

} // namespace st
