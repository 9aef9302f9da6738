//===- st-opt.cpp - Runs passes on textual IR -----------------------------===//

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ErrorHandlers.h"
#include "lib/Driver/ProgramFile.h"
#include "lib/Support/StandardStreams.h"
#include "st/InitAll.h"
#include "tools/CommandLine.h"

#include "mlir/Debug/Counter.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/ParseUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace mlir::st;

/// Returns true for flags that only MLIR's driver supports. That driver prints the source line
/// below each diagnostic.
static bool needsMlirDriver(const MlirOptMainConfig &config) {
  return config.shouldVerifyDiagnostics() || !config.inputSplitMarker().empty() ||
         config.shouldRunReproducer() || config.shouldVerifyRoundtrip() ||
         config.shouldEmitRemarks() || config.shouldDumpPassPipeline() ||
         !config.getIrdlFile().empty() || !config.getReproducerFilename().empty() ||
         config.getDiagnosticVerbosityLevel() != VerbosityLevel::ErrorsWarningsAndRemarks;
}

namespace {
/// Remembers the pass that failed first; the passes around it fail after it.
class FailedPassRecorder : public PassInstrumentation {
public:
  explicit FailedPassRecorder(std::string &name) : name(name) {}

  void runAfterPassFailed(Pass *pass, Operation *) override {
    if (name.empty())
      name = (pass->getArgument().empty() ? pass->getName() : pass->getArgument()).str();
  }

private:
  std::string &name;
};
} // namespace

/// Runs the passes. An error names the pass that failed.
static LogicalResult runPasses(PassManager &passes, Operation *op, DiagnosticPrinter &printer) {
  std::string name;
  passes.addInstrumentation(std::make_unique<FailedPassRecorder>(name));
  if (succeeded(passes.run(op)))
    return success();
  if (!printer.sawError())
    emitError(op->getLoc()) << "a pass failed without a diagnostic";
  if (!name.empty())
    printer.addContext("while running pass '" + name + "'");
  return failure();
}

/// Parses the module, runs the passes and prints the result. Each diagnostic is one line.
static LogicalResult optimize(llvm::raw_ostream &os, std::unique_ptr<llvm::MemoryBuffer> text,
                              const DialectRegistry &registry, const MlirOptMainConfig &config) {
  MLIRContext context(registry);
  context.allowUnregisteredDialects(config.shouldAllowUnregisteredDialects());
  context.printOpOnDiagnostic(false);
  tracing::InstallDebugHandler debugHandler(context, config.getDebugConfig());
  DiagnosticPrinter printer(&context, /*tool=*/"", text->getBufferIdentifier());
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();

  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(std::move(text), SMLoc());
  FallbackAsmResourceMap resources;
  ParserConfig parser(&context, config.shouldVerifyOnParsing(), &resources);
  TimingScope parsing = scope.nest("Parser");
  OwningOpRef<Operation *> op =
      parseSourceFileForTool(source, parser, !config.shouldUseExplicitModule());
  parsing.stop();
  if (!op)
    return failure();

  PassManager passes(op.get()->getName(), PassManager::Nesting::Implicit);
  passes.enableVerifier(config.shouldVerifyPasses());
  if (failed(applyPassManagerCLOptions(passes)))
    return failure();
  passes.enableTiming(scope);
  if (failed(config.setupPassPipeline(passes)) || failed(runPasses(passes, *op, printer)))
    return failure();

  TimingScope printing = scope.nest("Output");
  AsmState state(op.get(), OpPrintingFlags(), /*locationMap=*/nullptr, &resources);
  op.get()->print(os, state);
  os << '\n';
  return success();
}

static int fail(const llvm::Twine &message) {
  llvm::errs() << "st-opt: error: " << oneLine(message.str()) << '\n';
  return 1;
}

/// Checks the input before it is parsed.
static LogicalResult check(const llvm::MemoryBuffer &text) {
  MLIRContext context;
  DiagnosticPrinter printer(&context, /*tool=*/"", text.getBufferIdentifier());
  return checkProgramText(text, &context);
}

int main(int argc, char **argv) {
  ::st::reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  installErrorHandlers("st-opt");
  hideLibraryOptions();
  registerAllPasses();
  DialectRegistry registry;
  registerAllDialects(registry);
  cl::opt<std::string> input{cl::Positional, cl::init("-"), cl::desc("<input file>")};
  cl::opt<std::string> output{"o", cl::init("-"), cl::value_desc("file"), cl::desc("output")};
  std::string overview = registerCLIOptions("St optimizer driver\n", registry);
  if (auto fault = parseCommandLine(argc, argv, overview))
    return fail(*fault);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldListPasses() || config.shouldShowDialects())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  // MLIR's bytecode reader does not check its input, so St's tools do not accept bytecode.
  if (config.shouldEmitBytecode())
    return fail("--emit-bytecode: St's tools read and write programs as text");

  auto text = readInput(input);
  if (!text.ok())
    return fail(std::string(text.status().message()));
  if (failed(check(**text)))
    return 1;
  std::string result;
  llvm::raw_string_ostream os(result);
  LogicalResult done = needsMlirDriver(config) ? MlirOptMain(os, *std::move(text), registry, config)
                                               : optimize(os, *std::move(text), registry, config);
  if (failed(done))
    return 1;
  absl::Status written = writeOutput(output, result);
  return written.ok() ? 0 : fail(std::string(written.message()));
}
