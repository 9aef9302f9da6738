//===- LintModel.cpp - Contradictions in the parts of a model -------------===//
//
// Shared heads, rotary positions, experts, parts of sequences, and the stable learning rate.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Megatron/LintChecks.h"

using namespace mlir;
using namespace mlir::st;

static void checkGroups(Linter &linter) {
  const MegatronLog &log = linter.log;
  std::optional<int64_t> groups = log.integer("num_query_groups");
  if (!groups || *groups == 0)
    return;
  if (!log.flag("group_query_attention")) {
    // Newer versions print 1 for every model.
    if (*groups > 1)
      linter.report("query-groups", {"num_query_groups", "group_query_attention"},
                    "there are " + Twine(*groups) +
                        " groups of queries, but group_query_attention is not set");
    return;
  }
  const int64_t shards = linter.layout.tensorParallel;
  if (*groups % shards != 0 && shards % *groups != 0)
    linter.report("query-groups", {"num_query_groups", "tensor_model_parallel_size"},
                  Twine(*groups) + " groups of queries and " + Twine(shards) +
                      " tensor-parallel devices do not divide each other");
}

static bool isRotary(const MegatronLog &log) {
  StringRef kind = log.text("position_embedding_type");
  return kind.contains("rope") || kind.contains("rotary") ||
         log.flag("use_rotary_position_embeddings");
}

/// A dump has these arguments with any positions.
static void checkRotary(Linter &linter) {
  if (!linter.log.fromDump.empty() || isRotary(linter.log))
    return;
  for (StringRef name : {"rotary_base", "rotary_percent", "rotary_seq_len_interpolation_factor",
                         "rope_scaling_factor"})
    if (linter.log.find(name))
      linter.report("rotary-positions", {name, "position_embedding_type"},
                    name + " is given, but the model has no rotary positions");
}

static void checkExperts(Linter &linter) {
  const MegatronLog &log = linter.log;
  const int64_t experts = log.integer("num_experts").value_or(0);
  const int64_t parts = log.integer("expert_model_parallel_size").value_or(1);
  if (parts > 1 && experts % parts != 0)
    linter
        .report("experts-per-device", {"num_experts", "expert_model_parallel_size"},
                Twine(experts) + " experts do not divide over " + Twine(parts) +
                    " expert-parallel devices")
        .preventsPlan = true;
  if (experts <= 1)
    return;
  const int64_t choices = log.integer("moe_router_topk").value_or(2);
  if (choices > experts)
    linter
        .report("expert-choices", {"num_experts", "moe_router_topk"},
                "a token chooses " + Twine(choices) + " of " + Twine(experts) + " experts")
        .preventsPlan = true;
  if (linter.layout.tensorParallel > 1 && !log.flag("sequence_parallel"))
    linter.report("expert-sequence",
                  {"num_experts", "tensor_model_parallel_size", "sequence_parallel"},
                  "experts with tensor-parallel devices need sequence_parallel, which is not set");
}

/// Each device has a part from both halves of a sequence, so that all have the same work.
static void checkContext(Linter &linter) {
  std::optional<int64_t> sequence = linter.log.integer("seq_length");
  const int64_t parts = linter.log.integer("context_parallel_size").value_or(1);
  if (sequence && parts > 1 && *sequence % saturatingProduct({2, parts}) != 0)
    linter.report("context-parts", {"seq_length", "context_parallel_size"},
                  "sequences of " + Twine(*sequence) + " tokens do not divide into twice " +
                      Twine(parts) + " parts");
}

static void checkStableRate(Linter &linter) {
  const MegatronLog &log = linter.log;
  if (log.text("lr_decay_style") != "WSD")
    return;
  struct Length {
    StringRef end, warmup, decay, train;
  } lengths[] = {
      {"lr_wsd_decay_iters", "lr_warmup_iters", "lr_decay_iters", "train_iters"},
      {"lr_wsd_decay_samples", "lr_warmup_samples", "lr_decay_samples", "train_samples"}};
  bool isGiven = false;
  for (const Length &length : lengths) {
    std::optional<int64_t> end = log.integer(length.end);
    isGiven |= end.value_or(0) > 0;
    StringRef total = log.find(length.decay) ? length.decay : length.train;
    std::optional<int64_t> steps = log.integer(total);
    const int64_t warmup = log.integer(length.warmup).value_or(0);
    if (end && steps && *end > *steps - warmup)
      linter.report("stable-decay", {length.end, length.warmup, total},
                    "the final decay is " + Twine(*end) + " long, longer than the " +
                        Twine(std::max<int64_t>(*steps - warmup, 0)) + " after the warm-up");
  }
  if (!isGiven)
    linter.report("stable-decay", {"lr_decay_style", "lr_wsd_decay_iters", "lr_wsd_decay_samples"},
                  "lr_decay_style is WSD, but the length of its decay is not given");
}

constexpr StringRef groupIds[] = {"query-groups"}, rotaryIds[] = {"rotary-positions"},
                    expertIds[] = {"experts-per-device", "expert-choices", "expert-sequence"},
                    contextIds[] = {"context-parts"}, stableIds[] = {"stable-decay"};

ArrayRef<LintCheck> mlir::st::modelChecks() {
  static const LintCheck checks[] = {{groupIds, checkGroups},
                                     {rotaryIds, checkRotary},
                                     {expertIds, checkExperts},
                                     {contextIds, checkContext},
                                     {stableIds, checkStableRate}};
  return checks;
}
