// JSON files of users: training data and the state of a trainer.
#ifndef ST_RUNTIME_JSON_H
#define ST_RUNTIME_JSON_H

#include "google/protobuf/struct.pb.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st {

/// The whole of a regular file of at most `limit` bytes. Errors begin with the path.
absl::StatusOr<std::string> readFile(const std::string &path, uint64_t limit);

/// Parses one JSON object. The error is one line that begins with `name`.
absl::StatusOr<google::protobuf::Struct> parseJsonObject(absl::string_view text,
                                                         absl::string_view name);

/// The field of that name, or null.
const google::protobuf::Value *findField(const google::protobuf::Struct &object,
                                         const std::string &name);

/// `text` as a JSON string with its quotes.
std::string quoteJson(absl::string_view text);

} // namespace st

#endif // ST_RUNTIME_JSON_H
