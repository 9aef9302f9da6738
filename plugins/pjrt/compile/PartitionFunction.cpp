#include "plugins/pjrt/compile/PartitionFunction.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "lib/Driver/ImportProgram.h"
#include "lib/Timing/GpuDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Import/Passes.h"
#include "plugins/pjrt/compile/Ports.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace st::pjrt {

/// Maximum trip count of unrolled loops. On several devices loops cannot contain communication, so
/// longer ones are unrolled.
static constexpr int64_t kUnrolled = 8, kUnrolledOnSeveral = 256;

/// The text of a parallel-config file with one stage and one device per partition.
static std::string layoutOf(ArrayRef<int64_t> hardwareIds, const std::string &target) {
  const absl::string_view prefix = isGpuName(target) ? "GPU:" : "/device:XLA_DTU:";
  std::string text =
      absl::StrCat("{\"mode\": \"sharding\", \"sharding_size\": ", hardwareIds.size(),
                   ", \"stage_cnt\": 1, \"accum_degree\": 1, \"device_mapping\": "
                   "{\"stage_0\": {");
  for (auto [i, id] : llvm::enumerate(hardwareIds))
    absl::StrAppend(&text, i ? ", " : "", "\"shard_", i, "\": \"", prefix, id, "\"");
  return text + "}}}";
}

mlir::st::CompileRequest requestFor(OwningOpRef<ModuleOp> &module, const std::string &target,
                                    ArrayRef<int64_t> hardwareIds) {
  mlir::st::CompileRequest request;
  request.input = "<function>";
  request.quiet = true;
  request.parallel = "<devices>";
  request.parallelText = layoutOf(hardwareIds, target);
  request.options = mlir::st::CompileOptions({{"target", target}});
  request.program = [&] { return std::move(module); };
  return request;
}

LogicalResult importSource(ModuleOp module, int64_t partitions) {
  return mlir::st::importFunction(module, partitions > 1 ? kUnrolledOnSeveral : kUnrolled);
}

LogicalResult importShardings(ModuleOp module) {
  PassManager preparation(module.getContext());
  preparation.addPass(mlir::st::createImportShardings());
  preparation.addPass(mlir::st::createInlineCalls());
  return preparation.run(module);
}

void dropShardings(ModuleOp module) {
  module.walk([](mlir::st::ConstrainOp op) {
    op.replaceAllUsesWith(op.getOperand());
    op.erase();
  });
  if (mlir::st::MeshOp mesh = mlir::st::getMesh(module))
    mesh.erase();
  const StringAttr name = StringAttr::get(module.getContext(), mlir::st::kShardingAttr);
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, name);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.removeResultAttr(i, name);
  }
}

OwningOpRef<ModuleOp> partitionFunction(OwningOpRef<ModuleOp> module,
                                        const proto::PluginProgram &program) {
  MLIRContext *const context = module->getContext();
  proto::PluginProgram ports = program;
  takeDeviceOrders(*module, ports);
  if (mlir::failed(importSource(*module, program.partitions())))
    return nullptr;
  const SmallVector<int64_t> ids(program.code().groups(0).device_ids().begin(),
                                 program.code().groups(0).device_ids().end());
  mlir::st::CompileRequest request = requestFor(module, program.target(), ids);
  request.stopAfter = mlir::st::CompilePhase::Local;
  return mlir::st::compileToModule(request, context);
}

} // namespace st::pjrt
