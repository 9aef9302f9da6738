#include "lib/Driver/PlannedModels.h"

#include "passes/Pipeline/SchedulePattern.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::st;

static ScheduleKind kindOf(::st::PipelineSchedule schedule) {
  switch (schedule) {
  case ::st::PipelineSchedule::GPipe:
    return ScheduleKind::GPipe;
  case ::st::PipelineSchedule::OneForwardOneBackward:
    return ScheduleKind::OneForwardOneBackward;
  case ::st::PipelineSchedule::Interleaved:
    return ScheduleKind::Interleaved;
  case ::st::PipelineSchedule::ZeroBubbleH1:
    return ScheduleKind::ZeroBubbleH1;
  }
  llvm_unreachable("unknown schedule");
}

::st::PipelineOrder mlir::st::makePipelineOrder() {
  return [](const ::st::Layout &layout, int64_t group) {
    std::vector<::st::PipelineUnit> units;
    const ScheduleShape shape{group, layout.stages, layout.virtualStages, layout.microBatches};
    const bool splits = splitsBackward(kindOf(layout.schedule));
    for (const ScheduledUnit &unit : makeScheduleOrder(kindOf(layout.schedule), shape)) {
      if (unit.kind == ScheduledUnit::Weight && !splits)
        continue;
      units.push_back({static_cast<::st::PipelineUnit::Kind>(unit.kind), unit.chunk, unit.microBatch});
    }
    return units;
  };
}

/// The model of a row as Megatron-LM trains it.
static std::string describe(const ::st::MeasuredRow &row) {
  const ::st::PlannedModel &model = row.model;
  const int64_t ffn = row.ffnHidden > 0 ? row.ffnHidden : 4 * model.hidden;
  if (row.family == "bert")
    return llvm::formatv(
        R"({{"model_type": "bert", "hidden_act": "gelu_new", "hidden_size": {0}, "num_hidden_layers": {1}, )"
        R"("num_attention_heads": {2}, "intermediate_size": {3}, "max_position_embeddings": {4}, "vocab_size": {5})"
        "}",
        model.hidden, model.layers, model.heads, ffn, model.sequence, model.vocabulary);
  return llvm::formatv(
      R"({{"model_type": "gpt2", "activation_function": "gelu_new", "n_embd": {0}, "n_layer": {1}, )"
      R"("n_head": {2}, "n_inner": {3}, "n_positions": {4}, "vocab_size": {5})"
      "}",
      model.hidden, model.layers, model.heads, ffn, model.sequence, model.vocabulary);
}

absl::StatusOr<::st::BlockSource *> PlannedModels::find(const ::st::MeasuredRow &row) {
  const std::string json = describe(row);
  const std::string key = json + " " + row.model.precision;
  if (auto found = compilers.find(key); found != compilers.end())
    return found->second.get();
  MLIRContext context;
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  FailureOr<ModelConfig> config = parseModelConfig(json, "row", &context);
  if (failed(config))
    return absl::InvalidArgumentError(error);
  // Megatron-LM pads the vocabulary to a multiple of 128 times the tensor shards.
  constexpr int64_t kVocabularyMultiple = 128;
  const Task task = row.family == "bert" ? Task::MaskedLm : Task::CausalLm;
  auto &compiler = compilers[key];
  compiler = std::make_unique<BlockCompiler>(std::move(*config), task, row.model.sequence,
                                             row.model.precision, target, kVocabularyMultiple);
  return compiler.get();
}
