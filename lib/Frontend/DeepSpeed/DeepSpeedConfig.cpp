//===- DeepSpeedConfig.cpp - A DeepSpeed configuration --------------------===//

#include "lib/Frontend/DeepSpeed/DeepSpeedConfig.h"

#include "lib/Frontend/DeepSpeed/DeepSpeedKeys.h"
#include "lib/Support/JsonDepth.h"
#include "lib/Support/JsonKeys.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <tuple>
#include <vector>

using namespace mlir;
using namespace mlir::st;

using Kind = DeepSpeedKind;
using Status = DeepSpeedStatus;

static std::string shortened(StringRef text) {
  constexpr size_t limit = 60;
  bool isLong = text.size() > limit;
  StringRef start = isLong ? text.take_front(limit) : text;
  return ::st::escapeControls({start.data(), start.size()}) + (isLong ? "..." : "");
}

static std::string printed(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return shortened(text);
}

namespace {
/// Reads one configuration; values are keyed by their full names.
class ConfigReader {
public:
  ConfigReader(StringRef text, StringRef path, TrainingRun &run)
      : text(text), path(path), run(run) {}

  absl::Status read(int64_t devices);

private:
  absl::Status readObject(const llvm::json::Object &object, StringRef prefix);
  absl::Status readValue(const std::string &name, const llvm::json::Value &value);
  absl::Status checkKind(const DeepSpeedKey &key, StringRef name, const llvm::json::Value &value);
  absl::Status checkOff(const DeepSpeedKey &key, StringRef name, const llvm::json::Value &value);

  absl::Status takePrecision();
  absl::Status takeUpdate();
  absl::Status takeZero();
  absl::Status takeLayout(int64_t devices);
  absl::Status takeBatch();

  const llvm::json::Value *find(StringRef name) const {
    auto found = values.find(name);
    return found == values.end() ? nullptr : found->second;
  }
  std::optional<int64_t> integer(StringRef name) const {
    const llvm::json::Value *value = find(name);
    return value ? std::optional(static_cast<int64_t>(value->getAsNumber().value_or(0.0)))
                 : std::nullopt;
  }
  std::optional<double> number(StringRef name) const {
    const llvm::json::Value *value = find(name);
    return value ? value->getAsNumber() : std::nullopt;
  }
  bool flag(StringRef name) const {
    const llvm::json::Value *value = find(name);
    return value && value->getAsBoolean().value_or(false);
  }
  StringRef string(StringRef name) const {
    const llvm::json::Value *value = find(name);
    return value ? value->getAsString().value_or("") : StringRef();
  }

  unsigned lineOf(StringRef name) const;
  absl::Status error(StringRef name, const Twine &message) const {
    std::string place = path.str() + ":" + std::to_string(lineOf(name));
    return absl::InvalidArgumentError(place + ": key '" + shortened(name) + "': " + message.str());
  }

  StringRef text, path;
  TrainingRun &run;
  /// The given values: neither null nor "auto".
  llvm::StringMap<const llvm::json::Value *> values;
};
} // namespace

/// The line of the last part of a key. The parser keeps no positions: this takes the first quoted
/// occurrence after its sections.
unsigned ConfigReader::lineOf(StringRef name) const {
  size_t at = 0;
  for (StringRef part : llvm::split(name, ".")) {
    size_t found = text.find(("\"" + part + "\"").str(), at);
    if (found == StringRef::npos)
      break;
    at = found;
  }
  return static_cast<unsigned>(text.take_front(at).count('\n')) + 1;
}

static bool isGiven(const llvm::json::Value &value) {
  return value.kind() != llvm::json::Value::Null && value.getAsString() != StringRef("auto");
}

absl::Status ConfigReader::checkKind(const DeepSpeedKey &key, StringRef name,
                                     const llvm::json::Value &value) {
  constexpr double exact = 9007199254740992.0; // 2^53
  std::optional<double> number = value.getAsNumber();
  bool isInteger = number && *number == std::floor(*number) && std::fabs(*number) <= exact;
  StringRef expected;
  switch (key.kind) {
  case Kind::Flag:
    expected = value.getAsBoolean() ? "" : "true or false";
    break;
  case Kind::Count:
    expected = isInteger && *number >= 0 ? "" : "an integer from 0 to 2^53";
    break;
  case Kind::Size:
    expected =
        isInteger && *number >= 1 && *number <= INT32_MAX ? "" : "an integer from 1 to 2^31 - 1";
    break;
  case Kind::NonNegative:
    expected = number && std::isfinite(*number) && *number >= 0 ? "" : "a number of at least 0";
    break;
  case Kind::Number:
    expected = number && std::isfinite(*number) ? "" : "a number";
    break;
  case Kind::Text:
    expected = value.getAsString() ? "" : "a string";
    break;
  case Kind::Device: {
    StringRef device = value.getAsString().value_or("");
    bool isKnown = device == "none" || device == "cpu" || device == "nvme";
    expected = isKnown ? "" : R"("none", "cpu" or "nvme")";
    break;
  }
  case Kind::Section:
    expected = value.getAsObject() ? "" : "an object";
    break;
  case Kind::Any:
    break;
  }
  if (expected.empty())
    return absl::OkStatus();
  return error(name, "expected " + expected + ", found " + printed(value));
}

/// Rejects enabled features that cannot be planned.
absl::Status ConfigReader::checkOff(const DeepSpeedKey &key, StringRef name,
                                    const llvm::json::Value &value) {
  if (key.status != Status::Off)
    return absl::OkStatus();
  const llvm::json::Object *section = value.getAsObject();
  // A section without the key is on, except those that DeepSpeed disables by default.
  bool isOn = section ? section->getBoolean("enabled").value_or(key.name == "sparse_attention")
                      : value.getAsBoolean().value_or(value.getAsNumber().value_or(0.0) > 1);
  if (!isOn)
    return absl::OkStatus();
  return error(name, StringRef("expected ") +
                         (section                ? "no such section, or \"enabled\": false"
                          : value.getAsBoolean() ? "false"
                                                 : "at most 1") +
                         ", since " + key.note + ", found " + printed(value));
}

absl::Status ConfigReader::readValue(const std::string &name, const llvm::json::Value &value) {
  const DeepSpeedKey *key = findDeepSpeedKey(name);
  if (!key)
    return absl::InvalidArgumentError(path.str() + ":" + std::to_string(lineOf(name)) +
                                      ": unknown key '" + shortened(name) + "'" +
                                      suggestDeepSpeedKey(name));
  KeyStatus status{KeyStatus::Honoured, name, "", lineOf(name)};
  if (!isGiven(value)) {
    status.reason = kLeftToTheRun;
  } else {
    ST_RETURN_IF_ERROR(checkKind(*key, name, value));
    ST_RETURN_IF_ERROR(checkOff(*key, name, value));
    values[name] = &value;
  }
  if (key->status != Status::Honoured) {
    status.status = KeyStatus::NoEffect;
    status.reason =
        key->status == Status::Off ? "the feature that it configures is off" : key->note.str();
  }
  run.keys.push_back(std::move(status));
  const llvm::json::Object *section = value.getAsObject();
  bool isOpen = StringRef(key->name).ends_with(".*");
  if (section && key->kind == Kind::Section && !isOpen)
    return readObject(*section, name + ".");
  return absl::OkStatus();
}

absl::Status ConfigReader::readObject(const llvm::json::Object &object, StringRef prefix) {
  struct Entry {
    unsigned line;
    std::string name;
    const llvm::json::Value *value;
  };
  // The parser's map is unordered, unlike the text. With more keys than known ones, one is unknown
  // in any order.
  bool sorts = object.size() <= deepSpeedKeys().size();
  std::vector<Entry> entries;
  for (const auto &[key, value] : object) {
    std::string name = (prefix + StringRef(key)).str();
    entries.push_back({sorts ? lineOf(name) : 0, std::move(name), &value});
  }
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.line, a.name) < std::tie(b.line, b.name);
  });
  for (const Entry &entry : entries)
    ST_RETURN_IF_ERROR(readValue(entry.name, *entry.value));
  return absl::OkStatus();
}

absl::Status ConfigReader::takePrecision() {
  bool isF16 = flag("fp16.enabled");
  bool isBF16 = flag("bf16.enabled") || flag("bfloat16.enabled");
  if (isF16 && isBF16)
    return error("fp16", "expected one of fp16 and bf16 to be enabled, found both");
  bool saysF16 = find("fp16.enabled"), saysBF16 = find("bf16.enabled") || find("bfloat16.enabled");
  if (isF16 || isBF16) {
    run.precision = isF16 ? RunPrecision::F16 : RunPrecision::BF16;
    run.reduceType = run.precision;
  } else if ((saysF16 && run.precision == RunPrecision::F16) ||
             (saysBF16 && run.precision == RunPrecision::BF16)) {
    run.precision = run.reduceType = RunPrecision::F32;
  }
  StringRef type = string("communication_data_type");
  if (flag("fp32_allreduce") || type == "fp32")
    run.reduceType = RunPrecision::F32;
  else if (type == "fp16")
    run.reduceType = RunPrecision::F16;
  else if (type == "bf16" || type == "bfp16")
    run.reduceType = RunPrecision::BF16;
  else if (!type.empty())
    return error("communication_data_type",
                 "expected fp32, fp16 or bf16, found " + shortened(type));
  if (std::optional<double> clip = number("gradient_clipping"))
    run.clip = *clip;
  return absl::OkStatus();
}

absl::Status ConfigReader::takeUpdate() {
  if (StringRef type = string("optimizer.type"); !type.empty()) {
    constexpr StringRef known[] = {"Adam", "AdamW", "FusedAdam", "CPUAdam", "DeepSpeedCPUAdam",
                                   "SGD",  "Lamb",  "FusedLamb"};
    const auto *found =
        llvm::find_if(known, [&](StringRef name) { return name.equals_insensitive(type); });
    if (found == std::end(known))
      return error("optimizer.type",
                   "expected one of Adam, AdamW, FusedAdam, CPUAdam, SGD, Lamb, found " +
                       shortened(type));
    StringRef name = *found;
    for (StringRef implementation : {"DeepSpeed", "CPU", "Fused"})
      name.consume_front(implementation);
    run.optimizer = name.lower();
  }
  if (std::optional<double> rate = number("optimizer.params.lr"))
    run.learningRate = *rate;
  if (std::optional<double> peak = number("scheduler.params.warmup_max_lr"))
    run.learningRate = *peak;
  if (std::optional<double> minimum = number("scheduler.params.warmup_min_lr"))
    run.minLearningRate = *minimum;
  if (std::optional<int64_t> steps = integer("scheduler.params.warmup_num_steps"))
    run.warmupIterations = *steps;
  if (std::optional<int64_t> steps = integer("scheduler.params.total_num_steps"))
    run.decayIterations = *steps;
  StringRef schedule = string("scheduler.type");
  if (schedule == "WarmupLR")
    run.decayStyle = "constant";
  else if (schedule == "WarmupDecayLR")
    run.decayStyle = "linear";
  else if (schedule == "WarmupCosineLR")
    run.decayStyle = "cosine";
  else if (!schedule.empty() && schedule != "LRRangeTest" && schedule != "OneCycle")
    return error("scheduler.type", "expected one of WarmupLR, WarmupDecayLR, WarmupCosineLR, "
                                   "LRRangeTest, OneCycle, found " +
                                       shortened(schedule));
  return absl::OkStatus();
}

static RunOffload offloadOf(StringRef device) {
  if (device == "cpu")
    return RunOffload::Host;
  return device == "nvme" ? RunOffload::Disk : RunOffload::None;
}

absl::Status ConfigReader::takeZero() {
  if (std::optional<int64_t> stage = integer("zero_optimization.stage")) {
    if (*stage > 3)
      return error("zero_optimization.stage",
                   "expected a stage from 0 to 3, found " + Twine(*stage));
    run.zeroStage = *stage;
  }
  if (std::optional<int64_t> size = integer("zero_optimization.reduce_bucket_size"))
    run.reduceBucket = *size;
  if (std::optional<int64_t> size = integer("zero_optimization.allgather_bucket_size"))
    run.gatherBucket = *size;
  if (find("zero_optimization.overlap_comm"))
    run.overlapGradientReduction = flag("zero_optimization.overlap_comm");
  if (find("zero_optimization.contiguous_gradients"))
    run.contiguousGradients = flag("zero_optimization.contiguous_gradients");
  run.optimizerOffload = offloadOf(string("zero_optimization.offload_optimizer.device"));
  run.parameterOffload = offloadOf(string("zero_optimization.offload_param.device"));
  if (flag("zero_optimization.cpu_offload"))
    run.optimizerOffload = RunOffload::Host;
  if (flag("zero_optimization.cpu_offload_params"))
    run.parameterOffload = RunOffload::Host;
  if (run.parameterOffload != RunOffload::None && run.zeroStage != 3)
    return error("zero_optimization.offload_param",
                 "expected ZeRO stage 3, since only its parameters are split, found stage " +
                     Twine(run.zeroStage));
  if (run.optimizerOffload != RunOffload::None && run.zeroStage == 0)
    return error("zero_optimization.offload_optimizer",
                 "expected a ZeRO stage from 1 to 3, found stage 0");
  run.autotunes = flag("autotuning.enabled");
  if (flag("activation_checkpointing.partition_activations"))
    run.shardedCheckpoints = true;
  if (flag("activation_checkpointing.cpu_checkpointing"))
    run.checkpointsOnHost = true;
  if (int64_t count = integer("activation_checkpointing.number_checkpoints").value_or(0);
      count > 0 && run.layers > 0) {
    run.recomputation = RunRecomputation::Full;
    run.layersPerCheckpoint = std::max<int64_t>(run.layers / count, 1);
  }
  return absl::OkStatus();
}

/// The product, saturated at the largest number.
static int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  return llvm::MulOverflow(a, b, result) ? INT64_MAX : result;
}

absl::Status ConfigReader::takeLayout(int64_t devices) {
  if (int64_t shards = integer("tensor_parallel.autotp_size").value_or(0); shards > 0)
    run.tensorParallel = shards;
  if (std::optional<double> stages = number("pipeline.stages"); stages && *stages >= 1)
    run.pipelineParallel = static_cast<int64_t>(std::min(*stages, 1e6));
  if (run.worldSize == 0)
    run.worldSize = devices;
  int64_t perReplica = product(run.tensorParallel, run.pipelineParallel);
  if (run.worldSize != 0 && run.worldSize % perReplica != 0)
    return absl::InvalidArgumentError(path.str() +
                                      ": expected a number of devices that is a multiple of " +
                                      std::to_string(run.tensorParallel) + " tensor-parallel x " +
                                      std::to_string(run.pipelineParallel) +
                                      " pipeline stages, found " + std::to_string(run.worldSize));
  if (run.dataParallel == 0 && run.worldSize != 0)
    run.dataParallel = run.worldSize / perReplica;
  return absl::OkStatus();
}

/// The three batch sizes: batch = micro-batch x accumulation x replicas.
absl::Status ConfigReader::takeBatch() {
  constexpr StringRef batchKey = "train_batch_size", microKey = "train_micro_batch_size_per_gpu",
                      stepsKey = "gradient_accumulation_steps";
  int64_t batch = integer(batchKey).value_or(0), micro = integer(microKey).value_or(0),
          steps = integer(stepsKey).value_or(0), replicas = run.dataParallel;
  // Arguments of the run may set values that the configuration omits.
  if (micro == 0 && (batch == 0 || steps == 0))
    micro = run.microBatch;
  if (batch == 0 && steps == 0)
    batch = run.globalBatch;
  if (batch == 0 && micro == 0 && steps == 0)
    return absl::OkStatus();
  bool divides = true;
  std::string found = "train_batch_size " + std::to_string(batch) +
                      ", train_micro_batch_size_per_gpu " + std::to_string(micro) +
                      ", gradient_accumulation_steps " + std::to_string(steps);
  if (replicas == 0 && batch != 0 && micro != 0 && steps != 0) {
    int64_t perReplica = product(micro, steps);
    divides = batch % perReplica == 0;
    replicas = batch / perReplica;
  } else if (batch != 0 && micro == 0 && steps == 0) {
    steps = 1;
  } else if (batch == 0 && steps == 0) {
    steps = 1;
  }
  if (replicas != 0 && divides) {
    if (batch == 0 && micro != 0)
      batch = product(product(micro, steps), replicas);
    int64_t one = micro != 0 ? product(micro, replicas) : product(steps, replicas);
    divides = batch != 0 && batch % one == 0;
    int64_t other = divides ? batch / one : 0;
    if (micro == 0)
      micro = other;
    else if (steps == 0)
      steps = other;
    else
      divides &= steps == other;
  }
  if (!divides) {
    if (replicas != 0)
      found += ", " + std::to_string(replicas) + " replicas";
    return error(integer(batchKey) ? batchKey : microKey,
                 "expected train_batch_size = train_micro_batch_size_per_gpu x "
                 "gradient_accumulation_steps x replicas, found " +
                     found);
  }
  run.globalBatch = batch;
  run.microBatch = micro;
  run.accumulation = steps;
  if (run.dataParallel == 0 && replicas != 0) {
    run.dataParallel = replicas;
    run.worldSize = product(replicas, product(run.tensorParallel, run.pipelineParallel));
  }
  return absl::OkStatus();
}

absl::Status ConfigReader::read(int64_t devices) {
  auto malformed = [&](const Twine &message) {
    return absl::InvalidArgumentError(path.str() + ": " + message.str());
  };
  if (::st::nestsTooDeeply(text))
    return malformed("expected JSON that nests at most " + Twine(::st::kMaxJsonDepth) + " deep");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return malformed("malformed JSON: " + llvm::toString(value.takeError()));
  if (auto repeated = ::st::findRepeatedKey({text.data(), text.size()}))
    return error(repeated->path, "expected it once, found it twice");
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return malformed("expected a JSON object, found " + printed(*value));
  ST_RETURN_IF_ERROR(readObject(*object, ""));
  ST_RETURN_IF_ERROR(takePrecision());
  ST_RETURN_IF_ERROR(takeUpdate());
  ST_RETURN_IF_ERROR(takeZero());
  ST_RETURN_IF_ERROR(takeLayout(devices));
  return takeBatch();
}

absl::Status mlir::st::readDeepSpeedConfig(StringRef json, StringRef path, TrainingRun &run,
                                           int64_t devices) {
  if (run.path.empty())
    run.path = path.str();
  return ConfigReader(json, path, run).read(devices);
}
