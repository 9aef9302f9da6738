// Writes events for TensorBoard.
#ifndef ST_RUNTIME_TRAINING_LOG_EVENTFILE_H
#define ST_RUNTIME_TRAINING_LOG_EVENTFILE_H

#include "lib/Runtime/Report.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace st {

/// A file "events.out.tfevents.<seconds>.<host>.<process>" in a folder. `tensorboard --logdir` can
/// read a growing file. Each run adds a file; TensorBoard joins the files of a folder by step.
class EventFile {
public:
  /// Creates the folder if it is missing, but not its parents. The file is created with the first
  /// scalars.
  static absl::StatusOr<std::unique_ptr<EventFile>> create(const std::string &folder);

  /// The values of a step by tag.
  absl::Status write(int64_t step, const std::map<std::string, double> &scalars);

private:
  explicit EventFile(std::unique_ptr<LineFile> file) : file(std::move(file)) {}
  std::unique_ptr<LineFile> file;
  bool isEmpty = true;
};

/// A record of TensorFlow's files: its length, the data, and a masked CRC-32C of each.
std::string frameRecord(const std::string &data);

} // namespace st

#endif // ST_RUNTIME_TRAINING_LOG_EVENTFILE_H
