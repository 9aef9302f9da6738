#include "lib/Planner/Answers/Report.h"

#include "lib/Planner/Memory/MemoryAdvice.h"
#include "lib/Planner/Search/Placement.h"
#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace st {
namespace {

constexpr double kMib = 1 << 20;

const char *fateName(Candidate::Fate fate) {
  switch (fate) {
  case Candidate::Best:
    return "best";
  case Candidate::OnFront:
    return "on the front";
  case Candidate::Slower:
    return "slower";
  case Candidate::Full:
    return "does not fit";
  case Candidate::Refused:
    return "cannot run";
  case Candidate::Bounded:
    return "bounded";
  }
  return "";
}

void addState(const StepInputs &inputs, const Layout &layout, proto::PlanStep &plan) {
  const proto::StateProfile &state = stateOf(inputs.profile, inputs.model.precision);
  const double trained = trainedShare(inputs, layout).value_or(1);
  const std::pair<const char *, double> classes[] = {
      {"weights", state.weights()},
      {"gradients", state.gradients() * trained},
      {"main gradients", state.main_gradients() * trained},
      {"master weights", state.master() * trained},
      {"optimizer", optimizerBytes(inputs, layout).value_or(0)}};
  for (const auto &[name, bytes] : classes)
    if (bytes > 0) {
      proto::PlanState &added = *plan.add_state();
      added.set_name(name);
      added.set_bytes(bytes);
    }
}

/// "20 bytes a parameter (weights 2, ...): 349.2 GB of weights, 3492 GB in all".
std::string printState(const proto::PlanStep &step) {
  constexpr double kGigabyte = 1e9;
  double sum = 0;
  std::vector<std::string> parts;
  for (const proto::PlanState &state : step.state()) {
    sum += state.bytes();
    parts.push_back(absl::StrFormat("%s %.3g", state.name(), state.bytes()));
  }
  return absl::StrFormat("%.3g bytes a parameter (%s): %.4g GB of weights, %.4g GB in all", sum,
                         absl::StrJoin(parts, ", "),
                         (step.state().empty() ? 0 : step.state(0).bytes()) * step.parameters() /
                             kGigabyte,
                         sum * step.parameters() / kGigabyte);
}

void addTimeline(const StepEstimate &step, proto::PlanStep &plan) {
  for (size_t g = 0; g < step.groups.size(); ++g) {
    proto::PlanGroup &added = *plan.add_timeline();
    for (const StepPart &part : step.parts[g]) {
      proto::PlanPart &entry = *added.add_parts();
      entry.set_name(part.timer);
      entry.set_ms(part.ms);
      entry.set_is_wait(part.isWait);
      entry.set_after_units(part.afterUnits);
    }
    for (const auto &[name, bytes] : step.memory[g].classes()) {
      proto::PlanMemory &memory = *added.add_memory();
      memory.set_name(name);
      memory.set_mib(bytes / kMib);
    }
    for (const GroupTimes::Run &run : step.groups[g].runs) {
      proto::PlanRun &entry = *added.add_runs();
      entry.set_task(run.unit.kind == PipelineUnit::Forward    ? "F"
                     : run.unit.kind == PipelineUnit::Backward ? "B"
                                                               : "W");
      entry.set_chunk(static_cast<int>(run.unit.chunk));
      entry.set_micro_batch(static_cast<int>(run.unit.microBatch));
      entry.set_start_ms(run.start * 1e-3);
      entry.set_end_ms(run.end * 1e-3);
    }
  }
}

} // namespace

proto::PlanLayout describeLayout(const Layout &layout) {
  proto::PlanLayout plan;
  plan.set_tp(static_cast<int>(layout.tensor));
  plan.set_pp(static_cast<int>(layout.stages));
  plan.set_dp(static_cast<int>(layout.replicas));
  plan.set_context(static_cast<int>(layout.context));
  plan.set_context_attention(contextAttentionName(layout.contextAttention));
  plan.set_expert(static_cast<int>(layout.expert));
  plan.set_virtual_stages(static_cast<int>(layout.virtualStages));
  plan.set_micro_batch(static_cast<int>(layout.microBatch));
  plan.set_accumulation(static_cast<int>(layout.microBatches));
  plan.set_global_batch(static_cast<int>(layout.globalBatch()));
  plan.set_zero(static_cast<int>(layout.zero));
  plan.set_recompute(recomputeName(layout.recompute));
  plan.set_schedule(scheduleName(layout.schedule));
  plan.set_sequence_parallel(layout.sequenceParallel);
  plan.set_offload_optimizer(layout.offloadOptimizer);
  plan.set_devices(static_cast<int>(layout.devices()));
  plan.set_placement(rankOrderName(layout.placement));
  plan.set_text(printLayout(layout));
  return plan;
}

proto::PlanStep describeStep(const StepInputs &inputs, const Layout &layout,
                             const StepEstimate &step) {
  proto::PlanStep plan;
  *plan.mutable_layout() = describeLayout(layout);
  const auto batch = static_cast<double>(layout.globalBatch()),
             devices = static_cast<double>(layout.devices());
  const auto type = inputs.model.precision == "f32" ? proto::F32 : proto::F16;
  plan.set_predicted_ms(step.ms);
  plan.set_ms_per_sample(step.ms / batch);
  plan.set_samples_per_second(batch / step.ms * 1e3);
  plan.set_tokens_per_second(plan.samples_per_second() *
                             static_cast<double>(inputs.model.sequence));
  plan.set_petaflops(step.flops / step.ms * 1e3 * 1e-15);
  plan.set_tflops_per_device(plan.petaflops() * 1e3 / devices);
  plan.set_percent_of_peak(plan.tflops_per_device() * 1e12 / inputs.costs.peakFlops(type) * 100);
  plan.set_tflops_with_recomputation(step.flopsWithRecomputation / step.ms * 1e-9 / devices);
  plan.set_bound_ms(step.lowerBoundMs);
  plan.set_parameters(step.parameters);
  plan.set_model(inputs.model.name);
  plan.set_host_memory_mib(step.hostBytes / kMib);
  const DeviceMemory &fullest = step.memory[step.fullest];
  double minimum = fullest.total();
  for (const DeviceMemory &memory : step.memory)
    minimum = std::min(minimum, memory.total());
  plan.set_memory_mib(fullest.total() / kMib);
  plan.set_least_memory_mib(minimum / kMib);
  plan.set_fit(fitName(step.fit));
  plan.set_fits(step.fit != Fit::DoesNotFit);
  plan.set_change_first(adviseOnMemory(inputs, layout, step));
  plan.set_note(step.note);
  for (const Timer &timer : step.timers) {
    proto::PlanTimer &added = *plan.add_timers();
    added.set_name(timer.name);
    added.set_least_ms(timer.least);
    added.set_median_ms(timer.median);
    added.set_most_ms(timer.most);
    added.set_last_rank_ms(timer.last);
  }
  for (const auto &[name, bytes] : fullest.classes()) {
    proto::PlanMemory &added = *plan.add_memory();
    added.set_name(name);
    added.set_mib(bytes / kMib);
  }
  addState(inputs, layout, plan);
  addTimeline(step, plan);
  return plan;
}

/// Composed layouts by time, then the others by the bound of their time. A large space has too many
/// to list.
static std::vector<size_t> nearestCandidates(const SearchResult &result) {
  constexpr size_t kMax = 1000;
  std::vector<size_t> order(result.candidates.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto key = [&](size_t i) {
    const Candidate &candidate = result.candidates[i];
    const bool fits = candidate.fate <= Candidate::Slower;
    const bool isRefused = candidate.fate == Candidate::Refused;
    return std::tuple(!fits, isRefused,
                      fits ? candidate.msPerSample() : candidate.boundMsPerSample(), i);
  };
  const size_t count = std::min(kMax, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](size_t a, size_t b) { return key(a) < key(b); });
  order.resize(count);
  return order;
}

namespace {

/// Fills in the inputs of a report.
proto::PlanReport beginReport(const StepInputs &inputs) {
  proto::PlanReport report;
  report.set_model(inputs.model.name);
  report.set_cluster(inputs.cluster.name());
  report.set_profile(inputs.profile.name());
  report.set_precision(inputs.model.precision);
  report.set_sequence(static_cast<int>(inputs.model.sequence));
  report.set_memory_limit_mib(inputs.cluster.memory_bytes().value() / kMib);
  return report;
}

} // namespace

proto::PlanReport describeRun(const StepInputs &inputs, const proto::PlanStep &step) {
  proto::PlanReport report = beginReport(inputs);
  report.set_parameters(step.parameters());
  *report.mutable_best() = step;
  return report;
}

absl::StatusOr<proto::PlanReport> describeSearch(const StepInputs &inputs,
                                                 const SearchResult &result) {
  proto::PlanReport report = beginReport(inputs);
  report.set_composed(static_cast<int>(result.composed));
  report.set_bound_ms(result.boundMs);
  report.set_gap(result.gap());
  for (size_t i : result.front) {
    const Layout &layout = result.candidates[i].layout;
    absl::StatusOr<StepEstimate> step =
        estimateStep(inputs, layout, /*keepRuns=*/i == *result.best);
    if (!step.ok())
      return step.status();
    proto::PlanStep plan = describeStep(inputs, layout, *step);
    if (i == *result.best) {
      *report.mutable_best() = plan;
      report.set_parameters(step->parameters);
    }
    plan.clear_timeline();
    *report.add_front() = std::move(plan);
  }
  report.set_layouts(static_cast<int>(result.candidates.size()));
  for (size_t i : nearestCandidates(result)) {
    const Candidate &candidate = result.candidates[i];
    proto::PlanCandidate &added = *report.add_candidates();
    *added.mutable_layout() = describeLayout(candidate.layout);
    added.set_fate(fateName(candidate.fate));
    added.set_predicted_ms(candidate.ms);
    added.set_memory_mib(candidate.bytes / kMib);
    added.set_bound_ms(candidate.boundMs);
    added.set_reason(candidate.reason);
  }
  return report;
}

std::string printStep(const proto::PlanStep &step) {
  std::string text = absl::StrFormat(
      "layout           %s\n"
      "devices          %d, global batch %d\n"
      "parameters       %.0f\n"
      "state            %s\n"
      "step             %s ms, %s ms a sample (roofline lower bound %s ms)\n"
      "throughput       %s samples/s, %s tokens/s\n"
      "rate             %.4g TFLOP/s a device (products of the model, without recomputation; %.4g "
      "with), %.1f %% of "
      "peak, %.4g PFLOP/s in all\n"
      "memory           %.1f to %.1f GiB a device: %s\n",
      step.layout().text(), step.layout().devices(), step.layout().global_batch(),
      step.parameters(), printState(step), printFigure(step.predicted_ms()),
      printFigure(step.ms_per_sample()), printFigure(step.bound_ms()),
      printFigure(step.samples_per_second()), printFigure(step.tokens_per_second()),
      step.tflops_per_device(), step.tflops_with_recomputation(), step.percent_of_peak(),
      step.petaflops(), step.least_memory_mib() / 1024, step.memory_mib() / 1024, step.fit());
  if (step.host_memory_mib() > 0)
    absl::StrAppendFormat(&text, "host memory      %.1f GiB a device, for offloaded state\n",
                          step.host_memory_mib() / 1024);
  if (!step.change_first().empty())
    absl::StrAppend(&text, "change first     ", step.change_first(), "\n");
  if (!step.note().empty())
    absl::StrAppend(&text, "note             ", step.note(), "\n");
  absl::StrAppendFormat(&text, "\n%-38s %10s %10s %10s %10s\n", "timer (ms)", "min", "median",
                        "max", "last rank");
  for (const proto::PlanTimer &timer : step.timers())
    if (timer.most_ms() > 0)
      absl::StrAppendFormat(&text, "%-38s %10s %10s %10s %10s\n", timer.name(),
                            printFigure(timer.least_ms(), 2), printFigure(timer.median_ms(), 2),
                            printFigure(timer.most_ms(), 2), printFigure(timer.last_rank_ms(), 2));
  absl::StrAppendFormat(&text, "\n%-20s %12s\n", "memory, fullest", "MiB");
  for (const proto::PlanMemory &memory : step.memory())
    absl::StrAppendFormat(&text, "%-20s %12s\n", memory.name(), printFigure(memory.mib(), 0));
  absl::StrAppendFormat(&text, "%-20s %12s\n", "sum", printFigure(step.memory_mib(), 0));
  return text;
}

std::string printFront(const proto::PlanReport &report) {
  std::string text = absl::StrFormat("%s, %.0f parameters, %s, sequence %d, on %s (%s)\n",
                                     report.model(), report.parameters(), report.precision(),
                                     report.sequence(), report.cluster(), report.profile());
  absl::StrAppendFormat(
      &text, "%d layouts, %d composed; no layout is faster than %.4g ms (gap %.1f %%)\n\n",
      report.layouts(), report.composed(), report.bound_ms(), report.gap() * 100);
  // In a range of devices or batches, steps of different layouts do different work.
  const auto &front = report.front();
  const bool isRange = std::any_of(front.begin(), front.end(), [&](const proto::PlanStep &step) {
    return step.layout().devices() != front[0].layout().devices() ||
           step.layout().global_batch() != front[0].layout().global_batch();
  });
  absl::StrAppend(
      &text, isRange ? absl::StrFormat("%8s %8s %12s ", "devices", "batch", "ms a sample") : "");
  absl::StrAppendFormat(&text, "%10s %12s %10s  %s\n", "ms a step", "TFLOP/s", "GiB", "layout");
  for (const proto::PlanStep &step : front) {
    if (isRange)
      absl::StrAppendFormat(&text, "%8d %8d %12s ", step.layout().devices(),
                            step.layout().global_batch(), printFigure(step.ms_per_sample()));
    absl::StrAppendFormat(&text, "%10s %12s %10.1f  %s\n", printFigure(step.predicted_ms()),
                          printFigure(step.tflops_per_device()), step.memory_mib() / 1024,
                          step.layout().text());
  }
  return text;
}

std::string printJson(const google::protobuf::Message &message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);
  return text;
}

std::string emitParallelFile(const Layout &layout, const std::string &precision) {
  const bool isPipelined = layout.stages > 1;
  std::string text = absl::StrFormat(
      "{\n  \"mode\": \"%s\",\n  \"sharding_size\": %d,\n  \"sharding_dim\": \"megatron\",\n"
      "  \"stage_cnt\": %d,\n  \"data\": %d,\n  \"accum_degree\": %d",
      isPipelined ? "hybrid" : "sharding", layout.tensor, layout.stages, layout.replicas,
      layout.microBatches);
  if (layout.context > 1)
    absl::StrAppendFormat(&text, ",\n  \"context\": %d", layout.context);
  if (layout.contextAttention != ContextAttention::Unset)
    absl::StrAppendFormat(&text, ",\n  \"context_attention\": \"%s\"",
                          contextAttentionName(layout.contextAttention));
  if (layout.expert > 1)
    absl::StrAppendFormat(&text, ",\n  \"expert\": %d", layout.expert);
  if (isPipelined)
    absl::StrAppendFormat(&text, ",\n  \"schedule\": \"%s\"", scheduleName(layout.schedule));
  if (layout.virtualStages > 1)
    absl::StrAppendFormat(&text, ",\n  \"virtual_stages\": %d", layout.virtualStages);
  if (layout.zero > 0)
    absl::StrAppendFormat(&text, ",\n  \"zero\": %d", layout.zero);
  // Without a mapping st-compile numbers devices in Megatron-LM's order.
  if (layout.placement != RankOrder::OfCluster && layout.placement != RankOrder::TensorDataPipeline)
    absl::StrAppendFormat(&text, ",\n  \"device_mapping\": %s", printDeviceMapping({}, layout));
  if (layout.sequenceParallel && layout.tensor > 1)
    absl::StrAppend(&text, ",\n  \"sequence_parallel\": \"gather_again\"");
  absl::StrAppendFormat(&text, ",\n  \"recompute\": \"%s\",\n  \"precision\": \"%s\"\n}\n",
                        recomputeName(layout.recompute), precision);
  return text;
}

} // namespace st
