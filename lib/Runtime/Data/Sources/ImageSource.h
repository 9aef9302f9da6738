// Synthetic images for the task classify.
#ifndef ST_RUNTIME_DATA_IMAGESOURCE_H
#define ST_RUNTIME_DATA_IMAGESOURCE_H

#include "lib/Runtime/Data/BatchSource.h"

namespace st {

/// Every class has an image of normally distributed pixels. An example is the image of a
/// uniformly drawn class plus equal normal noise. An error if the program does not read f32
/// pixel_values [B, channels, height, width].
absl::StatusOr<std::unique_ptr<BatchSource>> createImageSource(const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_IMAGESOURCE_H
