#include "lib/Planner/Search.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace st {
namespace {

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      divisors.push_back(i);
      if (i * i != number)
        divisors.push_back(number / i);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

bool isAllowed(const std::vector<int64_t> &chosen, int64_t value) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), value) != chosen.end();
}

} // namespace

std::vector<Layout> enumerateLayouts(const SearchSpace &space, const PlannedModel &model) {
  std::vector<Layout> layouts;
  auto addVariants = [&](Layout layout) {
    for (PipelineSchedule schedule : space.schedules) {
      const bool isInterleaved = schedule == PipelineSchedule::Interleaved;
      // Without a pipeline all schedules are one.
      if (layout.stages == 1 && schedule != space.schedules.front())
        continue;
      for (int64_t chunks = isInterleaved && layout.stages > 1 ? 2 : 1;
           chunks <= (isInterleaved && layout.stages > 1 ? space.mostVirtualStages : 1); ++chunks) {
        if (!isAllowed(space.virtualStages, chunks) || layout.stages * chunks > model.layers)
          continue;
        layout.schedule = layout.stages == 1 ? PipelineSchedule::OneForwardOneBackward : schedule;
        layout.virtualStages = chunks;
        for (int64_t zero : space.zero)
          for (Recompute recompute : space.recompute)
            for (bool sequenceParallel : space.sequenceParallel)
              for (bool offload : space.offloadOptimizer) {
                // One tensor rank has no sequence to split, one replica no state.
                if ((sequenceParallel && layout.tensor == 1 && space.sequenceParallel.size() > 1) ||
                    (zero > 0 && layout.replicas == 1 && space.zero.size() > 1))
                  continue;
                layout.zero = zero;
                layout.recompute = recompute;
                layout.sequenceParallel = sequenceParallel;
                layout.offloadOptimizer = offload;
                layouts.push_back(layout);
              }
      }
    }
  };
  for (int64_t tensor : divisorsOf(space.devices)) {
    if (!isAllowed(space.tensor, tensor) || model.heads % tensor != 0)
      continue;
    for (int64_t stages : divisorsOf(space.devices / tensor)) {
      const int64_t replicas = space.devices / tensor / stages;
      if (!isAllowed(space.stages, stages) || !isAllowed(space.replicas, replicas) ||
          stages > model.layers || space.globalBatch % replicas != 0)
        continue;
      for (int64_t microBatch : divisorsOf(space.globalBatch / replicas)) {
        if (!isAllowed(space.microBatch, microBatch) || (space.microBatch.empty() && microBatch > space.mostMicroBatch))
          continue;
        Layout layout;
        layout.tensor = tensor;
        layout.stages = stages;
        layout.replicas = replicas;
        layout.microBatch = microBatch;
        layout.microBatches = space.globalBatch / replicas / microBatch;
        addVariants(layout);
      }
    }
  }
  return layouts;
}

namespace {

class Searcher {
public:
  Searcher(const StepInputs &inputs, const SearchSpace &space, const Progress &progress)
      : inputs(inputs), space(space), progress(progress) {}

  absl::StatusOr<SearchResult> search();

private:
  absl::Status readReference();
  void bound(Candidate &candidate) const;
  /// Whether a layout that fits is at least as good as the candidate's bounds.
  bool isBounded(Candidate &candidate) const;
  absl::Status compose(Candidate &candidate);
  void judge(SearchResult &result) const;
  std::string compare(const Candidate &loser, const Candidate &best) const;

  const StepInputs &inputs;
  const SearchSpace &space;
  const Progress &progress;
  /// Of one layer, the embeddings and the head, for one sequence on one device.
  double layerFlops = 0, outerFlops = 0, layerElements = 0, outerElements = 0;
  std::vector<Candidate> done;    ///< that fit
  std::map<std::string, StepEstimate> estimates;
  double room = 0;
};

} // namespace

/// The smallest program of the model says what there is to compute and to keep.
absl::Status Searcher::readReference() {
  BlockKey key;
  key.formsKernels = !inputs.profile.framework_ops();
  absl::StatusOr<const proto::ProgramWork *> work = inputs.blocks.get(key);
  if (!work.ok())
    return work.status();
  for (const proto::PhaseWork &phase : (*work)->phases())
    for (const proto::OpWork &op : phase.ops()) {
      if (op.kind() != proto::OpWork::PRODUCT ||
          (phase.phase() == "backward" && op.is_recomputed()))
        continue;
      if (phase.block() == kCompiledLayers)
        layerFlops += op.flops();
      else if (phase.block() == 0 || phase.block() == kCompiledLayers + 1)
        outerFlops += op.flops();
    }
  for (const proto::StateWork &state : (*work)->states()) {
    if (state.role() != "parameter" || state.blocks().empty())
      continue;
    (state.blocks(0) == kCompiledLayers ? layerElements : outerElements) +=
        state.blocks(0) == 1 ? 0 : static_cast<double>(state.elements());
  }
  room = inputs.cluster.memory_bytes().value();
  return absl::OkStatus();
}

void Searcher::bound(Candidate &candidate) const {
  const Layout &layout = candidate.layout;
  const auto layers = static_cast<double>(inputs.model.layers);
  const auto tensor = static_cast<double>(layout.tensor), stages = static_cast<double>(layout.stages),
             batches = static_cast<double>(layout.microBatches), replicas = static_cast<double>(layout.replicas);
  const double again = layout.recompute == Recompute::Full ? 4.0 / 3.0 : 1.0;
  const double perMicroBatch = static_cast<double>(layout.microBatch) / tensor;
  // All micro-batches pass the group with the most to do, which has at least the mean.
  const double all = (layerFlops * layers * again + outerFlops) * perMicroBatch;
  const auto type = inputs.model.precision == "f32" ? proto::F32 : proto::F16;
  candidate.boundMs = all / stages * batches / inputs.costs.fastestProduct(type) * 1e3;
  const proto::StateProfile &state = stateOf(inputs.profile, inputs.model.precision);
  const double elements = std::floor(layers / (stages * static_cast<double>(layout.virtualStages))) *
                          static_cast<double>(layout.virtualStages) * layerElements / tensor;
  const double optimizer = layout.offloadOptimizer ? 0 : state.master() + inputs.optimizerBytes;
  candidate.boundBytes =
      inputs.cluster.context_bytes().value() +
      elements * (state.weights() / (layout.zero >= 3 ? replicas : 1) +
                  state.gradients() / (layout.zero >= 2 ? replicas : 1) +
                  (state.main_gradients() + optimizer) / (layout.zero >= 1 ? replicas : 1));
}

bool Searcher::isBounded(Candidate &candidate) const {
  if (candidate.boundBytes > room) {
    candidate.fate = Candidate::Full;
    candidate.reason = absl::StrFormat("parameters, gradients and optimizer state alone take %.1f of %.1f GiB",
                                       candidate.boundBytes / (1 << 30), room / (1 << 30));
    return true;
  }
  for (const Candidate &other : done)
    if (other.ms <= candidate.boundMs && other.bytes <= candidate.boundBytes) {
      candidate.fate = Candidate::Bounded;
      candidate.reason = absl::StrFormat("takes at least %.2f ms and %.1f GiB; %s takes %.2f ms and %.1f GiB",
                                         candidate.boundMs, candidate.boundBytes / (1 << 30),
                                         printLayout(other.layout), other.ms, other.bytes / (1 << 30));
      return true;
    }
  return false;
}

absl::Status Searcher::compose(Candidate &candidate) {
  absl::StatusOr<StepEstimate> step = estimateStep(inputs, candidate.layout);
  if (!step.ok()) {
    candidate.fate = Candidate::Refused;
    candidate.reason = std::string(step.status().message());
    return absl::OkStatus();
  }
  const DeviceMemory &memory = step->memory[step->fullest];
  candidate.ms = step->ms;
  candidate.bytes = memory.total();
  // Of devices with room, the host has none.
  if (step->fit == Fit::DoesNotFit && memory.needed() <= room) {
    const int64_t ofNode = std::min<int64_t>(inputs.cluster.devices_per_node(), candidate.layout.devices());
    candidate.fate = Candidate::Full;
    candidate.reason = absl::StrFormat("offloads %.1f GiB to the memory of a node that has %.1f GiB",
                                       step->hostBytes * static_cast<double>(ofNode) / (1 << 30),
                                       inputs.cluster.host_bytes_per_node().value() / (1 << 30));
    return absl::OkStatus();
  }
  if (step->fit == Fit::DoesNotFit) {
    std::pair<const char *, double> most = {"", 0};
    for (const auto &each : memory.classes())
      if (each.second > most.second)
        most = each;
    candidate.fate = Candidate::Full;
    candidate.reason = absl::StrFormat("takes %.1f of %.1f GiB on device group %d, most of it %s (%.1f GiB)",
                                       candidate.bytes / (1 << 30), room / (1 << 30), step->fullest, most.first,
                                       most.second / (1 << 30));
    return absl::OkStatus();
  }
  done.push_back(candidate);
  estimates.emplace(printLayout(candidate.layout), *std::move(step));
  return absl::OkStatus();
}

/// Names the timers in which a slower layout loses most.
std::string Searcher::compare(const Candidate &loser, const Candidate &best) const {
  const StepEstimate &slow = estimates.at(printLayout(loser.layout)),
                     &fast = estimates.at(printLayout(best.layout));
  auto find = [](const StepEstimate &step, const std::string &name) {
    for (const Timer &timer : step.timers)
      if (timer.name == name)
        return timer.most;
    return 0.0;
  };
  std::vector<std::pair<double, std::string>> losses;
  for (const Timer &timer : slow.timers)
    if (timer.name != "optimizer")
      losses.emplace_back(timer.most - find(fast, timer.name), timer.name);
  std::sort(losses.rbegin(), losses.rend());
  std::string text = absl::StrFormat("takes %.2f ms, %.1f %% more", loser.ms, (loser.ms / best.ms - 1) * 100);
  for (size_t i = 0; i < losses.size() && i < 2; ++i)
    if (losses[i].first > 0.01 * best.ms)
      absl::StrAppend(&text, i == 0 ? ": " : ", ", absl::StrFormat("%s +%.2f ms", losses[i].second, losses[i].first));
  return text;
}

void Searcher::judge(SearchResult &result) const {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < result.candidates.size(); ++i)
    if (result.candidates[i].fate == Candidate::Slower)
      fitting.push_back(i);
  std::stable_sort(fitting.begin(), fitting.end(), [&](size_t a, size_t b) {
    const Candidate &x = result.candidates[a], &y = result.candidates[b];
    return x.ms != y.ms ? x.ms < y.ms : x.bytes < y.bytes;
  });
  if (fitting.empty())
    return;
  result.best = fitting.front();
  double least = std::numeric_limits<double>::infinity();
  for (size_t i : fitting) {
    Candidate &candidate = result.candidates[i];
    if (candidate.bytes < least) {
      least = candidate.bytes;
      candidate.fate = Candidate::OnFront;
      result.front.push_back(i);
    }
    if (i != *result.best)
      candidate.reason = compare(candidate, result.candidates[*result.best]);
  }
  result.candidates[*result.best].fate = Candidate::Best;
}

absl::StatusOr<SearchResult> Searcher::search() {
  if (absl::Status status = readReference(); !status.ok())
    return status;
  SearchResult result;
  for (const Layout &layout : enumerateLayouts(space, inputs.model)) {
    Candidate candidate;
    candidate.layout = layout;
    bound(candidate);
    result.candidates.push_back(std::move(candidate));
  }
  // What may be fast comes first: it bounds the others.
  std::stable_sort(result.candidates.begin(), result.candidates.end(),
                   [](const Candidate &a, const Candidate &b) { return a.boundMs < b.boundMs; });
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < result.candidates.size(); ++i) {
    Candidate &candidate = result.candidates[i];
    if (absl::Status status = checkLayout(inputs.model, candidate.layout, inputs.cluster); !status.ok()) {
      candidate.fate = Candidate::Refused;
      candidate.reason = std::string(status.message());
    } else if (!isBounded(candidate)) {
      if (absl::Status composed = compose(candidate); !composed.ok())
        return composed;
      ++result.composed;
      if (candidate.fate == Candidate::Slower)
        best = std::min(best, candidate.ms);
    }
    if (progress)
      progress(i + 1, result.candidates.size(), best);
  }
  judge(result);
  result.boundMs = std::numeric_limits<double>::infinity();
  for (const Candidate &candidate : result.candidates)
    if (candidate.fate != Candidate::Full && candidate.fate != Candidate::Refused)
      result.boundMs = std::min(result.boundMs, candidate.ms > 0 ? candidate.ms : candidate.boundMs);
  if (!result.best)
    result.boundMs = 0;
  return result;
}

absl::StatusOr<SearchResult> searchLayouts(const StepInputs &inputs, const SearchSpace &space,
                                           const Progress &progress) {
  return Searcher(inputs, space, progress).search();
}

} // namespace st
