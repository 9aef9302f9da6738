// What the runs of a program differ in.
#pragma once

#include "backends/dtu/isa/order/ProgramOrder.h"
#include "lib/Proto/executable.pb.h"

#include <cstdint>
#include <set>
#include <string>

namespace st::dtu {

/// What rank `rank` of a group tells a program for a micro-batch.
RunView runViewOf(const proto::Group &group, int64_t rank, int64_t microBatch);

/// What of a run its instructions depend on.
struct RunDependence {
  bool onRank = false, onMicroBatch = false, onWholeTable = false;
  std::set<int64_t> entries; ///< of the table

  /// Equal for runs of the program that do the same.
  std::string keyOf(const RunView &view) const;
};

/// `peers`: whether runs that differ in whom they talk to differ.
RunDependence dependenceOf(const Program &program, bool peers);

} // namespace st::dtu
