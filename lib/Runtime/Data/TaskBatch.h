// Builds the rows of the tasks' batches.
#ifndef ST_RUNTIME_DATA_TASKBATCH_H
#define ST_RUNTIME_DATA_TASKBATCH_H

#include "absl/types/span.h"
#include "lib/Runtime/Data/BatchSource.h"
#include "lib/Runtime/Data/Tokenizer.h"

#include <cstdint>
#include <vector>

namespace st {

/// The label that the loss ignores.
constexpr int32_t kIgnoredLabel = -100;

/// Fills the rows of one batch; the task decides which tensors exist.
class TaskBatch {
public:
  TaskBatch(const BatchSpec &spec, const TokenIds &ids);

  /// Writes [CLS] first [SEP] second [SEP] and padding to a row.
  void setPair(int64_t row, absl::Span<const int32_t> first, absl::Span<const int32_t> second);

  /// Writes a row of seq2seq, with padding; both fit.
  void setSourceAndTarget(int64_t row, absl::Span<const int32_t> source,
                          absl::Span<const int32_t> target);

  /// Writes a row of clm: the tokens fill the sequence.
  void setText(int64_t row, absl::Span<const int32_t> tokens);

  /// Applies the options for end-of-document tokens to a row of clm.
  void markDocuments(int64_t row, const DataOptions &options);

  /// Makes the first `length` positions of a row of clm a prefix without loss.
  void setPrefix(int64_t row, int64_t length);

  /// One row of a [B,S] tensor, or the element of a [B] tensor, of this task.
  absl::Span<int32_t> row(const char *name, int64_t row);

  Batch take() { return std::move(tensors); }

private:
  bool has(const char *name) const;

  int64_t batch, sequence;
  TokenIds ids;
  Batch tensors;
};

/// The labels in a row: those of a target, or of the sequence.
int64_t labelSequence(const BatchSpec &spec);

/// Tokens of a row of mlm and span that are not text: [CLS] and two [SEP].
constexpr int64_t kPairOverhead = 3;

/// The position of the second text of a pair: after [CLS], the first one and [SEP].
constexpr int64_t positionOfSecond(size_t lengthOfFirst) {
  return 2 + static_cast<int64_t>(lengthOfFirst);
}

} // namespace st

#endif // ST_RUNTIME_DATA_TASKBATCH_H
