#include "lib/Runtime/Data/Unicode.h"

#include "absl/types/span.h"

#include <algorithm>
#include <iterator>

namespace st {
namespace {

struct CodeRange {
  char32_t first, last;
};
struct Fold {
  char32_t code;
  uint16_t begin, length; // in kFoldPool
};

#include "lib/Runtime/Data/UnicodeTables.inc"

bool contains(absl::Span<const CodeRange> ranges, char32_t code) {
  auto it = std::upper_bound(ranges.begin(), ranges.end(), code,
                             [](char32_t c, const CodeRange &range) { return c < range.first; });
  return it != ranges.begin() && code <= std::prev(it)->last;
}

// The arithmetic decomposition of Hangul syllables, Unicode standard section 3.12.
void appendJamo(char32_t syllable, std::u32string &out) {
  constexpr char32_t kVowels = 21, kTrailers = 28;
  char32_t index = syllable - 0xAC00;
  out += 0x1100 + index / (kVowels * kTrailers);
  out += 0x1161 + index / kTrailers % kVowels;
  if (index % kTrailers != 0)
    out += 0x11A7 + index % kTrailers;
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

bool isUnicodeSpace(char32_t code) {
  return code == '\t' || code == '\n' || code == '\r' || contains(kSpaces, code);
}

bool isUnicodeControl(char32_t code) {
  return code != '\t' && code != '\n' && code != '\r' && contains(kControls, code);
}

bool isUnicodePunctuation(char32_t code) {
  bool isAsciiSymbol = (code >= 33 && code <= 47) || (code >= 58 && code <= 64) ||
                       (code >= 91 && code <= 96) || (code >= 123 && code <= 126);
  return isAsciiSymbol || contains(kPunctuation, code);
}

bool isCjkIdeograph(char32_t code) {
  constexpr CodeRange kIdeographs[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                       {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                       {0x2B820, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return contains(kIdeographs, code);
}

void appendFolded(char32_t code, std::u32string &out) {
  if (code < 0x80) {
    out += code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code;
    return;
  }
  if (code >= 0xAC00 && code < 0xD7A4)
    return appendJamo(code, out);
  const Fold *fold = std::lower_bound(std::begin(kFolds), std::end(kFolds), code,
                                      [](const Fold &f, char32_t c) { return f.code < c; });
  if (fold == std::end(kFolds) || fold->code != code)
    out += code;
  else
    out.append(kFoldPool + fold->begin, fold->length);
}

} // namespace st
