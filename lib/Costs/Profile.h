// Implementation profiles (devices/profiles/*.textproto) and fitted constants (devices/fits/*.textproto).
#ifndef ST_COSTS_PROFILE_H
#define ST_COSTS_PROFILE_H

#include "lib/Costs/GpuCosts.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st {

/// The value of a --profile option: a file, if it has a slash or ends in .textproto, or the name of
/// a built-in profile; includes the profiles that it extends. Errors name the file and the field.
absl::StatusOr<proto::ImplementationProfile> findProfile(const std::string &nameOrFile);

/// Checks that every number is finite and at least 0, the gradient type is known, names of regions
/// are unique, and products have tiles.
absl::Status checkProfile(const proto::ImplementationProfile &profile);

/// Returns the built-in constants of a cluster and profile. Falls back to those on the cluster with
/// the most similar name, of the base profile, or of any profile. Constants are host times and
/// fractions of a device's figures, so these are the best estimate. NotFound if none exist.
absl::StatusOr<proto::FittedConstants> findConstants(absl::string_view cluster,
                                                     const proto::ImplementationProfile &profile);
absl::StatusOr<proto::FittedConstants> loadConstants(const std::string &path);

/// InvalidArgument for an unknown constant or a value out of range.
absl::StatusOr<GpuConstants> readConstants(const proto::FittedConstants &fitted);

} // namespace st

#endif // ST_COSTS_PROFILE_H
