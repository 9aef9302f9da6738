#include "backends/dtu/codegen/executable/VerifyDtuOrder.h"
#include "backends/dtu/codegen/Passes.h"
#include "backends/dtu/codegen/executable/ExecutableBuilder.h"
#include "backends/dtu/isa/order/ExecutableOrder.h"
#include "dialects/St/IR/ModuleFacts.h"

namespace mlir::dtu {
#define GEN_PASS_DEF_VERIFYDTUORDER
#include "backends/dtu/codegen/Passes.h.inc"
} // namespace mlir::dtu

using namespace mlir;
using namespace mlir::dtu;

LogicalResult mlir::dtu::verifyOrder(ModuleOp module, const ::st::proto::Executable &executable,
                                     int64_t work, bool remarks) {
  auto order = ::st::dtu::proveOrder(executable, work);
  if (!order.ok()) {
    absl::string_view text = order.status().message();
    return module.emitError() << StringRef(text.data(), text.size());
  }
  if (remarks && (order->proven < order->runs || !order->isStepProven))
    module.emitRemark()
        << "proved " << order->proven << " of " << order->runs
        << " different program runs free of races, and " << (order->isStepProven ? "all" : "none")
        << " of them free of deadlock; verify-dtu-order with more work proves the others";
  return success();
}

static constexpr mlir::st::FactContract kContract = {
    {mlir::st::Fact::Programs, mlir::st::Fact::DeviceCode}, {}};

namespace {
struct VerifyDtuOrder : mlir::dtu::impl::VerifyDtuOrderBase<VerifyDtuOrder> {
  using VerifyDtuOrderBase::VerifyDtuOrderBase;

  void runOnOperation() override {
    if (failed(mlir::st::checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    FailureOr<::st::proto::Executable> executable = buildExecutable(getOperation());
    if (failed(executable) ||
        failed(verifyOrder(getOperation(), *executable, work, /*remarks=*/true)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
