//===- Frontend.cpp - From a configuration to a forward loss --------------===//

#include "lib/Frontend/Frontend.h"

#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/Utils/DropoutMask.h"
#include "lib/Frontend/DecoderFamily.h"
#include "lib/Frontend/EncoderFamily.h"
#include "lib/Frontend/Seq2Seq/Seq2SeqFamily.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::st;

static bool hasTask(ModelType type, Task task) {
  switch (task) {
  case Task::MaskedLm:
  case Task::Span:
  case Task::Encode:
    return findEncoderFamily(type);
  case Task::CausalLm:
    return isDecoder(type);
  case Task::Seq2Seq:
    return findSeq2SeqFamily(type);
  case Task::Classify:
    return findEncoderFamily(type) || type == ModelType::Vit ||
           (isDecoder(type) && !findDecoderFamily(type)->classHead.empty());
  case Task::ClassifyTokens:
    return findEncoderFamily(type) ||
           (isDecoder(type) && !findDecoderFamily(type)->tokenClassHead.empty());
  }
  llvm_unreachable("unknown task");
}

/// The tasks of a model, for messages.
static StringRef tasksOf(ModelType type) {
  if (isDecoder(type))
    return hasTask(type, Task::ClassifyTokens) ? "clm, classify or classify-tokens"
           : hasTask(type, Task::Classify)     ? "clm or classify"
                                               : "clm";
  if (findSeq2SeqFamily(type))
    return "seq2seq";
  return findEncoderFamily(type) ? "mlm, span, classify, classify-tokens or encode" : "classify";
}

/// The cosines of rotary positions are constants; this number of them takes half a GiB.
constexpr int64_t kMaxAngles = 1 << 27;

/// Default sequence length of text.
constexpr int64_t kDefaultSequence = 128;

/// The number of tokens of a sequence: an image has its patches and the class token.
static int64_t sequenceOf(const ModelConfig &config, std::optional<int64_t> given) {
  if (config.type == ModelType::Vit)
    return config.patchGrid().height * config.patchGrid().width + 1;
  return given.value_or(kDefaultSequence);
}

/// Reports sizes that the model does not allow.
static LogicalResult checkSizes(MLIRContext *context, const ModelConfig &config, Task task,
                                int64_t batch, std::optional<int64_t> given,
                                std::optional<int64_t> target) {
  auto error = [&] { return emitError(FileLineColLoc::get(context, config.path, 1, 1)); };
  if (!hasTask(config.type, task))
    return error() << "task '" << stringify(task) << "': expected " << tasksOf(config.type)
                   << " for model_type \"" << stringify(config.type) << "\"";
  if (batch < 1)
    return error() << "batch: expected at least 1, found " << batch;
  int64_t sequence = sequenceOf(config, given);
  bool isVit = config.type == ModelType::Vit;
  if (isVit && given && *given != sequence)
    return error() << "sequence length: expected " << sequence << ", the tokens of an image, found "
                   << *given;
  if (!isVit && (sequence < 1 || sequence > config.positionCount))
    return error() << "sequence length: expected 1 to "
                   << (config.type == ModelType::Gpt2 ? "n_positions" : "max_position_embeddings")
                   << (config.type == ModelType::Roberta ? " - pad_token_id - 1" : "") << " = "
                   << config.positionCount << ", found " << sequence;
  const int64_t angles = config.rotatedSize() / 2;
  if (isDecoder(config.type) && describeDecoder(config).hasRotaryPositions &&
      angles > kMaxAngles / sequence)
    return error() << "sequence length: " << sequence << " tokens with " << 2 * angles
                   << " rotated elements of a head: expected at most " << kMaxAngles
                   << " pairs of these elements in all tokens";
  // Slots of experts are numbered in 32 bits.
  const int64_t factor = std::max(config.experts.count, 2 * config.experts.perToken);
  if (config.experts.count > 0 && factor > (INT32_MAX - config.experts.count) / sequence)
    return error() << "sequence length: expected at most "
                   << (INT32_MAX - config.experts.count) / factor << " tokens for "
                   << config.experts.count << " experts, found " << sequence;
  const int64_t group = config.experts.balanceGroup.value_or(0);
  if (config.experts.balanceCoefficient > 0 && group > 0 && batch % group != 0)
    return error() << "batch: expected a multiple of moe_aux_loss_sequences = " << group
                   << ", found " << batch;
  if (target && !findSeq2SeqFamily(config.type))
    return error() << "target sequence length: a " << stringify(config.type)
                   << " has no separate target sequence, found " << *target;
  if (target && (*target < 1 || *target > config.positionCount))
    return error() << "target sequence length: expected 1 to max_position_embeddings = "
                   << config.positionCount << ", found " << *target;
  const int64_t longest = std::max(sequence, target.value_or(sequence));
  const SmallVector<int64_t> scores = {batch, std::max(config.headCount, config.decoder.headCount),
                                       longest, longest},
                             hidden = {batch, longest, config.hiddenSize},
                             distances = {longest, longest, config.relativePositions.bucketCount};
  if (!hasDropoutMask(distances))
    return error() << "sequences of " << longest << " tokens with "
                   << config.relativePositions.bucketCount
                   << " relative-position buckets: expected at most " << kMaxRandomSlices
                   << " slices of " << kMaxSliceElements << " pairs";
  const double rate = std::max({config.embeddingDropout, config.hiddenDropout, config.spanDropout,
                                config.tokenClassDropout});
  for (auto [shape, probability] :
       {std::pair(ArrayRef(scores), config.attentionDropout), std::pair(ArrayRef(hidden), rate)})
    if (probability > 0 && !hasDropoutMask(shape))
      return error() << "batch of " << batch << " sequences of " << sequence
                     << " tokens with dropout: expected tensors of at most " << kMaxRandomSlices
                     << " slices of " << kMaxSliceElements << " elements between layers";
  return success();
}

static Value buildResult(ModelBuilder &model, ModelType type, Task task) {
  if (isDecoder(type))
    return buildDecoder(model, describeDecoder(model.config), task);
  if (const EncoderFamily *family = findEncoderFamily(type))
    return buildEncoder(model, *family, task);
  if (const Seq2SeqFamily *family = findSeq2SeqFamily(type))
    return buildSeq2Seq(model, *family);
  return buildVit(model);
}

static ModelConfig withoutDropout(ModelConfig config) {
  config.embeddingDropout = config.attentionDropout = config.hiddenDropout = config.spanDropout =
      config.activationDropout = config.classDropout = config.tokenClassDropout = 0.0;
  return config;
}

OwningOpRef<ModuleOp> st::buildModel(MLIRContext *context, const ModelConfig &config, Task task,
                                     int64_t batch, std::optional<int64_t> givenSequence,
                                     Purpose purpose, std::optional<int64_t> targetSequence) {
  if (failed(checkSizes(context, config, task, batch, givenSequence, targetSequence)))
    return nullptr;
  int64_t sequence = sequenceOf(config, givenSequence);
  context->loadDialect<func::FuncDialect, stablehlo::StableHLODialect, chlo::ChloDialect>();
  Builder attrs(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context), stringify(config.type));
  module.get()->setAttr("st.task", attrs.getStringAttr(stringify(task)));
  module.get()->setAttr("st.batch", attrs.getI64IntegerAttr(batch));
  module.get()->setAttr("st.sequence", attrs.getI64IntegerAttr(sequence));
  module.get()->setAttr("st.model_config", attrs.getStringAttr(config.json));

  const bool trains = task != Task::Encode;
  const bool evaluates = trains && purpose == Purpose::Evaluate;
  const ModelConfig used = trains && !evaluates ? config : withoutDropout(config);
  ModelBuilder model(*module, used, batch, sequence, targetSequence);
  if (evaluates)
    model.keepMeasures();
  Value result = buildResult(model, config.type, task);
  if (trains)
    model.finish(result, "loss", evaluates ? "metric" : "loss");
  else
    model.finish(result, "hidden_states", "metric");
  return module;
}
