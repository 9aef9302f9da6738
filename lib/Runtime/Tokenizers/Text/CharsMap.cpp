#include "lib/Runtime/Tokenizers/Normalizer.h"
#include "lib/Runtime/Tokenizers/Text/Unicode.h"

#include "absl/strings/escaping.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <cstring>
#include <optional>
#include <vector>

namespace st {
namespace {

// SentencePiece's precompiled_charsmap: the size of a trie in bytes (u32), the trie, and the
// replacements, each terminated by a zero byte. The trie is a double array of Darts-clone: u32
// units with a label (bits 0 to 7 and 31), a flag for a value below (bit 8), and an offset (bits 10
// to 30, in units of 256 if bit 9 is set). A value's unit has bit 31 and the position of a
// replacement.
class CharsMap : public Normalizer {
public:
  CharsMap(std::vector<uint32_t> units, std::string replacements)
      : units(std::move(units)), replacements(std::move(replacements)) {}

  absl::Status apply(AlignedText &text) const override;

private:
  std::optional<absl::string_view> find(absl::string_view piece) const;

  std::vector<uint32_t> units;
  std::string replacements;
};

uint32_t distance(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

// The replacement of the shortest prefix of `piece` in the trie, as in Hugging Face's library.
std::optional<absl::string_view> CharsMap::find(absl::string_view piece) const {
  size_t at = distance(units[0]);
  for (char c : piece) {
    const uint32_t label = static_cast<unsigned char>(c);
    at ^= label;
    if (label == 0 || at >= units.size() || (units[at] & 0x800000FFu) != label)
      return std::nullopt;
    const bool hasValue = (units[at] >> 8) & 1;
    at ^= distance(units[at]);
    if (!hasValue)
      continue;
    if (at >= units.size())
      return std::nullopt;
    const size_t begin = units[at] & 0x7FFFFFFFu;
    if (begin >= replacements.size())
      return std::nullopt;
    const absl::string_view rest = absl::string_view(replacements).substr(begin);
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

// Looks up a short cluster of characters first, then its characters.
absl::Status CharsMap::apply(AlignedText &text) const {
  constexpr size_t kLongestCluster = 5;
  AlignedText out;
  out.reserve(text.size());
  const absl::string_view bytes = text.bytes();
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = begin + graphemeLength(bytes, begin);
    const SourceRange from = text.source(begin, end);
    if (end - begin <= kLongestCluster)
      if (auto found = find(bytes.substr(begin, end - begin))) {
        out.append(*found, from);
        begin = end;
        continue;
      }
    while (begin < end) {
      const TextChar c = charAt(bytes, begin);
      if (auto found = find(bytes.substr(begin, c.end - begin)))
        out.append(*found, text.source(begin, c.end));
      else
        out.append(text, begin, c.end);
      begin = c.end;
    }
  }
  text = std::move(out);
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<Normalizer>> readCharsMap(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "precompiled_charsmap"}));
  ST_ASSIGN_OR_RETURN(JsonNode field, node.at("precompiled_charsmap"));
  ST_ASSIGN_OR_RETURN(std::string encoded, field.text());
  std::string blob;
  uint32_t size = 0;
  if (!absl::Base64Unescape(encoded, &blob))
    return field.error("not base64");
  if (blob.size() >= sizeof(size))
    std::memcpy(&size, blob.data(), sizeof(size));
  if (size < sizeof(uint32_t) || size % sizeof(uint32_t) != 0 || size > blob.size() - sizeof(size))
    return field.error(
        absl::StrCat("truncated or damaged: a trie of ", size, " bytes in ", blob.size()));
  std::vector<uint32_t> units(size / sizeof(uint32_t));
  std::memcpy(units.data(), blob.data() + sizeof(size), size);
  std::string replacements = blob.substr(sizeof(size) + size);
  if (!isUtf8(replacements))
    return field.error("damaged: a replacement is not UTF-8");
  return std::make_unique<CharsMap>(std::move(units), std::move(replacements));
}

} // namespace st
