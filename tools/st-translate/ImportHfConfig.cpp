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
      cl::desc("--import-hf-config: tokens in a target (default: the number in a source)")};
  cl::opt<bool> prefix{"prefix-lm",
                       cl::desc("--import-hf-config: clm: the first positions of each sample, its "
                                "prefix, attend to each other both ways and have no loss")};
  cl::opt<bool> positions{
      "reset-position-ids",
      cl::desc("--import-hf-config: clm: the batch has the position of each token")};
  cl::opt<bool> segments{
      "reset-attention-mask",
      cl::desc("--import-hf-config: clm: the batch has the document of each token, and attention "
               "does not cross the end of a document")};
};

OwningOpRef<Operation *> importConfig(const ImportOptions &options, llvm::SourceMgr &source,
                                      MLIRContext *context) {
  const llvm::MemoryBuffer *buffer = source.getMemoryBuffer(source.getMainFileID());
  FailureOr<ModelConfig> config =
      parseModelConfig(buffer->getBuffer(), buffer->getBufferIdentifier(), context);
  if (failed(config))
    return nullptr;
  const CausalInputs inputs = {options.prefix, options.positions, options.segments};
  if ((inputs.prefix || inputs.positions || inputs.segments) && options.task != Task::CausalLm) {
    emitError(UnknownLoc::get(context))
        << "--prefix-lm, --reset-position-ids and --reset-attention-mask have no effect with the "
           "task "
        << stringify(options.task) << ": expected clm";
    return nullptr;
  }
  config->inputs = inputs;
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
