#include "lib/Timing/DtuDescription.h"

#include "lib/Support/InputFile.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Timing/BuiltinTexts.h"
#include "lib/Timing/DeviceFigures.h"
#include "lib/Timing/GpuDescription.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace st {
namespace {

constexpr uint32_t kMaxCount = 4096;

bool isPowerOfTwo(double value) {
  const auto count = static_cast<uint32_t>(std::min<double>(value, kMaxCount + 1));
  return count == value && count <= kMaxCount && (count & (count - 1)) == 0;
}

/// A device without links, between chips or to a host, needs no figures for them.
bool isNeeded(const google::protobuf::Message &message, const std::string &field) {
  const auto &description = static_cast<const proto::DtuDescription &>(message);
  if (field == "chip_gbytes_per_second" || field == "chip_latency_ns")
    return description.chips_per_group() > 1;
  if (field == "group_gbytes_per_second" || field == "group_latency_ns")
    return description.max_chips() > description.chips_per_group();
  // Either all figures of the link to the host are present, or none.
  if (field == "host_gbytes_per_second" || field == "host_latency_ns")
    return description.has_host_gbytes_per_second() || description.has_host_latency_ns() ||
           description.has_host_bytes_per_chip();
  return field != "host_bytes_per_chip";
}

} // namespace

absl::Status checkDtuDescription(const proto::DtuDescription &description) {
  if (description.name().empty())
    return fieldError("name", "is missing");
  ST_RETURN_IF_ERROR(checkFigures(description, isNeeded));
  for (auto [name, figure] : {std::pair{"l3_burst_bytes", &description.l3_burst_bytes()},
                              std::pair{"l1_banks", &description.l1_banks()}})
    if (!isPowerOfTwo(figure->value()))
      return fieldError(name, absl::StrCat("expected a power of two up to ", kMaxCount, ", found ",
                                           figure->value()));
  if (description.ids_per_chip() < description.clusters_per_chip())
    return fieldError("ids_per_chip", absl::StrCat("is ", description.ids_per_chip(), " for ",
                                                   description.clusters_per_chip(), " clusters"));
  if (description.dte_per_chip().value() < description.clusters_per_chip())
    return fieldError("dte_per_chip", "is less than one for each cluster");
  return absl::OkStatus();
}

absl::StatusOr<proto::DtuDescription> parseDtuDescription(absl::string_view text,
                                                          const std::string &name) {
  proto::DtuDescription description;
  ST_RETURN_IF_ERROR(parseDevice(text, name, description));
  if (absl::Status status = checkDtuDescription(description); !status.ok())
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", status.message()));
  return description;
}

absl::StatusOr<proto::DtuDescription> loadDtuDescription(const std::string &path) {
  absl::StatusOr<std::string> text = readInputFile(path, kMaxConfigBytes);
  if (!text.ok())
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", text.status().message()));
  return parseDtuDescription(*text, path);
}

absl::StatusOr<proto::DtuDescription> builtinDtuDescription(absl::string_view name) {
  for (auto [stem, text] : builtinDevices())
    if (stem == name && !isGpuName(stem))
      return parseDtuDescription(text, absl::StrCat("devices/", stem, ".textproto"));
  return absl::NotFoundError(absl::StrCat("no device description '", name, "'; there are ",
                                          absl::StrJoin(builtinDtuDescriptionNames(), ", ")));
}

std::vector<std::string> builtinDtuDescriptionNames() {
  std::vector<std::string> names;
  for (const auto &device : builtinDevices())
    if (!isGpuName(device.first))
      names.emplace_back(device.first);
  return names;
}

absl::StatusOr<DtuPlace> dtuPlace(const proto::DtuDescription &description, int64_t deviceId) {
  int64_t ids = description.ids_per_chip(), clusters = description.clusters_per_chip();
  int64_t chip = deviceId / ids, cluster = deviceId % ids;
  if (deviceId < 0 || chip >= description.max_chips())
    return absl::InvalidArgumentError(absl::StrCat("device id ", deviceId, " is not on one of the ",
                                                   description.max_chips(), " chips of ",
                                                   description.name()));
  if (cluster >= clusters)
    return absl::InvalidArgumentError(absl::StrCat(
        "device id ", deviceId, " names no cluster: chip ", chip, " of ", description.name(),
        " has clusters ", chip * ids, " to ", chip * ids + clusters - 1));
  return DtuPlace{chip / description.chips_per_group(), chip, cluster};
}

DtuSizes dtuSizes(const proto::DtuDescription &description) {
  int64_t clusters = description.clusters_per_chip();
  DtuSizes sizes;
  sizes.cores = description.cores_per_cluster();
  sizes.l1Bytes = static_cast<int64_t>(description.l1_bytes_per_core().value());
  sizes.l2Bytes = static_cast<int64_t>(description.l2_bytes_per_cluster().value());
  sizes.l3Bytes = static_cast<int64_t>(description.l3_bytes_per_chip().value()) / clusters;
  if (description.has_host_gbytes_per_second())
    sizes.hostBytes =
        description.has_host_bytes_per_chip()
            ? static_cast<int64_t>(description.host_bytes_per_chip().value()) / clusters
            : DtuSizes::kNoLimit;
  sizes.dteQueues = static_cast<int64_t>(description.dte_per_chip().value()) / clusters;
  return sizes;
}

} // namespace st
