// Loading and checking a DTU description (devices/*.textproto), and its figures in the units of the
// simulator, the tiler and the planner.
#pragma once

#include "lib/Proto/device.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {

/// Parses the text form. `name` (a file name) begins every error. The result has passed
/// checkDtuDescription.
absl::StatusOr<proto::DtuDescription> parseDtuDescription(absl::string_view text,
                                                          const std::string &name);
absl::StatusOr<proto::DtuDescription> loadDtuDescription(const std::string &path);

/// A built-in description: the stem of a file in devices/ ("dtu-t10"). NotFound lists the available
/// names.
absl::StatusOr<proto::DtuDescription> builtinDtuDescription(absl::string_view name);
std::vector<std::string> builtinDtuDescriptionNames();

/// Checks that every figure is present, finite and positive, with a source that starts with v, d, r
/// or a, and that counts are positive and consistent. Errors name the field.
absl::Status checkDtuDescription(const proto::DtuDescription &description);

/// The location of a device id.
struct DtuPlace {
  int64_t group = 0;   ///< group of directly joined chips
  int64_t chip = 0;    ///< number among all chips of the machine
  int64_t cluster = 0; ///< within the chip
};

/// InvalidArgument for an id that names no cluster (id 5k+4 on T10) or exceeds max_chips.
absl::StatusOr<DtuPlace> dtuPlace(const proto::DtuDescription &description, int64_t deviceId);

/// Sizes of one cluster in bytes, as integers.
struct DtuSizes {
  int64_t cores = 0, l1Bytes = 0, l2Bytes = 0;
  int64_t l3Bytes = 0;   ///< the cluster's share of the chip's memory
  int64_t dteQueues = 0; ///< the cluster's share of the chip's engines
  /// The cluster's share of the host's memory; kNoLimit if the description gives none, 0 without a
  /// link to the host.
  int64_t hostBytes = 0;
  static constexpr int64_t kNoLimit = int64_t(1) << 60;
};
DtuSizes dtuSizes(const proto::DtuDescription &description);

} // namespace st
