// The target of a module: a DTU or a GPU, by its description.
#ifndef ST_DRIVER_TARGET_H
#define ST_DRIVER_TARGET_H

#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/device.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>
#include <variant>

namespace mlir::st {

class Target {
public:
  /// Finds the value of --target: the name of a built-in description, or a file. A name that begins
  /// with "cuda-" is a GPU.
  static absl::StatusOr<Target> find(const std::string &name);
  /// The target that is recorded on a module.
  static absl::StatusOr<Target> of(ModuleOp module);

  /// Records the properties that shared passes read (`st.target` and related attributes) and the
  /// description on the module, so later phases need no file.
  void record(ModuleOp module) const;
  /// Records the costs of devices and links, once the module has its mesh and devices.
  void recordCosts(ModuleOp module) const;

  bool isGpu() const;
  const std::string &name() const;
  /// InvalidArgument for an id that names no device.
  absl::Status checkDevice(int64_t id) const;
  /// Returns true if a device can access its host's memory.
  bool hasHostMemory() const;
  /// The prefix of this target's device names in a device_mapping.
  StringRef devicePrefix() const { return isGpu() ? "GPU:" : "/device:XLA_DTU:"; }

private:
  using Description = std::variant<::st::proto::DtuDescription, ::st::proto::GpuDescription>;
  explicit Target(Description description) : description(std::move(description)) {}

  Description description;
};

} // namespace mlir::st

#endif // ST_DRIVER_TARGET_H
