#include "lib/Planner/Search/Search.h"

#include "lib/Planner/Search/Sketch.h"
#include "lib/Planner/Search/StepMemo.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>

namespace st {
namespace {

constexpr double kGib = 1 << 30;

/// A sum in another order may differ in the last bits.
constexpr double kRounding = 1 - 1e-9;

/// Sketched blocks may take longer than compiled ones by this fraction.
constexpr double kSketchSlack = 1 - 2e-3;

/// The basis of a candidate's bounds.
enum class Bounds : uint8_t { Roofline, SketchedPipeline, SketchedStep, Blocks };

/// A candidate that may still be the best or on the front.
struct Open {
  double msPerSample;
  size_t index;
  Bounds bounds;

  /// A queue returns the smallest first.
  bool operator<(const Open &other) const {
    return msPerSample != other.msPerSample ? msPerSample > other.msPerSample : index > other.index;
  }
};

class Searcher {
public:
  Searcher(const StepInputs &given, const SearchSpace &space, const Progress &progress)
      : inputs(given), space(space), progress(progress), sketches(given.blocks) {
    inputs.memo = &memo;
  }

  absl::StatusOr<SearchResult> search();

private:
  absl::Status readReference();
  void boundByRoofline(Candidate &candidate) const;
  /// Sets the bounds of a candidate from blocks, and its outcome if it does not fit.
  void boundByBlocks(Candidate &candidate, const proto::ProgramWork &work,
                     const proto::ProgramWork &kept, BoundDetail detail, double slack);
  bool boundBySketch(Candidate &candidate, BoundDetail detail);
  bool boundByCompiledBlocks(Candidate &candidate);
  /// Returns true if a layout that fits is at least as good as the candidate's bounds.
  bool isBounded(Candidate &candidate) const;
  /// Returns true if fewer than `fastest` known layouts that fit take less time per sample.
  bool isAmongFastest(double msPerSample) const {
    return fastest.size() < space.fastest || msPerSample < *fastest.rbegin();
  }
  void compose(size_t index);
  void keepOnFront(size_t index);
  void setFull(Candidate &candidate, const DeviceMemory &memory, int64_t group, bool isExact) const;
  /// Tightens the bounds of a candidate by one step. Returns true if it is still open.
  bool advance(Open &open);

  void judge();
  void boundAll();
  std::string compare(size_t loser) const;

  StepInputs inputs;
  const SearchSpace &space;
  const Progress &progress;
  StepMemo memo;
  BlockSketches sketches;
  /// Figures of all layers, and of embeddings and head, for one sequence on one device.
  double layerFlops = 0, outerFlops = 0, layerElements = 0;
  std::multiset<double> fastest; ///< times per sample
  std::vector<size_t> front;     ///< unordered, among composed layouts that fit
  std::map<size_t, std::vector<Timer>> timers;
  double room = 0;
  SearchResult result;
};

} // namespace

/// Reads the work and the state of the model from its smallest program.
absl::Status Searcher::readReference() {
  ST_ASSIGN_OR_RETURN(const proto::ProgramWork *work, readUnshardedWork(inputs));
  for (const proto::PhaseWork &phase : work->phases())
    for (const proto::OpWork &op : phase.ops()) {
      if (op.kind() != proto::OpWork::PRODUCT ||
          (phase.phase() == "backward" && op.is_recomputed()))
        continue;
      const double all = op.flops() * static_cast<double>(inputs.model.timesOf(phase.block()));
      if (inputs.model.isLayer(phase.block()))
        layerFlops += all;
      else if (phase.block() >= 0)
        outerFlops += all;
    }
  for (const proto::StateWork &state : work->states())
    if (state.role() == "parameter" && !state.is_of_experts() && !state.blocks().empty() &&
        inputs.model.isLayer(state.blocks(0)))
      layerElements +=
          static_cast<double>(state.elements()) * static_cast<double>(inputs.model.timesOf(state));
  room = inputs.cluster.memory_bytes().value();
  return absl::OkStatus();
}

void Searcher::boundByRoofline(Candidate &candidate) const {
  const Layout &layout = candidate.layout;
  const auto tensor = static_cast<double>(layout.tensor),
             stages = static_cast<double>(layout.stages),
             batches = static_cast<double>(layout.microBatches);
  const bool runsAgain = inputs.profile.framework_ops() && layout.recompute == Recompute::Full;
  const double again = runsAgain ? 4.0 / 3.0 : 1.0;
  const double perMicroBatch =
      static_cast<double>(layout.microBatch) / tensor / static_cast<double>(layout.context);
  // All micro-batches pass the group with most work, which is at least the mean.
  const double all = (layerFlops * again + outerFlops) * perMicroBatch;
  const auto type = inputs.model.precision == "f32" ? proto::F32 : proto::F16;
  candidate.boundMs = all / stages * batches / inputs.costs.fastestProduct(type) * 1e3 * kRounding;
  const proto::StateProfile &state = stateOf(inputs.profile, inputs.model.precision);
  const double copies = layout.zero >= 3 ? static_cast<double>(layout.copies()) : 1;
  candidate.boundBytes = inputs.cluster.context_bytes().value() +
                         layerElements / stages / tensor * state.weights() / copies;
}

void Searcher::setFull(Candidate &candidate, const DeviceMemory &memory, int64_t group,
                       bool isExact) const {
  std::pair<const char *, double> maximum = {"", 0};
  for (const auto &each : memory.classes())
    if (each.second > maximum.second)
      maximum = each;
  candidate.fate = Candidate::Full;
  candidate.reason =
      absl::StrFormat("takes %s%.1f of %.1f GiB on device group %d, most of it %s (%.1f GiB)",
                      isExact ? "" : "at least ", memory.total() / kGib, room / kGib, group,
                      maximum.first, maximum.second / kGib);
}

void Searcher::boundByBlocks(Candidate &candidate, const proto::ProgramWork &work,
                             const proto::ProgramWork &kept, BoundDetail detail, double slack) {
  const StepBound bound = boundStep(inputs, candidate.layout, work, kept, detail);
  candidate.boundMs = std::max(candidate.boundMs, bound.ms * slack);
  candidate.boundBytes = bound.memory.total();
  if (judgeFit(bound.memory, room) == Fit::DoesNotFit)
    setFull(candidate, bound.memory, bound.group, false);
}

bool Searcher::boundBySketch(Candidate &candidate, BoundDetail detail) {
  const StepBlocks keys = blocksOf(inputs, candidate.layout);
  const proto::ProgramWork *work = sketches.get(keys.work),
                           *kept = work ? sketches.get(keys.kept) : nullptr;
  if (!kept)
    return false;
  boundByBlocks(candidate, *work, *kept, detail,
                candidate.layout.microBatch <= kCompiledSequences ? kRounding : kSketchSlack);
  return true;
}

bool Searcher::boundByCompiledBlocks(Candidate &candidate) {
  const StepBlocks keys = blocksOf(inputs, candidate.layout);
  for (const BlockKey &key : {keys.work, keys.kept})
    if (auto work = inputs.blocks.get(key); !work.ok()) {
      candidate.fate = Candidate::Refused;
      candidate.reason = std::string(work.status().message());
      return false;
    }
  boundByBlocks(candidate, **inputs.blocks.get(keys.work), **inputs.blocks.get(keys.kept),
                BoundDetail::Step, kRounding);
  return true;
}

bool Searcher::isBounded(Candidate &candidate) const {
  if (isAmongFastest(candidate.boundMsPerSample()))
    return false;
  for (size_t index : front) {
    const Candidate &other = result.candidates[index];
    if (other.msPerSample() > candidate.boundMsPerSample() || other.bytes > candidate.boundBytes ||
        other.layout.devices() > candidate.layout.devices())
      continue;
    candidate.fate = Candidate::Bounded;
    candidate.reason =
        space.hasBatchRange()
            ? absl::StrFormat(
                  "takes at least %.2f ms a sample and %.1f GiB; %s takes %.2f ms and %.1f GiB",
                  candidate.boundMsPerSample(), candidate.boundBytes / kGib,
                  printLayout(other.layout), other.msPerSample(), other.bytes / kGib)
            : absl::StrFormat("takes at least %.2f ms and %.1f GiB; %s takes %.2f ms and %.1f GiB",
                              candidate.boundMs, candidate.boundBytes / kGib,
                              printLayout(other.layout), other.ms, other.bytes / kGib);
    return true;
  }
  return false;
}

void Searcher::keepOnFront(size_t index) {
  const Candidate &added = result.candidates[index];
  auto isBetter = [](const Candidate &a, const Candidate &b) {
    return a.msPerSample() <= b.msPerSample() && a.bytes <= b.bytes &&
           a.layout.devices() <= b.layout.devices();
  };
  if (std::any_of(front.begin(), front.end(),
                  [&](size_t other) { return isBetter(result.candidates[other], added); }))
    return;
  front.erase(
      std::remove_if(front.begin(), front.end(),
                     [&](size_t other) { return isBetter(added, result.candidates[other]); }),
      front.end());
  front.push_back(index);
}

void Searcher::compose(size_t index) {
  Candidate &candidate = result.candidates[index];
  absl::StatusOr<StepEstimate> step = estimateStep(inputs, candidate.layout);
  ++result.composed;
  if (!step.ok()) {
    candidate.fate = Candidate::Refused;
    candidate.reason = std::string(step.status().message());
    return;
  }
  const DeviceMemory &memory = step->memory[step->fullest];
  candidate.ms = step->ms;
  candidate.bytes = memory.total();
  // The devices have room, but the host does not.
  if (step->fit == Fit::DoesNotFit && memory.needed() <= room) {
    const int64_t ofNode =
        std::min<int64_t>(inputs.cluster.devices_per_node(), candidate.layout.devices());
    candidate.fate = Candidate::Full;
    candidate.reason =
        absl::StrFormat("offloads %.1f GiB to the memory of a node that has %.1f GiB",
                        step->hostBytes * static_cast<double>(ofNode) / (1 << 30),
                        inputs.cluster.host_bytes_per_node().value() / (1 << 30));
    return;
  }
  if (step->fit == Fit::DoesNotFit) {
    setFull(candidate, memory, static_cast<int64_t>(step->fullest), true);
    return;
  }
  timers[index] = std::move(step->timers);
  fastest.insert(candidate.msPerSample());
  if (fastest.size() > space.fastest)
    fastest.erase(std::prev(fastest.end()));
  keepOnFront(index);
}

bool Searcher::advance(Open &open) {
  Candidate &candidate = result.candidates[open.index];
  if (isBounded(candidate))
    return false;
  if (open.bounds == Bounds::Blocks) {
    compose(open.index);
    return false;
  }
  // A sketch of few sequences is a compiled block.
  const bool isCompiled = candidate.layout.microBatch <= kCompiledSequences;
  if (open.bounds == Bounds::Roofline && boundBySketch(candidate, BoundDetail::Pipeline))
    open.bounds = Bounds::SketchedPipeline;
  else if (open.bounds == Bounds::SketchedPipeline && boundBySketch(candidate, BoundDetail::Step))
    open.bounds = isCompiled ? Bounds::Blocks : Bounds::SketchedStep;
  else if (boundByCompiledBlocks(candidate))
    open.bounds = Bounds::Blocks;
  open.msPerSample = candidate.boundMsPerSample();
  return candidate.fate == Candidate::Slower;
}

/// Names the timers in which a slower layout loses most time.
std::string Searcher::compare(size_t index) const {
  const Candidate &loser = result.candidates[index], &best = result.candidates[*result.best];
  const double samples = static_cast<double>(loser.layout.globalBatch()),
               bestSamples = static_cast<double>(best.layout.globalBatch());
  // In a range of batches, times are compared per sample.
  const double scale = space.hasBatchRange() ? samples : 1,
               bestScale = space.hasBatchRange() ? bestSamples : 1;
  auto find = [&](const std::string &name) {
    for (const Timer &timer : timers.at(*result.best))
      if (timer.name == name)
        return timer.most / bestScale;
    return 0.0;
  };
  std::vector<std::pair<double, std::string>> losses;
  for (const Timer &timer : timers.at(index))
    if (timer.name != "optimizer")
      losses.emplace_back(timer.most / scale - find(timer.name), timer.name);
  std::sort(losses.rbegin(), losses.rend());
  std::string text = absl::StrFormat("takes %.2f ms%s, %.1f %% more", loser.ms / scale,
                                     space.hasBatchRange() ? " a sample" : "",
                                     (loser.msPerSample() / best.msPerSample() - 1) * 100);
  for (size_t i = 0; i < losses.size() && i < 2; ++i)
    if (losses[i].first > 0.01 * best.ms / bestScale)
      absl::StrAppend(&text, i == 0 ? ": " : ", ",
                      absl::StrFormat("%s +%.2f ms", losses[i].second, losses[i].first));
  return text;
}

void Searcher::judge() {
  std::vector<Candidate> &candidates = result.candidates;
  std::sort(front.begin(), front.end(), [&](size_t a, size_t b) {
    const Candidate &x = candidates[a], &y = candidates[b];
    return x.msPerSample() != y.msPerSample() ? x.msPerSample() < y.msPerSample()
                                              : x.bytes < y.bytes;
  });
  if (front.empty())
    return;
  result.front = front;
  result.best = front.front();
  for (size_t i : front)
    candidates[i].fate = Candidate::OnFront;
  for (const auto &[index, times] : timers)
    if (index != *result.best)
      candidates[index].reason = compare(index);
  candidates[*result.best].fate = Candidate::Best;
}

void Searcher::boundAll() {
  if (!result.best)
    return;
  double minimum = std::numeric_limits<double>::infinity();
  for (const Candidate &candidate : result.candidates)
    if (candidate.fate != Candidate::Full && candidate.fate != Candidate::Refused)
      minimum = std::min(minimum,
                         candidate.ms > 0 ? candidate.msPerSample() : candidate.boundMsPerSample());
  result.boundMs =
      minimum * static_cast<double>(result.candidates[*result.best].layout.globalBatch());
}

absl::StatusOr<SearchResult> Searcher::search() {
  if (absl::Status status = readReference(); !status.ok())
    return status;
  std::priority_queue<Open> open;
  const std::vector<Layout> layouts = enumerateLayouts(space, inputs.model, inputs.cluster);
  if (layouts.size() > kMaxLayouts)
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxLayouts,
                     " layouts to search; expected narrower ranges or fixed degrees"));
  result.candidates.reserve(layouts.size());
  size_t done = 0;
  for (const Layout &layout : layouts) {
    Candidate &candidate = result.candidates.emplace_back();
    candidate.layout = layout;
    if (absl::Status status = checkLayout(inputs, layout); !status.ok()) {
      candidate.fate = Candidate::Refused;
      candidate.reason = std::string(status.message());
      ++done;
      continue;
    }
    boundByRoofline(candidate);
    open.push({candidate.boundMsPerSample(), result.candidates.size() - 1, Bounds::Roofline});
  }
  double best = std::numeric_limits<double>::infinity();
  while (!open.empty()) {
    Open next = open.top();
    open.pop();
    if (advance(next)) {
      open.push(next);
      continue;
    }
    const Candidate &candidate = result.candidates[next.index];
    if (candidate.fate == Candidate::Slower)
      best = std::min(best, candidate.ms);
    if (progress)
      progress(++done, result.candidates.size(), best);
  }
  judge();
  boundAll();
  return std::move(result);
}

absl::StatusOr<SearchResult> searchLayouts(const StepInputs &inputs, const SearchSpace &space,
                                           const Progress &progress) {
  return Searcher(inputs, space, progress).search();
}

} // namespace st
