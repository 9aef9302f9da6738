// The norm of a model's parameters.
#ifndef ST_RUNTIME_STATE_PARAMETERNORM_H
#define ST_RUNTIME_STATE_PARAMETERNORM_H

#include "lib/Runtime/State/States.h"
#include "st/Runtime/Executable.h"

#include "absl/status/statusor.h"

#include <vector>

namespace st {

/// The square root of the sum of squares of all parameters. Each element counts once in any layout.
/// Sums are in double, in the order of the states. With several processes all of them call it.
absl::StatusOr<double> parameterNorm(const std::vector<StateTensor> &states,
                                     Executable &executable);

} // namespace st

#endif // ST_RUNTIME_STATE_PARAMETERNORM_H
