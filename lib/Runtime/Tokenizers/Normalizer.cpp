#include "lib/Runtime/Tokenizers/Normalizer.h"
#include "lib/Runtime/Tokenizers/Text/ByteLevel.h"
#include "lib/Runtime/Tokenizers/Text/Regex.h"
#include "lib/Runtime/Tokenizers/Text/Unicode.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <optional>
#include <vector>

namespace st {
namespace {

// Rewrites a text character by character.
void rewrite(AlignedText &text,
             absl::FunctionRef<void(const TextChar &, SourceRange, AlignedText &)> change) {
  AlignedText out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const TextChar c = charAt(text.bytes(), i);
    i = c.end;
    change(c, text.source(c.begin, c.end), out);
  }
  text = std::move(out);
}

void lowercase(AlignedText &text) {
  if (isAscii(text.bytes())) {
    absl::AsciiStrToLower(&text.mutableBytes());
    return;
  }
  std::u32string lower;
  rewrite(text, [&](const TextChar &c, SourceRange from, AlignedText &out) {
    lower.clear();
    appendLowercase(c.code, lower);
    for (char32_t code : lower)
      out.appendCode(code, from);
  });
}

class Lowercase : public Normalizer {
  absl::Status apply(AlignedText &text) const override {
    lowercase(text);
    return absl::OkStatus();
  }
};

class UnicodeForm : public Normalizer {
public:
  explicit UnicodeForm(NormalForm form) : form(form) {}
  absl::Status apply(AlignedText &text) const override {
    text = normalize(text, form);
    return absl::OkStatus();
  }

private:
  NormalForm form;
};

class StripAccents : public Normalizer {
  absl::Status apply(AlignedText &text) const override {
    if (!isAscii(text.bytes()))
      rewrite(text, [](const TextChar &c, SourceRange from, AlignedText &out) {
        if (!isMark(c.code))
          out.appendCode(c.code, from);
      });
    return absl::OkStatus();
  }
};

class Strip : public Normalizer {
public:
  Strip(bool left, bool right) : left(left), right(right) {}
  absl::Status apply(AlignedText &text) const override {
    size_t begin = text.size(), end = 0;
    for (size_t i = 0; i < text.size();) {
      const TextChar c = charAt(text.bytes(), i);
      i = c.end;
      if (isWhiteSpace(c.code))
        continue;
      begin = std::min(begin, c.begin);
      end = c.end;
    }
    begin = left ? begin : 0;
    end = right ? std::max(begin, end) : text.size();
    AlignedText out;
    out.append(text, begin, end);
    text = std::move(out);
    return absl::OkStatus();
  }

private:
  bool left, right;
};

class Prepend : public Normalizer {
public:
  explicit Prepend(std::string prefix) : prefix(std::move(prefix)) {}
  absl::Status apply(AlignedText &text) const override {
    if (text.empty())
      return absl::OkStatus();
    AlignedText out;
    out.reserve(text.size() + prefix.size());
    out.append(prefix, text.source(0, 0));
    out.append(text, 0, text.size());
    text = std::move(out);
    return absl::OkStatus();
  }

private:
  std::string prefix;
};

class Replace : public Normalizer {
public:
  Replace(Regex pattern, std::string content)
      : pattern(std::move(pattern)), content(std::move(content)) {}
  absl::Status apply(AlignedText &text) const override {
    AlignedText out;
    size_t done = 0;
    bool isChanged = false;
    ST_RETURN_IF_ERROR(pattern.forEachMatch(text.bytes(), [&](size_t begin, size_t end) {
      if (!isChanged)
        out.reserve(text.size());
      isChanged = true;
      out.append(text, done, begin);
      out.append(content, text.source(begin, end));
      done = end;
    }));
    if (!isChanged)
      return absl::OkStatus();
    out.append(text, done, text.size());
    text = std::move(out);
    return absl::OkStatus();
  }

private:
  Regex pattern;
  std::string content;
};

// The rules that SentencePiece's nmt_ forms apply before normalisation.
class Nmt : public Normalizer {
  absl::Status apply(AlignedText &text) const override {
    rewrite(text, [](const TextChar &c, SourceRange from, AlignedText &out) {
      const char32_t code = c.code;
      const bool vanishes = (code >= 1 && code <= 8) || code == 0xB ||
                            (code >= 0xE && code <= 0x1F) || code == 0x7F || code == 0x8F ||
                            code == 0x9F;
      const bool isSpace = code == 9 || code == 0xA || code == 0xC || code == 0xD ||
                           code == 0x1680 || (code >= 0x200B && code <= 0x200F) || code == 0x2028 ||
                           code == 0x2029 || code == 0x2581 || code == 0xFEFF || code == 0xFFFD;
      if (!vanishes)
        out.appendCode(isSpace ? U' ' : code, from);
    });
    return absl::OkStatus();
  }
};

class ByteLevelNormalizer : public Normalizer {
  absl::Status apply(AlignedText &text) const override {
    AlignedText out;
    appendByteLevel(text, 0, text.size(), out);
    text = std::move(out);
    return absl::OkStatus();
  }
};

class BertNormalizer : public Normalizer {
public:
  explicit BertNormalizer(const BertNormalizerOptions &options) : options(options) {}

  absl::Status apply(AlignedText &text) const override {
    if (options.cleansText || options.spacesIdeographs)
      clean(text);
    if (options.stripsAccents && !isAscii(text.bytes())) {
      text = normalize(text, NormalForm::Nfd);
      rewrite(text, [](const TextChar &c, SourceRange from, AlignedText &out) {
        if (!isNonspacingMark(c.code))
          out.appendCode(c.code, from);
      });
    }
    if (options.lowercases)
      lowercase(text);
    return absl::OkStatus();
  }

private:
  void clean(AlignedText &text) const {
    if (!needsCleaning(text.bytes()))
      return;
    rewrite(text, [&](const TextChar &c, SourceRange from, AlignedText &out) {
      if (options.cleansText && (c.code == 0 || c.code == 0xFFFD || isControl(c.code)))
        return;
      const bool isAlone = options.spacesIdeographs && isCjkIdeograph(c.code);
      if (isAlone)
        out.append(" ", from);
      if (options.cleansText && isWhiteSpace(c.code))
        out.append(" ", from);
      else
        out.appendCode(c.code, from);
      if (isAlone)
        out.append(" ", from);
    });
  }

  // Printable ASCII needs no change.
  static bool needsCleaning(absl::string_view bytes) {
    return !std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  }

  BertNormalizerOptions options;
};

class Sequence : public Normalizer {
public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps(std::move(steps)) {}
  absl::Status apply(AlignedText &text) const override {
    for (const std::unique_ptr<Normalizer> &step : steps)
      ST_RETURN_IF_ERROR(step->apply(text));
    return absl::OkStatus();
  }

private:
  std::vector<std::unique_ptr<Normalizer>> steps;
};

absl::StatusOr<std::unique_ptr<Normalizer>> readBert(const JsonNode &node) {
  ST_RETURN_IF_ERROR(
      node.allow({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}));
  BertNormalizerOptions options;
  ST_ASSIGN_OR_RETURN(options.cleansText, node.flag("clean_text", true));
  ST_ASSIGN_OR_RETURN(options.spacesIdeographs, node.flag("handle_chinese_chars", true));
  ST_ASSIGN_OR_RETURN(options.lowercases, node.flag("lowercase", true));
  ST_ASSIGN_OR_RETURN(options.stripsAccents, node.flag("strip_accents", options.lowercases));
  return createBertNormalizer(options);
}

absl::StatusOr<std::unique_ptr<Normalizer>> readReplace(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "pattern", "content"}));
  ST_ASSIGN_OR_RETURN(JsonNode patternNode, node.at("pattern"));
  ST_ASSIGN_OR_RETURN(Regex pattern, readPattern(patternNode));
  ST_ASSIGN_OR_RETURN(JsonNode contentNode, node.at("content"));
  ST_ASSIGN_OR_RETURN(std::string content, contentNode.text());
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}

absl::StatusOr<std::unique_ptr<Normalizer>> readStrip(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "strip_left", "strip_right"}));
  ST_ASSIGN_OR_RETURN(bool left, node.flag("strip_left", true));
  ST_ASSIGN_OR_RETURN(bool right, node.flag("strip_right", true));
  return std::make_unique<Strip>(left, right);
}

absl::StatusOr<std::unique_ptr<Normalizer>> readPrepend(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "prepend"}));
  ST_ASSIGN_OR_RETURN(JsonNode prefix, node.at("prepend"));
  ST_ASSIGN_OR_RETURN(std::string text, prefix.text());
  return std::make_unique<Prepend>(std::move(text));
}

absl::StatusOr<std::unique_ptr<Normalizer>> readSequence(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "normalizers"}));
  ST_ASSIGN_OR_RETURN(JsonNode list, node.at("normalizers"));
  ST_RETURN_IF_ERROR(list.expectArray());
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (size_t i = 0; i < list.json().size(); ++i) {
    ST_ASSIGN_OR_RETURN(auto step, readNormalizer(list.element(i)));
    steps.push_back(std::move(step));
  }
  return std::make_unique<Sequence>(std::move(steps));
}

// Normalizers without options.
std::unique_ptr<Normalizer> createPlain(absl::string_view type) {
  constexpr std::pair<absl::string_view, NormalForm> kForms[] = {{"NFC", NormalForm::Nfc},
                                                                 {"NFD", NormalForm::Nfd},
                                                                 {"NFKC", NormalForm::Nfkc},
                                                                 {"NFKD", NormalForm::Nfkd}};
  for (auto [name, form] : kForms)
    if (type == name)
      return std::make_unique<UnicodeForm>(form);
  if (type == "Lowercase")
    return std::make_unique<Lowercase>();
  if (type == "StripAccents")
    return std::make_unique<StripAccents>();
  if (type == "Nmt")
    return std::make_unique<Nmt>();
  if (type == "ByteLevel")
    return std::make_unique<ByteLevelNormalizer>();
  return nullptr;
}

} // namespace

std::unique_ptr<Normalizer> createBertNormalizer(const BertNormalizerOptions &options) {
  return std::make_unique<BertNormalizer>(options);
}

absl::StatusOr<std::unique_ptr<Normalizer>> readNormalizer(const JsonNode &node) {
  ST_ASSIGN_OR_RETURN(JsonNode typeNode, node.at("type"));
  ST_ASSIGN_OR_RETURN(std::string type, typeNode.text());
  if (std::unique_ptr<Normalizer> plain = createPlain(type)) {
    ST_RETURN_IF_ERROR(node.allow({"type"}));
    return plain;
  }
  if (type == "BertNormalizer")
    return readBert(node);
  if (type == "Precompiled")
    return readCharsMap(node);
  if (type == "Prepend")
    return readPrepend(node);
  if (type == "Replace")
    return readReplace(node);
  if (type == "Sequence")
    return readSequence(node);
  if (type == "Strip")
    return readStrip(node);
  return node.error(absl::StrCat("the normalizer ", quoteForMessage(type), " is not supported"));
}

} // namespace st
