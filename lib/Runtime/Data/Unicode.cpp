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
