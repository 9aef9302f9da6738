// Finished trials, a line of JSON each.
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

/// How a trial ended. As the results spell it: "ok", "does-not-compile", "out-of-memory",
/// "timeout", "failed" (it crashed or said so itself), "no-figure" (it printed nothing to rank it
/// by).
enum class TrialStatus : uint8_t { Ok, DoesNotCompile, OutOfMemory, Timeout, Failed, NoFigure };
const char *statusName(TrialStatus status);

struct TrialRow {
  std::string key; ///< hash of the model, the layout and the commands
  std::string name;
  TrialStatus status = TrialStatus::Ok;
  std::string error; ///< one line; empty for Ok

  /// 0 where unknown. In-step time leaves out the start of the run, making batches and the first
  /// step; end-to-end throughput is samples over the wall clock of the whole command.
  double inStepMs = 0, inStepSamplesPerSecond = 0, endToEndSamplesPerSecond = 0;
  bool isSimulated = false;  ///< in-step time is that of a simulated device
  double seconds = 0;        ///< spent on the trial
  double timeoutSeconds = 0; ///< its limit

  /// What else people want to know of it; written, not read.
  std::vector<std::pair<std::string, llvm::json::Value>> details;

  bool isOk() const { return status == TrialStatus::Ok; }
};

/// The file of --results. A line is appended at once and forced to disk, so that what a killed run
/// leaves is whole lines and at most one torn one, which the next run drops. Only one st-tune
/// writes a file at a time.
class ResultsFile {
public:
  /// Reads what is there; a file that is not is made by start(). Errors name the file, the
  /// line, what was expected and what was found.
  static absl::StatusOr<std::unique_ptr<ResultsFile>> open(const std::string &path);
  ~ResultsFile();
  ResultsFile(const ResultsFile &) = delete;
  ResultsFile &operator=(const ResultsFile &) = delete;

  /// The last row with this key, or null.
  const TrialRow *find(const std::string &key) const;

  /// Makes the file where it is not, before a trial takes its time.
  absl::Status start();

  absl::Status append(const TrialRow &row);

  /// Bytes of a torn last line that were dropped.
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
