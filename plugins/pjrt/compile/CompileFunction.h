// Compiles a function from JAX to a program for the simulated devices.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace st::pjrt {

/// The version of PluginProgram, for caches on disk.
inline constexpr int kProgramVersion = 1;

struct FunctionSource {
  absl::string_view code;    ///< text, or bytecode
  absl::string_view options; ///< a serialised CompileOptionsProto
  int64_t partitions = 1;
  std::string target;
  /// The devices by partition, numbered as in the target's description.
  std::vector<int64_t> hardwareIds;
  int64_t memoryBytes = 0; ///< of a device
  std::string fingerprint;
  std::string reportFolder, explainFolder; ///< as in PluginOptions
};

/// The version of StableHLO in which callers must write functions.
std::array<int64_t, 3> portableVersion();

/// A key for caches of compiled functions.
std::string fingerprintOf(absl::string_view code, int64_t partitions, absl::string_view target);

/// Compiles a function in process. InvalidArgument if the source cannot be read; Unimplemented if
/// the devices cannot compute it; the message names the op and its location.
absl::StatusOr<proto::PluginProgram> compileFunction(const FunctionSource &source);

} // namespace st::pjrt
