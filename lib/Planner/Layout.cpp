#include "lib/Planner/Layout.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <tuple>

namespace st {

const char *recomputeName(Recompute recompute) {
  switch (recompute) {
  case Recompute::None:
    return "none";
  case Recompute::Selective:
    return "selective";
  case Recompute::Full:
    return "full";
  }
  return "";
}

const char *contextAttentionName(ContextAttention attention) {
  switch (attention) {
  case ContextAttention::Unset:
    return "";
  case ContextAttention::Heads:
    return "heads";
  case ContextAttention::Keys:
    return "keys";
  case ContextAttention::Ring:
    return "ring";
  }
  return "";
}

const char *scheduleName(PipelineSchedule schedule) {
  switch (schedule) {
  case PipelineSchedule::GPipe:
    return "gpipe";
  case PipelineSchedule::OneForwardOneBackward:
    return "1f1b";
  case PipelineSchedule::Interleaved:
    return "interleaved";
  case PipelineSchedule::ZeroBubbleH1:
    return "zb-h1";
  case PipelineSchedule::ZeroBubbleH2:
    return "zb-h2";
  }
  return "";
}

std::optional<Recompute> parseRecompute(absl::string_view name) {
  for (Recompute each : {Recompute::None, Recompute::Selective, Recompute::Full})
    if (name == recomputeName(each))
      return each;
  return std::nullopt;
}

std::optional<ContextAttention> parseContextAttention(absl::string_view name) {
  for (ContextAttention each :
       {ContextAttention::Heads, ContextAttention::Keys, ContextAttention::Ring})
    if (name == contextAttentionName(each))
      return each;
  return std::nullopt;
}

std::optional<PipelineSchedule> parseSchedule(absl::string_view name) {
  for (PipelineSchedule each : {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward,
                                PipelineSchedule::Interleaved, PipelineSchedule::ZeroBubbleH1,
                                PipelineSchedule::ZeroBubbleH2})
    if (name == scheduleName(each))
      return each;
  return std::nullopt;
}

bool splitsBackward(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::ZeroBubbleH1 || schedule == PipelineSchedule::ZeroBubbleH2;
}

const char *rankOrderName(RankOrder order) {
  switch (order) {
  case RankOrder::OfCluster:
    return "cluster";
  case RankOrder::TensorDataPipeline:
    return "tensor-data-pipeline";
  case RankOrder::TensorPipelineData:
    return "tensor-pipeline-data";
  case RankOrder::DataTensorPipeline:
    return "data-tensor-pipeline";
  case RankOrder::DataPipelineTensor:
    return "data-pipeline-tensor";
  case RankOrder::PipelineTensorData:
    return "pipeline-tensor-data";
  case RankOrder::PipelineDataTensor:
    return "pipeline-data-tensor";
  }
  return "";
}

std::optional<RankOrder> parseRankOrder(absl::string_view name) {
  for (auto order = RankOrder::OfCluster; order <= RankOrder::PipelineDataTensor;
       order = static_cast<RankOrder>(static_cast<int>(order) + 1))
    if (name == rankOrderName(order))
      return order;
  return std::nullopt;
}

bool isOptimizer(absl::string_view name) {
  const absl::string_view base = absl::StripSuffix(name, kEightBits);
  return base == "adam" || base == "adamw" || base == "lamb" || base == "sgd" ||
         name == "adafactor";
}

bool Layout::operator==(const Layout &other) const {
  auto key = [](const Layout &layout) {
    return std::tuple(layout.tensor, layout.stages, layout.replicas, layout.context,
                      layout.contextAttention, layout.expert, layout.virtualStages,
                      layout.microBatch, layout.microBatches, layout.zero, layout.recompute,
                      layout.schedule, layout.sequenceParallel, layout.offloadOptimizer,
                      layout.placement);
  };
  return key(*this) == key(other);
}

std::string printLayout(const Layout &layout) {
  std::string text = absl::StrCat(
      "tp=", layout.tensor, " pp=", layout.stages, " dp=", layout.replicas,
      layout.context > 1 ? absl::StrCat(" context=", layout.context) : "",
      layout.contextAttention == ContextAttention::Unset
          ? ""
          : absl::StrCat(" context-attention=", contextAttentionName(layout.contextAttention)),
      layout.expert > 1 ? absl::StrCat(" expert=", layout.expert) : "", " mb=", layout.microBatch,
      " accum=", layout.microBatches, " recompute=", recomputeName(layout.recompute));
  if (layout.virtualStages > 1)
    absl::StrAppend(&text, " vpp=", layout.virtualStages);
  if (layout.stages > 1)
    absl::StrAppend(&text, " schedule=", scheduleName(layout.schedule));
  if (layout.zero > 0)
    absl::StrAppend(&text, " zero=", layout.zero);
  if (layout.sequenceParallel)
    absl::StrAppend(&text, " sp");
  if (layout.offloadOptimizer)
    absl::StrAppend(&text, " offload");
  if (layout.placement != RankOrder::OfCluster)
    absl::StrAppend(&text, " placement=", rankOrderName(layout.placement));
  return text;
}

} // namespace st
