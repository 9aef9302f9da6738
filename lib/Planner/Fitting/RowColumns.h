// The columns of files of measured runs.
#ifndef ST_PLANNER_ROWCOLUMNS_H
#define ST_PLANNER_ROWCOLUMNS_H

#include "lib/Planner/Fitting/Rows.h"

#include <functional>

namespace st {

/// A row's column values, before they are checked against each other. 0: absent.
struct RawRow {
  MeasuredRow row;
  int64_t globalBatch = 0, accumulation = 0, devices = 0, nodes = 0, replicas = 0;
  std::optional<double> msPerSample, samplesPerSecond;
};

struct RowColumn {
  /// The first one is the name in messages.
  std::vector<absl::string_view> names;
  /// Stores a value. If the value is invalid, returns a description of the expected one.
  std::function<std::string(RawRow &, absl::string_view)> read;
  bool isMeasured = false; ///< may be empty, for a missing measurement
};

/// Finds a column by its name, ignoring case. Returns null for a column without effect.
const RowColumn *findRowColumn(absl::string_view name);

} // namespace st

#endif // ST_PLANNER_ROWCOLUMNS_H
