//===- Measurements.cpp - Measurements of a Megatron log ------------------===//

#include "lib/Frontend/Megatron/Measurements.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

/// Larger numbers indicate damage; sums and products below it stay exact enough.
constexpr double largest = 1e15;

/// Removes and returns the number at the start of `text`; std::nullopt if there is none.
static std::optional<double> takeNumber(StringRef &text) {
  StringRef rest = text.ltrim();
  StringRef digits =
      rest.take_while([](char c) { return llvm::isDigit(c) || c == '.' || c == '-' || c == '+'; });
  StringRef tail = rest.drop_front(digits.size());
  // An exponent: "1.000E-04".
  if (!digits.empty() && (tail.starts_with_insensitive("e"))) {
    size_t sign = tail.size() > 1 && (tail[1] == '-' || tail[1] == '+');
    StringRef exponent = tail.drop_front(1 + sign).take_while(llvm::isDigit);
    if (!exponent.empty())
      digits = rest.take_front(digits.size() + 1 + sign + exponent.size());
  }
  constexpr size_t longest = 40;
  double number = 0.0;
  if (digits.empty() || digits.size() > longest || digits.getAsDouble(number) ||
      !std::isfinite(number) || std::fabs(number) > largest)
    return std::nullopt;
  text = rest.drop_front(digits.size());
  return number;
}

static std::optional<int64_t> takeInteger(StringRef &text) {
  StringRef rest = text;
  std::optional<double> number = takeNumber(rest);
  if (!number || *number != std::floor(*number))
    return std::nullopt;
  text = rest;
  return static_cast<int64_t>(*number);
}

/// The number that follows `key` in the text.
static std::optional<double> numberAfter(StringRef text, StringRef key) {
  size_t at = text.find(key);
  if (at == StringRef::npos)
    return std::nullopt;
  text = text.drop_front(at + key.size());
  return takeNumber(text);
}

static std::optional<int64_t> integerAfter(StringRef text, StringRef key) {
  std::optional<double> number = numberAfter(text, key);
  if (!number || *number != std::floor(*number))
    return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<double> LoggedTimers::find(StringRef name) const {
  for (const auto &[timer, milliseconds] : timers)
    if (timer == name)
      return milliseconds;
  return std::nullopt;
}

/// `name: 43.42`
static void addTimer(LoggedTimers &timers, StringRef part) {
  auto [name, value] = part.rsplit(':');
  std::optional<double> milliseconds = takeNumber(value);
  if (milliseconds && *milliseconds >= 0 && value.trim().empty() && !name.trim().empty())
    timers.timers.emplace_back(name.trim().str(), *milliseconds);
}

/// `    forward-compute ......: (43.42, 44.01)` of the lines below a heading.
bool LogMeasurements::readTimerLine(StringRef text) {
  auto [name, value] = text.rsplit(':');
  name = name.rtrim();
  if (!name.ends_with("."))
    return false;
  name = name.rtrim('.').trim();
  value = value.ltrim();
  bool isPair = value.consume_front("(");
  std::optional<double> milliseconds = takeNumber(value);
  if (isPair && milliseconds && value.consume_front(","))
    milliseconds = takeNumber(value);
  if (!milliseconds || *milliseconds < 0 || name.empty())
    return false;
  timers.back().timers.emplace_back(name.str(), *milliseconds);
  return true;
}

void LogMeasurements::readIteration(StringRef text, unsigned line) {
  auto [head, rest] = text.split('|');
  if (!head.contains("iteration"))
    return;
  StringRef numbers = head.drop_front(head.find("iteration") + StringRef("iteration").size());
  LoggedIteration result;
  result.line = line;
  std::optional<int64_t> iteration = takeInteger(numbers);
  numbers = numbers.ltrim();
  if (!iteration || !numbers.consume_front("/"))
    return;
  std::optional<int64_t> total = takeInteger(numbers);
  if (!total || *iteration < 0 || *total < 0)
    return;
  result.iteration = *iteration;
  result.total = *total;
  result.consumedSamples = integerAfter(rest, "consumed samples:");
  result.globalBatch = integerAfter(rest, "global batch size:");
  result.elapsed = numberAfter(rest, "elapsed time per iteration (ms):");
  if (std::optional<double> seconds = numberAfter(rest, "elapsed time per iteration (s):"))
    result.elapsed = *seconds * 1000.0;
  result.learningRate = numberAfter(rest, "learning rate:");
  iterations.push_back(result);
}

void LogMeasurements::readMemory(StringRef text, unsigned line) {
  LoggedMemory result;
  result.line = line;
  if (size_t at = text.find("GPU mem:"); at != StringRef::npos) {
    text = text.drop_front(at + StringRef("GPU mem:").size());
    std::optional<double> least = takeNumber(text);
    if (!least || !text.consume_front("MiB"))
      return;
    std::optional<double> most = least;
    text = text.ltrim();
    if (text.consume_front("-")) {
      most = takeNumber(text);
      text.consume_front("MiB");
    }
    if (!most)
      return;
    text = text.ltrim();
    if (text.consume_front("/"))
      result.capacity = takeNumber(text);
    result.least = *least;
    result.most = *most;
    memory.push_back(result);
  } else if (text.contains("memory (MB) |")) {
    if (std::optional<double> reserved = numberAfter(text, "max reserved:")) {
      result.least = result.most = *reserved;
      memory.push_back(result);
    }
  }
}

/// Reads lines printed before the first step.
void LogMeasurements::readSetup(StringRef text, unsigned line) {
  if (text.contains("using world size:")) {
    LoggedLayout result;
    result.line = line;
    result.worldSize = integerAfter(text, "world size:");
    for (StringRef key : {"data-parallel-size:", "data-parallel size:"})
      if (std::optional<int64_t> size = integerAfter(text, key))
        result.dataParallel = size;
    result.tensorParallel = integerAfter(text, "tensor-model-parallel size:");
    result.pipelineParallel = integerAfter(text, "pipeline-model-parallel size:");
    layout = result;
  } else if (text.contains("padded vocab (size:")) {
    std::optional<int64_t> size = integerAfter(text, "padded vocab (size:");
    std::optional<int64_t> padded = integerAfter(text, "(new size:");
    if (size && padded)
      vocabulary = LoggedVocabulary{line, *size, *padded};
  } else {
    for (StringRef key : {"setting number of micro-batches to constant",
                          "setting number of microbatches to constant"})
      if (std::optional<int64_t> count = integerAfter(text, key))
        microBatches = LoggedMicroBatches{line, *count};
  }
}

void LogMeasurements::read(StringRef text, unsigned line) {
  if (isInTimers && readTimerLine(text))
    return;
  isInTimers = false;
  if (size_t at = text.find("time (ms) |"); at != StringRef::npos) {
    LoggedTimers &result = timers.emplace_back();
    result.line = line;
    for (StringRef part : llvm::split(text.drop_front(at).split('|').second, "|"))
      addTimer(result, part);
  } else if (text.contains("time across ranks (ms):")) {
    timers.emplace_back().line = line;
    isInTimers = true;
  } else if (size_t over = text.find("(over "); over != StringRef::npos) {
    StringRef rest = text.drop_front(over);
    std::optional<int64_t> count = integerAfter(rest, "(over");
    std::optional<int64_t> total = integerAfter(rest, "iterations =");
    if (count && total && rest.contains("samples"))
      samples.push_back({line, *count, *total});
  } else if (text.contains("ms per sample")) {
    StringRef rest = text.take_front(text.find("ms per sample")).rtrim();
    rest = rest.substr(rest.find_last_of(" \t:|(") + 1);
    if (std::optional<double> time = takeNumber(rest); time && *time >= 0)
      sampleTimes.push_back({line, *time});
  } else if (text.contains("iteration ") && text.contains("|")) {
    readIteration(text, line);
  } else {
    readMemory(text, line);
    readSetup(text, line);
  }
}

void LogMeasurements::restart() {
  std::optional<LoggedLayout> before = layout;
  *this = LogMeasurements();
  layout = before;
}
