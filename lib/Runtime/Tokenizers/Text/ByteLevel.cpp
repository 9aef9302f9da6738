#include "lib/Runtime/Tokenizers/Text/ByteLevel.h"

#include "lib/Support/Text.h"

#include <array>
#include <string>

namespace st {
namespace {

std::array<std::string, 256> makeCharacters() {
  std::array<std::string, 256> characters;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool isPrintable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    appendUtf8(isPrintable ? byte : next++, characters[byte]);
  }
  return characters;
}

const std::string &characterOf(char byte) {
  static const std::array<std::string, 256> characters = makeCharacters();
  return characters[static_cast<unsigned char>(byte)];
}

} // namespace

void appendByteLevel(const AlignedText &text, size_t begin, size_t end, AlignedText &out) {
  for (size_t i = begin; i < end; ++i)
    out.append(characterOf(text.bytes()[i]), text.source(i, i + 1));
}

void appendByteLevel(absl::string_view piece, SourceRange from, AlignedText &out) {
  for (char byte : piece)
    out.append(characterOf(byte), from);
}

} // namespace st
