// Checks whether a stored program runs on a client.

#include "plugins/pjrt/abi/Extensions.h"
#include "plugins/pjrt/calls/Calls.h"
#include "plugins/pjrt/compile/CompileFunction.h"

namespace st::pjrt {

namespace {

/// The FNV-1a hash of the platform's name.
uint64_t platformId() {
  uint64_t hash = 1469598103934665603u;
  for (const char c : absl::string_view("st"))
    hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash;
}

absl::Status versionOfClient(PJRT_Client_RuntimeAbiVersion_Args &args) {
  auto *made = new PJRT_AbiVersion();
  made->version.set_version(kProgramVersion);
  made->version.set_target(args.client->client->options().target);
  made->version.set_devices(args.client->client->options().devices);
  args.abi_version = made;
  return absl::OkStatus();
}

absl::Status versionOfExecutable(PJRT_Executable_GetAbiVersion_Args &args) {
  auto *made = new PJRT_AbiVersion();
  made->version.set_version(args.executable->program->version());
  made->version.set_target(args.executable->program->target());
  made->version.set_devices(args.executable->program->partitions());
  args.abi_version = made;
  return absl::OkStatus();
}

absl::Status checkCompatible(const proto::PluginAbiVersion &runtime,
                             const proto::PluginAbiVersion &needed) {
  if (runtime.version() != needed.version())
    return absl::FailedPreconditionError(absl::StrCat("programs of version ", needed.version(),
                                                      " do not run here; expected version ",
                                                      runtime.version()));
  if (runtime.target() != needed.target())
    return absl::FailedPreconditionError(absl::StrCat("a program for target ", needed.target(),
                                                      " does not run on ", runtime.target()));
  if (runtime.devices() < needed.devices())
    return absl::FailedPreconditionError(absl::StrCat(
        "a program for ", needed.devices(), " devices does not run on ", runtime.devices()));
  return absl::OkStatus();
}

absl::Status checkRuntime(PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args &args) {
  return checkCompatible(args.abi_version->version, args.other_abi_version->version);
}

absl::Status checkExecutable(PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args &args) {
  return checkCompatible(args.abi_version->version, args.executable_abi_version->version);
}

// Versions of programs and of clients have the same type and share these functions.
template <typename Args> absl::Status destroyVersion(Args &args) {
  delete args.abi_version;
  return absl::OkStatus();
}

template <typename Args> absl::Status serializeVersion(Args &args) {
  auto *bytes = new PJRT_Serialized{args.abi_version->version.SerializeAsString()};
  args.serialized_proto = bytes->bytes.data();
  args.serialized_proto_size = bytes->bytes.size();
  args.serialized_proto_holder = bytes;
  args.serialized_proto_deleter = deleteSerialized;
  return absl::OkStatus();
}

template <typename Args> absl::Status parseVersion(Args &args) {
  auto made = std::make_unique<PJRT_AbiVersion>();
  if (!made->version.ParseFromArray(args.serialized_proto,
                                    static_cast<int>(args.serialized_proto_size)))
    return absl::InvalidArgumentError("the bytes are not a serialised version of this plugin");
  args.abi_version = made.release();
  return absl::OkStatus();
}

template <typename Args> absl::Status platformOfVersion(Args &args) {
  args.platform_id = platformId();
  return absl::OkStatus();
}

} // namespace

PJRT_Extension_Base *abiVersionExtension() {
  static PJRT_AbiVersion_Extension versions = {
      {sizeof(PJRT_AbiVersion_Extension), PJRT_Extension_Type_AbiVersion, nullptr},
      Call<versionOfClient>::call,
      Call<versionOfExecutable>::call,
      Call<destroyVersion<PJRT_RuntimeAbiVersion_Destroy_Args>>::call,
      Call<checkRuntime>::call,
      Call<checkExecutable>::call,
      Call<serializeVersion<PJRT_RuntimeAbiVersion_ToProto_Args>>::call,
      Call<platformOfVersion<PJRT_RuntimeAbiVersion_PlatformId_Args>>::call,
      Call<destroyVersion<PJRT_ExecutableAbiVersion_Destroy_Args>>::call,
      Call<serializeVersion<PJRT_ExecutableAbiVersion_ToProto_Args>>::call,
      Call<platformOfVersion<PJRT_ExecutableAbiVersion_PlatformId_Args>>::call,
      Call<parseVersion<PJRT_RuntimeAbiVersion_FromProto_Args>>::call,
      Call<parseVersion<PJRT_ExecutableAbiVersion_FromProto_Args>>::call};
  return &versions.base;
}

} // namespace st::pjrt
