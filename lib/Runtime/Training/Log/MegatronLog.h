// Parts of Megatron-LM's logs other than the iteration line.
#ifndef ST_RUNTIME_TRAINING_LOG_MEGATRONLOG_H
#define ST_RUNTIME_TRAINING_LOG_MEGATRONLOG_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Executable.h"

#include "absl/types/span.h"

#include <string>
#include <utility>
#include <vector>

namespace st {

/// Timers by their names in Megatron-LM, in milliseconds.
using StepTimers = std::vector<std::pair<std::string, double>>;

/// The timers of a simulated or measured step on the program's last rank, as in Megatron-LM. They
/// add up to the rank's step, without the timers "optimizer-...", which are parts of "optimizer":
///
///   forward-compute, backward-compute   tasks with the collectives of tensor shards
///   forward-recv, backward-send-forward-recv, forward-send-backward-recv
///       waiting for other stages: in the first forward task, other forward tasks, backward tasks
///   backward-send                       0: sends are not waited for
///   backward-params-all-reduce          collectives of the update
///   backward-embedding-all-reduce       messages of the update with other stages
///   optimizer                           the rest of the update, in parts by the work of the
///                                       device's engines: the loss scale, the clipped norm
///   optimizer-copy-to-main-grad, optimizer-copy-main-to-model-params
///                                       0: gradients are summed in f32, and casts of weights
///                                       belong to the tasks that read them
///
/// A program of one stage has no timers of sends and receives, and the last stage of a pipeline
/// no forward-send-backward-recv.
StepTimers megatronTimers(const proto::Executable &program, const StepTimeline &timeline,
                          const StepTrace &trace);

/// "time (ms) | forward-compute: 43.42 | ... | batch-generator: 1.62"
std::string printTimers(const StepTimers &timers, double batchMilliseconds);

/// "(over 100 iterations = 800 samples)" and "22.39 ms per sample" on two lines.
std::string printSampleTime(int64_t iterations, int64_t samples, double milliseconds);

/// "DTU mem: 4548MiB - 4876MiB / 40537MiB": minimum and maximum use over devices, and the memory of
/// a device.
std::string printMemoryRange(const proto::Executable &program);

} // namespace st

#endif // ST_RUNTIME_TRAINING_LOG_MEGATRONLOG_H
