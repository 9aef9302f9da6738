// That the integers of a user's file are ones that the model takes.
#ifndef ST_RUNTIME_DATA_VALUERANGE_H
#define ST_RUNTIME_DATA_VALUERANGE_H

#include "lib/Support/Safetensors.h"

#include <cstdint>
#include <string>

namespace st {

/// What values an input of a program may have.
struct ValueRange {
  std::string input; ///< its name; "labels" may be -100
  int64_t limit = 0; ///< the others lie in 0 .. limit-1; 0: not said
};

/// The first value of a tensor of `numBatches` equal batches that the device would
/// have to clamp, so that it would train silently on another: a message that
/// names it, or nothing.
std::string findOutside(const ValueRange &range, const SafetensorsTensor &tensor,
                        int64_t numBatches);

} // namespace st

#endif // ST_RUNTIME_DATA_VALUERANGE_H
