// A DeepSpeed configuration.

#include "lib/Frontend/DeepSpeed/DeepSpeedConfig.h"
#include "test/fuzz/targets/FuzzTarget.h"

using namespace mlir;
using namespace mlir::st;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef text(reinterpret_cast<const char *>(data), size);
  for (int64_t devices : {0, 8}) {
    TrainingRun run;
    (void)readDeepSpeedConfig(text, "ds.json", run, devices);
  }
  return 0;
}
