// The values of the flags, and where each comes from.
#ifndef ST_RUNNER_SETTINGS_H
#define ST_RUNNER_SETTINGS_H

#include "absl/flags/commandlineflag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <map>
#include <string>
#include <vector>

namespace st {

namespace proto {
class RunFlag;
}

/// Sources are, from the weakest: the flag's own default; the binary; a log that is replayed; and,
/// the last one that says it, files of flags and the command line.
class Settings {
public:
  /// Sets the flags that the arguments behind argv[0] say, in kebab-case or with underscores:
  /// --name=value, --name value, --flag, @FILE and --flags=FILE for a file of arguments, and
  /// --replay=LOG. An error is one line with the place (for files) and the flag.
  absl::Status parse(int argc, char **argv);

  /// Sets what the binary says and nobody else did. An error names a flag that is not known, or
  /// has no such value.
  absl::Status addDefaults(const std::vector<proto::RunFlag> &flags);

  /// Whether somebody said it other than the binary.
  bool isGiven(absl::string_view name) const;
  /// Whether the binary or somebody else said it.
  bool isSet(absl::string_view name) const { return sources.count(std::string(name)) != 0; }
  /// The names that somebody said other than the binary.
  std::vector<std::string> given() const;

  /// "default", "binary", "command line", "log FILE" or "FILE:LINE".
  std::string sourceOf(const std::string &name) const;
  /// The log that is replayed; empty: none.
  const std::string &replayed() const { return log; }

private:
  struct Word {
    std::string text, source;
  };
  absl::Status run(const std::vector<Word> &words);
  absl::Status addFile(const std::string &path);
  absl::Status replay(const std::string &path);
  absl::Status set(absl::string_view spelled, absl::string_view value, const std::string &source);

  std::map<std::string, std::string> sources; ///< by the flag's name
  std::string log;
  bool isInFile = false;
};

/// All flags of training binaries by their names in kebab-case.
std::map<std::string, absl::CommandLineFlag *> runnerFlags();

} // namespace st

#endif // ST_RUNNER_SETTINGS_H
