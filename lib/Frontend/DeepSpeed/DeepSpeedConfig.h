//===- DeepSpeedConfig.h - A DeepSpeed configuration ------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDCONFIG_H
#define ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDCONFIG_H

#include "absl/status/status.h"
#include "lib/Frontend/TrainingRun.h"

namespace mlir::st {

/// Reads a DeepSpeed configuration, a JSON object, into `run`: its batch, precision, optimizer,
/// ZeRO stage and related fields. Fields that are missing or "auto" do not change, so a run may
/// first be read from Megatron's arguments.
///
/// Any two of the three batch sizes determine the third on `run.dataParallel` replicas, or on
/// `devices` if it is not 0 and `run` has no world size. If the number of devices is unknown, three
/// batch sizes determine it. Every key is added to `run.keys`, nested ones as
/// "zero_optimization.stage". The error is one line: the file and line, the key, the expected and
/// the found value; `run` is then unusable.
absl::Status readDeepSpeedConfig(StringRef json, StringRef path, TrainingRun &run,
                                 int64_t devices = 0);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDCONFIG_H
