#include "tools/st-tune/Figures.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"

#include <cmath>
#include <vector>

using namespace mlir::st;
using llvm::StringRef;

namespace {

/// Times of each step, including the first one.
struct StepTimes {
  std::vector<double> simulated, wall; ///< milliseconds
};

} // namespace

static absl::Status notFound(const std::string &what) { return absl::NotFoundError(what); }

static double meanFrom(const std::vector<double> &values, size_t first) {
  double sum = 0;
  for (size_t i = first; i < values.size(); ++i)
    sum += values[i];
  return sum / static_cast<double>(values.size() - first);
}

static absl::StatusOr<InStepTime> summarise(const StepTimes &times) {
  const bool isSimulated = !times.simulated.empty();
  if (!isSimulated && times.wall.size() < 2)
    return notFound(
        absl::StrCat("expected the times of at least two steps, found ", times.wall.size()));
  const double ms = isSimulated ? meanFrom(times.simulated, 0) : meanFrom(times.wall, 1);
  if (!(ms > 0))
    return notFound("the steps are too short for the clock");
  return InStepTime{ms, isSimulated};
}

absl::StatusOr<InStepTime> mlir::st::readMetrics(StringRef text) {
  StepTimes times;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
    if (!value) {
      llvm::consumeError(value.takeError());
      return notFound("a line of the metrics is no JSON");
    }
    const llvm::json::Object *step = value->getAsObject();
    std::optional<double> wall = step ? step->getNumber("host_s") : std::nullopt;
    if (!wall)
      return notFound("a line of the metrics has no host_s");
    if (std::optional<double> simulated = step->getNumber("sim_ms"))
      times.simulated.push_back(*simulated);
    times.wall.push_back((*wall - step->getNumber("data_s").value_or(0)) * 1e3);
  }
  return summarise(times);
}

absl::StatusOr<InStepTime> mlir::st::readReport(StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return notFound("the report is no JSON");
  }
  const llvm::json::Object *report = value->getAsObject();
  const std::optional<double> ms = report ? report->getNumber("sim_ms") : std::nullopt;
  if (!ms)
    return notFound("the report has no sim_ms");
  return InStepTime{*ms, true};
}

absl::StatusOr<InStepTime> mlir::st::readPrintedSteps(StringRef text) {
  const llvm::Regex timedStep("^simulated step ([0-9.]+) ms"),
      step("^step [0-9]+  loss [^ ]+  (sim ([0-9.]+) ms  )?host ([0-9.]+) s");
  StepTimes times;
  llvm::SmallVector<StringRef> lines, groups;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  double value = 0;
  for (StringRef line : lines) {
    if (timedStep.match(line, &groups) && !groups[1].getAsDouble(value))
      return InStepTime{value, true};
    if (!step.match(line, &groups))
      continue;
    if (!groups[2].empty() && !groups[2].getAsDouble(value))
      times.simulated.push_back(value);
    if (!groups[3].getAsDouble(value))
      times.wall.push_back(value * 1e3);
  }
  return summarise(times);
}

absl::StatusOr<FigurePattern> FigurePattern::parse(const std::string &flag,
                                                   const std::string &regex) {
  std::string error;
  llvm::Regex compiled(regex);
  if (!compiled.isValid(error))
    return absl::InvalidArgumentError(absl::StrCat(flag, "=", regex, ": ", error));
  if (compiled.getNumMatches() != 1)
    return absl::InvalidArgumentError(absl::StrCat(
        flag, "=", regex, ": expected one group in parentheses, which holds the number, found ",
        compiled.getNumMatches()));
  FigurePattern pattern;
  pattern.flag = flag;
  pattern.regex = regex;
  return pattern;
}

absl::StatusOr<std::optional<double>> FigurePattern::find(StringRef text) const {
  const llvm::Regex compiled(regex);
  std::optional<std::string> found;
  llvm::SmallVector<StringRef> groups;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    if (compiled.match(text.substr(0, end), &groups))
      found = groups[1].str();
    text = text.substr(end + 1);
  }
  if (!found)
    return std::optional<double>();
  double value = 0;
  if (StringRef(*found).getAsDouble(value) || !(value > 0) || !std::isfinite(value))
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": expected a number above 0, found \"", *found, "\""));
  return std::optional<double>(value);
}

std::optional<FigureUnit> mlir::st::parseFigureUnit(StringRef name) {
  if (name == "samples/s")
    return FigureUnit::SamplesPerSecond;
  if (name == "tokens/s")
    return FigureUnit::TokensPerSecond;
  if (name == "ms")
    return FigureUnit::Milliseconds;
  if (name == "s")
    return FigureUnit::Seconds;
  return std::nullopt;
}

double mlir::st::toSamplesPerSecond(double figure, FigureUnit unit, int64_t batch,
                                    int64_t sequence) {
  switch (unit) {
  case FigureUnit::SamplesPerSecond:
    return figure;
  case FigureUnit::TokensPerSecond:
    return figure / static_cast<double>(sequence);
  case FigureUnit::Milliseconds:
    return static_cast<double>(batch) / figure * 1e3;
  case FigureUnit::Seconds:
    return static_cast<double>(batch) / figure;
  }
  return 0;
}
