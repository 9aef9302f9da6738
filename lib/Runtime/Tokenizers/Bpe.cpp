#include "lib/Runtime/Tokenizers/Text/AlignedText.h"
#include "lib/Runtime/Tokenizers/WordModel.h"

#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <queue>

namespace st {
namespace {

struct MergeResult {
  int32_t rank = 0, id = 0;
};

uint64_t pairKey(int32_t first, int32_t second) {
  return uint64_t{static_cast<uint32_t>(first)} << 32 | static_cast<uint32_t>(second);
}

// A piece of the word in a linked list.
struct Symbol {
  int32_t id = 0;
  uint32_t begin = 0, end = 0;
  int32_t previous = -1, next = -1; // -1: none
};

class Bpe : public VocabularyModel {
public:
  Bpe(Vocabulary vocabulary, absl::flat_hash_map<uint64_t, MergeResult> merges,
      const BpeOptions &options)
      : VocabularyModel(std::move(vocabulary)), merges(std::move(merges)), options(options) {
    if (options.fallsBackToBytes)
      for (int byte = 0; byte < 256; ++byte)
        bytes.push_back(find(bytePiece(static_cast<unsigned char>(byte))));
  }

  absl::Status encode(absl::string_view word, std::vector<WordToken> &tokens) const override {
    if (options.prefersFullWords)
      if (std::optional<int32_t> id = find(word)) {
        tokens.push_back({*id, 0, static_cast<uint32_t>(word.size())});
        return absl::OkStatus();
      }
    std::vector<Symbol> symbols = split(word);
    if (symbols.size() <= kShortWord)
      mergeShort(symbols);
    else
      mergeLong(symbols);
    for (const Symbol &symbol : symbols)
      tokens.push_back({symbol.id, symbol.begin, symbol.end});
    return absl::OkStatus();
  }

private:
  // Up to this length rescanning all pairs for each merge is fastest.
  static constexpr size_t kShortWord = 24;

  std::vector<Symbol> split(absl::string_view word) const;
  bool addBytes(absl::string_view piece, uint32_t begin, std::vector<Symbol> &symbols) const;
  const MergeResult *findMerge(int32_t first, int32_t second) const {
    auto it = merges.find(pairKey(first, second));
    return it == merges.end() ? nullptr : &it->second;
  }
  void mergeShort(std::vector<Symbol> &symbols) const;
  void mergeLong(std::vector<Symbol> &symbols) const;

  absl::flat_hash_map<uint64_t, MergeResult> merges;
  BpeOptions options;
  std::vector<std::optional<int32_t>> bytes; // the pieces of single bytes
};

// Adds the pieces of all bytes of `piece`, if the vocabulary has them.
bool Bpe::addBytes(absl::string_view piece, uint32_t begin, std::vector<Symbol> &symbols) const {
  for (unsigned char byte : piece)
    if (bytes.empty() || !bytes[byte])
      return false;
  // As in Hugging Face's library, piece i begins at byte i.
  for (unsigned char byte : piece) {
    symbols.push_back({*bytes[byte], begin, begin + 1});
    ++begin;
  }
  return true;
}

// One symbol per character. Characters that the vocabulary lacks become bytes or the unknown token,
// or are dropped.
std::vector<Symbol> Bpe::split(absl::string_view word) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  std::optional<Symbol> unknown;
  std::string decorated;
  for (size_t i = 0; i < word.size();) {
    const TextChar c = charAt(word, i);
    const bool isFirst = i == 0, isLast = c.end == word.size();
    i = c.end;
    absl::string_view piece = word.substr(c.begin, c.end - c.begin);
    const uint32_t begin = static_cast<uint32_t>(c.begin), end = static_cast<uint32_t>(c.end);
    if ((!isFirst && !options.prefix.empty()) || (isLast && !options.suffix.empty())) {
      decorated = absl::StrCat(isFirst ? "" : options.prefix, piece, isLast ? options.suffix : "");
      piece = decorated;
    }
    if (auto it = vocabulary.find(piece); it != vocabulary.end()) {
      if (unknown)
        symbols.push_back(*unknown);
      unknown.reset();
      symbols.push_back({it->second, begin, end});
      continue;
    }
    if (options.fallsBackToBytes && addBytes(piece, begin, symbols))
      continue;
    if (!options.unknown)
      continue;
    if (unknown && options.fusesUnknown) {
      unknown->end = end;
      continue;
    }
    if (unknown)
      symbols.push_back(*unknown);
    unknown = Symbol{*options.unknown, begin, end};
  }
  if (unknown)
    symbols.push_back(*unknown);
  return symbols;
}

void Bpe::mergeShort(std::vector<Symbol> &symbols) const {
  std::vector<const MergeResult *> found(symbols.size(), nullptr); // merge with the next symbol
  for (size_t i = 0; i + 1 < symbols.size(); ++i)
    found[i] = findMerge(symbols[i].id, symbols[i + 1].id);
  while (true) {
    size_t best = symbols.size();
    for (size_t i = 0; i + 1 < symbols.size(); ++i)
      if (found[i] && (best == symbols.size() || found[i]->rank < found[best]->rank))
        best = i;
    if (best == symbols.size())
      return;
    symbols[best].id = found[best]->id;
    symbols[best].end = symbols[best + 1].end;
    symbols.erase(symbols.begin() + best + 1);
    found.erase(found.begin() + best + 1);
    if (best > 0)
      found[best - 1] = findMerge(symbols[best - 1].id, symbols[best].id);
    found[best] =
        best + 1 < symbols.size() ? findMerge(symbols[best].id, symbols[best + 1].id) : nullptr;
  }
}

void Bpe::mergeLong(std::vector<Symbol> &symbols) const {
  struct Candidate {
    int32_t rank, place, id;
    bool operator<(const Candidate &other) const { // the top of the queue is the greatest
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  std::vector<Candidate> first;
  const int32_t count = static_cast<int32_t>(symbols.size());
  auto consider = [&](int32_t place, auto &&add) {
    if (place < 0 || symbols[place].next < 0)
      return;
    if (const MergeResult *merge = findMerge(symbols[place].id, symbols[symbols[place].next].id))
      add(Candidate{merge->rank, place, merge->id});
  };
  for (int32_t i = 0; i < count; ++i) {
    symbols[i].previous = i - 1;
    symbols[i].next = i + 1 < count ? i + 1 : -1;
  }
  for (int32_t i = 0; i < count; ++i)
    consider(i, [&](Candidate c) { first.push_back(c); });
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(first));
  std::vector<bool> isMerged(symbols.size());
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol &symbol = symbols[top.place];
    if (isMerged[top.place] || symbol.next < 0)
      continue;
    const MergeResult *merge = findMerge(symbol.id, symbols[symbol.next].id);
    if (!merge || merge->id != top.id) // an earlier merge changed the pair
      continue;
    const Symbol &right = symbols[symbol.next];
    isMerged[symbol.next] = true;
    symbol.id = merge->id;
    symbol.end = right.end;
    symbol.next = right.next;
    if (symbol.next >= 0)
      symbols[symbol.next].previous = top.place;
    auto push = [&](Candidate c) { queue.push(c); };
    consider(symbol.previous, push);
    consider(top.place, push);
  }
  size_t kept = 0;
  for (size_t i = 0; i < symbols.size(); ++i)
    if (!isMerged[i])
      symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

absl::StatusOr<std::vector<Merge>> readMerges(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.expectArray());
  std::vector<Merge> merges;
  merges.reserve(node.json().size());
  for (const nlohmann::json &entry : node.json()) {
    Merge merge;
    if (entry.is_string()) {
      const std::string &text = entry.get_ref<const std::string &>();
      const size_t blank = text.find(' ');
      if (blank == text.npos || text.find(' ', blank + 1) != text.npos)
        return node.element(merges.size()).error("expected two pieces separated by a space");
      merge = {text.substr(0, blank), text.substr(blank + 1)};
    } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
               entry[1].is_string()) {
      merge = {entry[0].get<std::string>(), entry[1].get<std::string>()};
    } else {
      return node.element(merges.size()).error("expected two pieces");
    }
    merges.push_back(std::move(merge));
  }
  return merges;
}

} // namespace

absl::StatusOr<std::unique_ptr<WordModel>> createBpe(Vocabulary vocabulary,
                                                     const std::vector<Merge> &merges,
                                                     const BpeOptions &options,
                                                     absl::string_view name) {
  absl::flat_hash_map<uint64_t, MergeResult> results;
  results.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto &[first, second] = merges[i];
    const size_t decoration = std::min(options.prefix.size(), second.size());
    const std::string merged = absl::StrCat(first, absl::string_view(second).substr(decoration));
    int32_t ids[3];
    const std::string *pieces[] = {&first, &second, &merged};
    for (int k = 0; k < 3; ++k) {
      auto it = vocabulary.find(*pieces[k]);
      if (it == vocabulary.end())
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": merge ", i + 1, " of ", quoteForMessage(first), " and ",
                         quoteForMessage(second), ": ", quoteForMessage(*pieces[k]),
                         " is not in the vocabulary"));
      ids[k] = it->second;
    }
    results.insert_or_assign(pairKey(ids[0], ids[1]), MergeResult{static_cast<int32_t>(i), ids[2]});
  }
  return std::make_unique<Bpe>(std::move(vocabulary), std::move(results), options);
}

absl::StatusOr<std::unique_ptr<WordModel>> readBpe(const JsonNode &node) {
  ST_RETURN_IF_ERROR(
      node.allow({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                  "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  if (node.has("dropout") && node.json()["dropout"] != 0)
    return node.error("a \"dropout\" of merges is not supported");
  ST_ASSIGN_OR_RETURN(JsonNode vocab, node.at("vocab"));
  ST_ASSIGN_OR_RETURN(Vocabulary vocabulary, readVocabulary(vocab));
  ST_ASSIGN_OR_RETURN(JsonNode mergesNode, node.at("merges"));
  ST_ASSIGN_OR_RETURN(std::vector<Merge> merges, readMerges(mergesNode));
  BpeOptions options;
  ST_ASSIGN_OR_RETURN(options.prefix, node.text("continuing_subword_prefix", ""));
  ST_ASSIGN_OR_RETURN(options.suffix, node.text("end_of_word_suffix", ""));
  ST_ASSIGN_OR_RETURN(options.fusesUnknown, node.flag("fuse_unk", false));
  ST_ASSIGN_OR_RETURN(options.fallsBackToBytes, node.flag("byte_fallback", false));
  ST_ASSIGN_OR_RETURN(options.prefersFullWords, node.flag("ignore_merges", false));
  if (node.has("unk_token")) {
    ST_ASSIGN_OR_RETURN(std::string unknown, node.text("unk_token", ""));
    auto it = vocabulary.find(unknown);
    if (it == vocabulary.end())
      return node.error(
          absl::StrCat("the unk_token ", quoteForMessage(unknown), " is not in the vocabulary"));
    options.unknown = it->second;
  }
  return createBpe(std::move(vocabulary), merges, options, mergesNode.place());
}

} // namespace st
