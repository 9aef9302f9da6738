//===- Log.h - A Megatron log or command line -------------------*- C++ -*-===//
//
// The content of a file without conclusions: the arguments of its command line and of its argument
// dump, and its measurements, each with its line.
//
//===----------------------------------------------------------------------===//

#ifndef ST_LIB_FRONTEND_MEGATRON_LOG_H
#define ST_LIB_FRONTEND_MEGATRON_LOG_H

#include "absl/status/statusor.h"
#include "lib/Frontend/Megatron/Arguments.h"
#include "lib/Frontend/Megatron/Measurements.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// Given arguments by their names in a log, in the order of the file.
using ArgumentMap = llvm::MapVector<StringRef, GivenArgument>;

struct MegatronLog {
  std::string path;
  /// The file name of the training script, and the number of processes that the launcher starts;
  /// std::nullopt if no command line gives it.
  std::string script;
  std::optional<int64_t> processes;
  /// First lines of the command line and of the last dump; 0 if there is none.
  unsigned commandLine = 0;
  unsigned dumpLine = 0;
  ArgumentMap fromCommand, fromDump;
  /// Measurements after the last dump.
  LogMeasurements measured;

  /// The argument of the dump, or otherwise of the command line. Null if neither has it and, unless
  /// `orNone`, if it is None.
  const GivenArgument *find(StringRef name, bool orNone = false) const;
  /// The same for integers and flags; std::nullopt if not given.
  std::optional<int64_t> integer(StringRef name) const;
  std::optional<double> number(StringRef name) const;
  bool flag(StringRef name) const { return integer(name).value_or(0) != 0; }
  StringRef text(StringRef name) const;
};

/// A limit above the size of a long training's log.
constexpr size_t maxLogBytes = size_t(512) << 20;

/// Parses a command line, a shell file with one, or a log; `path` names it in messages. A log must
/// have an argument dump or a command line. The error is one line: the file and line, the argument,
/// the expected and the found value.
absl::StatusOr<MegatronLog> parseMegatronLog(StringRef text, StringRef path);

/// The same for the file at `path`; "-" is standard input.
absl::StatusOr<MegatronLog> loadMegatronLog(StringRef path);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_LOG_H
