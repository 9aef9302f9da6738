#include "lib/Planner/SimulatedSearch.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <limits>

namespace st {
namespace {

class SimulatedSearcher {
public:
  SimulatedSearcher(const StepInputs &inputs, const SearchSpace &space, size_t count,
                    const Progress &progress)
      : inputs(inputs), space(space), count(count), progress(progress) {}

  absl::StatusOr<SearchResult> search();

private:
  void compose(Candidate &candidate);
  void refuseFull(Candidate &candidate) const;
  void simulateFastest();
  void judge();
  /// Candidates that fit, the fastest first.
  std::vector<size_t> fitting() const;

  const StepInputs &inputs;
  const SearchSpace &space;
  const size_t count;
  const Progress &progress;
  SearchResult result;
};

} // namespace

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
  if (step->fit == Fit::Fits)
    return;
  refuseFull(candidate);
}

std::vector<size_t> SimulatedSearcher::fitting() const {
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
  for (size_t i : fitting()) {
    if (result.simulated.size() == count)
      return;
    Candidate &candidate = result.candidates[i];
    const absl::StatusOr<WholeStep> whole = inputs.simulated->timeWhole(candidate.layout);
    if (!whole.ok()) {
      candidate.fate = Candidate::Refused;
      candidate.reason = std::string(whole.status().message());
      continue;
    }
    candidate.ms = static_cast<double>(whole->picoseconds) * 1e-9;
    candidate.bytes =
        static_cast<double>(*std::max_element(whole->arenaBytes.begin(), whole->arenaBytes.end()));
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
  double least = std::numeric_limits<double>::infinity();
  for (size_t i : fitting()) {
    Candidate &candidate = result.candidates[i];
    // A composition that is faster than what was simulated to be the best is no finding.
    if (i != *result.best)
      candidate.reason =
          absl::StrFormat("takes %.4g ms, %+.1f %% a sample against the best", candidate.ms,
                          (candidate.msPerSample() / best.msPerSample() - 1) * 100);
    if (candidate.msPerSample() < best.msPerSample() || candidate.bytes >= least)
      continue;
    least = candidate.bytes;
    candidate.fate = Candidate::OnFront;
    result.front.push_back(i);
  }
  result.candidates[*result.best].fate = Candidate::Best;
  result.boundMs = best.ms;
  for (const Candidate &candidate : result.candidates)
    if (candidate.fate <= Candidate::Slower)
      result.boundMs = std::min(result.boundMs, candidate.msPerSample() *
                                                    static_cast<double>(best.layout.globalBatch()));
}

absl::StatusOr<SearchResult> SimulatedSearcher::search() {
  // Programs have their ranks in one order.
  SearchSpace own = space;
  own.placements = {RankOrder::OfCluster};
  for (const Layout &layout : enumerateLayouts(own, inputs.model, inputs.cluster))
    result.candidates.emplace_back().layout = layout;
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < result.candidates.size(); ++i) {
    Candidate &candidate = result.candidates[i];
    compose(candidate);
    if (candidate.fate == Candidate::Slower)
      best = std::min(best, candidate.ms);
    if (progress)
      progress(i + 1, result.candidates.size(), best);
  }
  simulateFastest();
  judge();
  return std::move(result);
}

absl::StatusOr<SearchResult> searchSimulated(const StepInputs &inputs, const SearchSpace &space,
                                             size_t count, const Progress &progress) {
  return SimulatedSearcher(inputs, space, count, progress).search();
}

} // namespace st
