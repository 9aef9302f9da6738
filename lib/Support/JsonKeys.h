// Duplicate keys of a JSON document, which parsers that keep the last one do not report.
#ifndef ST_SUPPORT_JSONKEYS_H
#define ST_SUPPORT_JSONKEYS_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace st {

struct RepeatedKey {
  std::string path; ///< the key after the keys of the enclosing objects, joined by dots
  size_t offset;    ///< of the second occurrence in the text
};

/// The first key that occurs twice in one object. The text must be well-formed JSON; escapes within
/// keys are resolved, so "a" and "\u0061" are the same key.
std::optional<RepeatedKey> findRepeatedKey(std::string_view text);

} // namespace st

#endif // ST_SUPPORT_JSONKEYS_H
