#include "passes/Partition/ParallelConfig.h"
#include "dialects/St/IR/ScheduleKind.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/JsonDepth.h"
#include "lib/Support/JsonKeys.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace mlir::st;

StringRef mlir::st::stringify(ParallelMode mode) {
  switch (mode) {
  case ParallelMode::Sharding:
    return "sharding";
  case ParallelMode::Pipeline:
    return "pipeline";
  case ParallelMode::Hybrid:
    return "hybrid";
  }
  llvm_unreachable("unknown mode");
}

namespace {
/// A device name taken apart.
struct DeviceName {
  bool isGpu;
  int64_t id;
};

class ConfigParser {
public:
  ConfigParser(StringRef path, MLIRContext *context) : context(context) { config.path = path; }

  FailureOr<ParallelConfig> parse(StringRef text);

private:
  LogicalResult refuseUnknownKeys(const llvm::json::Object &object);
  LogicalResult readMode(const llvm::json::Object &object);
  /// An integer of at least 1, or none where the key is absent.
  FailureOr<std::optional<int64_t>> readCount(const llvm::json::Object &object, StringRef key);
  LogicalResult readShardingDim(const llvm::json::Object &object);
  LogicalResult readSequenceParallel(const llvm::json::Object &object);
  LogicalResult readParameterRules(const llvm::json::Object &object);
  LogicalResult readZero(const llvm::json::Object &object);
  LogicalResult readBucketBytes(const llvm::json::Object &object);
  LogicalResult readSchedule(const llvm::json::Object &object);
  LogicalResult readScheduleOrder(const llvm::json::Array &lists);
  LogicalResult readStages(const llvm::json::Object &object);
  LogicalResult readPrecision(const llvm::json::Object &object);
  LogicalResult readFloatType(const llvm::json::Value &value, StringRef key, std::string &type);
  LogicalResult readLossScale(const llvm::json::Object &object);
  LogicalResult readRecompute(const llvm::json::Object &object);
  /// The devices of a shard, one a replica.
  FailureOr<SmallVector<int64_t>> readReplicas(const llvm::json::Value &value, StringRef key);
  LogicalResult readMapping(const llvm::json::Object &object);
  LogicalResult numberDevices(const llvm::json::Object &object);
  LogicalResult readStage(const llvm::json::Object &mapping, int64_t stage);
  FailureOr<DeviceName> readDevice(const llvm::json::Value &value, StringRef key);
  LogicalResult checkDevices();
  LogicalResult reconcile(const llvm::json::Object &object);

  /// An error at the place of `key`.
  InFlightDiagnostic error(StringRef key = "") { return emitError(config.locate(key, context)); }
  /// "<key> is <value>", to be continued.
  InFlightDiagnostic error(StringRef key, const llvm::json::Value &value);

  MLIRContext *context;
  ParallelConfig config;
  std::optional<bool> areGpus;
};
} // namespace

/// In the numbering of devices; how many a chip has is its description's to say.
static constexpr int64_t kClustersPerChip = 4;

static std::string shortened(StringRef text) {
  constexpr size_t longest = 60;
  return text.size() <= longest ? text.str() : text.take_front(longest).str() + "...";
}

static std::string print(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return shortened(text);
}

InFlightDiagnostic ConfigParser::error(StringRef key, const llvm::json::Value &value) {
  return error(key) << key << " is " << print(value);
}

/// Finds the parts of the key, each as a quoted string after the one before.
Location ParallelConfig::locate(StringRef key, MLIRContext *context) const {
  if (path.empty())
    return UnknownLoc::get(context);
  StringRef all = text;
  size_t at = 0;
  SmallVector<StringRef> parts;
  key.split(parts, '.', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (size_t found = all.find(("\"" + part + "\"").str(), at); found != StringRef::npos)
      at = found;
  return locate(at, context);
}

/// A pattern has dots of its own.
Location ParallelConfig::locateRule(StringRef pattern, MLIRContext *context) const {
  size_t found = StringRef(text).find(("\"" + pattern + "\"").str());
  return found == StringRef::npos ? locate("parameters", context) : locate(found, context);
}

Location ParallelConfig::locate(size_t offset, MLIRContext *context) const {
  StringRef before = StringRef(text).take_front(offset);
  unsigned line = before.count('\n') + 1, column = offset - (before.rfind('\n') + 1) + 1;
  return FileLineColLoc::get(context, path, line, column);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

constexpr StringLiteral kKeys[] = {
    "mode",           "sharding_size",  "sharding_dim", "sequence_parallel",
    "parameters",     "stage_cnt",      "accum_degree", "data",
    "expert",         "zero",           "bucket_bytes", "schedule",
    "virtual_stages", "device_mapping", "precision",    "recompute",
    "stages"};

LogicalResult ConfigParser::refuseUnknownKeys(const llvm::json::Object &object) {
  for (const auto &[key, value] : object)
    if (!llvm::is_contained(kKeys, StringRef(key)))
      return error(StringRef(key))
             << "unknown key \"" << shortened(key) << "\" (value " << print(value)
             << "); known are " << llvm::join(ArrayRef(kKeys), ", ");
  return success();
}

LogicalResult ConfigParser::readMode(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("mode");
  if (!value)
    return error() << "mode is missing; expected \"sharding\", \"pipeline\" or \"hybrid\"";
  for (ParallelMode mode : {ParallelMode::Sharding, ParallelMode::Pipeline, ParallelMode::Hybrid})
    if (value->getAsString() == stringify(mode)) {
      config.mode = mode;
      return success();
    }
  return error("mode", *value) << "; expected \"sharding\", \"pipeline\" or \"hybrid\"";
}

FailureOr<std::optional<int64_t>> ConfigParser::readCount(const llvm::json::Object &object,
                                                          StringRef key) {
  const llvm::json::Value *value = object.get(key);
  if (!value)
    return std::optional<int64_t>();
  std::optional<int64_t> count = value->getAsInteger();
  constexpr int64_t largest = 1 << 20;
  if (!count || *count < 1 || *count > largest)
    return error(key, *value) << "; expected an integer from 1 to " << largest;
  return count;
}

LogicalResult ConfigParser::readShardingDim(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("sharding_dim");
  if (!value)
    return success();
  std::optional<int64_t> dim = value->getAsInteger();
  if (dim != 0 && dim != -1 && value->getAsString() != "megatron")
    return error("sharding_dim", *value) << "; expected 0, -1 or \"megatron\"";
  config.shardingDim = dim;
  return success();
}

LogicalResult ConfigParser::readSequenceParallel(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("sequence_parallel");
  if (!value)
    return success();
  std::optional<bool> isOn = value->getAsBoolean();
  config.gatherAgain = value->getAsString() == "gather_again";
  if (!isOn && !config.gatherAgain)
    return error("sequence_parallel", *value) << "; expected true, false or \"gather_again\"";
  config.sequenceParallel = isOn.value_or(true);
  return success();
}

LogicalResult ConfigParser::readParameterRules(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("parameters");
  if (!value)
    return success();
  const llvm::json::Object *rules = value->getAsObject();
  if (!rules)
    return error("parameters", *value)
           << "; expected an object with a sharding for each name pattern";
  for (const auto &[pattern, dims] : *rules) {
    llvm::Expected<ParameterRule> rule = parseParameterRule(pattern, dims);
    if (!rule)
      return emitError(config.locateRule(pattern, context))
             << "parameters." << shortened(pattern) << " is " << print(dims) << "; "
             << llvm::toString(rule.takeError());
    config.parameterRules.push_back(std::move(*rule));
  }
  // Objects have no order; what is said of them should.
  llvm::sort(config.parameterRules,
             [](const ParameterRule &a, const ParameterRule &b) { return a.pattern < b.pattern; });
  return success();
}

LogicalResult ConfigParser::readZero(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("zero");
  if (!value)
    return success();
  std::optional<int64_t> level = value->getAsInteger();
  if (!level || *level < 0 || *level > 3)
    return error("zero", *value) << "; expected 0, 1, 2 or 3";
  config.zero = *level;
  return success();
}

LogicalResult ConfigParser::readBucketBytes(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("bucket_bytes");
  if (!value)
    return success();
  std::optional<int64_t> bytes = value->getAsInteger();
  constexpr int64_t largest = int64_t(1) << 40;
  if (!bytes || *bytes < 0 || *bytes > largest)
    return error("bucket_bytes", *value) << "; expected an integer from 0 to " << largest;
  config.bucketBytes = bytes;
  return success();
}

LogicalResult ConfigParser::readSchedule(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("schedule");
  if (!value)
    return success();
  if (const llvm::json::Array *lists = value->getAsArray())
    return readScheduleOrder(*lists);
  std::optional<StringRef> name = value->getAsString();
  if (!name || name == "listed" || !parseScheduleKind(*name))
    return error("schedule", *value)
           << "; expected " << getScheduleNames() << ", or a list of tasks for each stage";
  config.schedule = name->str();
  return success();
}

LogicalResult ConfigParser::readStages(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("stages");
  if (!value)
    return success();
  const llvm::json::Array *list = value->getAsArray();
  if (!list)
    return error("stages", *value)
           << "; expected a list with the layer at which each stage but the first begins";
  for (auto [i, entry] : llvm::enumerate(*list)) {
    std::optional<StringRef> pattern = entry.getAsString();
    if (!pattern || pattern->empty())
      return error("stages") << "stages[" << i << "] is " << print(entry)
                             << "; expected a pattern of a layer's name";
    if (auto glob = createNamePattern(*pattern); !glob)
      return error("stages") << "stages[" << i << "] is " << print(entry) << "; "
                             << llvm::toString(glob.takeError());
    config.stageStarts.push_back(pattern->str());
  }
  return success();
}

LogicalResult ConfigParser::readRecompute(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("recompute");
  if (!value)
    return success();
  constexpr StringLiteral expected =
      "; expected \"none\", \"selective\", \"full\", \"fit\" or {\"bytes\": <integer from 0>}";
  if (const llvm::json::Object *budget = value->getAsObject()) {
    std::optional<int64_t> bytes = budget->getInteger("bytes");
    if (!bytes || *bytes < 0 || budget->size() != 1)
      return error("recompute", *value) << expected;
    config.recompute = {RecomputePolicy::Budget, *bytes};
    return success();
  }
  std::optional<StringRef> name = value->getAsString();
  std::optional<RecomputePolicy> policy = parseRecomputePolicy(name.value_or(""));
  if (!policy || policy->kind == RecomputePolicy::Budget)
    return error("recompute", *value) << expected;
  config.recompute = *policy;
  return success();
}

/// The order in which each group of devices runs its tasks.
LogicalResult ConfigParser::readScheduleOrder(const llvm::json::Array &lists) {
  config.schedule = "listed";
  for (auto [group, value] : llvm::enumerate(lists)) {
    const llvm::json::Array *list = value.getAsArray();
    if (!list)
      return error("schedule") << "schedule[" << group << "] is " << print(value)
                               << "; expected a list of tasks";
    SmallVector<ScheduledUnit> &order = config.scheduleOrder.emplace_back();
    for (const llvm::json::Value &entry : *list) {
      std::optional<StringRef> text = entry.getAsString();
      std::optional<ScheduledUnit> unit = text ? parseUnit(*text) : std::nullopt;
      if (!unit)
        return error("schedule") << "schedule[" << group << "] has " << print(entry)
                                 << "; expected F, B or W and a micro-batch, as in \"F0\", with a "
                                    "virtual stage \"F1.0\"";
      order.push_back(*unit);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

LogicalResult ConfigParser::readFloatType(const llvm::json::Value &value, StringRef key,
                                          std::string &type) {
  std::optional<StringRef> name = value.getAsString();
  if (!name || !llvm::is_contained({"f32", "bf16", "f16"}, *name))
    return error(key, value) << "; expected \"f32\", \"bf16\" or \"f16\"";
  type = name->str();
  return success();
}

/// Gradients of f16 need a scale; others may have one.
LogicalResult ConfigParser::readLossScale(const llvm::json::Object &object) {
  constexpr StringLiteral key = "precision.loss_scale";
  const llvm::json::Value *value = object.get("loss_scale");
  PrecisionConfig &precision = *config.precision;
  if (!value) {
    if (precision.compute == "f16")
      precision.lossScale = "dynamic";
    return success();
  }
  std::optional<double> number = value->getAsNumber();
  auto single = static_cast<float>(number.value_or(0));
  bool isScale = std::isnormal(single) && single > 0;
  if (!isScale && value->getAsString() != "dynamic")
    return error(key, *value) << "; expected \"dynamic\" or a positive number that 32 bits hold";
  if (precision.compute == "f32")
    return error(key, *value)
           << ", but precision.compute is \"f32\", whose gradients need no scale";
  precision.lossScale = "dynamic";
  if (isScale) {
    precision.lossScale.clear();
    llvm::raw_string_ostream(precision.lossScale) << llvm::format("%.17g", *number);
  }
  return success();
}

/// One type is that of the computation.
LogicalResult ConfigParser::readPrecision(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("precision");
  if (!value)
    return success();
  PrecisionConfig &precision = config.precision.emplace();
  if (value->getAsString()) {
    if (failed(readFloatType(*value, "precision", precision.compute)))
      return failure();
    return readLossScale({});
  }
  const llvm::json::Object *fields = value->getAsObject();
  if (!fields)
    return error("precision", *value)
           << "; expected \"f32\", \"bf16\" or \"f16\", or an object with compute, reduce and "
              "loss_scale";
  for (const auto &[key, field] : *fields)
    if (!llvm::is_contained({"compute", "reduce", "loss_scale"}, StringRef(key)))
      return error(("precision." + StringRef(key)).str())
             << "precision has an unknown key \"" << shortened(key) << "\" (value " << print(field)
             << "); known are compute, reduce, loss_scale";
  if (const llvm::json::Value *compute = fields->get("compute"))
    if (failed(readFloatType(*compute, "precision.compute", precision.compute)))
      return failure();
  if (const llvm::json::Value *reduce = fields->get("reduce"))
    if (failed(readFloatType(*reduce, "precision.reduce", precision.reduce)))
      return failure();
  return readLossScale(*fields);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

std::string ParallelConfig::keyOf(size_t stage, size_t device) const {
  if (isNumbered)
    return "device_mapping";
  return llvm::formatv("device_mapping.stage_{0}.shard_{1}", stage, device % shardCount());
}

FailureOr<DeviceName> ConfigParser::readDevice(const llvm::json::Value &value, StringRef key) {
  std::optional<StringRef> name = value.getAsString();
  DeviceName device;
  StringRef id = name.value_or("");
  if (id.consume_front("GPU:"))
    device.isGpu = true;
  else if (id.consume_front("/device:XLA_DTU:"))
    device.isGpu = false;
  else
    return error(key, value) << "; expected a device name, /device:XLA_DTU:<id> or GPU:<id>";
  constexpr int64_t largest = 1 << 24;
  if (id.empty() || !llvm::all_of(id, llvm::isDigit) || id.getAsInteger(10, device.id) ||
      device.id > largest)
    return error(key, value) << "; expected a number from 0 to " << largest
                             << " after the last colon";
  // Of the five ids of a chip the last one is no cluster of its own.
  constexpr int64_t idsPerChip = kClustersPerChip + 1;
  if (!device.isGpu && device.id % idsPerChip == kClustersPerChip)
    return error(key, value) << ", which names no cluster: chip " << device.id / idsPerChip
                             << " has ids " << device.id - 4 << " to " << device.id - 1;
  if (areGpus.value_or(device.isGpu) != device.isGpu)
    return error(key, value) << ", but the devices before it are of the other kind";
  areGpus = device.isGpu;
  return device;
}

/// The number n of the key "<prefix>n" written without leading zeros, if it is one.
static std::optional<int64_t> indexIn(StringRef key, StringRef prefix) {
  int64_t index;
  if (!key.consume_front(prefix) || key.empty() || !llvm::all_of(key, llvm::isDigit) ||
      key.getAsInteger(10, index) || Twine(index).str() != key)
    return std::nullopt;
  return index;
}

FailureOr<SmallVector<int64_t>> ConfigParser::readReplicas(const llvm::json::Value &value,
                                                           StringRef key) {
  const llvm::json::Array *list = value.getAsArray();
  if (config.dataCount == 1) {
    FailureOr<DeviceName> name = readDevice(value, key);
    if (failed(name))
      return failure();
    return SmallVector<int64_t>{name->id};
  }
  if (!list || list->size() != static_cast<size_t>(config.dataCount))
    return error(key, value) << "; expected a list of " << config.dataCount
                             << " devices, one a replica (data)";
  SmallVector<int64_t> ids;
  for (const llvm::json::Value &entry : *list) {
    FailureOr<DeviceName> name = readDevice(entry, key);
    if (failed(name))
      return failure();
    ids.push_back(name->id);
  }
  return ids;
}

LogicalResult ConfigParser::readStage(const llvm::json::Object &mapping, int64_t stage) {
  std::string key = ("device_mapping.stage_" + Twine(stage)).str();
  const llvm::json::Value *value = mapping.get(("stage_" + Twine(stage)).str());
  if (!value)
    return error("device_mapping")
           << key << " is missing, though device_mapping has " << mapping.size() << " stages";
  const llvm::json::Object *shards = value->getAsObject();
  if (!shards || shards->empty())
    return error(key, *value) << "; expected an object with shard_0, shard_1, ...";
  for (const auto &[name, device] : *shards)
    if (!indexIn(StringRef(name), "shard_"))
      return error((key + "." + StringRef(name)).str())
             << key << " has an unknown key \"" << shortened(name) << "\" (value " << print(device)
             << "); expected shard_<j>";
  size_t replicas = config.dataCount;
  SmallVector<int64_t> &devices = config.devices.emplace_back(shards->size() * replicas);
  for (size_t shard = 0; shard < shards->size(); ++shard) {
    std::string shardKey = (Twine(key) + ".shard_" + Twine(shard)).str();
    const llvm::json::Value *device = shards->get(("shard_" + Twine(shard)).str());
    if (!device)
      return error(key) << shardKey << " is missing, though " << key << " has " << shards->size()
                        << " shards";
    FailureOr<SmallVector<int64_t>> ids = readReplicas(*device, shardKey);
    if (failed(ids))
      return failure();
    for (auto [replica, id] : llvm::enumerate(*ids))
      devices[replica * shards->size() + shard] = id;
  }
  if (devices.size() != config.devices[0].size())
    return error(key) << key << " has " << shards->size()
                      << " shards, but device_mapping.stage_0 has " << config.shardCount()
                      << "; expected as many in every stage";
  return success();
}

/// A device may hold several shards of one stage, and is in no other stage.
LogicalResult ConfigParser::checkDevices() {
  config.onGpus = *areGpus;
  DenseMap<int64_t, std::pair<size_t, size_t>> seen;
  for (auto [stage, devices] : llvm::enumerate(config.devices))
    for (auto [place, id] : llvm::enumerate(devices)) {
      auto [it, isNew] = seen.try_emplace(id, stage, place);
      if (isNew || it->second.first == stage)
        continue;
      std::string key = config.keyOf(stage, place);
      return error(key) << key << " is \"" << (*areGpus ? "GPU:" : "/device:XLA_DTU:") << id
                        << "\", which " << config.keyOf(it->second.first, it->second.second)
                        << " already names; expected a device in one stage";
    }
  return success();
}

/// Without a mapping: clusters in their order, the shards of a replica next to each other, then the
/// replicas of a stage, as Megatron-LM numbers its ranks.
LogicalResult ConfigParser::numberDevices(const llvm::json::Object &object) {
  FailureOr<std::optional<int64_t>> shards = readCount(object, "sharding_size"),
                                    stages = readCount(object, "stage_cnt");
  if (failed(shards) || failed(stages))
    return failure();
  constexpr int64_t most = 1 << 20;
  int64_t perStage, all;
  if (llvm::MulOverflow(shards->value_or(1), config.dataCount, perStage) ||
      llvm::MulOverflow(perStage, stages->value_or(1), all) || all > most)
    return error("data") << "data is " << config.dataCount << ", sharding_size "
                         << shards->value_or(1) << " and stage_cnt " << stages->value_or(1)
                         << "; expected at most " << most << " devices in all";
  config.isNumbered = true;
  config.devices.assign(stages->value_or(1), SmallVector<int64_t>(perStage));
  int64_t cluster = 0;
  for (SmallVector<int64_t> &stage : config.devices)
    for (int64_t &id : stage) {
      id = cluster + cluster / kClustersPerChip; // the fifth id of a chip is no cluster
      ++cluster;
    }
  return success();
}

LogicalResult ConfigParser::readMapping(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("device_mapping");
  if (!value && object.get("data"))
    return numberDevices(object);
  if (!value)
    return error() << "device_mapping is missing; expected an object with stage_0, stage_1, ...";
  const llvm::json::Object *mapping = value->getAsObject();
  if (!mapping || mapping->empty())
    return error("device_mapping", *value) << "; expected an object with stage_0, stage_1, ...";
  for (const auto &[key, stage] : *mapping)
    if (!indexIn(StringRef(key), "stage_"))
      return error(("device_mapping." + StringRef(key)).str())
             << "device_mapping has an unknown key \"" << shortened(key) << "\" (value "
             << print(stage) << "); expected stage_<i>";
  config.devices.clear();
  for (size_t stage = 0; stage < mapping->size(); ++stage)
    if (failed(readStage(*mapping, stage)))
      return failure();
  return checkDevices();
}

/// The mapping is the truth; scalars that say otherwise get a warning.
LogicalResult ConfigParser::reconcile(const llvm::json::Object &object) {
  auto compare = [&](StringRef key, int64_t mapped, StringRef what) -> LogicalResult {
    FailureOr<std::optional<int64_t>> count = readCount(object, key);
    if (failed(count))
      return failure();
    if (*count && **count != mapped)
      emitWarning(config.locate(key, context))
          << key << " is " << **count << ", but device_mapping has " << mapped << " " << what
          << "; going by the mapping";
    return success();
  };
  if (failed(compare("sharding_size", config.shardCount(), "shards a stage")) ||
      failed(compare("stage_cnt", config.stageCount(), "stages")))
    return failure();
  if (config.mode == ParallelMode::Pipeline && config.shardCount() > 1)
    return error("mode")
           << "mode is \"pipeline\", but device_mapping has " << config.shardCount()
           << " shards a stage (sharding_size); layers cut into shards and pipelined are "
              "mode \"hybrid\"";
  return success();
}

FailureOr<ParallelConfig> ConfigParser::parse(StringRef text) {
  config.text = text.str();
  if (::st::nestsTooDeeply(text))
    return error() << "expected JSON that nests at most " << ::st::kMaxJsonDepth << " deep";
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json) {
    error() << "malformed JSON: " << llvm::toString(json.takeError());
    return failure();
  }
  if (auto repeated = ::st::findRepeatedKey(text))
    return emitError(config.locate(repeated->offset, context))
           << "key \"" << shortened(repeated->path) << "\" stands there twice";
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return error() << "expected a JSON object, found " << print(*json);
  if (failed(refuseUnknownKeys(*object)) || failed(readMode(*object)) ||
      failed(readShardingDim(*object)) || failed(readSequenceParallel(*object)) ||
      failed(readParameterRules(*object)))
    return failure();
  FailureOr<std::optional<int64_t>> accumDegree = readCount(*object, "accum_degree"),
                                    data = readCount(*object, "data"),
                                    expert = readCount(*object, "expert"),
                                    virtualStages = readCount(*object, "virtual_stages");
  if (failed(accumDegree) || failed(data) || failed(expert) || failed(virtualStages) ||
      failed(readZero(*object)) || failed(readBucketBytes(*object)) ||
      failed(readSchedule(*object)) || failed(readPrecision(*object)) ||
      failed(readRecompute(*object)) || failed(readStages(*object)))
    return failure();
  config.dataCount = data->value_or(1);
  config.expertCount = expert->value_or(1);
  if (config.dataCount % config.expertCount != 0)
    return error("expert") << "expert is " << config.expertCount << ", which does not divide data "
                           << config.dataCount;
  config.virtualStages = virtualStages->value_or(0);
  if (failed(readMapping(*object)) || failed(reconcile(*object)))
    return failure();
  config.accumDegree = accumDegree->value_or(1);
  return std::move(config);
}

FailureOr<ParallelConfig> mlir::st::parseParallelConfig(StringRef json, StringRef path,
                                                        MLIRContext *context) {
  return ConfigParser(path, context).parse(json);
}

FailureOr<ParallelConfig> mlir::st::loadParallelConfig(StringRef path, MLIRContext *context) {
  auto text = ::st::readInputFile(path.str(), ::st::kMaxConfigBytes);
  if (!text.ok())
    return emitError(FileLineColLoc::get(context, path, 1, 1))
           << "cannot read the parallel config: " << std::string(text.status().message());
  return parseParallelConfig(*text, path, context);
}
