// Keys that a JSON document gives twice: readers that keep the last say nothing of it.
#ifndef ST_SUPPORT_JSONKEYS_H
#define ST_SUPPORT_JSONKEYS_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace st {

struct RepeatedKey {
  std::string path; ///< the key after those of the objects around it, joined by dots
  size_t offset;    ///< of the second occurrence in the text
};

/// The first key that stands twice in one object. The text must be well-formed JSON; escapes
/// within keys are resolved, so that "a" and "\u0061" are one key.
std::optional<RepeatedKey> findRepeatedKey(std::string_view text);

} // namespace st

#endif // ST_SUPPORT_JSONKEYS_H
