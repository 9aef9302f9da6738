// st-compile: compiles a model for a set of devices into one training binary.

#include "lib/Driver/Compiler.h"
#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ErrorHandlers.h"
#include "lib/Driver/Options/MegatronRun.h"
#include "lib/Support/StandardStreams.h"
#include "st/InitAll.h"
#include "tools/CommandLine.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace mlir::st;

namespace {

/// The values of a switch; the bare flag is true.
constexpr StringRef kSwitch = "true|false";

struct Flags {
  cl::opt<std::string> input{cl::Positional, cl::init("-"),
                             cl::desc("<model folder, config.json, or IR>")};
  cl::opt<std::string> output{"o", cl::init("-"), cl::value_desc("file"), cl::desc("output")};
  cl::opt<std::string> parallel{"parallel", cl::value_desc("file"),
                                cl::desc("parallel layout as JSON (default: one device, or "
                                         "those of the program's own mesh)")};
  cl::opt<std::string> compileTo{"compile-to", cl::value_desc("phase"), cl::desc(phaseHelp())};
  cl::opt<std::string> compileFrom{"compile-from", cl::value_desc("phase"),
                                   cl::desc("continue from IR after this phase")};
  cl::opt<std::string> dumpPhasesTo{"dump-phases-to", cl::value_desc("folder"),
                                    cl::desc("write the IR after each phase to this folder")};
  cl::opt<std::string> megatron{
      "megatron", cl::value_desc("file"),
      cl::desc("compile the run of a Megatron log or of a file with a Megatron command line: its "
               "model, its layout, and its run as defaults of the binary's flags")};
  cl::opt<std::string> vocabFile{
      "vocab-file", cl::value_desc("file"),
      cl::desc("with --megatron: WordPiece vocabulary instead of the log's")};
  cl::opt<std::string> arguments{
      "arguments", cl::value_desc("file"),
      cl::desc("with --megatron: write the treatment of each argument to this file (a table; JSON "
               "if the name ends in .json; - is standard output)")};
  cl::opt<std::string> explain{
      "explain", cl::value_desc("file"),
      cl::desc("write what each reshard moves, why, and what would avoid it, to this file (a "
               "table; JSON if the name ends in .json)")};
  cl::alias stExplain{"st-explain", cl::aliasopt(explain), cl::desc("the same as --explain")};
  cl::opt<std::string> rolesOut{
      "roles-out", cl::value_desc("file"),
      cl::desc("write the role, name, type and shape of each argument and result to this file, as "
               "JSON")};
  cl::opt<std::string> runner{
      "runner", cl::value_desc("file"),
      cl::desc("the prebuilt runner (default: st-runner in this tool's folder)")};
  cl::opt<bool> quiet{"q", cl::desc("no progress on stderr")};
  cl::opt<bool> predict{"predict", cl::init(true), cl::ZeroOrMore,
                        cl::desc("time a step and store the prediction in the binary, which "
                                 "compares its runs with it (default: true)")};
  cl::opt<bool> eval{"eval", cl::ZeroOrMore,
                     cl::desc("add an evaluation program to the binary: the model without dropout, "
                              "for other data than the training data (its --eval-interval)")};
  cl::opt<std::string> rampup{
      "rampup-batch-size", cl::value_desc("start,increment,samples"),
      cl::desc("add a training program per size of a growing batch: START rows at first, then "
               "INCREMENT more at a time, until --batch after SAMPLES rows, as in Megatron-LM")};
  cl::opt<std::string> report{
      "report", cl::value_desc("file"),
      cl::desc("write a page (HTML) about the predicted step to this file: where its time goes, "
               "memory, links, the critical path, what to change first")};
  std::vector<std::unique_ptr<cl::opt<std::string>>> options;

  Flags() {
    for (const OptionInfo &info : getOptionInfos()) {
      std::string help = info.help.str();
      if (!info.defaultValue.empty())
        help += " (default: " + info.defaultValue.str() + ")";
      texts.push_back(std::make_unique<std::string>(std::move(help)));
      options.push_back(std::make_unique<cl::opt<std::string>>(info.name, cl::desc(*texts.back()),
                                                               cl::value_desc(info.valueName)));
      // The last of repeated flags counts, as in all tools of St.
      options.back()->setNumOccurrencesFlag(cl::ZeroOrMore);
      if (info.valueName == kSwitch)
        options.back()->setValueExpectedFlag(cl::ValueOptional);
    }
  }

  static StringRef phaseHelp() {
    static const std::string text = "print the IR after this phase: " + listPhases();
    return text;
  }

private:
  std::vector<std::unique_ptr<std::string>> texts;
};

} // namespace

static int fail(const llvm::Twine &message) {
  llvm::errs() << "st-compile: error: " << oneLine(message.str()) << '\n';
  return 1;
}

static bool readPhase(const cl::opt<std::string> &flag, std::optional<CompilePhase> &phase) {
  if (flag.getNumOccurrences() == 0)
    return true;
  phase = getCompilePhase(flag);
  if (!phase)
    fail("--" + flag.ArgStr + "=" + flag + ": expected one of " + listPhases());
  return phase.has_value();
}

/// Fills the request with options, and with the run of --megatron, if given.
static bool readOptions(const Flags &flags, CompileRequest &request, MLIRContext *context) {
  std::map<std::string, std::string> given;
  for (auto &option : flags.options)
    if (option->getNumOccurrences() > 0)
      given[option->ArgStr.str()] =
          option->ValueStr == kSwitch && option->empty() ? "true" : option->getValue();
  if (flags.megatron.empty()) {
    for (const auto *flag : {&flags.vocabFile, &flags.arguments})
      if (flag->getNumOccurrences() > 0)
        return fail("--" + flag->ArgStr + " has no effect without --megatron") == 0;
    request.options = CompileOptions(std::move(given));
    return true;
  }
  if (flags.input.getNumOccurrences() > 0)
    return fail("--megatron=" + flags.megatron + " gives the model; expected no input, found " +
                flags.input) == 0;
  if (request.startFrom)
    return fail("--megatron has no effect with --compile-from") == 0;
  request.input = flags.megatron;
  absl::Status read = readMegatronRun({flags.megatron, flags.vocabFile, flags.arguments},
                                      std::move(given), request, context);
  return read.ok() || fail(std::string(read.message())) == 0;
}

static std::string runnerNextTo(const char *argv0) {
  static int anchor;
  SmallString<128> path(llvm::sys::fs::getMainExecutable(argv0, &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "st-runner");
  return path.str().str();
}

int main(int argc, char **argv) {
  ::st::reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  installErrorHandlers("st-compile");
  hideLibraryOptions();
  Flags flags;
  if (auto fault = parseCommandLine(argc, argv, "compiles a model into a training binary\n"))
    return fail(*fault);

  CompileRequest request;
  request.input = flags.input;
  request.output = flags.output;
  request.parallel = flags.parallel;
  request.dumpPhasesTo = flags.dumpPhasesTo;
  request.explain = flags.explain;
  request.rolesOut = flags.rolesOut;
  request.runner = flags.runner.empty() ? runnerNextTo(argv[0]) : flags.runner.getValue();
  request.quiet = flags.quiet;
  if (!readPhase(flags.compileTo, request.stopAfter) ||
      !readPhase(flags.compileFrom, request.startFrom))
    return 1;
  request.evaluates |= flags.eval;
  request.rampup = flags.rampup;
  if (flags.predict)
    request.makeClient = [](const ::st::ClientOptions &options) {
      return ::st::createDtuClient(options);
    };
  request.report = flags.report;

  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  if (!readOptions(flags, request, &context))
    return 1;
  DiagnosticPrinter printer(&context, "st-compile", request.input);
  if (succeeded(compile(request, &context)))
    return 0;
  return printer.sawError() ? 1 : fail("the compilation failed without a diagnostic");
}
