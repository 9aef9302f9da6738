#include "lib/Driver/Compiler.h"
#include "lib/Driver/ImportProgram.h"

#include "backends/dtu/codegen/ExecutableBuilder.h"
#include "dialects/St/IR/StDialect.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Payload.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Timing/DtuDescription.h"
#include "passes/Partition/ParallelConfig.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cmath>

using namespace mlir;
using namespace mlir::st;

static StringRef str(absl::string_view text) { return {text.data(), text.size()}; }

/// The options of add-optimizer that are numbers.
static constexpr StringLiteral kOptimizerNumbers[] = {"beta1",        "beta2",    "epsilon",
                                                      "weight-decay", "momentum", "clip-norm"};

namespace {

class Compiler {
public:
  Compiler(const CompileRequest &request, MLIRContext *context)
      : request(request), options(request.options), context(context) {}

  LogicalResult run();

private:
  InFlightDiagnostic error() { return emitError(UnknownLoc::get(context)); }
  LogicalResult check(const absl::Status &status) {
    return status.ok() ? success() : error() << str(status.message());
  }

  LogicalResult checkRequest();
  LogicalResult read(CompilePhase &phase);
  LogicalResult importModel();
  LogicalResult readModule();
  LogicalResult attachVocabulary();
  LogicalResult advanceTo(CompilePhase phase);
  LogicalResult runPipeline(CompilePhase phase, StringRef pipeline);
  LogicalResult setLearningRate();
  LogicalResult checkOptimizerOptions();
  LogicalResult addOptimizer();
  LogicalResult configure();
  LogicalResult setTarget();
  std::string print();
  LogicalResult dump(CompilePhase phase);
  void report(CompilePhase phase, double seconds);
  LogicalResult writeModule();
  LogicalResult writeBinary();
  void reportMemory(const ::st::proto::Executable &executable);

  const CompileRequest &request;
  const CompileOptions &options;
  MLIRContext *context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

// Errors in the request itself come before any work, and name the flag.
LogicalResult Compiler::checkRequest() {
  if (request.startFrom && request.stopAfter && *request.stopAfter < *request.startFrom)
    return error() << "--compile-to=" << getCompilePhaseName(*request.stopAfter)
                   << " comes before --compile-from=" << getCompilePhaseName(*request.startFrom);
  if (!request.parallel.empty() && request.startFrom &&
      *request.startFrom >= CompilePhase::Configured)
    return error() << "--parallel=" << request.parallel << ": the module after phase "
                   << getCompilePhaseName(*request.startFrom) << " already has its layout";
  if (!request.stopAfter && request.output == "-")
    return error() << "a training binary needs an output file: -o FILE";
  if (request.output == "-")
    return success();
  // An output that cannot be written is found before minutes of work, not after.
  auto probe = ::st::AtomicFile::create(request.output);
  return check(probe.status());
}

LogicalResult Compiler::importModel() {
  FailureOr<ModelConfig> config = loadModelConfig(request.input, context);
  if (failed(config))
    return failure();
  // Nothing is recorded yet: an empty module stands for the one to come.
  OwningOpRef<ModuleOp> none = ModuleOp::create(UnknownLoc::get(context));
  std::string taskName = options.get(*none, "task");
  std::optional<Task> task = symbolizeTask(taskName);
  if (!task)
    return error() << "--task=" << taskName << ": expected mlm, span, clm, classify or encode";
  int64_t batch = 0, sequence = 0;
  for (auto [name, value] :
       {std::pair<StringRef, int64_t *>{"batch", &batch}, {"seq", &sequence}}) {
    std::string text = options.get(*none, name);
    if (StringRef(text).getAsInteger(10, *value) || *value < 1)
      return error() << "--" << name << "=" << text << ": expected a positive number";
  }
  module = buildModel(context, *config, *task, batch,
                      options.isGiven("seq") ? std::optional(sequence) : std::nullopt);
  if (!module)
    return failure();
  Builder builder(context);
  (*module)->setAttr("st.model_type", builder.getStringAttr(stringify(config->type)));
  const bool isVit = config->type == ModelType::Vit;
  (*module)->setAttr("st.vocabulary",
                     builder.getI64IntegerAttr(isVit ? config->labelCount : config->vocabSize));
  return attachVocabulary();
}

// A model folder may bring the WordPiece vocabulary that text is read with.
LogicalResult Compiler::attachVocabulary() {
  SmallString<128> path(request.input);
  if (!llvm::sys::fs::is_directory(path))
    llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "vocab.txt");
  if (!llvm::sys::fs::exists(path))
    return success();
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return error() << path << ": " << file.getError().message();
  (*module)->setAttr("st.vocab_txt", StringAttr::get(context, (*file)->getBuffer()));
  return success();
}

LogicalResult Compiler::readModule() {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(request.input, /*IsText=*/true);
  if (!file)
    return error() << request.input << ": " << file.getError().message();
  llvm::SourceMgr source;
  source.AddNewSourceBuffer(std::move(*file), SMLoc());
  module = parseSourceFile<ModuleOp>(source, ParserConfig(context));
  if (!module)
    return failure();
  return options.check(*module);
}

static bool isModuleText(StringRef path) {
  return path == "-" || path.ends_with(".mlir") || path.ends_with(".mlirbc");
}

LogicalResult Compiler::read(CompilePhase &phase) {
  if (!request.startFrom && !isModuleText(request.input)) {
    phase = CompilePhase::Import;
    if (failed(importModel()))
      return failure();
  } else {
    phase = request.startFrom.value_or(CompilePhase::Import);
    if (failed(readModule()))
      return failure();
    // What has no roles comes from another tool.
    if (!request.startFrom && !hasRoles(*module) &&
        failed(importProgram(*module, options.get(*module, "roles"), request.quiet)))
      return failure();
  }
  options.record(*module, CompilePhase::Import);
  return success();
}

LogicalResult Compiler::setLearningRate() {
  double rate;
  std::string given = options.get(*module, "lr");
  if (StringRef(given).getAsDouble(rate) || !(rate >= 0) || !std::isfinite(rate))
    return error() << "--lr=" << given << ": expected a number that is not negative";
  (*module)->setAttr("st.learning_rate", Builder(context).getF64FloatAttr(rate));
  return success();
}

/// Options become part of a pipeline's text, so each is known to be what it says.
LogicalResult Compiler::checkOptimizerOptions() {
  std::string kind = options.get(*module, "optimizer");
  if (!llvm::is_contained({"adamw", "adam", "sgd"}, StringRef(kind)))
    return error() << "--optimizer=" << kind << ": expected adamw, adam or sgd";
  for (StringRef name : kOptimizerNumbers) {
    std::string given = options.get(*module, name);
    double number;
    if (given.empty() || StringRef(given).getAsDouble(number) || !std::isfinite(number))
      return error() << "--" << name << "=" << given << ": expected a number";
  }
  return success();
}

LogicalResult Compiler::addOptimizer() {
  if (failed(checkOptimizerOptions()))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  // Common subexpressions go before the update is added: after it, CSE would share
  // the scalars that each parameter broadcasts to its own shape across stages.
  os << "canonicalize,cse,add-optimizer{kind=" << options.get(*module, "optimizer");
  for (StringRef name : kOptimizerNumbers)
    os << ' ' << name << '=' << options.get(*module, name);
  os << "},canonicalize";
  return runPipeline(CompilePhase::Optimizer, text);
}

LogicalResult Compiler::runPipeline(CompilePhase phase, StringRef pipeline) {
  PassManager manager(context);
  manager.enableVerifier(true);
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (failed(parsePassPipeline(pipeline, manager, stream)))
    return error() << "phase " << getCompilePhaseName(phase) << ": "
                   << StringRef(message).trim().split('\n').first;
  return manager.run(*module);
}

// The target's description travels on the module, so that later phases need no file.
LogicalResult Compiler::setTarget() {
  std::string name = options.get(*module, "target");
  bool isFile = StringRef(name).contains('/') || StringRef(name).ends_with(".textproto");
  auto description = isFile ? ::st::loadDtuDescription(name) : ::st::builtinDtuDescription(name);
  if (!description.ok())
    return error() << "--target=" << name << ": " << str(description.status().message());
  int64_t clusters = description->clusters_per_chip();
  auto target =
      TargetAttr::get(context, "dtu", description->name(), /*alignment=*/128,
                      static_cast<int64_t>(description->l1_bytes_per_core().value()),
                      static_cast<int64_t>(description->l3_bytes_per_chip().value()) / clusters);
  (*module)->setAttr("st.target", target);
  (*module)->setAttr("dtu.description", StringAttr::get(context, description->ShortDebugString()));
  return success();
}

LogicalResult Compiler::configure() {
  if (failed(setTarget()))
    return failure();
  ParallelConfig config;
  if (!request.parallel.empty()) {
    FailureOr<ParallelConfig> loaded = loadParallelConfig(request.parallel, context);
    if (failed(loaded))
      return failure();
    config = *loaded;
  }
  if (config.onGpus)
    return error() << config.path << ": device_mapping names GPUs (GPU:<id>), which target "
                   << options.get(*module, "target")
                   << " does not have; expected /device:XLA_DTU:<id>";
  auto description = ::st::parseDtuDescription(
      (*module)->getAttrOfType<StringAttr>("dtu.description").getValue().str(), "dtu.description");
  if (!description.ok())
    return check(description.status());
  for (auto &stage : config.devices)
    for (int64_t device : stage)
      if (auto place = ::st::dtuPlace(*description, device); !place.ok())
        return error() << (config.path.empty() ? "" : config.path + ": ")
                       << str(place.status().message());
  return applyParallelConfig(*module, config, options.get(*module, "schedule"));
}

LogicalResult Compiler::advanceTo(CompilePhase phase) {
  // A step that updates its parameters has its gradients and its optimizer.
  if (phase == CompilePhase::Optimizer && failed(setLearningRate()))
    return failure();
  bool wantsLoss = phase == CompilePhase::Differentiate || phase == CompilePhase::Optimizer;
  if (wantsLoss && !computesLoss(*module))
    return success();
  switch (phase) {
  case CompilePhase::Import:
    return success();
  case CompilePhase::Configured:
    return configure();
  case CompilePhase::Optimizer:
    return addOptimizer();
  default:
    return runPipeline(phase, getPhasePipeline(phase));
  }
}

// With locations: they name layers in traces, and a continued compilation must
// make the same binary.
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
  if (request.dumpPhasesTo.empty())
    return success();
  if (std::error_code code = llvm::sys::fs::create_directories(request.dumpPhasesTo))
    return error() << request.dumpPhasesTo << ": " << code.message();
  std::string name;
  llvm::raw_string_ostream(name) << llvm::format("%02d", static_cast<int>(phase)) << '-'
                                 << getCompilePhaseName(phase) << ".mlir";
  SmallString<128> path(request.dumpPhasesTo);
  llvm::sys::path::append(path, name);
  return check(::st::writeFileAtomically(path.str().str(), print()));
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

LogicalResult Compiler::writeModule() {
  std::string text = print();
  if (request.output == "-") {
    llvm::outs() << text;
    llvm::outs().flush();
    return success();
  }
  return check(::st::writeFileAtomically(request.output, text));
}

void Compiler::reportMemory(const ::st::proto::Executable &executable) {
  if (request.quiet)
    return;
  llvm::errs() << "\n  peak memory a device, MiB\n  group     ";
  if (executable.groups_size() > 0)
    for (const auto &entry : executable.groups(0).memory())
      llvm::errs() << llvm::format(" %12s", entry.name().c_str());
  llvm::errs() << "        total\n";
  for (const auto &group : executable.groups()) {
    llvm::errs() << llvm::format("  %-10s", group.name().c_str());
    for (const auto &entry : group.memory())
      llvm::errs() << llvm::format(" %12.1f", entry.bytes() / 1048576.0);
    llvm::errs() << llvm::format(" %12.1f\n", group.arena_bytes() / 1048576.0);
  }
}

LogicalResult Compiler::writeBinary() {
  FailureOr<::st::proto::Executable> executable = dtu::buildExecutable(*module);
  if (failed(executable))
    return failure();
  reportMemory(*executable);
  return check(
      ::st::writeTrainingBinary(request.runner, request.output, dtu::serialize(*executable)));
}

LogicalResult Compiler::run() {
  context->loadDialect<StDialect>();
  using Clock = std::chrono::steady_clock;
  if (failed(checkRequest()))
    return failure();
  auto start = Clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  CompilePhase phase;
  if (failed(read(phase)))
    return failure();
  report(phase, seconds());
  CompilePhase last = request.stopAfter.value_or(CompilePhase::Dtu);
  for (int next = static_cast<int>(phase) + 1; next <= static_cast<int>(last); ++next) {
    if (failed(dump(phase)))
      return failure();
    phase = static_cast<CompilePhase>(next);
    start = Clock::now();
    options.record(*module, phase);
    if (failed(advanceTo(phase)))
      return failure();
    report(phase, seconds());
  }
  if (failed(dump(phase)))
    return failure();
  return request.stopAfter ? writeModule() : writeBinary();
}

LogicalResult mlir::st::compile(const CompileRequest &request, MLIRContext *context) {
  return Compiler(request, context).run();
}
