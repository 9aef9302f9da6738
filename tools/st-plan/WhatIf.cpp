#include "tools/st-plan/WhatIf.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::st;

namespace {

enum class Unit { Times, Gigabytes, Gigabits };

struct Change {
  std::string what;
  Unit unit = Unit::Times;
  double value = 0;
};

} // namespace

/// "network:x2": what, and by how much.
static absl::StatusOr<Change> parseChange(absl::string_view text) {
  const std::pair<std::string, std::string> pair = absl::StrSplit(text, absl::MaxSplits(':', 1));
  Change change{pair.first};
  absl::string_view number = pair.second;
  if (!absl::ConsumePrefix(&number, "x"))
    change.unit = absl::ConsumeSuffix(&number, "GB") ? Unit::Gigabytes : Unit::Gigabits;
  constexpr const char *kKnown[] = {"network", "node", "flops", "bandwidth", "launch", "memory"};
  const bool isKnown =
      std::find(std::begin(kKnown), std::end(kKnown), change.what) != std::end(kKnown);
  const bool hasUnit = change.unit != Unit::Gigabits || absl::ConsumeSuffix(&number, "Gb");
  const bool isAllowed =
      change.unit == Unit::Times ||
      (change.unit == Unit::Gigabytes ? change.what == "memory" : change.what == "network");
  constexpr double kMax = 1e6;
  if (!isKnown || !hasUnit || !isAllowed || !absl::SimpleAtod(number, &change.value) ||
      !(change.value > 0) || change.value > kMax)
    return absl::InvalidArgumentError(absl::StrCat(
        "--what-if=", text,
        ": expected network, node, flops, bandwidth, launch or memory, a colon and a factor such "
        "as x2; memory also takes a size such as 40GB, and network a rate per node such as 400Gb"));
  return change;
}

static void multiply(::st::proto::Figure &figure, double factor) {
  figure.set_value(figure.value() * factor);
}

/// The fabric inside a node: its rates and the curves measured over it.
static void changeNode(::st::proto::ClusterDescription &cluster, double factor) {
  multiply(*cluster.mutable_node_gbytes_per_second(), factor);
  if (cluster.has_node_measured_gbytes_per_second())
    multiply(*cluster.mutable_node_measured_gbytes_per_second(), factor);
  if (cluster.has_node_far_gbytes_per_second())
    multiply(*cluster.mutable_node_far_gbytes_per_second(), factor);
  for (auto &curve : *cluster.mutable_curves())
    for (auto &point : *curve.mutable_points())
      point.set_us(point.us() / factor);
}

static absl::Status changeNetwork(::st::proto::ClusterDescription &cluster, const Change &change) {
  if (!cluster.has_card_gbits_per_second())
    return absl::InvalidArgumentError(
        absl::StrCat("--what-if: cluster ", cluster.name(), " has no network to change"));
  const double ofNode = cluster.card_gbits_per_second().value() * cluster.cards_per_node().value();
  multiply(*cluster.mutable_card_gbits_per_second(),
           change.unit == Unit::Gigabits ? change.value / ofNode : change.value);
  return absl::OkStatus();
}

static absl::Status apply(const Change &change, ::st::proto::ClusterDescription &cluster,
                          ::st::GpuConstants &constants) {
  constexpr double kGigabyte = 1e9;
  if (change.what == "network")
    return changeNetwork(cluster, change);
  if (change.what == "node") {
    changeNode(cluster, change.value);
  } else if (change.what == "flops") {
    multiply(*cluster.mutable_f32_tflops(), change.value);
    multiply(*cluster.mutable_f16_tflops(), change.value);
  } else if (change.what == "bandwidth") {
    multiply(*cluster.mutable_memory_gbytes_per_second(), change.value);
  } else if (change.what == "launch") {
    constants.launchUs /= change.value;
  } else if (change.unit == Unit::Times) {
    multiply(*cluster.mutable_memory_bytes(), change.value);
  } else {
    cluster.mutable_memory_bytes()->set_value(change.value * kGigabyte);
  }
  return absl::OkStatus();
}

absl::Status mlir::st::changeHardware(::st::proto::ClusterDescription &cluster,
                                      ::st::GpuConstants &constants, absl::string_view changes) {
  for (absl::string_view text : absl::StrSplit(changes, ',')) {
    absl::StatusOr<Change> change = parseChange(text);
    if (!change.ok())
      return change.status();
    if (absl::Status status = apply(*change, cluster, constants); !status.ok())
      return status;
  }
  return absl::OkStatus();
}
