// Imports a program as JAX prints it: annotations, calls, loops, simplification, roles. The
// imported module verifies, or there is an error.

#include "lib/Driver/ImportProgram.h"
#include "test/fuzz/targets/FuzzTarget.h"
#include "test/fuzz/targets/ParsedProgram.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ParsedProgram program(StringRef(reinterpret_cast<const char *>(data), size));
  if (!program.module)
    return 0;
  program.errors = 0;
  LogicalResult imported =
      st::importProgram(*program.module, /*roles=*/"", /*unroll=*/16, /*quiet=*/true);
  if (failed(imported) == (program.errors == 0) ||
      (succeeded(imported) && failed(verify(*program.module))))
    __builtin_trap();
  return 0;
}
