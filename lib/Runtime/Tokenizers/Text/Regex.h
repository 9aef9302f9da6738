// Regular expressions over Unicode text, by PCRE2.
#ifndef ST_RUNTIME_TOKENIZERS_REGEX_H
#define ST_RUNTIME_TOKENIZERS_REGEX_H

#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <memory>
#include <string>

struct pcre2_real_code_8;

namespace st {

/// A compiled pattern. Several threads may use it concurrently.
class Regex {
public:
  /// Compiles a pattern in Oniguruma's syntax, which tokenizer files use; `\s` and `\d` are the
  /// Unicode properties White_Space and Nd. An error quotes the pattern.
  static absl::StatusOr<Regex> compile(absl::string_view pattern);

  /// Compiles a pattern that matches `text` and nothing else.
  static absl::StatusOr<Regex> compileLiteral(absl::string_view text);

  /// Calls `found` for the matches in `text` (UTF-8) from left to right. An error if the match
  /// takes too long.
  absl::Status forEachMatch(absl::string_view text,
                            absl::FunctionRef<void(size_t begin, size_t end)> found) const;

private:
  struct Release {
    void operator()(pcre2_real_code_8 *code) const;
  };
  static absl::StatusOr<Regex> compileWith(absl::string_view pattern, uint32_t options);

  std::string source;
  std::shared_ptr<pcre2_real_code_8> code;
};

/// The pattern of a tokenizer.json: {"String": text} or {"Regex": pattern}.
absl::StatusOr<Regex> readPattern(const JsonNode &node);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_REGEX_H
