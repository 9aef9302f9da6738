#include "plugins/pjrt/abi/Clients.h"
#include "plugins/pjrt/calls/Calls.h"

namespace st::pjrt {

namespace {

absl::Status topologyOf(PJRT_Client_TopologyDescription_Args &args) {
  args.topology = &args.client->topology;
  return absl::OkStatus();
}

// The only topologies belong to clients.
absl::Status destroyTopology(PJRT_TopologyDescription_Destroy_Args &) { return absl::OkStatus(); }

absl::Status platformName(PJRT_TopologyDescription_PlatformName_Args &args) {
  args.platform_name = "st";
  args.platform_name_size = 2;
  return absl::OkStatus();
}

absl::Status platformVersion(PJRT_TopologyDescription_PlatformVersion_Args &args) {
  args.platform_version = args.topology->version.data();
  args.platform_version_size = args.topology->version.size();
  return absl::OkStatus();
}

absl::Status descriptionsOf(PJRT_TopologyDescription_GetDeviceDescriptions_Args &args) {
  args.descriptions = args.topology->descriptions.data();
  args.num_descriptions = args.topology->descriptions.size();
  return absl::OkStatus();
}

absl::Status attributesOf(PJRT_TopologyDescription_Attributes_Args &args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  return absl::OkStatus();
}

/// The same in every process, so that caches on disk stay valid.
absl::Status fingerprintOfTopology(PJRT_TopologyDescription_Fingerprint_Args &args) {
  uint64_t hash = 1469598103934665603u; // FNV-1a
  const std::string text =
      absl::StrCat(args.topology->version, ",", args.topology->descriptions.size());
  for (const char c : text)
    hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  args.fingerprint = hash;
  return absl::OkStatus();
}

} // namespace

void fillTopologyCalls(PJRT_Api &api) {
  api.PJRT_Client_TopologyDescription = Call<topologyOf>::call;
  api.PJRT_TopologyDescription_Destroy = Call<destroyTopology>::call;
  api.PJRT_TopologyDescription_PlatformName = Call<platformName>::call;
  api.PJRT_TopologyDescription_PlatformVersion = Call<platformVersion>::call;
  api.PJRT_TopologyDescription_GetDeviceDescriptions = Call<descriptionsOf>::call;
  api.PJRT_TopologyDescription_Attributes = Call<attributesOf>::call;
  api.PJRT_TopologyDescription_Fingerprint = Call<fingerprintOfTopology>::call;
}

} // namespace st::pjrt
