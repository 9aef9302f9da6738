#include "lib/Driver/Planning/BlockCompiler.h"

#include "lib/Driver/Compiler.h"
#include "lib/Driver/Planning/GatherWork.h"
#include "lib/Support/StatusMacros.h"
#include "st/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::st;
namespace proto = ::st::proto;

/// More than one, so that gradients are accumulated and tasks are separate.
constexpr int64_t kMicroBatches = 2;

/// Without a capacity, a framework sends each token to the devices of its experts, and multiplies
/// the tokens of each expert without padding. A plan has no batch to route, so the tokens are
/// assumed to be spread evenly over the experts. St's program instead gathers the weights of
/// experts once per step, and pads tokens to tiles; the plan reads this work from the program.
constexpr double kEvenShare = 1;

BlockCompiler::BlockCompiler(const PlanInput &input, std::string target)
    : input(input), target(std::move(target)) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
}

BlockCompiler::~BlockCompiler() = default;

bool BlockCompiler::limitsExperts() const {
  return input.config.experts.count == 0 || input.config.experts.capacityFactor ||
         input.options.count("expert-capacity-factor") > 0;
}

/// The entry of a parallel file.
static std::string describe(::st::ContextAttention attention) {
  if (attention == ::st::ContextAttention::Unset)
    return "";
  return llvm::formatv(R"("context_attention": "{0}", )", ::st::contextAttentionName(attention));
}

absl::StatusOr<proto::ProgramWork> BlockCompiler::compile(const ::st::BlockKey &key) {
  CompileRequest request;
  request.input = request.parallel = "layout";
  request.model = input.config;
  request.model->layerCount = input.model.compiledLayers;
  if (input.model.decoderLayers > 0)
    request.model->decoder.layerCount = input.model.compiledDecoderLayers;
  request.model->experts.balanceCoefficient = 0.0; // almost no work, but of the full batch
  if (!key.formsKernels && !limitsExperts())
    request.model->experts.capacityFactor = kEvenShare;
  if (!key.formsKernels)
    request.model->scalesScores = false; // A framework runs a kernel for each op.
  const int64_t multiple = input.vocabularyMultiple * key.tensor;
  request.model->vocabRows = llvm::divideCeil(input.config.vocabRows, multiple) * multiple;
  request.quiet = true;
  request.stopAfter = key.formsKernels ? CompilePhase::Kernels : CompilePhase::Tasks;
  request.parallelText = llvm::formatv(
      R"({{{5}, {6}"sharding_size": {0}, "sharding_dim": "megatron", )"
      R"("sequence_parallel": {1}, "accum_degree": {2}, "recompute": "{3}", )"
      R"("precision": {{"compute": "{4}"})"
      "}",
      key.tensor, key.sequenceParallel && key.tensor > 1 ? "\"gather_again\"" : "false",
      kMicroBatches, ::st::recomputeName(key.recompute), input.model.precision,
      key.splitsBackward ? R"("mode": "hybrid", "stage_cnt": 1, "schedule": "zb-h1")"
                         : R"("mode": "sharding")",
      llvm::formatv(R"("data": {0}, "expert": {0}, "context": {1}, {2})", key.expert, key.context,
                    describe(key.contextAttention))
          .str());
  std::map<std::string, std::string> options = input.options;
  options.insert({{"task", stringify(input.task).str()},
                  {"batch", std::to_string(kMicroBatches * key.microBatch * key.expert)},
                  {"seq", std::to_string(input.model.sequence)},
                  {"target", target},
                  {"optimizer", key.optimizer}});
  request.options = CompileOptions(options);
  OwningOpRef<ModuleOp> module;
  absl::Status done = captureError(context.get(), [&] {
    module = compileToModule(request, context.get());
    return success(static_cast<bool>(module));
  });
  if (!done.ok())
    return done;
  return gatherWork(*module, input.model);
}

/// The work of the default optimizer's program with the states of another optimizer. A framework's
/// weights and kernels do not depend on its optimizer. St, in contrast, pads parameters if their
/// 8-bit states need it.
absl::StatusOr<proto::ProgramWork> BlockCompiler::withStatesOf(const ::st::BlockKey &key) {
  ::st::BlockKey plain = key, states;
  plain.optimizer = ::st::BlockKey().optimizer;
  states.tensor = key.tensor;
  states.expert = key.expert;
  states.formsKernels = true; // uses key.optimizer itself
  states.optimizer = key.optimizer;
  ST_ASSIGN_OR_RETURN(const proto::ProgramWork *work, get(plain));
  ST_ASSIGN_OR_RETURN(const proto::ProgramWork *other, get(states));
  proto::ProgramWork created = *work;
  created.clear_states();
  for (const auto &[from, isOptimizer] : {std::pair(work, false), {other, true}})
    for (const proto::StateWork &state : from->states())
      if ((state.role() == "optimizer_state") == isOptimizer)
        *created.add_states() = state;
  return created;
}

absl::StatusOr<const proto::ProgramWork *> BlockCompiler::get(const ::st::BlockKey &key) {
  auto found = compiled.find(key);
  if (found == compiled.end()) {
    const bool isPlain = key.formsKernels || key.optimizer == ::st::BlockKey().optimizer;
    found = compiled.emplace(key, isPlain ? compile(key) : withStatesOf(key)).first;
  }
  if (!found->second.ok())
    return found->second.status();
  return &*found->second;
}
