#include "lib/Runtime/Data/ValueRange.h"
#include "lib/Runtime/Data/TaskBatch.h"

#include "absl/strings/str_cat.h"

#include <cstring>

namespace st {
namespace {

template <typename T>
std::string findOutsideAs(const ValueRange &range, const SafetensorsTensor &tensor,
                          int64_t numBatches) {
  const bool ignores = range.input == "labels";
  const size_t count = tensor.data.size() / sizeof(T), perBatch = count / numBatches;
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, tensor.data.data() + i * sizeof(value), sizeof(value));
    if ((value >= 0 && value < range.limit) || (ignores && value == kIgnoredLabel))
      continue;
    return absl::StrCat("tensor \"", range.input, "\": ", value, " in batch ", i / perBatch,
                        "; expected values from 0 to ", range.limit - 1,
                        ignores ? ", or -100" : "");
  }
  return "";
}

} // namespace

std::string findOutside(const ValueRange &range, const SafetensorsTensor &tensor,
                        int64_t numBatches) {
  if (range.limit > 0 && tensor.type == ElementType::I64)
    return findOutsideAs<int64_t>(range, tensor, numBatches);
  if (range.limit > 0 && tensor.type == ElementType::I32)
    return findOutsideAs<int32_t>(range, tensor, numBatches);
  return "";
}

} // namespace st
