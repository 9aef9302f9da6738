// Which checkpoint a run begins with.
#ifndef ST_RUNTIME_TRAINING_LOADCHECKPOINT_H
#define ST_RUNTIME_TRAINING_LOADCHECKPOINT_H

#include "lib/Runtime/Training/Trainer.h"

#include <cstdint>
#include <functional>
#include <string>

namespace st {

/// The folder of a checkpoint or of a series: the series that the run saves to, as long as it has
/// one or nothing else is named; else what --resume or --load names. Empty: the run is new, which
/// a line to `warn` says of a --load without a checkpoint.
std::string chooseCheckpoint(const TrainOptions &options,
                             const std::function<void(const std::string &)> &warn);

/// The checkpoint of `step` in such a folder.
std::string checkpointAt(const std::string &folder, int64_t step);

} // namespace st

#endif // ST_RUNTIME_TRAINING_LOADCHECKPOINT_H
