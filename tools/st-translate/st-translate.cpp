//===- st-translate.cpp - Translation from and to other formats -----------===//

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ErrorHandlers.h"
#include "lib/Driver/ProgramFile.h"
#include "lib/Support/StandardStreams.h"
#include "tools/CommandLine.h"
#include "tools/st-translate/Translations.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/ToolUtilities.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace mlir::st;

static constexpr void (*kTranslations[])() = {
    registerAssembly,       registerExecutableToCode, registerExecutableToText,
    registerImportHfConfig, registerImportHlo,        registerImportVhlo,
    registerInterpret,      registerKernelsToPtx,     registerTextToTokenIds,
    registerTimeline,
};

namespace {
struct Flags {
  cl::opt<std::string> input{cl::Positional, cl::init("-"), cl::desc("<input file>")};
  cl::opt<std::string> output{"o", cl::init("-"), cl::value_desc("file"), cl::desc("output")};
  cl::opt<const Translation *, false, TranslationParser> translation{
      "", cl::desc("translation to perform"), cl::Required};
  cl::opt<bool> splitsInput{
      "split-input-file", cl::desc("translate each part between lines of \"// -----\" separately")};
  cl::opt<bool> verifiesDiagnostics{
      "verify-diagnostics", cl::desc("compare diagnostics with the input's expected-* comments")};
};
} // namespace

/// Translates one part of the input.
static LogicalResult translate(const Flags &flags, std::unique_ptr<llvm::MemoryBuffer> text,
                               llvm::raw_ostream &os) {
  MLIRContext context;
  context.printOpOnDiagnostic(false);
  std::string name = text->getBufferIdentifier().str();
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(std::move(text), SMLoc());
  const Translation &translation = *flags.translation.getValue();
  if (flags.verifiesDiagnostics) {
    SourceMgrDiagnosticVerifierHandler handler(*source, &context);
    // The expected diagnostics decide about success, not the result of the translation.
    (void)translation(source, os, &context);
    return handler.verify();
  }
  DiagnosticPrinter printer(&context, /*tool=*/"", name);
  return translation(source, os, &context);
}

static int fail(const llvm::Twine &message) {
  llvm::errs() << "st-translate: error: " << oneLine(message.str()) << '\n';
  return 1;
}

int main(int argc, char **argv) {
  ::st::reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  installErrorHandlers("st-translate");
  hideLibraryOptions();
  for (auto registerTranslation : kTranslations)
    registerTranslation();
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  Flags flags;
  if (auto fault = parseCommandLine(argc, argv, "St translation driver\n"))
    return fail(*fault);

  auto text = readInput(flags.input);
  if (!text.ok())
    return fail(std::string(text.status().message()));
  std::string result;
  llvm::raw_string_ostream os(result);
  auto translateChunk = [&](std::unique_ptr<llvm::MemoryBuffer> chunk, llvm::raw_ostream &to) {
    return translate(flags, std::move(chunk), to);
  };
  if (failed(splitAndProcessBuffer(*std::move(text), translateChunk, os,
                                   flags.splitsInput ? kDefaultSplitMarker : "")))
    return 1;
  absl::Status written = writeOutput(flags.output, result);
  return written.ok() ? 0 : fail(std::string(written.message()));
}
