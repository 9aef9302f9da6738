// The command that runs a trial.
#ifndef ST_TOOLS_ST_TUNE_LAUNCHTEMPLATE_H
#define ST_TOOLS_ST_TUNE_LAUNCHTEMPLATE_H

#include "lib/Planner/Layout.h"

#include "absl/status/statusor.h"

#include <map>
#include <string>
#include <vector>

namespace mlir::st {

/// A shell command with placeholders, as "srun -n {devices} {binary} --steps={steps}". Two braces
/// stand for one.
class LaunchTemplate {
public:
  /// The error names the placeholder that is not known, or the brace without its counterpart.
  static absl::StatusOr<LaunchTemplate> parse(const std::string &text);

  bool uses(const std::string &placeholder) const;

  /// Values are quoted for the shell where it would take them apart. Every placeholder that the
  /// template uses has a value.
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
