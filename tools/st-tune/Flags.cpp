#include "tools/st-tune/Flags.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::st;

namespace {

struct PassedFlag {
  const char *name, *value, *help;
};

} // namespace

/// The flags of st-plan that describe its search space. The other flags of st-plan ask questions.
static constexpr PassedFlag kPlanFlags[] = {
    {"cluster", "name|file", "st-plan: cluster description (default: the one of the target)"},
    {"profile", "name|file", "st-plan: implementation profile (default: st, or st-plan's)"},
    {"constants", "file", "st-plan: fitted constants"},
    {"deepspeed", "file", "st-plan: DeepSpeed configuration, the base of {deepspeed}"},
    {"task", "mlm|span|clm|classify|classify-tokens",
     "st-plan and st-compile: training task of the model"},
    {"seq", "n", "st-plan and st-compile: tokens in a sequence"},
    {"batch", "n,...", "st-plan: sequences in a step; each of several numbers is planned"},
    {"precision", "f32|f16|bf16", "st-plan: compute type"},
    {"optimizer", "name", "st-plan and st-compile: optimizer"},
    {"devices", "n", "st-plan: devices"},
    {"nodes", "n", "st-plan: nodes, instead of --devices"},
    {"tp", "n,...", "st-plan: tensor shards to consider"},
    {"pp", "n,...", "st-plan: pipeline stages to consider"},
    {"dp", "n,...", "st-plan: replicas to consider"},
    {"context", "n,...", "st-plan: devices that share each sequence to consider"},
    {"context-attention", "heads|keys|ring,...",
     "st-plan: what devices send for attention to consider"},
    {"expert", "n,...", "st-plan: replicas that share the experts to consider"},
    {"virtual-stages", "n,...", "st-plan: stages of a device group to consider"},
    {"mb", "n,...", "st-plan: micro-batches to consider"},
    {"zero", "0-3,...", "st-plan: ZeRO levels to consider"},
    {"recompute", "none|selective|full,...", "st-plan: recomputation to consider"},
    {"schedule", "name,...", "st-plan: schedules to consider"},
    {"placement", "tensor-data-pipeline,...", "st-plan: orders of ranks to consider"},
    {"sequence-parallel", "true|false,...", "st-plan: sequence parallelism to consider"},
};

TuneFlags::TuneFlags() {
  for (const PassedFlag &flag : kPlanFlags)
    planFlags.push_back(std::make_unique<cl::opt<std::string>>(
        llvm::StringRef(flag.name), cl::value_desc(flag.value), cl::desc(flag.help)));
}

std::string TuneFlags::planFlag(llvm::StringRef name) const {
  auto found = llvm::find_if(planFlags, [&](const auto &flag) { return flag->ArgStr == name; });
  return found == planFlags.end() ? std::string() : (*found)->getValue();
}
