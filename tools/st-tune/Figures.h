// The speed that a run reports.
#ifndef ST_TOOLS_ST_TUNE_FIGURES_H
#define ST_TOOLS_ST_TUNE_FIGURES_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::st {

/// Time of a step, without startup, the first step and batch preparation.
struct InStepTime {
  double ms = 0;
  bool isSimulated = false; ///< time of a simulated device, which no wall clock measures
};

/// From the file of a training binary's --metrics: a line of JSON per step. The error says what is
/// missing.
absl::StatusOr<InStepTime> readMetrics(llvm::StringRef text);

/// From the file of a training binary's --report: the simulated time of a step, exact to the
/// picosecond.
absl::StatusOr<InStepTime> readReport(llvm::StringRef text);

/// From the output of a training binary, whose times have four digits: "step 2  loss ...  host
/// 0.123 s" lines, or the simulated step. Steps include their batches here.
absl::StatusOr<InStepTime> readPrintedSteps(llvm::StringRef text);

/// A regular expression with one group, which finds a number in a command's output.
class FigurePattern {
public:
  /// `flag` begins the errors.
  static absl::StatusOr<FigurePattern> parse(const std::string &flag, const std::string &regex);

  /// The number of the last matching line; lines end at carriage returns too. Returns std::nullopt
  /// without a match; an error if the group is not a positive number.
  absl::StatusOr<std::optional<double>> find(llvm::StringRef text) const;

  const std::string &getFlag() const { return flag; }
  const std::string &getRegex() const { return regex; }

private:
  std::string flag, regex;
};

/// The unit of a figure.
enum class FigureUnit : uint8_t { SamplesPerSecond, TokensPerSecond, Milliseconds, Seconds };
std::optional<FigureUnit> parseFigureUnit(llvm::StringRef name);

/// Converts a figure to samples a second; times are those of a step of `batch` sequences.
double toSamplesPerSecond(double figure, FigureUnit unit, int64_t batch, int64_t sequence);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_FIGURES_H
