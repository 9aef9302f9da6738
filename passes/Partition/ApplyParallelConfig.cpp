#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/IR/StDialect.h"
#include "lib/Support/JsonDepth.h"
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

static constexpr StringLiteral kTensorAxis = "tensor", kDataAxis = "data";

namespace {
/// Puts one configuration on one module.
class ConfigApplication {
public:
  ConfigApplication(ModuleOp module, func::FuncOp function, const ParallelConfig &config)
      : module(module), function(function), config(config), builder(module.getContext()),
        mesh(FlatSymbolRefAttr::get(builder.getStringAttr("mesh"))), signature(function),
        isAnnotated(static_cast<bool>(getMesh(module))) {}

  LogicalResult checkSizes();
  LogicalResult checkBatch();
  LogicalResult checkMesh();
  LogicalResult setAttributes(StringRef schedule);
  void seed();

private:
  InFlightDiagnostic error(StringRef key) {
    return emitError(config.locate(key, builder.getContext()));
  }
  StringRef roleOf(BlockArgument argument);
  ShardingAttr splitOn(BlockArgument argument, std::optional<int64_t> dim,
                       ArrayRef<StringRef> axes);
  void seedParameter(BlockArgument argument);
  ShardingAttr spreadOverReplicas(BlockArgument argument, ShardingAttr seed);
  void seedAnnotated();
  void seedByRole();
  ShardingAttr seedOf(BlockArgument argument) {
    return dyn_cast_or_null<ShardingAttr>(
        signature.getArgumentAttr(argument.getArgNumber(), kShardingAttr));
  }
  void setSeed(BlockArgument argument, ShardingAttr seed) {
    signature.setArgumentAttr(argument.getArgNumber(), kShardingAttr, seed);
  }
  void reportWhole();

  ModuleOp module;
  func::FuncOp function;
  const ParallelConfig &config;
  OpBuilder builder;
  FlatSymbolRefAttr mesh;
  Signature signature;
  /// Whether the program brings its mesh and shardings.
  bool isAnnotated;
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
  if (!text || shards == 1 || ::st::nestsTooDeeply(text.getValue()))
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
    int64_t rows = type.getDimSize(0) / config.accumDegree;
    if (rows % config.dataCount != 0)
      return error("data") << "data is " << config.dataCount << ", which does not divide the "
                           << rows << " rows of a micro-batch";
  }
  return success();
}

/// A program that brings a mesh says itself how it is split: the file says only where
/// and in how many stages and micro-batches.
LogicalResult ConfigApplication::checkMesh() {
  MeshOp given = getMesh(module);
  if (!given)
    return success();
  if (config.dataCount > 1)
    return error("data") << "data is " << config.dataCount
                         << ", but the program brings its own mesh, which says what its axes split";
  if (given.getNumDevices() == config.shardCount())
    return success();
  return error("device_mapping") << "sharding_size is " << config.shardCount()
                                 << ", but the program's mesh has " << given.getNumDevices()
                                 << " devices";
}

//===----------------------------------------------------------------------===//
// Attributes of the module
//===----------------------------------------------------------------------===//

LogicalResult ConfigApplication::setAttributes(StringRef schedule) {
  bool pipelines = config.mode != ParallelMode::Sharding && config.accumDegree > 1;
  if (schedule.empty())
    schedule = config.schedule;
  if (schedule.empty())
    schedule = pipelines ? "1f1b" : "sequential";
  if (schedule != "sequential" && config.mode == ParallelMode::Sharding)
    return error("mode") << "schedule is \"" << schedule
                         << "\", but mode is \"sharding\", whose stages "
                         << "run one after the other";

  builder.setInsertionPointToStart(module.getBody());
  if (MeshOp given = getMesh(module)) {
    given.setSymName("mesh");
    given.setMicro(config.accumDegree);
  } else {
    SmallVector<StringRef> axes = {kTensorAxis};
    SmallVector<int64_t> sizes = {config.shardCount()};
    if (config.dataCount > 1) {
      axes.insert(axes.begin(), kDataAxis);
      sizes.insert(sizes.begin(), config.dataCount);
    }
    MeshOp::create(builder, module.getLoc(), builder.getStringAttr("mesh"),
                   builder.getStrArrayAttr(axes), builder.getDenseI64ArrayAttr(sizes),
                   builder.getI64IntegerAttr(config.accumDegree));
  }
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
                                        ArrayRef<StringRef> axes) {
  int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
  SmallVector<ArrayAttr> dims(rank, builder.getArrayAttr({}));
  if (dim)
    dims[*dim] = builder.getStrArrayAttr(axes);
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
  ShardingAttr seed = splitOn(argument, dim, kTensorAxis);
  setSeed(argument, seed);
  if (name)
    parameterSeeds[name] = seed;
}

/// The seed with its first dimension that divides split among the replicas as well; as it is, where
/// none does.
ShardingAttr ConfigApplication::spreadOverReplicas(BlockArgument argument, ShardingAttr seed) {
  auto type = cast<RankedTensorType>(argument.getType());
  for (auto [dim, axes] : llvm::enumerate(seed.getDims())) {
    int64_t parts = axes.empty() ? 1 : config.shardCount();
    if (config.dataCount == 1 || type.getDimSize(dim) == 0 ||
        type.getDimSize(dim) % (parts * config.dataCount) != 0)
      continue;
    SmallVector<Attribute> split(axes.begin(), axes.end());
    split.push_back(builder.getStringAttr(kDataAxis));
    SmallVector<ArrayAttr> dims(seed.getDims());
    dims[dim] = builder.getArrayAttr(split);
    return ShardingAttr::get(builder.getContext(), mesh, dims);
  }
  return seed;
}

void ConfigApplication::reportWhole() {
  if (wholeParameters.empty())
    return;
  emitRemark(config.locate("device_mapping", builder.getContext()))
      << "the shards are " << config.shardCount()
      << ", by which the cut dimension of some parameters does not divide; whole on every shard "
         "are "
      << llvm::join(wholeParameters, ", ");
}

/// What the program says of its arguments holds, the rest of them is whole. A batch is
/// cut into micro-batches first. Donated state keeps the sharding of its argument.
void ConfigApplication::seedAnnotated() {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    ShardingAttr given = seedOf(argument);
    if (!given)
      given = splitOn(argument, std::nullopt, {});
    if (roleOf(argument) == "parameter")
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
        parameterSeeds[name] = given;
    if (roleOf(argument) == "batch" && config.accumDegree > 1 && type.getRank() > 0) {
      SmallVector<ArrayAttr> dims(given.getDims());
      SmallVector<Attribute> axes = {builder.getStringAttr(MeshOp::kMicro)};
      llvm::append_range(axes, dims[0]);
      dims[0] = builder.getArrayAttr(axes);
      given = ShardingAttr::get(builder.getContext(), mesh, dims);
    }
    setSeed(argument, given);
  }
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto of = function.getArgAttrOfType<StringAttr>(i, kOfAttr);
    ShardingAttr own = seedOf(argument), seed = of ? parameterSeeds.lookup(of) : nullptr;
    if (roleOf(argument) == "optimizer_state" && own && own.isReplicated() && seed &&
        seed.getRank() == own.getRank())
      setSeed(argument, seed);
    if (auto result = function.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output"))
      signature.setResultAttr(result.getInt(), kShardingAttr, nullptr);
  }
}

void ConfigApplication::seed() {
  if (isAnnotated)
    seedAnnotated();
  else
    seedByRole();
  signature.write();
}

void ConfigApplication::seedByRole() {
  // A batch is cut into micro-batches first, then each of them among the replicas.
  SmallVector<StringRef> batchAxes;
  if (config.accumDegree > 1)
    batchAxes.push_back(MeshOp::kMicro);
  if (config.dataCount > 1)
    batchAxes.push_back(kDataAxis);
  for (BlockArgument argument : function.getArguments())
    if (roleOf(argument) == "parameter")
      seedParameter(argument);
  for (BlockArgument argument : function.getArguments()) {
    StringRef role = roleOf(argument);
    if (role == "parameter" || !isa<RankedTensorType>(argument.getType()))
      continue;
    std::optional<int64_t> batchDim;
    if (role == "batch" && cast<RankedTensorType>(argument.getType()).getRank() > 0)
      batchDim = 0;
    ShardingAttr seed = splitOn(argument, batchDim, batchAxes);
    auto of = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kOfAttr);
    if (role == "optimizer_state" && of)
      if (ShardingAttr parameterSeed = parameterSeeds.lookup(of);
          parameterSeed && parameterSeed.getRank() == seed.getRank())
        seed = config.zero > 0 ? spreadOverReplicas(argument, parameterSeed) : parameterSeed;
    setSeed(argument, seed);
  }
  reportWhole();
}

static constexpr FactContract kContract = {
    {}, FactSet({Fact::Gradients}) | FactSet::from(Fact::Layout)};

LogicalResult mlir::st::applyParallelConfig(ModuleOp module, const ParallelConfig &config,
                                            StringRef schedule) {
  if (failed(checkFacts(module, "apply-parallel-config", kContract)))
    return failure();
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function || function.isExternal())
    return module.emitError("expected a function @main with a body");
  ConfigApplication application(module, function, config);
  if (failed(application.checkMesh()) || failed(application.checkSizes()) ||
      failed(application.checkBatch()) || failed(application.setAttributes(schedule)))
    return failure();
  application.seed();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ApplyParallelConfig : mlir::st::impl::ApplyParallelConfigBase<ApplyParallelConfig> {
  using ApplyParallelConfigBase::ApplyParallelConfigBase;

  void runOnOperation() override {
    ParallelConfig parallel;
    if (!config.empty()) {
      FailureOr<ParallelConfig> loaded = loadParallelConfig(config, &getContext());
      if (failed(loaded))
        return signalPassFailure();
      parallel = std::move(*loaded);
    }
    if (!schedule.empty() && !isSchedule(schedule)) {
      getOperation().emitError("schedule is \"") << schedule << "\"; expected " << kScheduleNames;
      return signalPassFailure();
    }
    if (failed(applyParallelConfig(getOperation(), parallel, schedule)))
      return signalPassFailure();
  }
};
} // namespace
