// A value in a tokenizer.json, with its path for messages.
#ifndef ST_RUNTIME_TOKENIZERS_JSONNODE_H
#define ST_RUNTIME_TOKENIZERS_JSONNODE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace st {

/// Parses a text. The error is one line that begins with `name`. If an object repeats a key, the
/// last value counts.
absl::StatusOr<nlohmann::json> parseJsonText(absl::string_view text, absl::string_view name);

/// Refers to a value of a parsed file, which must outlive it. Errors name the file, the path and
/// the expectation.
class JsonNode {
public:
  JsonNode(const nlohmann::json &value, std::string place)
      : value(&value), where(std::move(place)) {}

  const nlohmann::json &json() const { return *value; }
  const std::string &place() const { return where; }
  bool isNull() const { return value->is_null(); }
  bool has(const char *key) const {
    return value->is_object() && value->contains(key) && !(*value)[key].is_null();
  }

  absl::Status error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
  }

  /// An error unless this is an object with these keys only, so that no unknown option is ignored.
  absl::Status allow(std::initializer_list<absl::string_view> keys) const;

  /// The value of a required key.
  absl::StatusOr<JsonNode> at(const char *key) const;
  JsonNode element(size_t i) const;

  absl::StatusOr<std::string> text() const;
  absl::StatusOr<bool> flag() const;
  absl::StatusOr<int64_t> integer() const; ///< from 0 to 2^31 - 1
  absl::StatusOr<double> number() const;
  absl::Status expectArray() const;

  /// The value of a key, or `otherwise` if it is missing or null.
  absl::StatusOr<std::string> text(const char *key, absl::string_view otherwise) const;
  absl::StatusOr<bool> flag(const char *key, bool otherwise) const;

private:
  const nlohmann::json *value;
  std::string where;
};

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_JSONNODE_H
