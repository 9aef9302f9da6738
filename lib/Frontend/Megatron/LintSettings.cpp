//===- LintSettings.cpp - Contradictions between settings -----------------===//

#include "lib/Frontend/Megatron/LintChecks.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

static StringRef nameOf(RunFamily family) {
  return family == RunFamily::MegatronBert ? "BERT" : "GPT";
}

static void checkAttentionMask(Linter &linter) {
  std::optional<RunFamily> family = runFamily(linter.log);
  if (!family)
    return;
  bool isBert = *family == RunFamily::MegatronBert;
  StringRef mask = linter.log.text("attn_mask_type");
  bool isCausal = mask == "causal" || mask == "padding_causal";
  bool isBidirectional = mask == "padding" || mask == "no_mask" || mask == "bidirectional";
  if (isBert ? isCausal : isBidirectional)
    linter.report("attention-mask", {"attn_mask_type", "tokenizer_type"},
                  nameOf(*family) + " attends " + (isBert ? "to both sides" : "to the left alone") +
                      ", and the mask type is " + mask);
  for (StringRef name : {"reset_attention_mask", "reset_position_ids"})
    if (isBert && linter.log.flag(name))
      linter.report("attention-mask", {name, "tokenizer_type"},
                    name +
                        " applies to the ends of documents in GPT samples, but this run is BERT");
}

/// "cased" or "uncased" according to the name of a vocabulary or its folder; empty if neither.
static StringRef caseOf(StringRef path) {
  for (int part = 0; part < 2; ++part) {
    auto [folder, name] = path.rsplit('/');
    if (!path.contains('/'))
      name = path, folder = "";
    if (name.contains_insensitive("uncased"))
      return "uncased";
    if (name.contains_insensitive("cased"))
      return "cased";
    path = folder;
  }
  return "";
}

static StringRef fileName(StringRef path) { return path.substr(path.rfind('/') + 1); }

static void checkTokenizer(Linter &linter) {
  const MegatronLog &log = linter.log;
  StringRef tokenizer = tokenizerType(log);
  StringRef vocabulary = log.text("vocab_file");
  StringRef written = caseOf(vocabulary);
  if (tokenizer == "BertWordPieceLowerCase" && written == "cased")
    linter.report("cased-vocabulary", {"tokenizer_type", "vocab_file"},
                  "the tokenizer lowers the case of a text, and the vocabulary is cased");
  if (tokenizer == "BertWordPieceCase" && written == "uncased")
    linter.report("uncased-vocabulary", {"tokenizer_type", "vocab_file"},
                  "the tokenizer keeps the case of a text, and the vocabulary is uncased");

  std::optional<RunFamily> family = scriptFamily(log.script);
  std::optional<RunFamily> ofTokenizer = tokenizerFamily(tokenizer);
  if (family && ofTokenizer && *family != *ofTokenizer)
    linter.report("tokenizer-family", {"tokenizer_type"}, log.commandLine, "script", log.script,
                  "the tokenizer " + shorten(tokenizer) + " is not one of " + nameOf(*family) +
                      ", which the script trains");
  std::optional<RunFamily> ofVocabulary = scriptFamily(fileName(vocabulary));
  if (ofTokenizer && ofVocabulary && *ofTokenizer != *ofVocabulary)
    linter.report("tokenizer-vocabulary", {"tokenizer_type", "vocab_file"},
                  "the tokenizer " + shorten(tokenizer) + " cannot read a vocabulary of " +
                      nameOf(*ofVocabulary));
  if (tokenizer == "GPT2BPETokenizer" && !log.find("merge_file"))
    linter.report("merge-file", {"tokenizer_type", "merge_file"},
                  "the tokenizer GPT2BPETokenizer needs a merge file, and none is given",
                  /*withNone=*/true);
}

/// Compares a length of the training with that of the decay of the learning rate.
static void checkDecay(Linter &linter, StringRef train, StringRef decay) {
  std::optional<int64_t> trained = linter.log.integer(train);
  std::optional<int64_t> decayed = linter.log.integer(decay);
  if (!trained || !decayed || *trained == *decayed ||
      linter.log.text("lr_decay_style") == "constant")
    return;
  linter.report("decay-length", {decay, train},
                "the learning rate decays over " + Twine(*decayed) + " and the training takes " +
                    Twine(*trained) + (train == "train_iters" ? " iterations" : " samples"));
}

static void checkLearningRate(Linter &linter) {
  const MegatronLog &log = linter.log;
  checkDecay(linter, "train_iters", "lr_decay_iters");
  checkDecay(linter, "train_samples", "lr_decay_samples");

  if (log.find("lr_warmup_fraction"))
    for (StringRef name : {"lr_warmup_iters", "lr_warmup_samples"})
      if (log.integer(name).value_or(0) > 0)
        linter.report("warmup-twice", {"lr_warmup_fraction", name},
                      "the warm-up is given both as a fraction and by " + name);

  std::optional<double> minimum = log.number("min_lr"), peak = log.number("lr");
  if (minimum && peak && *minimum > *peak)
    linter.report("min-lr", {"lr", "min_lr"},
                  "the minimum learning rate, " + linter.shown("min_lr") +
                      ", is above the learning rate, " + linter.shown("lr"));

  struct Length {
    StringRef warmup, decay, train;
  } lengths[] = {{"lr_warmup_iters", "lr_decay_iters", "train_iters"},
                 {"lr_warmup_samples", "lr_decay_samples", "train_samples"}};
  for (const Length &length : lengths) {
    StringRef end = log.find(length.decay) ? length.decay : length.train;
    int64_t warmup = log.integer(length.warmup).value_or(0);
    std::optional<int64_t> total = log.integer(end);
    if (warmup > 0 && total && *total > 0 && warmup >= *total)
      linter.report("warmup-length", {length.warmup, end},
                    "a warm-up of " + Twine(warmup) + " does not end before the " + Twine(*total) +
                        " of " + end);
  }
}

static void checkTrainingLength(Linter &linter) {
  const MegatronLog &log = linter.log;
  std::optional<int64_t> iterations = log.integer("train_iters");
  std::optional<int64_t> samples = log.integer("train_samples");
  int64_t batch = linter.layout.globalBatch;
  if (iterations && samples && *iterations > 0 && *samples > 0) {
    // Megatron itself computes the iterations of sample-based training.
    bool isSame =
        batch > 0 && (*samples / batch == *iterations || (*samples - 1) / batch + 1 == *iterations);
    if (!isSame && !log.find("rampup_batch_size"))
      linter.report("training-length", {"train_iters", "train_samples", "global_batch_size"},
                    "the training ends both after " + Twine(*iterations) +
                        " iterations and after " + Twine(*samples) + " samples");
    return;
  }
  struct Mix {
    StringRef length, other;
  } mixes[] = {{"train_iters", "lr_decay_samples"},
               {"train_iters", "lr_warmup_samples"},
               {"train_samples", "lr_decay_iters"},
               {"train_samples", "lr_warmup_iters"}};
  for (const Mix &mix : mixes)
    if (log.integer(mix.length).value_or(0) > 0 && log.integer(mix.other).value_or(0) > 0)
      linter.report("mixed-length", {mix.length, mix.other},
                    "the training is counted by " + mix.length + " and its learning rate by " +
                        mix.other);
}

static void checkSequence(Linter &linter) {
  const MegatronLog &log = linter.log;
  std::optional<int64_t> sequence = log.integer("seq_length");
  std::optional<int64_t> encoder = log.integer("encoder_seq_length");
  std::optional<int64_t> positions = log.integer("max_position_embeddings");
  if (sequence && positions && *sequence > *positions)
    linter
        .report("sequence-positions", {"seq_length", "max_position_embeddings"},
                "sequences of " + Twine(*sequence) + " tokens have more than the " +
                    Twine(*positions) + " positions of the model")
        .preventsPlan = true;
  if (sequence && encoder && *sequence != *encoder)
    linter.report("encoder-sequence", {"seq_length", "encoder_seq_length"},
                  "seq_length is " + Twine(*sequence) + " and encoder_seq_length is " +
                      Twine(*encoder) + ", but both mean the same");
}

static void checkPrecision(Linter &linter) {
  const MegatronLog &log = linter.log;
  bool isF16 = log.flag("fp16"), isBF16 = log.flag("bf16");
  if (isF16 && isBF16) {
    linter.report("two-precisions", {"fp16", "bf16"}, "both fp16 and bf16 are set").preventsPlan =
        true;
    return;
  }
  if (log.flag("fp16_lm_cross_entropy") && !isF16)
    linter.report("loss-precision", {"fp16_lm_cross_entropy", "fp16"},
                  "fp16_lm_cross_entropy is set without fp16");
  StringRef type = log.text("params_dtype");
  if (type.empty() || (!log.find("fp16") && !log.find("bf16")))
    return;
  bool agrees = isF16    ? type == "torch.float16" || type == "torch.half"
                : isBF16 ? type == "torch.bfloat16"
                         : type == "torch.float32" || type == "torch.float";
  if (!agrees)
    linter.report("params-dtype", {"fp16", "bf16", "params_dtype"},
                  "parameters are " + type +
                      (isF16    ? " although fp16 is set"
                       : isBF16 ? " although bf16 is set"
                                : " although neither fp16 nor bf16 is set"));
}

static void checkGradients(Linter &linter) {
  if (linter.log.text("DDP_impl") == "torch" &&
      linter.log.flag("accumulate_allreduce_grads_in_fp32"))
    linter.report("gradient-type", {"DDP_impl", "accumulate_allreduce_grads_in_fp32"},
                  "only DDP_impl local reduces gradients in fp32, but DDP_impl is torch");
  if (!linter.log.flag("grad_reduce_in_bf16"))
    return;
  if (linter.log.flag("accumulate_allreduce_grads_in_fp32"))
    linter.report("gradient-type", {"grad_reduce_in_bf16", "accumulate_allreduce_grads_in_fp32"},
                  "gradients are reduced both in bf16 and in fp32");
  else if (!linter.log.flag("bf16"))
    linter.report("gradient-type", {"grad_reduce_in_bf16", "bf16"},
                  "grad_reduce_in_bf16 is set without bf16");
}

/// The shares of the data must add up to a power of ten.
static void checkSplit(Linter &linter) {
  StringRef split = linter.log.text("split");
  if (split.empty())
    return;
  double sum = 0.0;
  for (StringRef part : llvm::split(split, split.contains(',') ? "," : "/")) {
    double share = 0.0;
    if (part.trim().getAsDouble(share))
      return;
    sum += share;
  }
  double power = std::round(std::log10(std::max(sum, 1e-6)));
  if (sum <= 0.0 || std::fabs(sum / std::pow(10.0, power) - 1.0) > 1e-6)
    linter.report("split-sum", {"split"},
                  "the shares of training, validation and test data, " + shorten(split) +
                      ", add up to " + printNumber(sum));
}

static void checkFinetuning(Linter &linter) {
  const MegatronLog &log = linter.log;
  if (!log.flag("finetune"))
    return;
  // A dump lists all arguments, a command line only the given ones.
  if (!log.find("load") && !log.find("pretrained_checkpoint"))
    linter.report("finetune-load", {"finetune", "load"},
                  "finetune is set, and there is no checkpoint to load", /*withNone=*/true);
  else if (!log.text("load").empty() && log.text("load") == log.text("save"))
    linter.report("finetune-load", {"finetune", "load", "save"},
                  "finetune starts again from the checkpoint in load, and save overwrites it");
}

/// Returns true if Megatron changes the argument between the command line and the dump.
static bool isRewritten(StringRef name) {
  return llvm::is_contained({"local_rank", "rank", "sequence_parallel", "num_workers",
                             "async_tensor_model_parallel_allreduce", "no_persist_layer_norm",
                             "gradient_accumulation_fusion", "dataloader_type",
                             "accumulate_allreduce_grads_in_fp32",
                             "use_contiguous_buffers_in_local_ddp"},
                            name);
}

static bool isSameValue(const GivenArgument &a, const GivenArgument &b) {
  if (a.isNone || b.isNone)
    return a.isNone == b.isNone;
  switch (a.argument->kind) {
  case ArgumentKind::Text:
  case ArgumentKind::Texts: {
    auto isSpace = [](char c) { return llvm::isSpace(c); };
    std::string first = a.text, second = b.text;
    llvm::erase_if(first, isSpace);
    llvm::erase_if(second, isSpace);
    return first == second;
  }
  case ArgumentKind::Any:
    return true;
  default:
    return a.number == b.number;
  }
}

static void checkCommandLine(Linter &linter) {
  const MegatronLog &log = linter.log;
  if (log.fromDump.empty())
    return;
  for (const auto &[name, given] : log.fromCommand) {
    const auto *dumped = log.fromDump.find(name);
    bool isUnknown = given.text.find('$') != std::string::npos;
    if (dumped == log.fromDump.end() || isUnknown || isRewritten(name) ||
        isSameValue(given, dumped->second))
      continue;
    linter.report("command-line-disagrees", {name}, given.line, "command line " + name.str(),
                  given.text,
                  "the command line gives " + name + " as " + inQuotes(given.text) +
                      ", the argument dump as " + inQuotes(dumped->second.text));
  }
  std::optional<int64_t> world = log.integer("world_size");
  if (log.processes && world && *log.processes != *world)
    linter.report("command-line-disagrees", {"world_size"}, log.commandLine, "started processes",
                  Twine(*log.processes),
                  "the command line starts " + Twine(*log.processes) +
                      " processes, the argument dump has a world size of " + Twine(*world));
}

constexpr StringRef maskIds[] = {"attention-mask"},
                    tokenizerIds[] = {"cased-vocabulary", "uncased-vocabulary", "tokenizer-family",
                                      "tokenizer-vocabulary", "merge-file"},
                    rateIds[] = {"decay-length", "warmup-twice", "min-lr", "warmup-length"},
                    lengthIds[] = {"training-length", "mixed-length"},
                    sequenceIds[] = {"sequence-positions", "encoder-sequence"},
                    precisionIds[] = {"two-precisions", "loss-precision", "params-dtype"},
                    gradientIds[] = {"gradient-type"}, splitIds[] = {"split-sum"},
                    finetuneIds[] = {"finetune-load"}, commandIds[] = {"command-line-disagrees"};

ArrayRef<LintCheck> mlir::st::settingChecks() {
  static const LintCheck checks[] = {
      {maskIds, checkAttentionMask},  {tokenizerIds, checkTokenizer},
      {rateIds, checkLearningRate},   {lengthIds, checkTrainingLength},
      {sequenceIds, checkSequence},   {precisionIds, checkPrecision},
      {gradientIds, checkGradients},  {splitIds, checkSplit},
      {finetuneIds, checkFinetuning}, {commandIds, checkCommandLine}};
  return checks;
}
