#include "passes/Partition/Config/CheckConfig.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Roles.h"
#include "lib/Support/JsonDepth.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::st;

/// Attention works on complete heads: shards that hold parts of heads are gathered. A module
/// without a model configuration has no head sizes.
void mlir::st::remarkHeads(ModuleOp module, const ParallelConfig &config) {
  auto text = module->getAttrOfType<StringAttr>("st.model_config");
  int64_t shards = config.shardCount();
  if (!text || shards == 1 || ::st::nestsTooDeeply(text.getValue()))
    return;
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text.getValue());
  if (!json)
    return llvm::consumeError(json.takeError());
  const llvm::json::Object *fields = json->getAsObject();
  for (StringRef key : {"num_attention_heads", "num_key_value_heads", "n_head"}) {
    std::optional<int64_t> size = fields ? fields->getInteger(key) : std::nullopt;
    if (size && *size % shards != 0)
      emitRemark(config.locate("device_mapping", module.getContext()))
          << shards << " shards do not divide " << key << " " << *size
          << " of the model, so attention gathers heads";
  }
}

namespace {
class ConfigCheck {
public:
  ConfigCheck(func::FuncOp function, const ParallelConfig &config)
      : function(function), config(config) {}

  LogicalResult checkBatch();
  LogicalResult checkContext();
  LogicalResult checkMesh();

private:
  InFlightDiagnostic error(StringRef key) {
    return emitError(config.locate(key, function.getContext()));
  }

  func::FuncOp function;
  const ParallelConfig &config;
};
} // namespace

LogicalResult ConfigCheck::checkBatch() {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (getRole(argument) != "batch" || !type || type.getRank() == 0)
      continue;
    int64_t batch = type.getDimSize(0);
    if (config.accumDegree > 1 && batch < config.accumDegree)
      return error("accum_degree")
             << "accum_degree is " << config.accumDegree << ", more than the batch " << batch;
    int64_t rows = llvm::divideCeil(batch, config.accumDegree);
    if (config.dataCount > 1 && rows < config.dataCount)
      return error("data") << "data is " << config.dataCount << ", more than the " << rows
                           << " rows of a micro-batch";
  }
  return success();
}

/// The type of a batch argument with a second dimension; null for other arguments.
static RankedTensorType typeOfRows(BlockArgument argument) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  return type && getRole(argument) == "batch" && type.getRank() > 1 ? type : nullptr;
}

static bool isMatrixOfIntegers(RankedTensorType type) {
  return type && type.getRank() == 2 && type.getElementType().isInteger();
}

bool mlir::st::hasTokenDim(BlockArgument argument) {
  RankedTensorType type = typeOfRows(argument);
  if (!type || type.getRank() > 2 || isMatrixOfIntegers(type))
    return type != nullptr;
  bool hasTokens = false;
  for (BlockArgument other : argument.getOwner()->getArguments())
    if (RankedTensorType tokens = typeOfRows(other); isMatrixOfIntegers(tokens)) {
      hasTokens = true;
      if (tokens.getDimSize(1) == type.getDimSize(1))
        return true;
    }
  return !hasTokens;
}

LogicalResult ConfigCheck::checkContext() {
  if (config.contextCount == 1)
    return success();
  bool any = false;
  for (BlockArgument argument : function.getArguments()) {
    if (!hasTokenDim(argument))
      continue;
    any = true;
    int64_t tokens = cast<RankedTensorType>(argument.getType()).getDimSize(1);
    if (tokens % config.contextCount != 0)
      return error("context") << "context is " << config.contextCount
                              << ", which does not divide the " << tokens
                              << " tokens of a sequence";
  }
  if (!any)
    return error("context") << "context is " << config.contextCount
                            << ", but no batch argument has a second dimension, that of tokens";
  return success();
}

/// A program with its own mesh determines its sharding: the file only sets devices, stages and
/// micro-batches.
LogicalResult ConfigCheck::checkMesh() {
  MeshOp given = getMesh(function->getParentOfType<ModuleOp>());
  if (!given)
    return success();
  if (config.dataCount > 1)
    return error("data") << "data is " << config.dataCount
                         << ", but the program already has a mesh and shardings";
  if (config.contextCount > 1)
    return error("context") << "context is " << config.contextCount
                            << ", but the program already has a mesh and shardings";
  if (config.mode == ParallelMode::Pipeline && given.getNumDevices() > 1)
    return error("mode") << "mode is \"pipeline\", but the program's mesh has "
                         << given.getNumDevices()
                         << " devices; pipelined layers with shards are mode \"hybrid\"";
  if (given.getNumDevices() == config.shardCount())
    return success();
  return error(config.followsMesh ? "sharding_size" : "device_mapping")
         << "sharding_size is " << config.shardCount() << ", but the program's mesh has "
         << given.getNumDevices() << " devices";
}

LogicalResult mlir::st::checkConfig(func::FuncOp function, const ParallelConfig &config) {
  ConfigCheck check(function, config);
  return success(succeeded(check.checkMesh()) && succeeded(check.checkBatch()) &&
                 succeeded(check.checkContext()));
}
