// Splits the documents of a data set into training, validation and test documents.
#ifndef ST_RUNTIME_DATA_SPLIT_H
#define ST_RUNTIME_DATA_SPLIT_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <array>
#include <cstdint>

namespace st {

enum class SplitPart { Train, Validation, Test };

/// "train", "validation" or "test".
absl::string_view nameOf(SplitPart part);

/// Consecutive parts of a data set, as in Megatron-LM.
class Split {
public:
  /// All documents are for training.
  Split() = default;

  /// Parses up to three non-negative weights separated by commas or slashes, as in "949,50,1";
  /// missing weights are 0.
  static absl::StatusOr<Split> parse(absl::string_view text);

  struct Range {
    int64_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
  };

  /// The part's share of `count` documents. Each bound is rounded separately, and the final
  /// deviation is subtracted from all, so that every document is in exactly one part.
  Range range(SplitPart part, int64_t count) const;

  /// Returns true if all documents are for training.
  bool isAllTraining() const { return weights[0] == 1; }

private:
  std::array<double, 3> weights = {1, 0, 0}; // their sum is 1
};

} // namespace st

#endif // ST_RUNTIME_DATA_SPLIT_H
