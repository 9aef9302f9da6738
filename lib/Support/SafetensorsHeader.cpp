#include "lib/Support/SafetensorsHeader.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace st {
namespace {

// A cursor over the JSON that a safetensors header may hold: objects, arrays of
// non-negative integers and strings. There is no recursion, so no input can
// exhaust the stack. The first error sticks and every later call does nothing.
class HeaderParser {
public:
  explicit HeaderParser(absl::string_view text) : text(text) {}

  absl::StatusOr<SafetensorsHeader> parse();

private:
  bool fail(absl::string_view message) {
    if (status.ok())
      status = absl::InvalidArgumentError(
          absl::StrCat(inTensor.empty() ? "" : absl::StrCat("tensor ", inTensor, ": "), message));
    return false;
  }
  bool failHere(absl::string_view message) {
    return fail(absl::StrCat("malformed header at byte ", position, ": ", message));
  }

  char peek();
  bool accept(char c);
  bool expect(char c);
  bool parseString(std::string &out);
  bool parseEscape(std::string &out);
  bool parseHex4(uint32_t &out);
  bool parseInteger(uint64_t &out);
  bool parseIntegers(std::vector<uint64_t> &out);
  bool parseTensor(SafetensorsHeaderEntry &entry);
  bool parseTensorField(SafetensorsHeaderEntry &entry, unsigned &seen);
  bool parseMetadata(SafetensorsMetadata &metadata);

  absl::string_view text;
  size_t position = 0;
  std::string inTensor;
  absl::Status status;
};

// Field bits of a tensor's object.
enum : unsigned { kDtype = 1, kShape = 2, kOffsets = 4, kAllFields = 7 };

void appendUtf8(uint32_t code, std::string &out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// Whether `s` is UTF-8 without overlong forms, surrogates or codes past U+10FFFF.
bool isUtf8(absl::string_view s) {
  for (size_t i = 0; i < s.size();) {
    uint8_t lead = s[i];
    size_t length = lead < 0x80   ? 1
                    : lead < 0xC2 ? 0
                    : lead < 0xE0 ? 2
                    : lead < 0xF0 ? 3
                    : lead < 0xF5 ? 4
                                  : 0;
    if (length == 0 || i + length > s.size())
      return false;
    uint32_t code = length == 1 ? lead : lead & (0x7F >> length);
    for (size_t k = 1; k < length; ++k) {
      uint8_t next = s[i + k];
      if ((next & 0xC0) != 0x80)
        return false;
      code = (code << 6) | (next & 0x3F);
    }
    bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      return false;
    i += length;
  }
  return true;
}

char HeaderParser::peek() {
  constexpr absl::string_view kBlanks = " \t\n\r";
  while (position < text.size() && kBlanks.find(text[position]) != absl::string_view::npos)
    ++position;
  return position < text.size() ? text[position] : '\0';
}

bool HeaderParser::accept(char c) {
  if (!status.ok() || peek() != c || position >= text.size())
    return false;
  ++position;
  return true;
}

bool HeaderParser::expect(char c) {
  if (accept(c))
    return true;
  return failHere(absl::StrFormat("expected '%c'", c));
}

bool HeaderParser::parseHex4(uint32_t &out) {
  out = 0;
  for (int i = 0; i < 4; ++i, ++position) {
    if (position >= text.size() || !absl::ascii_isxdigit(text[position]))
      return failHere("expected four hexadecimal digits");
    char c = absl::ascii_tolower(text[position]);
    out = out * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return true;
}

bool HeaderParser::parseEscape(std::string &out) {
  char c = position < text.size() ? text[position++] : '\0';
  constexpr absl::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
  if (size_t at = kFrom.find(c); at != absl::string_view::npos) {
    out += kTo[at];
    return true;
  }
  uint32_t code;
  if (c != 'u')
    return failHere("unknown escape");
  if (!parseHex4(code))
    return false;
  if (code >= 0xD800 && code < 0xDC00 && text.substr(position, 2) == "\\u") {
    position += 2;
    uint32_t low;
    if (!parseHex4(low))
      return false;
    if (low < 0xDC00 || low >= 0xE000)
      return failHere("unpaired surrogate");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  if (code >= 0xD800 && code < 0xE000)
    return failHere("unpaired surrogate");
  appendUtf8(code, out);
  return true;
}

bool HeaderParser::parseString(std::string &out) {
  out.clear();
  if (!expect('"'))
    return false;
  while (position < text.size() && text[position] != '"') {
    char c = text[position++];
    if (static_cast<unsigned char>(c) < 0x20)
      return failHere("control character in a string");
    if (c != '\\')
      out += c;
    else if (!parseEscape(out))
      return false;
  }
  if (position >= text.size())
    return failHere("unterminated string");
  ++position;
  return isUtf8(out) || failHere("string is not UTF-8");
}

bool HeaderParser::parseInteger(uint64_t &out) {
  peek();
  size_t begin = position;
  while (position < text.size() && absl::ascii_isdigit(text[position]))
    ++position;
  absl::string_view digits = text.substr(begin, position - begin);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0'))
    return failHere("expected a non-negative integer");
  // Sizes are signed 64-bit numbers everywhere else.
  if (!absl::SimpleAtoi(digits, &out) || out > static_cast<uint64_t>(INT64_MAX))
    return failHere("integer out of range");
  return true;
}

bool HeaderParser::parseIntegers(std::vector<uint64_t> &out) {
  if (!expect('['))
    return false;
  if (accept(']'))
    return true;
  do {
    if (!parseInteger(out.emplace_back()))
      return false;
  } while (accept(','));
  return expect(']');
}

bool HeaderParser::parseTensorField(SafetensorsHeaderEntry &entry, unsigned &seen) {
  std::string key;
  if (!parseString(key) || !expect(':'))
    return false;
  unsigned bit = key == "dtype" ? kDtype : key == "shape" ? kShape : kOffsets;
  if (bit == kOffsets && key != "data_offsets")
    return fail(absl::StrCat("unknown key ", quoteForMessage(key)));
  if (seen & bit)
    return fail(absl::StrCat("repeated key ", quoteForMessage(key)));
  seen |= bit;
  if (bit == kDtype) {
    std::string name;
    if (!parseString(name))
      return false;
    std::optional<ElementType> type = parseElementType(name);
    if (!type)
      return fail(absl::StrCat("unknown dtype ", quoteForMessage(name)));
    entry.spec.type = *type;
    return true;
  }
  std::vector<uint64_t> numbers;
  if (!parseIntegers(numbers))
    return false;
  if (bit == kShape) {
    entry.spec.shape.assign(numbers.begin(), numbers.end());
    return true;
  }
  if (numbers.size() != 2)
    return fail(absl::StrCat("data_offsets has ", numbers.size(), " numbers, expected 2"));
  entry.begin = numbers[0];
  entry.end = numbers[1];
  return true;
}

bool HeaderParser::parseTensor(SafetensorsHeaderEntry &entry) {
  inTensor = quoteForMessage(entry.spec.name);
  unsigned seen = 0;
  if (!expect('{'))
    return false;
  do {
    if (!parseTensorField(entry, seen))
      return false;
  } while (accept(','));
  if (!expect('}'))
    return false;
  if (seen != kAllFields)
    return fail("dtype, shape and data_offsets are not all given");
  inTensor.clear();
  return true;
}

bool HeaderParser::parseMetadata(SafetensorsMetadata &metadata) {
  if (!expect('{'))
    return false;
  if (accept('}'))
    return true;
  do {
    std::string key, value;
    if (!parseString(key) || !expect(':') || !parseString(value))
      return false;
    if (!metadata.emplace(key, value).second)
      return fail(absl::StrCat("repeated metadata key ", quoteForMessage(key)));
  } while (accept(','));
  return expect('}');
}

absl::StatusOr<SafetensorsHeader> HeaderParser::parse() {
  SafetensorsHeader header;
  absl::flat_hash_set<std::string> names;
  if (!expect('{'))
    return status;
  bool first = true;
  while (!accept('}')) {
    std::string name;
    if ((!first && !expect(',')) || !parseString(name) || !expect(':'))
      return status;
    first = false;
    if (!names.insert(name).second) {
      fail(absl::StrCat("tensor ", quoteForMessage(name), " appears twice"));
      return status;
    }
    if (name == "__metadata__") {
      if (!parseMetadata(header.metadata))
        return status;
      continue;
    }
    header.entries.emplace_back().spec.name = std::move(name);
    if (!parseTensor(header.entries.back()))
      return status;
  }
  peek();
  if (position != text.size())
    failHere("text after the header's object");
  if (!status.ok())
    return status;
  return header;
}

// `s` as a JSON string, quotes included.
std::string jsonString(absl::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\')
      absl::StrAppend(&out, "\\", absl::string_view(&c, 1));
    else if (static_cast<unsigned char>(c) < 0x20)
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

} // namespace

std::string quoteForMessage(absl::string_view name) {
  constexpr size_t kLongest = 200;
  std::string escaped = absl::Utf8SafeCHexEscape(name.substr(0, kLongest));
  return absl::StrCat("'", escaped, name.size() > kLongest ? "…" : "", "'");
}

absl::StatusOr<SafetensorsHeader> parseSafetensorsHeader(absl::string_view text) {
  return HeaderParser(text).parse();
}

absl::StatusOr<std::string> printSafetensorsHeader(absl::Span<const SafetensorsSpec> specs,
                                                   const SafetensorsMetadata &metadata) {
  std::vector<std::string> fields;
  if (!metadata.empty()) {
    std::string pairs = absl::StrJoin(metadata, ",", [](std::string *out, const auto &keyValue) {
      absl::StrAppend(out, jsonString(keyValue.first), ":", jsonString(keyValue.second));
    });
    fields.push_back(absl::StrCat("\"__metadata__\":{", pairs, "}"));
  }
  absl::flat_hash_set<std::string> names = {"__metadata__"};
  uint64_t offset = 0;
  for (const SafetensorsSpec &spec : specs) {
    std::string tensor = absl::StrCat("tensor ", quoteForMessage(spec.name), ": ");
    if (!names.insert(spec.name).second)
      return absl::InvalidArgumentError(absl::StrCat(tensor, "the name is taken"));
    if (!isUtf8(spec.name))
      return absl::InvalidArgumentError(absl::StrCat(tensor, "the name is not UTF-8"));
    std::optional<uint64_t> size = byteSize(spec.type, spec.shape);
    if (!size || *size > static_cast<uint64_t>(INT64_MAX) - offset)
      return absl::InvalidArgumentError(absl::StrCat(tensor, "the size overflows"));
    fields.push_back(absl::StrCat(
        jsonString(spec.name), ":{\"dtype\":\"", elementTypeName(spec.type), "\",\"shape\":[",
        absl::StrJoin(spec.shape, ","), "],\"data_offsets\":[", offset, ",", offset + *size, "]}"));
    offset += *size;
  }
  std::string text = absl::StrCat("{", absl::StrJoin(fields, ","), "}");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

} // namespace st
