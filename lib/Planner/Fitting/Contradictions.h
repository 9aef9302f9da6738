// Measured rows that contradict each other.
#ifndef ST_PLANNER_CONTRADICTIONS_H
#define ST_PLANNER_CONTRADICTIONS_H

#include "lib/Planner/Fitting/Rows.h"

#include <string>
#include <vector>

namespace st {

/// Two rows, by index. A disturbance only slows a run down, so `row` is the slower of the two.
struct Contradiction {
  size_t row = 0, peer = 0;
  std::string what; ///< "forward 89.5 ms, 53.9 ms for the same work"
};

/// Finds rows of one model whose measured times differ by more than 15 % although they should not:
/// steps of one layout, and timers of ranks with the same passes and update in jobs with different
/// numbers of replicas. For one layout, fewer micro-batches must not take longer either. Returns
/// the first such time of each pair.
std::vector<Contradiction> findContradictions(const std::vector<MeasuredRow> &rows);

/// Marks each row that is the `row` of a contradiction.
std::vector<bool> flaggedRows(const std::vector<Contradiction> &contradictions, size_t count);

} // namespace st

#endif // ST_PLANNER_CONTRADICTIONS_H
