//===- Interpret.cpp - st-translate --interpret ---------------------------===//

#include "lib/Reference/TensorFiles.h"
#include "lib/Reference/TensorTypes.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "st/InitAll.h"
#include "tools/st-translate/Translations.h"
#include "llvm/Support/CommandLine.h"

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

// Files are not places in the program, so that diagnostics do not fit.
LogicalResult report(const absl::Status &status) {
  if (status.ok())
    return success();
  llvm::errs() << "error: " << std::string(status.message()) << "\n";
  return failure();
}

LogicalResult interpretModule(const InterpretOptions &options, Operation *op,
                              llvm::raw_ostream &os) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    return op->emitError("expected a module");
  // A diagnostic is one line; the op can be a whole function.
  op->getContext()->printOpOnDiagnostic(false);
  ref::NamedTensors inputs;
  for (const std::string &path : options.inputs)
    if (failed(report(ref::readTensors(path, inputs))))
      return failure();
  FailureOr<ref::NamedTensors> results = ref::interpret(module, options.function, inputs);
  if (failed(results))
    return failure();
  if (!options.outputs.empty())
    return report(ref::writeTensors(options.outputs, *results));
  for (const auto &[name, tensor] : *results)
    os << name << " = " << ref::toAttribute(tensor, op->getContext()) << "\n";
  return success();
}

} // namespace

void registerInterpret() {
  static InterpretOptions options;
  static TranslateFromMLIRRegistration registration(
      "interpret", "run a program with the reference interpreter",
      [](Operation *op, llvm::raw_ostream &os) { return interpretModule(options, op, os); },
      [](DialectRegistry &registry) { registerAllDialects(registry); });
}

} // namespace mlir::st
