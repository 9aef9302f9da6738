// The values of the flags and their sources.
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

/// Sources from the weakest to the strongest: the flag's own default; the binary; a replayed log;
/// files of flags and the command line. The last occurrence of a flag counts.
class Settings {
public:
  /// Sets flags from the arguments after argv[0], in kebab-case or with underscores: --name=value,
  /// --name value, --flag, @FILE and --flags=FILE for a file of arguments, and --replay=LOG. An
  /// error is one line with the place (for files) and the flag.
  absl::Status parse(int argc, char **argv);

  /// Sets the binary's values that no other source sets. An error names a flag that is unknown, or
  /// an invalid value.
  absl::Status addDefaults(const std::vector<proto::RunFlag> &flags);

  /// Returns true if a source other than the binary sets it.
  bool isGiven(absl::string_view name) const;
  /// Returns true if the binary or another source sets it.
  bool isSet(absl::string_view name) const { return sources.count(std::string(name)) != 0; }
  /// The names that a source other than the binary sets.
  std::vector<std::string> given() const;

  /// "default", "binary", "command line", "log FILE" or "FILE:LINE".
  std::string sourceOf(const std::string &name) const;
  /// The replayed log; empty: none.
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

/// The names of other trainers for a flag.
std::vector<std::string> aliasesOf(absl::string_view name);

/// All flags of training binaries by their names in kebab-case.
std::map<std::string, absl::CommandLineFlag *> runnerFlags();

} // namespace st

#endif // ST_RUNNER_SETTINGS_H
