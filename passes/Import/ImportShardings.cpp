#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Import/GspmdSharding.h"
#include "passes/Import/Passes.h"

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

static void createMesh(ModuleOp module, ArrayRef<StringRef> names, ArrayRef<int64_t> sizes) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MeshOp::create(builder, module.getLoc(), builder.getStringAttr("mesh"),
                 builder.getStrArrayAttr(names), builder.getDenseI64ArrayAttr(sizes),
                 builder.getI64IntegerAttr(1));
}

/// Gives each annotated argument and result of functions its sharding.
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
    function.setResultAttr(i, kShardingAttr, *sharding);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// sdy
//===----------------------------------------------------------------------===//

/// Creates the mesh that all sdy meshes are; several must have the same axes.
static LogicalResult importMesh(ModuleOp module) {
  sdy::MeshAttr mesh;
  for (auto op : llvm::make_early_inc_range(module.getOps<sdy::MeshOp>())) {
    sdy::MeshAttr own = op.getMesh();
    if (!llvm::equal(own.getDeviceIds(), llvm::seq<int64_t>(0, own.getDeviceIds().size())))
      return op.emitOpError("has devices in an order of their own, which cannot be imported; the "
                            "parallel file says which device is which");
    if (mesh && (mesh.getAxes() != own.getAxes() || mesh.getSizes() != own.getSizes()))
      return op.emitOpError("has other axes than the mesh before it; expected one mesh");
    mesh = own;
    op.erase();
  }
  SmallVector<StringRef> names;
  for (StringAttr axis : mesh.getAxes())
    names.push_back(axis.getValue());
  if (llvm::is_contained(names, StringRef(MeshOp::kMicro)))
    return module.emitError("the mesh has an axis \"micro\", which stands for micro-batches here");
  createMesh(module, names, mesh.getSizes());
  return success();
}

static FailureOr<ShardingAttr> convertSdy(Operation *at, sdy::TensorShardingAttr given, Type type) {
  if (!given.getUnreduced().empty())
    return at->emitError("a sharding that is unreduced over ")
           << given.getUnreduced().front() << " cannot be imported";
  if (static_cast<int64_t>(given.getDims().size()) != rankOf(type))
    return at->emitError("a sharding of ")
           << given.getDims().size() << " dimensions is given for " << type;
  // What sdy's own verifier lets pass is refused here.
  auto sharding =
      ShardingAttr::getChecked([&] { return at->emitError(); }, at->getContext(),
                               FlatSymbolRefAttr::get(at->getContext(), "mesh"), given.getDims(),
                               ReduceKind::Sum, ArrayRef<StringAttr>());
  if (!sharding)
    return failure();
  return sharding;
}

static LogicalResult importSdy(ModuleOp module) {
  if (failed(importMesh(module)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(convertSignature<sdy::TensorShardingAttr>(
            function, kSdySharding, [&](sdy::TensorShardingAttr given, Type type) {
              return convertSdy(function, given, type);
            })))
      return failure();
  WalkResult walk = module.walk([&](sdy::ShardingConstraintOp op) {
    FailureOr<ShardingAttr> sharding = convertSdy(op, op.getSharding(), op.getType());
    if (failed(sharding))
      return WalkResult::interrupt();
    OpBuilder builder(op);
    op->replaceAllUsesWith(
        ConstrainOp::create(builder, op.getLoc(), op.getType(), op.getInput(), *sharding));
    op->erase();
    return WalkResult::advance();
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

  ModuleOp module;
  SmallVector<stablehlo::CustomCallOp> calls;
  llvm::MapVector<StringAttr, GspmdSharding> parsed;
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

LogicalResult GspmdImport::collect() {
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(add(function, function.getArgAttr(i, kGspmdSharding))))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(add(function, function.getResultAttr(i, kGspmdSharding))))
        return failure();
  }
  WalkResult walk = module.walk([&](stablehlo::CustomCallOp op) {
    StringRef target = op.getCallTargetName();
    if (target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape") {
      op.emitOpError("@") << target << ": a computation on shards cannot be imported";
      return WalkResult::interrupt();
    }
    if (target != "Sharding")
      return WalkResult::advance();
    calls.push_back(op);
    return failed(add(op, op->getAttr(kGspmdSharding))) ? WalkResult::interrupt()
                                                        : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

FailureOr<ShardingAttr> GspmdImport::convert(Operation *at, StringAttr text, Type type) {
  auto dims = axesOf(parsed[text], sizes, rankOf(type));
  if (parsed[text].kind == GspmdSharding::Manual || failed(dims))
    return at->emitError("mhlo.sharding ")
           << text << " of " << type << " cannot be said by whole axes of one mesh";
  SmallVector<ArrayAttr> axes;
  for (ArrayRef<int64_t> dim : *dims) {
    SmallVector<Attribute> list;
    for (int64_t axis : dim)
      list.push_back(StringAttr::get(module.getContext(), names[axis]));
    axes.push_back(ArrayAttr::get(module.getContext(), list));
  }
  return makeSharding(module.getContext(), axes);
}

LogicalResult GspmdImport::convertCall(stablehlo::CustomCallOp op) {
  auto text = op->getAttrOfType<StringAttr>(kGspmdSharding);
  if (!text || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      op->getOperand(0).getType() != op->getResult(0).getType())
    return op.emitOpError("@Sharding expects one tensor and mhlo.sharding");
  FailureOr<ShardingAttr> sharding = convert(op, text, op->getResult(0).getType());
  if (failed(sharding))
    return failure();
  OpBuilder builder(op);
  op->replaceAllUsesWith(ConstrainOp::create(builder, op.getLoc(), op->getResult(0).getType(),
                                             op->getOperand(0), *sharding));
  op->erase();
  return success();
}

LogicalResult GspmdImport::run() {
  if (failed(collect()))
    return failure();
  if (parsed.empty())
    return success();
  SmallVector<GspmdSharding> shardings;
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
  for (stablehlo::CustomCallOp op : calls)
    if (failed(convertCall(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ImportShardings : st::impl::ImportShardingsBase<ImportShardings> {
  using ImportShardingsBase::ImportShardingsBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    if (getMesh(getOperation()))
      return;
    bool hasSdy = !getOperation().getOps<sdy::MeshOp>().empty();
    if (failed(hasSdy ? importSdy(getOperation()) : GspmdImport(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
