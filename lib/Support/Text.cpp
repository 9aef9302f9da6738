#include "lib/Support/Text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace st {
namespace {

// The length of the sequence at the start of the text; 0 if it is malformed.
size_t sequenceLength(absl::string_view text) {
  size_t length = 0;
  const char32_t code = decodeUtf8(text, length);
  return code == 0xFFFD && length == 1 ? 0 : length;
}

// Reads four hexadecimal digits at `position`; returns false if there are none.
bool parseHex4(absl::string_view text, size_t &position, char32_t &code) {
  code = 0;
  for (int i = 0; i < 4; ++i, ++position) {
    if (position >= text.size() || !absl::ascii_isxdigit(static_cast<uint8_t>(text[position])))
      return false;
    const char c = absl::ascii_tolower(static_cast<uint8_t>(text[position]));
    code = code * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return true;
}

// Parses the part of an escape after the backslash; see parseJsonString.
absl::string_view parseEscape(absl::string_view text, size_t &position, std::string &out) {
  constexpr absl::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
  const char c = position < text.size() ? text[position++] : '\0';
  if (const size_t at = kFrom.find(c); at != absl::string_view::npos) {
    out += kTo[at];
    return "";
  }
  char32_t code, low;
  if (c != 'u')
    return "unknown escape";
  if (!parseHex4(text, position, code))
    return "expected four hexadecimal digits";
  if (code >= 0xD800 && code < 0xDC00 && text.substr(position, 2) == "\\u") {
    position += 2;
    if (!parseHex4(text, position, low))
      return "expected four hexadecimal digits";
    if (low < 0xDC00 || low >= 0xE000)
      return "unpaired surrogate";
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  if (code >= 0xD800 && code < 0xE000)
    return "unpaired surrogate";
  appendUtf8(code, out);
  return "";
}

} // namespace

char32_t decodeUtf8(absl::string_view text, size_t &position) {
  constexpr char32_t kReplacement = 0xFFFD;
  const uint8_t lead = static_cast<uint8_t>(text[position++]);
  if (lead < 0x80)
    return lead;
  const size_t more = lead < 0xC2 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : lead < 0xF5 ? 3 : 0;
  if (more == 0 || text.size() - position < more)
    return kReplacement;
  char32_t code = lead & (0x3F >> more);
  for (size_t i = 0; i < more; ++i) {
    uint8_t next = static_cast<uint8_t>(text[position + i]);
    if ((next & 0xC0) != 0x80)
      return kReplacement;
    code = code << 6 | (next & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    return kReplacement;
  position += more;
  return code;
}

bool isUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = sequenceLength(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

void appendUtf8(char32_t code, std::string &out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint8_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i)
    out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

std::string quoteJson(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      absl::StrAppend(&out, "\\", absl::string_view(&c, 1));
    else if (static_cast<unsigned char>(c) < 0x20)
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

absl::string_view parseJsonString(absl::string_view text, size_t &position, std::string &out) {
  out.clear();
  for (++position; position < text.size() && text[position] != '"';) {
    const char c = text[position++];
    if (static_cast<unsigned char>(c) < 0x20)
      return "control character in a string";
    if (c != '\\')
      out += c;
    else if (absl::string_view wrong = parseEscape(text, position, out); !wrong.empty())
      return wrong;
  }
  if (position >= text.size())
    return "unterminated string";
  ++position;
  return isUtf8(out) ? "" : "string is not UTF-8";
}

std::string quoteForMessage(absl::string_view name) {
  constexpr size_t kLongest = 200;
  std::string escaped = absl::Utf8SafeCHexEscape(name.substr(0, kLongest));
  return absl::StrCat("'", escaped, name.size() > kLongest ? "…" : "", "'");
}

std::string escapeControls(absl::string_view message) {
  std::string out;
  while (!message.empty()) {
    const size_t length = sequenceLength(message);
    const uint8_t c = static_cast<uint8_t>(message[0]);
    if (c == '\n')
      out += "\\n";
    else if (length == 0 || c < 0x20 || c == 0x7F)
      absl::StrAppendFormat(&out, "\\x%02x", c);
    else
      absl::StrAppend(&out, message.substr(0, length));
    message.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

namespace {

constexpr int kFigureDigits = 4;

struct Rounded {
  double value; ///< rounded to four significant digits
  int decimals; ///< that these digits have
};

// `value` is finite.
Rounded roundFigure(double value) {
  const std::string text = absl::StrFormat("%.*e", kFigureDigits - 1, value);
  Rounded rounded = {value, 0};
  int exponent = 0;
  if (absl::SimpleAtod(text, &rounded.value) &&
      absl::SimpleAtoi(absl::string_view(text).substr(text.find('e') + 1), &exponent))
    rounded.decimals = std::max(0, kFigureDigits - 1 - exponent);
  return rounded;
}

// Returns true for a number that is short without an exponent.
bool isShortFigure(double value) {
  constexpr double kMin = 1e-9, kMax = 1e15;
  return value == 0 || (std::fabs(value) >= kMin && std::fabs(value) < kMax);
}

} // namespace

std::string printFigure(double value) {
  if (!isShortFigure(value))
    return absl::StrFormat("%.*g", kFigureDigits, value);
  const auto [rounded, decimals] = roundFigure(value);
  std::string text = absl::StrFormat("%.*f", decimals, rounded);
  if (decimals > 0)
    text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text;
}

std::string printFigure(double value, int decimals) {
  if (!(std::fabs(value) < 1e15))
    return printFigure(value);
  const Rounded rounded = roundFigure(value);
  // A number with fewer decimals than digits is rounded once, from its exact value.
  return decimals < rounded.decimals ? absl::StrFormat("%.*f", decimals, value)
                                     : absl::StrFormat("%.*f", rounded.decimals, rounded.value);
}

} // namespace st
