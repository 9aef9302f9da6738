#include "lib/Runtime/Tokenizers/Text/Unicode.h"

#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <iterator>
#include <utf8proc.h>
#include <utility>
#include <vector>

namespace st {
namespace {

// Code points, inclusive.
struct CodeRange {
  char32_t first, last;
};

#include "lib/Runtime/Tokenizers/Text/UnicodeExceptions.inc"

bool contains(absl::Span<const CodeRange> ranges, char32_t code) {
  auto it = std::upper_bound(ranges.begin(), ranges.end(), code,
                             [](char32_t c, const CodeRange &range) { return c < range.first; });
  return it != ranges.begin() && code <= std::prev(it)->last;
}

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

int combiningClass(char32_t code) {
  if (code < 0x300 || contains(kMarkExceptions, code))
    return 0;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class;
}

// A code point of decomposed text.
struct Part {
  char32_t code;
  int combining;
  SourceRange from;
};

void decompose(char32_t code, SourceRange from, bool isCompatible, std::vector<Part> &parts) {
  constexpr int kLongest = 32; // the longest decomposition has 18
  utf8proc_int32_t found[kLongest];
  if (contains(kUndecomposed, code)) {
    parts.push_back({code, combiningClass(code), from});
    return;
  }
  int boundary = 0;
  const int options = UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | (isCompatible ? UTF8PROC_COMPAT : 0);
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), found, kLongest,
                              static_cast<utf8proc_option_t>(options), &boundary);
  if (count <= 0 || count > kLongest) {
    parts.push_back({code, combiningClass(code), from});
    return;
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    const char32_t part = static_cast<char32_t>(found[i]);
    parts.push_back({part, combiningClass(part), from});
  }
}

// Sorts the marks after a character by class, stably.
void reorder(std::vector<Part> &parts) {
  for (auto begin = parts.begin(); begin != parts.end();) {
    auto end = std::find_if(begin, parts.end(), [](const Part &p) { return p.combining == 0; });
    if (end - begin > 1) {
      std::vector<std::pair<int, size_t>> order;
      for (auto it = begin; it != end; ++it)
        order.emplace_back(it->combining, it - begin);
      std::sort(order.begin(), order.end());
      const std::vector<Part> run(begin, end);
      std::transform(order.begin(), order.end(), begin,
                     [&](const std::pair<int, size_t> &place) { return run[place.second]; });
    }
    begin = end == parts.end() ? end : std::next(end);
  }
}

// The composition of two characters, or 0.
char32_t composePair(char32_t first, char32_t second) {
  utf8proc_int32_t pair[] = {static_cast<utf8proc_int32_t>(first),
                             static_cast<utf8proc_int32_t>(second)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  if (utf8proc_normalize_utf32(pair, 2, options) != 1)
    return 0;
  const char32_t composed = static_cast<char32_t>(pair[0]);
  return contains(kUndecomposed, composed) ? 0 : composed;
}

// Canonical composition, D117 of the Unicode standard: a character composes with the last starter
// unless one of the same or a higher class is between them.
void compose(std::vector<Part> &parts) {
  size_t kept = 0;
  ptrdiff_t starter = -1;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part part = parts[i];
    const bool isAdjacent = starter >= 0 && static_cast<size_t>(starter) + 1 == kept;
    const bool isFree =
        starter >= 0 && (isAdjacent || (parts[kept - 1].combining != 0 &&
                                        parts[kept - 1].combining < part.combining));
    if (isFree && part.code >= 0x300)
      if (char32_t composed = composePair(parts[starter].code, part.code)) {
        parts[starter].code = composed;
        parts[starter].from.begin = std::min(parts[starter].from.begin, part.from.begin);
        parts[starter].from.end = std::max(parts[starter].from.end, part.from.end);
        continue;
      }
    if (part.combining == 0)
      starter = static_cast<ptrdiff_t>(kept);
    parts[kept++] = part;
  }
  parts.resize(kept);
}

// The content of a PCRE2 character class.
std::string classOf(absl::string_view known, absl::Span<const CodeRange> more) {
  std::string text(known.data(), known.size());
  for (const CodeRange &range : more)
    absl::StrAppendFormat(&text, "\\x{%X}-\\x{%X}", static_cast<uint32_t>(range.first),
                          static_cast<uint32_t>(range.last));
  return text;
}

} // namespace

bool isWhiteSpace(char32_t code) {
  if (code < 0x80)
    return code == ' ' || (code >= 9 && code <= 13);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool isControl(char32_t code) {
  if (code == '\t' || code == '\n' || code == '\r')
    return false;
  if (code < 0x80)
    return code < 0x20 || code == 0x7F;
  const utf8proc_category_t of = category(code);
  const bool is =
      of == UTF8PROC_CATEGORY_CC || of == UTF8PROC_CATEGORY_CF || of == UTF8PROC_CATEGORY_CO;
  return is != contains(kControlExceptions, code);
}

bool isPunctuation(char32_t code) {
  if (code < 0x80)
    return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
           (code >= 123 && code <= 126);
  const utf8proc_category_t of = category(code);
  const bool is = of >= UTF8PROC_CATEGORY_PC && of <= UTF8PROC_CATEGORY_PO;
  return is != contains(kPunctuationExceptions, code);
}

bool isLetter(char32_t code) {
  const utf8proc_category_t of = category(code);
  return of >= UTF8PROC_CATEGORY_LU && of <= UTF8PROC_CATEGORY_LO;
}

bool isNumber(char32_t code) {
  const utf8proc_category_t of = category(code);
  const bool is = of >= UTF8PROC_CATEGORY_ND && of <= UTF8PROC_CATEGORY_NO;
  return is != contains(kNumberExceptions, code);
}

bool isNonspacingMark(char32_t code) {
  if (code < 0x300)
    return false;
  return (category(code) == UTF8PROC_CATEGORY_MN) != contains(kNonspacingExceptions, code);
}

bool isMark(char32_t code) {
  const utf8proc_category_t of = category(code);
  const bool is = of >= UTF8PROC_CATEGORY_MN && of <= UTF8PROC_CATEGORY_ME;
  return is != contains(kMarkExceptions, code);
}

bool isCjkIdeograph(char32_t code) {
  constexpr std::pair<char32_t, char32_t> kIdeographs[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  if (code < 0x3400)
    return false;
  return std::any_of(std::begin(kIdeographs), std::end(kIdeographs),
                     [&](auto range) { return code >= range.first && code <= range.second; });
}

std::string classOfLetters() { return classOf("\\p{L}", kMoreLetters); }

std::string classOfNumbers() { return classOf("\\p{N}", kMoreNumbers); }

std::string classOfWordChars() {
  return classOf("\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}", kMoreWordChars);
}

void appendLowercase(char32_t code, std::u32string &out) {
  if (code < 0x80) {
    out += code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code;
    return;
  }
  if (code == 0x130) { // the only one whose lower case has two characters
    out += U"i\u0307";
    return;
  }
  auto more = std::lower_bound(std::begin(kMoreCapitals), std::end(kMoreCapitals),
                               std::pair(code, char32_t{0}));
  if (more != std::end(kMoreCapitals) && more->first == code)
    out += more->second;
  else
    out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

bool isAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

AlignedText normalize(const AlignedText &text, NormalForm form) {
  if (isAscii(text.bytes()))
    return text;
  const bool isCompatible = form == NormalForm::Nfkc || form == NormalForm::Nfkd;
  std::vector<Part> parts;
  parts.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const TextChar c = charAt(text.bytes(), i);
    i = c.end;
    if (c.code < 0x80)
      parts.push_back({c.code, 0, text.source(c.begin, c.end)});
    else
      decompose(c.code, text.source(c.begin, c.end), isCompatible, parts);
  }
  reorder(parts);
  if (form == NormalForm::Nfc || form == NormalForm::Nfkc)
    compose(parts);
  AlignedText out;
  out.reserve(text.size());
  for (const Part &part : parts)
    out.appendCode(part.code, part.from);
  return out;
}

size_t graphemeLength(absl::string_view text, size_t begin) {
  TextChar last = charAt(text, begin);
  utf8proc_int32_t state = 0;
  while (last.end < text.size()) {
    const TextChar next = charAt(text, last.end);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(last.code),
                                         static_cast<utf8proc_int32_t>(next.code), &state))
      break;
    last = next;
  }
  return last.end - begin;
}

namespace {

// Number of bytes at `begin` that start a character without completing it; at least 1.
size_t brokenLength(absl::string_view bytes, size_t begin) {
  auto at = [&](size_t i) {
    return begin + i < bytes.size() ? static_cast<unsigned char>(bytes[begin + i]) : 0u;
  };
  const unsigned first = at(0);
  const size_t wanted = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4)
    return 1;
  unsigned minimum = 0x80, maximum = 0xBF; // range of the second byte, by table 3-7 of the standard
  if (first == 0xE0)
    minimum = 0xA0;
  else if (first == 0xED)
    maximum = 0x9F;
  else if (first == 0xF0)
    minimum = 0x90;
  else if (first == 0xF4)
    maximum = 0x8F;
  size_t length = 1;
  for (; length < wanted; ++length) {
    if (at(length) < minimum || at(length) > maximum)
      break;
    minimum = 0x80;
    maximum = 0xBF;
  }
  return length;
}

} // namespace

AlignedText replaceInvalid(absl::string_view bytes) {
  AlignedText out;
  for (size_t i = 0; i < bytes.size();) {
    const TextChar c = charAt(bytes, i);
    const bool isBroken = c.code == 0xFFFD && c.end - c.begin == 1;
    const size_t length = isBroken ? brokenLength(bytes, i) : c.end - c.begin;
    const SourceRange from{static_cast<uint32_t>(i), static_cast<uint32_t>(i + length)};
    if (isBroken)
      out.appendCode(0xFFFD, from);
    else
      for (uint32_t k = from.begin; k < from.end; ++k)
        out.append(bytes.substr(k, 1), {k, k + 1});
    i += length;
  }
  return out;
}

} // namespace st
