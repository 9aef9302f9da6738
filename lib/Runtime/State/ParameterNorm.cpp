#include "lib/Runtime/State/ParameterNorm.h"

#include "lib/Support/Float16.h"
#include "lib/Support/StatusMacros.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace st {
namespace {

template <typename T> double sumOfSquares(const std::vector<uint8_t> &bytes) {
  double sum = 0;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    const auto number = static_cast<double>(value);
    sum += number * number;
  }
  return sum;
}

double sumOfSquares(ElementType type, const std::vector<uint8_t> &bytes) {
  switch (type) {
  case ElementType::F32:
    return sumOfSquares<float>(bytes);
  case ElementType::F64:
    return sumOfSquares<double>(bytes);
  case ElementType::F16:
    return sumOfSquares<Float16>(bytes);
  case ElementType::BF16:
    return sumOfSquares<BFloat16>(bytes);
  default:
    return 0; // not trained
  }
}

} // namespace

absl::StatusOr<double> parameterNorm(const std::vector<StateTensor> &states,
                                     Executable &executable) {
  double sum = 0;
  for (const StateTensor &tensor : states)
    if (tensor.state->role() == "parameter") {
      ST_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, readState(tensor, executable));
      sum += sumOfSquares(tensor.type, bytes);
    }
  return std::sqrt(sum);
}

} // namespace st
