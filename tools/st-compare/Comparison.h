// The difference of two runs.
#ifndef ST_COMPARE_COMPARISON_H
#define ST_COMPARE_COMPARISON_H

#include "tools/st-compare/RunFiles.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace st {

struct Comparison {
  /// Milliseconds of a step.
  struct Part {
    std::string name;
    double a = 0, b = 0;
    double difference() const { return b - a; }
  };
  struct LossDifference {
    int64_t step = 0;
    double a = 0, b = 0;
  };

  std::optional<Part> step; ///< none if the two have no time of the same kind
  std::string timeSource;   ///< of both: "devices", "trace" or "host"
  /// From the same source in both runs, sorted by absolute difference, largest first.
  std::vector<Part> parts;
  std::string partSource;  ///< of the parts: "critical path", "timers", "trace" or "host"
  bool addsUp = false;     ///< the parts add up to the step
  std::vector<Part> links; ///< with different busy times, the largest difference first
  int64_t comparedLosses = 0;
  std::optional<LossDifference> firstLoss; ///< of the first step with different losses
  double largestLossDifference = 0;        ///< relative, over all steps that both have

  /// The part that explains most of the difference of the step; none if the times are equal.
  const Part *cause() const;
};

/// An error if the two runs have neither times nor losses in common.
absl::StatusOr<Comparison> compareRuns(const RunFiles &a, const RunFiles &b);

/// A table, then a line for each finding.
std::string printComparison(const Comparison &comparison);
std::string printComparisonJson(const Comparison &comparison);

} // namespace st

#endif // ST_COMPARE_COMPARISON_H
