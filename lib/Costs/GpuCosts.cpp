#include "lib/Costs/GpuCosts.h"

#include <algorithm>
#include <cmath>

namespace st {
namespace {

bool is16Bit(proto::ElementType type) { return type == proto::F16 || type == proto::BF16; }

/// Returns the fraction of full speed that matrix units reach for a dimension of `size` elements of
/// `bytes` each. Rows that are not aligned to cache lines need more loads, and sizes that tensor
/// cores do not support need other instructions.
double alignmentShare(const proto::KernelProfile &kernels, int64_t size, double bytes) {
  const double rowBytes = static_cast<double>(size) * bytes;
  for (const proto::KernelProfile::Alignment &alignment : kernels.alignments())
    if (std::fmod(rowBytes, alignment.bytes()) == 0)
      return alignment.share();
  return kernels.unaligned_share();
}

proto::ClusterDescription withEfficiency(proto::ClusterDescription cluster, double efficiency) {
  cluster.mutable_card_efficiency()->set_value(efficiency);
  return cluster;
}

} // namespace

std::vector<std::string> constantNames() {
  return {"launch_us", "product_efficiency", "memory_efficiency", "network_efficiency", "step_us"};
}

double *findConstant(GpuConstants &constants, absl::string_view name) {
  if (name == "launch_us")
    return &constants.launchUs;
  if (name == "product_efficiency")
    return &constants.productEfficiency;
  if (name == "memory_efficiency")
    return &constants.memoryEfficiency;
  if (name == "network_efficiency")
    return &constants.networkEfficiency;
  return name == "step_us" ? &constants.stepUs : nullptr;
}

GpuCosts::GpuCosts(const proto::ClusterDescription &cluster,
                   const proto::ImplementationProfile &profile, const GpuConstants &constants)
    : cluster(withEfficiency(cluster, constants.networkEfficiency)), profile(profile),
      constants(constants), collectives(this->cluster, profile.cards_per_collective(),
                                        profile.collectives_share_cards()) {
  for (const proto::RegionProfile &region : profile.regions())
    regions[region.name()] = &region;
}

double GpuCosts::peakFlops(proto::ElementType type) const {
  return (is16Bit(type) ? cluster.f16_tflops().value() : cluster.f32_tflops().value()) * 1e12;
}

double GpuCosts::memoryUs(double bytes) const {
  return bytes / (cluster.memory_gbytes_per_second().value() * constants.memoryEfficiency * 1e3);
}

double GpuCosts::productUs(const proto::OpWork &work) const {
  const proto::KernelProfile &kernels = profile.kernels();
  const double processors = cluster.multiprocessors().value();
  const double perProcessor = peakFlops(work.type()) / processors * constants.productEfficiency;
  double best = 0;
  for (const proto::KernelProfile::Tile &tile : kernels.tiles()) {
    const double tiles = std::ceil(static_cast<double>(work.m()) / tile.rows()) *
                         std::ceil(static_cast<double>(work.n()) / tile.columns()) *
                         static_cast<double>(work.batch());
    const double filled = std::max(tiles / processors, 1.0);
    const double waves = filled + kernels.empty_tail() * (std::ceil(filled) - filled);
    const double tileFlops = 2 * tile.rows() * tile.columns() * static_cast<double>(work.k());
    const double seconds = waves * tileFlops / (perProcessor * tile.efficiency());
    if (best == 0 || seconds < best)
      best = seconds;
  }
  // FLOPs of the first product, to which the sizes refer; the kernel may have several products.
  const double first = 2.0 * static_cast<double>(work.m()) * static_cast<double>(work.n()) *
                       static_cast<double>(work.k()) * static_cast<double>(work.batch());
  if (first > 0)
    best *= work.flops() / first;
  return std::max(best * 1e6 / sizeFactor(work),
                  memoryUs(work.read_bytes() + work.written_bytes()));
}

double GpuCosts::sizeFactor(const proto::OpWork &work) const {
  const double bytes = is16Bit(work.type()) ? 2 : 4;
  return std::min(alignmentShare(profile.kernels(), work.k(), bytes),
                  alignmentShare(profile.kernels(), work.n(), bytes));
}

OpTime GpuCosts::op(const proto::OpWork &work) const {
  const bool isProduct = work.kind() == proto::OpWork::PRODUCT;
  OpTime time;
  double bytes = work.read_bytes() + work.written_bytes();
  // A framework's gradient op reads the incoming gradient and one kept tensor.
  if (profile.framework_ops())
    bytes =
        (std::min(work.read_elements(), 2 * work.largest_elements()) + work.written_elements()) *
        (is16Bit(work.type()) ? 2 : 4);
  time.device = isProduct ? productUs(work) : memoryUs(bytes);
  double launches = 1;
  if (profile.framework_ops() && isProduct) {
    launches =
        work.is_gradient() ? profile.gradient_product_launches() : profile.product_launches();
  } else if (profile.framework_ops()) {
    auto found = regions.find(work.region());
    const proto::RegionProfile &region =
        found == regions.end() ? profile.other_regions() : *found->second;
    launches = work.is_gradient() ? region.gradient_launches() : region.launches();
    const double passes = work.is_gradient() ? region.gradient_passes() : region.passes();
    if (work.is_gradient() ? region.has_gradient_passes() : region.has_passes())
      time.device *= passes;
  }
  if (launches > 0)
    time.device += profile.kernels().kernel_us() * (isProduct ? 1 : launches);
  time.host = launches * constants.launchUs;
  if (work.is_gradient() && profile.framework_ops())
    time.host *= profile.gradient_launch_share();
  return time;
}

OpTime GpuCosts::collective(absl::string_view kind, double bytes,
                            const GroupPlacement &placement) const {
  OpTime time;
  if (placement.ranks <= 1)
    return time;
  time.host = std::max(profile.collective_launches(), 1.0) * constants.launchUs;
  if (kind == "all_reduce")
    time.device = collectives.allReduce(bytes, placement);
  else if (kind == "all_gather")
    time.device = collectives.allGather(bytes, placement);
  else if (kind == "reduce_scatter")
    time.device = collectives.reduceScatter(bytes, placement);
  else
    time.device = collectives.allToAll(bytes, placement);
  if (profile.waits_for_collectives())
    time.host += time.device;
  return time;
}

double GpuCosts::transfer(double bytes, bool crossesNodes, int sharers) const {
  return collectives.pointToPoint(bytes, crossesNodes, sharers);
}

OpTime GpuCosts::memoryPass(double bytes, double launches) const {
  return {launches * constants.launchUs, memoryUs(bytes)};
}

} // namespace st
