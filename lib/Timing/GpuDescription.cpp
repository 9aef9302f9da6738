#include "lib/Timing/GpuDescription.h"

#include "lib/Support/InputFile.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Timing/BuiltinTexts.h"
#include "lib/Timing/DeviceFigures.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace st {

bool isGpuName(absl::string_view name) {
  if (size_t slash = name.rfind('/'); slash != absl::string_view::npos)
    name.remove_prefix(slash + 1);
  return absl::StartsWith(name, "cuda-");
}

/// GPUs of one node need no network.
static bool isNeeded(const google::protobuf::Message &message, const std::string &field) {
  const auto &description = static_cast<const proto::GpuDescription &>(message);
  if (field == "network_gbytes_per_second" || field == "network_latency_ns")
    return description.max_nodes() > 1;
  if (field == "node_gbytes_per_second" || field == "node_latency_ns")
    return description.gpus_per_node() > 1;
  return field != "matrix_alignment_bytes" && field != "matrix_row_bytes";
}

absl::Status checkGpuDescription(const proto::GpuDescription &description) {
  if (description.name().empty())
    return fieldError("name", "is missing");
  if (!absl::StartsWith(description.chip(), "sm_") && description.chip() != "host")
    return fieldError("chip", absl::StrCat("expected a chip such as sm_90, or host, found '",
                                           description.chip(), "'"));
  return checkFigures(description, isNeeded);
}

absl::StatusOr<proto::GpuDescription> parseGpuDescription(absl::string_view text,
                                                          const std::string &name) {
  proto::GpuDescription description;
  ST_RETURN_IF_ERROR(parseDevice(text, name, description));
  if (absl::Status status = checkGpuDescription(description); !status.ok())
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", status.message()));
  return description;
}

absl::StatusOr<proto::GpuDescription> loadGpuDescription(const std::string &path) {
  absl::StatusOr<std::string> text = readInputFile(path, kMaxConfigBytes);
  if (!text.ok())
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", text.status().message()));
  return parseGpuDescription(*text, path);
}

absl::StatusOr<proto::GpuDescription> builtinGpuDescription(absl::string_view name) {
  for (auto [stem, text] : builtinDevices())
    if (stem == name && isGpuName(stem))
      return parseGpuDescription(text, absl::StrCat("devices/", stem, ".textproto"));
  return absl::NotFoundError(absl::StrCat("no GPU description '", name, "'; there are ",
                                          absl::StrJoin(builtinGpuDescriptionNames(), ", ")));
}

std::vector<std::string> builtinGpuDescriptionNames() {
  std::vector<std::string> names;
  for (const auto &device : builtinDevices())
    if (isGpuName(device.first))
      names.emplace_back(device.first);
  return names;
}

absl::Status checkGpuId(const proto::GpuDescription &description, int64_t deviceId) {
  int64_t gpus = int64_t(description.gpus_per_node()) * description.max_nodes();
  if (deviceId < 0 || deviceId >= gpus)
    return absl::InvalidArgumentError(absl::StrCat("device id ", deviceId, " is not one of the ",
                                                   gpus, " GPUs of ", description.name()));
  return absl::OkStatus();
}

} // namespace st
