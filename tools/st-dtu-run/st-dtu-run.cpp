// Generates code for the programs of a module and runs it on simulated clusters. Tests compare the
// results with the reference interpreter.
//
// Programs need no memory plan (tools/KernelProgram.h). A program of device code runs unchanged.
#include "backends/dtu/codegen/Passes.h"
#include "backends/dtu/codegen/executable/ExecutableBuilder.h"
#include "backends/dtu/isa/Isa.h"
#include "st/InitAll.h"
#include "tools/CommandLine.h"
#include "tools/KernelProgram.h"
#include "tools/st-dtu-run/RunExecutable.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {
struct Options {
  cl::opt<std::string> module{cl::Positional, cl::desc("module"), cl::init("-")};
  cl::opt<std::string> inputs{"inputs", cl::desc("safetensors file with states and inputs"),
                              cl::Required};
  cl::opt<std::string> outputs{"outputs", cl::desc("safetensors file for states and outputs"),
                               cl::Required};
  cl::opt<int64_t> shuffles{"shuffles", cl::desc("repetitions with other interleavings"),
                            cl::init(0)};
  cl::opt<std::string> dump{"dump-dtu", cl::desc("file for the generated IR")};
};
} // namespace

static bool hasDeviceCode(ModuleOp module) {
  return module.walk([](dtu::ProgramOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

static LogicalResult runModule(const Options &options, ModuleOp module) {
  mlir::st::completePrograms(module);
  PassManager passes(module.getContext());
  if (!hasDeviceCode(module))
    passes.addPass(dtu::createConvertToDtu());
  if (failed(passes.run(module)))
    return failure();
  if (!options.dump.empty()) {
    std::error_code error;
    llvm::raw_fd_ostream(options.dump, error) << module;
  }
  FailureOr<::st::proto::Executable> executable = dtu::buildExecutable(module);
  if (failed(executable))
    return failure();
  std::string report;
  absl::Status status =
      ::st::runExecutable(*executable, {options.inputs, options.outputs, options.shuffles}, report);
  if (status.ok()) {
    llvm::errs() << report << "\n";
    return success();
  }
  llvm::errs() << "st-dtu-run: error: " << std::string(status.message()) << "\n";
  return failure();
}

int main(int argc, char **argv) {
  mlir::st::hideLibraryOptions();
  Options options;
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Runs programs on simulated DTU clusters\n");
  DialectRegistry registry;
  mlir::st::registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(options.module, &context);
  return module && succeeded(runModule(options, *module)) ? 0 : 1;
}
