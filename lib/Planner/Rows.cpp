#include "lib/Planner/Rows.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/ascii.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace st {
namespace {

/// Largest count in a row: no cluster, batch or model has more.
constexpr double kMostCount = 1e9;

class RowParser {
public:
  RowParser(const std::string &path, const RowDefaults &defaults) : path(path), defaults(defaults) {}
  absl::StatusOr<RowsFile> parse(absl::string_view text);

private:
  struct Column {
    std::vector<absl::string_view> names;
    /// Stores a value; returns what was expected if it is none.
    std::function<std::string(MeasuredRow &, absl::string_view)> read;
  };
  static const std::vector<Column> &columns();
  absl::Status readHeader(absl::string_view line, RowsFile &file);
  absl::Status readRow(absl::string_view line, int number, RowsFile &file);
  absl::Status finish(MeasuredRow &row);
  absl::Status error(int line, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", what));
  }

  const std::string &path;
  const RowDefaults &defaults;
  std::vector<const Column *> order; ///< null: no effect
  bool hasReplicas = false;
  int64_t devices = 0; ///< of the row; 0: not said
  std::vector<std::string> names;
};

/// Reads an integer from 1 (or `least`).
std::string readCount(absl::string_view text, int64_t &value, int64_t least = 1) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || number != std::floor(number) ||
      number < static_cast<double>(least) || number > kMostCount)
    return absl::StrCat("an integer from ", least);
  value = static_cast<int64_t>(number);
  return "";
}

std::string readTime(absl::string_view text, double factor, std::optional<double> &value) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !(number > 0) || number > 1e15)
    return "a number above 0";
  value = number * factor;
  return "";
}

std::string readRecompute(absl::string_view text, Layout &layout) {
  const std::string word = absl::AsciiStrToLower(text);
  if (word == "none" || word == "0" || word == "no" || word == "false")
    layout.recompute = Recompute::None;
  else if (word == "selective")
    layout.recompute = Recompute::Selective;
  else if (word == "full" || word == "1" || word == "yes" || word == "true")
    layout.recompute = Recompute::Full;
  else
    return "none, selective or full";
  return "";
}

std::string readFlag(absl::string_view text, bool &flag) {
  const std::string word = absl::AsciiStrToLower(text);
  if (word != "0" && word != "1" && word != "true" && word != "false" && word != "yes" && word != "no")
    return "true or false";
  flag = word == "1" || word == "true" || word == "yes";
  return "";
}

} // namespace

const std::vector<RowParser::Column> &RowParser::columns() {
  using Text = absl::string_view;
  auto count = [](int64_t Layout::*member) {
    return [member](MeasuredRow &row, Text text) { return readCount(text, row.layout.*member); };
  };
  auto size = [](int64_t PlannedModel::*member) {
    return [member](MeasuredRow &row, Text text) { return readCount(text, row.model.*member); };
  };
  static const std::vector<Column> *const all = new std::vector<Column>{
      {{"tp", "tensor"}, count(&Layout::tensor)},
      {{"pp", "stages", "pipeline"}, count(&Layout::stages)},
      {{"dp", "data", "replicas"}, count(&Layout::replicas)},
      {{"micro_batch", "mbs", "micro_batch_size"}, count(&Layout::microBatch)},
      // Checked against replicas x micro-batch once the row is read; until then the batch.
      {{"global_batch", "global_batch_size", "batch"}, count(&Layout::microBatches)},
      {{"virtual", "virtual_stages", "vpp"}, count(&Layout::virtualStages)},
      {{"hidden", "hidden_size"}, size(&PlannedModel::hidden)},
      {{"heads", "num_attention_heads"}, size(&PlannedModel::heads)},
      {{"layers", "num_layers"}, size(&PlannedModel::layers)},
      {{"sequence", "seq", "seq_length", "sequence_length"}, size(&PlannedModel::sequence)},
      {{"vocabulary", "vocab", "vocab_size"}, size(&PlannedModel::vocabulary)},
      {{"ffn_hidden", "ffn_hidden_size", "ffn"},
       [](MeasuredRow &row, Text text) { return readCount(text, row.ffnHidden); }},
      {{"zero", "zero_stage"},
       [](MeasuredRow &row, Text text) -> std::string {
         if (text == "none")
           return row.layout.zero = 0, "";
         std::string wrong = readCount(text, row.layout.zero, 0);
         return wrong.empty() && row.layout.zero > 3 ? "an integer from 0 to 3" : wrong;
       }},
      {{"recompute", "recomputation", "activation_recomputation", "checkpoint"},
       [](MeasuredRow &row, Text text) { return readRecompute(text, row.layout); }},
      {{"sequence_parallel", "sp"},
       [](MeasuredRow &row, Text text) { return readFlag(text, row.layout.sequenceParallel); }},
      {{"precision", "dtype"},
       [](MeasuredRow &row, Text text) -> std::string {
         std::string word = absl::AsciiStrToLower(text);
         word = word == "fp16" ? "f16" : word == "fp32" ? "f32" : word;
         if (word != "f16" && word != "bf16" && word != "f32")
           return "f16, bf16 or f32";
         return row.model.precision = word, "";
       }},
      {{"optimizer"},
       [](MeasuredRow &row, Text text) -> std::string {
         if (text != "adam" && text != "adamw" && text != "adam-8bit" && text != "adafactor")
           return "adam, adamw, adam-8bit or adafactor";
         return row.optimizer = std::string(text), "";
       }},
      {{"family", "model_type"},
       [](MeasuredRow &row, Text text) -> std::string {
         if (text != "gpt" && text != "bert")
           return "gpt or bert";
         return row.family = std::string(text), "";
       }},
      {{"iteration_ms", "ms", "measured_ms"},
       [](MeasuredRow &row, Text text) { return readTime(text, 1, row.measuredMs); }},
      {{"seconds_per_iteration", "iteration_s"},
       [](MeasuredRow &row, Text text) { return readTime(text, 1e3, row.measuredMs); }},
      {{"tflops_per_gpu", "tflops"},
       [](MeasuredRow &row, Text text) { return readTime(text, 1, row.tflopsPerDevice); }},
      {{"full_s"}, [](MeasuredRow &row, Text text) { return readTime(text, 1e3, row.fullMs); }},
      {{"sp_selective_s"}, [](MeasuredRow &row, Text text) { return readTime(text, 1e3, row.selectiveMs); }},
      {{"memory_mib"}, [](MeasuredRow &row, Text text) { return readTime(text, 1, row.memoryMib); }},
      {{"memory_gb", "memory_gib"},
       [](MeasuredRow &row, Text text) { return readTime(text, 1024, row.memoryMib); }},
  };
  return *all;
}

absl::Status RowParser::readHeader(absl::string_view line, RowsFile &file) {
  for (absl::string_view field : absl::StrSplit(line, ',')) {
    const std::string name(absl::StripAsciiWhitespace(field));
    if (name.empty())
      return error(1, "expected the name of a column, found nothing");
    if (std::find(names.begin(), names.end(), name) != names.end())
      return error(1, absl::StrCat("column ", name, " is there twice"));
    names.push_back(name);
    const Column *found = nullptr;
    for (const Column &column : columns())
      if (std::find(column.names.begin(), column.names.end(), name) != column.names.end())
        found = &column;
    order.push_back(found);
    hasReplicas |= found && found->names.front() == "dp";
    // Devices follow from the three degrees, which finish() compares with them.
    if (!found && name != "gpus" && name != "devices")
      file.unused.push_back(name);
  }
  for (absl::string_view needed : {"tp", "pp", "micro_batch", "global_batch", "hidden", "heads", "layers"}) {
    const bool isThere = std::any_of(order.begin(), order.end(), [&](const Column *column) {
      return column && std::find(column->names.begin(), column->names.end(), needed) != column->names.end();
    });
    if (!isThere)
      return error(1, absl::StrCat("expected a column ", needed, ", found none"));
  }
  return absl::OkStatus();
}

absl::Status RowParser::finish(MeasuredRow &row) {
  Layout &layout = row.layout;
  // Without a column for them, replicas are what the devices leave.
  if (!hasReplicas && devices > 0 && devices % (layout.tensor * layout.stages) == 0)
    layout.replicas = devices / (layout.tensor * layout.stages);
  const int64_t batch = layout.microBatches, once = layout.replicas * layout.microBatch;
  if (batch % once != 0)
    return error(row.line, absl::StrCat("global_batch ", batch, " is no multiple of dp x micro_batch = ",
                                        layout.replicas, " x ", layout.microBatch));
  layout.microBatches = batch / once;
  if (layout.virtualStages > 1)
    layout.schedule = PipelineSchedule::Interleaved;
  if (row.model.hidden % row.model.heads != 0)
    return error(row.line, absl::StrCat("hidden ", row.model.hidden, " is no multiple of ", row.model.heads, " heads"));
  if (row.tflopsPerDevice && !row.measuredMs)
    row.measuredMs = publishedFlops(row.model, batch) /
                     (*row.tflopsPerDevice * 1e12 * static_cast<double>(layout.devices())) * 1e3;
  return absl::OkStatus();
}

absl::Status RowParser::readRow(absl::string_view line, int number, RowsFile &file) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
  if (fields.size() != order.size())
    return error(number, absl::StrCat("expected ", order.size(), " columns, found ", fields.size()));
  MeasuredRow row;
  row.line = number;
  row.family = defaults.family;
  row.model.precision = defaults.precision;
  row.model.sequence = defaults.sequence;
  row.model.vocabulary = defaults.vocabulary;
  row.layout.recompute = defaults.recompute;
  for (size_t i = 0; i < fields.size(); ++i) {
    const absl::string_view field = absl::StripAsciiWhitespace(fields[i]);
    std::string wrong;
    if (order[i])
      wrong = order[i]->read(row, field);
    if (!wrong.empty())
      return error(number, absl::StrCat("column ", names[i], ": expected ", wrong, ", found \"", field, "\""));
  }
  devices = 0;
  for (size_t i = 0; i < fields.size(); ++i)
    if (names[i] == "gpus" || names[i] == "devices")
      if (std::string wrong = readCount(absl::StripAsciiWhitespace(fields[i]), devices); !wrong.empty())
        return error(number, absl::StrCat("column ", names[i], ": expected ", wrong, ", found \"", fields[i], "\""));
  if (absl::Status status = finish(row); !status.ok())
    return status;
  if (devices > 0 && devices != row.layout.devices())
    return error(number, absl::StrCat("expected gpus = tp x pp x dp = ", row.layout.devices(), ", found ", devices));
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
    return error(1, "expected rows behind the names of the columns, found none");
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
