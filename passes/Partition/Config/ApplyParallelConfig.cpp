#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ScheduleKind.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Utils/Roles.h"
#include "passes/Partition/Config/ApplyParameterRules.h"
#include "passes/Partition/Config/CheckConfig.h"
#include "passes/Partition/Config/ExpertSeeds.h"
#include "passes/Partition/Config/LayoutAttributes.h"
#include "passes/Partition/Config/SeedConstraints.h"
#include "passes/Partition/Config/SeedShardings.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/Stages/StageStarts.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::st {
#define GEN_PASS_DEF_APPLYPARALLELCONFIG
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// Gives the arguments of a module their seeds.
class SeedPlacement {
public:
  SeedPlacement(ModuleOp module, func::FuncOp function, const ParallelConfig &config)
      : module(module), function(function), config(config), builder(module.getContext()),
        mesh(FlatSymbolRefAttr::get(builder.getStringAttr("mesh"))), signature(function),
        isAnnotated(static_cast<bool>(getMesh(module))) {}

  LogicalResult seed();

private:
  InFlightDiagnostic error(StringRef key) {
    return emitError(config.locate(key, builder.getContext()));
  }
  ShardingAttr splitOn(BlockArgument argument, std::optional<int64_t> dim,
                       ArrayRef<StringRef> axes);
  Axis tensorAxis() const {
    return *MeshAxes(getMesh(module)).lookup(builder.getStringAttr(kTensorAxis));
  }
  ShardingAttr shardingFor(BlockArgument argument);
  void noteReplicated(BlockArgument argument);
  void seedParameters(const ParameterSeeds &given, const MeshAxes &axes);
  ShardingAttr spreadOverReplicas(BlockArgument argument, ShardingAttr seed, const MeshAxes &axes);
  void seedAnnotated(const ParameterSeeds &given, const MeshAxes &axes);
  void seedByRole(const ParameterSeeds &given, const MeshAxes &axes);
  LogicalResult constrainActivations(const MeshAxes &axes);
  bool hasTokens(BlockArgument argument) const;
  static ShardingAttr splitTokens(ShardingAttr seed, ArrayAttr parts);
  SequenceSharing sequenceSharing(const MeshAxes &axes) const;
  int64_t tokensOfDevice(BlockArgument argument) const;
  void distributeTokens(const MeshAxes &axes);
  LogicalResult constrainContext(const MeshAxes &axes);
  InFlightDiagnostic sequenceError();
  LogicalResult checkSequence();
  /// The axes along which devices hold the same weights, major to minor.
  SmallVector<Axis> replicaAxes(const MeshAxes &axes) const;
  void constrainReplicas(const ParameterSeeds &given, const MeshAxes &axes);
  ShardingAttr seedOf(BlockArgument argument) {
    return dyn_cast_or_null<ShardingAttr>(
        signature.getArgumentAttr(argument.getArgNumber(), kShardingAttr));
  }
  void setSeed(BlockArgument argument, ShardingAttr seed) {
    signature.setArgumentAttr(argument.getArgNumber(), kShardingAttr, seed);
  }
  void reportReplicated();

  ModuleOp module;
  func::FuncOp function;
  const ParallelConfig &config;
  mutable OpBuilder builder;
  FlatSymbolRefAttr mesh;
  Signature signature;
  /// True if the program already contains a mesh and shardings.
  bool isAnnotated;
  /// The seed of each parameter by name, for its optimizer state.
  DenseMap<StringAttr, ShardingAttr> parameterSeeds;
  DenseMap<StringAttr, RankedTensorType> parameterTypes;
  SmallVector<StringRef> replicatedParameters;
};
} // namespace

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

ShardingAttr SeedPlacement::splitOn(BlockArgument argument, std::optional<int64_t> dim,
                                    ArrayRef<StringRef> axes) {
  int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
  SmallVector<ArrayAttr> dims(rank, builder.getArrayAttr({}));
  if (dim)
    dims[*dim] = builder.getStrArrayAttr(axes);
  return ShardingAttr::get(builder.getContext(), mesh, dims);
}

/// The sharding along the dimension that the parameter's first use splits.
ShardingAttr SeedPlacement::shardingFor(BlockArgument argument) {
  std::optional<int64_t> dim;
  auto type = cast<RankedTensorType>(argument.getType());
  if (config.shardCount() > 1)
    dim = shardedDimension(argument, *config.shardingDim);
  if (dim && type.getDimSize(*dim) < config.shardCount()) {
    dim = std::nullopt;
    noteReplicated(argument);
  }
  return splitOn(argument, dim, kTensorAxis);
}

void SeedPlacement::noteReplicated(BlockArgument argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
  replicatedParameters.push_back(name ? name.getValue() : "?");
}

/// Rules take precedence over the file's `sharding_dim`.
void SeedPlacement::seedParameters(const ParameterSeeds &given, const MeshAxes &axes) {
  std::optional<LayerFlow> flow;
  if (!config.shardingDim && config.shardCount() > 1) {
    flow.emplace(function, axes, tensorAxis());
    for (auto &[parameter, sharding] : given)
      flow->give(parameter, sharding);
    flow->run();
    for (BlockArgument parameter : flow->tooSmallToSplit())
      noteReplicated(parameter);
  }
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (getRole(argument) != "parameter" || !type)
      continue;
    ShardingAttr seed;
    if (auto it = given.find(argument); it != given.end())
      seed = axes.write(it->second);
    else if (config.shardingDim)
      seed = shardingFor(argument);
    else
      seed = flow ? axes.write(flow->seedOf(argument)) : splitOn(argument, std::nullopt, {});
    if (!given.contains(argument))
      seed = splitExperts(argument, seed, axes);
    if (config.zero == 3)
      seed = spreadOverReplicas(argument, seed, axes);
    setSeed(argument, seed);
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
      parameterSeeds[name] = seed, parameterTypes[name] = type;
  }
}

SmallVector<Axis> SeedPlacement::replicaAxes(const MeshAxes &axes) const {
  SmallVector<Axis> replicas;
  for (StringRef name : {kDataAxis, kExpertAxis, kContextAxis})
    if (std::optional<Axis> axis = axes.lookup(builder.getStringAttr(name)); axis && !isAnnotated)
      replicas.push_back(*axis);
  return replicas;
}

/// The seed with its first divisible dimension also split over the replicas' axes that it does not
/// use yet; unchanged if no dimension divides.
ShardingAttr SeedPlacement::spreadOverReplicas(BlockArgument argument, ShardingAttr seed,
                                               const MeshAxes &axes) {
  auto type = cast<RankedTensorType>(argument.getType());
  TensorSharding sharding = axes.read(seed);
  SmallVector<Axis> free = replicaAxes(axes);
  llvm::erase_if(free,
                 [&](Axis axis) { return sharding.isSplitOver(axis) || axes.size(axis) == 1; });
  if (free.empty())
    return seed;
  return splitFurther(sharding, type.getShape(), free, axes) ? axes.write(sharding) : seed;
}

void SeedPlacement::reportReplicated() {
  if (replicatedParameters.empty())
    return;
  emitRemark(config.locate("device_mapping", builder.getContext()))
      << config.shardCount()
      << " shards are more than the elements of the sharded dimension of some parameters, which "
         "are replicated: "
      << llvm::join(replicatedParameters, ", ");
}

/// Arguments keep the shardings of the program; arguments without one are replicated. A batch is
/// split into micro-batches first. Donated state keeps the sharding of its argument.
void SeedPlacement::seedAnnotated(const ParameterSeeds &rules, const MeshAxes &axes) {
  DenseSet<StringAttr> ruled;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    ShardingAttr given = seedOf(argument);
    if (auto it = rules.find(argument); it != rules.end())
      given = axes.write(it->second);
    if (!given)
      given = splitOn(argument, std::nullopt, {});
    if (getRole(argument) == "parameter")
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr)) {
        parameterSeeds[name] = given, parameterTypes[name] = type;
        if (rules.contains(argument))
          ruled.insert(name);
      }
    if (getRole(argument) == "batch" && config.accumDegree > 1 && type.getRank() > 0) {
      SmallVector<ArrayAttr> dims(given.getDims());
      SmallVector<Attribute> axes = {builder.getStringAttr(MeshOp::kMicro)};
      llvm::append_range(axes, dims[0]);
      dims[0] = builder.getArrayAttr(axes);
      given = given.withDims(dims);
    }
    setSeed(argument, given);
  }
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto of = function.getArgAttrOfType<StringAttr>(i, kOfAttr);
    ShardingAttr own = seedOf(argument), seed = of ? parameterSeeds.lookup(of) : nullptr;
    if (getRole(argument) == "optimizer_state" && own &&
        (own.isReplicated() || ruled.contains(of)) && seed && seed.getRank() == own.getRank())
      setSeed(argument, fitSeed(argument, seed, parameterTypes.lookup(of), axes));
    if (auto result = function.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output"))
      signature.setResultAttr(result.getInt(), kShardingAttr, nullptr);
  }
}

/// Returns true if devices share an argument's second dimension.
bool SeedPlacement::hasTokens(BlockArgument argument) const {
  return config.contextCount > 1 && hasTokenDim(argument);
}

ShardingAttr SeedPlacement::splitTokens(ShardingAttr seed, ArrayAttr parts) {
  SmallVector<ArrayAttr> dims(seed.getDims());
  dims[1] = parts;
  return seed.withDims(dims);
}

SequenceSharing SeedPlacement::sequenceSharing(const MeshAxes &axes) const {
  return {*axes.lookup(builder.getStringAttr(kContextAxis)), config.shardCount(),
          config.attentionExchange};
}

/// The tokens of a sequence on each device of the context.
int64_t SeedPlacement::tokensOfDevice(BlockArgument argument) const {
  return cast<RankedTensorType>(argument.getType()).getDimSize(1) / config.contextCount;
}

/// Under a causal mask, late tokens have more keys than early ones. If devices send keys, each
/// device gets every n-th token, so that all devices have the same work. Shards that split these
/// tokens further must divide them; contiguous tokens are padded.
void SeedPlacement::distributeTokens(const MeshAxes &axes) {
  if (config.contextCount == 1)
    return;
  SharedAttention found = findSharedAttention(function, axes, sequenceSharing(axes));
  if (found.heads > 0 || found.ordered == 0 || found.windows > 0)
    return;
  auto arguments = llvm::make_filter_range(
      function.getArguments(), [&](BlockArgument argument) { return hasTokens(argument); });
  if (config.sequenceParallel && llvm::any_of(arguments, [&](BlockArgument argument) {
        return tokensOfDevice(argument) % config.shardCount() != 0;
      }))
    return;
  for (BlockArgument argument : arguments)
    if (int64_t each = tokensOfDevice(argument); each > 1)
      setSeed(argument, splitTokens(seedOf(argument),
                                    builder.getArrayAttr({builder.getI64IntegerAttr(each),
                                                          builder.getStringAttr(kContextAxis)})));
  signature.write();
}

void SeedPlacement::seedByRole(const ParameterSeeds &given, const MeshAxes &axes) {
  // A batch is split into micro-batches first, then over the replicas.
  SmallVector<StringRef> batchAxes;
  if (config.accumDegree > 1)
    batchAxes.push_back(MeshOp::kMicro);
  if (config.dataCount > 1)
    batchAxes.push_back(kDataAxis);
  if (config.expertCount > 1)
    batchAxes.push_back(kExpertAxis);
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || getRole(argument) == "parameter")
      continue;
    std::optional<int64_t> batchDim;
    if (getRole(argument) == "batch" && type.getRank() > 0)
      batchDim = 0;
    ShardingAttr seed = splitOn(argument, batchDim, batchAxes);
    if (hasTokens(argument))
      seed = splitTokens(seed, builder.getStrArrayAttr(kContextAxis));
    setSeed(argument, seed);
  }
  // The flow through the layers starts at the batch.
  signature.write();
  distributeTokens(axes);
  seedParameters(given, axes);
  for (BlockArgument argument : function.getArguments()) {
    auto of = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kOfAttr);
    if (getRole(argument) != "optimizer_state" || !of)
      continue;
    ShardingAttr seed = parameterSeeds.lookup(of);
    if (!seed || seed.getRank() != seedOf(argument).getRank())
      continue;
    seed = fitSeed(argument, seed, parameterTypes.lookup(of), axes);
    setSeed(argument, config.zero > 0 ? spreadOverReplicas(argument, seed, axes) : seed);
  }
  reportReplicated();
}

InFlightDiagnostic SeedPlacement::sequenceError() {
  return error("sequence_parallel")
         << "sequence_parallel is " << (config.gatherAgain ? "\"gather_again\"" : "true")
         << ", but ";
}

LogicalResult SeedPlacement::checkSequence() {
  if (isAnnotated)
    return sequenceError() << "the program already has a mesh and shardings";
  for (BlockArgument argument : function.getArguments()) {
    if (!hasTokenDim(argument))
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    if (type.getDimSize(1) >= config.shardCount() * config.contextCount)
      continue;
    return sequenceError() << config.shardCount() << " shards are more than the "
                           << type.getDimSize(1) << " tokens of a sequence";
  }
  return success();
}

LogicalResult SeedPlacement::constrainActivations(const MeshAxes &axes) {
  if (!config.sequenceParallel || config.shardCount() == 1)
    return success();
  if (failed(checkSequence()))
    return failure();
  LayerFlow flow(function, axes, tensorAxis());
  for (BlockArgument argument : function.getArguments())
    if (getRole(argument) == "parameter" && isa<RankedTensorType>(argument.getType()))
      flow.give(argument, axes.read(Value(argument)));
  flow.run();
  if (scatterSums(flow.sums(), axes, tensorAxis()) == 0)
    return sequenceError()
           << "no product of the model leaves partial sums along a sequence; expected "
              "\"sharding_dim\" \"megatron\" or 0, or rules in \"parameters\" that shard the "
              "contracted dimension of a product";
  return success();
}

/// Products between positions of a sequence that devices share.
LogicalResult SeedPlacement::constrainContext(const MeshAxes &axes) {
  if (config.contextCount == 1)
    return success();
  SharedAttention found = constrainAttention(function, axes, sequenceSharing(axes));
  if (config.attentionExchange == AttentionExchange::Heads && !found.tooFewHeads.empty())
    return error("context_attention")
           << "context_attention is \"heads\", but context " << config.contextCount << " times "
           << config.shardCount() << " shards do not divide the " << found.tooFewHeads.front()
           << " heads of attention";
  // Gathered keys and values have all positions: the backward pass gathers them again.
  if (found.keys > 0 && !config.sequenceParallel)
    module->setAttr(kGatherAgainAttr, builder.getUnitAttr());
  if (found.keys > 0 && config.attentionExchange == AttentionExchange::Ring) {
    module->setAttr(kRingAxisAttr, builder.getStringAttr(kContextAxis));
    // Stored probabilities would need all keys.
    if (!module->hasAttr(kRecomputeAttr))
      module->setAttr(kRecomputeAttr,
                      getRecomputeAttr(builder.getContext(), {RecomputePolicy::Selective, 0}));
  }
  return success();
}

/// Parameters that are sharded over replicas are gathered for use, and their gradients are
/// scattered. That includes a parameter that a rule shards over `data`; experts stay in place.
void SeedPlacement::constrainReplicas(const ParameterSeeds &given, const MeshAxes &axes) {
  SmallVector<Axis> replicas = replicaAxes(axes);
  if (replicas.empty())
    return;
  std::optional<Axis> expert = axes.lookup(builder.getStringAttr(kExpertAxis));
  const DenseSet<BlockArgument> experts = findExperts(function, given, axes);
  Updates updates = findUpdates(function);
  gatherParameters(function, updates, axes, [&](BlockArgument parameter) {
    SmallVector<Axis> gathered = replicas;
    if (experts.contains(parameter))
      llvm::erase(gathered, *expert);
    return gathered;
  });
  if (config.zero < 2)
    return;
  DenseMap<StringAttr, BlockArgument> optimizerStates = findStatesInShape(function, parameterTypes);
  scatterGradients(function, updates, axes, replicas, [&](BlockArgument state) {
    auto name = function.getArgAttrOfType<StringAttr>(state.getArgNumber(), kNameAttr);
    BlockArgument kept = name ? optimizerStates.lookup(name) : nullptr;
    return axes.read(Value(kept ? kept : state));
  });
}

LogicalResult SeedPlacement::seed() {
  MeshAxes axes(getMesh(module));
  FailureOr<ParameterSeeds> given = applyParameterRules(function, config, axes);
  if (failed(given) || failed(checkExperts(function, config, *given, axes)))
    return failure();
  if (isAnnotated)
    seedAnnotated(*given, axes);
  else
    seedByRole(*given, axes);
  signature.write();
  if (failed(constrainActivations(axes)) || failed(constrainContext(axes)))
    return failure();
  constrainReplicas(*given, axes);
  return success();
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
  SeedPlacement placement(module, function, config);
  if (failed(checkConfig(function, config)) || failed(applyPrecision(module, config)) ||
      failed(setLayoutAttributes(function, config, schedule)))
    return failure();
  remarkHeads(module, config);
  return placement.seed();
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
    if (!schedule.empty() && (schedule == "listed" || !parseScheduleKind(schedule))) {
      getOperation().emitError("schedule is \"")
          << schedule << "\"; expected " << getScheduleNames();
      return signalPassFailure();
    }
    if (failed(parallel.followMesh(getOperation())) ||
        failed(applyParallelConfig(getOperation(), parallel, schedule)))
      return signalPassFailure();
  }
};
} // namespace
