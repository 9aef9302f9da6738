//===- LintChecks.h - The checks of a Megatron log --------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_LINTCHECKS_H
#define ST_LIB_FRONTEND_MEGATRON_LINTCHECKS_H

#include "lib/Frontend/Megatron/Lint.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"

namespace mlir::st {

/// The layout of a run. Fields that the arguments do not determine are zero.
struct LintLayout {
  int64_t tensorParallel = 1, pipelineParallel = 1, virtualStages = 1, contextParallel = 1;
  int64_t worldSize = 0, dataParallel = 0;
  int64_t layers = 0, microBatch = 0, globalBatch = 0;
  /// True if stages may differ in their numbers of layers.
  bool isUneven = false;
};

class Linter {
public:
  explicit Linter(const MegatronLog &log);

  /// Adds a finding of a check. `names` are the arguments involved. The finding lists the lines and
  /// values of the given arguments and, with `withNone`, of those that are None.
  LintFinding &report(StringRef id, ArrayRef<StringRef> names, const Twine &sentence,
                      bool withNone = false);
  /// The same for a line that is not an argument.
  LintFinding &report(StringRef id, ArrayRef<StringRef> names, unsigned line, StringRef what,
                      const Twine &value, const Twine &sentence);

  /// The text of an argument for a sentence: short.
  std::string shown(StringRef name) const;

  const MegatronLog &log;
  LintLayout layout;
  std::vector<LintFinding> findings;
};

/// One check. It reports only under the names in `ids`.
struct LintCheck {
  ArrayRef<StringRef> ids;
  void (*run)(Linter &linter);
};

ArrayRef<LintCheck> layoutChecks();
ArrayRef<LintCheck> modelChecks();
ArrayRef<LintCheck> settingChecks();
ArrayRef<LintCheck> measurementChecks();

/// The family of a run by its script, otherwise by its tokenizer or the name of its vocabulary;
/// std::nullopt if none determines it.
std::optional<RunFamily> runFamily(const MegatronLog &log);
std::optional<RunFamily> scriptFamily(StringRef script);
std::optional<RunFamily> tokenizerFamily(StringRef tokenizer);
/// The given tokenizer, or, without a dump, the script's default.
StringRef tokenizerType(const MegatronLog &log);

/// The product, saturated at the largest number.
int64_t saturatingProduct(ArrayRef<int64_t> factors);
/// The text, truncated if it is too long to read.
std::string shorten(StringRef text);
/// A number for people: "44.8", "12800".
std::string printNumber(double number);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_LINTCHECKS_H
