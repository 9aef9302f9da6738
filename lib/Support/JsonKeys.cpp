#include "lib/Support/JsonKeys.h"

#include <set>
#include <vector>

namespace st {
namespace {

/// Four hexadecimal digits as a number.
unsigned hexValue(std::string_view digits) {
  unsigned value = 0;
  for (char c : digits) {
    unsigned digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    value = value * 16 + digit;
  }
  return value;
}

void appendUtf8(std::string &to, unsigned code) {
  auto tail = [&](int shift) { to += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    to += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    to += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

/// What stands between the quotes, with its escapes resolved.
std::string unescape(std::string_view quoted) {
  std::string result;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      result += quoted[i];
      continue;
    }
    char kind = quoted[++i];
    if (kind != 'u') {
      constexpr std::string_view from = "bfnrt", to = "\b\f\n\r\t";
      size_t at = from.find(kind);
      result += at == from.npos ? kind : to[at];
      continue;
    }
    unsigned code = hexValue(quoted.substr(i + 1, 4));
    i += 4;
    // Two escapes make one character beyond the first 65536.
    constexpr unsigned firstHigh = 0xD800, firstLow = 0xDC00, afterLow = 0xE000;
    if (code >= firstHigh && code < firstLow && i + 6 < quoted.size() && quoted[i + 1] == '\\' &&
        quoted[i + 2] == 'u') {
      unsigned low = hexValue(quoted.substr(i + 3, 4));
      if (low >= firstLow && low < afterLow) {
        code = 0x10000 + ((code - firstHigh) << 10) + (low - firstLow);
        i += 6;
      }
    }
    appendUtf8(result, code);
  }
  return result;
}

class KeyScanner {
public:
  explicit KeyScanner(std::string_view text) : text(text) {}

  std::optional<RepeatedKey> run() {
    for (size_t i = 0; i < text.size(); ++i) {
      char c = text[i];
      if (c == '"') {
        size_t end = endOfString(i);
        if (isKeyNext() &&
            !open.back()
                 .keys.insert(open.back().key = unescape(text.substr(i + 1, end - i - 1)))
                 .second)
          return RepeatedKey{path(), i};
        if (!open.empty())
          open.back().expectsKey = false;
        i = end;
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

  size_t endOfString(size_t quote) const {
    size_t i = quote + 1;
    while (i < text.size() && text[i] != '"')
      i += text[i] == '\\' ? 2 : 1;
    return i < text.size() ? i : text.size();
  }

  std::string path() const {
    std::string result;
    for (const Level &level : open)
      if (level.isObject)
        result += (result.empty() ? "" : ".") + level.key;
    return result;
  }

  std::string_view text;
  std::vector<Level> open;
};

} // namespace

std::optional<RepeatedKey> findRepeatedKey(std::string_view text) { return KeyScanner(text).run(); }

} // namespace st
