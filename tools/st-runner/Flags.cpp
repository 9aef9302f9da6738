#include "tools/st-runner/Flags.h"
#include "tools/st-runner/OutputPaths.h"
#include "tools/st-runner/RunLog.h"
#include "tools/st-runner/Settings.h"

#include "lib/Support/StatusMacros.h"

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <cstdio>
#include <map>
#include <set>
#include <utility>

ABSL_FLAG(int64_t, steps, 10, "training steps to run; after --resume this number of further steps");
ABSL_FLAG(int64_t, train_steps, 0,
          "the step at which training ends, counted from the start of all runs; replaces --steps");
ABSL_FLAG(int64_t, train_samples, 0, "the same in samples (rows of batches)");
ABSL_FLAG(std::string, rampup_batch_size, "none",
          "START,INCREMENT,SAMPLES: the batch begins with START rows and grows by INCREMENT until "
          "it is full after SAMPLES rows, as in Megatron-LM; st-compile's flag of the same name "
          "compiles the programs and sets it; none: all batches are full");
ABSL_FLAG(std::optional<double>, lr, std::nullopt,
          "peak learning rate; unset: the resumed run's, or the one given to st-compile");
ABSL_FLAG(double, min_lr, 0, "learning rate at the end of the decay");
ABSL_FLAG(std::string, lr_decay_style, "",
          "constant, linear, cosine, inverse-square-root or WSD, as in Megatron-LM");
ABSL_FLAG(std::string, lr_wsd_decay_style, "",
          "with --lr-decay-style=WSD: linear, cosine, exponential or minus_sqrt; unset: "
          "exponential");
ABSL_FLAG(int64_t, lr_wsd_decay_steps, 0,
          "with --lr-decay-style=WSD: the rate is stable until this many steps before the end of "
          "the decay");
ABSL_FLAG(int64_t, lr_wsd_decay_samples, 0, "the same in samples");
ABSL_FLAG(bool, override_lr_scheduler, false,
          "use the flags' learning rate instead of the checkpoint's, without a warning");
ABSL_FLAG(bool, use_checkpoint_lr_scheduler, false,
          "use the checkpoint's learning rate in spite of the flags");
ABSL_FLAG(int64_t, warmup, 0, "steps over which the learning rate rises linearly from 0");
ABSL_FLAG(int64_t, lr_warmup_samples, 0,
          "samples over which the learning rate rises linearly from 0");
ABSL_FLAG(double, lr_warmup_fraction, 0, "--warmup as a fraction of the decay's length");
ABSL_FLAG(int64_t, lr_decay_steps, 0,
          "step at which the learning rate reaches --min-lr; unset: --train-steps");
ABSL_FLAG(int64_t, lr_decay_samples, 0,
          "number of samples after which the learning rate reaches --min-lr");
ABSL_FLAG(int64_t, total_steps, 0,
          "linear decay of the learning rate that reaches 0 one step after this step");
ABSL_FLAG(std::optional<uint32_t>, seed, std::nullopt,
          "seed of initialisation, dropout and data; unset: the checkpoint's, or 0");
ABSL_FLAG(std::string, data, "synthetic",
          "synthetic, text:FILE, jsonl:FILE, squad:FILE, megatron:PREFIX (of .bin and .idx), or a "
          ".safetensors file of batches");
ABSL_FLAG(std::string, split, "1",
          "weights of the documents for training, validation and tests, such as 949,50,1; training "
          "uses the first part");
ABSL_FLAG(double, mask_prob, 0.15, "fraction of the tokens that masked-language training predicts");
ABSL_FLAG(double, short_seq_prob, 0.1,
          "fraction of the samples of masked-language training with a random target length");
ABSL_FLAG(std::string, other_segment, "elsewhere",
          "second segments that do not follow the first: from elsewhere in the text, as in BERT, "
          "or swapped with it, as in Megatron-LM");
ABSL_FLAG(bool, eod_mask_loss, false, "no loss at positions whose input is the end of a document");
ABSL_FLAG(bool, reset_position_ids, false, "positions restart after the end of a document");
ABSL_FLAG(bool, reset_attention_mask, false, "attention does not cross the end of a document");
ABSL_FLAG(bool, prefix_lm, false,
          "a prefix of each sample has attention in both directions and no loss");
ABSL_FLAG(std::string, record_batches, "",
          "file (.safetensors) for the batches of the run, which --data can read");
ABSL_FLAG(int64_t, eval_interval, 0,
          "steps between evaluations on --valid-data, or on the part of --data that --split "
          "assigns to validation; 0: only at the end, if --valid-data or --test-data is given");
ABSL_FLAG(std::string, eval_iters, "10",
          "batches of an evaluation, the same each time; all: every sample of the data");
ABSL_FLAG(std::string, valid_data, "",
          "data, in a form of --data, for evaluations during the run and at its end");
ABSL_FLAG(std::string, test_data, "",
          "data, in a form of --data, for an evaluation at the end of the run");
ABSL_FLAG(bool, eval_only, false, "evaluate the model of --resume or --init, without training");
ABSL_FLAG(std::string, predictions, "",
          "file (JSON) for the answers to the questions of the last evaluation, by their ids, as "
          "SQuAD's evaluation script reads them");
ABSL_FLAG(std::string, metrics, "", "file for a line of JSON per step");
ABSL_FLAG(std::string, tensorboard, "",
          "folder for TensorBoard's events, with a value of each metric per step");
ABSL_FLAG(int64_t, tensorboard_log_interval, 1, "steps between events of --tensorboard");
ABSL_FLAG(bool, log_params_norm, false,
          "log the norm of all parameters with each logged step, as the metric params_norm");
ABSL_FLAG(std::string, log_style, "st",
          "format of the lines of steps: st, or megatron for Megatron-LM's");
ABSL_FLAG(int64_t, log_interval, 1, "steps between logged lines");
ABSL_FLAG(std::string, trace, "", "file for a Perfetto trace of one step");
ABSL_FLAG(std::string, save, "",
          "folder for a checkpoint after the last step, or after the step in which SIGTERM or "
          "SIGUSR1 arrives");
ABSL_FLAG(int64_t, save_interval, 0,
          "steps between checkpoints in folders of --save; a restarted run continues from the "
          "newest one");
ABSL_FLAG(double, save_minutes, 0,
          "minutes between checkpoints in folders of --save: each is saved after the first step "
          "past this time");
ABSL_FLAG(int64_t, keep, 0, "number of newest checkpoints in --save to keep; 0: all");
ABSL_FLAG(bool, async_save, true,
          "write checkpoints while the next steps run; this changes neither files nor losses");
ABSL_FLAG(std::string, save_shard_size, "5GB",
          "largest file of tensors in a checkpoint; a larger model is several files and an index");
ABSL_FLAG(std::string, save_memory, "",
          "host memory of each process for copies of states that the next step changes before they "
          "are written, such as 2GB; unset: the states of one device. The step waits for the rest");
ABSL_FLAG(int64_t, exit_interval, 0,
          "end the run after the first step that is a multiple of this number");
ABSL_FLAG(double, exit_duration_in_mins, 0,
          "end the run after the first step past this number of minutes");
ABSL_FLAG(std::string, on_spike, "",
          "action for a loss that is far above the recent ones, NaN or infinite: stop ends the "
          "run; skip restores the newest checkpoint and skips the batch; rewind skips all batches "
          "since that checkpoint; unset: NaN and infinite losses end the run");
ABSL_FLAG(double, spike_deviations, 10,
          "distance from the median loss, in (robust) standard deviations, of a spike");
ABSL_FLAG(int64_t, spike_window, 100,
          "number of recent steps over which --spike-deviations takes the median");
ABSL_FLAG(double, straggler_factor, 2,
          "with several processes: name a process whose devices compute more than this many times "
          "as long as those of other processes with the same work; 0: none");
ABSL_FLAG(int64_t, straggler_window, 20,
          "steps over which --straggler-factor compares medians; a process is named after two such "
          "windows");
ABSL_FLAG(int64_t, restarts, 0,
          "restart the run when its process is lost, at most this many times in succession "
          "without a later step; needs --save with --save-interval or --save-minutes");
ABSL_FLAG(double, step_timeout, 0,
          "with --restarts: seconds without a completed step after which the run counts as lost; "
          "0: no limit");
ABSL_FLAG(
    std::string, resume, "",
    "folder of a checkpoint to continue from, of any layout; of several checkpoints the newest");
ABSL_FLAG(std::string, load, "",
          "like --resume, but a folder without a checkpoint starts a new run, with a warning");
ABSL_FLAG(bool, finetune, false, "with --load: load only the parameters, and start from step 0");
ABSL_FLAG(bool, no_load_optim, false,
          "with --load: ignore the optimizer's state and initialise it");
ABSL_FLAG(bool, no_load_rng, false, "use the binary's seed instead of the checkpoint's");
ABSL_FLAG(std::string, flags, "",
          "file of flags, written as on the command line; @FILE is the same");
ABSL_FLAG(std::string, replay, "",
          "log of a run to repeat with the same flags, except its outputs; an error if binary, "
          "device or data differ");
ABSL_FLAG(bool, defaults, true, "use the flags that st-compile --megatron stored in this binary");
ABSL_FLAG(std::string, init, "",
          "Hugging Face folder with the initial weights (model.safetensors)");
ABSL_FLAG(std::string, inputs, "",
          "run once instead of training, on the states and inputs of this .safetensors file");
ABSL_FLAG(std::string, outputs, "", "with --inputs: .safetensors file for outputs and new states");
ABSL_FLAG(int, host_threads, 0, "number of computing threads; 0: one per processor");
ABSL_FLAG(std::string, host_isa, "auto",
          "instruction set of the simulation on the host: auto, baseline, avx2, avx512, "
          "avx512-bf16 or amx; the same choice gives the same bits on every host");
ABSL_FLAG(bool, timing_only, false,
          "only simulate the time of a step: no data, no memory, no training");
ABSL_FLAG(std::string, time_tasks, "auto",
          "tasks to simulate for the time: each task of every device, or each kind of task once, "
          "combined by the schedule; auto: each on up to 64 devices");
ABSL_FLAG(std::vector<std::string>, derate, {},
          "links that are slower than described, as link:NAME:FACTOR of their rate, separated by "
          "commas; a NAME is chip0-chip1, cluster0.1 or group0. The report lists the delays");
ABSL_FLAG(std::string, report, "", "file for the work of each device in a step, as JSON");
ABSL_FLAG(double, watchdog, 60, "seconds that one of several processes waits for another one");
ABSL_FLAG(std::string, attention, "cudnn",
          "attention on GPUs: cudnn where it supports the shape, or generated kernels");
ABSL_FLAG(std::string, graphs, "on",
          "on: repeated commands of a step are issued to GPUs as CUDA graphs; off: one by one");
ABSL_FLAG(bool, sync, false,
          "wait for each command of a GPU before the next one is issued, without graphs, so an "
          "error names the failed command, its rank and its arguments; slow");
ABSL_FLAG(std::string, products, "timed",
          "algorithm of products on GPUs: timed, the fastest one measured when the program is "
          "loaded; or first, the first that cuBLASLt proposes, whose results repeat to the bit");
ABSL_FLAG(std::optional<uint32_t>, drop_message, std::nullopt,
          "for tests: lose this link message of the first step, counted from 0");

namespace st {
namespace {

// The flags that have an effect on each kind of run, by their names on the command line.
const std::set<std::string> kTiming = {"timing-only", "time-tasks", "trace",
                                       "report",      "derate",     "flags"};
const std::set<std::string> kOnce = {
    "inputs",       "outputs",   "init",   "seed", "host-threads", "host-isa", "watchdog",
    "drop-message", "attention", "graphs", "sync", "products",     "flags"};

absl::Status checkEffect(const Settings &settings) {
  const std::vector<std::string> names = settings.given();
  const std::set<std::string> given(names.begin(), names.end());
  const bool isTiming = absl::GetFlag(FLAGS_timing_only);
  const bool isOnce = given.count("inputs") || given.count("outputs");
  for (const std::string &name : given) {
    absl::string_view conflicting;
    if (isTiming && !kTiming.count(name))
      conflicting = "--timing-only";
    else if (isOnce && !kOnce.count(name) && name != "timing-only")
      conflicting = "--inputs";
    else if (isOnce && name == "seed" && !given.count("init"))
      conflicting = "--inputs without --init";
    if (!conflicting.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " has no effect with ", conflicting,
                       isTiming && name == "metrics" ? "; --report has the simulated time" : ""));
  }
  if (given.count("steps") && given.count("train-steps"))
    return absl::InvalidArgumentError("--steps and --train-steps: give one of them");
  for (const char *name : {"steps", "train-steps"})
    if (given.count("train-samples") && given.count(name))
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " and --train-samples: give one of them"));
  for (const char *name : {"spike-deviations", "spike-window"})
    if (given.count(name) && !given.count("on-spike"))
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " has no effect without --on-spike"));
  if (given.count("override-lr-scheduler") && given.count("use-checkpoint-lr-scheduler"))
    return absl::InvalidArgumentError(
        "--override-lr-scheduler and --use-checkpoint-lr-scheduler: give one of them");
  const bool evaluates = given.count("eval-interval") || given.count("eval-only") ||
                         given.count("valid-data") || given.count("test-data");
  for (const char *name : {"eval-iters", "predictions"})
    if (given.count(name) && !evaluates)
      return absl::InvalidArgumentError(absl::StrCat(
          "--", name, " has no effect: give --eval-interval, --valid-data or --test-data"));
  for (const char *name :
       {"save", "steps", "train-steps", "train-samples", "eval-interval", "on-spike"})
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
  rate.stableStyle = absl::GetFlag(FLAGS_lr_wsd_decay_style);
  rate.stableDecaySteps = absl::GetFlag(FLAGS_lr_wsd_decay_steps);
  rate.stableDecaySamples = absl::GetFlag(FLAGS_lr_wsd_decay_samples);
  rate.overridesCheckpoint = absl::GetFlag(FLAGS_override_lr_scheduler);
  rate.isCheckpoints = absl::GetFlag(FLAGS_use_checkpoint_lr_scheduler);
  return rate;
}

absl::StatusOr<DataOptions> dataOptions() {
  DataOptions options;
  ST_ASSIGN_OR_RETURN(options.split, Split::parse(absl::GetFlag(FLAGS_split)));
  options.maskProbability = absl::GetFlag(FLAGS_mask_prob);
  options.shortSequenceProbability = absl::GetFlag(FLAGS_short_seq_prob);
  options.masksEndOfDocument = absl::GetFlag(FLAGS_eod_mask_loss);
  options.resetsPositions = absl::GetFlag(FLAGS_reset_position_ids);
  options.resetsAttention = absl::GetFlag(FLAGS_reset_attention_mask);
  options.hasPrefix = absl::GetFlag(FLAGS_prefix_lm);
  for (auto [name, value] : {std::pair("mask-prob", options.maskProbability),
                             std::pair("short-seq-prob", options.shortSequenceProbability)})
    if (!(value >= 0 && value <= 1))
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, "=", value, ": expected a probability, 0 to 1"));
  const std::string other = absl::GetFlag(FLAGS_other_segment);
  if (other != "elsewhere" && other != "swapped")
    return absl::InvalidArgumentError(
        absl::StrCat("--other-segment=", other, ": expected elsewhere or swapped"));
  options.otherSegment = other == "swapped" ? OtherSegment::Swapped : OtherSegment::Elsewhere;
  return options;
}

// The default flags of the binary, without those about text or documents if --data has none.
std::vector<proto::RunFlag> fittingDefaults(const Settings &settings,
                                            std::vector<proto::RunFlag> flags) {
  const std::set<std::string> ofText = {"split",         "mask-prob",  "short-seq-prob",
                                        "eval-interval", "eval-iters", "prefix-lm"};
  const std::set<std::string> ofDocuments = {"eod-mask-loss", "reset-position-ids",
                                             "reset-attention-mask"};
  std::string data = absl::GetFlag(FLAGS_data);
  for (const proto::RunFlag &flag : flags)
    if (flag.name() == "data" && !settings.isGiven("data"))
      data = flag.value();
  const bool hasDocuments = absl::StartsWith(data, "text:") || absl::StartsWith(data, "jsonl:") ||
                            absl::StartsWith(data, "megatron:");
  const bool isText = data == "synthetic" || hasDocuments;
  flags.erase(std::remove_if(flags.begin(), flags.end(),
                             [&](const auto &flag) {
                               return (!isText && ofText.count(flag.name()) != 0) ||
                                      (!hasDocuments && ofDocuments.count(flag.name()) != 0);
                             }),
              flags.end());
  return flags;
}

// Checks the flags that need --save or --load, which the binary may set.
absl::Status checkCheckpoints(const Settings &settings) {
  for (const char *name : {"async-save", "save-shard-size", "save-memory"})
    if (settings.isGiven(name) && !settings.isSet("save"))
      return absl::InvalidArgumentError(absl::StrCat("--", name, " has no effect without --save"));
  if (settings.isGiven("save-memory") && !absl::GetFlag(FLAGS_async_save))
    return absl::InvalidArgumentError("--save-memory has no effect with --async-save=false");
  for (const char *name : {"finetune", "no-load-optim", "no-load-rng"})
    if (settings.isGiven(name) && !settings.isSet("load"))
      return absl::InvalidArgumentError(absl::StrCat("--", name, " has no effect without --load"));
  return absl::OkStatus();
}

// Returns true if only the binary sets the learning rate; a checkpoint's schedule then replaces it.
bool isRateOfBinary(const Settings &settings) {
  for (const char *name :
       {"lr", "min-lr", "lr-decay-style", "warmup", "lr-warmup-samples", "lr-warmup-fraction",
        "lr-decay-steps", "lr-decay-samples", "total-steps", "lr-wsd-decay-style",
        "lr-wsd-decay-steps", "lr-wsd-decay-samples"})
    if (settings.isGiven(name))
      return false;
  return true;
}

LoadOptions loadOptions() {
  LoadOptions load;
  load.folder = absl::GetFlag(FLAGS_load);
  load.finetune = absl::GetFlag(FLAGS_finetune);
  load.withoutOptimizer = absl::GetFlag(FLAGS_no_load_optim);
  load.withoutSeed = absl::GetFlag(FLAGS_no_load_rng);
  return load;
}

// "2GB" or "512MiB" as bytes. Like Hugging Face's libraries, GB is 10^9 and GiB 2^30.
absl::StatusOr<int64_t> parseBytes(absl::string_view flag, const std::string &text) {
  constexpr std::pair<absl::string_view, double> kUnits[] = {
      {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};
  constexpr double kMaxBytes = 1e15;
  absl::string_view digits = text;
  double unit = 1, count = 0;
  for (const auto &[name, bytes] : kUnits)
    if (unit == 1 && absl::ConsumeSuffix(&digits, name))
      unit = bytes;
  if (!absl::SimpleAtod(digits, &count) || !(count * unit >= 1 && count * unit <= kMaxBytes))
    return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", text,
                                                   ": expected bytes, such as 5GB, 500MB or "
                                                   "512MiB"));
  return static_cast<int64_t>(count * unit);
}

// A number of batches, or "all".
absl::StatusOr<int64_t> parseEvaluationBatches(const std::string &text) {
  if (text == "all")
    return EvaluationOptions::kAll;
  int64_t batches = 0;
  if (!absl::SimpleAtoi(text, &batches) || batches < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("--eval-iters=", text, ": expected 1 or more, or all"));
  return batches;
}

absl::Status readSaving(SaveOptions &saving) {
  saving.isAsync = absl::GetFlag(FLAGS_async_save);
  ST_ASSIGN_OR_RETURN(saving.shardBytes,
                      parseBytes("save-shard-size", absl::GetFlag(FLAGS_save_shard_size)));
  if (const std::string memory = absl::GetFlag(FLAGS_save_memory); !memory.empty()) {
    ST_ASSIGN_OR_RETURN(saving.memory, parseBytes("save-memory", memory));
  }
  return absl::OkStatus();
}

TrainOptions trainOptions(const Settings &settings) {
  TrainOptions options;
  options.steps = absl::GetFlag(FLAGS_steps);
  options.trainSteps = absl::GetFlag(FLAGS_train_steps);
  options.trainSamples = absl::GetFlag(FLAGS_train_samples);
  if (const std::string ramp = absl::GetFlag(FLAGS_rampup_batch_size); ramp != "none")
    options.batchRamp = ramp;
  options.rate = learningRateOptions();
  options.rate.isOfBinary = isRateOfBinary(settings);
  options.load = loadOptions();
  options.seed = absl::GetFlag(FLAGS_seed);
  options.isSeedOfBinary = options.seed && !settings.isGiven("seed");
  if (settings.isSet("data"))
    options.data = absl::GetFlag(FLAGS_data);
  options.log.metrics = absl::GetFlag(FLAGS_metrics);
  options.log.tensorboard = absl::GetFlag(FLAGS_tensorboard);
  options.log.eventInterval = absl::GetFlag(FLAGS_tensorboard_log_interval);
  options.log.hasParameterNorm = absl::GetFlag(FLAGS_log_params_norm);
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
  options.stragglers.factor = absl::GetFlag(FLAGS_straggler_factor);
  options.stragglers.window = absl::GetFlag(FLAGS_straggler_window);
  options.resume = absl::GetFlag(FLAGS_resume);
  options.init = absl::GetFlag(FLAGS_init);
  options.recordBatches = absl::GetFlag(FLAGS_record_batches);
  options.evaluation.interval = absl::GetFlag(FLAGS_eval_interval);
  options.evaluation.validation = absl::GetFlag(FLAGS_valid_data);
  options.evaluation.test = absl::GetFlag(FLAGS_test_data);
  if (options.data)
    options.evaluation.training = *options.data;
  options.evaluation.only = absl::GetFlag(FLAGS_eval_only);
  options.log.predictions = absl::GetFlag(FLAGS_predictions);
  options.evaluation.predicts = !options.log.predictions.empty();
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
  for (auto [name, flag] : runnerFlags()) {
    const std::string value = flag->DefaultValue();
    std::string text = flag->Help();
    if (const std::vector<std::string> aliases = aliasesOf(name); !aliases.empty())
      absl::StrAppend(&text, " (also --", absl::StrJoin(aliases, ", --"), ")");
    if (!value.empty())
      absl::StrAppend(&text, " (default ", value, ")");
    std::printf("  --%-14s %s\n", name.c_str(), text.c_str());
  }
}

absl::StatusOr<RunRequest> parseCommandLine(int argc, char **argv, const std::string &binary) {
  Settings settings;
  ST_RETURN_IF_ERROR(settings.parse(argc, argv));
  ST_RETURN_IF_ERROR(checkEffect(settings));
  const bool isTraining = !absl::GetFlag(FLAGS_timing_only) && !settings.isGiven("inputs");
  if (isTraining && absl::GetFlag(FLAGS_defaults))
    ST_RETURN_IF_ERROR(settings.addDefaults(fittingDefaults(settings, defaultFlagsOf(binary))));
  ST_RETURN_IF_ERROR(checkCheckpoints(settings));
  RunRequest request;
  request.flags = printFlags(settings);
  request.replayed = settings.replayed();
  request.isSaveOfBinary = settings.isSet("save") && !settings.isGiven("save");
  request.train = trainOptions(settings);
  ST_RETURN_IF_ERROR(readSaving(request.train.saving));
  ST_ASSIGN_OR_RETURN(request.train.evaluation.batches,
                      parseEvaluationBatches(absl::GetFlag(FLAGS_eval_iters)));
  ST_ASSIGN_OR_RETURN(request.train.samples, dataOptions());
  ST_ASSIGN_OR_RETURN(request.client, clientOptions());
  request.watchdogSeconds = request.client.watchdogSeconds = absl::GetFlag(FLAGS_watchdog);
  request.supervise.restarts = absl::GetFlag(FLAGS_restarts);
  request.supervise.stepSeconds = absl::GetFlag(FLAGS_step_timeout);
  ST_RETURN_IF_ERROR(checkSuperviseOptions(request.supervise));
  if (request.supervise.isEnabled() && !request.train.saving.isSeries())
    return absl::InvalidArgumentError(
        "--restarts needs --save=DIR and --save-interval or "
        "--save-minutes: without checkpoints the run starts from step 0");
  constexpr double kDay = 24 * 60 * 60;
  if (!(request.watchdogSeconds > 0 && request.watchdogSeconds <= kDay))
    return absl::InvalidArgumentError(absl::StrCat("--watchdog=", request.watchdogSeconds,
                                                   ": expected seconds above 0, at most ", kDay));
  if (settings.isGiven("inputs")) {
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
