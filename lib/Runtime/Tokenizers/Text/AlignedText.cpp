#include "lib/Runtime/Tokenizers/Text/AlignedText.h"

#include "lib/Support/Text.h"

namespace st {

SourceRange AlignedText::source(size_t begin, size_t end) const {
  if (sources.empty())
    return {offset + static_cast<uint32_t>(begin), offset + static_cast<uint32_t>(end)};
  if (begin == end)
    return begin < sources.size() ? SourceRange{sources[begin].begin, sources[begin].begin}
                                  : SourceRange{sources.back().end, sources.back().end};
  return {sources[begin].begin, sources[end - 1].end};
}

void AlignedText::append(absl::string_view piece, SourceRange from) {
  content.append(piece.data(), piece.size());
  sources.insert(sources.end(), piece.size(), from);
}

void AlignedText::append(const AlignedText &other, size_t begin, size_t end) {
  content.append(other.content, begin, end - begin);
  for (size_t i = begin; i < end; ++i)
    sources.push_back(other.source(i, i + 1));
}

void AlignedText::appendCode(char32_t code, SourceRange from) {
  const size_t before = content.size();
  appendUtf8(code, content);
  sources.insert(sources.end(), content.size() - before, from);
}

TextChar charAt(absl::string_view text, size_t begin) {
  size_t end = begin;
  const unsigned char first = static_cast<unsigned char>(text[begin]);
  if (first < 0x80)
    return {first, begin, begin + 1};
  const char32_t code = decodeUtf8(text, end);
  return {code, begin, end};
}

} // namespace st
