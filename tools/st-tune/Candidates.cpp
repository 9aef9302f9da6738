#include "tools/st-tune/Candidates.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <google/protobuf/util/json_util.h>

using namespace mlir::st;

absl::StatusOr<::st::proto::PlanReport> mlir::st::parsePlanReport(const std::string &text,
                                                                  const std::string &name) {
  auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected the output of st-plan --json, found ", what));
  };
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  ::st::proto::PlanReport report;
  if (auto status = google::protobuf::util::JsonStringToMessage(text, &report, options);
      !status.ok())
    return refuse(std::string(status.message()));
  if (report.candidates().empty())
    return refuse("no candidates, since the run is fully described: give --devices and "
                  "--batch");
  if (report.precision().empty() || report.sequence() < 1)
    return refuse("no precision or sequence");
  return report;
}

static absl::StatusOr<::st::Layout> readLayout(const ::st::proto::PlanLayout &plan) {
  ::st::Layout layout;
  layout.tensor = plan.tp();
  layout.stages = plan.pp();
  layout.replicas = plan.dp();
  // Reports from before these degrees existed lack them.
  layout.context = std::max(plan.context(), 1);
  layout.expert = std::max(plan.expert(), 1);
  layout.virtualStages = plan.virtual_stages();
  layout.microBatch = plan.micro_batch();
  layout.microBatches = plan.accumulation();
  layout.zero = plan.zero();
  layout.sequenceParallel = plan.sequence_parallel();
  layout.offloadOptimizer = plan.offload_optimizer();
  for (int64_t degree : {layout.tensor, layout.stages, layout.replicas, layout.virtualStages,
                         layout.microBatch, layout.microBatches})
    if (degree < 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "expected tp, pp, dp, virtual_stages, micro_batch and accumulation of at least 1 in "
          "candidate \"",
          plan.text(), "\", found ", degree));
  std::optional<::st::Recompute> recompute = ::st::parseRecompute(plan.recompute());
  if (!recompute)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected recompute none, selective or full, found \"", plan.recompute(), "\""));
  std::optional<::st::PipelineSchedule> schedule = ::st::parseSchedule(plan.schedule());
  if (!schedule)
    return absl::InvalidArgumentError(absl::StrCat("expected schedule ", ::st::kScheduleNames,
                                                   ", found \"", plan.schedule(), "\""));
  if (layout.zero < 0 || layout.zero > 3)
    return absl::InvalidArgumentError(absl::StrCat("expected zero 0 to 3, found ", layout.zero));
  layout.recompute = *recompute;
  layout.schedule = *schedule;
  std::optional<::st::ContextAttention> attention =
      ::st::parseContextAttention(plan.context_attention());
  if (!plan.context_attention().empty() && !attention)
    return absl::InvalidArgumentError(absl::StrCat("expected context_attention ",
                                                   ::st::kContextAttentionNames, ", found \"",
                                                   plan.context_attention(), "\""));
  layout.contextAttention = attention.value_or(::st::ContextAttention::Unset);
  std::optional<::st::RankOrder> placement = ::st::parseRankOrder(plan.placement());
  if (!plan.placement().empty() && !placement)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected placement cluster, or an order such as tensor-data-pipeline, found \"",
        plan.placement(), "\""));
  layout.placement = placement.value_or(::st::RankOrder::OfCluster);
  // The fields must describe the complete planned layout.
  if (!plan.text().empty() && plan.text() != ::st::printLayout(layout))
    return absl::InvalidArgumentError(absl::StrCat("expected layout \"", ::st::printLayout(layout),
                                                   "\" by its fields, found text \"", plan.text(),
                                                   "\""));
  return layout;
}

/// Those that were composed and fit.
static bool isMeasurable(const ::st::proto::PlanCandidate &candidate) {
  const std::string &fate = candidate.fate();
  return candidate.predicted_ms() > 0 &&
         (fate == "best" || fate == "on the front" || fate == "slower");
}

absl::StatusOr<CandidateSet>
mlir::st::chooseCandidates(const std::vector<::st::proto::PlanReport> &reports, size_t top,
                           const std::string &name) {
  CandidateSet set;
  set.model = reports.front().model();
  set.cluster = reports.front().cluster();
  set.precision = reports.front().precision();
  set.sequence = reports.front().sequence();
  for (const ::st::proto::PlanReport &report : reports)
    for (const ::st::proto::PlanCandidate &planned : report.candidates()) {
      if (!isMeasurable(planned))
        continue;
      absl::StatusOr<::st::Layout> layout = readLayout(planned.layout());
      if (!layout.ok())
        return absl::InvalidArgumentError(absl::StrCat(name, ": ", layout.status().message()));
      set.candidates.push_back({*layout, planned.predicted_ms(), planned.bound_ms()});
    }
  if (set.candidates.empty())
    return absl::InvalidArgumentError(absl::StrCat(name, ": no layout fits"));
  set.devices = set.candidates.front().layout.devices();
  for (const TuneCandidate &candidate : set.candidates)
    if (candidate.layout.devices() != set.devices)
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": expected all layouts to have the same number of devices, found ",
                       set.devices, " and ", candidate.layout.devices()));
  llvm::stable_sort(set.candidates, [](const TuneCandidate &a, const TuneCandidate &b) {
    return a.predictedMs / static_cast<double>(a.layout.globalBatch()) <
           b.predictedMs / static_cast<double>(b.layout.globalBatch());
  });
  if (set.candidates.size() > top)
    set.candidates.resize(top);
  return set;
}

::st::Layout mlir::st::plainLayout(int64_t devices, int64_t microBatch) {
  ::st::Layout layout;
  layout.replicas = devices;
  layout.microBatch = microBatch;
  return layout;
}

std::string mlir::st::spaceName(const ::st::Layout &layout) {
  std::string name = absl::StrCat("z", layout.zero);
  if (layout.tensor > 1)
    absl::StrAppend(&name, "_tp", layout.tensor);
  if (layout.stages > 1)
    absl::StrAppend(&name, "_pp", layout.stages);
  if (layout.context > 1)
    absl::StrAppend(&name, "_cp", layout.context);
  if (layout.expert > 1)
    absl::StrAppend(&name, "_ep", layout.expert);
  return name;
}

std::string mlir::st::experimentName(const ::st::Layout &layout) {
  std::string name =
      absl::StrCat(spaceName(layout), "_gas", layout.microBatches, "_tmbspg", layout.microBatch);
  if (layout.virtualStages > 1)
    absl::StrAppend(&name, "_vpp", layout.virtualStages);
  if (layout.stages > 1 && layout.schedule != ::st::PipelineSchedule::OneForwardOneBackward)
    absl::StrAppend(&name, "_", ::st::scheduleName(layout.schedule));
  if (layout.recompute != ::st::Recompute::None)
    absl::StrAppend(&name, "_", ::st::recomputeName(layout.recompute));
  if (layout.sequenceParallel)
    absl::StrAppend(&name, "_sp");
  if (layout.offloadOptimizer)
    absl::StrAppend(&name, "_offload");
  if (layout.contextAttention != ::st::ContextAttention::Unset)
    absl::StrAppend(&name, "_", ::st::contextAttentionName(layout.contextAttention));
  if (layout.placement != ::st::RankOrder::OfCluster)
    absl::StrAppend(&name, "_", ::st::rankOrderName(layout.placement));
  return name;
}
