#include "lib/Planner/Fitting/Contradictions.h"

#include "absl/strings/str_format.h"

#include <optional>

namespace st {
namespace {

/// Runs of the same work on a quiet cluster differ by a few per cent.
constexpr double kMaxRatio = 1.15;

bool haveOneModel(const MeasuredRow &a, const MeasuredRow &b) {
  const PlannedModel &x = a.model, &y = b.model;
  return a.family == b.family && a.hasGivenModel == b.hasGivenModel && a.ffnHidden == b.ffnHidden &&
         x.hidden == y.hidden && x.layers == y.layers && x.heads == y.heads &&
         x.sequence == y.sequence && x.vocabulary == y.vocabulary && x.precision == y.precision;
}

/// Returns the time by which `row` is too slow for a step of the layout of `peer`.
std::optional<std::string> compareSteps(const MeasuredRow &row, const MeasuredRow &peer) {
  Layout same = peer.layout;
  same.microBatches = row.layout.microBatches;
  if (!row.measuredMs || !peer.measuredMs || !(same == row.layout) ||
      row.optimizer != peer.optimizer)
    return std::nullopt;
  const int64_t mine = row.layout.microBatches, theirs = peer.layout.microBatches;
  const double ratio = *row.measuredMs / *peer.measuredMs;
  if (mine > theirs || ratio <= (mine == theirs ? kMaxRatio : 1))
    return std::nullopt;
  return absl::StrFormat("%.4g ms for %d micro-batches, %.4g ms for %d", *row.measuredMs, mine,
                         *peer.measuredMs, theirs);
}

/// The same for the timers of a rank, which do not depend on the number of replicas.
std::optional<std::string> compareTimers(const MeasuredRow &row, const MeasuredRow &peer) {
  Layout same = peer.layout;
  same.replicas = row.layout.replicas;
  if (!(same == row.layout))
    return std::nullopt;
  // ZeRO splits the update over the replicas.
  const bool sameUpdate = row.optimizer == peer.optimizer &&
                          (row.layout.zero == 0 || row.layout.replicas == peer.layout.replicas);
  const std::optional<double> none;
  struct Pair {
    const char *name;
    const std::optional<double> &mine, &theirs;
  };
  for (const Pair &timer :
       {Pair{"forward", row.forwardMs, peer.forwardMs},
        Pair{"backward", row.backwardMs, peer.backwardMs},
        Pair{"optimizer", sameUpdate ? row.optimizerMs : none, peer.optimizerMs}})
    if (timer.mine && timer.theirs && *timer.mine > kMaxRatio * *timer.theirs)
      return absl::StrFormat("%s %.4g ms, %.4g ms for the same work", timer.name, *timer.mine,
                             *timer.theirs);
  return std::nullopt;
}

} // namespace

std::vector<Contradiction> findContradictions(const std::vector<MeasuredRow> &rows) {
  std::vector<Contradiction> found;
  for (size_t row = 0; row < rows.size(); ++row)
    for (size_t peer = 0; peer < rows.size(); ++peer) {
      if (row == peer || !haveOneModel(rows[row], rows[peer]))
        continue;
      std::optional<std::string> what = compareSteps(rows[row], rows[peer]);
      if (!what)
        what = compareTimers(rows[row], rows[peer]);
      if (what)
        found.push_back({row, peer, *std::move(what)});
    }
  return found;
}

std::vector<bool> flaggedRows(const std::vector<Contradiction> &contradictions, size_t count) {
  std::vector<bool> flagged(count);
  for (const Contradiction &each : contradictions)
    flagged[each.row] = true;
  return flagged;
}

} // namespace st
