#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "passes/Propagation/CarryCaptures.h"
#include "passes/Propagation/Passes.h"
#include "passes/Propagation/ReassociateSums.h"
#include "passes/Propagation/Resolution.h"

namespace mlir::st {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/Propagation/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// If a constraint does not mention micro-batches, they are the major axis before its own axes, as
/// in a batch. Axes for which a micro-batch is too small are dropped. A constraint leaves a sum
/// over micro-batches open if there is one.
static void addMicro(const StepGraph &graph, const MicroAnalysis &micro) {
  auto sizeOf = [&](Attribute part) {
    auto name = dyn_cast<StringAttr>(part);
    return name ? graph.axes.size(*graph.axes.lookup(name)) : cast<IntegerAttr>(part).getInt();
  };
  for (const OpNode &node : graph.nodes) {
    auto constrain = dyn_cast<ConstrainOp>(node.op);
    if (!constrain)
      continue;
    if (graph.axes.read(constrain.getSharding()).isUnreducedOver(kMicroAxis) &&
        !micro.sharding(constrain.getResult()).isUnreducedOver(kMicroAxis))
      constrain.setShardingAttr(constrain.getSharding().withoutUnreduced());
    if (constrain.getSharding().usesAxis(MeshOp::kMicro))
      continue;
    ShardingAttr varying = graph.axes.write(micro.sharding(constrain.getResult()));
    ArrayRef<int64_t> shape = cast<RankedTensorType>(constrain.getType()).getShape();
    SmallVector<ArrayAttr> dims;
    for (auto [own, outer, size] :
         llvm::zip_equal(constrain.getSharding().getDims(), varying.getDims(), shape)) {
      SmallVector<Attribute> parts(outer.begin(), outer.end());
      int64_t count = 1;
      for (Attribute part : outer)
        count *= sizeOf(part);
      for (Attribute part : own)
        if (outer.empty() || size % (count * sizeOf(part)) == 0) {
          count *= sizeOf(part);
          parts.push_back(part);
        }
      dims.push_back(ArrayAttr::get(constrain.getContext(), parts));
    }
    constrain.setShardingAttr(constrain.getSharding().withoutUnreduced().withDims(dims));
  }
}

/// Only parts of equal size are supported.
static LogicalResult checkSeeds(func::FuncOp function, const MeshAxes &axes) {
  auto check = [&](Operation *op, Type type, ShardingAttr seed,
                   const Twine &what) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !seed || divides(tensor.getShape(), axes.read(seed)))
      return success();
    return op->emitOpError("splits ")
           << what << " of " << tensor << " unevenly as " << seed << "; run pad-dimensions first";
  };
  for (BlockArgument argument : function.getArguments())
    if (failed(check(function, argument.getType(), getSharding(argument),
                     "argument " + Twine(argument.getArgNumber()))))
      return failure();
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(check(function, type, function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr),
                     "result " + Twine(i))))
      return failure();
  WalkResult walked = function.walk([&](ConstrainOp op) {
    return WalkResult(check(op, op.getType(), op.getSharding(), "a value"));
  });
  return failure(walked.wasInterrupted());
}

static constexpr FactContract kContract = {{Fact::Mesh}, FactSet::from(Fact::Shardings)};

namespace {
struct PropagateShardings : mlir::st::impl::PropagateShardingsBase<PropagateShardings> {
  using PropagateShardingsBase::PropagateShardingsBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    MeshAxes axes(getMesh(getOperation()));
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(propagate(function, axes)))
        return signalPassFailure();
  }

  LogicalResult propagate(func::FuncOp function, const MeshAxes &axes) {
    if (failed(checkSeeds(function, axes)))
      return failure();
    carryCaptures(function);
    // There are no reductions on a single device.
    if (llvm::any_of(axes.used(), [](Axis axis) { return axis != kMicroAxis; }))
      reassociateSums(function);
    FailureOr<StepGraph> graph = StepGraph::build(function, axes);
    if (failed(graph))
      return failure();
    MicroAnalysis micro(*graph);
    if (failed(micro.run()))
      return failure();
    addMicro(*graph, micro);
    OpenResults open(*graph);
    open.run();
    Constraints constraints(*graph, micro, open);
    if (failed(constraints.run()))
      return failure();
    Resolution resolution(*graph, micro, constraints, open);
    resolution.run();
    copiedValues += resolution.copiedValues();
    return success();
  }
};
} // namespace
