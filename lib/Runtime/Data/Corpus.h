// Running text as token ids, and batches drawn from it.
#ifndef ST_RUNTIME_DATA_CORPUS_H
#define ST_RUNTIME_DATA_CORPUS_H

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
  std::vector<int64_t> sentences; ///< where each begins, ascending from 0
  std::vector<int64_t> documents; ///< the first sentence of each, ascending from 0; none: it is one
  /// Instead of these; its sequences are the sentences.
  std::shared_ptr<const IndexedDataset> indexed;
  int64_t vocabulary = 0; ///< of `indexed`: tokens are below it
  /// The sentences that samples are made of.
  Split::Range part;

  int64_t size() const;
  int64_t numSentences() const;
  int64_t numDocuments() const;
  int64_t sentence(int64_t i) const; ///< its first token; of numSentences() the end
  int64_t document(int64_t i) const; ///< its first sentence; of numDocuments() the end

  /// The tokens of `part`.
  int64_t begin() const { return sentence(part.begin); }
  int64_t end() const { return sentence(part.end); }

  /// Chooses the part of the options by documents, or of a single document by sentences. An error
  /// where it is empty.
  absl::Status choosePart(const DataOptions &options);

  /// The tokens from `begin` to before `end`.
  absl::StatusOr<std::vector<int32_t>> range(int64_t begin, int64_t end) const;
};

/// Makes batches of the task from running text. Every sample comes once before any comes again, in
/// another order each time; number i of all is a function of the text, the seed and i alone.
///
///   mlm   Two segments of one document; the second follows the first or, half the time, does not
///         (DataOptions). Some of the tokens are chosen anew each time (15 %): 80 % of them become
///         [MASK], 10 % a random token, 10 % stay.
///   span  A few consecutive words of a passage are the question, their place is the answer. These
///         are drawn, so that one may come again before another has come.
///   clm   Windows of the text.
///
/// Some rows of mlm and span (10 %) are short and padded.
absl::StatusOr<std::unique_ptr<BatchSource>> createCorpusSource(Corpus corpus,
                                                                const BatchSpec &spec);

/// Text of the user's file, one document, by the model's tokenizer.
absl::StatusOr<Corpus> readTextCorpus(const std::string &path, const BatchSpec &spec);

/// A document a line, {"text": ...}; other keys are passed over, and so are empty lines. Each ends
/// with the tokenizer's token for that where there is one and the task is clm.
absl::StatusOr<Corpus> readJsonLinesCorpus(const std::string &path, const BatchSpec &spec);

/// PREFIX.bin and PREFIX.idx, made with the model's own tokenizer.
absl::StatusOr<Corpus> openIndexedCorpus(const std::string &prefix, const BatchSpec &spec);

/// Text made up by a Markov chain, so that there is something to learn: a token
/// has one likely successor and three less likely ones.
absl::StatusOr<Corpus> createSyntheticCorpus(const BatchSpec &spec);

/// The tokenizer of the model folder, else bytes. An error names a token that the task needs and
/// the tokenizer lacks.
absl::StatusOr<std::unique_ptr<Tokenizer>> createTokenizer(const BatchSpec &spec);

/// An error unless sequences of the task can be as short as the spec's.
absl::Status checkSequenceLength(const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_CORPUS_H
