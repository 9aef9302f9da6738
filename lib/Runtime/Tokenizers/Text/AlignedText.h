// Text that tracks the source range of each byte in the user's text.
#ifndef ST_RUNTIME_TOKENIZERS_ALIGNEDTEXT_H
#define ST_RUNTIME_TOKENIZERS_ALIGNEDTEXT_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {

/// Bytes [begin, end) of the encoded text.
struct SourceRange {
  uint32_t begin = 0, end = 0;
};

/// Text during normalization.
class AlignedText {
public:
  AlignedText() = default;

  /// A piece of the user's text that starts at its byte `offset`; each byte is its own source.
  AlignedText(absl::string_view text, uint32_t offset)
      : content(text.data(), text.size()), offset(offset) {}

  absl::string_view bytes() const { return content; }
  bool empty() const { return content.empty(); }
  size_t size() const { return content.size(); }

  /// The source of bytes [begin, end); for an empty range its position.
  SourceRange source(size_t begin, size_t end) const;

  /// Appends bytes with a common source.
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
  // Per byte. Empty while the source of byte i is byte offset + i.
  std::vector<SourceRange> sources;
  uint32_t offset = 0;
};

/// A code point of a text and the bytes [begin, end) of it that encode it.
struct TextChar {
  char32_t code = 0;
  size_t begin = 0, end = 0;
};

/// The code point at `begin`, which must be within the text.
TextChar charAt(absl::string_view text, size_t begin);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_ALIGNEDTEXT_H
