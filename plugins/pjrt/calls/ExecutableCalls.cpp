#include "lib/Support/StatusMacros.h"
#include "plugins/pjrt/abi/Executables.h"
#include "plugins/pjrt/calls/Calls.h"
#include "plugins/pjrt/compile/PrintFunction.h"

#include <algorithm>
#include <cstring>

namespace st::pjrt {

namespace {

absl::Status destroyExecutable(PJRT_Executable_Destroy_Args &args) {
  delete args.executable;
  return absl::OkStatus();
}

absl::Status nameOf(PJRT_Executable_Name_Args &args) {
  args.executable_name = args.executable->program->name().data();
  args.executable_name_size = args.executable->program->name().size();
  return absl::OkStatus();
}

absl::Status countReplicas(PJRT_Executable_NumReplicas_Args &args) {
  args.num_replicas = 1;
  return absl::OkStatus();
}

absl::Status countPartitions(PJRT_Executable_NumPartitions_Args &args) {
  args.num_partitions = static_cast<size_t>(args.executable->program->partitions());
  return absl::OkStatus();
}

absl::Status countOutputs(PJRT_Executable_NumOutputs_Args &args) {
  args.num_outputs = static_cast<size_t>(args.executable->program->results_size());
  return absl::OkStatus();
}

/// Size of the code of a device.
int64_t codeBytes(const proto::PluginProgram &program) {
  int64_t bytes = 0;
  for (const proto::Group &group : program.code().groups())
    for (const proto::Task &task : group.tasks())
      bytes += static_cast<int64_t>(task.program().size());
  return bytes;
}

absl::Status codeSize(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args &args) {
  args.size_in_bytes = codeBytes(*args.executable->program);
  return absl::OkStatus();
}

absl::Status costsOf(PJRT_Executable_GetCostAnalysis_Args &args) {
  args.properties = args.executable->costs.data();
  args.num_properties = args.executable->costs.size();
  return absl::OkStatus();
}

absl::Status outputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args &args) {
  args.num_outputs = static_cast<size_t>(args.executable->program->results_size());
  const int arguments = args.executable->program->arguments_size();
  args.memory_kinds = args.executable->memoryKinds.data() + arguments;
  args.memory_kind_sizes = args.executable->memoryKindSizes.data() + arguments;
  return absl::OkStatus();
}

absl::Status parameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args &args) {
  args.num_parameters = static_cast<size_t>(args.executable->program->arguments_size());
  args.memory_kinds = args.executable->memoryKinds.data();
  args.memory_kind_sizes = args.executable->memoryKindSizes.data();
  return absl::OkStatus();
}

absl::Status outputTypes(PJRT_Executable_OutputElementTypes_Args &args) {
  args.output_types = args.executable->resultTypes.data();
  args.num_output_types = args.executable->resultTypes.size();
  return absl::OkStatus();
}

absl::Status outputDimensions(PJRT_Executable_OutputDimensions_Args &args) {
  args.num_outputs = args.executable->resultRanks.size();
  args.dims = args.executable->resultDims.data();
  args.dim_sizes = args.executable->resultRanks.data();
  return absl::OkStatus();
}

/// Callers request the size first, then the text.
absl::Status optimizedProgram(PJRT_Executable_OptimizedProgram_Args &args) {
  ST_ASSIGN_OR_RETURN(const std::string text, printFunction(*args.executable->program));
  args.program->format = "mlir";
  args.program->format_size = 4;
  if (args.program->code) {
    if (args.program->code_size < text.size())
      return absl::InvalidArgumentError(absl::StrCat(
          "the program has ", text.size(), " bytes; there is room for ", args.program->code_size));
    std::memcpy(args.program->code, text.data(), text.size());
  }
  args.program->code_size = text.size();
  return absl::OkStatus();
}

absl::Status fingerprintOfExecutable(PJRT_Executable_Fingerprint_Args &args) {
  args.executable_fingerprint = args.executable->program->fingerprint().data();
  args.executable_fingerprint_size = args.executable->program->fingerprint().size();
  return absl::OkStatus();
}

absl::Status serialize(PJRT_Executable_Serialize_Args &args) {
  if (args.executable->program->host().steps_size() > 0)
    return absl::UnimplementedError(
        absl::StrCat("program ", args.executable->program->name(),
                     " calls back to this process; it cannot be stored"));
  auto *bytes = new PJRT_Serialized{args.executable->program->SerializeAsString()};
  args.serialized_bytes = bytes->bytes.data();
  args.serialized_bytes_size = bytes->bytes.size();
  args.serialized_executable = bytes;
  args.serialized_executable_deleter = deleteSerialized;
  return absl::OkStatus();
}

absl::Status compileOptions(PJRT_Executable_GetCompileOptions_Args &args) {
  auto *bytes = new PJRT_Serialized{args.executable->program->options()};
  args.serialized_bytes = bytes->bytes.data();
  args.serialized_bytes_size = bytes->bytes.size();
  args.serialized_compile_options = bytes;
  args.serialized_compile_options_deleter = deleteSerialized;
  return absl::OkStatus();
}

absl::Status memoryStats(PJRT_Executable_GetCompiledMemoryStats_Args &args) {
  PJRT_Executable *const executable = args.executable;
  const size_t size = args.struct_size;
  args = {};
  args.struct_size = size;
  args.executable = executable;
  const proto::PluginProgram &program = *args.executable->program;
  args.generated_code_size_in_bytes = codeBytes(program);
  int64_t donated = 0;
  for (const proto::PluginPort &port : program.arguments()) {
    const int64_t bytes = localType(port).numBytes();
    (port.memory() ? args.host_argument_size_in_bytes : args.argument_size_in_bytes) += bytes;
    donated += port.is_donated() ? bytes : 0;
  }
  for (const proto::PluginPort &port : program.results())
    (port.memory() ? args.host_output_size_in_bytes : args.output_size_in_bytes) +=
        localType(port).numBytes();
  args.alias_size_in_bytes = std::min(donated, args.output_size_in_bytes);
  for (const proto::Group &group : program.code().groups())
    args.temp_size_in_bytes += group.arena_bytes();
  args.peak_memory_in_bytes = args.argument_size_in_bytes + args.output_size_in_bytes -
                              args.alias_size_in_bytes + args.temp_size_in_bytes;
  return absl::OkStatus();
}

absl::Status deserialize(PJRT_Executable_DeserializeAndLoad_Args &args) {
  auto program = std::make_shared<proto::PluginProgram>();
  if (!program->ParseFromArray(args.serialized_executable,
                               static_cast<int>(args.serialized_executable_size)) ||
      (program->code().groups_size() != 1 && !program->has_host()))
    return absl::InvalidArgumentError("the bytes are not a serialised executable of this plugin");
  absl::string_view options;
  if (args.overridden_serialized_compile_options)
    options = {args.overridden_serialized_compile_options,
               args.overridden_serialized_compile_options_size};
  ST_ASSIGN_OR_RETURN(std::shared_ptr<LoadedProgram> loaded,
                      args.client->client->load(std::move(program), options));
  args.loaded_executable = makeLoaded(std::move(loaded), args.client);
  return absl::OkStatus();
}

} // namespace

void fillExecutableCalls(PJRT_Api &api) {
  api.PJRT_Executable_Destroy = Call<destroyExecutable>::call;
  api.PJRT_Executable_Name = Call<nameOf>::call;
  api.PJRT_Executable_NumReplicas = Call<countReplicas>::call;
  api.PJRT_Executable_NumPartitions = Call<countPartitions>::call;
  api.PJRT_Executable_NumOutputs = Call<countOutputs>::call;
  api.PJRT_Executable_SizeOfGeneratedCodeInBytes = Call<codeSize>::call;
  api.PJRT_Executable_GetCostAnalysis = Call<costsOf>::call;
  api.PJRT_Executable_OutputMemoryKinds = Call<outputMemoryKinds>::call;
  api.PJRT_Executable_ParameterMemoryKinds = Call<parameterMemoryKinds>::call;
  api.PJRT_Executable_OutputElementTypes = Call<outputTypes>::call;
  api.PJRT_Executable_OutputDimensions = Call<outputDimensions>::call;
  api.PJRT_Executable_OptimizedProgram = Call<optimizedProgram>::call;
  api.PJRT_Executable_Fingerprint = Call<fingerprintOfExecutable>::call;
  api.PJRT_Executable_Serialize = Call<serialize>::call;
  api.PJRT_Executable_GetCompileOptions = Call<compileOptions>::call;
  api.PJRT_Executable_GetCompiledMemoryStats = Call<memoryStats>::call;
  api.PJRT_Executable_DeserializeAndLoad = Call<deserialize>::call;
}

} // namespace st::pjrt
