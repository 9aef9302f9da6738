// A Megatron log or command line: its run and its contradictions.

#include "lib/Frontend/Megatron/Lint.h"
#include "lib/Frontend/Megatron/Megatron.h"
#include "test/fuzz/targets/FuzzTarget.h"

using namespace mlir;
using namespace mlir::st;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef text(reinterpret_cast<const char *>(data), size);
  absl::StatusOr<MegatronLog> log = parseMegatronLog(text, "run.log");
  if (!log.ok())
    return 0;
  for (const LintFinding &finding : lintMegatronLog(*log))
    (void)printFinding(finding, "run.log");
  (void)buildTrainingRun(*log);
  return 0;
}
