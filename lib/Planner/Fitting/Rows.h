// Measured runs as rows of a CSV file.
#ifndef ST_PLANNER_ROWS_H
#define ST_PLANNER_ROWS_H

#include "lib/Planner/Step/Blocks.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// One run: a model, a layout, and measurements.
struct MeasuredRow {
  int line = 0;       ///< in the file
  std::string family; ///< "gpt" or "bert"
  PlannedModel model;
  int64_t ffnHidden = 0;      ///< 0: four times the hidden size
  bool hasGivenModel = false; ///< the model is from RowDefaults
  Layout layout;
  std::string optimizer = "adam";
  std::optional<double> measuredMs;      ///< of a step
  std::optional<double> memoryMib;       ///< of the device with most memory in use
  std::optional<double> tflopsPerDevice; ///< instead of a time
  /// Timers of the last rank: the passes of all micro-batches of a step, and the update.
  std::optional<double> forwardMs, backwardMs, optimizerMs;
  /// Step times with full recomputation, and with sequence parallelism and selective recomputation.
  /// A row of a file with such columns becomes one row here for each.
  std::optional<double> fullMs, selectiveMs;
};

struct RowsFile {
  std::string path;
  std::vector<MeasuredRow> rows;
  std::vector<std::string> unused; ///< columns without effect on a prediction
};

/// Values for columns that a file lacks.
struct RowDefaults {
  std::string family = "gpt";
  std::string precision = "f16";
  int64_t sequence = 2048, vocabulary = 50257;
  Recompute recompute = Recompute::Full;
  int64_t devicesPerNode =
      0; ///< of the cluster, for rows that count nodes; 0: such rows need their degrees
  /// For files without columns of the model. Rows without degrees have replicas that fill a node.
  std::optional<PlannedModel> model;
  std::string optimizer = "adam"; ///< with that model
  int64_t zero = 0;
  int64_t microBatch = 0; ///< 0: rows need a column for it
};

/// Parses rows. The first line names the columns; docs/planning.md lists the known ones.
/// InvalidArgument names the file, line and column, and the expected and actual text.
absl::StatusOr<RowsFile> parseRows(absl::string_view text, const std::string &path,
                                   const RowDefaults &defaults);

/// FLOPs of a step as arXiv 2104.04473 counts them (its equation 3): with full recomputation,
/// 96 B s L h^2 (1 + s / 6h + V / 16Lh).
double publishedFlops(const PlannedModel &model, int64_t globalBatch);

} // namespace st

#endif // ST_PLANNER_ROWS_H
