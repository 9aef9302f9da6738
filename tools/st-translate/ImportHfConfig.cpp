//===- ImportHfConfig.cpp - st-translate --import-hf-config ---------------===//

#include "lib/Frontend/Frontend.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "st/InitAll.h"
#include "tools/st-translate/Translations.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

namespace cl = llvm::cl;

namespace mlir::st {
namespace {

struct ImportOptions {
  cl::opt<Task> task{
      "task", cl::desc("--import-hf-config: training task of the model"),
      cl::values(clEnumValN(Task::MaskedLm, "mlm", "masked LM and next sentence"),
                 clEnumValN(Task::Span, "span", "start and end of answers"),
                 clEnumValN(Task::CausalLm, "clm", "causal LM"),
                 clEnumValN(Task::Seq2Seq, "seq2seq", "a target, given a source"),
                 clEnumValN(Task::Classify, "classify", "classes of images or texts"),
                 clEnumValN(Task::ClassifyTokens, "classify-tokens", "classes of tokens"),
                 clEnumValN(Task::Encode, "encode", "hidden states of bert, no training")),
      cl::init(Task::MaskedLm)};
  cl::opt<int64_t> batch{"batch", cl::init(1), cl::value_desc("n"),
                         cl::desc("--import-hf-config: sequences in a batch (default: 1)")};
  cl::opt<int64_t> sequence{"seq", cl::init(128), cl::value_desc("n"),
                            cl::desc("--import-hf-config: tokens in a sequence (default: 128)")};
  cl::opt<int64_t> labelSequence{
      "label-seq", cl::init(0), cl::value_desc("n"),
      cl::desc("--import-hf-config: tokens in a target (default: as many as in a source)")};
};

OwningOpRef<Operation *> importConfig(const ImportOptions &options, llvm::SourceMgr &source,
                                      MLIRContext *context) {
  const llvm::MemoryBuffer *buffer = source.getMemoryBuffer(source.getMainFileID());
  FailureOr<ModelConfig> config =
      parseModelConfig(buffer->getBuffer(), buffer->getBufferIdentifier(), context);
  if (failed(config))
    return nullptr;
  std::optional<int64_t> sequence;
  if (options.sequence.getNumOccurrences() > 0)
    sequence = options.sequence;
  std::optional<int64_t> labels;
  if (options.labelSequence.getNumOccurrences() > 0)
    labels = options.labelSequence;
  return buildModel(context, *config, options.task, options.batch, sequence, Purpose::Train,
                    labels);
}

} // namespace

void registerImportHfConfig() {
  static ImportOptions options;
  static TranslateToMLIRRegistration registration(
      "import-hf-config", "build the forward loss of a Hugging Face config.json",
      [](llvm::SourceMgr &source, MLIRContext *context) {
        return importConfig(options, source, context);
      },
      [](DialectRegistry &registry) { registerAllDialects(registry); });
}

} // namespace mlir::st
