// Checks that the integers in a user's file are in the model's range.
#ifndef ST_RUNTIME_DATA_VALUERANGE_H
#define ST_RUNTIME_DATA_VALUERANGE_H

#include "lib/Support/Safetensors.h"

#include <cstdint>
#include <string>

namespace st {

/// The allowed values of a program's input.
struct ValueRange {
  std::string input; ///< its name; "labels" may be -100
  int64_t limit = 0; ///< values are in [0, limit); 0: unknown
};

/// Finds the first value in a tensor of `numBatches` equal batches that is out of range; the device
/// would clamp it silently and train on another value. Returns a message that names it, or an empty
/// string.
std::string findOutside(const ValueRange &range, const SafetensorsTensor &tensor,
                        int64_t numBatches);

} // namespace st

#endif // ST_RUNTIME_DATA_VALUERANGE_H
