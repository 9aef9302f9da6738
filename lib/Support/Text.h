// Reads and prints text: UTF-8, JSON strings, and text for messages.
#ifndef ST_SUPPORT_TEXT_H
#define ST_SUPPORT_TEXT_H

#include "absl/strings/string_view.h"

#include <cstddef>
#include <string>

namespace st {

/// Decodes the code point at `position` and moves past it. A byte that does not begin a well-formed
/// UTF-8 sequence is U+FFFD and one byte long.
char32_t decodeUtf8(absl::string_view text, size_t &position);

/// Returns true if `text` is UTF-8 without overlong forms, surrogates or codes past U+10FFFF.
bool isUtf8(absl::string_view text);

/// Appends a code point that is not a surrogate.
void appendUtf8(char32_t code, std::string &out);

/// `text` as a JSON string with its quotes.
std::string quoteJson(absl::string_view text);

/// Parses the JSON string whose opening quote is at `position` and moves past its closing quote.
/// Returns an error message, with `position` at the error; empty without an error.
absl::string_view parseJsonString(absl::string_view text, size_t &position, std::string &out);

/// Quotes a name from an untrusted file for a one-line message.
std::string quoteForMessage(absl::string_view name);

/// A message on one line: control characters and bytes that are not UTF-8 are escaped.
std::string escapeControls(absl::string_view message);

/// A number for people: at most four significant digits, without trailing zeros ("48.14", "0.0625",
/// "12350"). Files for machines have all digits.
std::string printFigure(double value);

/// The same for a column of a table: with `decimals`, or fewer if these give more than four digits
/// ("0.0", "386.5", "12350").
std::string printFigure(double value, int decimals);

} // namespace st

#endif // ST_SUPPORT_TEXT_H
