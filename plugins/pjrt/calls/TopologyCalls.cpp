#include "lib/Support/StatusMacros.h"
#include "plugins/pjrt/abi/Clients.h"
#include "plugins/pjrt/calls/Calls.h"

#include "absl/strings/str_split.h"

#include <iterator>

namespace st::pjrt {

namespace {

absl::Status topologyOf(PJRT_Client_TopologyDescription_Args &args) {
  args.topology = &args.client->topology;
  return absl::OkStatus();
}

absl::Status destroyTopology(PJRT_TopologyDescription_Destroy_Args &args) {
  if (!args.topology->isOfClient)
    delete args.topology;
  return absl::OkStatus();
}

absl::StatusOr<PJRT_TopologyDescription *> makeTopology(PluginOptions options) {
  auto topology = std::make_unique<PJRT_TopologyDescription>();
  ST_ASSIGN_OR_RETURN(topology->machine, PluginClient::create(std::move(options)));
  for (const auto &device : topology->machine->devices()) {
    auto description = std::make_unique<PJRT_DeviceDescription>(describeDevice(*device));
    topology->descriptions.push_back(description.get());
    topology->owned.push_back(std::move(description));
  }
  return topology.release();
}

/// The name is "dtu-t10:8", "dtu-t10" or "". Omitted parts have the defaults of a client.
absl::Status createTopology(PJRT_TopologyDescription_Create_Args &args) {
  const absl::string_view name(args.topology_name, args.topology_name_size);
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(name, absl::MaxSplits(':', 1));
  std::map<std::string, std::string> given;
  if (!parts.first.empty())
    given["target"] = std::string(parts.first);
  if (!parts.second.empty())
    given["devices"] = std::string(parts.second);
  ST_ASSIGN_OR_RETURN(PluginOptions options,
                      optionsOf(args.create_options, args.num_options, std::move(given)));
  ST_ASSIGN_OR_RETURN(args.topology, makeTopology(std::move(options)));
  return absl::OkStatus();
}

absl::Status serializeTopology(PJRT_TopologyDescription_Serialize_Args &args) {
  proto::PluginTopology topology;
  topology.set_target(args.topology->machine->options().target);
  topology.set_devices(args.topology->machine->options().devices);
  auto *bytes = new PJRT_Serialized{topology.SerializeAsString()};
  args.serialized_bytes = bytes->bytes.data();
  args.serialized_bytes_size = bytes->bytes.size();
  args.serialized_topology = bytes;
  args.serialized_topology_deleter = deleteSerialized;
  return absl::OkStatus();
}

absl::Status deserializeTopology(PJRT_TopologyDescription_Deserialize_Args &args) {
  proto::PluginTopology topology;
  if (!topology.ParseFromArray(args.serialized_topology,
                               static_cast<int>(args.serialized_topology_size)) ||
      topology.target().empty() || topology.devices() < 1)
    return absl::InvalidArgumentError("the bytes are not a serialised topology of this plugin");
  PluginOptions options;
  options.target = topology.target();
  options.devices = topology.devices();
  ST_ASSIGN_OR_RETURN(args.topology, makeTopology(std::move(options)));
  return absl::OkStatus();
}

absl::Status memoryKinds(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args &args) {
  static constexpr int kKinds[] = {0, 1, 2};
  args.memory_space_kind_ids = kKinds;
  args.num_memory_space_kind_ids = std::size(kKinds);
  return absl::OkStatus();
}

absl::Status platformName(PJRT_TopologyDescription_PlatformName_Args &args) {
  args.platform_name = "st";
  args.platform_name_size = 2;
  return absl::OkStatus();
}

absl::Status platformVersion(PJRT_TopologyDescription_PlatformVersion_Args &args) {
  args.platform_version = args.topology->machine->version().data();
  args.platform_version_size = args.topology->machine->version().size();
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

/// The fingerprint is the same in every process, so that caches on disk stay valid.
absl::Status fingerprintOfTopology(PJRT_TopologyDescription_Fingerprint_Args &args) {
  uint64_t hash = 1469598103934665603u; // FNV-1a
  const std::string text =
      absl::StrCat(args.topology->machine->version(), ",", args.topology->descriptions.size());
  for (const char c : text)
    hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  args.fingerprint = hash;
  return absl::OkStatus();
}

} // namespace

void fillTopologyCalls(PJRT_Api &api) {
  api.PJRT_Client_TopologyDescription = Call<topologyOf>::call;
  api.PJRT_TopologyDescription_Create = Call<createTopology>::call;
  api.PJRT_TopologyDescription_Serialize = Call<serializeTopology>::call;
  api.PJRT_TopologyDescription_Deserialize = Call<deserializeTopology>::call;
  api.PJRT_TopologyDescription_GetMemorySpaceKindIds = Call<memoryKinds>::call;
  api.PJRT_TopologyDescription_Destroy = Call<destroyTopology>::call;
  api.PJRT_TopologyDescription_PlatformName = Call<platformName>::call;
  api.PJRT_TopologyDescription_PlatformVersion = Call<platformVersion>::call;
  api.PJRT_TopologyDescription_GetDeviceDescriptions = Call<descriptionsOf>::call;
  api.PJRT_TopologyDescription_Attributes = Call<attributesOf>::call;
  api.PJRT_TopologyDescription_Fingerprint = Call<fingerprintOfTopology>::call;
}

} // namespace st::pjrt
