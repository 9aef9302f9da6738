#include "lib/Support/StatusMacros.h"
#include "plugins/pjrt/abi/Executables.h"
#include "plugins/pjrt/calls/Calls.h"

namespace st::pjrt {

namespace {

absl::StatusOr<LoadedProgram *> programOf(const PJRT_LoadedExecutable &executable) {
  if (!executable.program)
    return absl::FailedPreconditionError("the executable has been deleted");
  return executable.program.get();
}

absl::Status destroyLoaded(PJRT_LoadedExecutable_Destroy_Args &args) {
  delete args.executable;
  return absl::OkStatus();
}

absl::Status getExecutable(PJRT_LoadedExecutable_GetExecutable_Args &args) {
  ST_ASSIGN_OR_RETURN(LoadedProgram * program, programOf(*args.loaded_executable));
  args.executable = makeExecutable(program->sharedProgram());
  return absl::OkStatus();
}

absl::Status addressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args &args) {
  args.addressable_devices = args.executable->devices.data();
  args.num_addressable_devices = args.executable->devices.size();
  return absl::OkStatus();
}

absl::Status logicalIds(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args &args) {
  args.addressable_device_logical_ids = args.executable->logicalIds.data();
  args.num_addressable_device_logical_ids = args.executable->logicalIds.size();
  return absl::OkStatus();
}

absl::Status deviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args &args) {
  proto::DeviceAssignment assignment;
  assignment.set_replica_count(1);
  assignment.set_computation_count(static_cast<int>(args.executable->devices.size()));
  for (const PJRT_Device *device : args.executable->devices)
    assignment.add_computation_devices()->add_replica_device_ids(device->description.id);
  auto *bytes = new PJRT_Serialized{assignment.SerializeAsString()};
  args.serialized_bytes = bytes->bytes.data();
  args.serialized_bytes_size = bytes->bytes.size();
  args.serialized_device_assignment = bytes;
  args.serialized_device_assignment_deleter = deleteSerialized;
  return absl::OkStatus();
}

absl::Status deleteLoaded(PJRT_LoadedExecutable_Delete_Args &args) {
  args.executable->program = nullptr;
  return absl::OkStatus();
}

absl::Status isDeleted(PJRT_LoadedExecutable_IsDeleted_Args &args) {
  args.is_deleted = args.executable->program == nullptr;
  return absl::OkStatus();
}

absl::Status fingerprintOfLoaded(PJRT_LoadedExecutable_Fingerprint_Args &args) {
  args.executable_fingerprint = args.executable->fingerprint.data();
  args.executable_fingerprint_size = args.executable->fingerprint.size();
  return absl::OkStatus();
}

absl::Status checkOptions(const PJRT_ExecuteOptions *options) {
  if (options && (options->num_send_ops > 0 || options->num_recv_ops > 0))
    return absl::UnimplementedError(
        "a program that calls back to the host (io_callback, pure_callback, debug.print) is not "
        "supported");
  return absl::OkStatus();
}

std::set<int64_t> keptArguments(const PJRT_ExecuteOptions *options) {
  if (!options || !options->non_donatable_input_indices)
    return {};
  return {options->non_donatable_input_indices,
          options->non_donatable_input_indices + options->num_non_donatable_input_indices};
}

absl::Status execute(PJRT_LoadedExecutable_Execute_Args &args) {
  ST_ASSIGN_OR_RETURN(LoadedProgram * program, programOf(*args.executable));
  ST_RETURN_IF_ERROR(checkOptions(args.options));
  if (args.execute_device && (args.num_devices != 1 || program->devices().size() != 1 ||
                              args.execute_device->device != program->devices().front()))
    return absl::UnimplementedError(
        absl::StrCat("program ", program->program().name(), " was compiled for device ",
                     program->devices().front()->index(), "; it cannot be run on another one"));
  ArrayLists arguments(args.num_devices);
  for (size_t device = 0; device < args.num_devices; ++device)
    for (size_t i = 0; i < args.num_args; ++i)
      arguments[device].push_back(args.argument_lists[device][i]->array);
  PJRT_Client *client = args.executable->client;
  ST_ASSIGN_OR_RETURN(LoadedProgram::Run run,
                      client->client->launch(*program, arguments, keptArguments(args.options)));
  for (size_t device = 0; device < args.num_devices; ++device) {
    for (size_t i = 0; i < run.results[device].size(); ++i)
      args.output_lists[device][i] = makeBuffer(std::move(run.results[device][i]), client);
    if (args.device_complete_events)
      args.device_complete_events[device] = new PJRT_Event{run.done};
  }
  return absl::OkStatus();
}

absl::Status createContext(PJRT_ExecuteContext_Create_Args &args) {
  args.context = new PJRT_ExecuteContext();
  return absl::OkStatus();
}

absl::Status destroyContext(PJRT_ExecuteContext_Destroy_Args &args) {
  delete args.context;
  return absl::OkStatus();
}

} // namespace

void fillLoadedExecutableCalls(PJRT_Api &api) {
  api.PJRT_LoadedExecutable_Destroy = Call<destroyLoaded>::call;
  api.PJRT_LoadedExecutable_GetExecutable = Call<getExecutable>::call;
  api.PJRT_LoadedExecutable_AddressableDevices = Call<addressableDevices>::call;
  api.PJRT_LoadedExecutable_AddressableDeviceLogicalIds = Call<logicalIds>::call;
  api.PJRT_LoadedExecutable_GetDeviceAssignment = Call<deviceAssignment>::call;
  api.PJRT_LoadedExecutable_Delete = Call<deleteLoaded>::call;
  api.PJRT_LoadedExecutable_IsDeleted = Call<isDeleted>::call;
  api.PJRT_LoadedExecutable_Fingerprint = Call<fingerprintOfLoaded>::call;
  api.PJRT_LoadedExecutable_Execute = Call<execute>::call;
  api.PJRT_ExecuteContext_Create = Call<createContext>::call;
  api.PJRT_ExecuteContext_Destroy = Call<destroyContext>::call;
}

} // namespace st::pjrt
