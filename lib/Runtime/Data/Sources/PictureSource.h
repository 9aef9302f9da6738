// Synthetic pictures for the task classify.
#ifndef ST_RUNTIME_DATA_PICTURESOURCE_H
#define ST_RUNTIME_DATA_PICTURESOURCE_H

#include "lib/Runtime/Data/BatchSource.h"

namespace st {

/// Every class has a picture of normally distributed pixels. An example is the picture of a
/// uniformly drawn class plus equal normal noise. An error if the program does not read f32
/// pixel_values [B, channels, height, width].
absl::StatusOr<std::unique_ptr<BatchSource>> createPictureSource(const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_PICTURESOURCE_H
