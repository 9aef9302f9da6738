//===- Lint.h - Contradictions in a Megatron log ----------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_LINT_H
#define ST_LIB_FRONTEND_MEGATRON_LINT_H

#include "lib/Frontend/Megatron/Log.h"

namespace mlir::st {

/// A contradiction within one log, or between its arguments and its measurements.
struct LintFinding {
  /// One of `lintIds`. Identifiers do not change between versions.
  std::string id;
  /// Ascending and unique.
  SmallVector<unsigned> lines;
  /// Arguments, or their names in a line of the log, and their values.
  std::vector<std::pair<std::string, std::string>> values;
  /// One plain sentence, without a full stop.
  std::string sentence;
  /// True if such a run cannot be planned.
  bool preventsPlan = false;
};

/// All contradictions in the log, in the order of the checks; at most the first ten of a kind.
std::vector<LintFinding> lintMegatronLog(const MegatronLog &log);

/// The names of all possible findings.
ArrayRef<StringRef> lintIds();

/// `path:line: warning: sentence [id]`; an error if it prevents a plan.
std::string printFinding(const LintFinding &finding, StringRef path);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_LINT_H
