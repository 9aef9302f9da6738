//===- Differential.cpp - Programs before and after passes ----------------===//
//
// st-differential [--save=FOLDER [--save-nudged]] FILE...
//
// Runs each program in the reference interpreter, applies passes, and runs the result in the
// interpreter: both must give the same numbers. Attributes of the module define the case, so that
// a program stays a complete case when it is reduced:
//
//   st.prepare   optional pipeline that runs before both (a loss becomes a training step)
//   st.passes    pipeline between both
//   st.parallel  text of a parallel file; CONFIG in `st.passes` represents its path
//   st.exact     numbers must be equal to the bit
//   st.scales_matrices
//                parameters of two or more dimensions are divided by the root of the last one, so
//                that the scores of a model do not saturate its softmax
//
// Prints `begin FILE` and one line with the outcome of each:
//
//   ok FILE ops=NAME:COUNT,... moves=NAME:COUNT,...
//                           ops of the prepared program; collectives after the passes
//   refused FILE MESSAGE    a pass failed
//   broken FILE MESSAGE     the program itself does not run
//   extreme FILE            numbers are too large for a comparison
//   differs FILE MESSAGE    numbers differ, or the output of the passes does not run
//
// With --save the inputs and results of NAME.mlir are written to FOLDER/NAME.in and
// FOLDER/NAME.out; with --save-nudged also the results of inputs that differ by roundings, to
// FOLDER/NAME.nudged-0 and so on. Exits 0 if all are ok.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ErrorHandlers.h"
#include "lib/Driver/ProgramFile.h"
#include "lib/Reference/TensorFiles.h"
#include "st/InitAll.h"
#include "test/fuzz/differential/Compare.h"
#include "test/fuzz/differential/RandomInputs.h"
#include "tools/CommandLine.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace mlir::st;

/// The number of perturbed inputs to try: a rounding changes an 8-bit code of a moment only in some
/// directions.
static constexpr unsigned kVariants = 8;

namespace {
struct Outcome {
  std::string kind, text;
};

/// The processing of one program.
class Case {
public:
  Case(MLIRContext *context, StringRef path, StringRef save, bool savesNudged)
      : context(context), path(path), save(save), savesNudged(savesNudged),
        handler(context, [this](Diagnostic &diagnostic) {
          if (message.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
            message = oneLine(diagnostic.str());
          return success();
        }) {}

  Outcome run();

private:
  LogicalResult parse();
  LogicalResult runPipeline(StringRef attribute);
  LogicalResult saveTensors(StringRef extension, const ref::NamedTensors &tensors);
  LogicalResult saveNudged(const ref::NamedTensors &inputs);
  std::string countOps(function_ref<StringRef(Operation *)> nameOf);
  Outcome end(StringRef kind) { return {kind.str(), message}; }

  MLIRContext *context;
  StringRef path, save;
  bool savesNudged;
  std::string message;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};
} // namespace

LogicalResult Case::parse() {
  auto file = readInput(path);
  if (!file.ok()) {
    message = std::string(file.status().message());
    return failure();
  }
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(*std::move(file), SMLoc());
  module = parseProgram(source, ParserConfig(context));
  return success(static_cast<bool>(module));
}

LogicalResult Case::runPipeline(StringRef attribute) {
  auto text = [&](StringRef name) {
    auto found = (*module)->getAttrOfType<StringAttr>(name);
    return found ? found.str() : std::string();
  };
  std::string pipeline = text(attribute), parallel = text("st.parallel");
  SmallString<64> config;
  if (size_t place = pipeline.find("CONFIG"); place != std::string::npos) {
    int descriptor;
    if (llvm::sys::fs::createTemporaryFile("st-differential", "json", descriptor, config))
      return module->emitError("cannot write a parallel file");
    llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << parallel;
    pipeline.replace(place, StringRef("CONFIG").size(), config.str().str());
  }
  PassManager manager(context);
  // The module is verified once, as in the driver.
  manager.enableVerifier(false);
  LogicalResult done = failure();
  if (llvm::raw_string_ostream os(message); succeeded(parsePassPipeline(pipeline, manager, os)))
    done = success(succeeded(manager.run(*module)) && succeeded(verify(*module)));
  if (!config.empty())
    llvm::sys::fs::remove(config);
  return done;
}

LogicalResult Case::saveTensors(StringRef extension, const ref::NamedTensors &tensors) {
  if (save.empty())
    return success();
  SmallString<128> to(save);
  llvm::sys::path::append(to, llvm::sys::path::stem(path) + extension);
  absl::Status written = ref::writeTensors(to.str().str(), tensors);
  return written.ok() ? success() : module->emitError(std::string(written.message()));
}

LogicalResult Case::saveNudged(const ref::NamedTensors &inputs) {
  for (unsigned variant = 0; savesNudged && variant < kVariants; ++variant) {
    FailureOr<ref::NamedTensors> results =
        ref::interpret(*module, "main", nudge(inputs, variant, getRoundings(*module).step));
    if (failed(results) || failed(saveTensors(".nudged-" + std::to_string(variant), *results)))
      return failure();
  }
  return success();
}

/// Lists names with their counts; ops without a name do not count.
std::string Case::countOps(function_ref<StringRef(Operation *)> nameOf) {
  std::map<std::string, int> counts;
  module->walk([&](Operation *op) {
    if (StringRef name = nameOf(op); !name.empty())
      ++counts[name.str()];
  });
  return llvm::join(llvm::map_range(counts,
                                    [](const auto &entry) {
                                      return entry.first + ":" + std::to_string(entry.second);
                                    }),
                    ",");
}

static StringRef nameOfTensorOp(Operation *op) {
  StringRef name = op->getName().getStringRef();
  bool counts =
      name.starts_with("stablehlo.") || name.starts_with("chlo.") || name == "st.constrain";
  return counts && name != "stablehlo.return" ? name : "";
}

/// Names ops that move data between ranks or stages, or sum over micro-batches.
static StringRef nameOfCollective(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return llvm::is_contained({"st.all_gather", "st.all_reduce", "st.all_slice", "st.all_to_all",
                             "st.accumulate", "st.collective_permute", "st.reduce_scatter",
                             "st.send", "st.transfer"},
                            name)
             ? name
             : "";
}

Outcome Case::run() {
  if (failed(parse()) || failed(runPipeline("st.prepare")))
    return end("broken");
  FailureOr<ref::NamedTensors> inputs = makeRandomInputs(*module);
  if (failed(inputs))
    return end("broken");
  FailureOr<ref::NamedTensors> expected = ref::interpret(*module, "main", *inputs);
  if (failed(expected) || failed(saveTensors(".in", *inputs)) ||
      failed(saveTensors(".out", *expected)) || failed(saveNudged(*inputs)))
    return end("broken");
  if (!areWellConditioned(*expected))
    return end("extreme");
  const bool isExact = (*module)->hasAttr("st.exact");
  const Roundings roundings = getRoundings(*module);
  const double tolerance = isExact ? 0 : roundings.tolerance;
  std::string ops = countOps(nameOfTensorOp);
  OwningOpRef<ModuleOp> original(module->clone());
  if (failed(runPipeline("st.passes")))
    return end("refused");
  FailureOr<ref::NamedTensors> actual = ref::interpret(*module, "main", *inputs);
  if (failed(actual))
    return end("differs");
  message = describeDifference(*inputs, *expected, *actual, tolerance);
  if (!message.empty()) {
    for (unsigned variant = 0; !isExact && variant < kVariants; ++variant) {
      const ref::NamedTensors nudged = nudge(*inputs, variant, roundings.step);
      FailureOr<ref::NamedTensors> before = ref::interpret(*original, "main", nudged),
                                   after = ref::interpret(*module, "main", nudged);
      if (failed(before) || failed(after))
        continue;
      const NudgedResults results = {*before, *after};
      if (describeDifference(*inputs, *expected, *actual, tolerance, &results).empty())
        return end("extreme");
    }
    return end("differs");
  }
  return {"ok", "ops=" + ops + " moves=" + countOps(nameOfCollective)};
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  installErrorHandlers("st-differential");
  hideLibraryOptions();
  registerAllPasses();
  DialectRegistry registry;
  registerAllDialects(registry);
  cl::list<std::string> files{cl::Positional, cl::OneOrMore, cl::desc("<programs>")};
  cl::opt<std::string> save{"save", cl::value_desc("folder"),
                            cl::desc("write inputs and results there")};
  cl::opt<bool> savesNudged{"save-nudged", cl::desc("--save: write results of nudged inputs too")};
  if (auto fault = parseCommandLine(argc, argv, "Compares programs before and after passes\n")) {
    llvm::errs() << "st-differential: error: " << oneLine(*fault) << '\n';
    return 1;
  }
  bool allOk = true;
  for (const std::string &path : files) {
    // A separate context isolates each program from the others.
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.printOpOnDiagnostic(false);
    llvm::outs() << "begin " << path << '\n';
    llvm::outs().flush();
    Outcome outcome = Case(&context, path, save, savesNudged).run();
    llvm::outs() << outcome.kind << ' ' << path << ' ' << outcome.text << '\n';
    llvm::outs().flush();
    allOk &= outcome.kind == "ok";
  }
  return allOk ? 0 : 1;
}
