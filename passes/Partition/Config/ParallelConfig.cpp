#include "dialects/St/IR/ScheduleKind.h"
#include "dialects/St/IR/Signature.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/JsonDepth.h"
#include "lib/Support/JsonKeys.h"
#include "passes/Partition/Config/ConfigParser.h"
#include "llvm/Support/Format.h"

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

std::string ConfigParser::shortened(StringRef text) {
  constexpr size_t longest = 60;
  return text.size() <= longest ? text.str() : text.take_front(longest).str() + "...";
}

std::string ConfigParser::print(const llvm::json::Value &value) {
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

/// A pattern may contain dots.
Location ParallelConfig::locateRule(StringRef pattern, MLIRContext *context) const {
  size_t found = StringRef(text).find(("\"" + pattern + "\"").str());
  return found == StringRef::npos ? locate("parameters", context) : locate(found, context);
}

Location ParallelConfig::locate(size_t offset, MLIRContext *context) const {
  StringRef before = StringRef(text).take_front(offset);
  unsigned line = before.count('\n') + 1, column = offset - (before.rfind('\n') + 1) + 1;
  return FileLineColLoc::get(context, path, line, column);
}

void ParallelConfig::setStashAttributes(ModuleOp module) const {
  Builder builder(module.getContext());
  if (recompute)
    module->setAttr(kRecomputeAttr, getRecomputeAttr(builder.getContext(), *recompute));
  if (gatherAgain)
    module->setAttr(kGatherAgainAttr, builder.getUnitAttr());
  if (offload)
    module->setAttr(kOffloadAttr, builder.getI64IntegerAttr(*offload));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

constexpr StringLiteral kKeys[] = {
    "mode",           "sharding_size",  "sharding_dim", "sequence_parallel",
    "parameters",     "stage_cnt",      "accum_degree", "data",
    "expert",         "zero",           "bucket_bytes", "schedule",
    "virtual_stages", "device_mapping", "precision",    "recompute",
    "stages",         "offload",        "context",      "context_attention"};

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
  // JSON objects are unordered; messages should have a fixed order.
  llvm::sort(config.parameterRules,
             [](const ParameterRule &a, const ParameterRule &b) { return a.pattern < b.pattern; });
  return success();
}

LogicalResult ConfigParser::readContextAttention(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("context_attention");
  if (!value)
    return success();
  std::optional<StringRef> name = value->getAsString();
  auto exchange = llvm::StringSwitch<std::optional<AttentionExchange>>(name.value_or(""))
                      .Case("heads", AttentionExchange::Heads)
                      .Case("keys", AttentionExchange::Keys)
                      .Case("ring", AttentionExchange::Ring)
                      .Default(std::nullopt);
  if (!exchange)
    return error("context_attention", *value) << "; expected \"heads\", \"keys\" or \"ring\"";
  config.attentionExchange = *exchange;
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
    config.recompute = RecomputePolicy{RecomputePolicy::Budget, *bytes};
    return success();
  }
  std::optional<StringRef> name = value->getAsString();
  std::optional<RecomputePolicy> policy = parseRecomputePolicy(name.value_or(""));
  if (!policy || policy->kind == RecomputePolicy::Budget)
    return error("recompute", *value) << expected;
  config.recompute = *policy;
  return success();
}

LogicalResult ConfigParser::readOffload(const llvm::json::Object &object) {
  const llvm::json::Value *value = object.get("offload");
  if (!value)
    return success();
  if (std::optional<bool> all = value->getAsBoolean()) {
    if (*all)
      config.offload = 0;
    return success();
  }
  const llvm::json::Object *budget = value->getAsObject();
  std::optional<int64_t> bytes = budget ? budget->getInteger("bytes") : std::nullopt;
  if (!bytes || *bytes < 0 || budget->size() != 1)
    return error("offload", *value) << "; expected true, false or {\"bytes\": <integer from 0>}";
  config.offload = bytes;
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

/// A single type is the compute type.
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
    return error("precision", *value) << "; expected \"f32\", \"bf16\" or \"f16\", or an object "
                                         "with compute, reduce, products "
                                         "and loss_scale";
  for (const auto &[key, field] : *fields)
    if (!llvm::is_contained({"compute", "reduce", "products", "loss_scale"}, StringRef(key)))
      return error(("precision." + StringRef(key)).str())
             << "precision has an unknown key \"" << shortened(key) << "\" (value " << print(field)
             << "); known are compute, reduce, products, loss_scale";
  if (const llvm::json::Value *compute = fields->get("compute"))
    if (failed(readFloatType(*compute, "precision.compute", precision.compute)))
      return failure();
  if (const llvm::json::Value *reduce = fields->get("reduce"))
    if (failed(readFloatType(*reduce, "precision.reduce", precision.reduce)))
      return failure();
  if (const llvm::json::Value *products = fields->get("products")) {
    std::optional<StringRef> name = products->getAsString();
    if (!name || !llvm::is_contained({"f32", "tf32"}, *name))
      return error("precision.products", *products) << "; expected \"f32\" or \"tf32\"";
    precision.products = name->str();
  }
  return readLossScale(*fields);
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
           << "key \"" << shortened(repeated->path) << "\" appears twice";
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
                                    context = readCount(*object, "context"),
                                    virtualStages = readCount(*object, "virtual_stages");
  if (failed(accumDegree) || failed(data) || failed(expert) || failed(context) ||
      failed(virtualStages) || failed(readContextAttention(*object)) || failed(readZero(*object)) ||
      failed(readBucketBytes(*object)) || failed(readSchedule(*object)) ||
      failed(readPrecision(*object)) || failed(readRecompute(*object)) ||
      failed(readOffload(*object)) || failed(readStages(*object)))
    return failure();
  config.dataCount = data->value_or(1);
  config.expertCount = expert->value_or(1);
  config.contextCount = context->value_or(1);
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
