#include "lib/Timing/ClusterDescription.h"

#include "lib/Support/InputFile.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Timing/BuiltinTexts.h"
#include "lib/Timing/DeviceFigures.h"
#include "lib/Timing/DtuDescription.h"
#include "lib/Timing/GpuDescription.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

namespace st {
namespace {

constexpr const char *kAxes[] = {"tensor", "data", "pipeline"};
constexpr const char *kCollectives[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "broadcast"};

/// Sets a figure of a cluster that its own file does not give.
void fill(proto::ClusterDescription &cluster, const std::string &field, double value,
          const std::string &source) {
  const google::protobuf::FieldDescriptor *descriptor =
      cluster.GetDescriptor()->FindFieldByName(field);
  const google::protobuf::Reflection *reflection = cluster.GetReflection();
  if (reflection->HasField(cluster, descriptor))
    return;
  auto *figure = static_cast<proto::Figure *>(reflection->MutableMessage(&cluster, descriptor));
  figure->set_value(value);
  figure->set_source(source);
}

void fill(proto::ClusterDescription &cluster, const std::string &field,
          const proto::Figure &figure) {
  fill(cluster, field, figure.value(), figure.source());
}

/// The launch time of a GPU description is for kernels within a graph, and its network rate is a
/// share of a node's, so a cluster has separate figures for both.
void fillFromGpu(proto::ClusterDescription &cluster, const proto::GpuDescription &gpu) {
  fill(cluster, "memory_bytes", gpu.memory_bytes());
  fill(cluster, "multiprocessors", gpu.multiprocessors(), absl::StrCat("d: as in ", gpu.name()));
  fill(cluster, "f32_tflops", gpu.f32_tflops());
  fill(cluster, "f16_tflops", gpu.f16_tflops());
  fill(cluster, "memory_gbytes_per_second", gpu.memory_gbytes_per_second());
  fill(cluster, "l2_bytes", gpu.l2_bytes());
  if (gpu.has_node_gbytes_per_second() && cluster.devices_per_node() > 1) {
    fill(cluster, "fast_domain", cluster.devices_per_node(),
         absl::StrCat("d: all of a node, as in ", gpu.name()));
    fill(cluster, "node_gbytes_per_second", gpu.node_gbytes_per_second());
    fill(cluster, "node_latency_ns", gpu.node_latency_ns());
  }
}

/// A device is a cluster of a DTU chip, a node a group of directly joined chips.
void fillFromDtu(proto::ClusterDescription &cluster, const proto::DtuDescription &dtu) {
  const double clusters = dtu.clusters_per_chip(), cores = dtu.cores_per_cluster();
  const double flopsPerMac = 2 * cores * dtu.clock_ghz().value() / 1e3;
  const std::string from = absl::StrCat("d: ", dtu.name(), ": ");
  fill(cluster, "memory_bytes", dtu.l3_bytes_per_chip().value() / clusters,
       from + "a cluster's share of the L3 of its chip");
  fill(cluster, "multiprocessors", cores, from + "cores of a cluster");
  fill(cluster, "clock_ghz", dtu.clock_ghz());
  fill(cluster, "f32_tflops", dtu.fp32_macs_per_core_cycle().value() * flopsPerMac,
       from + "MACs of the cores of a cluster at their clock");
  fill(cluster, "f16_tflops", dtu.bf16_macs_per_core_cycle().value() * flopsPerMac,
       from + "MACs of the cores of a cluster at their clock");
  fill(cluster, "memory_gbytes_per_second", dtu.l3_gbytes_per_second().value() / clusters,
       from + "a cluster's share of the rate of the L3");
  fill(cluster, "l2_bytes", dtu.l2_bytes_per_cluster());
  fill(cluster, "launch_ns", dtu.task_launch_ns());
  if (cluster.devices_per_node() > 1) {
    fill(cluster, "fast_domain", std::min<double>(clusters, cluster.devices_per_node()),
         from + "clusters of a chip");
    fill(cluster, "node_gbytes_per_second", dtu.onchip_gbytes_per_second());
    if (dtu.has_chip_gbytes_per_second())
      fill(cluster, "node_far_gbytes_per_second", dtu.chip_gbytes_per_second());
    fill(cluster, "node_latency_ns",
         dtu.has_chip_latency_ns() ? dtu.chip_latency_ns() : dtu.onchip_latency_ns());
  }
  if (cluster.max_nodes() > 1 && dtu.has_group_gbytes_per_second()) {
    fill(cluster, "cards_per_node", 1, from + "a cable between groups of chips");
    fill(cluster, "card_gbits_per_second", 8 * dtu.group_gbytes_per_second().value(),
         from + "one direction of the cable between groups");
    fill(cluster, "card_efficiency", 1, from + "the simulator reaches the rate of the cable");
    fill(cluster, "network_latency_ns", dtu.group_latency_ns());
  }
  if (cluster.has_host_bytes_per_node() && dtu.has_host_gbytes_per_second())
    fill(cluster, "host_gbytes_per_second", dtu.host_gbytes_per_second().value() / clusters,
         from + "a cluster's share of the link of its chip");
}

absl::Status fillFromDevice(proto::ClusterDescription &cluster) {
  if (cluster.placement().empty())
    for (const char *axis : kAxes)
      cluster.add_placement(axis);
  if (cluster.device().empty())
    return absl::OkStatus();
  if (isGpuName(cluster.device())) {
    absl::StatusOr<proto::GpuDescription> gpu = builtinGpuDescription(cluster.device());
    if (!gpu.ok())
      return fieldError("device", gpu.status().message());
    fillFromGpu(cluster, *gpu);
    return absl::OkStatus();
  }
  absl::StatusOr<proto::DtuDescription> dtu = builtinDtuDescription(cluster.device());
  if (!dtu.ok())
    return fieldError("device", dtu.status().message());
  fillFromDtu(cluster, *dtu);
  return absl::OkStatus();
}

/// Returns true if the shape of the cluster requires a figure.
bool isNeeded(const google::protobuf::Message &message, const std::string &field) {
  const auto &cluster = static_cast<const proto::ClusterDescription &>(message);
  if (field == "node_far_gbytes_per_second")
    return cluster.devices_per_node() > 1 && cluster.has_fast_domain() &&
           cluster.fast_domain().value() < cluster.devices_per_node();
  if (field == "node_measured_gbytes_per_second" || field == "network_communicator_bytes")
    return false;
  if (absl::StartsWith(field, "node_") || field == "fast_domain")
    return cluster.devices_per_node() > 1;
  if (absl::StartsWith(field, "card") || field == "network_latency_ns")
    return cluster.max_nodes() > 1;
  if (absl::StartsWith(field, "host_"))
    return cluster.has_host_bytes_per_node() || cluster.has_host_gbytes_per_second();
  return true;
}

absl::Status checkPlacement(const proto::ClusterDescription &cluster) {
  std::set<std::string> axes(cluster.placement().begin(), cluster.placement().end());
  if (cluster.placement_size() != 3 || axes != std::set<std::string>(kAxes, std::end(kAxes)))
    return fieldError("placement",
                      absl::StrCat("expected each of 'tensor', 'data' and 'pipeline' once, found '",
                                   absl::StrJoin(cluster.placement(), "', '"), "'"));
  return absl::OkStatus();
}

absl::Status checkInteger(bool present, const proto::Figure &figure, absl::string_view field) {
  if (present && figure.value() != std::floor(figure.value()))
    return fieldError(field, absl::StrCat("expected an integer, found ", figure.value()));
  return absl::OkStatus();
}

absl::Status checkShare(const proto::Figure &figure, absl::string_view field) {
  if (figure.value() > 1)
    return fieldError(field, absl::StrCat("expected a share of at most 1, found ", figure.value()));
  return absl::OkStatus();
}

/// Checks figures against each other.
absl::Status checkTogether(const proto::ClusterDescription &cluster) {
  ST_RETURN_IF_ERROR(
      checkInteger(cluster.has_multiprocessors(), cluster.multiprocessors(), "multiprocessors"));
  ST_RETURN_IF_ERROR(checkInteger(cluster.has_fast_domain(), cluster.fast_domain(), "fast_domain"));
  ST_RETURN_IF_ERROR(
      checkInteger(cluster.has_cards_per_node(), cluster.cards_per_node(), "cards_per_node"));
  ST_RETURN_IF_ERROR(checkShare(cluster.fragmentation(), "fragmentation"));
  ST_RETURN_IF_ERROR(checkShare(cluster.card_efficiency(), "card_efficiency"));
  const double taken = cluster.context_bytes().value() + cluster.communicator_bytes().value();
  if (taken >= cluster.memory_bytes().value())
    return fieldError("memory_bytes", absl::StrCat("expected more than the ", taken,
                                                   " bytes of context and communicator, found ",
                                                   cluster.memory_bytes().value()));
  if (cluster.has_fast_domain() &&
      std::fmod(cluster.devices_per_node(), cluster.fast_domain().value()) != 0)
    return fieldError("fast_domain",
                      absl::StrCat("expected a divisor of the ", cluster.devices_per_node(),
                                   " devices of a node, found ", cluster.fast_domain().value()));
  if (cluster.has_node_far_gbytes_per_second() &&
      cluster.node_far_gbytes_per_second().value() > cluster.node_gbytes_per_second().value())
    return fieldError("node_far_gbytes_per_second",
                      absl::StrCat("expected at most the ",
                                   cluster.node_gbytes_per_second().value(),
                                   " GB/s within the domain, found ",
                                   cluster.node_far_gbytes_per_second().value()));
  return absl::OkStatus();
}

absl::Status checkCurve(const proto::CollectiveCurve &curve, const std::string &field,
                        uint32_t devicesPerNode) {
  if (std::find(std::begin(kCollectives), std::end(kCollectives), curve.kind()) ==
      std::end(kCollectives))
    return fieldError(field + ".kind",
                      absl::StrCat("expected one of ", absl::StrJoin(kCollectives, ", "),
                                   ", found '", curve.kind(), "'"));
  if (curve.ranks() < 2 || curve.ranks() > devicesPerNode)
    return fieldError(field + ".ranks", absl::StrCat("expected 2 to the ", devicesPerNode,
                                                     " devices of a node, found ", curve.ranks()));
  ST_RETURN_IF_ERROR(checkSource(curve.source(), field + ".source"));
  if (curve.points_size() < 2)
    return fieldError(field + ".points",
                      absl::StrCat("expected 2 or more, found ", curve.points_size()));
  double last = 0;
  for (int i = 0; i < curve.points_size(); ++i) {
    const std::string point = absl::StrCat(field, ".points[", i, "]");
    ST_RETURN_IF_ERROR(checkNumber(curve.points(i).bytes(), point + ".bytes"));
    ST_RETURN_IF_ERROR(checkNumber(curve.points(i).us(), point + ".us"));
    if (curve.points(i).bytes() <= last)
      return fieldError(point + ".bytes",
                        absl::StrCat("expected more than the ", last,
                                     " of the point before, found ", curve.points(i).bytes()));
    last = curve.points(i).bytes();
  }
  return absl::OkStatus();
}

absl::Status checkCurves(const proto::ClusterDescription &cluster) {
  std::set<std::pair<std::string, uint32_t>> seen;
  for (int i = 0; i < cluster.curves_size(); ++i) {
    const proto::CollectiveCurve &curve = cluster.curves(i);
    const std::string field = absl::StrCat("curves[", i, "]");
    ST_RETURN_IF_ERROR(checkCurve(curve, field, cluster.devices_per_node()));
    if (!seen.emplace(curve.kind(), curve.ranks()).second)
      return fieldError(field + ".ranks", absl::StrCat("expected one curve of ", curve.kind(),
                                                       " for each number of ranks, found a second "
                                                       "one for ",
                                                       curve.ranks()));
  }
  return absl::OkStatus();
}

} // namespace

absl::Status checkClusterDescription(const proto::ClusterDescription &description) {
  if (description.name().empty())
    return fieldError("name", "is missing");
  ST_RETURN_IF_ERROR(checkPlacement(description));
  ST_RETURN_IF_ERROR(checkFigures(description, isNeeded));
  ST_RETURN_IF_ERROR(checkTogether(description));
  return checkCurves(description);
}

absl::StatusOr<proto::ClusterDescription> parseClusterDescription(absl::string_view text,
                                                                  const std::string &name) {
  proto::ClusterDescription description;
  ST_RETURN_IF_ERROR(parseDevice(text, name, description));
  absl::Status status = fillFromDevice(description);
  if (status.ok())
    status = checkClusterDescription(description);
  if (!status.ok())
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", status.message()));
  return description;
}

absl::StatusOr<proto::ClusterDescription> loadClusterDescription(const std::string &path) {
  absl::StatusOr<std::string> text = readInputFile(path, kMaxConfigBytes);
  if (!text.ok())
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", text.status().message()));
  return parseClusterDescription(*text, path);
}

absl::StatusOr<proto::ClusterDescription> builtinClusterDescription(absl::string_view name) {
  for (auto [stem, text] : builtinClusters())
    if (stem == name)
      return parseClusterDescription(text, absl::StrCat("devices/clusters/", stem, ".textproto"));
  return absl::NotFoundError(absl::StrCat("no cluster description '", name, "'; there are ",
                                          absl::StrJoin(builtinClusterDescriptionNames(), ", ")));
}

std::vector<std::string> builtinClusterDescriptionNames() {
  std::vector<std::string> names;
  for (const auto &cluster : builtinClusters())
    names.emplace_back(cluster.first);
  return names;
}

absl::StatusOr<proto::ClusterDescription> findClusterDescription(const std::string &nameOrFile) {
  if (absl::StrContains(nameOrFile, "/") || absl::EndsWith(nameOrFile, ".textproto"))
    return loadClusterDescription(nameOrFile);
  return builtinClusterDescription(nameOrFile);
}

} // namespace st
