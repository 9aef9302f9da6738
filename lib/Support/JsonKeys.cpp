#include "lib/Support/JsonKeys.h"

#include "lib/Support/Text.h"

#include <set>
#include <vector>

namespace st {
namespace {

class KeyScanner {
public:
  explicit KeyScanner(std::string_view text) : text(text.data(), text.size()) {}

  std::optional<RepeatedKey> run() {
    for (size_t i = 0; i < text.size(); ++i) {
      char c = text[i];
      if (c == '"') {
        std::string content;
        size_t end = i;
        // A parser already rejected malformed text.
        if (!parseJsonString(text, end, content).empty())
          return std::nullopt;
        if (isKeyNext() && !open.back().keys.insert(open.back().key = content).second)
          return RepeatedKey{path(), i};
        if (!open.empty())
          open.back().expectsKey = false;
        i = end - 1;
      } else if (c == '{' || c == '[') {
        open.push_back({c == '{', c == '{', {}, {}});
      } else if ((c == '}' || c == ']') && !open.empty()) {
        open.pop_back();
      } else if (c == ',' && !open.empty()) {
        open.back().expectsKey = open.back().isObject;
      }
    }
    return std::nullopt;
  }

private:
  struct Level {
    bool isObject, expectsKey;
    std::string key; ///< the one whose value is being read
    std::set<std::string> keys;
  };

  bool isKeyNext() const { return !open.empty() && open.back().expectsKey; }

  std::string path() const {
    std::string result;
    for (const Level &level : open)
      if (level.isObject)
        result += (result.empty() ? "" : ".") + level.key;
    return result;
  }

  absl::string_view text;
  std::vector<Level> open;
};

} // namespace

std::optional<RepeatedKey> findRepeatedKey(std::string_view text) { return KeyScanner(text).run(); }

} // namespace st
