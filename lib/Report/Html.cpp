#include "lib/Report/Html.h"

#include "lib/Runtime/Report.h"
#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

#include <algorithm>

namespace st {

std::string escapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(
      escapeControls(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string printShare(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

std::string printMiB(int64_t bytes) {
  return printFigure(static_cast<double>(bytes) / (1 << 20), 1);
}

std::string printShortMs(int64_t picoseconds) {
  return printFigure(static_cast<double>(picoseconds) / 1e9, 3);
}

std::string htmlSection(const std::string &id, const std::string &title, const std::string &body) {
  return absl::StrCat("<section id=\"", id, "\"><h2>", title, "</h2>\n", body, "</section>\n");
}

std::string htmlNote(const std::string &text) {
  return absl::StrCat("<p class=\"note\">", text, "</p>\n");
}

HtmlCell textCell(absl::string_view text) { return {escapeHtml(text)}; }

HtmlCell timeCell(int64_t picoseconds) {
  return {absl::StrCat("<span title=\"", printExactMilliseconds(picoseconds), " ms\">",
                       printShortMs(picoseconds), "</span>")};
}

HtmlCell shareCell(double share) { return {printShare(share), std::clamp(share, 0.0, 1.0)}; }

HtmlCell bytesCell(int64_t bytes) {
  return {absl::StrCat("<span title=\"", bytes, " bytes\">", printMiB(bytes), "</span>")};
}

std::string htmlTable(const std::vector<std::vector<HtmlCell>> &rows) {
  std::string out = "<div class=\"scroll\"><table>\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    out += i == 0 ? "<thead><tr>" : "<tr>";
    for (const HtmlCell &cell : rows[i]) {
      if (i == 0)
        absl::StrAppend(&out, "<th scope=\"col\">", cell.html, "</th>");
      else if (cell.bar < 0)
        absl::StrAppend(&out, "<td>", cell.html, "</td>");
      else
        absl::StrAppendFormat(&out, "<td class=\"bar\" style=\"--part:%.1f%%\">%s</td>",
                              100 * cell.bar, cell.html);
    }
    out += i == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

} // namespace st
