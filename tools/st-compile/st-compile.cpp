// st-compile: compiles a model for a set of devices into one training binary.

#include "lib/Driver/Compiler.h"
#include "lib/Support/StandardStreams.h"
#include "st/InitAll.h"
#include "tools/CommandLine.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace mlir::st;

namespace {

struct Flags {
  cl::opt<std::string> input{cl::Positional, cl::init("-"),
                             cl::desc("<model folder, config.json, or IR>")};
  cl::opt<std::string> output{"o", cl::init("-"), cl::value_desc("file"), cl::desc("output")};
  cl::opt<std::string> parallel{"parallel", cl::value_desc("file"),
                                cl::desc("parallel layout as JSON (default: one device)")};
  cl::opt<std::string> compileTo{"compile-to", cl::value_desc("phase"),
                                 cl::desc(phaseHelp())};
  cl::opt<std::string> compileFrom{"compile-from", cl::value_desc("phase"),
                                   cl::desc("continue from IR after this phase")};
  cl::opt<std::string> dumpPhasesTo{"dump-phases-to", cl::value_desc("folder"),
                                    cl::desc("write the IR after each phase to this folder")};
  cl::opt<std::string> runner{"runner", cl::value_desc("file"),
                              cl::desc("the prebuilt runner (default: st-runner beside this tool)")};
  cl::opt<bool> quiet{"q", cl::desc("no progress on stderr")};
  std::vector<std::unique_ptr<cl::opt<std::string>>> options;

  Flags() {
    for (const OptionInfo &info : getOptionInfos()) {
      std::string help = info.help.str();
      if (!info.defaultValue.empty())
        help += " (default: " + info.defaultValue.str() + ")";
      texts.push_back(std::make_unique<std::string>(std::move(help)));
      options.push_back(std::make_unique<cl::opt<std::string>>(
          info.name, cl::desc(*texts.back()), cl::value_desc(info.valueName)));
      // As everywhere, the last of repeated flags holds.
      options.back()->setNumOccurrencesFlag(cl::ZeroOrMore);
    }
  }

  static StringRef phaseHelp() {
    static const std::string text = "print the IR after this phase: " + listPhases();
    return text;
  }

private:
  std::vector<std::unique_ptr<std::string>> texts;
};

/// One line a diagnostic: where, what. Notes follow it as lines of their own.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) { return print(diagnostic); }) {}
  bool sawError() const { return errors > 0; }

private:
  static std::string place(Location location) {
    std::string text;
    llvm::raw_string_ostream os(text);
    location->walk([&](Location inner) {
      auto file = dyn_cast<FileLineColLoc>(inner);
      if (!file)
        return WalkResult::advance();
      os << file.getFilename().getValue() << ':' << file.getLine() << ':' << file.getColumn() << ": ";
      return WalkResult::interrupt();
    });
    if (auto name = dyn_cast<NameLoc>(location); name && text.empty())
      os << name.getName().getValue() << ": ";
    return text;
  }

  LogicalResult print(Diagnostic &diagnostic) {
    bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
    // What follows the first error is a consequence of it.
    if (isError && errors++ > 0)
      return success();
    StringRef kind = isError ? "error" : diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning" : "note";
    std::string text = diagnostic.str();
    llvm::errs() << "st-compile: " << kind << ": " << place(diagnostic.getLocation()) << text << '\n';
    for (Diagnostic &note : diagnostic.getNotes())
      llvm::errs() << "st-compile: note: " << place(note.getLocation()) << note.str() << '\n';
    return success();
  }

  int errors = 0;
  ScopedDiagnosticHandler handler;
};

} // namespace

static int fail(const llvm::Twine &message) {
  llvm::errs() << "st-compile: error: " << message << '\n';
  return 1;
}

static bool readPhase(const cl::opt<std::string> &flag, std::optional<CompilePhase> &phase) {
  if (flag.empty())
    return true;
  phase = getCompilePhase(flag);
  if (!phase)
    fail("--" + flag.ArgStr + "=" + flag + ": expected one of " + listPhases());
  return phase.has_value();
}

static std::string runnerBeside(const char *argv0) {
  static int anchor;
  SmallString<128> path(llvm::sys::fs::getMainExecutable(argv0, &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "st-runner");
  return path.str().str();
}

int main(int argc, char **argv) {
  ::st::reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  hideLibraryOptions();
  Flags flags;
  std::string usage;
  llvm::raw_string_ostream usageStream(usage);
  if (!cl::ParseCommandLineOptions(argc, argv, "compiles a model into a training binary\n", &usageStream))
    return fail(StringRef(usage).trim().split('\n').first.split(": ").second);

  CompileRequest request;
  request.input = flags.input;
  request.output = flags.output;
  request.parallel = flags.parallel;
  request.dumpPhasesTo = flags.dumpPhasesTo;
  request.runner = flags.runner.empty() ? runnerBeside(argv[0]) : flags.runner.getValue();
  request.quiet = flags.quiet;
  if (!readPhase(flags.compileTo, request.stopAfter) || !readPhase(flags.compileFrom, request.startFrom))
    return 1;
  std::map<std::string, std::string> given;
  for (auto &option : flags.options)
    if (option->getNumOccurrences() > 0)
      given[option->ArgStr.str()] = *option;
  request.options = CompileOptions(std::move(given));

  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  DiagnosticPrinter printer(&context);
  if (succeeded(compile(request, &context)))
    return 0;
  return printer.sawError() ? 1 : fail("the compilation failed without a diagnostic");
}
