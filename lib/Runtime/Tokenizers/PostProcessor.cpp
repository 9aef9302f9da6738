#include "lib/Runtime/Tokenizers/PostProcessor.h"

#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <map>
#include <optional>

namespace st {
namespace {

using Items = std::vector<PostProcessor::Item>;
using SpecialTokens = std::map<std::string, std::vector<int32_t>>;

std::vector<int32_t> fill(const Items &items, absl::Span<const int32_t> first,
                          absl::Span<const int32_t> second) {
  std::vector<int32_t> out;
  out.reserve(first.size() + second.size() + items.size());
  for (const PostProcessor::Item &item : items)
    if (item.sequence == 0)
      out.push_back(item.token);
    else {
      const absl::Span<const int32_t> text = item.sequence == 1 ? first : second;
      out.insert(out.end(), text.begin(), text.end());
    }
  return out;
}

// ["[CLS]", 101]
absl::StatusOr<int32_t> readNamedToken(const JsonNode &node, const char *key) {
  ST_ASSIGN_OR_RETURN(JsonNode field, node.at(key));
  if (!field.json().is_array() || field.json().size() != 2)
    return field.error("expected a token and its id");
  ST_ASSIGN_OR_RETURN(int64_t id, field.element(1).integer());
  return static_cast<int32_t>(id);
}

// BERT's and RoBERTa's processors differ in the tokens between the two texts.
absl::StatusOr<PostProcessor> readFixed(const JsonNode &node, bool isRoberta) {
  ST_RETURN_IF_ERROR(node.allow({"type", "sep", "cls", "trim_offsets", "add_prefix_space"}));
  ST_ASSIGN_OR_RETURN(int32_t cls, readNamedToken(node, "cls"));
  ST_ASSIGN_OR_RETURN(int32_t sep, readNamedToken(node, "sep"));
  Items single = {{0, cls}, {1, 0}, {0, sep}};
  Items pair = single;
  if (isRoberta)
    pair.push_back({0, sep});
  pair.push_back({2, 0});
  pair.push_back({0, sep});
  return PostProcessor(std::move(single), std::move(pair));
}

absl::StatusOr<SpecialTokens> readSpecialTokens(const JsonNode &node) {
  if (!node.json().is_object())
    return node.error("expected an object");
  SpecialTokens tokens;
  for (auto it = node.json().begin(); it != node.json().end(); ++it) {
    const JsonNode entry(*it, absl::StrCat(node.place(), ".", escapeControls(it.key())));
    ST_ASSIGN_OR_RETURN(JsonNode ids, entry.at("ids"));
    ST_RETURN_IF_ERROR(ids.expectArray());
    for (size_t i = 0; i < ids.json().size(); ++i) {
      ST_ASSIGN_OR_RETURN(int64_t id, ids.element(i).integer());
      tokens[it.key()].push_back(static_cast<int32_t>(id));
    }
  }
  return tokens;
}

absl::StatusOr<Items> readTemplate(const JsonNode &node, const SpecialTokens &tokens, bool isPair) {
  ST_RETURN_IF_ERROR(node.expectArray());
  Items items;
  for (size_t i = 0; i < node.json().size(); ++i) {
    const JsonNode entry = node.element(i);
    ST_RETURN_IF_ERROR(entry.allow({"SpecialToken", "Sequence"}));
    const bool isText = entry.has("Sequence");
    ST_ASSIGN_OR_RETURN(JsonNode inner, entry.at(isText ? "Sequence" : "SpecialToken"));
    ST_ASSIGN_OR_RETURN(JsonNode idNode, inner.at("id"));
    ST_ASSIGN_OR_RETURN(std::string id, idNode.text());
    if (isText) {
      if (id != "A" && !(id == "B" && isPair))
        return idNode.error(isPair ? "expected \"A\" or \"B\"" : "expected \"A\"");
      items.push_back({id == "A" ? 1 : 2, 0});
      continue;
    }
    auto it = tokens.find(id);
    if (it == tokens.end())
      return idNode.error(absl::StrCat(quoteForMessage(id), " is not in special_tokens"));
    for (int32_t token : it->second)
      items.push_back({0, token});
  }
  return items;
}

absl::StatusOr<PostProcessor> readTemplates(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "single", "pair", "special_tokens"}));
  ST_ASSIGN_OR_RETURN(JsonNode special, node.at("special_tokens"));
  ST_ASSIGN_OR_RETURN(SpecialTokens tokens, readSpecialTokens(special));
  ST_ASSIGN_OR_RETURN(JsonNode singleNode, node.at("single"));
  ST_ASSIGN_OR_RETURN(JsonNode pairNode, node.at("pair"));
  ST_ASSIGN_OR_RETURN(Items single, readTemplate(singleNode, tokens, /*isPair=*/false));
  ST_ASSIGN_OR_RETURN(Items pair, readTemplate(pairNode, tokens, /*isPair=*/true));
  return PostProcessor(std::move(single), std::move(pair));
}

// The processor that adds tokens, or none: ByteLevel only changes how tokens are printed.
absl::StatusOr<std::optional<PostProcessor>> readAny(const JsonNode &node) {
  ST_ASSIGN_OR_RETURN(JsonNode typeNode, node.at("type"));
  ST_ASSIGN_OR_RETURN(std::string type, typeNode.text());
  if (type == "ByteLevel") {
    ST_RETURN_IF_ERROR(node.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    return std::nullopt;
  }
  if (type == "BertProcessing")
    return readFixed(node, /*isRoberta=*/false);
  if (type == "RobertaProcessing")
    return readFixed(node, /*isRoberta=*/true);
  if (type == "TemplateProcessing")
    return readTemplates(node);
  if (type != "Sequence")
    return node.error(
        absl::StrCat("the post-processor ", quoteForMessage(type), " is not supported"));
  ST_RETURN_IF_ERROR(node.allow({"type", "processors"}));
  ST_ASSIGN_OR_RETURN(JsonNode list, node.at("processors"));
  ST_RETURN_IF_ERROR(list.expectArray());
  std::optional<PostProcessor> found;
  for (size_t i = 0; i < list.json().size(); ++i) {
    ST_ASSIGN_OR_RETURN(std::optional<PostProcessor> step, readAny(list.element(i)));
    if (step && found)
      return list.error("a second post-processor that adds tokens is not supported");
    if (step)
      found = std::move(step);
  }
  return found;
}

} // namespace

std::vector<int32_t> PostProcessor::apply(absl::Span<const int32_t> text) const {
  return fill(single, text, {});
}

std::vector<int32_t> PostProcessor::apply(absl::Span<const int32_t> first,
                                          absl::Span<const int32_t> second) const {
  return fill(pair, first, second);
}

absl::StatusOr<PostProcessor> readPostProcessor(const JsonNode &node) {
  ST_ASSIGN_OR_RETURN(std::optional<PostProcessor> found, readAny(node));
  return found ? std::move(*found) : PostProcessor();
}

} // namespace st
