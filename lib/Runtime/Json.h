// JSON files of users: training data and the state of a trainer.
#ifndef ST_RUNTIME_JSON_H
#define ST_RUNTIME_JSON_H

#include "google/protobuf/struct.pb.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st {

/// Parses one JSON object, strictly: no key stands twice in an object. The error
/// is one line that begins with `name`.
absl::StatusOr<google::protobuf::Struct> parseJsonObject(absl::string_view text,
                                                         absl::string_view name);

/// The field of that name, or null.
const google::protobuf::Value *findField(const google::protobuf::Struct &object,
                                         const std::string &name);

/// The text of a JSON object in which `key` has the JSON `value`, at its place or,
/// where it is new, in front. Everything else stays as it was written. The text
/// must be one that parseJsonObject takes.
std::string setJsonField(absl::string_view object, absl::string_view key, absl::string_view value);

/// The number as JSON, with the fewest digits that read back as the same.
std::string printJsonNumber(double value);

/// A value as JSON on one line, shortened to fit into a message.
std::string printForMessage(const google::protobuf::Value &value);

} // namespace st

#endif // ST_RUNTIME_JSON_H
