#include "plugins/pjrt/compile/CompileFunction.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/VHLO/PortableModule.h"
#include "lib/Driver/Compiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "plugins/pjrt/compile/CountOperations.h"
#include "plugins/pjrt/compile/DiagnosticCollector.h"
#include "plugins/pjrt/compile/HostSteps.h"
#include "plugins/pjrt/compile/Inspections.h"
#include "plugins/pjrt/compile/Pages.h"
#include "plugins/pjrt/compile/PartitionFunction.h"
#include "plugins/pjrt/compile/Ports.h"
#include "plugins/pjrt/compile/ReadFunction.h"
#include "plugins/pjrt/runtime/LoadedProgram.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <map>

using namespace mlir;

namespace st::pjrt {

std::array<int64_t, 3> portableVersion() { return mlir::st::kPortableVersion; }

std::string fingerprintOf(absl::string_view code, int64_t partitions, absl::string_view target) {
  llvm::SHA256 hash;
  hash.update(StringRef(absl::StrCat(kProgramVersion, ",", partitions, ",", target, "\n")));
  hash.update(StringRef(code.data(), code.size()));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
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
  mlir::st::CompileRequest request = requestFor(module, source.target, hardwareIds);
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

/// Returns ResourceExhausted if the arguments and results alone exceed a device's memory.
static absl::Status checkRoom(const proto::PluginProgram &program, int64_t memoryBytes) {
  int64_t needed = 0;
  for (const auto *ports : {&program.arguments(), &program.results()})
    for (const proto::PluginPort &port : *ports)
      if (!port.memory())
        // Propagation may shard a port whose sharding is left open.
        needed += localType(port).numBytes() /
                  (port.sharding().ByteSizeLong() == 0 ? program.partitions() : 1);
  if (needed <= memoryBytes)
    return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("Out of memory: the arguments and results of ",
                                                   program.name(), " take at least ", needed,
                                                   " bytes on a device, which has ", memoryBytes));
}

/// Returns for each argument true if the caller names the result that reuses its memory.
static std::vector<bool> findAliased(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  std::vector<bool> aliased;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    aliased.push_back(function.getArgAttr(i, "tf.aliasing_output") != nullptr);
  return aliased;
}

/// Keeps donations that a result can reuse: one of the same size, which no other argument reuses.
static void resolveDonations(const std::vector<bool> &aliased, proto::PluginProgram &program) {
  std::map<std::pair<int, int64_t>, int> free;
  const auto keyOf = [](const proto::PluginPort &port) {
    return std::pair(port.memory(), localType(port).numBytes());
  };
  for (const proto::PluginPort &port : program.results())
    ++free[keyOf(port)];
  for (int i = 0; i < program.arguments_size(); ++i)
    if (aliased[static_cast<size_t>(i)])
      --free[keyOf(program.arguments(i))];
  for (int i = 0; i < program.arguments_size(); ++i) {
    proto::PluginPort &port = *program.mutable_arguments(i);
    if (port.is_donated() && !aliased[static_cast<size_t>(i)])
      port.set_is_donated(free[keyOf(port)]-- > 0);
  }
}

/// Compiles a function without callbacks whose ports are known, and sets the ports' shardings.
static absl::Status compileOnDevices(OwningOpRef<ModuleOp> module, const FunctionSource &source,
                                     const DiagnosticCollector &diagnostics,
                                     proto::PluginProgram &program) {
  if (mlir::failed(importSource(*module, source.partitions)))
    return failed(diagnostics, absl::StatusCode::kUnimplemented);
  if (absl::Status status = placeDeclaredPorts(*module, program); !status.ok())
    return status;
  if (absl::Status status = checkRoom(program, source.memoryBytes); !status.ok())
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
  const OperationCounts counts = countOperations(*module);
  program.set_flops(counts.flops / static_cast<double>(meshDevices));
  program.set_transcendentals(counts.transcendentals / static_cast<double>(meshDevices));
  absl::StatusOr<proto::Executable> code =
      compileModule(std::move(module), source, hardwareIds, program.name(), diagnostics);
  if (!code.ok())
    return code.status();
  *program.mutable_code() = *std::move(code);
  return placePorts(program);
}

/// Gives results whose sharding is left open the sharding to which the function constrains them.
static void declareResults(func::FuncOp function) {
  Operation *const end = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    auto constrain = value.getDefiningOp<mlir::st::ConstrainOp>();
    if (constrain && constrain.getSharding().getOpen().empty() &&
        !function.getResultAttr(i, mlir::st::kShardingAttr))
      function.setResultAttr(i, mlir::st::kShardingAttr, constrain.getSharding());
  }
}

/// Compiles the programs between the callbacks of a function. Callbacks get complete arrays, or one
/// shard each in a computation on shards, so the first device computes the function.
static absl::Status compileSteps(ModuleOp module, const FunctionSource &source,
                                 const DiagnosticCollector &diagnostics,
                                 proto::PluginProgram &program) {
  if (mlir::failed(importShardings(module)))
    return failed(diagnostics, absl::StatusCode::kUnimplemented);
  auto function = module.lookupSymbol<func::FuncOp>("main");
  declareResults(function);
  if (absl::Status status = placeDeclaredPorts(module, program); !status.ok())
    return status;
  const auto hasShape = [](Type type, const proto::PluginPort &port) {
    return llvm::equal(cast<RankedTensorType>(type).getShape(), port.dims());
  };
  if (!llvm::all_of_zip(function.getArgumentTypes(), program.arguments(), hasShape) ||
      !llvm::all_of_zip(function.getResultTypes(), program.results(), hasShape))
    return absl::UnimplementedError(
        absl::StrCat("function ", program.name(),
                     " calls back to the host and has an argument or a result that is unreduced"));
  dropShardings(module);
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

/// Computes the shardings that the function inspects.
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
  return resolveInspections(module, compile, program);
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
  const std::vector<bool> aliased = findAliased(*module);
  const bool computesNothing = program.results().empty();
  const absl::Status status =
      computesNothing || callsHost(*module)
          ? compileSteps(*module, source, diagnostics, program)
          : compileOnDevices(std::move(module), source, diagnostics, program);
  if (!status.ok())
    return status;
  resolveDonations(aliased, program);
  return program;
}

} // namespace st::pjrt
