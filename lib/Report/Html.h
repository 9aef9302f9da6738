// The parts of a page: escaped text, cells and tables.
#ifndef ST_REPORT_HTML_H
#define ST_REPORT_HTML_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {

/// Escapes any text as content or as an attribute's value; control characters become escapes.
std::string escapeHtml(absl::string_view text);

/// A cell of a table, with its own markup.
struct HtmlCell {
  std::string html;
  double bar = -1; ///< the filled fraction of the cell, 0 to 1; negative: none
};
HtmlCell textCell(absl::string_view text);
/// Milliseconds with four digits; the exact value on hover.
HtmlCell timeCell(int64_t picoseconds);
HtmlCell shareCell(double share);
HtmlCell bytesCell(int64_t bytes);

/// The first row is the head.
std::string htmlTable(const std::vector<std::vector<HtmlCell>> &rows);

/// A section and a note of a page. `title`, `body` and `text` are markup.
std::string htmlSection(const std::string &id, const std::string &title, const std::string &body);
std::string htmlNote(const std::string &text);

std::string printShare(double share);          ///< "12.3 %"
std::string printMiB(int64_t bytes);           ///< "301.2"
std::string printShortMs(int64_t picoseconds); ///< "54.36"

} // namespace st

#endif // ST_REPORT_HTML_H
