// Chooses the initial checkpoint of a run.
#ifndef ST_RUNTIME_TRAINING_LOADCHECKPOINT_H
#define ST_RUNTIME_TRAINING_LOADCHECKPOINT_H

#include "lib/Runtime/Training/Trainer.h"

#include <cstdint>
#include <functional>
#include <string>

namespace st {

/// The folder of a checkpoint or of a series. Prefers the series that the run saves to, if it has a
/// checkpoint or no other folder is given; otherwise uses the folder of --resume or --load. Empty
/// for a new run. If --load names a folder without a checkpoint, writes a line to `warn`.
std::string chooseCheckpoint(const TrainOptions &options,
                             const std::function<void(const std::string &)> &warn);

/// The checkpoint of `step` in such a folder.
std::string checkpointAt(const std::string &folder, int64_t step);

} // namespace st

#endif // ST_RUNTIME_TRAINING_LOADCHECKPOINT_H
