#include "lib/Runtime/Tokenizers/AddedTokens.h"
#include "lib/Runtime/Tokenizers/Text/Regex.h"
#include "lib/Runtime/Tokenizers/Text/Unicode.h"

#include "absl/strings/match.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>

namespace st {
namespace {

// The character before `end`.
TextChar charBefore(absl::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    --begin;
  return charAt(text, begin);
}

// Returns true if a character belongs to a word.
bool isWordChar(absl::string_view text, const TextChar &c) {
  static const absl::StatusOr<Regex> pattern = Regex::compile("\\w");
  bool isFound = false;
  return pattern
             ->forEachMatch(text.substr(c.begin, c.end - c.begin),
                            [&](size_t, size_t) { isFound = true; })
             .ok() &&
         isFound;
}

bool isWithinWord(absl::string_view text, size_t begin, size_t end) {
  return (begin > 0 && isWordChar(text, charBefore(text, begin))) ||
         (end < text.size() && isWordChar(text, charAt(text, end)));
}

} // namespace

void AddedTokens::add(AddedToken token) {
  if (token.content.empty())
    return;
  isFirstByte[static_cast<unsigned char>(token.content[0])] = true;
  auto place = std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken &other) {
    return other.content.size() < token.content.size();
  });
  tokens.insert(place, std::move(token));
}

const AddedToken *AddedTokens::findAt(absl::string_view text, size_t place) const {
  for (const AddedToken &token : tokens)
    if (absl::StartsWith(text.substr(place), token.content))
      return &token;
  return nullptr;
}

std::vector<Segment> AddedTokens::split(absl::string_view text) const {
  std::vector<Segment> segments;
  size_t done = 0;
  for (size_t i = 0; i < text.size() && !tokens.empty();) {
    const AddedToken *token = nullptr;
    if (isFirstByte[static_cast<unsigned char>(text[i])])
      token = findAt(text, i);
    if (!token) {
      ++i;
      continue;
    }
    size_t begin = i, end = i + token->content.size();
    i = end;
    if (token->isSingleWord && isWithinWord(text, begin, end))
      continue;
    while (token->stripsLeft && begin > done && isWhiteSpace(charBefore(text, begin).code))
      begin = charBefore(text, begin).begin;
    while (token->stripsRight && end < text.size() && isWhiteSpace(charAt(text, end).code))
      end = charAt(text, end).end;
    if (done < begin)
      segments.push_back({done, begin, std::nullopt});
    segments.push_back({begin, end, token->id});
    done = end;
  }
  if (done < text.size())
    segments.push_back({done, text.size(), std::nullopt});
  return segments;
}

absl::StatusOr<std::vector<AddedToken>> readAddedTokens(const JsonNode &node,
                                                        const WordModel &model) {
  ST_RETURN_IF_ERROR(node.expectArray());
  std::vector<AddedToken> tokens;
  for (size_t i = 0; i < node.json().size(); ++i) {
    const JsonNode entry = node.element(i);
    ST_RETURN_IF_ERROR(
        entry.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    AddedToken token;
    ST_ASSIGN_OR_RETURN(JsonNode content, entry.at("content"));
    ST_ASSIGN_OR_RETURN(token.content, content.text());
    ST_ASSIGN_OR_RETURN(JsonNode idNode, entry.at("id"));
    ST_ASSIGN_OR_RETURN(int64_t id, idNode.integer());
    token.id = static_cast<int32_t>(id);
    ST_ASSIGN_OR_RETURN(bool isSpecial, entry.flag("special", false));
    ST_ASSIGN_OR_RETURN(token.isSingleWord, entry.flag("single_word", false));
    ST_ASSIGN_OR_RETURN(token.stripsLeft, entry.flag("lstrip", false));
    ST_ASSIGN_OR_RETURN(token.stripsRight, entry.flag("rstrip", false));
    ST_ASSIGN_OR_RETURN(token.isNormalized, entry.flag("normalized", !isSpecial));
    if (std::optional<int32_t> known = model.find(token.content); known && *known != token.id)
      return entry.error(absl::StrCat(quoteForMessage(token.content), " has the id ", token.id,
                                      ", in the model's vocabulary it has ", *known));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

} // namespace st
