#include "lib/Runtime/Tokenizers/Text/AlignedText.h"
#include "lib/Runtime/Tokenizers/WordModel.h"

#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <limits>

namespace st {
namespace {

// A trie of all pieces, by byte.
class PieceTrie {
public:
  void add(absl::string_view piece, int32_t id) {
    uint32_t node = 0;
    for (unsigned char byte : piece) {
      auto [child, isNew] =
          children.try_emplace(key(node, byte), static_cast<uint32_t>(ids.size()));
      if (isNew)
        ids.push_back(-1);
      node = child->second;
    }
    ids[node] = id;
  }

  // The node below `node`, or 0.
  uint32_t next(uint32_t node, unsigned char byte) const {
    auto it = children.find(key(node, byte));
    return it == children.end() ? 0 : it->second;
  }

  // The piece that ends at a node, or -1.
  int32_t id(uint32_t node) const { return ids[node]; }

private:
  static uint64_t key(uint32_t node, unsigned char byte) { return uint64_t{node} << 8 | byte; }

  absl::flat_hash_map<uint64_t, uint32_t> children;
  std::vector<int32_t> ids = {-1};
};

// Splits a word into the pieces with the greatest sum of scores (Kudo 2018) by Viterbi's algorithm.
class Unigram : public VocabularyModel {
public:
  Unigram(std::vector<std::pair<std::string, double>> pieces, std::optional<int32_t> unknown,
          bool fallsBackToBytes)
      : VocabularyModel({}), unknown(unknown) {
    double minimum = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < pieces.size(); ++i) {
      const int32_t id = static_cast<int32_t>(i);
      vocabulary.insert_or_assign(pieces[i].first, id);
      trie.add(pieces[i].first, id);
      scores.push_back(pieces[i].second);
      minimum = std::min(minimum, pieces[i].second);
    }
    constexpr double kPenalty = 10;
    unknownScore = minimum - kPenalty;
    if (fallsBackToBytes)
      for (int byte = 0; byte < 256; ++byte)
        bytes.push_back(find(bytePiece(static_cast<unsigned char>(byte))));
  }

  absl::Status encode(absl::string_view word, std::vector<WordToken> &tokens) const override;

private:
  // The best path to the end of a piece.
  struct Path {
    double score = 0;
    int64_t begin = -1; // begin of its last piece; -1: no path yet
    int32_t id = 0;
  };

  static void improve(Path &path, double score, size_t begin, int32_t id) {
    if (path.begin < 0 || score > path.score)
      path = {score, static_cast<int64_t>(begin), id};
  }
  absl::Status findPaths(absl::string_view word, std::vector<Path> &paths) const;
  void addUnknown(absl::string_view piece, size_t begin, std::vector<WordToken> &tokens) const;

  PieceTrie trie;
  std::vector<double> scores;
  std::optional<int32_t> unknown;
  double unknownScore = 0;
  std::vector<std::optional<int32_t>> bytes;
};

absl::Status Unigram::findPaths(absl::string_view word, std::vector<Path> &paths) const {
  for (size_t begin = 0; begin < word.size();) {
    const double score = paths[begin].score;
    const size_t next = charAt(word, begin).end;
    bool hasCharacter = false;
    uint32_t node = 0;
    for (size_t end = begin; end < word.size();) {
      node = trie.next(node, static_cast<unsigned char>(word[end]));
      if (node == 0)
        break;
      ++end;
      if (const int32_t id = trie.id(node); id >= 0) {
        improve(paths[end], scores[id] + score, begin, id);
        hasCharacter |= end == next;
      }
    }
    if (!hasCharacter) {
      if (!unknown)
        return absl::InvalidArgumentError(
            "a character is not in the vocabulary, and the model has no unk_id");
      improve(paths[next], unknownScore + score, begin, *unknown);
    }
    begin = next;
  }
  return absl::OkStatus();
}

// Adds a run of characters without a piece: as bytes, or as one unknown token.
void Unigram::addUnknown(absl::string_view piece, size_t begin,
                         std::vector<WordToken> &tokens) const {
  const uint32_t from = static_cast<uint32_t>(begin),
                 to = from + static_cast<uint32_t>(piece.size());
  if (std::optional<int32_t> id = find(piece)) {
    tokens.push_back({*id, from, to});
    return;
  }
  const bool hasBytes = !bytes.empty() && std::all_of(piece.begin(), piece.end(), [&](char c) {
    return bytes[static_cast<unsigned char>(c)].has_value();
  });
  if (!hasBytes) {
    tokens.push_back({*unknown, from, to});
    return;
  }
  for (unsigned char byte : piece)
    tokens.push_back({*bytes[byte], from, to});
}

absl::Status Unigram::encode(absl::string_view word, std::vector<WordToken> &tokens) const {
  std::vector<Path> paths(word.size() + 1);
  ST_RETURN_IF_ERROR(findPaths(word, paths));
  struct Piece {
    size_t begin, end;
    int32_t id;
  };
  std::vector<Piece> pieces; // from the last to the first
  for (size_t end = word.size(); end > 0; end = static_cast<size_t>(paths[end].begin)) {
    const Path &path = paths[end];
    const size_t begin = static_cast<size_t>(path.begin);
    const bool isUnknown = unknown && path.id == *unknown;
    if (isUnknown && !pieces.empty() && pieces.back().id == *unknown)
      pieces.back().begin = begin;
    else
      pieces.push_back({begin, end, path.id});
  }
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
    if (unknown && piece->id == *unknown)
      addUnknown(word.substr(piece->begin, piece->end - piece->begin), piece->begin, tokens);
    else
      tokens.push_back(
          {piece->id, static_cast<uint32_t>(piece->begin), static_cast<uint32_t>(piece->end)});
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<WordModel>> readUnigram(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "unk_id", "vocab", "byte_fallback"}));
  ST_ASSIGN_OR_RETURN(JsonNode vocab, node.at("vocab"));
  if (!vocab.json().is_array() || vocab.json().empty())
    return vocab.error("expected an array of pieces and their scores");
  std::vector<std::pair<std::string, double>> pieces;
  pieces.reserve(vocab.json().size());
  for (const nlohmann::json &entry : vocab.json()) {
    const bool isPiece = entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
                         !entry[0].get_ref<const std::string &>().empty() && entry[1].is_number();
    if (!isPiece)
      return vocab.element(pieces.size()).error("expected a piece and its score");
    pieces.emplace_back(entry[0].get<std::string>(), entry[1].get<double>());
  }
  std::optional<int32_t> unknown;
  if (node.has("unk_id")) {
    ST_ASSIGN_OR_RETURN(JsonNode field, node.at("unk_id"));
    ST_ASSIGN_OR_RETURN(int64_t id, field.integer());
    if (id >= static_cast<int64_t>(pieces.size()))
      return field.error(absl::StrCat(id, ", and the vocabulary has ", pieces.size(), " pieces"));
    unknown = static_cast<int32_t>(id);
  }
  ST_ASSIGN_OR_RETURN(bool bytes, node.flag("byte_fallback", false));
  return std::make_unique<Unigram>(std::move(pieces), unknown, bytes);
}

} // namespace st
