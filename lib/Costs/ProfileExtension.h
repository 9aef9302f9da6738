// Profiles that extend others: a file names a base and says what differs.
#ifndef ST_COSTS_PROFILEEXTENSION_H
#define ST_COSTS_PROFILEEXTENSION_H

#include "lib/Proto/profile.pb.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace st {

/// What `text` (the text form of a profile) says, over `base`. A field that the text names takes
/// its value there, 0 and false too. Regions replace those of the same name, other lists replace
/// the whole list, and messages are extended field by field. The name is never that of the base.
/// `text` must parse.
proto::ImplementationProfile extendProfile(const proto::ImplementationProfile &base,
                                           absl::string_view text);

} // namespace st

#endif // ST_COSTS_PROFILEEXTENSION_H
