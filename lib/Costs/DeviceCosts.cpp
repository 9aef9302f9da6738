#include "lib/Costs/DeviceCosts.h"
#include "lib/Costs/ElementWidth.h"

#include <algorithm>

namespace st {
namespace {

bool is16Bit(proto::ElementType type) { return type == proto::F16 || type == proto::BF16; }

/// Products read tiles of their operands more than once.
constexpr double kTileReads = 2.5;

} // namespace

DevicePeaks DevicePeaks::unit(int axes) {
  DevicePeaks peaks;
  peaks.flops = 200;
  peaks.flops16 = 800;
  peaks.vectorBytes = 50;
  peaks.memoryBytes = 20;
  peaks.linkBytes.assign(axes, 1);
  peaks.launchUs = 512;
  return peaks;
}

DeviceCosts::DeviceCosts(DevicePeaks devicePeaks) : peaks(std::move(devicePeaks)) {
  for (double rate : peaks.linkBytes) {
    fastest = std::max(fastest, rate);
    slowest = rate > 0 && (slowest == 0 || rate < slowest) ? rate : slowest;
  }
  if (fastest == 0)
    fastest = slowest = peaks.memoryBytes;
}

OpTime DeviceCosts::op(const proto::OpWork &work) const {
  const bool isProduct = work.kind() == proto::OpWork::PRODUCT;
  const double computing = isProduct
                               ? work.flops() / (is16Bit(work.type()) ? peaks.flops16 : peaks.flops)
                               : work.flops() * widthOf(work.type()) / peaks.vectorBytes;
  const double moving = (work.read_bytes() + work.written_bytes()) / peaks.memoryBytes;
  const double longer = std::max(computing, moving);
  return {peaks.launchUs, longer, isProduct ? std::min(longer, kTileReads * moving) : moving};
}

OpTime DeviceCosts::collective(absl::string_view kind, double bytes,
                               const GroupPlacement &placement) const {
  if (placement.ranks <= 1)
    return {};
  double sent = bytes - bytes / placement.ranks, messages = placement.ranks - 1;
  if (kind == "all_reduce") {
    sent *= 2;
    messages *= 2;
  } else if (kind == "collective_permute") {
    sent = bytes;
    messages = 1;
  }
  // Sent bytes are read and written. A sum reads another part, and a scattered sum also copies it.
  const double touched = kind == "all_reduce" ? 2.5 : kind == "reduce_scatter" ? 5 : 2;
  const double memory = touched * sent / peaks.memoryBytes;
  return {peaks.launchUs,
          messages * peaks.messageUs + std::max(sent / rateOf(placement.link), memory), memory};
}

double DeviceCosts::transfer(double bytes, bool crossesNodes, int /*sharers*/) const {
  return peaks.messageUs + bytes / (crossesNodes ? slowest : fastest);
}

OpTime DeviceCosts::memoryPass(double bytes, double launches) const {
  return {launches * peaks.launchUs, bytes / peaks.memoryBytes, bytes / peaks.memoryBytes};
}

double DeviceCosts::peakFlops(proto::ElementType type) const {
  return (is16Bit(type) ? peaks.flops16 : peaks.flops) * 1e6;
}

} // namespace st
