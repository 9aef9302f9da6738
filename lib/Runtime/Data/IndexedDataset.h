// Megatron-LM's token files: PREFIX.bin and PREFIX.idx.
#ifndef ST_RUNTIME_DATA_INDEXEDDATASET_H
#define ST_RUNTIME_DATA_INDEXEDDATASET_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/Support/Files.h"

#include <cstdint>
#include <memory>
#include <string>

namespace st {

/// Both files mapped into memory. The index (little-endian): "MMIDIDX\0\0", version 1 (u64), a code
/// of the token type (u8), the number of sequences and of document bounds (u64 each), the length of
/// each sequence (i32), its byte offset in the .bin (i64), and the document bounds (i64; the first
/// is 0, the last the number of sequences). The .bin holds only tokens. A sequence is a sentence
/// (BERT) or a document (GPT); sequences must be contiguous, as tools/preprocess_data.py writes
/// them.
class IndexedDataset {
public:
  /// Checks the index and the size of the .bin. Errors name the file.
  static absl::StatusOr<std::unique_ptr<IndexedDataset>> open(const std::string &prefix);

  int64_t numTokens() const { return tokens; }
  int64_t numSequences() const { return sequences; }

  int64_t numDocuments() const { return documents; }

  /// The first sequence of document i; for numDocuments(), the number of sequences.
  int64_t document(int64_t i) const;

  /// The first token of sequence i; for numSequences(), the number of tokens.
  int64_t begin(int64_t i) const;

  /// Reads tokens starting at `begin`. An error names a token outside [0, limit).
  absl::Status read(int64_t begin, int64_t limit, absl::Span<int32_t> to) const;

private:
  IndexedDataset() = default;
  absl::Status readIndex();
  absl::Status checkSequences() const;
  absl::Status checkDocuments() const;

  std::string binPath, idxPath;
  std::unique_ptr<MappedFile> index, data;
  int64_t sequences = 0, documents = 0, tokens = 0;
  int64_t width = 0; ///< bytes a token
  bool isSigned = true;
  const char *places = nullptr; ///< of the sequences; not aligned
  const char *lengths = nullptr;
  const char *bounds = nullptr; ///< of the documents
};

} // namespace st

#endif // ST_RUNTIME_DATA_INDEXEDDATASET_H
