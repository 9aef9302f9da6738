// A machine of simulated devices with the functions compiled for it: the class behind PJRT_Client.
#pragma once

#include "include/st/Runtime/Communicator.h"
#include "plugins/pjrt/compile/options.pb.h"
#include "plugins/pjrt/runtime/LoadedProgram.h"
#include "plugins/pjrt/runtime/Options.h"
#include "plugins/pjrt/runtime/WorkQueue.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace st::pjrt {

class PluginClient {
public:
  /// InvalidArgument if the target has no description or fewer devices.
  static absl::StatusOr<std::unique_ptr<PluginClient>> create(PluginOptions options);

  const std::vector<std::unique_ptr<PluginDevice>> &devices() const { return all; }
  const PluginOptions &options() const { return chosen; }
  const std::string &version() const { return versionText; }
  WorkQueue &queue() { return work; }

  /// Compiles a function, or finds it in the cache, and loads it. `options` is a serialised
  /// CompileOptionsProto.
  absl::StatusOr<std::shared_ptr<LoadedProgram>> compile(absl::string_view code,
                                                         absl::string_view options);
  /// The same without loading it.
  absl::StatusOr<std::shared_ptr<const proto::PluginProgram>>
  compileOnly(absl::string_view code, absl::string_view options);
  /// Loads a program on the devices in the options; empty: those it was compiled for.
  absl::StatusOr<std::shared_ptr<LoadedProgram>>
  load(std::shared_ptr<const proto::PluginProgram> program, absl::string_view options);

  /// Runs a program and records it as the last one.
  absl::StatusOr<LoadedProgram::Run> launch(LoadedProgram &program, const ArrayLists &arguments,
                                            const std::set<int64_t> &kept);
  /// Null before the first run.
  std::shared_ptr<LoadedProgram> lastProgram() const;

private:
  static absl::StatusOr<std::unique_ptr<PluginClient>> createOnGpus(PluginOptions options);
  explicit PluginClient(PluginOptions options) : chosen(std::move(options)) {}
  absl::StatusOr<std::vector<PluginDevice *>> placesOf(const proto::PluginBuildOptions &options,
                                                       int64_t partitions) const;

  PluginOptions chosen;
  std::string versionText;
  std::vector<std::unique_ptr<PluginDevice>> all;
  std::unique_ptr<::st::Communicator> communicator; ///< of GPUs
  std::unique_ptr<::st::Client> runtime;
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<const proto::PluginProgram>> cache;
  std::shared_ptr<LoadedProgram> last;
  WorkQueue work;
};

} // namespace st::pjrt
