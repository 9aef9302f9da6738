// The inputs in which the runs of a program differ.
#pragma once

#include "backends/dtu/isa/order/ProgramOrder.h"
#include "lib/Proto/executable.pb.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace st::dtu {

/// The values that a program reads of rank `rank` of a group and of a micro-batch.
RunView runViewOf(const proto::Group &group, int64_t rank, int64_t microBatch);

/// The properties of a run on which its instructions depend.
struct RunDependence {
  bool onRank = false, onMicroBatch = false, onFullTable = false;
  std::set<int64_t> entries; ///< entries of the rank table

  /// The values of these inputs in a run. Runs with equal values execute the same instructions.
  std::vector<int64_t> valuesOf(const RunView &view) const;
  std::string keyOf(const RunView &view) const;
  /// Returns true if `values` are those of the run; as opposed to the functions above, it allocates
  /// nothing.
  bool hasValues(const RunView &view, const std::vector<int64_t> &values) const;
};

/// `peers`: runs with different peers count as different.
RunDependence dependenceOf(const Program &program, bool peers);

} // namespace st::dtu
