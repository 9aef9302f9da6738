// Users' JSON files: training data and trainer state.
#ifndef ST_RUNTIME_JSON_H
#define ST_RUNTIME_JSON_H

#include "google/protobuf/struct.pb.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st {

/// Parses one JSON object strictly: keys of an object must be unique. The error is one line that
/// begins with `name`.
absl::StatusOr<google::protobuf::Struct> parseJsonObject(absl::string_view text,
                                                         absl::string_view name);

/// The field of that name, or null.
const google::protobuf::Value *findField(const google::protobuf::Struct &object,
                                         const std::string &name);

/// The text of a JSON object with `key` set to the JSON `value`: replaced in place, or inserted at
/// the front if new. The rest of the text is unchanged. The text must be accepted by
/// parseJsonObject.
std::string setJsonField(absl::string_view object, absl::string_view key, absl::string_view value);

/// The shortest JSON number that reads back as the same value.
std::string printJsonNumber(double value);

/// A value as one line of JSON, shortened to fit into a message.
std::string printForMessage(const google::protobuf::Value &value);

} // namespace st

#endif // ST_RUNTIME_JSON_H
