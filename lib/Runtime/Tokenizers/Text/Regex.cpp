#include "lib/Runtime/Tokenizers/Text/Regex.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/Runtime/Tokenizers/Text/Unicode.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace st {
namespace {

// White_Space. PCRE2's \s also matches U+180E, which is not white space since Unicode 6.3.
constexpr absl::string_view kSpaces = "\\t-\\r\\x{85}\\p{Z}";

std::string messageOf(int error) {
  unsigned char text[256];
  pcre2_get_error_message(error, text, sizeof(text));
  return reinterpret_cast<const char *>(text);
}

// The content of a character class for the escape at `at`, and the length of the escape; empty if
// both syntaxes agree.
std::pair<std::string, size_t> readEscape(absl::string_view pattern, size_t at) {
  const absl::string_view rest = pattern.substr(at);
  if (absl::StartsWith(rest, "\\s"))
    return {std::string(kSpaces), 2};
  if (absl::StartsWith(rest, "\\p{L}"))
    return {classOfLetters(), 5};
  if (absl::StartsWith(rest, "\\p{N}"))
    return {classOfNumbers(), 5};
  if (absl::StartsWith(rest, "\\w"))
    return {classOfWordChars(), 2};
  return {"", 0};
}

// Translates Oniguruma's syntax where it differs from PCRE2's.
std::string translate(absl::string_view pattern) {
  std::string out;
  bool inClass = false;
  for (size_t i = 0; i < pattern.size();) {
    const char c = pattern[i];
    if (c != '\\') {
      inClass = c == '[' || (inClass && c != ']');
      out += c;
      ++i;
      continue;
    }
    if (auto [inside, length] = readEscape(pattern, i); length > 0) {
      absl::StrAppend(&out, inClass ? "" : "[", inside, inClass ? "" : "]");
      i += length;
    } else if (!inClass && absl::StartsWith(pattern.substr(i), "\\S")) {
      absl::StrAppend(&out, "[^", kSpaces, "]");
      i += 2;
    } else {
      absl::StrAppend(&out, pattern.substr(i, 2));
      i += 2;
    }
  }
  return out;
}

} // namespace

void Regex::Release::operator()(pcre2_real_code_8 *code) const { pcre2_code_free(code); }

absl::StatusOr<Regex> Regex::compileWith(absl::string_view pattern, uint32_t options) {
  int error = 0;
  PCRE2_SIZE place = 0;
  Regex regex;
  regex.code = {pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                              &error, &place, nullptr),
                Release()};
  if (!regex.code)
    return absl::InvalidArgumentError(absl::StrCat("the pattern ", quoteForMessage(pattern), ": ",
                                                   messageOf(error), " at byte ", place));
  // Without a JIT compiler for the processor, PCRE2 interprets the pattern.
  pcre2_jit_compile(regex.code.get(), PCRE2_JIT_COMPLETE);
  regex.source = std::string(pattern);
  return regex;
}

absl::StatusOr<Regex> Regex::compile(absl::string_view pattern) {
  return compileWith(translate(pattern), PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C);
}

absl::StatusOr<Regex> Regex::compileLiteral(absl::string_view text) {
  return compileWith(text, PCRE2_UTF | PCRE2_LITERAL);
}

absl::StatusOr<Regex> readPattern(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"String", "Regex"}));
  const bool isLiteral = node.has("String");
  if (isLiteral == node.has("Regex"))
    return node.error("expected a String or a Regex");
  ST_ASSIGN_OR_RETURN(JsonNode field, node.at(isLiteral ? "String" : "Regex"));
  ST_ASSIGN_OR_RETURN(std::string text, field.text());
  if (isLiteral && text.empty())
    return field.error("expected a text that is not empty");
  absl::StatusOr<Regex> regex = isLiteral ? Regex::compileLiteral(text) : Regex::compile(text);
  return regex.ok() ? std::move(regex) : field.error(regex.status().message());
}

absl::Status Regex::forEachMatch(absl::string_view text,
                                 absl::FunctionRef<void(size_t, size_t)> found) const {
  std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data *)> match(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  const auto *subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (size_t at = 0; at <= text.size();) {
    int matched =
        pcre2_match(code.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
    if (matched == PCRE2_ERROR_JIT_STACKLIMIT)
      matched = pcre2_match(code.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                            match.get(), nullptr);
    if (matched == PCRE2_ERROR_NOMATCH)
      return absl::OkStatus();
    if (matched < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("the pattern ", quoteForMessage(source), ": ", messageOf(matched)));
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(match.get());
    const size_t end = std::max<size_t>(bounds[0], bounds[1]);
    found(bounds[0], end);
    at = end;
    if (bounds[0] == end) // continues after an empty match at the next character
      do
        ++at;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  }
  return absl::OkStatus();
}

} // namespace st
