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
/// of the tokens' type (u8), the number of sequences and of document bounds (u64 each), the
/// length of each sequence (i32), its place in the .bin in bytes (i64), and the document bounds
/// (i64; the first is 0, the last the number of sequences). The .bin holds the tokens alone. A
/// sequence is a sentence (BERT) or a document (GPT); sequences must follow each other without
/// gaps, as tools/preprocess_data.py writes them.
class IndexedDataset {
public:
  /// Checks the index and that the .bin has the size that it says. Errors name the file.
  static absl::StatusOr<std::unique_ptr<IndexedDataset>> open(const std::string &prefix);

  int64_t numTokens() const { return tokens; }
  int64_t numSequences() const { return sequences; }

  int64_t numDocuments() const { return documents; }

  /// The first sequence of document i; of numDocuments() their number.
  int64_t document(int64_t i) const;

  /// Where sequence i begins, in tokens; of numSequences() their number.
  int64_t begin(int64_t i) const;

  /// Writes the tokens from `begin` on. An error names a token below 0 or from `limit` on.
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
