// Finished trials, one per line of JSON.
#ifndef ST_TOOLS_ST_TUNE_RESULTS_H
#define ST_TOOLS_ST_TUNE_RESULTS_H

#include "absl/status/statusor.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mlir::st {

/// The outcome of a trial. In the results: "ok", "does-not-compile", "out-of-memory", "timeout",
/// "failed" (a crash or an error), "no-figure" (no figure in its output).
enum class TrialStatus : uint8_t { Ok, DoesNotCompile, OutOfMemory, Timeout, Failed, NoFigure };
const char *statusName(TrialStatus status);

struct TrialRow {
  std::string key; ///< hash of the model, the layout and the commands
  std::string name;
  TrialStatus status = TrialStatus::Ok;
  std::string error; ///< one line; empty for Ok

  /// 0 if unknown. In-step time excludes startup, batch preparation and the first step; end-to-end
  /// throughput is samples over the wall-clock time of the complete command.
  double inStepMs = 0, inStepSamplesPerSecond = 0, endToEndSamplesPerSecond = 0;
  bool isSimulated = false;  ///< in-step time is simulated
  double seconds = 0;        ///< spent on the trial
  double timeoutSeconds = 0; ///< its limit

  /// Further information for users; written, not read.
  std::vector<std::pair<std::string, llvm::json::Value>> details;

  bool isOk() const { return status == TrialStatus::Ok; }
};

/// The file of --results. A line is appended at once and forced to disk. So a killed run leaves
/// complete lines and at most one incomplete line, which the next run drops. Only one st-tune
/// writes a file at a time.
class ResultsFile {
public:
  /// Reads existing results; start() creates a missing file. Errors name the file, the line, the
  /// expected and the found value.
  static absl::StatusOr<std::unique_ptr<ResultsFile>> open(const std::string &path);
  ~ResultsFile();
  ResultsFile(const ResultsFile &) = delete;
  ResultsFile &operator=(const ResultsFile &) = delete;

  /// The last row with this key, or null.
  const TrialRow *find(const std::string &key) const;

  /// Creates a missing file before the first trial runs.
  absl::Status start();

  absl::Status append(const TrialRow &row);

  /// Bytes of an incomplete last line that were dropped.
  size_t tornBytes() const { return torn; }

private:
  explicit ResultsFile(std::string path) : path(std::move(path)) {}
  absl::Status read();
  absl::Status lock() const;
  absl::Status fail(const char *what) const;

  std::string path;
  int descriptor = -1;
  size_t torn = 0;
  std::map<std::string, TrialRow> rows;
};

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_RESULTS_H
