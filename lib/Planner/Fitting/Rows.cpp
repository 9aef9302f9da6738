#include "lib/Planner/Fitting/Rows.h"

#include "lib/Planner/Fitting/RowColumns.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>

namespace st {
namespace {

class RowParser {
public:
  RowParser(const std::string &path, const RowDefaults &defaults)
      : path(path), defaults(defaults) {}
  absl::StatusOr<RowsFile> parse(absl::string_view text);

private:
  absl::Status readHeader(absl::string_view line, RowsFile &file);
  absl::Status readRow(absl::string_view line, int number, RowsFile &file);
  RawRow startRow(int number) const;
  absl::Status placeReplicas(RawRow &raw) const;
  absl::Status finish(RawRow &raw) const;
  bool hasColumn(absl::string_view name) const {
    return std::any_of(order.begin(), order.end(), [&](const RowColumn *column) {
      return column && column->names.front() == name;
    });
  }
  absl::Status error(int line, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", what));
  }

  const std::string &path;
  const RowDefaults &defaults;
  std::vector<const RowColumn *> order; ///< null for a column without effect
  std::vector<std::string> names;
};

} // namespace

absl::Status RowParser::readHeader(absl::string_view line, RowsFile &file) {
  for (absl::string_view field : absl::StrSplit(line, ',')) {
    const std::string name(absl::StripAsciiWhitespace(field));
    if (name.empty())
      return error(1, "expected the name of a column, found nothing");
    const RowColumn *found = findRowColumn(name);
    if (std::find(names.begin(), names.end(), name) != names.end() ||
        (found && !found->isMeasured && hasColumn(found->names.front())))
      return error(1, absl::StrCat("column ", name, " appears twice"));
    names.push_back(name);
    order.push_back(found);
    if (!found)
      file.unused.push_back(name);
  }
  std::vector<absl::string_view> needed = {"micro_batch"};
  if (!defaults.model)
    needed = {"tp", "pp", "micro_batch", "global_batch", "hidden", "heads", "layers"};
  for (absl::string_view name : needed)
    if (!hasColumn(name) && !(name == "micro_batch" && defaults.microBatch > 0))
      return error(1, absl::StrCat("expected a column ", name, ", found none"));
  return absl::OkStatus();
}

RawRow RowParser::startRow(int number) const {
  RawRow raw;
  MeasuredRow &row = raw.row;
  row.line = number;
  row.family = defaults.family;
  row.model.precision = defaults.precision;
  row.model.sequence = defaults.sequence;
  row.model.vocabulary = defaults.vocabulary;
  row.layout.recompute = defaults.recompute;
  row.layout.zero = defaults.zero;
  row.layout.microBatch = std::max<int64_t>(defaults.microBatch, 1);
  if (defaults.model) {
    row.model = *defaults.model;
    row.optimizer = defaults.optimizer;
    row.hasGivenModel = !hasColumn("hidden") && !hasColumn("heads") && !hasColumn("layers");
  }
  return raw;
}

/// Derives replicas from the number of devices if they have no column.
absl::Status RowParser::placeReplicas(RawRow &raw) const {
  Layout &layout = raw.row.layout;
  if (raw.nodes > 0 && raw.devices == 0 && defaults.devicesPerNode > 0)
    raw.devices = raw.nodes * defaults.devicesPerNode;
  const int64_t ofModel = layout.tensor * layout.context * layout.stages;
  const int64_t devices =
      raw.devices > 0 || !defaults.model ? raw.devices : defaults.devicesPerNode;
  layout.replicas = raw.replicas > 0         ? raw.replicas
                    : devices % ofModel == 0 ? std::max<int64_t>(devices / ofModel, 1)
                                             : 1;
  if (raw.devices > 0 && raw.devices != layout.devices())
    return error(raw.row.line, absl::StrCat("expected gpus = tp x pp x dp",
                                            layout.context > 1 ? " x context" : "", " = ",
                                            layout.devices(), ", found ", raw.devices));
  return absl::OkStatus();
}

absl::Status RowParser::finish(RawRow &raw) const {
  MeasuredRow &row = raw.row;
  Layout &layout = row.layout;
  if (absl::Status status = placeReplicas(raw); !status.ok())
    return status;
  if (layout.context == 1)
    layout.contextAttention = ContextAttention::Unset;
  const int64_t once = layout.replicas * layout.microBatch;
  const int64_t batch =
      raw.globalBatch > 0 ? raw.globalBatch : once * std::max<int64_t>(raw.accumulation, 1);
  if (batch % once != 0)
    return error(row.line,
                 absl::StrCat("global_batch ", batch, " is not a multiple of dp x micro_batch = ",
                              layout.replicas, " x ", layout.microBatch));
  layout.microBatches = batch / once;
  if (raw.accumulation > 0 && raw.accumulation != layout.microBatches)
    return error(row.line,
                 absl::StrCat("expected global_batch = dp x micro_batch x accumulation = ",
                              once * raw.accumulation, ", found ", batch));
  if (layout.virtualStages > 1)
    layout.schedule = PipelineSchedule::Interleaved;
  if (row.model.hidden % row.model.heads != 0)
    return error(row.line, absl::StrCat("hidden ", row.model.hidden, " is not a multiple of ",
                                        row.model.heads, " heads"));
  if (row.measuredMs)
    return absl::OkStatus();
  if (raw.msPerSample)
    row.measuredMs = *raw.msPerSample * static_cast<double>(batch);
  else if (raw.samplesPerSecond)
    row.measuredMs = static_cast<double>(batch) / *raw.samplesPerSecond * 1e3;
  else if (row.tflopsPerDevice)
    row.measuredMs = publishedFlops(row.model, batch) /
                     (*row.tflopsPerDevice * 1e12 * static_cast<double>(layout.devices())) * 1e3;
  return absl::OkStatus();
}

absl::Status RowParser::readRow(absl::string_view line, int number, RowsFile &file) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
  if (fields.size() != order.size())
    return error(number,
                 absl::StrCat("expected ", order.size(), " columns, found ", fields.size()));
  RawRow raw = startRow(number);
  for (size_t i = 0; i < fields.size(); ++i) {
    const absl::string_view field = absl::StripAsciiWhitespace(fields[i]);
    if (!order[i] || (order[i]->isMeasured && field.empty()))
      continue;
    if (std::string wrong = order[i]->read(raw, field); !wrong.empty())
      return error(number, absl::StrCat("column ", names[i], ": expected ", wrong, ", found \"",
                                        field, "\""));
  }
  if (absl::Status status = finish(raw); !status.ok())
    return status;
  const MeasuredRow &row = raw.row;
  if (!row.fullMs && !row.selectiveMs)
    file.rows.push_back(row);
  if (row.fullMs) {
    file.rows.push_back(row);
    file.rows.back().measuredMs = row.fullMs;
    file.rows.back().layout.recompute = Recompute::Full;
  }
  if (row.selectiveMs) {
    file.rows.push_back(row);
    file.rows.back().measuredMs = row.selectiveMs;
    file.rows.back().layout.recompute = Recompute::Selective;
    file.rows.back().layout.sequenceParallel = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<RowsFile> RowParser::parse(absl::string_view text) {
  RowsFile file;
  file.path = path;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() && number > 1)
      continue;
    absl::Status status = number == 1 ? readHeader(line, file) : readRow(line, number, file);
    if (!status.ok())
      return status;
  }
  if (file.rows.empty())
    return error(1, "expected rows after the names of the columns, found none");
  return file;
}

absl::StatusOr<RowsFile> parseRows(absl::string_view text, const std::string &path,
                                   const RowDefaults &defaults) {
  return RowParser(path, defaults).parse(text);
}

double publishedFlops(const PlannedModel &model, int64_t globalBatch) {
  const auto batch = static_cast<double>(globalBatch), s = static_cast<double>(model.sequence),
             layers = static_cast<double>(model.layers), h = static_cast<double>(model.hidden),
             v = static_cast<double>(model.vocabulary);
  return 96 * batch * s * layers * h * h * (1 + s / (6 * h) + v / (16 * layers * h));
}

} // namespace st
