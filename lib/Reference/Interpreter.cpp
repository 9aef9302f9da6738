#include "lib/Reference/Interpreter.h"

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Collectives.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/ProgramRun.h"
#include "lib/Reference/Sharded.h"
#include "lib/Reference/TensorTypes.h"

namespace mlir::st::ref {
namespace {

/// One function with the attributes of its arguments and results.
class FunctionRun {
public:
  FunctionRun(func::FuncOp function, const NamedTensors &inputs)
      : function(function), inputs(inputs), mesh(getMesh(function)) {}

  FailureOr<NamedTensors> run();

private:
  std::string getArgName(unsigned i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
    return name ? name.str() : "arg" + std::to_string(i);
  }
  std::string getResultName(unsigned i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
    return name ? name.str() : "result" + std::to_string(i);
  }
  /// The type that holds an input: that after padding or partitioning, which may be larger.
  Type getRoom(unsigned i) {
    bool isPadded =
        function.getArgAttr(i, kGlobalTypeAttr) || function.getArgAttr(i, kUnpaddedTypeAttr);
    return isPadded ? function.getArgumentTypes()[i] : Type();
  }
  /// The type that a result had before padding and partitioning; null if it still has it.
  Type getGlobalType(unsigned i) {
    for (StringRef name : {kGlobalTypeAttr, kUnpaddedTypeAttr})
      if (auto type = function.getResultAttrOfType<TypeAttr>(i, name))
        return type.getValue();
    return {};
  }
  ShardingAttr getArgSharding(unsigned i) {
    return function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr);
  }

  LogicalResult findInputs();
  bool isPartitioned();
  FailureOr<RankGrid> getGrid();
  bool isState(unsigned result);
  LogicalResult checkArg(unsigned i, const Tensor &tensor);

  func::FuncOp function;
  const NamedTensors &inputs;
  MeshOp mesh;
  SmallVector<Tensor> args;
};

LogicalResult FunctionRun::findInputs() {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string name = getArgName(i);
    auto input = inputs.find(name);
    if (input == inputs.end())
      return function.emitError("no input '") << name << "' for argument " << i;
    args.push_back(input->second);
  }
  return success();
}

// Ops that are only defined on the devices of a mesh.
bool isMeshOp(Operation *op) {
  return isCollective(op) || isa<AllSliceOp, AccumulateOp, AxisIndexOp>(op);
}

// Ops that are only defined among replicas and partitions.
bool isReplicaOp(Operation *op) {
  return isa<stablehlo::AllReduceOp, stablehlo::AllGatherOp, stablehlo::ReduceScatterOp,
             stablehlo::AllToAllOp, stablehlo::CollectivePermuteOp,
             stablehlo::CollectiveBroadcastOp, stablehlo::ReplicaIdOp, stablehlo::PartitionIdOp,
             sdy::ManualComputationOp>(op);
}

// Returns true if the function, or one that it calls, has such an op.
bool hasRankOps(func::FuncOp function, function_ref<bool(Operation *)> isRankOp,
                DenseSet<Operation *> &visited) {
  if (!visited.insert(function).second)
    return false;
  WalkResult result = function.walk([&](Operation *op) {
    if (isRankOp(op))
      return WalkResult::interrupt();
    if (auto call = dyn_cast<func::CallOp>(op))
      if (auto callee =
              SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr()))
        return hasRankOps(callee, isRankOp, visited) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

// A function has per-device shapes if an argument's attribute states it, if an input is larger than
// its argument's type, or if an op is only defined on several ranks.
bool FunctionRun::isPartitioned() {
  if (!mesh)
    return false;
  for (auto [i, tensor] : llvm::enumerate(args))
    if (function.getArgAttr(i, kGlobalTypeAttr) ||
        (getArgSharding(i) && !function.getArgAttr(i, kUnpaddedTypeAttr) &&
         !isOfType(tensor, function.getArgumentTypes()[i])))
      return true;
  DenseSet<Operation *> visited;
  return hasRankOps(function, isMeshOp, visited);
}

// A count on the module; 1 if absent.
int64_t getCount(Operation *op, StringRef name) {
  auto count = op->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(name);
  return count ? count.getInt() : 1;
}

FailureOr<RankGrid> FunctionRun::getGrid() {
  if (isPartitioned())
    return RankGrid::ofDevicesAndMicroBatches(mesh);
  DenseSet<Operation *> visited;
  if (!hasRankOps(function, isReplicaOp, visited))
    return RankGrid();
  // Each rank costs time and memory, so this limit rejects damaged counts.
  constexpr int64_t kMaxRanks = 1024;
  int64_t replicas = getCount(function, "mhlo.num_replicas");
  int64_t partitions = getCount(function, "mhlo.num_partitions");
  if (replicas < 1 || partitions < 1 || replicas > kMaxRanks || partitions > kMaxRanks ||
      replicas * partitions > kMaxRanks)
    return function.emitError("runs on 1 to ") << kMaxRanks << " ranks, not on " << replicas
                                               << " replicas x " << partitions << " partitions";
  return RankGrid::ofReplicasAndPartitions(replicas, partitions);
}

/// Returns true if a result replaces an argument.
bool FunctionRun::isState(unsigned result) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto donated = function.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output"))
      if (donated.getInt() == result)
        return true;
  return false;
}

LogicalResult FunctionRun::checkArg(unsigned i, const Tensor &tensor) {
  Type type = function.getArgumentTypes()[i];
  if (isOfType(tensor, type))
    return success();
  InFlightDiagnostic error = function.emitError("input '")
                             << getArgName(i) << "' is " << toString(args[i]);
  if (tensor.getShape() != args[i].getShape())
    error << ", which gives each rank " << toString(tensor);
  return error << ", but argument " << i << " is of type " << type;
}

FailureOr<NamedTensors> FunctionRun::run() {
  if (failed(findInputs()))
    return failure();
  FailureOr<RankGrid> found = getGrid();
  if (failed(found))
    return failure();
  const RankGrid &grid = *found;
  SmallVector<RankValues> pieces(args.size()), results;
  for (auto [i, tensor] : llvm::enumerate(args))
    if (failed(shard(tensor, getArgSharding(i), grid, function, pieces[i], getRoom(i),
                     function.getArgAttr(i, "tf.aliasing_output") != nullptr)) ||
        failed(checkArg(i, pieces[i][0])))
      return failure();
  args.clear();

  Evaluator evaluator(grid);
  if (failed(evaluator.call(function, function, pieces, results)))
    return failure();
  NamedTensors named;
  for (auto [i, values] : llvm::enumerate(results)) {
    auto sharding = function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
    std::string name = getResultName(i);
    Tensor global;
    if (failed(unshard(values, sharding, grid, function, "result '" + name + "'", global,
                       getGlobalType(i))) ||
        (isState(i) && failed(checkStatePadding(values, sharding, grid, function,
                                                "result '" + name + "'", global))) ||
        failed(addResult(named, name, global, function)))
      return failure();
  }
  return named;
}

} // namespace

LogicalResult addResult(NamedTensors &results, const std::string &name, Tensor tensor,
                        Operation *op) {
  auto [it, isNew] = results.try_emplace(name, tensor);
  if (!isNew && !it->second.bitwiseEquals(tensor))
    return op->emitError("two results are named '") << name << "' and differ";
  return success();
}

FailureOr<NamedTensors> interpret(ModuleOp module, StringRef name, const NamedTensors &inputs) {
  if (!module.getOps<ProgramOp>().empty())
    return runPrograms(module, inputs);
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function || function.isExternal())
    return module.emitError("no function @") << name << " with a body";
  return FunctionRun(function, inputs).run();
}

} // namespace mlir::st::ref
