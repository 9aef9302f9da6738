#include "lib/Driver/Compiler.h"
#include "lib/Driver/CheckRequest.h"
#include "lib/Driver/CompilerFiles.h"
#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/Evaluation/OtherPrograms.h"
#include "lib/Driver/Evaluation/TrainedLayout.h"
#include "lib/Driver/ImportProgram.h"
#include "lib/Driver/Input/ReadInput.h"
#include "lib/Driver/Input/RolesFile.h"
#include "lib/Driver/Options/LossScaleOptions.h"
#include "lib/Driver/Options/OptimizerOptions.h"
#include "lib/Driver/Options/TrainedParameters.h"
#include "lib/Driver/Prediction/FitMemory.h"
#include "lib/Driver/Prediction/MemoryUse.h"
#include "lib/Driver/Prediction/PredictStep.h"
#include "lib/Driver/Prediction/ProgramReport.h"
#include "lib/Driver/Target.h"

#include "backends/common/ProgramToExecutable.h"
#include "backends/cuda/codegen/executable/ExecutableBuilder.h"
#include "backends/dtu/codegen/executable/ExecutableBuilder.h"
#include "backends/dtu/codegen/executable/VerifyDtuOrder.h"
#include "dialects/St/IR/ScheduleKind.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Program/Payload.h"
#include "lib/Timing/GpuDescription.h"
#include "passes/Partition/Config/ParallelConfig.h"
#include "passes/Partition/Reshard/ExplainReshards.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;
using namespace mlir::st;

static StringRef str(absl::string_view text) { return {text.data(), text.size()}; }

namespace {
class Compiler {
public:
  Compiler(const CompileRequest &request, MLIRContext *context)
      : request(request), options(request.options), context(context) {}
  LogicalResult run();
  /// Runs without output files.
  OwningOpRef<ModuleOp> runInMemory();
  FailureOr<::st::proto::Executable> runToExecutable();

private:
  /// An error in the request; errors in the input have a location there.
  InFlightDiagnostic error() { return emitError(getCommandLineLoc(context)); }
  LogicalResult check(const absl::Status &status) {
    return status.ok() ? success() : error() << str(status.message());
  }

  LogicalResult advance();
  LogicalResult read(CompilePhase &phase);
  LogicalResult advanceTo(CompilePhase phase);
  LogicalResult checkPhase(CompilePhase phase, StringRef who);
  LogicalResult runPipeline(CompilePhase phase, StringRef pipeline);
  /// Adapters and frozen parameters.
  LogicalResult chooseTrained();
  LogicalResult assignPrecision();
  LogicalResult differentiate();
  LogicalResult addOptimizer();
  /// Reads the parallel file once.
  LogicalResult loadParallel();
  LogicalResult splitTasks();
  LogicalResult configure();
  /// The last phase before a binary; GPUs have no phase after `planned`.
  FailureOr<CompilePhase> getLastPhase();
  std::string print();
  LogicalResult dump(CompilePhase phase);
  /// Records the contents of the page and of the explanation after this phase.
  LogicalResult observe(CompilePhase phase);
  void report(CompilePhase phase, double seconds);
  FailureOr<::st::proto::Executable> makeExecutable();
  LogicalResult writeBinary();

  const CompileRequest &request;
  const CompileOptions &options;
  MLIRContext *context;
  OwningOpRef<ModuleOp> module;
  /// The parallel file, once it has been read.
  std::optional<ParallelConfig> parallel;
  CompilerFiles files{request};
  ::st::MemoryUse memory;
  /// The layout of this program, for other programs over the same states.
  TrainedLayout layout;
};

} // namespace

LogicalResult Compiler::read(CompilePhase &phase) {
  if (request.program) {
    phase = CompilePhase::Import;
    module = request.program();
    if (failed(checkPhase(phase, "the program")))
      return failure();
  } else if (request.model || (!request.startFrom && !isModuleFile(request.input))) {
    phase = CompilePhase::Import;
    if (failed(importModel(request, context, module)))
      return failure();
  } else {
    phase = request.startFrom.value_or(CompilePhase::Import);
    if (failed(readModule(request, context, module)))
      return failure();
    if (request.startFrom &&
        failed(checkPhase(phase, ("--compile-from=" + getCompilePhaseName(phase)).str())))
      return failure();
    // A program without roles comes from another tool.
    if (!request.startFrom && failed(refuseModelOptions(request, *module)))
      return failure();
    int64_t unroll;
    std::string given = options.get(*module, "unroll");
    if (StringRef(given).getAsInteger(10, unroll) || unroll < 0)
      return error() << "--unroll=" << given << ": expected a trip count";
    if (files.roles())
      numberPorts(*module);
    if (!request.startFrom &&
        failed(hasRoles(*module)
                   ? markLayers(*module)
                   : importProgram(*module, options.get(*module, "roles"), unroll, request.quiet)))
      return failure();
  }
  options.record(*module, CompilePhase::Import);
  return files.roles() ? check(files.roles()->write(takeRoles(*module))) : success();
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

LogicalResult Compiler::loadParallel() {
  if (parallel)
    return success();
  parallel.emplace();
  if (request.parallel.empty() && !request.parallelText)
    return parallel->followMesh(*module);
  FailureOr<ParallelConfig> loaded =
      request.parallelText ? parseParallelConfig(*request.parallelText, request.parallel, context)
                           : loadParallelConfig(request.parallel, context);
  if (failed(loaded))
    return failure();
  parallel = std::move(*loaded);
  return parallel->followMesh(*module);
}

LogicalResult Compiler::chooseTrained() {
  return computesLoss(*module) || request.isEvaluation()
             ? chooseTrainedParameters(*module, options)
             : refuseTrainedParameters(*module, options);
}

/// The parallel file determines the types; gradients take theirs from the forward pass.
LogicalResult Compiler::assignPrecision() {
  if (failed(loadParallel()))
    return failure();
  const PrecisionConfig precision = parallel->precision.value_or(PrecisionConfig());
  if (precision.compute == "f32")
    return request.isEvaluation()
               ? success()
               : refuseLossScaleOptions(*module, options, "the program is computed in f32");
  if (!computesLoss(*module) && !request.isEvaluation())
    return emitError(parallel->locate("precision", context))
           << "precision.compute is \"" << precision.compute
           << "\", but only a forward pass with a loss can change its types; expected "
              "\"f32\"";
  std::string text = "assign-precision{compute=" + precision.compute + "}";
  if (request.isEvaluation())
    return runPipeline(CompilePhase::Precision, text);
  FailureOr<std::string> scale = lossScalePipeline(*module, options, precision.lossScale);
  if (failed(scale))
    return failure();
  if (!scale->empty())
    text += "," + *scale;
  return runPipeline(CompilePhase::Precision, text);
}

LogicalResult Compiler::differentiate() {
  std::string text = getPhasePipeline(*module, CompilePhase::Differentiate);
  if (auto precision = (*module)->getAttrOfType<DictionaryAttr>(kPrecisionAttr))
    if (auto type = precision.getAs<StringAttr>("compute"))
      text += (",widen-sums,narrow-residuals{compute=" + type.getValue() + "}").str();
  return runPipeline(CompilePhase::Differentiate, text);
}

//===----------------------------------------------------------------------===//
// Optimizer, target and layout
//===----------------------------------------------------------------------===//

LogicalResult Compiler::addOptimizer() {
  FailureOr<std::string> pipeline = optimizerPipeline(*module, options);
  return failed(pipeline) ? failure() : runPipeline(CompilePhase::Optimizer, *pipeline);
}

/// Recomputation may depend on the resulting memory plan.
LogicalResult Compiler::splitTasks() {
  constexpr CompilePhase phase = CompilePhase::Tasks;
  if (!recomputesToFit(*module))
    return runPipeline(phase, getPhasePipeline(*module, phase));
  std::string pipeline = getPhasePipeline(*module, phase);
  auto [split, again] = StringRef(pipeline).split(',');
  return success(succeeded(runPipeline(phase, split)) && succeeded(fitMemory(*module)) &&
                 succeeded(runPipeline(phase, again)));
}

LogicalResult Compiler::runPipeline(CompilePhase phase, StringRef pipeline) {
  PassManager manager(context);
  // The module is verified once per phase, not after each pass.
  manager.enableVerifier(false);
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (failed(parsePassPipeline(pipeline, manager, stream)))
    return error() << "phase " << getCompilePhaseName(phase) << ": "
                   << StringRef(message).trim().split('\n').first;
  return success(succeeded(manager.run(*module)) && succeeded(verify(*module)));
}

LogicalResult Compiler::configure() {
  absl::StatusOr<Target> target = Target::find(options.get(*module, "target"));
  if (!target.ok())
    return check(target.status());
  target->record(*module);
  if (failed(loadParallel()))
    return failure();
  if (parallel->isNumbered && target->isGpu())
    parallel->numberGpus();
  if (request.isEvaluation())
    parallel->keepForwardOnly();
  else if (request.trained)
    parallel->accumDegree = request.microBatches;
  const ParallelConfig &config = *parallel;
  if (!config.isNumbered && !config.path.empty() && config.onGpus != target->isGpu())
    return emitError(config.locate(config.keyOf(0, 0), context))
           << config.keyOf(0, 0) << " is "
           << (config.onGpus ? "a GPU (GPU:<id>)" : "a DTU (/device:XLA_DTU:<id>)")
           << ", which target " << options.get(*module, "target") << " does not have; expected "
           << target->devicePrefix() << "<id>";
  if (config.precision && config.precision->products != "f32" && !target->isGpu())
    return emitError(config.locate("precision", context))
           << "precision.products is \"" << config.precision->products << "\", which target "
           << target->name() << " does not have; expected \"f32\", or a GPU";
  if (config.offload && !target->hasHostMemory())
    return emitError(config.locate("offload", context))
           << "offload needs a link to the host's memory, which target " << target->name()
           << " does not have"
           << (target->isGpu()
                   ? ""
                   : "; expected host_gbytes_per_second and host_latency_ns in its description");
  for (auto [i, stage] : llvm::enumerate(config.devices))
    for (auto [j, device] : llvm::enumerate(stage))
      if (absl::Status found = target->checkDevice(device); !found.ok())
        return emitError(config.locate(config.keyOf(i, j), context))
               << (config.followsMesh ? "the program's mesh" : config.keyOf(i, j)) << ": "
               << str(found.message());
  std::string schedule = options.get(*module, "schedule");
  if (!schedule.empty() && (schedule == "listed" || !parseScheduleKind(schedule)))
    return error() << "--schedule=" << schedule << ": expected " << getScheduleNames();
  std::string reduce = options.get(*module, "reduce");
  if (reduce != "fast" && reduce != "exact")
    return error() << "--reduce=" << reduce << ": expected fast or exact";
  // Stages hold only the rows of a stack that they use.
  if (config.stageCount() > 1 && failed(runPipeline(CompilePhase::Configured, "unstack-state")))
    return failure();
  if (failed(applyParallelConfig(*module, config, schedule)))
    return failure();
  target->recordCosts(*module);
  if (request.trained)
    request.trained->assignStages(*module);
  if (reduce == "exact")
    return runPipeline(CompilePhase::Configured, "exact-sums");
  return success();
}

FailureOr<CompilePhase> Compiler::getLastPhase() {
  std::string name = options.get(*module, "target");
  const bool isGpu = ::st::isGpuName(name);
  CompilePhase last = isGpu ? CompilePhase::Planned : CompilePhase::Dtu;
  if (isGpu && request.stopAfter && *request.stopAfter > last)
    return error()
           << "--target=" << name
           << ": GPUs have no phase dtu; expected --compile-to=planned, an earlier phase or "
              "none, for a binary";
  return request.stopAfter.value_or(last);
}

/// Checks that the module meets the contract of the phase.
LogicalResult Compiler::checkPhase(CompilePhase phase, StringRef who) {
  FactContract contract = getPhaseContract(phase);
  // A forward pass with a loss has gradients and an update after these phases.
  if (phase == CompilePhase::Differentiate && computesLoss(*module))
    contract.needed = contract.needed | FactSet({Fact::Gradients});
  if (phase == CompilePhase::Optimizer && computesLoss(*module))
    contract.needed = contract.needed | FactSet({Fact::Update});
  return checkFacts(*module, who, contract);
}

LogicalResult Compiler::advanceTo(CompilePhase phase) {
  // A step that updates its parameters has gradients and an optimizer.
  if (phase == CompilePhase::Optimizer && failed(setLearningRate(*module, options)))
    return failure();
  bool wantsLoss = phase == CompilePhase::Differentiate || phase == CompilePhase::Optimizer;
  if (wantsLoss && !computesLoss(*module))
    return phase == CompilePhase::Differentiate ? runPipeline(phase, "inline-custom-gradients")
           : request.isEvaluation()             ? success()
                                                : refuseOptimizerOptions(*module, options);
  if (phase == CompilePhase::Planned && request.trained &&
      failed(request.trained->assignAddresses(
          *module, request.isEvaluation() ? "the evaluation" : "the step of a smaller batch")))
    return failure();
  switch (phase) {
  case CompilePhase::Import:
    return success();
  case CompilePhase::Precision:
    return success(succeeded(chooseTrained()) && succeeded(assignPrecision()));
  case CompilePhase::Differentiate:
    return differentiate();
  case CompilePhase::Configured:
    return configure();
  case CompilePhase::Optimizer:
    return addOptimizer();
  case CompilePhase::Tasks:
    return splitTasks();
  default:
    return runPipeline(phase, getPhasePipeline(*module, phase));
  }
}

// Prints locations: they name layers in traces, and a continued compilation must produce the same
// binary.
std::string Compiler::print() {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module->print(os, flags);
  os << '\n';
  return text;
}

LogicalResult Compiler::dump(CompilePhase phase) {
  return files.hasDumps() ? check(files.dump(phase, print())) : success();
}

LogicalResult Compiler::observe(CompilePhase phase) {
  if (request.observer)
    request.observer(phase, *module);
  if (phase == CompilePhase::Staged && hasOtherPrograms(request))
    layout.recordStages(*module);
  if (phase == CompilePhase::Planned && hasOtherPrograms(request))
    layout.recordAddresses(*module);
  if (phase == CompilePhase::Planned && files.page())
    memory = gatherMemoryUse(*module);
  if (phase != CompilePhase::Resharded || !files.explanation())
    return success();
  return check(files.explanation()->write(printFor(request.explain, explainReshards(*module))));
}

void Compiler::report(CompilePhase phase, double seconds) {
  if (request.quiet)
    return;
  int64_t ops = 0;
  module->walk([&](Operation *) { ++ops; });
  llvm::errs() << llvm::format("  %-14s %6.2f s %8lld ops\n",
                               getCompilePhaseName(phase).str().c_str(), seconds,
                               static_cast<long long>(ops));
}

FailureOr<::st::proto::Executable> Compiler::makeExecutable() {
  const bool isGpu = ::st::isGpuName(options.get(*module, "target"));
  FailureOr<::st::proto::Executable> executable =
      isGpu ? cuda::buildExecutable(*module) : dtu::buildExecutable(*module);
  if (failed(executable) || failed(addOtherPrograms(request, layout, context, *executable)))
    return failure();
  if (!request.quiet)
    printMemory(*executable, llvm::errs());
  if (!isGpu && request.provesOrder &&
      failed(dtu::verifyOrder(*module, *executable, dtu::kOrderWork, !request.quiet)))
    return failure();
  if (request.makeClient &&
      failed(check(isGpu ? predictGpuStep(request, memory, files.page(), *executable)
                         : predictStep(request, memory, files.page(), *executable))))
    return failure();
  return executable;
}

LogicalResult Compiler::writeBinary() {
  FailureOr<::st::proto::Executable> executable = makeExecutable();
  if (failed(executable))
    return failure();
  return check(::st::writeTrainingBinary(request.runner, request.output, serialize(*executable)));
}

/// Runs from the input to the last requested phase.
LogicalResult Compiler::advance() {
  context->loadDialect<StDialect>();
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  CompilePhase phase;
  if (failed(read(phase)))
    return failure();
  report(phase, seconds());
  if (failed(observe(phase)))
    return failure();
  FailureOr<CompilePhase> last = getLastPhase();
  if (failed(last))
    return failure();
  for (int next = static_cast<int>(phase) + 1; next <= static_cast<int>(*last); ++next) {
    if (failed(dump(phase)))
      return failure();
    phase = static_cast<CompilePhase>(next);
    start = Clock::now();
    options.record(*module, phase);
    if (failed(advanceTo(phase)) ||
        failed(checkPhase(phase, ("phase " + getCompilePhaseName(phase)).str())))
      return failure();
    report(phase, seconds());
    if (failed(observe(phase)))
      return failure();
  }
  return dump(phase);
}

LogicalResult Compiler::run() {
  if (failed(check(checkRequest(request))) || failed(check(files.open())) || failed(advance()) ||
      failed(request.stopAfter ? check(files.writeModule(print())) : writeBinary()))
    return failure();
  return check(files.commit());
}

OwningOpRef<ModuleOp> Compiler::runInMemory() {
  return succeeded(advance()) ? std::move(module) : nullptr;
}

FailureOr<::st::proto::Executable> Compiler::runToExecutable() {
  if (failed(advance()))
    return failure();
  return makeExecutable();
}

LogicalResult mlir::st::compile(const CompileRequest &request, MLIRContext *context) {
  return Compiler(request, context).run();
}

FailureOr<::st::proto::Executable> mlir::st::compileToExecutable(const CompileRequest &request,
                                                                 MLIRContext *context) {
  assert(!request.stopAfter && "a program is what all phases leave");
  return Compiler(request, context).runToExecutable();
}

OwningOpRef<ModuleOp> mlir::st::compileToModule(const CompileRequest &request,
                                                MLIRContext *context) {
  assert(request.stopAfter && "a module is the state after some phase");
  return Compiler(request, context).runInMemory();
}
