//===- Log.h - A Megatron log or command line -------------------*- C++ -*-===//
//
// A file as it is written, before anything is concluded from it: the arguments of
// its command line and of its argument dump, and what it measured, each with its line.
//
//===----------------------------------------------------------------------===//

#ifndef ST_LIB_FRONTEND_MEGATRON_LOG_H
#define ST_LIB_FRONTEND_MEGATRON_LOG_H

#include "absl/status/statusor.h"
#include "lib/Frontend/Megatron/Arguments.h"
#include "lib/Frontend/Megatron/Measurements.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// Given arguments by the names that a log gives them, in the order of the file.
using ArgumentMap = llvm::MapVector<StringRef, GivenArgument>;

struct MegatronLog {
  std::string path;
  /// The file name of the training script, and processes that the launcher starts; nothing
  /// where no command line says.
  std::string script;
  std::optional<int64_t> processes;
  /// Lines in which the command line and the last dump begin; 0 where there is none.
  unsigned commandLine = 0;
  unsigned dumpLine = 0;
  ArgumentMap fromCommand, fromDump;
  /// Of what follows the last dump.
  LogMeasurements measured;

  /// The argument as the dump has it, or, where it has not, the command line. Null where neither
  /// does and, unless `orNone`, where it is None.
  const GivenArgument *find(StringRef name, bool orNone = false) const;
  /// Whole numbers and flags of the same; nothing where it is not given.
  std::optional<int64_t> integer(StringRef name) const;
  std::optional<double> number(StringRef name) const;
  bool flag(StringRef name) const { return integer(name).value_or(0) != 0; }
  StringRef text(StringRef name) const;
};

/// More than a log of a long training has.
constexpr size_t maxLogBytes = size_t(512) << 20;

/// Parses a command line, a shell file with one, or a log; `path` names it in messages. A log has
/// to have an argument dump or a command line. The error is one line: the file and line, the
/// argument, what was expected and what was found.
absl::StatusOr<MegatronLog> parseMegatronLog(StringRef text, StringRef path);

/// The same of the file at `path`; "-" is standard input.
absl::StatusOr<MegatronLog> loadMegatronLog(StringRef path);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_LOG_H
