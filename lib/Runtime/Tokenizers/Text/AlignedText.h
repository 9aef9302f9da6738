// Text that remembers which bytes of the user's text each of its bytes came from.
#ifndef ST_RUNTIME_TOKENIZERS_ALIGNEDTEXT_H
#define ST_RUNTIME_TOKENIZERS_ALIGNEDTEXT_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {

/// Bytes [begin, end) of the text that is encoded.
struct SourceRange {
  uint32_t begin = 0, end = 0;
};

/// Text in the course of normalization.
class AlignedText {
public:
  AlignedText() = default;

  /// A piece of the user's text that starts at its byte `offset`; each byte is its own source.
  AlignedText(absl::string_view text, uint32_t offset)
      : content(text.data(), text.size()), offset(offset) {}

  absl::string_view bytes() const { return content; }
  bool empty() const { return content.empty(); }
  size_t size() const { return content.size(); }

  /// What bytes [begin, end) came from; of an empty range the place.
  SourceRange source(size_t begin, size_t end) const;

  /// Appends bytes that all came from one range.
  void append(absl::string_view piece, SourceRange from);

  /// Appends bytes [begin, end) of `other` with their sources.
  void append(const AlignedText &other, size_t begin, size_t end);

  void appendCode(char32_t code, SourceRange from);

  void reserve(size_t bytes) {
    content.reserve(bytes);
    sources.reserve(bytes);
  }

  /// The bytes, for changes that keep their number.
  std::string &mutableBytes() { return content; }

private:
  std::string content;
  // Of each byte. Empty while byte i came from byte offset + i.
  std::vector<SourceRange> sources;
  uint32_t offset = 0;
};

/// A code point of a text and the bytes [begin, end) of it that encode it.
struct TextChar {
  char32_t code = 0;
  size_t begin = 0, end = 0;
};

/// The code point at `begin`, which must lie within the text.
TextChar charAt(absl::string_view text, size_t begin);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_ALIGNEDTEXT_H
