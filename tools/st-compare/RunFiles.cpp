#include "tools/st-compare/RunFiles.h"

#include "lib/Runtime/Json.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace st {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr uint64_t kLargestFile = uint64_t{1} << 30;
constexpr double kMillisecondsPerSecond = 1e3, kMicrosecondsPerMillisecond = 1e3;

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::optional<double> numberIn(const Struct &object, const std::string &name) {
  const Value *value = findField(object, name);
  return value && value->has_number_value() ? std::optional(value->number_value()) : std::nullopt;
}

Times timesIn(const Struct &object, const std::string &name) {
  Times times;
  if (const Value *value = findField(object, name); value && value->has_struct_value())
    for (const auto &[key, time] : value->struct_value().fields())
      times[key] = time.number_value();
  return times;
}

class FileParser {
public:
  FileParser(absl::string_view text, RunFiles &run) : text(text), run(run) {}

  /// Returns true if the text is a file of a run.
  bool parse() {
    const absl::string_view begin = text.substr(0, text.find('\n'));
    if (absl::StrContains(begin, "\"traceEvents\""))
      return parseTrace();
    if (absl::StartsWith(text, "{\"sim_ms\""))
      return parseReport();
    return parseLines();
  }

private:
  bool parseReport() {
    const absl::StatusOr<Struct> report = parseJsonObject(text, "");
    if (!report.ok())
      return false;
    run.simulatedStep = numberIn(*report, "sim_ms");
    run.path = timesIn(*report, "critical_path_ms");
    if (const Value *links = findField(*report, "links"))
      for (const Value &link : links->list_value().values())
        if (const Value *name = findField(link.struct_value(), "name"))
          run.links[name->string_value()] = numberIn(link.struct_value(), "busy_ms").value_or(0);
    return run.simulatedStep.has_value();
  }

  // One event per line, as TraceWriter writes it.
  bool parseTrace() {
    std::set<int64_t> ranks;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      absl::ConsumeSuffix(&line, ",");
      if (!absl::StrContains(line, "\"ph\":\"X\""))
        continue;
      const absl::StatusOr<Struct> event = parseJsonObject(line, "");
      const Value *name = event.ok() ? findField(*event, "name") : nullptr;
      if (!name)
        return false;
      const double duration = numberIn(*event, "dur").value_or(0) / kMicrosecondsPerMillisecond;
      const double start = numberIn(*event, "ts").value_or(0) / kMicrosecondsPerMillisecond;
      ranks.insert(static_cast<int64_t>(numberIn(*event, "pid").value_or(0)));
      run.spans[name->string_value()] += duration;
      run.traceEnd = std::max(run.traceEnd, start + duration);
    }
    for (auto &[label, time] : run.spans)
      time /= static_cast<double>(ranks.size());
    return !ranks.empty();
  }

  // Metrics, or a log that also has other lines.
  bool parseLines() {
    bool isKnown = false;
    for (absl::string_view line : absl::StrSplit(text, '\n'))
      isKnown |= absl::StartsWith(line, "{")             ? parseMetrics(line)
                 : absl::StartsWith(line, "step ")       ? parseStep(line)
                 : absl::StartsWith(line, " iteration ") ? parseIteration(line)
                                                         : parseTimers(line);
    for (auto &[name, sum] : timerSums)
      run.timers[name] = sum.first / static_cast<double>(sum.second);
    return isKnown;
  }

  bool parseMetrics(absl::string_view line) {
    const absl::StatusOr<Struct> object = parseJsonObject(line, "");
    const std::optional<double> step = object.ok() ? numberIn(*object, "step") : std::nullopt;
    // An evaluation has no step time.
    if (!step || findField(*object, "evaluation"))
      return false;
    RunStep &of = run.steps[static_cast<int64_t>(*step)];
    of.loss = numberIn(*object, "loss");
    of.simulated = numberIn(*object, "sim_ms");
    if (const auto seconds = numberIn(*object, "host_s"))
      of.host = *seconds * kMillisecondsPerSecond;
    if (const auto seconds = numberIn(*object, "data_s"))
      of.data = *seconds * kMillisecondsPerSecond;
    return true;
  }

  // "step 1  loss 10.4321  sim 12.35 ms  host 8.210 s"
  bool parseStep(absl::string_view line) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t step = 0;
    double loss = 0, time = 0;
    if (words.size() < 4 || !absl::SimpleAtoi(words[1], &step) || words[2] != "loss" ||
        !absl::SimpleAtod(words[3], &loss))
      return false;
    RunStep &of = run.steps[step];
    if (!of.loss)
      of.loss = loss;
    for (size_t i = 4; i + 1 < words.size(); ++i) {
      if (!absl::SimpleAtod(words[i + 1], &time))
        continue;
      if (words[i] == "sim" && !of.simulated)
        of.simulated = time;
      if (words[i] == "host" && !of.host)
        of.host = time * kMillisecondsPerSecond;
    }
    return true;
  }

  // " iteration       10/ 2000000 | ... | elapsed time per iteration (ms): 166.9 | ..."
  bool parseIteration(absl::string_view line) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '|');
    absl::string_view first = fields[0];
    absl::ConsumePrefix(&first, " iteration ");
    int64_t step = 0;
    if (!absl::SimpleAtoi(first.substr(0, first.find('/')), &step))
      return false;
    RunStep &of = run.steps[step];
    for (absl::string_view field : fields) {
      double value = 0;
      const size_t colon = field.rfind(':');
      if (colon == absl::string_view::npos || !absl::SimpleAtod(field.substr(colon + 1), &value))
        continue;
      if (absl::StrContains(field, "elapsed time per iteration (ms)") && !of.simulated)
        of.simulated = value;
      if (absl::StrContains(field, "lm loss") && !of.loss)
        of.loss = value;
    }
    return true;
  }

  // "time (ms) | forward-compute: 43.42 | ... | batch-generator: 1.62"
  bool parseTimers(absl::string_view line) {
    if (!absl::ConsumePrefix(&line, "time (ms) |"))
      return false;
    for (absl::string_view field : absl::StrSplit(line, '|')) {
      const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(field, ':');
      double value = 0;
      if (!absl::SimpleAtod(parts.second, &value))
        continue;
      const std::string name(absl::StripAsciiWhitespace(parts.first));
      if (name == "batch-generator")
        continue; // of the host, and no part of the step
      auto &sum = timerSums[name];
      sum.first += value;
      ++sum.second;
    }
    return true;
  }

  absl::string_view text;
  RunFiles &run;
  std::map<std::string, std::pair<double, int64_t>> timerSums;
};

absl::Status readOne(const std::string &path, RunFiles &run, bool skipsOthers) {
  const absl::StatusOr<std::string> text = readFile(path, kLargestFile);
  if (!text.ok())
    return skipsOthers ? absl::OkStatus() : text.status();
  if (!FileParser(*text, run).parse() && !skipsOthers)
    return inFile(path, "expected a file of --metrics, --report or --trace, or a log with steps");
  return absl::OkStatus();
}

} // namespace

std::optional<double> RunFiles::median(std::optional<double> RunStep::*part) const {
  std::vector<double> values;
  for (const auto &[number, step] : steps)
    if (step.*part)
      values.push_back(*(step.*part));
  // The first step includes the setup.
  if (values.size() > 1)
    values.erase(values.begin());
  return values.empty() ? std::nullopt : std::optional(medianOf(std::move(values)));
}

std::optional<double> RunFiles::stepTime() const {
  if (simulatedStep)
    return simulatedStep;
  if (const auto simulated = median(&RunStep::simulated))
    return simulated;
  if (traceEnd > 0)
    return traceEnd;
  return median(&RunStep::host);
}

std::string RunFiles::timeSource() const {
  if (simulatedStep || median(&RunStep::simulated))
    return "devices";
  return traceEnd > 0 ? "trace" : "host";
}

absl::StatusOr<RunFiles> readRun(const std::string &path) {
  RunFiles run;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(path, error))
      if (entry.is_regular_file(error))
        names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());
    for (const std::string &name : names)
      ST_RETURN_IF_ERROR(readOne(name, run, /*skipsOthers=*/true));
    if (!run.stepTime() && run.steps.empty())
      return inFile(path, "holds no file of a run: of --metrics, --report or --trace, or a log");
    return run;
  }
  for (absl::string_view name : absl::StrSplit(path, ','))
    ST_RETURN_IF_ERROR(readOne(std::string(name), run, /*skipsOthers=*/false));
  return run;
}

} // namespace st
