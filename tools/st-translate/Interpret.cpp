//===- Interpret.cpp - st-translate --interpret ---------------------------===//

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ProgramFile.h"
#include "lib/Reference/TensorFiles.h"
#include "lib/Reference/TensorTypes.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "st/InitAll.h"
#include "tools/st-translate/Translations.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::st {
namespace {

struct InterpretOptions {
  llvm::cl::list<std::string> inputs{
      "inputs", llvm::cl::CommaSeparated, llvm::cl::value_desc("file,..."),
      llvm::cl::desc("--interpret: safetensors files with the program's inputs")};
  llvm::cl::opt<std::string> outputs{
      "outputs", llvm::cl::value_desc("file"),
      llvm::cl::desc("--interpret: safetensors file for the results (default: printed as text)")};
  llvm::cl::opt<std::string> function{
      "function", llvm::cl::init("main"), llvm::cl::value_desc("name"),
      llvm::cl::desc("--interpret: the function to run (default: main)")};
};

// Errors of files have no location in the program, so they are not diagnostics.
LogicalResult report(const absl::Status &status) {
  if (status.ok())
    return success();
  llvm::errs() << "error: " << oneLine(std::string(status.message())) << "\n";
  return failure();
}

LogicalResult interpretProgram(const InterpretOptions &options,
                               const std::shared_ptr<llvm::SourceMgr> &source,
                               llvm::raw_ostream &os, MLIRContext *context) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = parseProgram(source, ParserConfig(context));
  if (!module)
    return failure();
  ref::NamedTensors inputs;
  for (const std::string &path : options.inputs)
    if (failed(report(ref::readTensors(path, inputs))))
      return failure();
  FailureOr<ref::NamedTensors> results = ref::interpret(*module, options.function, inputs);
  if (failed(results))
    return failure();
  if (!options.outputs.empty())
    return report(ref::writeTensors(options.outputs, *results));
  for (const auto &[name, tensor] : *results)
    os << name << " = " << ref::toAttribute(tensor, context) << "\n";
  return success();
}

} // namespace

void registerInterpret() {
  static InterpretOptions options;
  static TranslateRegistration registration(
      "interpret", "run a program with the reference interpreter",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os,
         MLIRContext *context) { return interpretProgram(options, source, os, context); });
}

} // namespace mlir::st
