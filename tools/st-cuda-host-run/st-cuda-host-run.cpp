// Runs the programs of a module with kernels that were generated for a GPU and lowered to the host:
// tests compare this code with the reference interpreter, without a GPU. Each program runs twice,
// with threads and blocks in ascending and in descending order. If kernels use semaphores or
// dynamic shared memory, it runs a third time with these as on a GPU. All runs must give the same
// bits. Programs need no plan (tools/KernelProgram.h).
#include "dialects/St/IR/StDialect.h"
#include "st/InitAll.h"
#include "tools/CommandLine.h"
#include "tools/KernelProgram.h"
#include "tools/st-cuda-host-run/HostRun.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
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
  cl::opt<double> approximationError{
      "approximation-error", cl::init(0),
      cl::desc("relative error of results that a GPU approximates, of either sign (default: 0)")};
  cl::opt<int> steps{"steps", cl::init(1),
                     cl::desc("steps with the same inputs, each on the states of the one before "
                              "(default: 1)")};
};
} // namespace

static LogicalResult report(const std::string &message) {
  llvm::errs() << "st-cuda-host-run: error: " << message << "\n";
  return failure();
}

static bool isPlanned(ModuleOp module) {
  return module
      ->walk([](mlir::st::KernelOp kernel) {
        return kernel->hasAttr("st.addresses") ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns the name of a result with other bits. Null if there is none.
static const std::string *findDifference(const mlir::st::ref::NamedTensors &some,
                                         const mlir::st::ref::NamedTensors &others) {
  for (const auto &[name, tensor] : some)
    if (!tensor.bitwiseEquals(others.find(name)->second))
      return &name;
  return nullptr;
}

static LogicalResult runModule(const Options &options, ModuleOp module) {
  mlir::st::ref::NamedTensors inputs;
  if (absl::Status read = mlir::st::ref::readTensors(options.inputs, inputs); !read.ok())
    return report(std::string(read.message()));
  // Kernels of a test are as form-kernels leaves them.
  if (!isPlanned(module)) {
    PassManager split(module.getContext());
    if (failed(parsePassPipeline(
            "split-products,fuse-epilogues,split-attention,join-attention-gradients,"
            "fuse-transposes,sink-conversions,"
            "split-reductions{cores=108},invert-divisors,separate-maxima,lift-constants",
            split)) ||
        failed(split.run(module)))
      return failure();
  }
  mlir::st::completePrograms(module);
  FailureOr<bool> isExpanded = mlir::st::hasExpandedCode(module);
  if (failed(isExpanded))
    return failure();
  mlir::st::HostRunOptions how;
  how.approximationError = options.approximationError;
  how.steps = options.steps;
  OwningOpRef<ModuleOp> copy = module.clone(), other = module.clone();
  auto results = mlir::st::runOnHost(module, inputs, how);
  if (failed(results))
    return failure();
  how.descending = true;
  auto again = mlir::st::runOnHost(*copy, inputs, how);
  if (failed(again))
    return failure();
  if (const std::string *name = findDifference(*results, *again))
    return report("\"" + *name + "\" depends on the order of threads and blocks");
  if (*isExpanded) {
    how.descending = false;
    how.expanded = true;
    auto expanded = mlir::st::runOnHost(*other, inputs, how);
    if (failed(expanded))
      return failure();
    if (const std::string *name = findDifference(*results, *expanded))
      return report("\"" + *name + "\" changes if semaphores and shared memory work as on a GPU");
  }
  absl::Status written = mlir::st::ref::writeTensors(options.outputs, *results);
  return written.ok() ? success() : report(std::string(written.message()));
}

int main(int argc, char **argv) {
  mlir::st::hideLibraryOptions();
  Options options;
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Runs programs with kernels for GPUs on the host\n");
  mlir::st::registerAllPasses();
  DialectRegistry registry;
  mlir::st::registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(options.module, &context);
  return module && succeeded(runModule(options, *module)) ? 0 : 1;
}
