// Questions about capacity: one flag each.

#include "tools/st-plan/PlanTool.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::st;

/// Layers that Megatron's stages can have in all, at most.
constexpr int64_t kMostLayers = 1024;

static absl::Status invalid(const std::string &what) { return absl::InvalidArgumentError(what); }

/// A bisection over the layers: what fits with more fits with fewer.
absl::Status PlanTool::findLargestModel(PlanInput input) {
  const int64_t devices = deviceCount(input), batch = batchOf(input);
  std::optional<::st::Candidate> found;
  double parameters = 0;
  int64_t least = 0, most = kMostLayers + 1;
  while (most - least > 1) {
    const int64_t layers = (least + most) / 2;
    input.model.layers = layers;
    auto space = makeSpace(input, devices, batch);
    if (!space.ok())
      return space.status();
    auto result = search(input, *space, false);
    if (!result.ok())
      return result.status();
    if (!flags.quiet)
      llvm::errs() << "st-plan: " << layers << " layers: " << (result->best ? "fits" : "does not fit") << '\n';
    if (!result->best) {
      most = layers;
      continue;
    }
    least = layers;
    found = result->candidates[*result->best];
    auto step = ::st::estimateStep(inputsOf(input), found->layout);
    if (!step.ok())
      return step.status();
    parameters = step->parameters;
  }
  if (!found)
    return invalid(absl::StrCat("no layer of hidden size ", input.model.hidden, " fits on ", devices, " devices of ",
                                cluster.name()));
  llvm::outs() << absl::StrFormat("%d layers of hidden size %d fit on %d devices of %s: %.4g parameters\n"
                                  "%s: %.4g ms a step, %.1f GiB a device\n",
                                  least, input.model.hidden, devices, cluster.name(), parameters,
                                  ::st::printLayout(found->layout), found->ms, found->bytes / (1 << 30));
  return absl::OkStatus();
}

absl::Status PlanTool::findFewestDevices(const PlanInput &input) {
  const int64_t node = cluster.devices_per_node();
  for (int64_t nodes = 1; nodes <= cluster.max_nodes(); ++nodes) {
    // The batch grows with the devices unless it is given, so that replicas divide it.
    auto space = makeSpace(input, nodes * node, flags.batch > 0 ? batchOf(input) : 8 * nodes * node);
    if (!space.ok())
      return space.status();
    auto result = search(input, *space, false);
    if (!result.ok())
      return result.status();
    if (!flags.quiet)
      llvm::errs() << "st-plan: " << nodes << (nodes == 1 ? " node: " : " nodes: ")
                   << (result->best ? "fits" : "does not fit") << '\n';
    if (!result->best)
      continue;
    const ::st::Candidate &best = result->candidates[*result->best];
    llvm::outs() << absl::StrFormat("%d nodes of %s, %d devices: %s, %.4g ms a step, %.1f GiB a device\n", nodes,
                                    cluster.name(), nodes * node, ::st::printLayout(best.layout), best.ms,
                                    best.bytes / (1 << 30));
    return absl::OkStatus();
  }
  return invalid(absl::StrCat("the model does not fit on the ", cluster.max_nodes(), " nodes of ", cluster.name()));
}

absl::Status PlanTool::scale(const PlanInput &input) {
  const int64_t node = cluster.devices_per_node(), first = *llvm::min_element(flags.scale);
  llvm::outs() << absl::StrFormat("%6s %8s %7s %12s %14s %10s %11s  %s\n", "nodes", "devices", "batch", "ms a step",
                                  "tokens/s", "TFLOP/s", "efficiency", "layout");
  for (bool isWeak : {true, false}) {
    llvm::outs() << (isWeak ? "the batch grows with the nodes\n" : "the same batch\n");
    double perDevice = 0;
    for (int64_t nodes : flags.scale) {
      const int64_t batch = isWeak ? batchOf(input) * nodes / first : batchOf(input);
      auto space = makeSpace(input, nodes * node, batch);
      if (!space.ok())
        return space.status();
      auto result = search(input, *space, false);
      if (!result.ok())
        return result.status();
      if (!result->best) {
        llvm::outs() << absl::StrFormat("%6d %8d %7d  no layout fits\n", nodes, nodes * node, batch);
        continue;
      }
      const ::st::StepInputs inputs = inputsOf(input);
      const ::st::Layout &layout = result->candidates[*result->best].layout;
      auto step = ::st::estimateStep(inputs, layout);
      if (!step.ok())
        return step.status();
      const ::st::proto::PlanStep plan = ::st::describeStep(inputs, layout, *step);
      const double rate = plan.tokens_per_second() / static_cast<double>(nodes);
      if (perDevice == 0)
        perDevice = rate;
      std::string days;
      if (flags.daysFor > 0)
        days = absl::StrFormat("  %.4g days", flags.daysFor / plan.tokens_per_second() / 86400);
      llvm::outs() << absl::StrFormat("%6d %8d %7d %12.4g %14.4g %10.4g %9.1f %%  %s%s\n", nodes, nodes * node, batch,
                                      plan.predicted_ms(), plan.tokens_per_second(), plan.tflops_per_device(),
                                      rate / perDevice * 100, plan.layout().text(), days);
    }
  }
  return absl::OkStatus();
}

/// Applies one change, "network:x2" or "memory:40GB".
static absl::Status change(::st::proto::ClusterDescription &cluster, ::st::GpuConstants &constants,
                           absl::string_view text) {
  const std::pair<std::string, std::string> pair = absl::StrSplit(text, absl::MaxSplits(':', 1));
  auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("--what-if=", text,
                     ": expected network, node, flops, bandwidth, launch or memory, a colon and a factor as x2; of memory also "
                     "a size as 40GB"));
  };
  double value = 0;
  absl::string_view number = pair.second;
  const bool isFactor = absl::ConsumePrefix(&number, "x");
  const bool isSize = !isFactor && absl::ConsumeSuffix(&number, "GB");
  if (isFactor == isSize || !absl::SimpleAtod(number, &value) || !(value > 0) || value > 1e6 ||
      (isSize && pair.first != "memory"))
    return refuse();
  auto multiply = [&](::st::proto::Figure &figure) { figure.set_value(figure.value() * value); };
  if (pair.first == "network") {
    multiply(*cluster.mutable_card_gbits_per_second());
  } else if (pair.first == "node") {
    multiply(*cluster.mutable_node_gbytes_per_second());
    multiply(*cluster.mutable_node_measured_gbytes_per_second());
    for (auto &curve : *cluster.mutable_curves())
      for (auto &point : *curve.mutable_points())
        point.set_us(point.us() / value);
  } else if (pair.first == "flops") {
    multiply(*cluster.mutable_f16_tflops());
    multiply(*cluster.mutable_f32_tflops());
  } else if (pair.first == "bandwidth") {
    multiply(*cluster.mutable_memory_gbytes_per_second());
  } else if (pair.first == "launch") {
    constants.launchUs /= value;
  } else if (pair.first == "memory") {
    if (isSize)
      cluster.mutable_memory_bytes()->set_value(value * 1e9);
    else
      multiply(*cluster.mutable_memory_bytes());
  } else {
    return refuse();
  }
  return absl::OkStatus();
}

absl::Status PlanTool::askWhatIf(const PlanInput &input, llvm::StringRef changes) {
  auto space = makeSpace(input, deviceCount(input), batchOf(input));
  if (!space.ok())
    return space.status();
  auto before = search(input, *space, true);
  if (!before.ok())
    return before.status();
  const ::st::proto::ClusterDescription keptCluster = cluster;
  const ::st::GpuConstants keptConstants = constants;
  for (absl::string_view text : absl::StrSplit(absl::string_view(changes.data(), changes.size()), ','))
    if (absl::Status status = change(cluster, constants, text); !status.ok())
      return status;
  costs = std::make_unique<::st::GpuCosts>(cluster, profile, constants);
  auto after = search(input, *space, true);
  auto describe = [](const ::st::SearchResult &result) {
    if (!result.best)
      return std::string("no layout fits");
    const ::st::Candidate &best = result.candidates[*result.best];
    return absl::StrFormat("%.4g ms, %.1f GiB, %s", best.ms, best.bytes / (1 << 30), ::st::printLayout(best.layout));
  };
  if (after.ok())
    llvm::outs() << "as it is         " << describe(*before) << '\n'
                 << changes << std::string(changes.size() < 16 ? 17 - changes.size() : 1, ' ') << describe(*after)
                 << '\n';
  cluster = keptCluster;
  constants = keptConstants;
  costs = std::make_unique<::st::GpuCosts>(cluster, profile, constants);
  return after.status();
}

/// Stages go first, then replicas: a device keeps its layers, its shards and its micro-batch.
absl::Status PlanTool::shrink(const PlanInput &input) {
  if (!input.layout)
    return invalid("--shrink-to: expected a run with a layout, as a Megatron log; found a model alone");
  const int64_t devices = static_cast<int64_t>(flags.shrinkTo) * cluster.devices_per_node();
  ::st::Layout layout = *input.layout;
  const int64_t layers = ::st::layersOfStages(input.model.layers, layout.stages).front();
  if (layout.tensor > devices)
    return invalid(absl::StrCat("--shrink-to=", flags.shrinkTo.getValue(), ": ", layout.tensor,
                                " tensor shards do not fit on ", devices, " devices"));
  layout.stages = std::max<int64_t>(1, std::min(layout.stages, devices / layout.tensor));
  layout.replicas = std::max<int64_t>(1, std::min(layout.replicas, devices / layout.tensor / layout.stages));
  layout.virtualStages = layout.stages == 1 ? 1 : layout.virtualStages;
  if (layout.stages == 1)
    layout.schedule = ::st::PipelineSchedule::OneForwardOneBackward;
  PlanInput small = input;
  small.model.layers = layers * layout.stages;
  small.layout = layout;
  llvm::outs() << absl::StrFormat("%d layers instead of %d, %d devices instead of %d\n", small.model.layers,
                                  input.model.layers, layout.devices(), input.layout->devices());
  return predictRun(small);
}
