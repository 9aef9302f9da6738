//===- LintLayout.cpp - Contradictions in how a run is split --------------===//

#include "lib/Frontend/Megatron/LintChecks.h"

using namespace mlir;
using namespace mlir::st;

static std::string sizes(StringRef a, int64_t first, StringRef b, int64_t second) {
  return (Twine(first) + " " + a + " x " + Twine(second) + " " + b).str();
}

static void checkWorldSize(Linter &linter) {
  const LintLayout &layout = linter.layout;
  std::optional<int64_t> world = linter.log.integer("world_size");
  std::optional<int64_t> replicas = linter.log.integer("data_parallel_size");
  if (!world && linter.log.processes)
    world = linter.log.processes;
  if (!world)
    return;
  int64_t perReplica =
      saturatingProduct({layout.tensorParallel, layout.pipelineParallel, layout.contextParallel});
  bool divides = *world % perReplica == 0;
  if (replicas ? saturatingProduct({perReplica, *replicas}) == *world : divides)
    return;
  SmallVector<StringRef> names = {"world_size", "tensor_model_parallel_size",
                                  "pipeline_model_parallel_size", "data_parallel_size"};
  if (layout.contextParallel != 1)
    names.append({"context_parallel_size", "ds_sequence_parallel_size"});
  std::string split =
      sizes("tensor-parallel", layout.tensorParallel, "pipeline stages", layout.pipelineParallel);
  if (layout.contextParallel != 1)
    split += " x " + std::to_string(layout.contextParallel) + " parts of the sequence";
  std::string sentence =
      replicas ? (Twine(*world) + " processes are not " + split + " x " + Twine(*replicas) +
                  " replicas = " + Twine(saturatingProduct({perReplica, *replicas})))
                     .str()
               : (Twine(*world) + " processes are not a multiple of " + split).str();
  linter.report("world-size-product", names, sentence).preventsPlan = true;
}

static void checkGlobalBatch(Linter &linter) {
  const LintLayout &layout = linter.layout;
  if (layout.globalBatch == 0 || layout.microBatch == 0)
    return;
  int64_t replicas = std::max<int64_t>(layout.dataParallel, 1);
  int64_t samples = saturatingProduct({replicas, layout.microBatch});
  if (layout.globalBatch % samples == 0)
    return;
  linter
      .report("global-batch-not-whole",
              {"global_batch_size", "micro_batch_size", "data_parallel_size"},
              "the global batch of " + Twine(layout.globalBatch) +
                  " samples is not an integer number of micro-batches of " +
                  Twine(layout.microBatch) + " on each of " + Twine(replicas) + " replicas")
      .preventsPlan = true;
}

/// With interleaving the number of micro-batches must be a multiple of the number of stages.
static void checkInterleavedBatches(Linter &linter) {
  const LintLayout &layout = linter.layout;
  int64_t samples =
      saturatingProduct({std::max<int64_t>(layout.dataParallel, 1), layout.microBatch});
  if (layout.virtualStages <= 1 || layout.globalBatch == 0 || samples == 0 ||
      layout.globalBatch % samples != 0 || linter.log.find("microbatch_group_size_per_vp_stage"))
    return;
  int64_t batches = layout.globalBatch / samples;
  if (batches % layout.pipelineParallel != 0)
    linter.report("interleaved-micro-batches",
                  {"global_batch_size", "micro_batch_size", "data_parallel_size",
                   "pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size",
                   "num_layers_per_virtual_pipeline_stage"},
                  "an interleaved schedule needs a multiple of the " +
                      Twine(layout.pipelineParallel) + " pipeline stages as micro-batches, not " +
                      Twine(batches));
}

static void checkLayers(Linter &linter) {
  const LintLayout &layout = linter.layout;
  if (layout.layers == 0 || layout.isUneven)
    return;
  std::optional<int64_t> perPart = linter.log.integer("num_layers_per_virtual_pipeline_stage");
  std::optional<int64_t> parts = linter.log.integer("virtual_pipeline_model_parallel_size");
  int64_t stages = saturatingProduct({layout.pipelineParallel, layout.virtualStages});
  bool divides = layout.layers % stages == 0;
  // With one stage newer versions leave the size of a part unused.
  if (perPart && layout.pipelineParallel > 1) {
    int64_t perStage = layout.layers / layout.pipelineParallel;
    divides &= perStage % *perPart == 0 && (!parts || perStage / *perPart == *parts);
  }
  if (divides)
    return;
  std::string split = (Twine(layout.pipelineParallel) + " pipeline stages").str();
  if (perPart)
    split += " in parts of " + std::to_string(*perPart);
  if (layout.virtualStages > 1)
    split += " x " + std::to_string(layout.virtualStages) + " parts";
  linter
      .report("layers-per-stage",
              {"num_layers", "pipeline_model_parallel_size",
               "num_layers_per_virtual_pipeline_stage", "virtual_pipeline_model_parallel_size"},
              Twine(layout.layers) + " layers do not divide into " + split)
      .preventsPlan = true;
}

static void checkHeads(Linter &linter) {
  int64_t heads = linter.log.integer("num_attention_heads").value_or(0);
  int64_t hidden = linter.log.integer("hidden_size").value_or(0);
  if (heads == 0 || hidden == 0)
    return;
  int64_t shards = linter.layout.tensorParallel;
  if (heads % shards != 0)
    linter
        .report("heads-per-shard", {"num_attention_heads", "tensor_model_parallel_size"},
                Twine(heads) + " attention heads do not divide over " + Twine(shards) +
                    " tensor-parallel devices")
        .preventsPlan = true;
  std::optional<int64_t> headSize = linter.log.integer("kv_channels");
  // Models with rotary positions choose the size of their heads.
  const bool isChosen = linter.log.text("position_embedding_type") == "rope";
  if (headSize && !isChosen && saturatingProduct({*headSize, heads}) != hidden)
    linter.report("head-size", {"hidden_size", "num_attention_heads", "kv_channels"},
                  Twine(heads) + " heads of " + Twine(*headSize) + " are not the hidden size of " +
                      Twine(hidden));
  else if (!headSize && hidden % heads != 0)
    linter
        .report("head-size", {"hidden_size", "num_attention_heads"},
                "the hidden size of " + Twine(hidden) + " does not divide into " + Twine(heads) +
                    " heads")
        .preventsPlan = true;
}

static void checkRank(Linter &linter) {
  int64_t world = linter.layout.worldSize;
  for (StringRef name : {"rank", "local_rank"}) {
    std::optional<int64_t> rank = linter.log.integer(name);
    if (rank && world > 0 && *rank >= world)
      linter.report("rank-outside-world", {name, "world_size"},
                    Twine(name) + " " + Twine(*rank) + " is not one of " + Twine(world) +
                        " processes");
  }
}

/// The line that Megatron prints before its arguments.
static void checkLayoutLine(Linter &linter) {
  const std::optional<LoggedLayout> &logged = linter.log.measured.layout;
  if (!logged)
    return;
  struct Size {
    StringRef name, text;
    std::optional<int64_t> value;
  } all[] = {{"world_size", "a world size", logged->worldSize},
             {"data_parallel_size", "a data-parallel size", logged->dataParallel},
             {"tensor_model_parallel_size", "a tensor-parallel size", logged->tensorParallel},
             {"pipeline_model_parallel_size", "a pipeline size", logged->pipelineParallel}};
  // Only a command line may request more stages than the number of started processes allows.
  for (const Size &size : all) {
    const GivenArgument *given = linter.log.find(size.name);
    if (given && size.value && given->integer != *size.value)
      linter.report("layout-line", {size.name}, logged->line, "printed " + size.name.str(),
                    Twine(*size.value),
                    "the run prints " + size.text + " of " + Twine(*size.value) +
                        ", its arguments specify " + Twine(given->integer));
  }
  // In a dump, the check of the product covers the same contradiction.
  if (linter.log.find("world_size") || !logged->worldSize || !logged->dataParallel)
    return;
  int64_t product =
      saturatingProduct({logged->dataParallel.value(), logged->tensorParallel.value_or(1),
                         logged->pipelineParallel.value_or(1), linter.layout.contextParallel});
  if (product != *logged->worldSize)
    linter
        .report("world-size-product", {}, logged->line, "printed world_size",
                Twine(*logged->worldSize),
                Twine(*logged->worldSize) +
                    " processes are not the product of the sizes that "
                    "are printed with them, " +
                    Twine(product))
        .preventsPlan = true;
}

static void checkMicroBatchLine(Linter &linter) {
  const std::optional<LoggedMicroBatches> &logged = linter.log.measured.microBatches;
  const LintLayout &layout = linter.layout;
  int64_t samples = saturatingProduct({layout.dataParallel, layout.microBatch});
  if (!logged || samples == 0 || layout.globalBatch % samples != 0 || layout.globalBatch == 0 ||
      logged->count == layout.globalBatch / samples)
    return;
  linter.report("micro-batch-count",
                {"global_batch_size", "micro_batch_size", "data_parallel_size"}, logged->line,
                "printed micro-batches", Twine(logged->count),
                "the run prints " + Twine(logged->count) +
                    " micro-batches, its batch sizes imply " + Twine(layout.globalBatch / samples));
}

static void checkVocabularyLine(Linter &linter) {
  const std::optional<LoggedVocabulary> &logged = linter.log.measured.vocabulary;
  int64_t multiple = linter.log.integer("make_vocab_size_divisible_by").value_or(0);
  if (!logged || multiple == 0)
    return;
  int64_t padded = padVocabulary(logged->size, multiple, linter.layout.tensorParallel);
  if (padded != logged->padded)
    linter.report("padded-vocabulary",
                  {"make_vocab_size_divisible_by", "tensor_model_parallel_size"}, logged->line,
                  "printed padded vocabulary", Twine(logged->padded),
                  "a vocabulary of " + Twine(logged->size) + " is padded to " + Twine(padded) +
                      ", not to " + Twine(logged->padded));
}

/// Layers of a virtual stage; 0 if unknown.
static int64_t layersPerPart(const LintLayout &layout) {
  int64_t parts = saturatingProduct({layout.pipelineParallel, layout.virtualStages});
  return layout.isUneven || layout.layers % parts != 0 ? 0 : layout.layers / parts;
}

static void checkRecomputation(Linter &linter) {
  const MegatronLog &log = linter.log;
  for (StringRef name : {"distribute_checkpointed_activations", "distribute_saved_activations",
                         "partition_activations"})
    if (log.flag(name) && linter.layout.tensorParallel == 1)
      linter.report(
          "checkpoint-shards", {name, "tensor_model_parallel_size"},
          Twine(name) +
              " splits saved activations over tensor-parallel devices, but there is only one");
  const GivenArgument *isOn = log.find("checkpoint_activations");
  if (isOn && !isOn->flag() && log.flag("distribute_checkpointed_activations"))
    linter.report("checkpoint-off",
                  {"checkpoint_activations", "distribute_checkpointed_activations"},
                  "distribute_checkpointed_activations is set while checkpoint_activations is not");
  if (log.text("recompute_granularity") == "selective" && log.find("recompute_method"))
    linter.report("recompute-method", {"recompute_granularity", "recompute_method"},
                  "selective recomputation has no method, and recompute_method is " +
                      log.text("recompute_method"));

  struct Names {
    StringRef isOn, layers, method;
  } generations[] = {{"checkpoint_activations", "checkpoint_num_layers", ""},
                     {"activations_checkpoint_method", "activations_checkpoint_num_layers",
                      "activations_checkpoint_method"},
                     {"recompute_granularity", "recompute_num_layers", "recompute_method"}};
  int64_t perPart = layersPerPart(linter.layout);
  for (const Names &names : generations) {
    const GivenArgument *isOn = log.find(names.isOn);
    bool isUsed = isOn && (isOn->argument->kind == ArgumentKind::Flag ? isOn->flag()
                                                                      : isOn->text != "selective");
    std::optional<int64_t> layers = log.integer(names.layers);
    if (!isUsed || !layers || perPart == 0)
      continue;
    // "block" counts the recomputed layers of a stage, which may be at most all of them.
    bool isBlock = !names.method.empty() && log.text(names.method) == "block";
    if (isBlock ? *layers > perPart : perPart % *layers != 0)
      linter.report("checkpoint-layers",
                    {names.isOn, names.layers, "num_layers", "pipeline_model_parallel_size"},
                    Twine(*layers) +
                        (isBlock ? " recomputed layers are more than the "
                                 : " layers a checkpoint do not divide the ") +
                        Twine(perPart) + " layers that a device runs in one go");
  }
}

constexpr StringRef worldIds[] = {"world-size-product"}, batchIds[] = {"global-batch-not-whole"},
                    interleavedIds[] = {"interleaved-micro-batches"},
                    layerIds[] = {"layers-per-stage"}, headIds[] = {"heads-per-shard", "head-size"},
                    rankIds[] = {"rank-outside-world"}, lineIds[] = {"layout-line"},
                    microBatchIds[] = {"micro-batch-count"},
                    vocabularyIds[] = {"padded-vocabulary"},
                    recomputationIds[] = {"checkpoint-shards", "checkpoint-off", "recompute-method",
                                          "checkpoint-layers"};

ArrayRef<LintCheck> mlir::st::layoutChecks() {
  static const LintCheck checks[] = {{worldIds, checkWorldSize},
                                     {batchIds, checkGlobalBatch},
                                     {interleavedIds, checkInterleavedBatches},
                                     {layerIds, checkLayers},
                                     {headIds, checkHeads},
                                     {rankIds, checkRank},
                                     {lineIds, checkLayoutLine},
                                     {microBatchIds, checkMicroBatchLine},
                                     {vocabularyIds, checkVocabularyLine},
                                     {recomputationIds, checkRecomputation}};
  return checks;
}
