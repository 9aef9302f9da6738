// Questions about capacity: one flag each.

#include "lib/Driver/Planning/ModelSizes.h"
#include "lib/Planner/Answers/Answers.h"
#include "lib/Support/InputFile.h"
#include "tools/st-plan/PlanTool.h"
#include "tools/st-plan/WhatIf.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::st;

static absl::Status invalid(const std::string &what) { return absl::InvalidArgumentError(what); }

/// Prints an answer, as JSON if requested.
template <typename Answer>
static absl::Status print(const Answer &answer, bool asJson,
                          std::string (*asText)(const Answer &)) {
  llvm::outs() << (asJson ? ::st::printJson(answer) + "\n" : asText(answer));
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Plans of a question
//===----------------------------------------------------------------------===//

/// Explains why nothing fits, by the refused layout that exceeds the memory least.
static std::string whyNothingFits(const ::st::SearchResult &result) {
  const ::st::Candidate *nearest = nullptr;
  auto bytesOf = [](const ::st::Candidate &candidate) {
    return std::max(candidate.bytes, candidate.boundBytes);
  };
  for (const ::st::Candidate &candidate : result.candidates)
    if (candidate.fate == ::st::Candidate::Full &&
        (!nearest || bytesOf(candidate) < bytesOf(*nearest)))
      nearest = &candidate;
  if (nearest)
    return absl::StrCat("does not fit: ", ::st::printLayout(nearest->layout), " ", nearest->reason);
  if (!result.candidates.empty())
    return absl::StrCat("cannot run: ", result.candidates.front().reason);
  return "no layout fills the devices with the batch";
}

std::string PlanTool::explainNothing(const ::st::SearchResult &result) {
  return whyNothingFits(result);
}

/// Restricts a space to fewer layouts, including the one with the lowest memory: one sequence per
/// micro-batch and full recomputation.
static ::st::SearchSpace lowMemorySpace(::st::SearchSpace space, const PlanFlags &flags) {
  if (flags.microBatch.empty())
    space.microBatch = {1};
  if (flags.recompute.empty())
    space.recompute = {::st::Recompute::Full};
  if (flags.schedule.empty())
    space.schedules = {::st::PipelineSchedule::OneForwardOneBackward};
  // The placement of ranks does not affect memory.
  if (flags.placement.empty())
    space.placements = {::st::RankOrder::OfCluster};
  space.fastest = 1;
  return space;
}

absl::StatusOr<std::string> PlanTool::whyNot(const PlanInput &input, int64_t devices,
                                             int64_t batch) {
  auto space = makeSpace(input, devices, batch);
  if (!space.ok())
    return space.status();
  auto result = search(input, lowMemorySpace(*space, flags), false);
  if (!result.ok())
    return result.status();
  return result->best ? std::string() : whyNothingFits(*result);
}

absl::StatusOr<std::optional<::st::proto::PlanStep>>
PlanTool::findPlan(const PlanInput &input, int64_t devices, int64_t batch) {
  auto space = makeSpace(input, devices, batch);
  if (!space.ok())
    return space.status();
  auto result = search(input, *space, false);
  if (!result.ok())
    return result.status();
  if (!result->best)
    return std::nullopt;
  const ::st::StepInputs inputs = inputsOf(input);
  const ::st::Layout &layout = result->candidates[*result->best].layout;
  auto step = ::st::estimateStep(inputs, layout);
  if (!step.ok())
    return step.status();
  return ::st::describeStep(inputs, layout, *step);
}

void PlanTool::report(const std::string &what, bool fits) const {
  if (!flags.quiet)
    llvm::errs() << "st-plan: " << what << ": " << (fits ? "fits" : "does not fit") << '\n';
}

//===----------------------------------------------------------------------===//
// --largest-model
//===----------------------------------------------------------------------===//

/// Bisects over the sizes, then tries the sizes above. Smaller models need less memory, except
/// where heads or layers do not divide evenly.
absl::StatusOr<::st::proto::PlanLargestModel> PlanTool::findLargest(const PlanInput &input,
                                                                    const ModelScale &scale) {
  constexpr size_t kBeyond = 3;
  const int64_t devices = deviceCount(input), batch = batchOf(input);
  std::map<size_t, std::string> reasons;
  auto fits = [&](size_t i) -> absl::StatusOr<bool> {
    auto resized = resizeModel(input, scale.sizes[i]);
    if (!resized.ok())
      return resized.status();
    auto why = whyNot(*resized, devices, batch);
    if (!why.ok())
      return why.status();
    reasons[i] = *why;
    report(absl::StrFormat("%d layers of %d", scale.sizes[i].layers, scale.sizes[i].hidden),
           why->empty());
    return why->empty();
  };
  size_t least = 0, most = scale.sizes.size(); // the first `least` sizes fit, size `most` does not
  while (least < most) {
    const size_t middle = (least + most) / 2;
    auto does = fits(middle);
    if (!does.ok())
      return does.status();
    (*does ? least : most) = *does ? middle + 1 : middle;
  }
  for (size_t i = least; i < std::min(least + 1 + kBeyond, scale.sizes.size()); ++i) {
    auto does = reasons.count(i) ? absl::StatusOr<bool>(reasons[i].empty()) : fits(i);
    if (!does.ok())
      return does.status();
    if (*does)
      least = i + 1;
  }
  ::st::proto::PlanLargestModel answer;
  answer.set_scale(scale.name);
  answer.set_cluster(cluster.name());
  answer.set_devices(static_cast<int>(devices));
  answer.set_global_batch(static_cast<int>(batch));
  auto describe = [&](size_t i, ::st::proto::PlanModelSize &size) -> absl::Status {
    const ModelSize &chosen = scale.sizes[i];
    size.set_name(chosen.name);
    size.set_layers(static_cast<int>(chosen.layers));
    size.set_hidden(static_cast<int>(chosen.hidden));
    size.set_heads(static_cast<int>(chosen.heads));
    auto resized = resizeModel(input, chosen);
    if (!resized.ok())
      return resized.status();
    auto parameters = ::st::countParameters(inputsOf(*resized));
    if (!parameters.ok())
      return parameters.status();
    size.set_parameters(*parameters);
    size.set_fits(i < least);
    if (i >= least) {
      size.set_reason(reasons[i]);
      return absl::OkStatus();
    }
    auto plan = findPlan(*resized, devices, batch);
    if (!plan.ok())
      return plan.status();
    if (*plan)
      *size.mutable_plan() = **plan;
    return absl::OkStatus();
  };
  if (least > 0)
    if (absl::Status status = describe(least - 1, *answer.mutable_largest()); !status.ok())
      return status;
  if (least < scale.sizes.size())
    if (absl::Status status = describe(least, *answer.mutable_next()); !status.ok())
      return status;
  return answer;
}

absl::Status PlanTool::findLargestModel(const PlanInput &input) {
  std::vector<ModelScale> scales;
  if (flags.sizes.empty()) {
    scales = {scaleLayers(input), scaleProportions(input)};
  } else {
    auto text = ::st::readInputFile(flags.sizes, kLargestInput);
    if (!text.ok())
      return invalid(
          absl::StrCat(flags.sizes.getValue(), ": cannot read: ", text.status().message()));
    auto scale = parseModelSizes(*text, flags.sizes);
    if (!scale.ok())
      return scale.status();
    scales = {*std::move(scale)};
  }
  ::st::proto::PlanLargestModels answer;
  bool anyFits = false;
  for (const ModelScale &scale : scales) {
    auto largest = findLargest(input, scale);
    if (!largest.ok())
      return largest.status();
    anyFits |= largest->largest().fits();
    *answer.add_scales() = *std::move(largest);
  }
  if (!anyFits)
    return invalid(absl::StrCat("no size fits on ", deviceCount(input), " devices of ",
                                cluster.name(), ": ", answer.scales(0).next().reason()));
  return print(answer, flags.json, ::st::printLargestModels);
}

//===----------------------------------------------------------------------===//
// --fewest-devices and --scale
//===----------------------------------------------------------------------===//

/// Tries each number of nodes in ascending order. A bisection would be wrong: layouts depend on the
/// divisors of the number of devices, so a model may fit n nodes and not n + 1.
absl::Status PlanTool::findFewestDevices(const PlanInput &input) {
  const int64_t node = cluster.devices_per_node();
  std::string before;
  for (int64_t nodes = 1; nodes <= cluster.max_nodes(); ++nodes) {
    const int64_t devices = nodes * node;
    // Without a given batch, the batch is proportional to the devices, so that replicas divide it.
    const int64_t batch = flags.batch > 0 ? flags.batch : kSequencesPerDevice * devices;
    auto why = whyNot(input, devices, batch);
    if (!why.ok())
      return why.status();
    report(absl::StrCat(nodes, nodes == 1 ? " node" : " nodes"), why->empty());
    if (!why->empty()) {
      before = *why;
      continue;
    }
    auto plan = findPlan(input, devices, batch);
    if (!plan.ok())
      return plan.status();
    ::st::proto::PlanFewestDevices answer;
    answer.set_cluster(cluster.name());
    answer.set_nodes(static_cast<int>(nodes));
    *answer.mutable_plan() = **plan;
    answer.set_one_node_less(before);
    if (flags.daysFor > 0)
      *answer.mutable_training() =
          ::st::describeTraining(answer.plan(), flags.daysFor, flags.assumedTflops);
    return print(answer, flags.json, ::st::printFewestDevices);
  }
  return invalid(absl::StrCat("the model does not fit on the ", cluster.max_nodes(), " nodes of ",
                              cluster.name(), ": ", before));
}

absl::Status PlanTool::scale(const PlanInput &input) {
  std::vector<int64_t> counts(flags.scale.begin(), flags.scale.end());
  llvm::sort(counts);
  ::st::proto::PlanScale answer;
  answer.set_cluster(cluster.name());
  for (bool isWeak : {true, false})
    for (int64_t nodes : counts) {
      const int64_t devices = nodes * cluster.devices_per_node();
      const int64_t batch = isWeak ? batchOf(input) * nodes / counts.front() : batchOf(input);
      auto plan = findPlan(input, devices, batch);
      if (!plan.ok())
        return plan.status();
      ::st::proto::PlanScaleRow &row = *answer.add_rows();
      row.set_nodes(static_cast<int>(nodes));
      row.set_scaling(isWeak ? "weak" : "strong");
      row.set_fits(plan->has_value());
      if (row.fits()) {
        *row.mutable_plan() = **plan;
        if (flags.daysFor > 0)
          *row.mutable_training() =
              ::st::describeTraining(row.plan(), flags.daysFor, flags.assumedTflops);
        continue;
      }
      row.mutable_plan()->mutable_layout()->set_devices(static_cast<int>(devices));
      row.mutable_plan()->mutable_layout()->set_global_batch(static_cast<int>(batch));
      auto why = whyNot(input, devices, batch);
      if (!why.ok())
        return why.status();
      row.set_reason(*why);
    }
  ::st::completeScale(answer);
  return print(answer, flags.json, ::st::printScale);
}

//===----------------------------------------------------------------------===//
// --what-if and --shrink-to
//===----------------------------------------------------------------------===//

absl::Status PlanTool::changeCluster(llvm::StringRef changes) {
  if (absl::Status status = changeHardware(cluster, constants, {changes.data(), changes.size()});
      !status.ok())
    return status;
  costs = std::make_unique<::st::GpuCosts>(cluster, profile, constants);
  return absl::OkStatus();
}

absl::Status PlanTool::checkChanges() const {
  for (const std::string &changes : flags.whatIf) {
    ::st::proto::ClusterDescription changedCluster = cluster;
    ::st::GpuConstants changedConstants = constants;
    if (absl::Status status = changeHardware(changedCluster, changedConstants, changes);
        !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status PlanTool::answerWhatIf(const PlanInput &input, llvm::StringRef changes) {
  auto before = findPlan(input, deviceCount(input), batchOf(input));
  if (!before.ok())
    return before.status();
  const ::st::proto::ClusterDescription keptCluster = cluster;
  const ::st::GpuConstants keptConstants = constants;
  if (absl::Status status = changeCluster(changes); !status.ok())
    return status;
  auto after = findPlan(input, deviceCount(input), batchOf(input));
  if (!after.ok())
    return after.status();
  ::st::proto::PlanWhatIf answer;
  answer.set_changes(changes.str());
  answer.set_fits_before(before->has_value());
  answer.set_fits_after(after->has_value());
  if (*before)
    *answer.mutable_before() = **before;
  if (*after)
    *answer.mutable_after() = **after;
  cluster = keptCluster;
  constants = keptConstants;
  costs = std::make_unique<::st::GpuCosts>(cluster, profile, constants);
  return print(answer, flags.json, ::st::printWhatIf);
}

/// Removes stages first, then replicas. A device keeps its layers, shards and micro-batch.
absl::Status PlanTool::shrink(const PlanInput &input) {
  if (!input.layout)
    return invalid(
        "--shrink-to: expected a run with a layout, as a Megatron log; found a model alone");
  const int64_t devices = static_cast<int64_t>(flags.shrinkTo) * cluster.devices_per_node();
  ::st::Layout layout = *input.layout;
  const int64_t layers = ::st::layersOfStages(input.model.layers, layout.stages).front();
  if (layout.tensor > devices)
    return invalid(absl::StrCat("--shrink-to=", flags.shrinkTo.getValue(), ": ", layout.tensor,
                                " tensor shards do not fit on ", devices, " devices"));
  layout.stages = std::max<int64_t>(1, std::min(layout.stages, devices / layout.tensor));
  layout.replicas =
      std::max<int64_t>(1, std::min(layout.replicas, devices / layout.tensor / layout.stages));
  layout.virtualStages = layout.stages == 1 ? 1 : layout.virtualStages;
  if (layout.stages == 1)
    layout.schedule = ::st::PipelineSchedule::OneForwardOneBackward;
  PlanInput small = input;
  small.model.layers = layers * layout.stages;
  small.layout = layout;
  if (!flags.json)
    llvm::outs() << absl::StrFormat("%d layers instead of %d, %d devices instead of %d\n",
                                    small.model.layers, input.model.layers, layout.devices(),
                                    input.layout->devices());
  return predictRun(small);
}
