//===- Translation.cpp - The front end as a flag of st-translate ----------===//

#include "lib/Frontend/Translation.h"

#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/ChloOps.h"
#include "lib/Frontend/Frontend.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::st;

namespace cl = llvm::cl;

namespace {
struct ImportOptions {
  cl::opt<Task> task{"task", cl::desc("What --import-hf-config trains the model to do"),
                     cl::values(clEnumValN(Task::MaskedLm, "mlm", "Masked LM + next sentence"),
                                clEnumValN(Task::Span, "span", "Answer spans"),
                                clEnumValN(Task::CausalLm, "clm", "Causal LM")),
                     cl::init(Task::MaskedLm)};
  cl::opt<int64_t> batch{"batch", cl::desc("Sequences in a batch"), cl::init(1)};
  cl::opt<int64_t> sequence{"seq", cl::desc("Tokens in a sequence"), cl::init(128)};
};
} // namespace

static OwningOpRef<Operation *> import(const ImportOptions &options, llvm::SourceMgr &source,
                                       MLIRContext *context) {
  const llvm::MemoryBuffer *buffer = source.getMemoryBuffer(source.getMainFileID());
  FailureOr<ModelConfig> config =
      parseModelConfig(buffer->getBuffer(), buffer->getBufferIdentifier(), context);
  if (failed(config))
    return nullptr;
  return buildModel(context, *config, options.task, options.batch, options.sequence);
}

void st::registerImportHfConfig() {
  static ImportOptions options;
  static TranslateToMLIRRegistration registration(
      "import-hf-config", "Build the forward loss of a Hugging Face config.json",
      [](llvm::SourceMgr &source, MLIRContext *context) {
        return import(options, source, context);
      },
      [](DialectRegistry &registry) {
        registry
            .insert<func::FuncDialect, stablehlo::StableHLODialect, chlo::ChloDialect, StDialect>();
      });
}
