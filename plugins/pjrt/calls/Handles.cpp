#include "plugins/pjrt/calls/Handles.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cstring>
#include <numeric>

namespace st::pjrt {

static absl::StatusOr<std::string> textOf(const PJRT_NamedValue &value) {
  switch (value.type) {
  case PJRT_NamedValue_kString:
    return std::string(value.string_value, value.value_size);
  case PJRT_NamedValue_kInt64:
    return absl::StrCat(value.int64_value);
  default:
    return absl::InvalidArgumentError(absl::StrCat("client option \"",
                                                   absl::string_view(value.name, value.name_size),
                                                   "\": expected a string or an integer"));
  }
}

absl::StatusOr<PluginOptions> optionsOf(const PJRT_NamedValue *options, size_t count,
                                        std::map<std::string, std::string> given) {
  for (size_t i = 0; i < count; ++i) {
    const std::string name(options[i].name, options[i].name_size);
    ST_ASSIGN_OR_RETURN(given[name], textOf(options[i]));
  }
  return readOptions(given);
}

PJRT_NamedValue namedValue(const char *name, PJRT_NamedValue_Type type, size_t count) {
  PJRT_NamedValue made = {};
  made.struct_size = sizeof(PJRT_NamedValue);
  made.name = name;
  made.name_size = std::strlen(name);
  made.type = type;
  made.value_size = count;
  return made;
}

PJRT_DeviceDescription describeDevice(const PluginDevice &device) {
  PJRT_DeviceDescription made;
  made.id = device.index();
  made.kind = device.kind();
  made.text = absl::StrCat("StDevice(id=", device.index(), ")");
  made.coordinates = {device.index(), 0, 0};
  made.attributes = {namedValue("coords", PJRT_NamedValue_kInt64List, 3),
                     namedValue("hardware_id", PJRT_NamedValue_kInt64, 1)};
  made.attributes[0].int64_array_value = made.coordinates.data();
  made.attributes[1].int64_value = device.hardwareId();
  return made;
}

static std::vector<int64_t> rowMajor(size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

PJRT_Layouts_MemoryLayout layoutWith(absl::Span<const int64_t> minorToMajor, size_t rank) {
  return minorToMajor.empty()
             ? layoutOfRank(rank)
             : PJRT_Layouts_MemoryLayout{absl::StrCat("{", absl::StrJoin(minorToMajor, ","), "}")};
}

PJRT_Layouts_MemoryLayout layoutOfRank(size_t rank) {
  return {absl::StrCat("{", absl::StrJoin(rowMajor(rank), ","), "}")};
}

PJRT_Buffer *makeBuffer(std::shared_ptr<DeviceArray> array, PJRT_Client *client) {
  auto *buffer = new PJRT_Buffer();
  buffer->array = std::move(array);
  buffer->client = client;
  const ArrayType &type = buffer->array->type();
  buffer->minorToMajor = type.minorToMajor.empty() ? rowMajor(type.dims.size()) : type.minorToMajor;
  return buffer;
}

static PJRT_NamedValue number(const char *name, double value) {
  PJRT_NamedValue made = namedValue(name, PJRT_NamedValue_kFloat, 1);
  made.float_value = static_cast<float>(value);
  return made;
}

PJRT_Executable *makeExecutable(std::shared_ptr<const proto::PluginProgram> program) {
  auto *executable = new PJRT_Executable();
  for (const proto::PluginPort &port : program->results()) {
    const ArrayType type = localType(port);
    executable->resultTypes.push_back(type.element);
    executable->resultRanks.push_back(type.dims.size());
    executable->resultDims.insert(executable->resultDims.end(), type.dims.begin(), type.dims.end());
  }
  for (const auto *ports : {&program->arguments(), &program->results()})
    for (const proto::PluginPort &port : *ports) {
      executable->memoryKinds.push_back(kMemoryKinds[port.memory()]);
      executable->memoryKindSizes.push_back(std::strlen(kMemoryKinds[port.memory()]));
      executable->shardings.push_back(port.sharding().SerializeAsString());
      executable->layouts.push_back(
          layoutWith(port.minor_to_major(), static_cast<size_t>(port.dims_size())));
    }
  for (const std::string &sharding : executable->shardings) {
    executable->shardingPointers.push_back(sharding.data());
    executable->shardingSizes.push_back(sharding.size());
  }
  for (PJRT_Layouts_MemoryLayout &layout : executable->layouts)
    executable->layoutPointers.push_back(&layout);
  double moved = 0;
  for (const auto *ports : {&program->arguments(), &program->results()})
    for (const proto::PluginPort &port : *ports)
      moved += static_cast<double>(localType(port).numBytes());
  executable->costs.push_back(number("bytes accessed", moved));
  executable->costs.push_back(number("flops", program->flops()));
  executable->costs.push_back(number("transcendentals", program->transcendentals()));
  executable->program = std::move(program);
  return executable;
}

PJRT_LoadedExecutable *makeLoaded(std::shared_ptr<LoadedProgram> program, PJRT_Client *client) {
  auto *loaded = new PJRT_LoadedExecutable();
  loaded->client = client;
  for (PluginDevice *device : program->devices()) {
    loaded->logicalIds.push_back({/*replica=*/0, static_cast<int>(loaded->devices.size())});
    loaded->devices.push_back(client->find(*device));
  }
  loaded->fingerprint = program->program().fingerprint();
  loaded->program = std::move(program);
  return loaded;
}

void deleteSerialized(PJRT_Serialized *bytes) { delete bytes; }

} // namespace st::pjrt
