// Tokenizers as Hugging Face's model folders have them.
#ifndef ST_RUNTIME_TOKENIZERS_TOKENIZERFILES_H
#define ST_RUNTIME_TOKENIZERS_TOKENIZERFILES_H

#include "lib/Runtime/Data/Tokenizer.h"

#include <array>
#include <map>
#include <string>

namespace st {

/// The files of a model folder that can describe a tokenizer, and what they hold.
using TokenizerFiles = std::map<std::string, std::string>;

/// What errors of the files in a compiled program begin with.
constexpr char kModelsPrefix[] = "the model's ";

constexpr char kTokenizerJson[] = "tokenizer.json";
constexpr char kVocabJson[] = "vocab.json";
constexpr char kMergesTxt[] = "merges.txt";
constexpr char kVocabTxt[] = "vocab.txt";

constexpr std::array<const char *, 4> kTokenizerFileNames = {kTokenizerJson, kVocabJson, kMergesTxt,
                                                             kVocabTxt};

/// The maximum size of a file in bytes.
constexpr uint64_t kLargestTokenizerFile = uint64_t{1} << 28;

/// The tokenizer of a model folder: its tokenizer.json, else its vocab.json with its merges.txt
/// (byte-level BPE as of GPT-2), else its vocab.txt (WordPiece as of BERT). Tokens are those of
/// Hugging Face's `tokenizers`. An error is one line that begins with `prefix` and the file's name;
/// it names what is not supported, and a vocabulary with more than `vocabulary` token ids.
/// `config` (the folder's config.json, or nothing) says what closes a document (eos_token_id).
absl::StatusOr<std::unique_ptr<Tokenizer>> createFileTokenizer(const TokenizerFiles &files,
                                                               const std::string &config,
                                                               int64_t vocabulary,
                                                               const std::string &prefix);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_TOKENIZERFILES_H
