#include "plugins/pjrt/runtime/PluginClient.h"

#include "lib/Support/StatusMacros.h"
#include "lib/Timing/DtuDescription.h"
#include "lib/Timing/GpuDescription.h"
#include "plugins/pjrt/compile/CompileFunction.h"
#include "plugins/pjrt/runtime/HostCallback.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <set>
#include <utility>

namespace st::pjrt {

static absl::StatusOr<proto::DtuDescription> describe(const std::string &target) {
  if (absl::StrContains(target, '/') || absl::EndsWith(target, ".textproto"))
    return loadDtuDescription(target);
  absl::StatusOr<proto::DtuDescription> found = builtinDtuDescription(target);
  if (found.ok())
    return found;
  return absl::InvalidArgumentError(
      absl::StrCat("ST_TARGET=", target, ": ", found.status().message()));
}

static absl::StatusOr<proto::GpuDescription> describeGpu(const std::string &target) {
  if (absl::StrContains(target, '/') || absl::EndsWith(target, ".textproto"))
    return loadGpuDescription(target);
  absl::StatusOr<proto::GpuDescription> found = builtinGpuDescription(target);
  if (found.ok())
    return found;
  return absl::InvalidArgumentError(
      absl::StrCat("ST_TARGET=", target, ": ", found.status().message()));
}

absl::StatusOr<std::unique_ptr<PluginClient>> PluginClient::createOnGpus(PluginOptions options) {
  ST_ASSIGN_OR_RETURN(const proto::GpuDescription description, describeGpu(options.target));
  ST_RETURN_IF_ERROR(checkGpuId(description, options.devices - 1));
  std::unique_ptr<PluginClient> client(new PluginClient(std::move(options)));
  for (int i = 0; i < client->chosen.devices; ++i)
    client->all.push_back(
        std::make_unique<PluginDevice>(i, /*hardwareId=*/i, description.name(),
                                       static_cast<int64_t>(description.memory_bytes().value())));
  client->communicator = createInProcessCommunicator();
  client->runtime = createCudaClient({}, *client->communicator);
  client->versionText = absl::StrCat("st 0.1, ", description.name());
  return client;
}

absl::StatusOr<std::unique_ptr<PluginClient>> PluginClient::create(PluginOptions options) {
  if (isGpuName(options.target))
    return createOnGpus(std::move(options));
  ST_ASSIGN_OR_RETURN(const proto::DtuDescription description, describe(options.target));
  const int64_t clusters = description.clusters_per_chip();
  if (options.devices > clusters * description.max_chips())
    return absl::InvalidArgumentError(absl::StrCat("ST_DEVICES=", options.devices, ": ",
                                                   description.name(), " has at most ",
                                                   clusters * description.max_chips()));
  std::unique_ptr<PluginClient> client(new PluginClient(std::move(options)));
  const int64_t memory = dtuSizes(description).l3Bytes;
  for (int i = 0; i < client->chosen.devices; ++i) {
    const int64_t hardwareId = i / clusters * description.ids_per_chip() + i % clusters;
    client->all.push_back(
        std::make_unique<PluginDevice>(i, hardwareId, description.name(), memory));
  }
  ClientOptions runtimeOptions;
  runtimeOptions.hostThreads = client->chosen.hostThreads;
  client->runtime = createDtuClient(runtimeOptions);
  client->versionText = absl::StrCat("st 0.1, simulated ", description.name());
  return client;
}

/// St ignores XLA's options, but a misspelt option is an error, and so is a value of the wrong type
/// for the flags that JAX sets.
static absl::Status checkOverrides(const proto::PluginCompileOptions &options) {
  static const std::set<absl::string_view> flags = {
      "xla_embed_ir_in_executable", "xla_dump_hlo_as_text",      "xla_dump_hlo_as_proto",
      "xla_cpu_enable_fast_math",   "xla_gpu_deterministic_ops", "xla_allow_excess_precision",
      "xla_dump_include_timestamp"};
  for (const auto &[name, value] : options.overrides()) {
    if (!absl::StartsWith(name, "xla_"))
      return absl::InvalidArgumentError(absl::StrCat("No such compile option: '", name, "'"));
    bool parsed = false;
    if (flags.count(name) && value.has_text() && !absl::SimpleAtob(value.text(), &parsed))
      return absl::InvalidArgumentError(absl::StrCat("While setting option ", name, ", '",
                                                     value.text(), "' is not a valid bool value."));
  }
  return absl::OkStatus();
}

static absl::StatusOr<proto::PluginCompileOptions> parseOptions(absl::string_view options) {
  proto::PluginCompileOptions parsed;
  if (!parsed.ParseFromArray(options.data(), static_cast<int>(options.size())))
    return absl::InvalidArgumentError("the compile options are not a CompileOptionsProto");
  if (parsed.parameter_is_tupled_arguments())
    return absl::UnimplementedError("functions whose arguments are one tuple are not supported");
  ST_RETURN_IF_ERROR(checkOverrides(parsed));
  const proto::PluginBuildOptions &build = parsed.executable_build_options();
  if (build.num_replicas() > 1)
    return absl::UnimplementedError(
        absl::StrCat("num_replicas is ", build.num_replicas(),
                     ", expected 1: St runs partitions, as jax.jit and shard_map make them"));
  return parsed;
}

absl::StatusOr<std::vector<PluginDevice *>>
PluginClient::placesOf(const proto::PluginBuildOptions &options, int64_t partitions) const {
  std::vector<PluginDevice *> places;
  for (const auto &partition : options.device_assignment().computation_devices())
    for (int64_t id : partition.replica_device_ids()) {
      if (id < 0 || id >= static_cast<int64_t>(all.size()))
        return absl::InvalidArgumentError(
            absl::StrCat("the device assignment names device ", id, "; there are ", all.size()));
      places.push_back(all[static_cast<size_t>(id)].get());
    }
  if (places.empty())
    for (int64_t i = 0; i < partitions && i < static_cast<int64_t>(all.size()); ++i) {
      const int64_t first =
          partitions == 1 && options.device_ordinal() > 0 ? options.device_ordinal() : 0;
      places.push_back(
          all[static_cast<size_t>((first + i) % static_cast<int64_t>(all.size()))].get());
    }
  if (static_cast<int64_t>(places.size()) != partitions)
    return absl::InvalidArgumentError(absl::StrCat("the device assignment names ", places.size(),
                                                   " devices for ", partitions, " partitions"));
  return places;
}

absl::StatusOr<std::shared_ptr<const proto::PluginProgram>>
PluginClient::compileOnly(absl::string_view code, absl::string_view options) {
  ST_ASSIGN_OR_RETURN(const proto::PluginCompileOptions parsed, parseOptions(options));
  const proto::PluginBuildOptions &build = parsed.executable_build_options();
  FunctionSource source;
  source.code = code;
  source.options = options;
  source.partitions = std::max<int64_t>(build.num_partitions(), 1);
  source.target = chosen.target;
  source.reportFolder = chosen.reportFolder;
  source.explainFolder = chosen.explainFolder;
  ST_ASSIGN_OR_RETURN(const std::vector<PluginDevice *> places, placesOf(build, source.partitions));
  for (const PluginDevice *device : places)
    source.hardwareIds.push_back(device->hardwareId());
  source.memoryBytes = places.front()->memoryUse().limit;
  source.fingerprint = fingerprintOf(code, source.partitions, source.target);
  // The split over devices depends on the speed of links.
  std::string key = source.fingerprint;
  if (source.partitions > 1)
    for (int64_t id : source.hardwareIds)
      absl::StrAppend(&key, ",", id);
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto it = cache.find(key); it != cache.end())
      return it->second;
  }
  ST_ASSIGN_OR_RETURN(proto::PluginProgram made, compileFunction(source));
  auto program = std::make_shared<const proto::PluginProgram>(std::move(made));
  std::lock_guard<std::mutex> lock(mutex);
  return cache.emplace(key, std::move(program)).first->second;
}

absl::StatusOr<std::shared_ptr<LoadedProgram>> PluginClient::compile(absl::string_view code,
                                                                     absl::string_view options) {
  ST_ASSIGN_OR_RETURN(auto program, compileOnly(code, options));
  return load(std::move(program), options);
}

absl::StatusOr<std::shared_ptr<LoadedProgram>>
PluginClient::load(std::shared_ptr<const proto::PluginProgram> program, absl::string_view options) {
  if (options.empty())
    options = program->options();
  if (program->target() != chosen.target)
    return absl::InvalidArgumentError(absl::StrCat("program ", program->name(),
                                                   " was compiled for target ", program->target(),
                                                   "; this client's is ", chosen.target));
  ST_ASSIGN_OR_RETURN(const proto::PluginCompileOptions parsed, parseOptions(options));
  ST_ASSIGN_OR_RETURN(std::vector<PluginDevice *> places,
                      placesOf(parsed.executable_build_options(), program->partitions()));
  ST_RETURN_IF_ERROR(reportShardings(*program));
  std::lock_guard<std::mutex> lock(mutex);
  return LoadedProgram::create(std::move(program), std::move(places), *runtime);
}

absl::StatusOr<LoadedProgram::Run> PluginClient::launch(LoadedProgram &program,
                                                        const ArrayLists &arguments,
                                                        const std::set<int64_t> &kept) {
  ST_ASSIGN_OR_RETURN(LoadedProgram::Run run, program.launch(arguments, kept, work));
  std::lock_guard<std::mutex> lock(mutex);
  last = program.shared_from_this();
  return run;
}

std::shared_ptr<LoadedProgram> PluginClient::lastProgram() const {
  std::lock_guard<std::mutex> lock(mutex);
  return last;
}

} // namespace st::pjrt
