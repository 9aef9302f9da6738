#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StDialect.h"
#include "passes/Partition/ParallelConfig.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/SeedShardings.h"
#include "llvm/Support/JSON.h"

namespace mlir::st {
#define GEN_PASS_DEF_APPLYPARALLELCONFIG
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// Puts one configuration on one module.
class ConfigApplication {
public:
  ConfigApplication(ModuleOp module, func::FuncOp function, const ParallelConfig &config)
      : module(module), function(function), config(config), builder(module.getContext()),
        mesh(FlatSymbolRefAttr::get(builder.getStringAttr("mesh"))) {}

  LogicalResult checkSizes();
  LogicalResult checkBatch();
  LogicalResult setAttributes(StringRef schedule);
  void seed();

private:
  InFlightDiagnostic error(StringRef key) {
    return emitError(config.locate(key, builder.getContext()));
  }
  StringRef roleOf(BlockArgument argument);
  ShardingAttr splitOn(BlockArgument argument, std::optional<int64_t> dim, StringRef axis);
  void seedParameter(BlockArgument argument);
  void reportWhole();

  ModuleOp module;
  func::FuncOp function;
  const ParallelConfig &config;
  OpBuilder builder;
  FlatSymbolRefAttr mesh;
  /// The seed of each parameter by name, for its optimizer state.
  DenseMap<StringAttr, ShardingAttr> parameterSeeds;
  SmallVector<StringRef> wholeParameters;
};
} // namespace

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Layers are cut through hidden size, heads and intermediate size, so these have
/// to divide. A module without a model configuration has no such sizes.
LogicalResult ConfigApplication::checkSizes() {
  auto text = module->getAttrOfType<StringAttr>("st.model_config");
  int64_t shards = config.shardCount();
  if (!text || shards == 1)
    return success();
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text.getValue());
  if (!json) {
    llvm::consumeError(json.takeError());
    return success();
  }
  const llvm::json::Object *fields = json->getAsObject();
  constexpr StringLiteral keys[] = {"hidden_size",
                                    "num_attention_heads",
                                    "num_key_value_heads",
                                    "intermediate_size",
                                    "n_embd",
                                    "n_head",
                                    "n_inner"};
  for (StringRef key : keys) {
    std::optional<int64_t> size = fields ? fields->getInteger(key) : std::nullopt;
    if (size && *size % shards != 0)
      return error("device_mapping")
             << "sharding_size is " << shards << " in device_mapping, which does not divide " << key
             << " " << *size << " of the model";
  }
  return success();
}

LogicalResult ConfigApplication::checkBatch() {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (roleOf(argument) != "batch" || !type || type.getRank() == 0)
      continue;
    if (type.getDimSize(0) % config.accumDegree != 0)
      return error("accum_degree") << "accum_degree is " << config.accumDegree
                                   << ", which does not divide the batch " << type.getDimSize(0);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Attributes of the module
//===----------------------------------------------------------------------===//

LogicalResult ConfigApplication::setAttributes(StringRef schedule) {
  bool pipelines = config.mode != ParallelMode::Sharding && config.accumDegree > 1;
  if (schedule.empty())
    schedule = pipelines ? "1f1b" : "sequential";
  if (schedule != "sequential" && config.mode == ParallelMode::Sharding)
    return error("mode") << "schedule is \"" << schedule
                         << "\", but mode is \"sharding\", whose stages "
                         << "run one after the other";

  builder.setInsertionPointToStart(module.getBody());
  MeshOp::create(builder, module.getLoc(), builder.getStringAttr("mesh"),
                 builder.getStrArrayAttr({"tensor"}),
                 builder.getDenseI64ArrayAttr({config.shardCount()}),
                 builder.getI64IntegerAttr(config.accumDegree));
  SmallVector<Attribute> devices;
  for (ArrayRef<int64_t> stage : config.devices)
    devices.push_back(builder.getDenseI64ArrayAttr(stage));
  module->setAttr("st.stages", builder.getI64IntegerAttr(config.stageCount()));
  module->setAttr("st.devices", builder.getArrayAttr(devices));
  module->setAttr("st.schedule", builder.getStringAttr(schedule));
  module->setAttr("st.micro_batches", builder.getI64IntegerAttr(config.accumDegree));
  return success();
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

StringRef ConfigApplication::roleOf(BlockArgument argument) {
  auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
  return role ? role.getValue() : "";
}

ShardingAttr ConfigApplication::splitOn(BlockArgument argument, std::optional<int64_t> dim,
                                        StringRef axis) {
  int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
  SmallVector<ArrayAttr> dims(rank, builder.getArrayAttr({}));
  if (dim)
    dims[*dim] = builder.getStrArrayAttr({axis});
  return ShardingAttr::get(builder.getContext(), mesh, dims);
}

void ConfigApplication::seedParameter(BlockArgument argument) {
  std::optional<int64_t> dim;
  auto type = cast<RankedTensorType>(argument.getType());
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
  if (config.shardCount() > 1)
    dim = cutDimension(argument, config.shardingDim);
  if (dim && type.getDimSize(*dim) % config.shardCount() != 0) {
    dim = std::nullopt;
    wholeParameters.push_back(name ? name.getValue() : "?");
  }
  ShardingAttr seed = splitOn(argument, dim, "tensor");
  setSharding(argument, seed);
  if (name)
    parameterSeeds[name] = seed;
}

void ConfigApplication::reportWhole() {
  if (wholeParameters.empty())
    return;
  emitRemark(config.locate("device_mapping", builder.getContext()))
      << "the cut dimension of " << wholeParameters.size() << " parameters does not divide by "
      << config.shardCount()
      << ", so they stay whole on every shard: " << llvm::join(wholeParameters, ", ");
}

void ConfigApplication::seed() {
  for (BlockArgument argument : function.getArguments())
    if (roleOf(argument) == "parameter")
      seedParameter(argument);
  for (BlockArgument argument : function.getArguments()) {
    StringRef role = roleOf(argument);
    if (role == "parameter" || !isa<RankedTensorType>(argument.getType()))
      continue;
    std::optional<int64_t> batchDim;
    if (role == "batch" && config.accumDegree > 1 &&
        cast<RankedTensorType>(argument.getType()).getRank() > 0)
      batchDim = 0;
    ShardingAttr seed = splitOn(argument, batchDim, MeshOp::kMicro);
    auto of = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kOfAttr);
    if (role == "optimizer_state" && of)
      if (ShardingAttr parameterSeed = parameterSeeds.lookup(of);
          parameterSeed && parameterSeed.getRank() == seed.getRank())
        seed = parameterSeed;
    setSharding(argument, seed);
  }
  reportWhole();
}

LogicalResult mlir::st::applyParallelConfig(ModuleOp module, const ParallelConfig &config,
                                            StringRef schedule) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function || function.isExternal())
    return module.emitError("expected a function @main with a body");
  if (getMesh(module))
    return module.emitError("already has an st.mesh");
  ConfigApplication application(module, function, config);
  if (failed(application.checkSizes()) || failed(application.checkBatch()) ||
      failed(application.setAttributes(schedule)))
    return failure();
  application.seed();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ApplyParallelConfig : st::impl::ApplyParallelConfigBase<ApplyParallelConfig> {
  using ApplyParallelConfigBase::ApplyParallelConfigBase;

  void runOnOperation() override {
    ParallelConfig parallel;
    if (!config.empty()) {
      FailureOr<ParallelConfig> loaded = loadParallelConfig(config, &getContext());
      if (failed(loaded))
        return signalPassFailure();
      parallel = std::move(*loaded);
    }
    if (!llvm::is_contained({"", "sequential", "gpipe", "1f1b"}, StringRef(schedule))) {
      getOperation().emitError("schedule is \"")
          << schedule << "\"; expected \"sequential\", \"gpipe\" or \"1f1b\"";
      return signalPassFailure();
    }
    if (failed(applyParallelConfig(getOperation(), parallel, schedule)))
      return signalPassFailure();
  }
};
} // namespace
