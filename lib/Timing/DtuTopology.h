// The links of a DTU machine and the path between two clusters.
//
// A cluster has a transmit and a receive port. Chips of a group are connected pairwise, with a
// separate link per direction. A group has one cable, out and in, which all its chips share for
// traffic that leaves the group.
#pragma once

#include "lib/Timing/DtuCosts.h"
#include "lib/Timing/DtuDescription.h"

#include "absl/status/status.h"

#include <array>
#include <map>
#include <string>

namespace st {

/// The links that a message occupies, in order, and its cost on an idle machine.
struct LinkPath {
  std::array<int32_t, 4> links = {};
  int32_t count = 0;
  Picoseconds latency = 0;
  double perByte = 0; ///< picoseconds a byte on the slowest link

  Picoseconds time(int64_t bytes) const { return latency + DtuCosts::scale(bytes, perByte); }
};

class DtuTopology {
public:
  /// `description` must have passed checkDtuDescription. Links of chips 0 .. chips-1 exist.
  DtuTopology(const proto::DtuDescription &description, int64_t chips);

  LinkPath path(const DtuPlace &source, const DtuPlace &destination) const;

  /// Checks that the links which the description derates exist.
  absl::Status checkDerates() const;

  int32_t numLinks() const;
  double linkPerByte(int32_t link) const;
  /// A readable name: "cluster 1.3 tx" (chip 1, cluster 3), "chip 0 -> chip 1", "group 0 out".
  std::string linkName(int32_t link) const;

private:
  int32_t clusterPort(const DtuPlace &place, bool receive) const;
  int32_t chipLink(int64_t source, int64_t destination) const;
  int32_t groupCable(int64_t group, bool in) const;
  double describedPerByte(int32_t link) const;

  int64_t chips, groups, clustersPerChip, chipsPerGroup;
  double onchipPerByte, chipPerByte, groupPerByte;
  Picoseconds onchipLatency, chipLatency, groupLatency;
  std::map<std::string, double> factors; ///< of derated links
};

} // namespace st
