// Running text as token ids, and batches drawn from it.
#ifndef ST_RUNTIME_DATA_CORPUS_H
#define ST_RUNTIME_DATA_CORPUS_H

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "lib/Runtime/Data/BatchSource.h"
#include "lib/Runtime/Data/IndexedDataset.h"
#include "lib/Runtime/Data/Tokenizer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace st {

/// Token ids, in memory or in Megatron-LM's files.
struct Corpus {
  std::string name; ///< for messages
  TokenIds ids;
  std::vector<int32_t> tokens;
  std::vector<int64_t> sentences; ///< first token of each, ascending from 0
  std::vector<int64_t> documents; ///< first sentence of each, ascending from 0; empty: a single
                                  ///< document
  /// If set, replaces the fields above; its sequences are the sentences.
  std::shared_ptr<const IndexedDataset> indexed;
  int64_t vocabulary = 0; ///< of `indexed`: an upper bound of its tokens
  /// The sentences from which samples are built.
  Split::Range part;

  int64_t size() const;
  int64_t numSentences() const;
  int64_t numDocuments() const;
  int64_t sentence(int64_t i) const; ///< first token; for numSentences(), the end
  int64_t document(int64_t i) const; ///< first sentence; for numDocuments(), the end

  /// The tokens of `part`.
  int64_t begin() const { return sentence(part.begin); }
  int64_t end() const { return sentence(part.end); }

  /// Selects the part that the options specify, by documents, or by sentences if there is a single
  /// document. An error if the part is empty.
  absl::Status choosePart(const DataOptions &options);

  /// The tokens in [begin, end).
  absl::StatusOr<std::vector<int32_t>> range(int64_t begin, int64_t end) const;
};

/// Builds batches of the task from running text. Every sample occurs once before any is repeated,
/// in a different order each time. Sample i depends only on the text, the seed and i.
///
///   mlm   Two segments of one document; half the time, the second does not follow the first
///         (DataOptions). Different tokens are masked each time (15 %): 80 % of them become
///         [MASK], 10 % a random token, 10 % stay.
///   span  A few consecutive words of a passage are the question; their position is the answer.
///         Questions are drawn at random with replacement.
///   clm   Windows of the text.
///
/// Some rows of mlm and span (10 %) are short and padded.
absl::StatusOr<std::unique_ptr<BatchSource>> createCorpusSource(Corpus corpus,
                                                                const BatchSpec &spec);

/// The user's text file as one document, encoded by the model's tokenizer.
absl::StatusOr<Corpus> readTextCorpus(const std::string &path, const BatchSpec &spec);

/// One document per line, {"text": ...}; other keys and empty lines are ignored. For the task clm,
/// each document ends with the tokenizer's end-of-document token if there is one.
absl::StatusOr<Corpus> readJsonLinesCorpus(const std::string &path, const BatchSpec &spec);

/// PREFIX.bin and PREFIX.idx, written with the model's tokenizer.
absl::StatusOr<Corpus> openIndexedCorpus(const std::string &prefix, const BatchSpec &spec);

/// Text from a Markov chain, so that a model can learn it: each token has one likely successor and
/// three less likely ones.
absl::StatusOr<Corpus> createSyntheticCorpus(const BatchSpec &spec);

/// The texts of a file of JSON lines: those under `keys` of each line that is not empty, one after
/// the other.
absl::StatusOr<std::vector<std::string>> readJsonLines(const std::string &path,
                                                       absl::Span<const char *const> keys);

/// Encodes texts on all processors and delivers their tokens in order.
absl::Status encodeAll(const Tokenizer &tokenizer, absl::Span<const absl::string_view> texts,
                       absl::FunctionRef<void(size_t, const std::vector<Token> &)> add);

/// The tokenizer of the model folder, or bytes if it has none. An error names a token that the task
/// needs and the tokenizer lacks.
absl::StatusOr<std::unique_ptr<Tokenizer>> createTokenizer(const BatchSpec &spec);

/// Fails if the spec's sequences are too short for the task.
absl::Status checkSequenceLength(const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_CORPUS_H
