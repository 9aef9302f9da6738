#include "dialects/St/IR/ShardingUtils.h"
#include "passes/Partition/Config/ConfigParser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::st;

/// The number of clusters of a chip in device ids. The device description has the actual number.
static constexpr int64_t kClustersPerChip = 4;

static constexpr int64_t kMaxDevices = 1 << 20;

std::string ParallelConfig::keyOf(size_t stage, size_t device) const {
  if (isNumbered)
    return "device_mapping";
  return llvm::formatv("device_mapping.stage_{0}.shard_{1}", stage, device % shardCount());
}

void ParallelConfig::keepForwardOnly() {
  if (schedule == "listed")
    schedule = virtualStages > 1 ? "interleaved" : "gpipe";
  scheduleOrder.clear();
  if (precision)
    precision->lossScale = "none";
}

void ParallelConfig::numberDevices(int64_t stages, int64_t devicesPerStage) {
  isNumbered = true;
  devices.assign(stages, SmallVector<int64_t>(devicesPerStage));
  int64_t cluster = 0;
  for (SmallVector<int64_t> &stage : devices)
    for (int64_t &id : stage) {
      id = cluster + cluster / kClustersPerChip; // the fifth id of a chip is not a cluster
      ++cluster;
    }
}

LogicalResult ParallelConfig::followMesh(ModuleOp module) {
  if (!followsMesh)
    return success();
  MeshOp mesh = getMesh(module);
  if (!mesh && !path.empty())
    return emitError(locate("", module.getContext()))
           << "device_mapping is missing; expected an object with stage_0, stage_1, ...";
  if (!mesh || hasShardCount)
    return success();
  int64_t all;
  if (llvm::MulOverflow(mesh.getNumDevices(), stageCount(), all) || all > kMaxDevices)
    return emitError(locate("stage_cnt", module.getContext()))
           << "the program's mesh has " << mesh.getNumDevices() << " devices and stage_cnt is "
           << stageCount() << "; expected at most " << kMaxDevices << " devices in all";
  numberDevices(stageCount(), mesh.getNumDevices());
  return success();
}

void ParallelConfig::numberGpus() {
  onGpus = true;
  int64_t gpu = 0;
  for (SmallVector<int64_t> &stage : devices)
    for (int64_t &id : stage)
      id = gpu++;
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
  // The last of a chip's five ids is not a cluster.
  constexpr int64_t idsPerChip = kClustersPerChip + 1;
  if (!device.isGpu && device.id % idsPerChip == kClustersPerChip)
    return error(key, value) << ", which names no cluster: chip " << device.id / idsPerChip
                             << " has ids " << device.id - 4 << " to " << device.id - 1;
  if (areGpus.value_or(device.isGpu) != device.isGpu)
    return error(key, value) << ", but the devices before it are of the other kind";
  areGpus = device.isGpu;
  return device;
}

/// The number n of the key "<prefix>n" without leading zeros, if it is one.
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
  if (config.holderCount() == 1) {
    FailureOr<DeviceName> name = readDevice(value, key);
    if (failed(name))
      return failure();
    return SmallVector<int64_t>{name->id};
  }
  if (!list || list->size() != static_cast<size_t>(config.holderCount())) {
    InFlightDiagnostic fault = error(key, value);
    fault << "; expected a list of " << config.holderCount() << " devices, one per replica (data)";
    if (config.contextCount > 1)
      fault << " and part of its sequences (context)";
    return fault;
  }
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
  SmallVector<int64_t> &devices =
      config.devices.emplace_back(shards->size() * config.holderCount());
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
                      << "; expected the same number in every stage";
  return success();
}

/// A device may hold several shards of one stage, but belongs to no other stage.
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

/// Without a mapping, clusters are numbered in order: the shards of one part of a sequence are
/// adjacent, then the parts of a replica, then the replicas of a stage, like Megatron-LM's ranks.
LogicalResult ConfigParser::numberDevices(const llvm::json::Object &object) {
  FailureOr<std::optional<int64_t>> shards = readCount(object, "sharding_size"),
                                    stages = readCount(object, "stage_cnt");
  if (failed(shards) || failed(stages))
    return failure();
  int64_t perReplica, perStage, all;
  if (llvm::MulOverflow(shards->value_or(1), config.contextCount, perReplica) ||
      llvm::MulOverflow(perReplica, config.dataCount, perStage) ||
      llvm::MulOverflow(perStage, stages->value_or(1), all) || all > kMaxDevices) {
    InFlightDiagnostic fault = error("data");
    fault << "data is " << config.dataCount << ", ";
    if (config.contextCount > 1)
      fault << "context " << config.contextCount << ", ";
    return fault << "sharding_size " << shards->value_or(1) << " and stage_cnt "
                 << stages->value_or(1) << "; expected at most " << kMaxDevices
                 << " devices in all";
  }
  config.numberDevices(stages->value_or(1), perStage);
  return success();
}

LogicalResult ConfigParser::readMapping(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("device_mapping");
  config.followsMesh = !value && !object.get("data") && !object.get("context");
  config.hasShardCount = object.get("sharding_size") != nullptr;
  if (!value)
    return numberDevices(object);
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

/// The mapping takes precedence; contradicting scalars get a warning.
LogicalResult ConfigParser::reconcile(const llvm::json::Object &object) {
  auto compare = [&](StringRef key, int64_t mapped, StringRef what) -> LogicalResult {
    FailureOr<std::optional<int64_t>> count = readCount(object, key);
    if (failed(count))
      return failure();
    if (*count && **count != mapped)
      emitWarning(config.locate(key, context))
          << key << " is " << **count << ", but device_mapping has " << mapped << " " << what
          << "; using the mapping";
    return success();
  };
  if (failed(compare("sharding_size", config.shardCount(), "shards a stage")) ||
      failed(compare("stage_cnt", config.stageCount(), "stages")))
    return failure();
  if (config.mode == ParallelMode::Pipeline && config.shardCount() > 1)
    return error("mode") << "mode is \"pipeline\", but device_mapping has " << config.shardCount()
                         << " shards a stage (sharding_size); pipelined layers with shards are "
                            "mode \"hybrid\"";
  return success();
}
