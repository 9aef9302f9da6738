//===- Megatron.h - Training runs of Megatron -------------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_MEGATRON_H
#define ST_LIB_FRONTEND_MEGATRON_MEGATRON_H

#include "lib/Frontend/Megatron/Log.h"
#include "lib/Frontend/TrainingRun.h"

namespace mlir::st {

/// The run that a log or a command line describes. The argument dump overrides the command line.
/// Missing arguments have Megatron's defaults. The error is one line: the file and line, the
/// argument, the expected and the found value.
absl::StatusOr<TrainingRun> buildTrainingRun(const MegatronLog &log);

/// Number of tokens of a well-known vocabulary, by its file name; std::nullopt for others.
std::optional<int64_t> knownVocabulary(StringRef path);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_MEGATRON_H
