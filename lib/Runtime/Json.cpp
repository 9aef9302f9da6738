#include "lib/Runtime/Json.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/Support/JsonKeys.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <climits>
#include <cmath>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <vector>

namespace st {
namespace {

// Each JSON level takes three levels of Protobuf's recursion limit of 100.
constexpr size_t kDeepest = 30;

// Protobuf's parser accepts more than JSON: single quotes, bare keys, trailing commas, raw line
// ends in strings. One pass over the characters rejects these; Protobuf checks the rest of the
// grammar.
class StrictScanner {
public:
  // The position of a value in the outermost object.
  struct Member {
    std::string key;
    size_t begin, end;
  };

  explicit StrictScanner(absl::string_view text) : text(text) {}

  // Returns the error, or an empty string.
  std::string run() {
    while (error.empty() && position < text.size())
      step();
    return error;
  }

  // In source order, for a text without errors.
  const std::vector<Member> &members() const { return outermost; }

private:
  void fail(absl::string_view what) { error = absl::StrCat(what, " at byte ", position); }

  void step() {
    const char c = text[position];
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      ++position;
      return;
    }
    const size_t begin = position;
    const bool isOutermost = open.size() == 1;
    if (c == '{' || c == '[' || c == '}' || c == ']')
      bracket(c);
    else if (c == '"')
      string(/*isKey=*/!open.empty() && open.back() && last != ':');
    else if (absl::ascii_isalpha(static_cast<unsigned char>(c)))
      word();
    else if (c == '-' || absl::ascii_isdigit(static_cast<unsigned char>(c)))
      number();
    else if (c == ',' || c == ':')
      ++position;
    else
      fail("an unexpected character");
    if (isOutermost && last == ':' && !outermost.empty())
      outermost.back().begin = begin;
    if (open.size() == 1 && c != ',' && !outermost.empty())
      outermost.back().end = position;
    last = c;
  }

  void bracket(char c) {
    if (c == '{' || c == '[') {
      if (open.size() == kDeepest)
        return fail(absl::StrCat("nesting deeper than ", kDeepest));
      open.push_back(c == '{');
    } else {
      if (last == ',')
        return fail("a comma before a closing bracket");
      if (open.empty() || open.back() != (c == '}'))
        return fail("a closing bracket without its opening bracket");
      open.pop_back();
    }
    ++position;
  }

  void string(bool isKey) {
    std::string value;
    if (absl::string_view wrong = parseJsonString(text, position, value); !wrong.empty())
      return fail(wrong);
    if (isKey && open.size() == 1)
      outermost.push_back({value, 0, 0});
  }

  void word() {
    size_t end = position;
    while (end < text.size() && absl::ascii_isalnum(static_cast<unsigned char>(text[end])))
      ++end;
    absl::string_view word = text.substr(position, end - position);
    if (word != "true" && word != "false" && word != "null")
      return fail("an unexpected word");
    position = end;
  }

  bool digits() {
    const size_t begin = position;
    while (position < text.size() &&
           absl::ascii_isdigit(static_cast<unsigned char>(text[position])))
      ++position;
    return position > begin;
  }

  bool accept(absl::string_view anyOf) {
    const bool found = position < text.size() && absl::StrContains(anyOf, text[position]);
    position += found;
    return found;
  }

  void number() {
    const size_t begin = position;
    accept("-");
    const bool leadingZero = text.substr(position, 1) == "0";
    const size_t integerBegin = position;
    bool good = digits() && !(leadingZero && position > integerBegin + 1);
    if (good && accept("."))
      good = digits();
    if (good && accept("eE")) {
      accept("+-");
      good = digits();
    }
    double value;
    if (good && absl::SimpleAtod(text.substr(begin, position - begin), &value) &&
        std::isfinite(value))
      return;
    position = begin;
    fail(good ? "a number out of range" : "a malformed number");
  }

  absl::string_view text;
  size_t position = 0;
  std::vector<bool> open; // enclosing arrays and objects; true for an object
  std::vector<Member> outermost;
  char last = 0;
  std::string error;
};

} // namespace

absl::StatusOr<google::protobuf::Struct> parseJsonObject(absl::string_view text,
                                                         absl::string_view name) {
  auto malformed = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": malformed JSON: ", what));
  };
  if (text.size() > INT_MAX)
    return malformed("too long");
  if (std::string what = StrictScanner(text).run(); !what.empty())
    return malformed(what);
  if (std::optional<RepeatedKey> repeated = findRepeatedKey({text.data(), text.size()}))
    return malformed(absl::StrCat("key ", quoteForMessage(repeated->path),
                                  " appears twice, again at byte ", repeated->offset));
  google::protobuf::LogSilencer silencer;
  google::protobuf::Struct object;
  google::protobuf::util::Status status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &object);
  if (!status.ok()) {
    // The parser's message quotes the surrounding text on further lines.
    std::string what(status.message().data(), status.message().size());
    return malformed(std::string(*absl::StrSplit(what, '\n').begin()));
  }
  return object;
}

const google::protobuf::Value *findField(const google::protobuf::Struct &object,
                                         const std::string &name) {
  auto it = object.fields().find(name);
  return it == object.fields().end() ? nullptr : &it->second;
}

std::string setJsonField(absl::string_view object, absl::string_view key, absl::string_view value) {
  StrictScanner scanner(object);
  scanner.run();
  for (const StrictScanner::Member &member : scanner.members())
    if (member.key == key)
      return absl::StrCat(object.substr(0, member.begin), value, object.substr(member.end));
  const size_t behindBrace = object.find('{') + 1;
  return absl::StrCat(object.substr(0, behindBrace), quoteJson(key), ": ", value,
                      scanner.members().empty() ? "" : ", ", object.substr(behindBrace));
}

std::string printJsonNumber(double value) {
  std::string text;
  for (int digits : {15, 16, 17}) {
    text = absl::StrFormat("%.*g", digits, value);
    if (double again; absl::SimpleAtod(text, &again) && again == value)
      break;
  }
  return text;
}

std::string printForMessage(const google::protobuf::Value &value) {
  constexpr size_t kLongest = 60;
  if (value.kind_case() == google::protobuf::Value::kNumberValue)
    return printJsonNumber(value.number_value());
  if (value.kind_case() == google::protobuf::Value::kStringValue)
    return value.string_value().size() <= kLongest
               ? quoteJson(value.string_value())
               : absl::StrCat("a string of ", value.string_value().size(), " bytes");
  switch (value.kind_case()) {
  case google::protobuf::Value::kBoolValue:
    return value.bool_value() ? "true" : "false";
  case google::protobuf::Value::kStructValue:
    return "an object";
  case google::protobuf::Value::kListValue:
    return "an array";
  default:
    return "null";
  }
}

} // namespace st
