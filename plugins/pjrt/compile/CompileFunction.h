// From a function as JAX gives it to a program of the simulated devices.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace st::pjrt {

/// Of what this version of the plugin makes, for caches on disk.
inline constexpr int kProgramVersion = 1;

struct FunctionSource {
  absl::string_view code;    ///< text, or bytecode
  absl::string_view options; ///< a serialised CompileOptionsProto
  int64_t partitions = 1;
  std::string target;
  /// By partition, the devices as the target's description numbers them.
  std::vector<int64_t> hardwareIds;
  std::string fingerprint;
  std::string reportFolder, explainFolder; ///< as PluginOptions has them
};

/// The version of StableHLO in which callers are to write functions.
std::array<int64_t, 3> portableVersion();

/// What a cache of compiled functions may tell them apart by.
std::string fingerprintOf(absl::string_view code, int64_t partitions, absl::string_view target);

/// Compiles a function in process. InvalidArgument where the source cannot be read; Unimplemented
/// where the devices cannot compute it; the message names the op and its place.
absl::StatusOr<proto::PluginProgram> compileFunction(const FunctionSource &source);

/// The function with what the program says of its shardings, as text that JAX's own tools parse.
absl::StatusOr<std::string> printFunction(const proto::PluginProgram &program);

} // namespace st::pjrt
