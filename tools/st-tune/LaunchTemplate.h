// The command that runs a trial.
#ifndef ST_TOOLS_ST_TUNE_LAUNCHTEMPLATE_H
#define ST_TOOLS_ST_TUNE_LAUNCHTEMPLATE_H

#include "lib/Planner/Layout.h"

#include "absl/status/statusor.h"

#include <map>
#include <string>
#include <vector>

namespace mlir::st {

/// A shell command with placeholders, such as "srun -n {devices} {binary} --steps={steps}". Doubled
/// braces are literal.
class LaunchTemplate {
public:
  /// The error names the unknown placeholder, or the unmatched brace.
  static absl::StatusOr<LaunchTemplate> parse(const std::string &text);

  bool uses(const std::string &placeholder) const;

  /// Values are quoted for the shell if necessary. Every placeholder in the template has a value.
  std::string expand(const std::map<std::string, std::string> &values) const;

private:
  struct Piece {
    bool isPlaceholder;
    std::string text;
  };
  std::vector<Piece> pieces;
};

/// The placeholders that describe a layout: "tp", "gas", "micro_batch", ... with their values.
std::map<std::string, std::string> layoutValues(const ::st::Layout &layout);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_LAUNCHTEMPLATE_H
