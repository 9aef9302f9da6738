// Implementation profiles (devices/profiles/*.textproto) and fitted constants (devices/fits/*.textproto).
#ifndef ST_COSTS_PROFILE_H
#define ST_COSTS_PROFILE_H

#include "lib/Costs/GpuCosts.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>
#include <vector>

namespace st {

/// The value of a --profile option: a file, if it has a slash or ends in .textproto, or the name of
/// one that is compiled in. Errors name the file and the field.
absl::StatusOr<proto::ImplementationProfile> findProfile(const std::string &nameOrFile);
std::vector<std::string> builtinProfileNames();

/// Every number is finite and at least 0, the gradient type is known, names of regions are there once.
absl::Status checkProfile(const proto::ImplementationProfile &profile);

/// The constants that ship for a cluster and profile; NotFound where none do.
absl::StatusOr<proto::FittedConstants> builtinConstants(absl::string_view cluster,
                                                        absl::string_view profile);
/// The same, or else those of the profile on the cluster whose name is most alike, or of any profile: constants are shares of a device's
/// figures and host times, so that they are the best there is. NotFound where none ship.
absl::StatusOr<proto::FittedConstants> findConstants(absl::string_view cluster, absl::string_view profile);
absl::StatusOr<proto::FittedConstants> loadConstants(const std::string &path);

/// InvalidArgument for a constant that no cost has, or a value out of range.
absl::StatusOr<GpuConstants> readConstants(const proto::FittedConstants &fitted);

} // namespace st

#endif // ST_COSTS_PROFILE_H
