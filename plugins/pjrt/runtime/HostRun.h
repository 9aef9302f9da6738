// A run of a function that calls back to the host.
#pragma once

#include "plugins/pjrt/runtime/LoadedProgram.h"

#include <map>

namespace st::pjrt {

/// The programs of the steps of a function, loaded.
using LoadedSteps = std::map<const proto::PluginProgram *, std::shared_ptr<LoadedProgram>>;

/// Loads the programs of all steps of a block on a device.
absl::Status loadSteps(const proto::PluginBlock &block, PluginDevice &device, ::st::Client &runtime,
                       LoadedSteps &steps);

class HostRun {
public:
  using Bytes = std::shared_ptr<Storage>;

  HostRun(const LoadedSteps &steps, PluginDevice &device) : steps(steps), device(device) {}

  /// Runs a block and returns its results.
  absl::StatusOr<std::vector<Bytes>> run(const proto::PluginBlock &block,
                                         const std::vector<Bytes> &arguments);

private:
  absl::StatusOr<std::vector<Bytes>> runStep(const proto::PluginStep &step);
  absl::StatusOr<std::vector<Bytes>> runCallback(const proto::PluginCallback &callback,
                                                 const std::vector<Bytes> &inputs);
  absl::StatusOr<std::vector<Bytes>> runLoop(const proto::PluginLoop &loop,
                                             std::vector<Bytes> carried);
  absl::StatusOr<std::vector<Bytes>> runBranch(const proto::PluginBranches &branches,
                                               Storage &choice);

  const LoadedSteps &steps;
  PluginDevice &device;
  std::map<int, Bytes> values; ///< by number
};

} // namespace st::pjrt
