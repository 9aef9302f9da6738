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
  /// In the place of both; its sequences are the sentences.
  std::shared_ptr<const IndexedDataset> indexed;
  int64_t vocabulary = 0; ///< of `indexed`: tokens are below it

  int64_t size() const;
  int64_t numSentences() const;
  int64_t sentence(int64_t i) const;

  /// The tokens from `begin` to before `end`.
  absl::StatusOr<std::vector<int32_t>> range(int64_t begin, int64_t end) const;
};

/// Makes batches of the task from running text:
///
///   mlm   Two segments; the second follows the first in the text or, half the
///         time, is from elsewhere. 15% of the tokens are chosen anew each time:
///         80% of them become [MASK], 10% a random token, 10% stay.
///   span  A few consecutive words of a passage are the question, their place is
///         the answer.
///   clm   Windows of the text, each once before any comes again.
///
/// One row of ten of mlm and span is short and padded.
absl::StatusOr<std::unique_ptr<BatchSource>> createCorpusSource(Corpus corpus,
                                                                const BatchSpec &spec);

/// Text of the user's file: WordPiece where the model has a vocabulary, else bytes.
absl::StatusOr<Corpus> readTextCorpus(const std::string &path, const BatchSpec &spec);

/// PREFIX.bin and PREFIX.idx, made with the model's own tokenizer.
absl::StatusOr<Corpus> openIndexedCorpus(const std::string &prefix, const BatchSpec &spec);

/// Text made up by a Markov chain, so that there is something to learn: a token
/// has one likely successor and three less likely ones.
absl::StatusOr<Corpus> createSyntheticCorpus(const BatchSpec &spec);

/// The model's tokenizer: WordPiece where there is a vocab.txt, else bytes.
absl::StatusOr<std::unique_ptr<Tokenizer>> createTokenizer(const BatchSpec &spec);

/// An error unless sequences of the task can be as short as the spec's.
absl::Status checkSequenceLength(const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_CORPUS_H
