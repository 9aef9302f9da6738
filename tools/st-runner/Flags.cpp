#include "tools/st-runner/Flags.h"
#include "tools/st-runner/OutputPaths.h"

#include "lib/Support/StatusMacros.h"

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

ABSL_FLAG(int64_t, steps, 10, "training steps to run; after --resume as many more");
ABSL_FLAG(int64_t, train_steps, 0,
          "the step at which training is done, counted from the start of all runs, in the place of "
          "--steps");
ABSL_FLAG(std::optional<double>, lr, std::nullopt,
          "peak learning rate; unset: the resumed run's, or the one given to st-compile");
ABSL_FLAG(double, min_lr, 0, "learning rate at the end of the decay");
ABSL_FLAG(std::string, lr_decay_style, "",
          "constant, linear, cosine or inverse-square-root, as in Megatron-LM");
ABSL_FLAG(int64_t, warmup, 0, "steps over which the learning rate rises linearly from 0");
ABSL_FLAG(int64_t, lr_warmup_samples, 0, "the same in samples");
ABSL_FLAG(double, lr_warmup_fraction, 0, "the same as a part of the decay's length");
ABSL_FLAG(int64_t, lr_decay_steps, 0,
          "step from which on the learning rate is --min-lr; unset: --train-steps");
ABSL_FLAG(int64_t, lr_decay_samples, 0, "the same in samples");
ABSL_FLAG(int64_t, total_steps, 0,
          "the learning rate falls linearly to 0, which it would reach one step after this one");
ABSL_FLAG(std::optional<uint32_t>, seed, std::nullopt,
          "seed of initialisation, dropout and data; unset: the checkpoint's, or 0");
ABSL_FLAG(
    std::string, data, "synthetic",
    "synthetic, text:FILE, squad:FILE, megatron:PREFIX (of .bin and .idx), or a .safetensors file "
    "of batches");
ABSL_FLAG(int64_t, eval_interval, 0,
          "evaluates on --valid-data every so many steps; 0: only at the end");
ABSL_FLAG(int64_t, eval_iters, 10, "batches of an evaluation, the same each time");
ABSL_FLAG(std::string, valid_data, "",
          "data, named as those of --data, on which the run evaluates on the way and at its end");
ABSL_FLAG(std::string, test_data, "", "the same for an evaluation at the end");
ABSL_FLAG(bool, eval_only, false, "evaluates the model of --resume or --init, without training");
ABSL_FLAG(std::string, metrics, "", "file for a line of JSON a step");
ABSL_FLAG(std::string, tensorboard, "",
          "folder for TensorBoard's events, a value of each metric a step");
ABSL_FLAG(std::string, log_style, "st", "lines of the steps: st, or megatron for Megatron-LM's");
ABSL_FLAG(int64_t, log_interval, 1, "steps to a line");
ABSL_FLAG(std::string, trace, "", "file for a Perfetto trace of one step");
ABSL_FLAG(std::string, save, "",
          "folder for a checkpoint after the last step, or behind the step in which SIGTERM or "
          "SIGUSR1 comes");
ABSL_FLAG(int64_t, save_interval, 0,
          "saves every so many steps, to folders of --save, and goes on from the newest of them "
          "when it is started again");
ABSL_FLAG(double, save_minutes, 0, "the same, behind the first step after so many minutes");
ABSL_FLAG(int64_t, keep, 0, "of the checkpoints in --save the newest that stay; 0: all");
ABSL_FLAG(int64_t, exit_interval, 0, "ends the run behind a step that this divides");
ABSL_FLAG(double, exit_duration_in_mins, 0,
          "ends the run behind the first step after so many minutes");
ABSL_FLAG(std::string, on_spike, "",
          "what a loss does that is far above the recent ones, NaN or infinite: stop ends the run; "
          "skip restores the newest checkpoint and leaves the batch out; rewind leaves out all "
          "batches since that checkpoint; unset: NaN and infinite losses end the run");
ABSL_FLAG(double, spike_deviations, 10,
          "distance from the median loss, in (robust) standard deviations, that makes a spike");
ABSL_FLAG(int64_t, spike_window, 100, "steps whose losses that median is taken over");
ABSL_FLAG(
    int64_t, restarts, 0,
    "starts the run again when its process is lost, up to so many times in succession without "
    "a later step; needs --save with --save-interval or --save-minutes");
ABSL_FLAG(double, step_timeout, 0,
          "with --restarts: seconds without a completed step after which the run counts as lost; "
          "0: no limit");
ABSL_FLAG(std::string, resume, "",
          "folder of a checkpoint to go on from, of any layout, or of several: from the newest");
ABSL_FLAG(std::string, init, "",
          "Hugging Face folder whose weights the run starts from (model.safetensors)");
ABSL_FLAG(std::string, inputs, "",
          "run once instead of training, on the states and inputs of this .safetensors file");
ABSL_FLAG(std::string, outputs, "", "with --inputs: .safetensors file for outputs and new states");
ABSL_FLAG(int, host_threads, 0, "threads that compute; 0: one a processor");
ABSL_FLAG(std::string, host_isa, "auto",
          "instruction set of the host that computes: auto, baseline, avx2, avx512, avx512-bf16 or "
          "amx; the same choice gives the same bits everywhere");
ABSL_FLAG(bool, timing_only, false,
          "only simulate the time of a step: no data, no memory, no training");
ABSL_FLAG(std::string, time_tasks, "auto",
          "what the simulated time is made of: each task of every device, or each kind of task "
          "once, put together by the schedule; auto: each on up to 64 devices");
ABSL_FLAG(std::vector<std::string>, derate, {},
          "links that are slower than described, as link:NAME:FACTOR of their rate, separated by "
          "commas; a NAME is chip0-chip1, cluster0.1 or group0. The report says what it delays");
ABSL_FLAG(std::string, report, "", "file for what each device does in a step, as JSON");
ABSL_FLAG(double, watchdog, 60, "seconds that one of several processes waits for another one");
ABSL_FLAG(std::string, attention, "cudnn",
          "what computes attention on GPUs: cudnn, where it can, or generated kernels");
ABSL_FLAG(std::string, graphs, "on",
          "on: commands of a step that repeat are given to GPUs as CUDA graphs; off: one by one");
ABSL_FLAG(bool, sync, false,
          "wait for each command of a GPU before the next one is given, without graphs, so that an "
          "error names the command that has failed, its rank and its arguments; slow");
ABSL_FLAG(std::string, products, "timed",
          "how products are computed on GPUs: as is timed to be the fastest when the program is "
          "loaded, or by the first algorithm that cuBLASLt proposes, whose bits repeat");
ABSL_FLAG(std::optional<uint32_t>, drop_message, std::nullopt,
          "for tests: lose this link message of the first step, counted from 0");

namespace st {
namespace {

// The flags that have an effect on each kind of run, by their names on the command line.
const std::set<std::string> kTiming = {"timing-only", "time-tasks", "trace", "report", "derate"};
const std::set<std::string> kOnce = {"inputs",       "outputs",  "init",     "seed",
                                     "host-threads", "host-isa", "watchdog", "drop-message",
                                     "attention",    "graphs",   "sync",     "products"};

// Abseil names flags with underscores; on the command line they are kebab-case.
std::string kebab(absl::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

bool isOurs(const absl::CommandLineFlag &flag) {
  return absl::EndsWith(flag.Filename(), "st-runner/Flags.cpp");
}

// Names of other trainers for the same flag.
const std::map<absl::string_view, absl::string_view> kAliases = {
    {"train-iters", "train-steps"},
    {"max-steps", "train-steps"},
    {"lr-warmup-iters", "warmup"},
    {"lr-warmup-steps", "warmup"},
    {"lr-decay-iters", "lr-decay-steps"},
    {"save-total-limit", "keep"},
    {"load", "resume"},
    {"skip-train", "eval-only"},
    {"valid-data-path", "valid-data"},
    {"test-data-path", "test-data"},
    {"tensorboard-dir", "tensorboard"}};

absl::string_view withoutAlias(absl::string_view name) {
  auto it = kAliases.find(name);
  return it == kAliases.end() ? name : it->second;
}

// The flag of that name on the command line, or null. Abseil's own flags are not offered.
absl::CommandLineFlag *findFlag(absl::string_view name) {
  if (absl::StrContains(name, '_'))
    return nullptr;
  std::string underscored(name);
  std::replace(underscored.begin(), underscored.end(), '-', '_');
  absl::CommandLineFlag *flag = absl::FindCommandLineFlag(underscored);
  return flag && isOurs(*flag) ? flag : nullptr;
}

absl::string_view expectedValue(const absl::CommandLineFlag &flag) {
  if (flag.IsOfType<bool>())
    return "true or false";
  if (flag.IsOfType<std::optional<double>>() || flag.IsOfType<double>())
    return "a number";
  if (flag.IsOfType<std::optional<uint32_t>>())
    return "a whole number from 0 to 4294967295";
  return flag.IsOfType<int>() ? "a whole number below 2147483648"
                              : "a whole number below 9223372036854775808";
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

// Sets the flags and returns which were given. Abseil's own parser takes several
// lines for an error and knows no kebab-case.
absl::StatusOr<std::set<std::string>> parseArguments(int argc, char **argv) {
  std::set<std::string> given;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (!absl::ConsumePrefix(&argument, "--"))
      return absl::InvalidArgumentError(absl::StrCat("unexpected argument \"", argument, "\""));
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(argument, absl::MaxSplits('=', 1));
    const absl::string_view name = withoutAlias(parts.first);
    absl::CommandLineFlag *flag = findFlag(name);
    if (!flag)
      return absl::InvalidArgumentError(
          absl::StrCat("unknown flag --", parts.first, "; --help lists the flags"));
    absl::string_view value = parts.second;
    if (!absl::StrContains(argument, '=')) {
      if (!flag->IsOfType<bool>() && ++i == argc)
        return absl::InvalidArgumentError(absl::StrCat("--", argument, " needs a value"));
      value = flag->IsOfType<bool>() ? "true" : argv[i];
    }
    ST_RETURN_IF_ERROR(setFlag(*flag, parts.first, value));
    given.insert(std::string(name));
  }
  return given;
}

absl::Status checkEffect(const std::set<std::string> &given) {
  const bool isTiming = absl::GetFlag(FLAGS_timing_only);
  const bool isOnce = given.count("inputs") || given.count("outputs");
  for (const std::string &name : given) {
    absl::string_view beside;
    if (isTiming && !kTiming.count(name))
      beside = "--timing-only";
    else if (isOnce && !kOnce.count(name) && name != "timing-only")
      beside = "--inputs";
    else if (isOnce && name == "seed" && !given.count("init"))
      beside = "--inputs without --init";
    if (!beside.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " has no effect with ", beside,
                       isTiming && name == "metrics" ? "; --report has the simulated time" : ""));
  }
  if (given.count("steps") && given.count("train-steps"))
    return absl::InvalidArgumentError("--steps and --train-steps: give one of them");
  for (const char *name : {"spike-deviations", "spike-window"})
    if (given.count(name) && !given.count("on-spike"))
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " has no effect without --on-spike"));
  if (given.count("eval-iters") && !given.count("valid-data") && !given.count("test-data"))
    return absl::InvalidArgumentError(
        "--eval-iters has no effect: give --valid-data or --test-data");
  for (const char *name : {"save", "steps", "train-steps", "eval-interval", "on-spike"})
    if (absl::GetFlag(FLAGS_eval_only) && given.count(name))
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " has no effect with --eval-only"));
  if (given.count("inputs") != given.count("outputs"))
    return absl::InvalidArgumentError("--inputs and --outputs go together");
  return absl::OkStatus();
}

LearningRateOptions learningRateOptions() {
  LearningRateOptions rate;
  rate.peak = absl::GetFlag(FLAGS_lr);
  rate.floor = absl::GetFlag(FLAGS_min_lr);
  rate.style = absl::GetFlag(FLAGS_lr_decay_style);
  rate.warmupSteps = absl::GetFlag(FLAGS_warmup);
  rate.warmupSamples = absl::GetFlag(FLAGS_lr_warmup_samples);
  rate.warmupFraction = absl::GetFlag(FLAGS_lr_warmup_fraction);
  rate.decaySteps = absl::GetFlag(FLAGS_lr_decay_steps);
  rate.decaySamples = absl::GetFlag(FLAGS_lr_decay_samples);
  rate.totalSteps = absl::GetFlag(FLAGS_total_steps);
  return rate;
}

TrainOptions trainOptions(const std::set<std::string> &given) {
  TrainOptions options;
  options.steps = absl::GetFlag(FLAGS_steps);
  options.trainSteps = absl::GetFlag(FLAGS_train_steps);
  options.rate = learningRateOptions();
  options.seed = absl::GetFlag(FLAGS_seed);
  if (given.count("data"))
    options.data = absl::GetFlag(FLAGS_data);
  options.log.metrics = absl::GetFlag(FLAGS_metrics);
  options.log.tensorboard = absl::GetFlag(FLAGS_tensorboard);
  options.log.style = absl::GetFlag(FLAGS_log_style);
  options.log.interval = absl::GetFlag(FLAGS_log_interval);
  options.trace = absl::GetFlag(FLAGS_trace);
  options.report = absl::GetFlag(FLAGS_report);
  options.save = absl::GetFlag(FLAGS_save);
  options.saving.interval = absl::GetFlag(FLAGS_save_interval);
  options.saving.minutes = absl::GetFlag(FLAGS_save_minutes);
  options.saving.keep = absl::GetFlag(FLAGS_keep);
  options.exitInterval = absl::GetFlag(FLAGS_exit_interval);
  options.exitMinutes = absl::GetFlag(FLAGS_exit_duration_in_mins);
  options.spikes.action = absl::GetFlag(FLAGS_on_spike);
  options.spikes.deviations = absl::GetFlag(FLAGS_spike_deviations);
  options.spikes.window = absl::GetFlag(FLAGS_spike_window);
  options.resume = absl::GetFlag(FLAGS_resume);
  options.init = absl::GetFlag(FLAGS_init);
  options.evaluation.interval = absl::GetFlag(FLAGS_eval_interval);
  options.evaluation.batches = absl::GetFlag(FLAGS_eval_iters);
  options.evaluation.validation = absl::GetFlag(FLAGS_valid_data);
  options.evaluation.test = absl::GetFlag(FLAGS_test_data);
  options.evaluation.only = absl::GetFlag(FLAGS_eval_only);
  options.timingOnly = absl::GetFlag(FLAGS_timing_only);
  options.hostThreads = absl::GetFlag(FLAGS_host_threads);
  return options;
}

absl::StatusOr<std::pair<std::string, double>> parseDerate(const std::string &text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  double factor = 0;
  if (parts.size() != 3 || parts[0] != "link" || !absl::SimpleAtod(parts[2], &factor) ||
      !(factor > 0 && factor <= 1))
    return absl::InvalidArgumentError(
        absl::StrCat("--derate=", text,
                     ": expected link:NAME:FACTOR with a factor above 0 and at most 1, "
                     "like link:chip0-chip1:0.5"));
  return std::make_pair(parts[1], factor);
}

absl::StatusOr<ClientOptions> clientOptions() {
  ClientOptions options;
  for (const std::string &text : absl::GetFlag(FLAGS_derate)) {
    ST_ASSIGN_OR_RETURN(options.derates.emplace_back(), parseDerate(text));
  }
  options.hostThreads = absl::GetFlag(FLAGS_host_threads);
  options.hostIsa = absl::GetFlag(FLAGS_host_isa);
  options.timingOnly = absl::GetFlag(FLAGS_timing_only);
  options.timeTasks = absl::GetFlag(FLAGS_time_tasks);
  if (std::optional<uint32_t> message = absl::GetFlag(FLAGS_drop_message))
    options.dropMessage = *message;
  options.attention = absl::GetFlag(FLAGS_attention);
  if (options.attention != "cudnn" && options.attention != "generated")
    return absl::InvalidArgumentError(
        absl::StrCat("--attention=", options.attention, ": expected cudnn or generated"));
  const std::string graphs = absl::GetFlag(FLAGS_graphs);
  if (graphs != "on" && graphs != "off")
    return absl::InvalidArgumentError(absl::StrCat("--graphs=", graphs, ": expected on or off"));
  options.graphs = graphs == "on";
  options.sync = absl::GetFlag(FLAGS_sync);
  options.products = absl::GetFlag(FLAGS_products);
  if (options.products != "timed" && options.products != "first")
    return absl::InvalidArgumentError(
        absl::StrCat("--products=", options.products, ": expected timed or first"));
  return options;
}

} // namespace

void printHelp(absl::string_view tool) {
  std::printf("%s: trains the program that st-compile put into it.\n\nflags:\n",
              std::string(tool).c_str());
  std::map<std::string, absl::CommandLineFlag *> ours;
  for (auto [name, flag] : absl::GetAllFlags())
    if (isOurs(*flag))
      ours[kebab(name)] = flag;
  for (auto [name, flag] : ours) {
    std::string value = flag->DefaultValue();
    std::string suffix = value.empty() ? "" : absl::StrCat(" (default ", value, ")");
    std::printf("  --%-14s %s%s\n", name.c_str(), flag->Help().c_str(), suffix.c_str());
  }
}

absl::StatusOr<RunRequest> parseCommandLine(int argc, char **argv, const std::string &binary) {
  ST_ASSIGN_OR_RETURN(std::set<std::string> given, parseArguments(argc, argv));
  ST_RETURN_IF_ERROR(checkEffect(given));
  RunRequest request;
  request.train = trainOptions(given);
  ST_ASSIGN_OR_RETURN(request.client, clientOptions());
  request.watchdogSeconds = request.client.watchdogSeconds = absl::GetFlag(FLAGS_watchdog);
  request.supervise.restarts = absl::GetFlag(FLAGS_restarts);
  request.supervise.stepSeconds = absl::GetFlag(FLAGS_step_timeout);
  ST_RETURN_IF_ERROR(checkSuperviseOptions(request.supervise));
  if (request.supervise.isOn() && !request.train.saving.isSeries())
    return absl::InvalidArgumentError("--restarts needs --save=DIR and --save-interval or "
                                      "--save-minutes: without checkpoints the run starts anew");
  constexpr double kDay = 24 * 60 * 60;
  if (!(request.watchdogSeconds > 0 && request.watchdogSeconds <= kDay))
    return absl::InvalidArgumentError(absl::StrCat("--watchdog=", request.watchdogSeconds,
                                                   ": expected seconds above 0, at most ", kDay));
  if (given.count("inputs")) {
    request.once.emplace();
    request.once->inputs = absl::GetFlag(FLAGS_inputs);
    request.once->outputs = absl::GetFlag(FLAGS_outputs);
    request.once->init = request.train.init;
    request.once->seed = request.train.seed.value_or(0);
    request.once->hostThreads = request.train.hostThreads;
  }
  ST_RETURN_IF_ERROR(checkOutputPaths(request, binary));
  return request;
}

} // namespace st
