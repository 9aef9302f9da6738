// A Hugging Face config.json, and the model that a small one describes.

#include "lib/Frontend/Frontend.h"
#include "st/InitAll.h"
#include "test/fuzz/targets/FuzzTarget.h"

using namespace mlir;
using namespace mlir::st;

/// Larger models are as valid, but take too long for a fuzzer.
static bool isSmall(const ModelConfig &config) {
  return config.layerCount <= 2 && config.hiddenSize <= 256 && config.vocabSize <= 4096;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  StringRef text(reinterpret_cast<const char *>(data), size);
  FailureOr<ModelConfig> config = parseModelConfig(text, "config.json", &context);
  if (failed(config) || !isSmall(*config))
    return 0;
  for (Task task : {Task::MaskedLm, Task::Span, Task::CausalLm, Task::Seq2Seq, Task::Classify})
    (void)buildModel(&context, *config, task, /*batch=*/1, /*sequence=*/4);
  return 0;
}
