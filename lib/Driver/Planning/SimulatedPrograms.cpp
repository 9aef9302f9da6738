#include "lib/Driver/Planning/SimulatedPrograms.h"

#include "lib/Driver/Compiler.h"
#include "lib/Planner/Answers/Report.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Timing/DtuDescription.h"
#include "passes/Memory/MemoryUtils.h"
#include "st/InitAll.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::st;

SimulatedPrograms::SimulatedPrograms(const PlanInput &input, std::string optimizer,
                                     std::string target, ::st::MakeClient makeClient)
    : input(input), optimizer(std::move(optimizer)), target(std::move(target)),
      makeClient(std::move(makeClient)), description(*::st::builtinDtuDescription(this->target)) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
}

SimulatedPrograms::~SimulatedPrograms() = default;

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// A parallel file whose stages begin at these layers.
static std::string withStageStarts(std::string parallel, ArrayRef<int64_t> starts) {
  if (starts.empty())
    return parallel;
  std::vector<std::string> patterns;
  for (int64_t layer : starts)
    patterns.push_back(absl::StrCat("\"*.{layer,layers,h}.", layer, "\""));
  parallel.resize(parallel.rfind('}'));
  return absl::StrCat(StringRef(parallel).rtrim().str(), ",\n  \"stages\": [",
                      absl::StrJoin(patterns, ", "), "]\n}\n");
}

static CompileRequest makeRequest(const PlanInput &input, const ::st::Layout &layout,
                                  StringRef optimizer, StringRef target) {
  CompileRequest request;
  request.input = input.config.path;
  request.parallel = "layout";
  request.model = input.config;
  if (input.vocabularyMultiple > 1) {
    const int64_t multiple = input.vocabularyMultiple * layout.tensor;
    request.model->vocabRows = llvm::divideCeil(input.config.vocabRows, multiple) * multiple;
  }
  request.quiet = true;
  request.parallelText = ::st::emitParallelFile(layout, input.model.precision);
  std::map<std::string, std::string> options = input.options;
  options.insert({{"task", stringify(input.task).str()},
                  {"batch", std::to_string(layout.globalBatch())},
                  {"seq", std::to_string(input.model.sequence)},
                  {"target", target.str()},
                  {"optimizer", optimizer.str()}});
  request.options = CompileOptions(options);
  return request;
}

absl::StatusOr<SimulatedPrograms::Program>
SimulatedPrograms::compile(const ::st::Layout &layout, std::optional<int64_t> layerCount,
                           std::vector<int64_t> starts) {
  Program program;
  CompileRequest request = makeRequest(input, layout, optimizer, target);
  if (layerCount)
    request.model->layerCount = *layerCount;
  request.parallelText = withStageStarts(*request.parallelText, starts);
  // Only full plans are executed.
  request.provesOrder = false;
  request.observer = [&](CompilePhase phase, ModuleOp module) {
    if (phase != CompilePhase::Planned)
      return;
    const int64_t alignment = module->getAttrOfType<TargetAttr>("st.target").getAlignment();
    for (auto each : module.getOps<ProgramOp>()) {
      int64_t &bytes = program.stashBytes.emplace_back(0), &slots = program.slots.emplace_back(1);
      for (auto buffer : each.getOps<BufferOp>())
        if (buffer.getKind() == "stash" && !buffer.isOnHost()) {
          bytes += llvm::alignTo(getNumBytes(buffer.getType()), alignment);
          slots = std::max<int64_t>(slots, buffer.getSlots());
        }
    }
  };
  ST_RETURN_IF_ERROR(captureError(context.get(), [&] {
    FailureOr<::st::proto::Executable> compiled = compileToExecutable(request, context.get());
    if (succeeded(compiled))
      program.executable = std::move(*compiled);
    return success(succeeded(compiled));
  }));
  return program;
}

absl::StatusOr<::st::CompiledStep> SimulatedPrograms::timeCompiled(const ::st::Layout &layout) {
  auto [found, isNew] =
      compiledSteps.try_emplace(::st::printLayout(layout), absl::UnknownError(""));
  if (isNew)
    found->second = compileLayout(layout);
  return found->second;
}

const ::st::CompiledStep *SimulatedPrograms::findCompiled(const ::st::Layout &layout) const {
  auto found = compiledSteps.find(::st::printLayout(layout));
  return found != compiledSteps.end() && found->second.ok() ? &*found->second : nullptr;
}

absl::StatusOr<::st::CompiledStep> SimulatedPrograms::compileLayout(const ::st::Layout &layout) {
  CompileRequest request = makeRequest(input, layout, optimizer, target);
  request.makeClient = makeClient;
  ::st::proto::Executable executable;
  ST_RETURN_IF_ERROR(captureError(context.get(), [&] {
    FailureOr<::st::proto::Executable> compiled = compileToExecutable(request, context.get());
    if (succeeded(compiled))
      executable = std::move(*compiled);
    return success(succeeded(compiled));
  }));
  if (!executable.has_prediction())
    return absl::InvalidArgumentError("the time of a step depends on its data");
  ::st::CompiledStep step;
  step.picoseconds = executable.prediction().picoseconds();
  for (const ::st::proto::Group &group : executable.groups()) {
    step.arenaBytes.push_back(group.arena_bytes());
    auto &classes = step.memory.emplace_back();
    for (const ::st::proto::MemoryClass &entry : group.memory())
      if (entry.name() != "host")
        classes.emplace_back(entry.name(), entry.bytes());
  }
  return step;
}

::st::Layout SimulatedPrograms::layoutOf(const ::st::SimulatedKey &key) {
  ::st::Layout layout;
  layout.tensor = key.tensor;
  layout.context = key.context;
  layout.contextAttention = key.contextAttention;
  layout.replicas = key.replicas;
  layout.expert = key.expert;
  layout.microBatch = key.microBatch;
  layout.microBatches = key.microBatches;
  layout.zero = key.zero;
  layout.recompute = key.recompute;
  layout.sequenceParallel = key.sequenceParallel;
  if (key.splitsBackward)
    layout.schedule = ::st::PipelineSchedule::ZeroBubbleH1;
  return layout;
}

absl::StatusOr<const std::vector<SimulatedPrograms::Program> *>
SimulatedPrograms::programsOf(const ::st::SimulatedKey &key) {
  auto found = programs.find(key);
  if (found == programs.end()) {
    ::st::Layout layout = layoutOf(key);
    auto make = [&]() -> absl::StatusOr<std::vector<Program>> {
      std::vector<Program> compiled;
      if (key.modelStages > 0) {
        layout.stages = key.modelStages;
        ST_ASSIGN_OR_RETURN(compiled.emplace_back(), compile(layout, std::nullopt, {}));
        return compiled;
      }
      if (key.isPipelined) {
        layout.stages = kPipelineStages;
        std::vector<int64_t> starts;
        int64_t layer = 0;
        for (int64_t count : pipelineLayers(key)) {
          if (layer > 0)
            starts.push_back(layer);
          layer += count;
        }
        ST_ASSIGN_OR_RETURN(compiled.emplace_back(), compile(layout, layer, starts));
        return compiled;
      }
      const auto [fewer, more] = layersOfPrograms();
      for (int64_t count : {fewer, more}) {
        ST_ASSIGN_OR_RETURN(compiled.emplace_back(), compile(layout, count, {}));
      }
      return compiled;
    };
    found = programs.emplace(key, make()).first;
  }
  if (!found->second.ok())
    return found->second.status();
  return &*found->second;
}

absl::StatusOr<std::vector<int64_t>> SimulatedPrograms::layersOfStages(const ::st::Layout &layout) {
  const int64_t count = layout.stages * layout.virtualStages;
  // Stages of the complete model are not composed of layers.
  if (count == 1 || input.model.layersDiffer())
    return std::vector<int64_t>(count, input.model.layers);
  // The split depends on the cost of ops in their shardings, not on schedule and recomputation.
  ::st::Layout split = layout;
  split.recompute = ::st::Recompute::None;
  if (split.virtualStages == 1)
    split.schedule = ::st::PipelineSchedule::OneForwardOneBackward;
  auto [found, isNew] = layerSplits.try_emplace(::st::printLayout(split), absl::UnknownError(""));
  if (!isNew)
    return found->second;
  CompileRequest request = makeRequest(input, split, optimizer, target);
  request.stopAfter = CompilePhase::Staged;
  std::vector<int64_t> layersOf(count, 0);
  absl::Status done = captureError(context.get(), [&] {
    OwningOpRef<ModuleOp> module = compileToModule(request, context.get());
    if (!module)
      return failure();
    // Assigns each block to the stage with most of its ops: all of the forward pass, and nearly all
    // of the backward pass.
    std::map<int64_t, std::map<int64_t, int64_t>> ops;
    (*module)->walk([&](Operation *op) {
      auto block = op->getAttrOfType<IntegerAttr>("st.block"),
           stage = op->getAttrOfType<IntegerAttr>("st.stage");
      if (block && stage)
        ++ops[block.getInt()][stage.getInt()];
    });
    for (const auto &[layer, counts] : ops)
      if (layer > 0 && layer <= input.model.layers)
        ++layersOf[llvm::max_element(counts, llvm::less_second())->first];
    return success();
  });
  found->second = done.ok() ? absl::StatusOr<std::vector<int64_t>>(layersOf) : done;
  return found->second;
}
