// Which documents of a data set are for training, for validation and for tests.
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

/// Parts of a data set, one behind the other, as in Megatron-LM.
class Split {
public:
  /// All is for training.
  Split() = default;

  /// Reads up to three weights of 0 or more with commas or slashes between them, as "949,50,1";
  /// those left out are 0.
  static absl::StatusOr<Split> parse(absl::string_view text);

  struct Range {
    int64_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
  };

  /// The part's share of `count` documents. Bounds are rounded each by itself, and their last
  /// deviation is taken off all, so that no document is in two parts or in none.
  Range range(SplitPart part, int64_t count) const;

  /// Whether all is for training.
  bool isWhole() const { return weights[0] == 1; }

private:
  std::array<double, 3> weights = {1, 0, 0}; // their sum is 1
};

} // namespace st

#endif // ST_RUNTIME_DATA_SPLIT_H
