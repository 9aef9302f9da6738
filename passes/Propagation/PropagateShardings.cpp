#include "dialects/St/IR/ShardingUtils.h"
#include "passes/Propagation/Passes.h"
#include "passes/Propagation/Settle.h"

namespace mlir::st {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/Propagation/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct PropagateShardings : st::impl::PropagateShardingsBase<PropagateShardings> {
  using PropagateShardingsBase::PropagateShardingsBase;

  void runOnOperation() override {
    MeshOp mesh = getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("expected an st.mesh; run apply-parallel-config first");
      return signalPassFailure();
    }
    MeshAxes axes(mesh);
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
    Wishes wishes(*graph, micro);
    wishes.run();
    Settlement settlement(*graph, micro, wishes);
    settlement.run();
    copiedValues += settlement.copiedValues();
    return success();
  }
};
} // namespace
