#include "plugins/pjrt/calls/Handles.h"

#include "absl/strings/str_cat.h"

#include <cstring>

namespace st::pjrt {

PJRT_Buffer *makeBuffer(std::shared_ptr<DeviceArray> array, PJRT_Client *client) {
  auto *buffer = new PJRT_Buffer();
  buffer->array = std::move(array);
  buffer->client = client;
  for (size_t i = buffer->array->type().dims.size(); i-- > 0;)
    buffer->minorToMajor.push_back(static_cast<int64_t>(i));
  return buffer;
}

static PJRT_NamedValue number(const char *name, double value) {
  PJRT_NamedValue made = {};
  made.struct_size = sizeof(PJRT_NamedValue);
  made.name = name;
  made.name_size = std::strlen(name);
  made.type = PJRT_NamedValue_kFloat;
  made.float_value = static_cast<float>(value);
  made.value_size = 1;
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
  const int count = std::max(program->results_size(), program->arguments_size());
  executable->memoryKinds.assign(static_cast<size_t>(count), kMemoryKind);
  executable->memoryKindSizes.assign(static_cast<size_t>(count), std::strlen(kMemoryKind));
  for (const auto *ports : {&program->arguments(), &program->results()})
    for (const proto::PluginPort &port : *ports)
      executable->shardings.push_back(port.sharding().SerializeAsString());
  for (const std::string &sharding : executable->shardings) {
    executable->shardingPointers.push_back(sharding.data());
    executable->shardingSizes.push_back(sharding.size());
  }
  double moved = 0;
  for (const auto *ports : {&program->arguments(), &program->results()})
    for (const proto::PluginPort &port : *ports)
      moved += static_cast<double>(localType(port).numBytes());
  executable->costs.push_back(number("bytes accessed", moved));
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
