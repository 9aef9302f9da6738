#include "lib/Runtime/Tokenizers/Split.h"

#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>

namespace st {
namespace {

struct Part {
  Words::Range range;
  bool isDelimiter = false;
};

void mergeWithPrevious(std::vector<Part> &parts) {
  std::vector<Part> merged;
  bool wasDelimiter = false;
  for (const Part &part : parts) {
    if (part.isDelimiter && !wasDelimiter && !merged.empty())
      merged.back().range.end = part.range.end;
    else
      merged.push_back(part);
    wasDelimiter = part.isDelimiter;
  }
  parts = std::move(merged);
}

void mergeWithNext(std::vector<Part> &parts) {
  std::vector<Part> merged;
  bool wasDelimiter = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->isDelimiter && !wasDelimiter && !merged.empty())
      merged.back().range.begin = part->range.begin;
    else
      merged.push_back(*part);
    wasDelimiter = part->isDelimiter;
  }
  std::reverse(merged.begin(), merged.end());
  parts = std::move(merged);
}

void mergeNeighbours(std::vector<Part> &parts) {
  std::vector<Part> merged;
  for (const Part &part : parts)
    if (!merged.empty() && merged.back().isDelimiter == part.isDelimiter)
      merged.back().range.end = part.range.end;
    else
      merged.push_back(part);
  parts = std::move(merged);
}

void applyBehavior(std::vector<Part> &parts, SplitBehavior behavior) {
  switch (behavior) {
  case SplitBehavior::Removed:
    parts.erase(
        std::remove_if(parts.begin(), parts.end(), [](const Part &p) { return p.isDelimiter; }),
        parts.end());
    return;
  case SplitBehavior::Isolated:
    return;
  case SplitBehavior::MergedWithPrevious:
    return mergeWithPrevious(parts);
  case SplitBehavior::MergedWithNext:
    return mergeWithNext(parts);
  case SplitBehavior::Contiguous:
    return mergeNeighbours(parts);
  }
}

} // namespace

absl::StatusOr<SplitBehavior> readSplitBehavior(const JsonNode &node) {
  constexpr std::pair<absl::string_view, SplitBehavior> kNames[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous}};
  ST_ASSIGN_OR_RETURN(JsonNode field, node.at("behavior"));
  ST_ASSIGN_OR_RETURN(std::string text, field.text());
  for (auto [name, behavior] : kNames)
    if (text == name)
      return behavior;
  return field.error(absl::StrCat(quoteForMessage(text), " is not supported"));
}

absl::Status splitWords(Words &words, SplitBehavior behavior, bool inverts,
                        DelimiterSearch delimiters) {
  std::vector<Words::Range> out;
  std::vector<Part> parts;
  out.reserve(words.ranges.size());
  for (const Words::Range &word : words.ranges) {
    parts.clear();
    size_t done = word.begin;
    auto add = [&](size_t begin, size_t end, bool isDelimiter) {
      parts.push_back({{begin, end}, isDelimiter != inverts});
    };
    ST_RETURN_IF_ERROR(delimiters(words.text.bytes().substr(word.begin, word.end - word.begin),
                                  [&](size_t begin, size_t end) {
                                    if (word.begin + begin > done)
                                      add(done, word.begin + begin, false);
                                    add(word.begin + begin, word.begin + end, true);
                                    done = word.begin + end;
                                  }));
    if (done < word.end)
      add(done, word.end, false);
    applyBehavior(parts, behavior);
    for (const Part &part : parts)
      if (part.range.begin < part.range.end)
        out.push_back(part.range);
  }
  words.ranges = std::move(out);
  return absl::OkStatus();
}

void splitAtChars(Words &words, SplitBehavior behavior,
                  absl::FunctionRef<bool(char32_t)> isDelimiter) {
  // This search cannot fail.
  splitWords(words, behavior, /*inverts=*/false,
             [&](absl::string_view text, absl::FunctionRef<void(size_t, size_t)> found) {
               for (size_t i = 0; i < text.size();) {
                 const TextChar c = charAt(text, i);
                 i = c.end;
                 if (isDelimiter(c.code))
                   found(c.begin, c.end);
               }
               return absl::OkStatus();
             })
      .IgnoreError();
}

} // namespace st
