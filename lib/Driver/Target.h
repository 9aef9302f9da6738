// What a module is compiled for: a DTU or a GPU, by its description.
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
  /// By the value of --target: a name of a description that is compiled in, or a file. A name that
  /// begins with "cuda-" is a GPU.
  static absl::StatusOr<Target> find(const std::string &name);
  /// Of a module on which one was recorded.
  static absl::StatusOr<Target> of(ModuleOp module);

  /// Puts what shared passes read of it (`st.target` and the attributes beside it) and its
  /// description on the module, so that later phases need no file.
  void record(ModuleOp module) const;
  /// Records what devices and links cost, once the module has its mesh and devices.
  void recordCosts(ModuleOp module) const;

  bool isGpu() const;
  const std::string &name() const;
  /// InvalidArgument for an id that names no device.
  absl::Status checkDevice(int64_t id) const;
  /// Whether it reaches its host's memory.
  bool hasHostMemory() const;
  /// How the keys of a device_mapping begin that name devices of it.
  StringRef devicePrefix() const { return isGpu() ? "GPU:" : "/device:XLA_DTU:"; }

private:
  using Description = std::variant<::st::proto::DtuDescription, ::st::proto::GpuDescription>;
  explicit Target(Description description) : description(std::move(description)) {}

  Description description;
};

} // namespace mlir::st

#endif // ST_DRIVER_TARGET_H
