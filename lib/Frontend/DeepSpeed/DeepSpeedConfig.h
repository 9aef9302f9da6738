//===- DeepSpeedConfig.h - A DeepSpeed configuration ------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDCONFIG_H
#define ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDCONFIG_H

#include "absl/status/status.h"
#include "lib/Frontend/TrainingRun.h"

namespace mlir::st {

/// Reads a DeepSpeed configuration, a JSON object, into `run`: its batch, precision, optimizer,
/// ZeRO stage and what belongs to it. Fields that the configuration does not mention, or has as
/// "auto", stay as they are, so a run may come from Megatron's arguments first.
///
/// Any two of the three batch sizes decide the third on `run.dataParallel` replicas, or on
/// `devices` where it is not 0 and `run` has no world size. Where the number of devices is not
/// known, three batch sizes decide it. Every key is added to `run.fates`, nested ones as
/// "zero_optimization.stage". The error is one line: the file and line, the key, what was expected
/// and what was found; `run` is then in no state to be used.
absl::Status readDeepSpeedConfig(StringRef json, StringRef path, TrainingRun &run,
                                 int64_t devices = 0);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDCONFIG_H
