#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>

namespace st {
namespace {

// No real file nests deeper, and each level takes memory.
constexpr int kDeepest = 100;

} // namespace

absl::StatusOr<nlohmann::json> parseJsonText(absl::string_view text, absl::string_view name) {
  try {
    return nlohmann::json::parse(text.begin(), text.end(),
                                 [](int depth, nlohmann::json::parse_event_t, nlohmann::json &) {
                                   if (depth > kDeepest)
                                     throw std::out_of_range("nesting deeper than 100");
                                   return true;
                                 });
  } catch (const std::exception &failure) {
    absl::string_view what = failure.what();
    if (const size_t end = what.find("] "); what.substr(0, 1) == "[" && end != what.npos)
      what.remove_prefix(end + 2);
    return absl::InvalidArgumentError(
        escapeControls(absl::StrCat(name, ": malformed JSON: ", what)));
  }
}

absl::Status JsonNode::allow(std::initializer_list<absl::string_view> keys) const {
  if (!value->is_object())
    return error("expected an object");
  for (auto it = value->begin(); it != value->end(); ++it)
    if (std::find(keys.begin(), keys.end(), it.key()) == keys.end())
      return error(absl::StrCat(quoteForMessage(it.key()), " is not supported"));
  return absl::OkStatus();
}

absl::StatusOr<JsonNode> JsonNode::at(const char *key) const {
  if (!value->is_object())
    return error("expected an object");
  auto it = value->find(key);
  if (it == value->end())
    return error(absl::StrCat("no \"", key, "\""));
  return JsonNode(*it, absl::StrCat(where, ".", key));
}

JsonNode JsonNode::element(size_t i) const {
  return JsonNode((*value)[i], absl::StrCat(where, "[", i, "]"));
}

absl::StatusOr<std::string> JsonNode::text() const {
  if (!value->is_string())
    return error("expected a string");
  return value->get<std::string>();
}

absl::StatusOr<bool> JsonNode::flag() const {
  if (!value->is_boolean())
    return error("expected true or false");
  return value->get<bool>();
}

absl::StatusOr<int64_t> JsonNode::integer() const {
  if (!value->is_number_unsigned() || value->get<uint64_t>() >= (uint64_t{1} << 31))
    return error("expected an integer from 0 to 2147483647");
  return static_cast<int64_t>(value->get<uint64_t>());
}

absl::StatusOr<double> JsonNode::number() const {
  if (!value->is_number())
    return error("expected a number");
  return value->get<double>();
}

absl::Status JsonNode::expectArray() const {
  return value->is_array() ? absl::OkStatus() : error("expected an array");
}

absl::StatusOr<std::string> JsonNode::text(const char *key, absl::string_view otherwise) const {
  if (!has(key))
    return std::string(otherwise);
  ST_ASSIGN_OR_RETURN(JsonNode node, at(key));
  return node.text();
}

absl::StatusOr<bool> JsonNode::flag(const char *key, bool otherwise) const {
  if (!has(key))
    return otherwise;
  ST_ASSIGN_OR_RETURN(JsonNode node, at(key));
  return node.flag();
}

} // namespace st
