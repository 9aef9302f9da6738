//===- Lint.h - Contradictions in a Megatron log ----------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_LINT_H
#define ST_LIB_FRONTEND_MEGATRON_LINT_H

#include "lib/Frontend/Megatron/Log.h"

namespace mlir::st {

/// A contradiction within one log, or between its arguments and what it measured.
struct LintFinding {
  /// Stable: one of `lintIds`.
  std::string id;
  /// In ascending order, each once.
  SmallVector<unsigned> lines;
  /// Arguments, or what a line of the log calls them, and their values.
  std::vector<std::pair<std::string, std::string>> values;
  /// One plain sentence, without a full stop.
  std::string sentence;
  /// Whether no plan can be made of such a run.
  bool preventsPlan = false;
};

/// All that contradicts itself in the log, in the order of the checks; of one that many lines
/// repeat the first ten.
std::vector<LintFinding> lintMegatronLog(const MegatronLog &log);

/// The names of all findings there are.
ArrayRef<StringRef> lintIds();

/// `path:line: warning: sentence [id]`; an error where it prevents a plan.
std::string printFinding(const LintFinding &finding, StringRef path);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_LINT_H
