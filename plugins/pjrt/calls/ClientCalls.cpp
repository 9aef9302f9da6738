#include "lib/Support/StatusMacros.h"
#include "plugins/pjrt/abi/Clients.h"
#include "plugins/pjrt/calls/Calls.h"
#include "plugins/pjrt/calls/PythonCalls.h"
#include "plugins/pjrt/compile/CompileFunction.h"

#include <cstring>

namespace st::pjrt {

namespace {

constexpr char kPlatform[] = "st";

absl::Status initializePlugin(PJRT_Plugin_Initialize_Args &) { return absl::OkStatus(); }

/// Callers write programs in the StableHLO version of these attributes.
absl::Status pluginAttributes(PJRT_Plugin_Attributes_Args &args) {
  static const std::array<int64_t, 3> version = portableVersion();
  static const std::vector<PJRT_NamedValue> attributes = [] {
    std::vector<PJRT_NamedValue> made = {
        namedValue("xla_version", PJRT_NamedValue_kInt64, 1),
        namedValue("stablehlo_current_version", PJRT_NamedValue_kInt64List, 3),
        namedValue("stablehlo_minimum_version", PJRT_NamedValue_kInt64List, 3)};
    made[0].int64_value = 2;
    made[1].int64_array_value = version.data();
    made[2].int64_array_value = version.data();
    return made;
  }();
  args.attributes = attributes.data();
  args.num_attributes = attributes.size();
  return absl::OkStatus();
}

void addDevices(PJRT_Client &client) {
  for (const auto &device : client.client->devices()) {
    PJRT_Device &made = *client.devices.emplace_back(std::make_unique<PJRT_Device>());
    made.device = device.get();
    made.client = &client;
    for (size_t kind = 0; kind < std::size(kMemoryKinds); ++kind) {
      PJRT_DeviceMemory &memory = made.memories[kind];
      memory.device = &made;
      memory.kind = static_cast<MemoryKind>(kind);
      memory.id = static_cast<int>(kind * client.client->devices().size()) + device->index();
      memory.text = absl::StrCat("StMemory(id=", memory.id, ", kind=", kMemoryKinds[kind], ")");
      made.memoryPointers.push_back(&memory);
      client.memoryPointers.push_back(&memory);
    }
    made.description = describeDevice(*device);
    client.devicePointers.push_back(&made);
    client.topology.descriptions.push_back(&made.description);
  }
}

absl::Status createClient(PJRT_Client_Create_Args &args) {
  ST_ASSIGN_OR_RETURN(PluginOptions options, optionsOf(args.create_options, args.num_options, {}));
  ST_ASSIGN_OR_RETURN(std::unique_ptr<PluginClient> made, PluginClient::create(std::move(options)));
  auto client = std::make_unique<PJRT_Client>();
  client->client = std::move(made);
  client->topology.machine = client->client;
  client->topology.isOfClient = true;
  addDevices(*client);
  setLastClient(client->client);
  args.client = client.release();
  return absl::OkStatus();
}

absl::Status destroyClient(PJRT_Client_Destroy_Args &args) {
  delete args.client;
  return absl::OkStatus();
}

absl::Status platformName(PJRT_Client_PlatformName_Args &args) {
  args.platform_name = kPlatform;
  args.platform_name_size = std::strlen(kPlatform);
  return absl::OkStatus();
}

absl::Status platformVersion(PJRT_Client_PlatformVersion_Args &args) {
  args.platform_version = args.client->client->version().data();
  args.platform_version_size = args.client->client->version().size();
  return absl::OkStatus();
}

absl::Status processIndex(PJRT_Client_ProcessIndex_Args &args) {
  args.process_index = 0;
  return absl::OkStatus();
}

absl::Status devicesOf(PJRT_Client_Devices_Args &args) {
  args.devices = args.client->devicePointers.data();
  args.num_devices = args.client->devicePointers.size();
  return absl::OkStatus();
}

absl::Status addressableDevices(PJRT_Client_AddressableDevices_Args &args) {
  args.addressable_devices = args.client->devicePointers.data();
  args.num_addressable_devices = args.client->devicePointers.size();
  return absl::OkStatus();
}

absl::StatusOr<PJRT_Device *> lookup(PJRT_Client *client, int id) {
  if (id < 0 || id >= static_cast<int>(client->devicePointers.size()))
    return absl::InvalidArgumentError(
        absl::StrCat("there is no device ", id, "; there are ", client->devicePointers.size()));
  return client->devicePointers[static_cast<size_t>(id)];
}

absl::Status lookupDevice(PJRT_Client_LookupDevice_Args &args) {
  ST_ASSIGN_OR_RETURN(args.device, lookup(args.client, args.id));
  return absl::OkStatus();
}

absl::Status lookupAddressable(PJRT_Client_LookupAddressableDevice_Args &args) {
  ST_ASSIGN_OR_RETURN(args.addressable_device, lookup(args.client, args.local_hardware_id));
  return absl::OkStatus();
}

absl::Status memoriesOf(PJRT_Client_AddressableMemories_Args &args) {
  args.addressable_memories = args.client->memoryPointers.data();
  args.num_addressable_memories = args.client->memoryPointers.size();
  return absl::OkStatus();
}

absl::Status checkFormat(const PJRT_Program &program) {
  const absl::string_view format(program.format, program.format_size);
  return format == "mlir" ? absl::OkStatus()
                          : absl::InvalidArgumentError(absl::StrCat(
                                "a program of format \"", format, "\": expected \"mlir\""));
}

absl::Status compileFor(PJRT_Compile_Args &args) {
  ST_RETURN_IF_ERROR(checkFormat(*args.program));
  ST_ASSIGN_OR_RETURN(
      std::shared_ptr<const proto::PluginProgram> program,
      args.topology->machine->compileOnly({args.program->code, args.program->code_size},
                                          {args.compile_options, args.compile_options_size}));
  args.executable = makeExecutable(std::move(program));
  return absl::OkStatus();
}

absl::Status compile(PJRT_Client_Compile_Args &args) {
  ST_RETURN_IF_ERROR(checkFormat(*args.program));
  ST_ASSIGN_OR_RETURN(
      std::shared_ptr<LoadedProgram> program,
      args.client->client->compile({args.program->code, args.program->code_size},
                                   {args.compile_options, args.compile_options_size}));
  args.executable = makeLoaded(std::move(program), args.client);
  return absl::OkStatus();
}

absl::Status defaultAssignment(PJRT_Client_DefaultDeviceAssignment_Args &args) {
  const size_t count = static_cast<size_t>(args.num_replicas) * args.num_partitions;
  if (args.default_assignment_size < count || count > args.client->devices.size())
    return absl::InvalidArgumentError(absl::StrCat(
        "a device assignment of ", args.num_replicas, " x ", args.num_partitions, ": there are ",
        args.client->devices.size(), " devices and room for ", args.default_assignment_size));
  for (size_t i = 0; i < count; ++i)
    args.default_assignment[i] = static_cast<int>(i);
  return absl::OkStatus();
}

} // namespace

void fillClientCalls(PJRT_Api &api) {
  api.PJRT_Plugin_Initialize = Call<initializePlugin>::call;
  api.PJRT_Plugin_Attributes = Call<pluginAttributes>::call;
  api.PJRT_Client_Create = Call<createClient>::call;
  api.PJRT_Client_Destroy = Call<destroyClient>::call;
  api.PJRT_Client_PlatformName = Call<platformName>::call;
  api.PJRT_Client_PlatformVersion = Call<platformVersion>::call;
  api.PJRT_Client_ProcessIndex = Call<processIndex>::call;
  api.PJRT_Client_Devices = Call<devicesOf>::call;
  api.PJRT_Client_AddressableDevices = Call<addressableDevices>::call;
  api.PJRT_Client_LookupDevice = Call<lookupDevice>::call;
  api.PJRT_Client_LookupAddressableDevice = Call<lookupAddressable>::call;
  api.PJRT_Client_AddressableMemories = Call<memoriesOf>::call;
  api.PJRT_Client_Compile = Call<compile>::call;
  api.PJRT_Compile = Call<compileFor>::call;
  api.PJRT_Client_DefaultDeviceAssignment = Call<defaultAssignment>::call;
}

} // namespace st::pjrt
