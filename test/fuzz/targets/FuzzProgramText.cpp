// The text of a program as JAX prints it, or of any phase: what parses prints and parses again, and
// folds without harm.

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "st/InitAll.h"
#include "test/fuzz/targets/FuzzTarget.h"

using namespace mlir;

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

namespace {
/// A program in a context of its own: names of resources are unique in a context.
struct Program {
  explicit Program(StringRef text) : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
    module = parseSourceString<ModuleOp>(text, &context);
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    st::registerAllDialects(registry);
    return registry;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Program program(StringRef(reinterpret_cast<const char *>(data), size));
  if (!program.module)
    return 0;
  std::string printed = print(*program.module);
  Program again(printed);
  if (!again.module || print(*again.module) != printed)
    __builtin_trap();
  PassManager passes(&program.context);
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  (void)passes.run(*program.module);
  return 0;
}
