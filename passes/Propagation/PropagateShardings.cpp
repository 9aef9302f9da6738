#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "passes/Propagation/Passes.h"
#include "passes/Propagation/Settle.h"

namespace mlir::st {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/Propagation/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// A constraint that says nothing of micro-batches leaves them where they are: outside
/// of its own axes, as in a batch.
static void addMicro(const StepGraph &graph, const MicroAnalysis &micro) {
  for (const OpNode &node : graph.nodes) {
    auto constrain = dyn_cast<ConstrainOp>(node.op);
    if (!constrain || constrain.getSharding().usesAxis(MeshOp::kMicro))
      continue;
    ShardingAttr varying = graph.axes.write(micro.sharding(constrain.getResult()));
    SmallVector<ArrayAttr> dims;
    for (auto [own, outer] :
         llvm::zip_equal(constrain.getSharding().getDims(), varying.getDims())) {
      SmallVector<Attribute> axes(outer.begin(), outer.end());
      llvm::append_range(axes, own);
      dims.push_back(ArrayAttr::get(constrain.getContext(), axes));
    }
    constrain.setShardingAttr(
        ShardingAttr::get(constrain.getContext(), constrain.getSharding().getMesh(), dims));
  }
}

static constexpr FactContract kContract = {{Fact::Mesh}, FactSet::from(Fact::Shardings)};

namespace {
struct PropagateShardings : st::impl::PropagateShardingsBase<PropagateShardings> {
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
    FailureOr<StepGraph> graph = StepGraph::build(function, axes);
    if (failed(graph))
      return failure();
    MicroAnalysis micro(*graph);
    if (failed(micro.run()))
      return failure();
    addMicro(*graph, micro);
    Wishes wishes(*graph, micro);
    wishes.run();
    Settlement settlement(*graph, micro, wishes);
    settlement.run();
    copiedValues += settlement.copiedValues();
    return success();
  }
};
} // namespace
