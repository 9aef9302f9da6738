#include "lib/Support/SafetensorsHeader.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/Support/Text.h"

namespace st {
namespace {

// A cursor over the JSON that a safetensors header may hold: objects, arrays of non-negative
// integers and strings. There is no recursion, so no input can exhaust the stack. After the first
// error, which is kept, every call does nothing.
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

bool HeaderParser::parseString(std::string &out) {
  if (!status.ok() || peek() != '"')
    return failHere("expected '\"'");
  absl::string_view wrong = parseJsonString(text, position, out);
  return wrong.empty() || failHere(wrong);
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

} // namespace

absl::StatusOr<SafetensorsHeader> parseSafetensorsHeader(absl::string_view text) {
  return HeaderParser(text).parse();
}

absl::StatusOr<std::string> printSafetensorsHeader(absl::Span<const SafetensorsSpec> specs,
                                                   const SafetensorsMetadata &metadata) {
  std::vector<std::string> fields;
  if (!metadata.empty()) {
    std::string pairs = absl::StrJoin(metadata, ",", [](std::string *out, const auto &keyValue) {
      absl::StrAppend(out, quoteJson(keyValue.first), ":", quoteJson(keyValue.second));
    });
    fields.push_back(absl::StrCat("\"__metadata__\":{", pairs, "}"));
  }
  absl::flat_hash_set<std::string> names = {"__metadata__"};
  uint64_t offset = 0;
  for (const SafetensorsSpec &spec : specs) {
    std::string tensor = absl::StrCat("tensor ", quoteForMessage(spec.name), ": ");
    if (!names.insert(spec.name).second)
      return absl::InvalidArgumentError(absl::StrCat(tensor, "an earlier tensor has this name"));
    if (!isUtf8(spec.name))
      return absl::InvalidArgumentError(absl::StrCat(tensor, "the name is not UTF-8"));
    std::optional<uint64_t> size = byteSize(spec.type, spec.shape);
    if (!size || *size > static_cast<uint64_t>(INT64_MAX) - offset)
      return absl::InvalidArgumentError(absl::StrCat(tensor, "the size overflows"));
    fields.push_back(absl::StrCat(
        quoteJson(spec.name), ":{\"dtype\":\"", elementTypeName(spec.type), "\",\"shape\":[",
        absl::StrJoin(spec.shape, ","), "],\"data_offsets\":[", offset, ",", offset + *size, "]}"));
    offset += *size;
  }
  std::string text = absl::StrCat("{", absl::StrJoin(fields, ","), "}");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

} // namespace st
