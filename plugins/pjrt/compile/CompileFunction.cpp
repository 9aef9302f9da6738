#include "plugins/pjrt/compile/CompileFunction.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/VHLO/PortableModule.h"
#include "lib/Driver/Compiler.h"
#include "lib/Driver/ImportProgram.h"
#include "lib/Timing/GpuDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Import/Passes.h"
#include "plugins/pjrt/compile/DiagnosticCollector.h"
#include "plugins/pjrt/compile/HostSteps.h"
#include "plugins/pjrt/compile/Inspections.h"
#include "plugins/pjrt/compile/Pages.h"
#include "plugins/pjrt/compile/Ports.h"
#include "plugins/pjrt/compile/ReadFunction.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace st::pjrt {

/// Maximum trip count of unrolled loops. On several devices loops cannot contain communication, so
/// longer ones are unrolled.
static constexpr int64_t kUnrolled = 8, kUnrolledOnSeveral = 256;

std::array<int64_t, 3> portableVersion() { return mlir::st::kPortableVersion; }

std::string fingerprintOf(absl::string_view code, int64_t partitions, absl::string_view target) {
  llvm::SHA256 hash;
  hash.update(StringRef(absl::StrCat(kProgramVersion, ",", partitions, ",", target, "\n")));
  hash.update(StringRef(code.data(), code.size()));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

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

static absl::Status failed(const DiagnosticCollector &diagnostics, absl::StatusCode code) {
  const std::string &message = diagnostics.message();
  return absl::Status(code, message.empty() ? "the compilation failed" : message);
}

/// Number of devices in the function's mesh; 1 without a mesh.
static int64_t countMeshDevices(ModuleOp module) {
  mlir::st::MeshOp mesh = mlir::st::getMesh(module);
  return mesh ? mesh.getNumDevices() : 1;
}

static absl::StatusOr<proto::Executable> compileModule(OwningOpRef<ModuleOp> module,
                                                       const FunctionSource &source,
                                                       ArrayRef<int64_t> hardwareIds,
                                                       const std::string &name,
                                                       const DiagnosticCollector &diagnostics) {
  MLIRContext *const context = module->getContext();
  mlir::st::CompileRequest request;
  request.input = "<function>";
  request.quiet = true;
  request.parallel = "<devices>";
  request.parallelText = layoutOf(hardwareIds, source.target);
  request.options = mlir::st::CompileOptions({{"target", source.target}});
  request.program = [&] { return std::move(module); };
  Pages pages(source.reportFolder, source.explainFolder,
              absl::StrCat(name, "-", source.fingerprint.substr(0, 8)));
  pages.observe(request);
  // The pages time the program after the compilation, so the compiler does not.
  const auto makeClient = std::exchange(request.makeClient, nullptr);
  FailureOr<proto::Executable> code = mlir::st::compileToExecutable(request, context);
  if (mlir::failed(code))
    return failed(diagnostics, absl::StatusCode::kUnimplemented);
  request.makeClient = makeClient;
  if (absl::Status status = pages.write(request, *code); !status.ok())
    return status;
  return *std::move(code);
}

/// Compiles a function without callbacks whose ports are known, and sets the ports' shardings.
static absl::Status compileOnDevices(OwningOpRef<ModuleOp> module, const FunctionSource &source,
                                     const DiagnosticCollector &diagnostics,
                                     proto::PluginProgram &program) {
  if (mlir::failed(mlir::st::importFunction(*module, source.partitions > 1 ? kUnrolledOnSeveral
                                                                           : kUnrolled)))
    return failed(diagnostics, absl::StatusCode::kUnimplemented);
  if (absl::Status status = placeDeclaredPorts(*module, program); !status.ok())
    return status;
  ArrayRef<int64_t> hardwareIds(source.hardwareIds);
  // Without a sharding the computation is replicated on all devices.
  const int64_t meshDevices = countMeshDevices(*module);
  program.set_is_replicated(source.partitions > 1 && meshDevices == 1);
  if (meshDevices != 1 && meshDevices != source.partitions)
    return absl::InvalidArgumentError(absl::StrCat("the mesh of ", program.name(), " has ",
                                                   meshDevices, " devices; it is compiled for ",
                                                   source.partitions, " partitions"));
  if (program.is_replicated())
    hardwareIds = hardwareIds.take_front();
  absl::StatusOr<proto::Executable> code =
      compileModule(std::move(module), source, hardwareIds, program.name(), diagnostics);
  if (!code.ok())
    return code.status();
  *program.mutable_code() = *std::move(code);
  return placePorts(program);
}

/// Makes a function over several devices one over complete arrays on one device.
static void removeShardings(ModuleOp module) {
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

/// Compiles the programs between the callbacks of a function. Callbacks get complete arrays, those
/// of a computation on shards a shard each, so the first device computes the function.
static absl::Status compileSteps(ModuleOp module, const FunctionSource &source,
                                 const DiagnosticCollector &diagnostics,
                                 proto::PluginProgram &program) {
  PassManager preparation(module.getContext());
  preparation.addPass(mlir::st::createImportShardings());
  preparation.addPass(mlir::st::createInlineCalls());
  if (mlir::failed(preparation.run(module)))
    return failed(diagnostics, absl::StatusCode::kUnimplemented);
  if (absl::Status status = placeDeclaredPorts(module, program); !status.ok())
    return status;
  auto function = module.lookupSymbol<func::FuncOp>("main");
  const auto hasShape = [](Type type, const proto::PluginPort &port) {
    return llvm::equal(cast<RankedTensorType>(type).getShape(), port.dims());
  };
  if (!llvm::all_of_zip(function.getArgumentTypes(), program.arguments(), hasShape) ||
      !llvm::all_of_zip(function.getResultTypes(), program.results(), hasShape))
    return absl::UnimplementedError(
        absl::StrCat("function ", program.name(),
                     " calls back to the host and has an argument or a result that is unreduced"));
  removeShardings(module);
  FunctionSource single = source;
  single.partitions = 1;
  single.hardwareIds.resize(1);
  const auto compile = [&](OwningOpRef<ModuleOp> segment) -> absl::StatusOr<proto::PluginProgram> {
    proto::PluginProgram made;
    made.set_version(kProgramVersion);
    made.set_target(source.target);
    made.set_partitions(1);
    if (absl::Status status = addPorts(*segment, made); !status.ok())
      return status;
    if (absl::Status status = compileOnDevices(std::move(segment), single, diagnostics, made);
        !status.ok())
      return status;
    return made;
  };
  return splitAtCallbacks(module, compile, *program.mutable_host());
}

/// Answers the function's questions for shardings.
static absl::Status inspectShardings(ModuleOp module, const FunctionSource &source,
                                     const DiagnosticCollector &diagnostics,
                                     proto::PluginProgram &program) {
  const auto compile = [&](OwningOpRef<ModuleOp> probe) -> absl::StatusOr<proto::PluginProgram> {
    proto::PluginProgram made;
    made.set_partitions(source.partitions);
    if (absl::Status status = addPorts(*probe, made); !status.ok())
      return status;
    if (absl::Status status = compileOnDevices(std::move(probe), source, diagnostics, made);
        !status.ok())
      return status;
    return made;
  };
  return answerInspections(module, compile, program);
}

absl::StatusOr<proto::PluginProgram> compileFunction(const FunctionSource &source) {
  MLIRContext context(functionDialects(source.target), MLIRContext::Threading::DISABLED);
  DiagnosticCollector diagnostics(&context);
  OwningOpRef<ModuleOp> module =
      readFunction(StringRef(source.code.data(), source.code.size()), &context);
  if (!module)
    return failed(diagnostics, absl::StatusCode::kInvalidArgument);
  proto::PluginProgram program;
  program.set_version(kProgramVersion);
  program.set_fingerprint(source.fingerprint);
  program.set_target(source.target);
  program.set_partitions(source.partitions);
  program.set_source(std::string(source.code));
  program.set_options(std::string(source.options));
  if (absl::Status status = addPorts(*module, program); !status.ok())
    return status;
  takeDeviceOrders(*module, program);
  if (absl::Status status = inspectShardings(*module, source, diagnostics, program); !status.ok())
    return status;
  // A function without results and calls to the host has no steps.
  const bool computesNothing = program.results().empty();
  const absl::Status status =
      computesNothing || callsHost(*module)
          ? compileSteps(*module, source, diagnostics, program)
          : compileOnDevices(std::move(module), source, diagnostics, program);
  if (!status.ok())
    return status;
  return program;
}

absl::StatusOr<std::string> printFunction(const proto::PluginProgram &program) {
  MLIRContext context(functionDialects(program.target()), MLIRContext::Threading::DISABLED);
  DiagnosticCollector diagnostics(&context);
  OwningOpRef<ModuleOp> module = readFunction(program.source(), &context);
  if (!module)
    return failed(diagnostics, absl::StatusCode::kInternal);
  Builder builder(&context);
  SmallVector<Attribute> arguments;
  for (const proto::PluginPort &port : program.arguments())
    arguments.push_back(builder.getStringAttr(printSharding(port.sharding())));
  std::vector<std::string> results;
  for (const proto::PluginPort &port : program.results())
    results.push_back(printSharding(port.sharding()));
  if (program.partitions() > 1) {
    (*module)->setAttr("mhlo.spmd_parameters_shardings", builder.getArrayAttr(arguments));
    (*module)->setAttr("mhlo.spmd_output_sharding",
                       builder.getStringAttr(results.empty() ? "{replicated}"
                                             : results.size() == 1
                                                 ? results[0]
                                                 : "{" + llvm::join(results, ", ") + "}"));
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

} // namespace st::pjrt
