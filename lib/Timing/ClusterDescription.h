// Loading and checking a cluster's description (devices/clusters/*.textproto).
#pragma once

#include "lib/Proto/cluster.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>
#include <vector>

namespace st {

/// Parses the text form and fills in the figures of the description of `device`, so users of the
/// result do not need that description. `name` (a file name) begins every error, which names the
/// field, the expected and the found value. The result has passed checkClusterDescription.
absl::StatusOr<proto::ClusterDescription> parseClusterDescription(absl::string_view text,
                                                                  const std::string &name);
absl::StatusOr<proto::ClusterDescription> loadClusterDescription(const std::string &path);

/// A built-in description: the stem of a file in devices/clusters ("dgx-a100-80gb"). NotFound lists
/// the available names.
absl::StatusOr<proto::ClusterDescription> builtinClusterDescription(absl::string_view name);
std::vector<std::string> builtinClusterDescriptionNames();

/// The value of a --cluster option: a file, if it has a slash or ends in .textproto, or the name of
/// a built-in cluster.
absl::StatusOr<proto::ClusterDescription> findClusterDescription(const std::string &nameOrFile);

/// Checks that every figure that the cluster needs is present, in bounds and with a source that
/// starts with v, d, r or a, and that counts, shares and curves are consistent. Errors name the
/// field.
absl::Status checkClusterDescription(const proto::ClusterDescription &description);

} // namespace st
