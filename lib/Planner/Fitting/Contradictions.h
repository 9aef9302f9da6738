// Measured rows that cannot both be right.
#ifndef ST_PLANNER_CONTRADICTIONS_H
#define ST_PLANNER_CONTRADICTIONS_H

#include "lib/Planner/Fitting/Rows.h"

#include <string>
#include <vector>

namespace st {

/// Two rows, by their index. Whatever disturbs a run makes it slower, so `row` is the one that took
/// longer for its work.
struct Contradiction {
  size_t row = 0, peer = 0;
  std::string what; ///< "forward 89.5 ms, 53.9 ms for the same work"
};

/// Rows of one model whose measured times differ by more than 15 % where they cannot: steps of one
/// layout, and timers of ranks that have the same passes and the same update in jobs with other
/// numbers of replicas. Of one layout, fewer micro-batches do not take longer either. Of each pair
/// of rows the first such time is given.
std::vector<Contradiction> findContradictions(const std::vector<MeasuredRow> &rows);

/// Whether each row is the `row` of a contradiction.
std::vector<bool> flaggedRows(const std::vector<Contradiction> &contradictions, size_t count);

} // namespace st

#endif // ST_PLANNER_CONTRADICTIONS_H
