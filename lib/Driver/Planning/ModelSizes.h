// Other sizes of the same kind of model, for --largest-model.
#ifndef ST_DRIVER_PLANNING_MODELSIZES_H
#define ST_DRIVER_PLANNING_MODELSIZES_H

#include "lib/Driver/Planning/PlanInput.h"

namespace mlir::st {

struct ModelSize {
  std::string name; ///< may be empty
  int64_t layers = 0, hidden = 0, heads = 0;
  int64_t ffnHidden = 0; ///< 0: the model's own ratio to the hidden size
};

/// Sizes in ascending order.
struct ModelScale {
  std::string name; ///< "layers of hidden size 12288", a file
  std::vector<ModelSize> sizes;
};

/// The model's width with 1 to 1024 layers.
ModelScale scaleLayers(const PlanInput &input);

/// Sizes in the model's proportions: multiples of 4 heads, proportional layers and hidden size. For
/// a model with 96 layers of 12288 and 96 heads (GPT-3) these are n layers of hidden size 128 n.
ModelScale scaleProportions(const PlanInput &input);

/// Reads a CSV file with columns layers, hidden, heads, and optionally name and ffn_hidden.
/// InvalidArgument names the file, the line, the column, the expected and the found value.
absl::StatusOr<ModelScale> parseModelSizes(StringRef text, const std::string &path);

/// The input with a model of this size. InvalidArgument if the heads do not divide the hidden size.
absl::StatusOr<PlanInput> resizeModel(const PlanInput &input, const ModelSize &size);

} // namespace mlir::st

#endif // ST_DRIVER_PLANNING_MODELSIZES_H
