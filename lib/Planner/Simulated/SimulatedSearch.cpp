#include "lib/Planner/Simulated/SimulatedSearch.h"

#include "lib/Planner/Search/StepMemo.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace st {
namespace {

class SimulatedSearcher {
public:
  SimulatedSearcher(const StepInputs &given, const SearchSpace &space,
                    const SimulatedEffort &effort, const Progress &progress)
      : inputs(given), space(space), effort(effort), progress(progress) {
    inputs.memo = &memo;
  }

  absl::StatusOr<SearchResult> search();

private:
  absl::Status readReference();
  /// A guaranteed lower bound of the layout's time in milliseconds.
  double guaranteedMs(const Layout &layout) const;
  /// Milliseconds per sample with the blocks' ops at the device's peaks.
  double estimate(const Candidate &candidate) const;
  /// The most promising layout for each number of shards and stages, then the others: estimates of
  /// different layouts may be too low by different factors.
  std::vector<std::pair<double, size_t>> orderByEstimate();
  /// Returns true if a layout with this estimate is worth a composition. Otherwise sets the
  /// candidate's reason.
  bool isPromising(double estimated, Candidate &candidate) const;
  void compose(Candidate &candidate);
  void refuseFull(Candidate &candidate) const;
  void simulateFastest();
  void judge();
  /// Candidates that fit, fastest first.
  std::vector<size_t> fittingCandidates() const;

  StepInputs inputs;
  const SearchSpace &space;
  const SimulatedEffort effort;
  const Progress &progress;
  StepMemo memo;
  size_t explored = 0;           ///< number of layouts in the first part of the order
  double sampleFlops = 0;        ///< of the products of one sequence
  double layerFlops = 0;         ///< of the smallest layer's forward pass
  double trained = 0;            ///< elements of the full model's parameters that train
  std::multiset<double> fastest; ///< composed milliseconds per sample of the layouts to simulate
  double minShare =
      std::numeric_limits<double>::infinity(); ///< minimum ratio of composed time to estimate
  SearchResult result;
};

} // namespace

absl::Status SimulatedSearcher::readReference() {
  BlockKey key;
  key.formsKernels = true;
  key.optimizer = inputs.optimizer;
  ST_ASSIGN_OR_RETURN(const proto::ProgramWork *work, inputs.blocks.get(key));
  std::map<int64_t, double> ofLayers; ///< FLOPs of the forward pass, by block
  for (const proto::PhaseWork &phase : work->phases())
    for (const proto::OpWork &op : phase.ops())
      if (op.kind() == proto::OpWork::PRODUCT && !op.is_recomputed()) {
        sampleFlops += op.flops() * static_cast<double>(inputs.model.timesOf(phase.block()));
        if (phase.phase() == "forward")
          ofLayers[phase.block()] += op.flops();
      }
  layerFlops = std::numeric_limits<double>::infinity();
  for (const auto &[block, flops] : ofLayers)
    if (inputs.model.isLayer(block) && inputs.model.timesOf(block) > 0)
      layerFlops = std::min(layerFlops, flops);
  for (const proto::StateWork &state : work->states())
    if (state.role() == "parameter" && !state.is_frozen())
      trained +=
          static_cast<double>(state.elements()) * static_cast<double>(inputs.model.timesOf(state));
  return absl::OkStatus();
}

/// A device launches a forward and a backward task for each stage and micro-batch. Their products
/// run at most at the peak rate. Then it reads and writes its parameters with at most the memory
/// bandwidth of its chip. Its first task waits for one task of each earlier stage, and one task of
/// each earlier stage follows its last task. Each of these stages except the first has at least one
/// layer, with the time of its forward and backward products. The bound is the mean over devices,
/// which the slowest device reaches or exceeds.
double SimulatedSearcher::guaranteedMs(const Layout &layout) const {
  const auto type = inputs.model.precision == "f32" ? proto::F32 : proto::F16;
  const double devices = static_cast<double>(layout.devices()),
               stages = static_cast<double>(layout.stages),
               shards = static_cast<double>(layout.tensor),
               parts = static_cast<double>(layout.context),
               peak = inputs.costs.peakFlops(type) * 1e-6; // a microsecond
  const double products = sampleFlops * static_cast<double>(layout.globalBatch()) / devices / peak;
  const double launches = static_cast<double>(2 * layout.microBatches * layout.virtualStages + 1) *
                          inputs.cluster.launch_ns().value() * 1e-3;
  const double layer = layerFlops * static_cast<double>(layout.microBatch) / shards / parts / peak,
               fill = std::max(0.0, (stages - 1) * (stages - 2)) / stages * layer;
  // A device may use its neighbours' share of the chip's bandwidth while they are idle.
  constexpr double kReadAndWritten = 8; // of an f32
  const double memory = inputs.cluster.memory_gbytes_per_second().value() *
                        std::max(1.0, inputs.cluster.fast_domain().value()) *
                        1e3; // bytes a microsecond
  const double updated = trained * kReadAndWritten / shards / stages /
                         static_cast<double>(layout.zero > 0 ? layout.copies() : layout.expert);
  return 1e-3 * (products + launches + fill + updated / memory);
}

double SimulatedSearcher::estimate(const Candidate &candidate) const {
  const StepBlocks keys = blocksOf(inputs, candidate.layout);
  const auto work = inputs.blocks.get(keys.work), kept = inputs.blocks.get(keys.kept);
  // The composition reports failures.
  if (!work.ok() || !kept.ok())
    return candidate.boundMsPerSample();
  return boundStep(inputs, candidate.layout, **work, **kept, BoundDetail::Step).ms /
         static_cast<double>(candidate.layout.globalBatch());
}

std::vector<std::pair<double, size_t>> SimulatedSearcher::orderByEstimate() {
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < result.candidates.size(); ++i) {
    Candidate &candidate = result.candidates[i];
    if (const absl::Status status = checkLayout(inputs.model, candidate.layout, inputs.cluster);
        !status.ok()) {
      candidate.fate = Candidate::Refused;
      candidate.reason = std::string(status.message());
      continue;
    }
    candidate.boundMs = guaranteedMs(candidate.layout);
    order.emplace_back(estimate(candidate), i);
  }
  std::sort(order.begin(), order.end());
  std::set<std::pair<int64_t, int64_t>> seen;
  const auto others = std::stable_partition(order.begin(), order.end(), [&](const auto &each) {
    const Layout &layout = result.candidates[each.second].layout;
    return seen.emplace(layout.tensor, layout.stages).second;
  });
  explored = static_cast<size_t>(others - order.begin());
  return order;
}

bool SimulatedSearcher::isPromising(double estimated, Candidate &candidate) const {
  if (fastest.size() >= effort.simulated && candidate.boundMsPerSample() > *fastest.rbegin()) {
    candidate.fate = Candidate::Bounded;
    candidate.reason =
        absl::StrFormat("takes at least %.4g ms: its launches, plus products and update "
                        "at the device's peak rates",
                        candidate.boundMs);
    return false;
  }
  if (effort.composed == 0)
    return true;
  if (result.composed >= effort.composed) {
    candidate.fate = Candidate::Bounded;
    candidate.reason = absl::StrFormat(
        "takes at least %.4g ms; %d other layouts with lower estimates were composed",
        candidate.boundMs, result.composed);
    return false;
  }
  const double minimum = estimated * minShare;
  if (result.composed < explored || fastest.size() < effort.simulated ||
      minimum <= *fastest.rbegin())
    return true;
  const auto samples = static_cast<double>(candidate.layout.globalBatch());
  candidate.fate = Candidate::Bounded;
  candidate.reason = absl::StrFormat(
      "takes at least %.4g ms: its estimate is %.4g ms, and no composed layout took less than "
      "%.2f times its estimate",
      minimum * samples, estimated * samples, minShare);
  return false;
}

void SimulatedSearcher::refuseFull(Candidate &candidate) const {
  candidate.fate = Candidate::Full;
  constexpr double kMib = 1 << 20;
  candidate.reason = absl::StrFormat("takes %.1f of %.1f MiB", candidate.bytes / kMib,
                                     inputs.cluster.memory_bytes().value() / kMib);
}

void SimulatedSearcher::compose(Candidate &candidate) {
  const absl::StatusOr<StepEstimate> step = estimateStep(inputs, candidate.layout);
  if (!step.ok()) {
    candidate.fate = Candidate::Refused;
    candidate.reason = std::string(step.status().message());
    return;
  }
  ++result.composed;
  candidate.ms = step->ms;
  candidate.bytes = step->memory[step->fullest].total();
  candidate.fate = Candidate::Slower;
  if (step->fit != Fit::Fits) {
    refuseFull(candidate);
    return;
  }
  fastest.insert(candidate.msPerSample());
  if (fastest.size() > effort.simulated)
    fastest.erase(std::prev(fastest.end()));
}

std::vector<size_t> SimulatedSearcher::fittingCandidates() const {
  std::vector<size_t> found;
  for (size_t i = 0; i < result.candidates.size(); ++i)
    if (result.candidates[i].fate == Candidate::Slower)
      found.push_back(i);
  std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) {
    const Candidate &x = result.candidates[a], &y = result.candidates[b];
    return x.msPerSample() != y.msPerSample() ? x.msPerSample() < y.msPerSample()
                                              : x.bytes < y.bytes;
  });
  return found;
}

void SimulatedSearcher::simulateFastest() {
  for (size_t i : fittingCandidates()) {
    if (result.simulated.size() == effort.simulated)
      return;
    Candidate &candidate = result.candidates[i];
    const absl::StatusOr<CompiledStep> compiled = inputs.simulated->timeCompiled(candidate.layout);
    if (!compiled.ok()) {
      candidate.fate = Candidate::Refused;
      candidate.reason = std::string(compiled.status().message());
      continue;
    }
    candidate.ms = static_cast<double>(compiled->picoseconds) * 1e-9;
    candidate.bytes = static_cast<double>(
        *std::max_element(compiled->arenaBytes.begin(), compiled->arenaBytes.end()));
    if (candidate.bytes <= inputs.cluster.memory_bytes().value())
      result.simulated.push_back(i);
    else
      refuseFull(candidate);
  }
}

void SimulatedSearcher::judge() {
  if (result.simulated.empty())
    return;
  result.best =
      *std::min_element(result.simulated.begin(), result.simulated.end(), [&](size_t a, size_t b) {
        return result.candidates[a].msPerSample() < result.candidates[b].msPerSample();
      });
  const Candidate &best = result.candidates[*result.best];
  double minimum = std::numeric_limits<double>::infinity();
  for (size_t i : fittingCandidates()) {
    Candidate &candidate = result.candidates[i];
    // A composition faster than the simulated best is within the model's error.
    if (i != *result.best)
      candidate.reason =
          absl::StrFormat("takes %.4g ms, %+.1f %% a sample against the best", candidate.ms,
                          (candidate.msPerSample() / best.msPerSample() - 1) * 100);
    if (candidate.msPerSample() < best.msPerSample() || candidate.bytes >= minimum)
      continue;
    minimum = candidate.bytes;
    candidate.fate = Candidate::OnFront;
    result.front.push_back(i);
  }
  result.candidates[*result.best].fate = Candidate::Best;
  result.boundMs = best.ms;
  for (const Candidate &candidate : result.candidates)
    if (candidate.fate != Candidate::Full && candidate.fate != Candidate::Refused)
      result.boundMs = std::min(result.boundMs, (candidate.ms > 0 ? candidate.msPerSample()
                                                                  : candidate.boundMsPerSample()) *
                                                    static_cast<double>(best.layout.globalBatch()));
}

absl::StatusOr<SearchResult> SimulatedSearcher::search() {
  // Programs support only one order of ranks.
  SearchSpace own = space;
  own.placements = {RankOrder::OfCluster};
  for (const Layout &layout : enumerateLayouts(own, inputs.model, inputs.cluster))
    result.candidates.emplace_back().layout = layout;
  if (result.candidates.size() > kMaxLayouts)
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxLayouts,
                     " layouts to search; expected narrower ranges or fixed degrees"));
  ST_RETURN_IF_ERROR(readReference());
  double best = std::numeric_limits<double>::infinity();
  size_t done = 0;
  for (const auto &[estimated, i] : orderByEstimate()) {
    Candidate &candidate = result.candidates[i];
    if (isPromising(estimated, candidate)) {
      compose(candidate);
      if (candidate.ms > 0)
        minShare = std::min(minShare, candidate.msPerSample() / estimated);
    }
    if (candidate.fate == Candidate::Slower)
      best = std::min(best, candidate.ms);
    if (progress)
      progress(++done, result.candidates.size(), best);
  }
  simulateFastest();
  judge();
  return std::move(result);
}

absl::StatusOr<SearchResult> searchSimulated(const StepInputs &inputs, const SearchSpace &space,
                                             const SimulatedEffort &effort,
                                             const Progress &progress) {
  return SimulatedSearcher(inputs, space, effort, progress).search();
}

} // namespace st
