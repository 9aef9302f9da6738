// States whose rows are separate tensors in checkpoints, such as the weights of experts.
#ifndef ST_RUNTIME_STATEROWS_H
#define ST_RUNTIME_STATEROWS_H

#include "lib/Runtime/State/States.h"

#include <vector>

namespace st {

/// Replaces each parameter with named rows, and the optimizer state of its shape, by their rows, as
/// checkpoints hold them. The tensors point into the arenas as before.
std::vector<StateTensor> splitNamedRows(std::vector<StateTensor> states);

} // namespace st

#endif // ST_RUNTIME_STATEROWS_H
