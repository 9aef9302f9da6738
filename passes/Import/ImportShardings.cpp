#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Import/CustomCalls.h"
#include "passes/Import/FrontendAttributes.h"
#include "passes/Import/GspmdSharding.h"
#include "passes/Import/MeshAxes.h"
#include "passes/Import/OneDevice.h"
#include "passes/Import/Passes.h"
#include "passes/Import/SdyCollectives.h"
#include "passes/Import/ShardMap/ManualComputation.h"
#include "passes/Import/ShardMap/ShardBody.h"
#include "passes/Import/UnreducedValues.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::st {
#define GEN_PASS_DEF_IMPORTSHARDINGS
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

static constexpr StringLiteral kSdySharding = "sdy.sharding", kGspmdSharding = "mhlo.sharding";

static int64_t rankOf(Type type) { return cast<RankedTensorType>(type).getRank(); }

static ShardingAttr makeSharding(MLIRContext *context, ArrayRef<ArrayAttr> dims) {
  return ShardingAttr::get(context, FlatSymbolRefAttr::get(context, "mesh"), dims);
}

/// A sharding without constraints on any dimension.
static ShardingAttr makeOpen(MLIRContext *context, int64_t rank) {
  SmallVector<ArrayAttr> dims(rank, ArrayAttr::get(context, {}));
  return ShardingAttr::get(context, FlatSymbolRefAttr::get(context, "mesh"), dims, ReduceKind::Sum,
                           {}, llvm::to_vector(llvm::seq<int64_t>(0, rank)), {}, {});
}

static void createMesh(ModuleOp module, ArrayRef<StringRef> names, ArrayRef<int64_t> sizes) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MeshOp::create(builder, module.getLoc(), builder.getStringAttr("mesh"),
                 builder.getStrArrayAttr(names), builder.getDenseI64ArrayAttr(sizes),
                 builder.getI64IntegerAttr(1));
}

/// Sets the sharding of each annotated argument and result of functions, or none if it is null.
template <typename AttrT>
static LogicalResult convertSignature(func::FuncOp function, StringRef name,
                                      function_ref<FailureOr<ShardingAttr>(AttrT, Type)> convert) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto given = function.getArgAttrOfType<AttrT>(i, name);
    if (!given)
      continue;
    FailureOr<ShardingAttr> sharding = convert(given, function.getArgumentTypes()[i]);
    if (failed(sharding))
      return failure();
    function.removeArgAttr(i, StringAttr::get(function.getContext(), name));
    if (*sharding)
      function.setArgAttr(i, kShardingAttr, *sharding);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto given = function.getResultAttrOfType<AttrT>(i, name);
    if (!given)
      continue;
    FailureOr<ShardingAttr> sharding = convert(given, function.getResultTypes()[i]);
    if (failed(sharding))
      return failure();
    function.removeResultAttr(i, StringAttr::get(function.getContext(), name));
    if (*sharding)
      function.setResultAttr(i, kShardingAttr, *sharding);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// sdy
//===----------------------------------------------------------------------===//

/// Creates the module's mesh from the sdy meshes, which must all have the same axes.
static LogicalResult importMesh(ModuleOp module, sdy::MeshAttr &mesh) {
  std::optional<Location> first;
  for (auto op : llvm::make_early_inc_range(module.getOps<sdy::MeshOp>())) {
    sdy::MeshAttr own = op.getMesh();
    // JAX prints a mesh without axes for replicated tensors.
    if (mesh && own.getAxes().empty()) {
      op.erase();
      continue;
    }
    if (!llvm::equal(own.getDeviceIds(), llvm::seq<int64_t>(0, own.getDeviceIds().size())))
      return op.emitOpError("has an explicit order of devices, which cannot be imported; the "
                            "parallel file assigns devices to ranks");
    if (mesh && !mesh.getAxes().empty() &&
        (mesh.getAxes() != own.getAxes() || mesh.getSizes() != own.getSizes()))
      return withNote(op.emitOpError("has different axes than an earlier mesh; expected one mesh"),
                      first.value_or(op.getLoc()), "that mesh is here");
    mesh = own;
    first = op.getLoc();
    op.erase();
  }
  SmallVector<StringRef> names;
  for (StringAttr axis : mesh.getAxes())
    names.push_back(axis.getValue());
  if (llvm::is_contained(names, StringRef(MeshOp::kMicro)))
    return module.emitError(
        "the mesh has an axis \"micro\", a name that is reserved for micro-batches");
  createMesh(module, names, mesh.getSizes());
  return success();
}

/// Partitioning chooses the place of the reduction for a value that the program leaves unreduced.
static FailureOr<ShardingAttr> convertSdy(Operation *at, sdy::TensorShardingAttr given, Type type) {
  if (static_cast<int64_t>(given.getDims().size()) != rankOf(type))
    return at->emitError("a sharding of ")
           << given.getDims().size() << " dimensions is given for " << type;
  SmallVector<int64_t> open, priorities;
  for (auto [dim, isOpen, priority] : llvm::enumerate(given.getOpen(), given.getPriorities())) {
    if (isOpen)
      open.push_back(static_cast<int64_t>(dim));
    priorities.push_back(std::max<int64_t>(priority, 0));
  }
  if (llvm::all_of(priorities, [](int64_t priority) { return priority == 0; }))
    priorities.clear();
  // Rejects invalid shardings that sdy's verifier accepts.
  auto sharding = ShardingAttr::getChecked(
      [&] { return at->emitError(); }, at->getContext(),
      FlatSymbolRefAttr::get(at->getContext(), "mesh"), given.getDims(), ReduceKind::Sum,
      ArrayRef<StringAttr>(), ArrayRef(open), ArrayRef(priorities), given.getReplicated());
  if (!sharding)
    return failure();
  return sharding;
}

/// A group or a barrier does not state a sharding. A group gives several values one sharding, and a
/// barrier limits the direction of propagation.
static void importOpenConstraint(Operation *op) {
  Value value = op->getOperand(0);
  auto barrier = dyn_cast<sdy::PropagationBarrierOp>(op);
  if (barrier && barrier.getAllowedDirection() == sdy::PropagationDirection::BOTH) {
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
    return;
  }
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  auto constrain = ConstrainOp::create(builder, op->getLoc(), value.getType(), value,
                                       makeOpen(op->getContext(), rankOf(value.getType())));
  if (barrier) {
    auto allowed = barrier.getAllowedDirection();
    constrain.setDirection(allowed == sdy::PropagationDirection::FORWARD ? SpreadDirection::Forward
                           : allowed == sdy::PropagationDirection::BACKWARD
                               ? SpreadDirection::Backward
                               : SpreadDirection::None);
    op->replaceAllUsesWith(ValueRange{constrain});
  } else {
    constrain.setGroup(cast<sdy::ShardingGroupOp>(op).getGroupId());
    // All users of the value see the sharding of its group.
    value.replaceUsesWithIf(constrain, [&](OpOperand &use) {
      Operation *user = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
      return user && user != constrain && op->isBeforeInBlock(user);
    });
  }
  op->erase();
}

/// Imports annotations that are ops.
static LogicalResult importSdyOp(Operation *op) {
  if (isa<sdy::ShardingGroupOp, sdy::PropagationBarrierOp>(op)) {
    importOpenConstraint(op);
    return success();
  }
  if (!isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op))
    return success();
  // A scalar, such as a loop's counter or an operand of a sort's comparator, cannot be split.
  if (rankOf(op->getResult(0).getType()) == 0) {
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
    return success();
  }
  Type type = op->getResult(0).getType();
  FailureOr<ShardingAttr> sharding =
      convertSdy(op, op->getAttrOfType<sdy::TensorShardingAttr>("sharding"), type);
  if (failed(sharding))
    return failure();
  OpBuilder builder(op);
  op->replaceAllUsesWith(
      ConstrainOp::create(builder, op->getLoc(), type, op->getOperand(0), *sharding));
  op->erase();
  return success();
}

static LogicalResult importSdy(ModuleOp module) {
  sdy::MeshAttr mesh;
  importSdyCollectives(module);
  unifyMeshes(module);
  if (failed(splitMeshAxes(module)) || failed(importMesh(module, mesh)))
    return failure();
  UnreducedTerms terms;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  const bool hasPorts = main && !main.isExternal();
  if (hasPorts && failed(expandUnreducedArguments(main, mesh.getAxes(), mesh.getSizes(), terms)))
    return failure();
  // Bodies on shards first: constraints in them apply to parts of tensors.
  WalkResult manual = module.walk<WalkOrder::PreOrder>([&](sdy::ManualComputationOp op) {
    return failed(importManualComputation(op, mesh.getAxes(), mesh.getSizes(), terms))
               ? WalkResult::interrupt()
               : WalkResult::skip();
  });
  if (manual.wasInterrupted() ||
      (hasPorts && failed(expandUnreducedResults(main, mesh.getAxes(), mesh.getSizes(), terms))))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(convertSignature<sdy::TensorShardingAttr>(
            function, kSdySharding, [&](sdy::TensorShardingAttr given, Type type) {
              return convertSdy(function, given, type);
            })))
      return failure();
  WalkResult walk = module.walk([&](Operation *op) {
    return failed(importSdyOp(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// mhlo.sharding
//===----------------------------------------------------------------------===//

namespace {
class GspmdImport {
public:
  explicit GspmdImport(ModuleOp module) : module(module) {}
  LogicalResult run();

private:
  LogicalResult add(Operation *at, Attribute text);
  LogicalResult collect();
  FailureOr<ShardingAttr> convert(Operation *at, StringAttr text, Type type);
  LogicalResult convertCall(stablehlo::CustomCallOp op);
  void addGroups(Operation *op);
  FailureOr<SmallVector<SmallVector<unsigned>>> splitOf(Operation *at, Operation *annotation,
                                                        Type type);
  LogicalResult liftShards(func::FuncOp function);
  bool isManual(Operation *op);
  bool isOfShards(Operation *op);
  LogicalResult liftShardOp(Operation &op, ShardBody &body, DenseSet<Value> &local, bool &lifted);

  ModuleOp module;
  SmallVector<stablehlo::CustomCallOp> calls;
  /// Properties of the mesh that follow from device groups of collectives.
  SmallVector<GspmdSharding> groups;
  llvm::MapVector<StringAttr, GspmdSharding> parsed;
  /// For each function, true if isOfShards holds for one of its ops.
  DenseMap<Operation *, bool> ofShards;
  SmallVector<int64_t> sizes;
  SmallVector<std::string> names;
};
} // namespace

LogicalResult GspmdImport::add(Operation *at, Attribute attribute) {
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  if (!text || parsed.contains(text))
    return success();
  std::string why;
  FailureOr<GspmdSharding> sharding = parseGspmdSharding(text, why);
  if (failed(sharding))
    return at->emitError("mhlo.sharding ") << text << ": " << why;
  parsed[text] = *sharding;
  return success();
}

static bool isSharding(Operation *op) { return isCallOf(op, "Sharding"); }

static bool isShardShape(Operation *op) {
  return isCallOf(op, "SPMDFullToShardShape") || isCallOf(op, "SPMDShardToFullShape");
}

/// Groups with members at distance `stride` are along an axis.
void GspmdImport::addGroups(Operation *op) {
  auto lists = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  if (!lists || lists.getType().getRank() != 2 || lists.getType().getDimSize(1) < 2)
    return;
  int64_t width = lists.getType().getDimSize(1), count = lists.getNumElements();
  auto numbers = llvm::to_vector(lists.getValues<int64_t>());
  int64_t stride = numbers[1] - numbers[0];
  for (int64_t i = 0; i < width; ++i)
    if (numbers[i] != numbers[0] + i * stride)
      return;
  if (stride < 1 || count % (width * stride) != 0)
    return;
  GspmdSharding sharding;
  sharding.kind = GspmdSharding::Tiled;
  sharding.tiles = {count / (width * stride), width, stride};
  sharding.reshape = sharding.tiles;
  sharding.transpose = {0, 1, 2};
  groups.push_back(sharding);
}

LogicalResult GspmdImport::collect() {
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(add(function, function.getArgAttr(i, kGspmdSharding))))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(add(function, function.getResultAttr(i, kGspmdSharding))))
        return failure();
  }
  module.walk([&](Operation *op) { addGroups(op); });
  WalkResult walk = module.walk([&](stablehlo::CustomCallOp op) {
    if (!isSharding(op) && !isShardShape(op))
      return WalkResult::advance();
    return failed(add(op, op->getAttr(kGspmdSharding))) ? WalkResult::interrupt()
                                                        : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

FailureOr<ShardingAttr> GspmdImport::convert(Operation *at, StringAttr text, Type type) {
  if (parsed[text].kind == GspmdSharding::Unknown)
    return ShardingAttr();
  auto dims = axesOf(parsed[text], sizes, rankOf(type));
  if (parsed[text].kind == GspmdSharding::Manual || failed(dims))
    return at->emitError("mhlo.sharding ")
           << text << " of " << type << " cannot be expressed by complete axes of one mesh";
  SmallVector<ArrayAttr> axes;
  for (ArrayRef<int64_t> dim : *dims) {
    SmallVector<Attribute> list;
    for (int64_t axis : dim)
      list.push_back(StringAttr::get(module.getContext(), names[axis]));
    axes.push_back(ArrayAttr::get(module.getContext(), list));
  }
  return makeSharding(module.getContext(), axes);
}

/// Dimensions that are left to propagation: `unspecified_dims=[0,1]`.
static FailureOr<SmallVector<int64_t>> openDims(stablehlo::CustomCallOp op, int64_t rank) {
  SmallVector<int64_t> open;
  auto config = op->getAttrOfType<StringAttr>("backend_config");
  StringRef text = config ? config.getValue() : "";
  if (!text.consume_front("unspecified_dims=["))
    return open;
  SmallVector<StringRef> numbers;
  text.take_until([](char c) { return c == ']'; }).split(numbers, ',', -1, /*KeepEmpty=*/false);
  for (StringRef number : numbers) {
    int64_t dim;
    if (number.trim().getAsInteger(10, dim) || dim < 0 || dim >= rank ||
        (!open.empty() && dim <= open.back()))
      return op.emitOpError("@Sharding expects ascending unspecified_dims below ")
             << rank << ", found " << config;
    open.push_back(dim);
  }
  return open;
}

LogicalResult GspmdImport::convertCall(stablehlo::CustomCallOp op) {
  auto text = op->getAttrOfType<StringAttr>(kGspmdSharding);
  if (!text || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      op->getOperand(0).getType() != op->getResult(0).getType())
    return op.emitOpError("@Sharding expects one tensor and mhlo.sharding");
  FailureOr<ShardingAttr> sharding = convert(op, text, op->getResult(0).getType());
  if (failed(sharding))
    return failure();
  std::optional<int64_t> group = parsed[text].group;
  if (*sharding) {
    FailureOr<SmallVector<int64_t>> open = openDims(op, (*sharding).getRank());
    if (failed(open))
      return failure();
    *sharding = ShardingAttr::get(op.getContext(), (*sharding).getMesh(), (*sharding).getDims(),
                                  ReduceKind::Sum, {}, *open, {}, {});
  } else if (group && !sizes.empty()) {
    *sharding = makeOpen(op.getContext(), rankOf(op->getResult(0).getType()));
  }
  OpBuilder builder(op);
  Value value = op->getOperand(0);
  if (*sharding) {
    auto constrain = ConstrainOp::create(builder, op.getLoc(), value.getType(), value, *sharding);
    if (group)
      constrain.setGroup(*group);
    value = constrain;
  }
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Computations between @SPMDFullToShardShape and @SPMDShardToFullShape
//===----------------------------------------------------------------------===//

/// The axes that split each dimension of a global tensor, according to an annotation.
FailureOr<SmallVector<SmallVector<unsigned>>>
GspmdImport::splitOf(Operation *at, Operation *annotation, Type type) {
  auto text = annotation ? annotation->getAttrOfType<StringAttr>(kGspmdSharding) : StringAttr();
  if (!text || parsed[text].kind == GspmdSharding::Manual)
    return at->emitOpError("expects a @Sharding of the global tensor");
  auto dims = axesOf(parsed[text], sizes, rankOf(type));
  if (failed(dims))
    return at->emitError("mhlo.sharding ")
           << text << " of " << type << " cannot be expressed by complete axes of one mesh";
  SmallVector<SmallVector<unsigned>> split;
  for (ArrayRef<int64_t> dim : *dims)
    split.emplace_back(dim.begin(), dim.end());
  return split;
}

/// Checks that the type of a tensor's parts in the program matches its sharding.
static LogicalResult checkShard(Operation *op, Type globalType, Type localType,
                                ArrayRef<SmallVector<unsigned>> split, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(localType).getShape());
  if (static_cast<int64_t>(shape.size()) != rankOf(globalType))
    return op->emitOpError("changes the rank of a tensor");
  for (auto [size, axes] : llvm::zip_equal(shape, split))
    for (unsigned axis : axes)
      size *= sizes[axis];
  if (ArrayRef(shape) == cast<RankedTensorType>(globalType).getShape())
    return success();
  return op->emitOpError("has the global type ")
         << globalType << ", whose shards are not of type " << localType;
}

/// Returns true if a @Sharding marks its value as a shard.
bool GspmdImport::isManual(Operation *op) {
  auto text = isSharding(op) ? op->getAttrOfType<StringAttr>(kGspmdSharding) : StringAttr();
  return text && parsed[text].kind == GspmdSharding::Manual;
}

/// Returns true if an op is part of a computation on shards even without local operands: the op, or
/// one in its regions or callees, is marked, reads the device number or communicates.
bool GspmdImport::isOfShards(Operation *op) {
  WalkResult walk = op->walk([&](Operation *inner) {
    if (isShardShape(inner) || isManual(inner) ||
        isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(inner) ||
        inner->hasAttr("replica_groups") || inner->hasAttr("source_target_pairs"))
      return WalkResult::interrupt();
    auto call = dyn_cast<func::CallOp>(inner);
    auto callee = call ? module.lookupSymbol<func::FuncOp>(call.getCallee()) : func::FuncOp();
    if (!callee)
      return WalkResult::advance();
    // A function that calls itself is refused elsewhere.
    auto [known, isNew] = ofShards.try_emplace(callee, false);
    if (isNew && isOfShards(callee))
      ofShards[callee] = true;
    return ofShards[callee] ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

LogicalResult GspmdImport::liftShardOp(Operation &op, ShardBody &body, DenseSet<Value> &local,
                                       bool &lifted) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegions(), captured);
  auto isLocal = [&](Value value) { return local.contains(value); };
  lifted =
      isOfShards(&op) || llvm::any_of(op.getOperands(), isLocal) || llvm::any_of(captured, isLocal);
  if (!lifted)
    return success();
  if (isShardShape(&op) && (op.getNumOperands() != 1 || op.getNumResults() != 1))
    return op.emitOpError("expects one operand and one result");
  if (isCallOf(&op, "SPMDShardToFullShape")) {
    Type globalType = op.getResult(0).getType(), localType = op.getOperand(0).getType();
    auto split = splitOf(&op, &op, globalType);
    if (failed(split) || failed(checkShard(&op, globalType, localType, *split, sizes)))
      return failure();
    auto all = llvm::to_vector(llvm::seq<unsigned>(0, sizes.size()));
    Lifted created = body.leave(op.getLoc(), body.lookup(op.getOperand(0)), *split,
                                cast<RankedTensorType>(globalType), all);
    op.getResult(0).replaceAllUsesWith(created.value);
    return success();
  }
  local.insert(op.result_begin(), op.result_end());
  if (isSharding(&op)) {
    body.map(op.getResult(0), body.lookup(op.getOperand(0)));
    return success();
  }
  if (!isShardShape(&op))
    return body.lift(&op);
  Type globalType = op.getOperand(0).getType(), localType = op.getResult(0).getType();
  Operation *annotation = op.getOperand(0).getDefiningOp();
  auto split = splitOf(&op, isSharding(annotation) ? annotation : nullptr, globalType);
  if (failed(split) || failed(checkShard(&op, globalType, localType, *split, sizes)))
    return failure();
  body.map(op.getResult(0), body.enter(op.getLoc(), {op.getOperand(0), {}}, *split, {}));
  return success();
}

LogicalResult GspmdImport::liftShards(func::FuncOp function) {
  if (function.isExternal() || llvm::none_of(function.getOps<stablehlo::CustomCallOp>(),
                                             [](auto op) { return isShardShape(op); }))
    return success();
  SmallVector<StringAttr> axes;
  for (const std::string &name : names)
    axes.push_back(StringAttr::get(module.getContext(), name));
  OpBuilder builder(function);
  ShardBody body(builder, axes, sizes,
                 llvm::to_vector(llvm::seq<unsigned>(0, static_cast<unsigned>(axes.size()))));
  DenseSet<Value> local;
  SmallVector<Operation *> done;
  for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator())) {
    builder.setInsertionPoint(&op);
    bool lifted = false;
    if (failed(liftShardOp(op, body, local, lifted)))
      return failure();
    if (lifted)
      done.push_back(&op);
  }
  for (Operation *op : llvm::reverse(done)) {
    if (!op->use_empty())
      return withNote(op->emitOpError("in a computation on shards is used outside of it"),
                      *op->user_begin(), "the use is here");
    op->erase();
  }
  return success();
}

LogicalResult GspmdImport::run() {
  if (failed(collect()))
    return failure();
  if (parsed.empty())
    return success();
  SmallVector<GspmdSharding> shardings(groups);
  for (auto &[text, sharding] : parsed)
    shardings.push_back(sharding);
  FailureOr<SmallVector<int64_t>> axes = commonAxes(shardings);
  if (failed(axes))
    return module.emitError("the mhlo.sharding attributes have no mesh in common");
  sizes = *axes;
  SmallVector<StringRef> refs;
  for (size_t i = 0; i < sizes.size(); ++i)
    names.push_back("axis" + std::to_string(i));
  llvm::append_range(refs, names);
  if (!sizes.empty())
    createMesh(module, refs, sizes);
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(
            convertSignature<StringAttr>(function, kGspmdSharding, [&](StringAttr text, Type type) {
              return convert(function, text, type);
            })))
      return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(liftShards(function)))
      return failure();
  module.walk([&](stablehlo::CustomCallOp op) {
    if (isSharding(op))
      calls.push_back(op);
  });
  for (stablehlo::CustomCallOp op : calls)
    if (failed(convertCall(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ImportShardings : mlir::st::impl::ImportShardingsBase<ImportShardings> {
  using ImportShardingsBase::ImportShardingsBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    if (getMesh(getOperation()))
      return;
    if (failed(readFrontendAttributes(getOperation())))
      return signalPassFailure();
    if (failed(importCustomCalls(getOperation())))
      return signalPassFailure();
    bool hasSdy = !getOperation().getOps<sdy::MeshOp>().empty();
    if (failed(hasSdy ? importSdy(getOperation()) : GspmdImport(getOperation()).run()))
      return signalPassFailure();
    MeshOp mesh = getMesh(getOperation());
    if (!mesh || mesh.getNumDevices() == 1)
      removeCollectivesOfOneDevice(getOperation());
  }
};
} // namespace
