// Checks if all layers of a model train the same parameters.
#ifndef ST_DRIVER_PLANNING_TRAINEDLAYERS_H
#define ST_DRIVER_PLANNING_TRAINEDLAYERS_H

#include "lib/Driver/Planning/PlanInput.h"

namespace mlir::st {

/// Checks the options of an input that choose parameters, on the full model. Sets the kinds of its
/// layers if they train different parameters.
absl::Status checkTrainedLayers(PlanInput &input);

} // namespace mlir::st

#endif // ST_DRIVER_PLANNING_TRAINEDLAYERS_H
