// The text of a program as JAX prints it, or of any phase: a program that parses prints and parses
// again, and folds without a crash.

#include "test/fuzz/targets/FuzzTarget.h"
#include "test/fuzz/targets/ParsedProgram.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ParsedProgram program(StringRef(reinterpret_cast<const char *>(data), size));
  if (!program.module)
    return 0;
  std::string printed = print(*program.module);
  ParsedProgram again(printed);
  if (!again.module || print(*again.module) != printed)
    __builtin_trap();
  PassManager passes(&program.context);
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  (void)passes.run(*program.module);
  return 0;
}
