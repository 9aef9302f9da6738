// Formats the output of a training run.
#ifndef ST_RUNTIME_REPORT_H
#define ST_RUNTIME_REPORT_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Processes/StragglerWatch.h"
#include "lib/Support/ProcessEnd.h"
#include "st/Runtime/Executable.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// One line of the report.
struct StepReport {
  int64_t step = 0;
  float loss = 0;
  double learningRate = 0;
  std::optional<int64_t> simulatedPicoseconds; ///< none on a real device
  double hostSeconds = 0;
  double dataSeconds = 0;       ///< the part for creating and copying the batch
  std::optional<int64_t> batch; ///< rows, if batches grow
  std::optional<StragglerReport> stragglers;
  std::map<std::string, float> metrics;
};

/// "step 1  loss 10.4321  sim 12.35 ms  host 8.210 s". The loss has nine digits, which distinguish
/// all floats; the times have four.
std::string printStep(const StepReport &report);

/// The same as a line of JSON: step, loss, lr, sim_ms, host_s, data_s, batch_size (if batches
/// grow), the program's own metrics and stragglers (if there are any).
std::string printStepJson(const StepReport &report);

/// Ascending numbers as "0-3,5".
std::string printRanges(const std::vector<int64_t> &numbers);

/// Milliseconds for people, with four significant digits.
std::string printMilliseconds(int64_t picoseconds);

/// Milliseconds for machines, exact to the picosecond, without trailing zeros.
std::string printExactMilliseconds(int64_t picoseconds);

/// A table with one vector of texts per row; the first column is left-aligned, the others right.
std::string printTable(const std::vector<std::vector<std::string>> &rows);

/// A table of the peak memory of each device in MiB, by class.
std::string printMemory(const proto::Executable &program);

/// One step as JSON: sim_ms, roofline_ms, serial_ms, messages, and for each
/// rank of "devices" rank, device, stage (its first), macs, messages, sent_bytes,
/// parameter_bytes, arena_bytes, memory_bytes (of each class in the arena), host_arena_bytes,
/// to_host_bytes and from_host_bytes; for each
/// link with traffic its name, bytes and busy_ms. With a timeline also "critical_path_ms", and for
/// each rank "phases_ms" (see StepPhases.h).
std::string printStepTimeJson(const StepTime &time, const proto::Executable &program,
                              const StepTimeline *timeline);

/// A file to which a run appends full lines. The first line replaces the previous content, so a run
/// that fails before its first step changes nothing. With `appends` it keeps the previous content
/// and starts a new line.
class LineFile {
public:
  static absl::StatusOr<std::unique_ptr<LineFile>> create(const std::string &path,
                                                          bool appends = false);
  ~LineFile();
  LineFile(const LineFile &) = delete;
  LineFile &operator=(const LineFile &) = delete;

  absl::Status write(const std::string &line);

private:
  bool endsWithinLine() const;
  LineFile(std::string path, int fd, bool isNew, bool replaces, RemovedOnEarlyEnd note)
      : path(std::move(path)), fd(fd), isNew(isNew), replaces(replaces), note(std::move(note)) {}
  std::string path;
  int fd;
  bool isNew, replaces, isEmpty = true; ///< `replaces`: drops the previous content
  RemovedOnEarlyEnd note;               ///< while it is new and empty
};

} // namespace st

#endif // ST_RUNTIME_REPORT_H
