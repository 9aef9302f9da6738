#include "plugins/pjrt/compile/Inspections.h"

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Import/Passes.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

using namespace mlir;

namespace st::pjrt {

/// HLO's kind of sharding of a value in a computation on shards.
constexpr int kManual = 4;

static SmallVector<stablehlo::CustomCallOp> callsOf(ModuleOp module, StringRef target) {
  SmallVector<stablehlo::CustomCallOp> calls;
  module.walk([&](stablehlo::CustomCallOp call) {
    if (call.getCallTargetName() == target)
      calls.push_back(call);
  });
  return calls;
}

static absl::StatusOr<int64_t> numberOf(stablehlo::CustomCallOp call) {
  auto text = dyn_cast_or_null<StringAttr>(call.getBackendConfigAttr());
  int64_t number = 0;
  if (!text || call->getNumOperands() != 1 || call->getNumResults() != 0 ||
      !absl::SimpleAtoi(text.getValue().str(), &number))
    return absl::InvalidArgumentError(absl::StrCat(
        kInspectSharding, ": expected one operand, no result, and a number in its backend_config"));
  return number;
}

/// Removes the callbacks to the host. Zeros replace their results.
static void removeCallbacks(ModuleOp module) {
  for (stablehlo::CustomCallOp call : callsOf(module, kHostCallback)) {
    OpBuilder builder(call);
    for (Value result : call->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      auto zeros = DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType()));
      result.replaceAllUsesWith(stablehlo::ConstantOp::create(builder, call.getLoc(), type, zeros));
    }
    call->erase();
  }
}

static absl::Status inspect(OwningOpRef<ModuleOp> module, const SegmentCompiler &compile,
                            proto::PluginProgram &program) {
  PassManager preparation(module->getContext());
  preparation.addPass(mlir::st::createInlineCalls());
  if (mlir::failed(preparation.run(*module)))
    return absl::UnimplementedError("the calls of a function that asks for shardings");
  removeCallbacks(*module);
  auto function = module->lookupSymbol<func::FuncOp>("main");
  Operation *end = function.front().getTerminator();
  SmallVector<Value> asked;
  std::vector<int64_t> numbers;
  for (stablehlo::CustomCallOp call : callsOf(*module, kInspectSharding)) {
    absl::StatusOr<int64_t> number = numberOf(call);
    if (!number.ok())
      return number.status();
    if (call->getParentOfType<sdy::ManualComputationOp>()) {
      proto::PluginInspection &answer = *program.add_inspections();
      answer.set_number(*number);
      answer.mutable_sharding()->set_type(kManual);
    } else if (call->getParentOp() == function) {
      asked.push_back(call->getOperand(0));
      numbers.push_back(*number);
    } else {
      return absl::UnimplementedError(
          absl::StrCat("the sharding of a value in a region of ",
                       call->getParentOp()->getName().getStringRef().str(),
                       ": expected a value of the function or of a computation on shards"));
    }
    call->erase();
  }
  if (asked.empty())
    return absl::OkStatus();
  const auto known = static_cast<int>(end->getNumOperands());
  end->insertOperands(end->getNumOperands(), asked);
  for (Value value : asked)
    if (mlir::failed(function.insertResult(function.getNumResults(), value.getType(), {})))
      return absl::InternalError("cannot return a value whose sharding is inspected");
  absl::StatusOr<proto::PluginProgram> made = compile(std::move(module));
  if (!made.ok())
    return made.status();
  for (auto [i, number] : llvm::enumerate(numbers)) {
    proto::PluginInspection &answer = *program.add_inspections();
    answer.set_number(number);
    *answer.mutable_sharding() = made->results(known + static_cast<int>(i)).sharding();
  }
  return absl::OkStatus();
}

absl::Status resolveInspections(ModuleOp module, const SegmentCompiler &compile,
                               proto::PluginProgram &program) {
  const SmallVector<stablehlo::CustomCallOp> calls = callsOf(module, kInspectSharding);
  if (calls.empty())
    return absl::OkStatus();
  absl::Status status = inspect(OwningOpRef<ModuleOp>(module.clone()), compile, program);
  for (stablehlo::CustomCallOp call : calls)
    call->erase();
  return status;
}

} // namespace st::pjrt
