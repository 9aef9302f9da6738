// Profiles that extend others: a file names a base and lists the differences.
#ifndef ST_COSTS_PROFILEEXTENSION_H
#define ST_COSTS_PROFILEEXTENSION_H

#include "lib/Proto/profile.pb.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace st {

/// Applies `text`, the text form of a profile, to `base`. A field that the text sets replaces the
/// base's value, even with 0 or false. Regions replace those of the same name, other lists replace
/// the complete list, and messages are merged field by field. The base's name is never inherited.
/// `text` must parse.
proto::ImplementationProfile extendProfile(const proto::ImplementationProfile &base,
                                           absl::string_view text);

} // namespace st

#endif // ST_COSTS_PROFILEEXTENSION_H
