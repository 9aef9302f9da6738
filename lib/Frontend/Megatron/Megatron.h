//===- Megatron.h - Training runs of Megatron -------------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_MEGATRON_H
#define ST_LIB_FRONTEND_MEGATRON_MEGATRON_H

#include "lib/Frontend/Megatron/Log.h"
#include "lib/Frontend/TrainingRun.h"

namespace mlir::st {

/// The run that a log or a command line describes. The argument dump goes before the command line.
/// What neither says has Megatron's default. The error is one line: the file and line, the
/// argument, what was expected and what was found.
absl::StatusOr<TrainingRun> buildTrainingRun(const MegatronLog &log);

/// Tokens of a vocabulary that everybody uses, by its file name; nothing for another.
std::optional<int64_t> knownVocabulary(StringRef path);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_MEGATRON_H
