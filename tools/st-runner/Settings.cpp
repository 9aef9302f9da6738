#include "tools/st-runner/Settings.h"
#include "tools/st-runner/FlagFile.h"

#include "lib/Proto/executable.pb.h"
#include "lib/Support/StatusMacros.h"

#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace st {
namespace {

constexpr char kBinary[] = "binary", kCommandLine[] = "command line";

// Megatron-LM's names of the prefixes of token files.
const std::map<absl::string_view, absl::string_view> kDataPaths = {
    {"data-path", "data"},
    {"train-data-path", "data"},
    {"valid-data-path", "valid-data"},
    {"test-data-path", "test-data"}};

// Abseil names flags with underscores; on the command line they are kebab-case.
std::string kebab(absl::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

bool isRunnerFlag(const absl::CommandLineFlag &flag) {
  return absl::EndsWith(flag.Filename(), "st-runner/Flags.cpp");
}

// Names of other trainers for the same flag.
const std::map<absl::string_view, absl::string_view> kAliases = {
    {"train-iters", "train-steps"},
    {"max-steps", "train-steps"},
    {"learning-rate", "lr"},
    {"lr-warmup-iters", "warmup"},
    {"lr-warmup-steps", "warmup"},
    {"warmup-steps", "warmup"},
    {"warmup-ratio", "lr-warmup-fraction"},
    {"lr-decay-iters", "lr-decay-steps"},
    {"lr-wsd-decay-iters", "lr-wsd-decay-steps"},
    {"override-opt-param-scheduler", "override-lr-scheduler"},
    {"use-checkpoint-opt-param-scheduler", "use-checkpoint-lr-scheduler"},
    {"logging-steps", "log-interval"},
    {"logging-dir", "tensorboard"},
    {"lr-scheduler-type", "lr-decay-style"},
    {"output-dir", "save"},
    {"resume-from-checkpoint", "resume"},
    {"save-steps", "save-interval"},
    {"save-total-limit", "keep"},
    {"eval-steps", "eval-interval"},
    {"skip-train", "eval-only"},
    {"tensorboard-dir", "tensorboard"}};

// Flags that exclude each other: a flag that the user gives replaces the default of the binary.
const std::set<std::string> kEither[] = {
    {"steps", "train-steps", "train-samples"},
    {"warmup", "lr-warmup-samples", "lr-warmup-fraction"},
    {"lr-decay-steps", "lr-decay-samples", "total-steps"},
    {"lr-wsd-decay-steps", "lr-wsd-decay-samples"},
    {"resume", "load", "init"},
    {"total-steps", "lr-decay-style"},
    {"total-steps", "min-lr"},
};

// Flags of files that a replayed run does not write again, and flags that a log records otherwise.
const std::set<std::string> kNotReplayed = {
    "save",     "save-interval", "save-minutes",    "keep",        "load",
    "resume",   "async-save",    "save-shard-size", "save-memory", "no-load-rng",
    "metrics",  "tensorboard",   "trace",           "report",      "record-batches",
    "restarts", "step-timeout",  "replay",          "flags",       "seed"};

// The flag of that name on the command line, or null. Abseil's own flags are not offered.
absl::CommandLineFlag *findFlag(absl::string_view name) {
  std::string underscored(name);
  std::replace(underscored.begin(), underscored.end(), '-', '_');
  absl::CommandLineFlag *flag = absl::FindCommandLineFlag(underscored);
  return flag && isRunnerFlag(*flag) ? flag : nullptr;
}

absl::string_view expectedValue(const absl::CommandLineFlag &flag) {
  if (flag.IsOfType<bool>())
    return "true or false";
  if (flag.IsOfType<std::optional<double>>() || flag.IsOfType<double>())
    return "a number";
  if (flag.IsOfType<std::optional<uint32_t>>())
    return "an integer from 0 to 4294967295";
  return flag.IsOfType<int>() ? "an integer below 2147483648"
                              : "an integer below 9223372036854775808";
}

absl::Status setFlag(absl::CommandLineFlag &flag, absl::string_view name, absl::string_view value) {
  // Abseil takes an empty text for an optional flag that is not set.
  if (value.empty() && flag.IsOfType<std::string>())
    return absl::InvalidArgumentError(absl::StrCat("--", name, "=: its value is empty"));
  std::string error;
  if (value.empty() || !flag.ParseFrom(value, &error))
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, "=", value, ": expected ", expectedValue(flag)));
  return absl::OkStatus();
}

// Characters to insert, remove or replace that turn one text into the other (V. Levenshtein, 1966).
size_t editDistance(absl::string_view from, absl::string_view to) {
  std::vector<size_t> row(to.size() + 1); // distances of the part of `from` so far
  std::iota(row.begin(), row.end(), size_t{0});
  for (char c : from) {
    size_t before = row[0]++;
    for (size_t i = 1; i < row.size(); ++i)
      before =
          std::exchange(row[i], std::min({before + (c != to[i - 1]), row[i - 1] + 1, row[i] + 1}));
  }
  return row.back();
}

// The end of an error about an unknown flag.
std::string suggestFlag(absl::string_view spelled) {
  const std::string name = kebab(spelled);
  size_t nearest = name.size() / 3 + 1;
  std::string suggestion;
  auto consider = [&](absl::string_view known) {
    const size_t distance = editDistance(name, known);
    if (distance >= nearest)
      return;
    nearest = distance;
    suggestion = std::string(known);
  };
  for (const auto &[known, flag] : runnerFlags())
    consider(known);
  for (const auto &[alias, flag] : kAliases)
    consider(alias);
  for (const auto &[alias, flag] : kDataPaths)
    consider(alias);
  return suggestion.empty() ? "; --help lists the flags"
                            : absl::StrCat("; did you mean --", suggestion, "?");
}

std::string withoutAlias(absl::string_view spelled) {
  const std::string name = kebab(spelled);
  auto it = kAliases.find(name);
  return it == kAliases.end() ? name : std::string(it->second);
}

} // namespace

absl::Status Settings::set(absl::string_view spelled, absl::string_view value,
                           const std::string &source) {
  std::string name = withoutAlias(spelled);
  std::string prefixed;
  if (const auto it = kDataPaths.find(name); it != kDataPaths.end()) {
    name = std::string(it->second);
    prefixed = absl::StrCat("megatron:", value);
    value = prefixed;
  }
  absl::CommandLineFlag *flag = findFlag(name);
  if (!flag)
    return absl::InvalidArgumentError(
        absl::StrCat("unknown flag --", spelled, suggestFlag(spelled)));
  ST_RETURN_IF_ERROR(setFlag(*flag, spelled, value));
  sources[name] = source;
  return absl::OkStatus();
}

// Abseil's own parser prints errors of several lines and does not support kebab-case.
absl::Status Settings::run(const std::vector<Word> &words) {
  for (size_t i = 0; i < words.size(); ++i) {
    absl::string_view argument = words[i].text;
    const std::string &source = words[i].source;
    auto at = [&](const absl::Status &status) {
      return status.ok() || source == kCommandLine
                 ? status
                 : absl::Status(status.code(), absl::StrCat(source, ": ", status.message()));
    };
    if (!isInFile && absl::ConsumePrefix(&argument, "@")) {
      ST_RETURN_IF_ERROR(addFile(std::string(argument)));
      continue;
    }
    if (!absl::ConsumePrefix(&argument, "--"))
      return at(absl::InvalidArgumentError(absl::StrCat("unexpected argument \"", argument, "\"")));
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(argument, absl::MaxSplits('=', 1));
    const std::string name = withoutAlias(parts.first);
    const absl::CommandLineFlag *flag = findFlag(name);
    absl::string_view value = parts.second;
    if (!absl::StrContains(argument, '=')) {
      const bool isSwitch = flag && flag->IsOfType<bool>();
      if (!isSwitch && (flag || kDataPaths.count(name) != 0) && ++i == words.size())
        return at(absl::InvalidArgumentError(absl::StrCat("--", argument, " needs a value")));
      value = isSwitch ? "true" : absl::string_view(words[std::min(i, words.size() - 1)].text);
    }
    if (isInFile && (name == "flags" || name == "replay"))
      return at(absl::InvalidArgumentError(
          absl::StrCat("--", name, " belongs on the command line, not in a file of flags")));
    ST_RETURN_IF_ERROR(at(set(parts.first, value, source)));
    if (name == "flags")
      ST_RETURN_IF_ERROR(addFile(std::string(value)));
    else if (name == "replay")
      ST_RETURN_IF_ERROR(replay(std::string(value)));
  }
  return absl::OkStatus();
}

absl::Status Settings::parse(int argc, char **argv) {
  std::vector<Word> words;
  for (int i = 1; i < argc; ++i)
    words.push_back({argv[i], kCommandLine});
  return run(words);
}

absl::Status Settings::addFile(const std::string &path) {
  ST_ASSIGN_OR_RETURN(const std::vector<FlagWord> read, readFlagFile(path));
  std::vector<Word> words;
  for (const FlagWord &word : read)
    words.push_back({word.text, absl::StrCat(path, ":", word.line)});
  isInFile = true;
  const absl::Status status = run(words);
  isInFile = false;
  return status;
}

// The flags of the log, except those that the command line gave before.
absl::Status Settings::replay(const std::string &path) {
  ST_ASSIGN_OR_RETURN(const LoggedConfiguration logged, readLoggedConfiguration(path));
  log = path;
  bool isInPart = false;
  for (const auto &[name, value, source, line] : logged.flags) {
    const bool isOfLoad = name == "finetune" || name == "no-load-optim";
    isInPart |= isOfLoad && value == "true";
    if (isSet(name) || kNotReplayed.count(name) || (isOfLoad && logged.resumed.empty()))
      continue;
    const absl::Status status = set(name, value, absl::StrCat("log ", path));
    if (!status.ok())
      return absl::Status(status.code(), absl::StrCat(path, ":", line, ": ", status.message()));
    // A default has a value, but no source set it.
    if (source == "default")
      sources.erase(name);
  }
  if (!logged.seed.empty() && !isSet("seed"))
    ST_RETURN_IF_ERROR(set("seed", logged.seed, absl::StrCat("log ", path)));
  if (logged.resumed.empty())
    return absl::OkStatus();
  return set(isInPart ? "load" : "resume", logged.resumed, absl::StrCat("log ", path));
}

absl::Status Settings::addDefaults(const std::vector<proto::RunFlag> &flags) {
  const std::vector<std::string> names = given();
  for (const proto::RunFlag &flag : flags) {
    auto isRival = [&](const std::set<std::string> &either) {
      return either.count(flag.name()) && std::any_of(names.begin(), names.end(), [&](auto &name) {
               return either.count(name) != 0;
             });
    };
    // A log that is replayed lists the defaults that its run used.
    if (isSet(flag.name()) || !log.empty() ||
        std::any_of(std::begin(kEither), std::end(kEither), isRival))
      continue;
    const absl::Status status = set(flag.name(), flag.value(), kBinary);
    if (!status.ok())
      return absl::Status(status.code(), absl::StrCat("this binary's flags: ", status.message()));
  }
  return absl::OkStatus();
}

bool Settings::isGiven(absl::string_view name) const {
  auto it = sources.find(std::string(name));
  return it != sources.end() && it->second != kBinary;
}

std::vector<std::string> Settings::given() const {
  std::vector<std::string> names;
  for (const auto &[name, source] : sources)
    if (source != kBinary)
      names.push_back(name);
  return names;
}

std::string Settings::sourceOf(const std::string &name) const {
  auto it = sources.find(name);
  return it == sources.end() ? "default" : it->second;
}

std::vector<std::string> aliasesOf(absl::string_view name) {
  std::vector<std::string> aliases;
  for (const auto *names : {&kAliases, &kDataPaths})
    for (const auto &[alias, flag] : *names)
      if (flag == name)
        aliases.emplace_back(alias);
  return aliases;
}

std::map<std::string, absl::CommandLineFlag *> runnerFlags() {
  std::map<std::string, absl::CommandLineFlag *> ours;
  for (auto [name, flag] : absl::GetAllFlags())
    if (isRunnerFlag(*flag))
      ours[kebab(name)] = flag;
  return ours;
}

} // namespace st
