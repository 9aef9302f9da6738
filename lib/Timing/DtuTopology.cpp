#include "lib/Timing/DtuTopology.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace st {
namespace {

/// 0 if the device has no such links; then no path uses the value.
double perByteOrZero(const proto::Figure &gigabytesPerSecond) {
  return gigabytesPerSecond.value() > 0 ? 1000.0 / gigabytesPerSecond.value() : 0;
}

Picoseconds latency(const proto::Figure &nanoseconds) {
  return std::llround(nanoseconds.value() * 1000);
}

} // namespace

DtuTopology::DtuTopology(const proto::DtuDescription &description, int64_t chips)
    : chips(chips), clustersPerChip(description.clusters_per_chip()),
      chipsPerGroup(description.chips_per_group()),
      onchipPerByte(perByteOrZero(description.onchip_gbytes_per_second())),
      chipPerByte(perByteOrZero(description.chip_gbytes_per_second())),
      groupPerByte(perByteOrZero(description.group_gbytes_per_second())),
      onchipLatency(latency(description.onchip_latency_ns())),
      chipLatency(latency(description.chip_latency_ns())),
      groupLatency(latency(description.group_latency_ns())) {
  groups = (chips + chipsPerGroup - 1) / chipsPerGroup;
  for (const proto::LinkDerate &derate : description.derates())
    factors[derate.link()] = derate.factor();
}

absl::Status DtuTopology::checkDerates() const {
  std::set<std::string> names;
  for (int32_t link = 0; link < numLinks(); ++link)
    names.insert(linkName(link));
  for (const auto &[name, factor] : factors) {
    if (!names.count(name))
      return absl::InvalidArgumentError(
          absl::StrCat("there is no link \"", name, "\" to derate; links are named like \"",
                       *names.begin(), "\" and \"", *names.rbegin(), "\""));
    if (!(factor > 0 && factor <= 1))
      return absl::InvalidArgumentError(absl::StrCat("link \"", name, "\" is derated by ", factor,
                                                     ", expected a factor above 0 and at most 1"));
  }
  return absl::OkStatus();
}

// Links are numbered ports first, then pairs of chips of a group, then cables.
int32_t DtuTopology::clusterPort(const DtuPlace &place, bool receive) const {
  return static_cast<int32_t>((place.chip * clustersPerChip + place.cluster) * 2 + receive);
}

int32_t DtuTopology::chipLink(int64_t source, int64_t destination) const {
  return static_cast<int32_t>(chips * clustersPerChip * 2 + source * chipsPerGroup +
                              destination % chipsPerGroup);
}

int32_t DtuTopology::groupCable(int64_t group, bool in) const {
  return static_cast<int32_t>(chips * clustersPerChip * 2 + chips * chipsPerGroup + group * 2 + in);
}

int32_t DtuTopology::numLinks() const { return groupCable(groups, false); }

LinkPath DtuTopology::path(const DtuPlace &source, const DtuPlace &destination) const {
  LinkPath path;
  auto add = [&](int32_t link) {
    path.links[path.count++] = link;
    path.perByte = std::max(path.perByte, linkPerByte(link));
  };
  add(clusterPort(source, false));
  if (source.chip == destination.chip) {
    path.latency = onchipLatency;
  } else if (source.group == destination.group) {
    path.latency = chipLatency;
    add(chipLink(source.chip, destination.chip));
  } else {
    path.latency = groupLatency;
    add(groupCable(source.group, false));
    add(groupCable(destination.group, true));
  }
  add(clusterPort(destination, true));
  return path;
}

double DtuTopology::linkPerByte(int32_t link) const {
  const double perByte = describedPerByte(link);
  if (factors.empty())
    return perByte;
  auto factor = factors.find(linkName(link));
  return factor == factors.end() ? perByte : perByte / factor->second;
}

double DtuTopology::describedPerByte(int32_t link) const {
  if (link < chips * clustersPerChip * 2)
    return onchipPerByte;
  return link < groupCable(0, false) ? chipPerByte : groupPerByte;
}

std::string DtuTopology::linkName(int32_t link) const {
  int64_t index = link;
  if (index < chips * clustersPerChip * 2)
    return absl::StrCat("cluster ", index / 2 / clustersPerChip, ".", index / 2 % clustersPerChip,
                        index % 2 ? " rx" : " tx");
  index -= chips * clustersPerChip * 2;
  if (index < chips * chipsPerGroup) {
    int64_t source = index / chipsPerGroup;
    int64_t destination = source / chipsPerGroup * chipsPerGroup + index % chipsPerGroup;
    return absl::StrCat("chip ", source, " -> chip ", destination);
  }
  index -= chips * chipsPerGroup;
  return absl::StrCat("group ", index / 2, index % 2 ? " in" : " out");
}

} // namespace st
