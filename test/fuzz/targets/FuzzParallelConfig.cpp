// A user's parallel-config file.

#include "passes/Partition/Config/ParallelConfig.h"
#include "test/fuzz/targets/FuzzTarget.h"

using namespace mlir;
using namespace mlir::st;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  StringRef text(reinterpret_cast<const char *>(data), size);
  FailureOr<ParallelConfig> config = parseParallelConfig(text, "parallel.json", &context);
  if (succeeded(config))
    for (StringRef key : {"accum_degree", "device_mapping.stage_0"})
      (void)config->locate(key, &context);
  return 0;
}
