// Tokenizers in Hugging Face's model folders.
#ifndef ST_RUNTIME_TOKENIZERS_TOKENIZERFILES_H
#define ST_RUNTIME_TOKENIZERS_TOKENIZERFILES_H

#include "lib/Runtime/Data/Tokenizer.h"

#include <array>
#include <map>
#include <optional>
#include <string>

namespace st {

/// The contents of a model folder's tokenizer files, by name.
using TokenizerFiles = std::map<std::string, std::string>;

/// Prefix of errors about files in a compiled program.
constexpr char kModelsPrefix[] = "the model's ";

constexpr char kTokenizerJson[] = "tokenizer.json";
constexpr char kVocabJson[] = "vocab.json";
constexpr char kMergesTxt[] = "merges.txt";
constexpr char kVocabTxt[] = "vocab.txt";

constexpr std::array<const char *, 4> kTokenizerFileNames = {kTokenizerJson, kVocabJson, kMergesTxt,
                                                             kVocabTxt};

/// The maximum size of a file in bytes.
constexpr uint64_t kLargestTokenizerFile = uint64_t{1} << 28;

/// The tokenizer of a model folder: its tokenizer.json, else its vocab.json with merges.txt
/// (byte-level BPE as in GPT-2), else its vocab.txt (WordPiece as in BERT). Tokens equal those of
/// Hugging Face's `tokenizers`. An error is one line that begins with `prefix` and the file's name;
/// it names an unsupported option, or a vocabulary with more than `vocabulary` ids. `config` (the
/// folder's config.json or empty) defines the end-of-document token (eos_token_id).
absl::StatusOr<std::unique_ptr<Tokenizer>> createFileTokenizer(const TokenizerFiles &files,
                                                               const std::string &config,
                                                               int64_t vocabulary,
                                                               const std::string &prefix);

/// The end-of-document token that a config.json defines (eos_token_id, or the first of several), if
/// it is below `limit`. `config` may be empty.
absl::StatusOr<std::optional<int32_t>> findEndToken(const std::string &config, int64_t limit);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_TOKENIZERFILES_H
