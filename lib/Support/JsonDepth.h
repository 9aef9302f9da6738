// The nesting depth of a JSON document: recursive parsers check it before they parse.
#ifndef ST_SUPPORT_JSONDEPTH_H
#define ST_SUPPORT_JSONDEPTH_H

#include <string_view>

namespace st {

/// Above the depth of any user's file, and far below the limit of a recursive parser's stack.
constexpr int kMaxJsonDepth = 100;

/// Returns true if arrays and objects of `text` nest deeper than kMaxJsonDepth. Ignores braces
/// within strings. The text need not be well-formed.
inline bool nestsTooDeeply(std::string_view text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth)
        return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

} // namespace st

#endif // ST_SUPPORT_JSONDEPTH_H
