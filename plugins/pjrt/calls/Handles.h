// The types behind the opaque pointers of the PJRT C API.
#pragma once

#include "plugins/pjrt/abi/Types.h"
#include "plugins/pjrt/runtime/PluginClient.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

struct PJRT_Event {
  st::pjrt::Completion completion;
};

/// A memory of a device. Destroys what callers attached to it.
struct PJRT_DeviceMemory : PJRT_Memory {
  PJRT_DeviceMemory();
  ~PJRT_DeviceMemory();
  PJRT_DeviceMemory(const PJRT_DeviceMemory &) = delete;
  PJRT_DeviceMemory &operator=(const PJRT_DeviceMemory &) = delete;

  PJRT_Device *device = nullptr;
  st::pjrt::MemoryKind kind = st::pjrt::MemoryKind::kDevice;
  int id = 0; ///< unique in the client
  std::string text;
  std::mutex mutex;
  std::map<const void *, std::pair<void *, void (*)(void *)>> userData;
};

struct PJRT_DeviceDescription {
  int id = 0;
  std::string kind, text;
  std::vector<int64_t> coordinates;
  std::vector<PJRT_NamedValue> attributes;
};

struct PJRT_Device {
  st::pjrt::PluginDevice *device = nullptr;
  PJRT_DeviceDescription description;
  /// One of each kind; the first is the default.
  PJRT_DeviceMemory memories[std::size(st::pjrt::kMemoryKinds)];
  std::vector<PJRT_Memory *> memoryPointers;
  PJRT_Client *client = nullptr;
};

struct PJRT_TopologyDescription {
  /// The machine that it describes. Programs can be compiled for it without a client.
  std::shared_ptr<st::pjrt::PluginClient> machine;
  std::vector<PJRT_DeviceDescription *> descriptions;
  /// The descriptions of a topology that no client owns.
  std::vector<std::unique_ptr<PJRT_DeviceDescription>> owned;
  bool isOfClient = false;
};

struct PJRT_Client {
  std::shared_ptr<st::pjrt::PluginClient> client;
  std::vector<std::unique_ptr<PJRT_Device>> devices;
  std::vector<PJRT_Device *> devicePointers;
  std::vector<PJRT_Memory *> memoryPointers;
  PJRT_TopologyDescription topology;

  PJRT_Device *find(const st::pjrt::PluginDevice &device) {
    return devicePointers[static_cast<size_t>(device.index())];
  }
};

struct PJRT_Buffer {
  std::shared_ptr<st::pjrt::DeviceArray> array;
  PJRT_Client *client = nullptr;
  std::vector<int64_t> minorToMajor;
  /// External references of callers, which keep the bytes alive after a deletion.
  std::vector<std::shared_ptr<st::pjrt::Storage>> externalReferences;
};

/// The order of dimensions in memory in HLO's text form: "{1,0}".
struct PJRT_Layouts_MemoryLayout {
  std::string text;
};

/// The requirements of a program on a client, or the properties of a client.
struct PJRT_AbiVersion {
  st::proto::PluginAbiVersion version;
};

/// Empty, because executions share only their client.
struct PJRT_ExecuteContext {};

struct PJRT_Executable {
  std::shared_ptr<const st::proto::PluginProgram> program;
  std::vector<PJRT_Buffer_Type> resultTypes;
  std::vector<int64_t> resultDims;
  std::vector<size_t> resultRanks;
  std::vector<const char *> memoryKinds; ///< of the arguments, then of the results
  std::vector<size_t> memoryKindSizes;
  std::vector<std::string> shardings; ///< of the arguments, then of the results, serialised
  std::vector<const char *> shardingPointers;
  std::vector<size_t> shardingSizes;
  std::vector<PJRT_NamedValue> costs;
  std::vector<PJRT_Layouts_MemoryLayout> layouts; ///< of the arguments, then of the results
  std::vector<PJRT_Layouts_MemoryLayout *> layoutPointers;
};

struct PJRT_LoadedExecutable {
  std::shared_ptr<st::pjrt::LoadedProgram> program; ///< null once it is deleted
  PJRT_Client *client = nullptr;
  std::vector<PJRT_Device *> devices;
  std::vector<PJRT_LogicalDeviceIds> logicalIds;
  std::string fingerprint;
};

struct PJRT_Serialized {
  std::string bytes;
};

namespace st::pjrt {

/// An error for callers; null for an OK status.
PJRT_Error *makeError(absl::Status status);
/// The status with a caller's code and message.
absl::Status statusOf(PJRT_Error_Code code, const char *message, size_t size);

/// A value that the caller sets. A list has `count` elements.
PJRT_NamedValue namedValue(const char *name, PJRT_NamedValue_Type type, size_t count);
/// Reads a caller's options of a machine. Options in `given` override the environment.
absl::StatusOr<PluginOptions> optionsOf(const PJRT_NamedValue *options, size_t count,
                                        std::map<std::string, std::string> given);
/// The attributes of a device that callers can query.
PJRT_DeviceDescription describeDevice(const PluginDevice &device);
/// The layout with an order of dimensions, the fastest first; row-major if that is empty.
PJRT_Layouts_MemoryLayout layoutWith(absl::Span<const int64_t> minorToMajor, size_t rank);
PJRT_Layouts_MemoryLayout layoutOfRank(size_t rank);
PJRT_Buffer *makeBuffer(std::shared_ptr<DeviceArray> array, PJRT_Client *client);
PJRT_Executable *makeExecutable(std::shared_ptr<const proto::PluginProgram> program);
PJRT_LoadedExecutable *makeLoaded(std::shared_ptr<LoadedProgram> program, PJRT_Client *client);
void deleteSerialized(PJRT_Serialized *bytes);

} // namespace st::pjrt
