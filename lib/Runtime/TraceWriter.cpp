#include "lib/Runtime/TraceWriter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {
namespace {

constexpr size_t kBuffer = 1 << 20;

// Exact conversion of picoseconds to microseconds.
std::string microseconds(int64_t picoseconds) {
  return absl::StrFormat("%d.%06d", picoseconds / 1000000, picoseconds % 1000000);
}

} // namespace

absl::Status writeTrace(const StepTrace &trace, AtomicFile &file) {
  std::string out = absl::StrCat("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock_bound_us\":",
                                 microseconds(trace.clockBound), "},\"traceEvents\":[\n");
  absl::string_view separator = "";
  int64_t lastRank = -1;
  for (size_t i = 0; i < trace.rows.size(); ++i) {
    const StepTrace::Row &row = trace.rows[i];
    if (row.rank != lastRank)
      absl::StrAppend(&out, separator, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", row.rank,
                      ",\"args\":{\"name\":",
                      quoteJson(absl::StrCat("rank ", row.rank, " ", row.device)), "}}");
    separator = ",\n";
    lastRank = row.rank;
    absl::StrAppend(&out, separator, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":", row.rank,
                    ",\"tid\":", i, ",\"args\":{\"name\":", quoteJson(row.engine), "}}");
    // Keeps the rows in this order instead of sorting them by name.
    absl::StrAppend(&out, separator,
                    "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":", row.rank,
                    ",\"tid\":", i, ",\"args\":{\"sort_index\":", i, "}}");
  }
  std::vector<std::string> labels;
  for (const std::string &label : trace.labels)
    labels.push_back(quoteJson(label));
  for (const StepTrace::Span &span : trace.spans) {
    absl::StrAppend(&out, separator, "{\"ph\":\"X\",\"pid\":", trace.rows[span.row].rank,
                    ",\"tid\":", span.row, ",\"ts\":", microseconds(span.start),
                    ",\"dur\":", microseconds(span.duration), ",\"name\":", labels[span.label],
                    "}");
    separator = ",\n";
    if (out.size() > kBuffer) {
      ST_RETURN_IF_ERROR(file.write(out));
      out.clear();
    }
  }
  absl::StrAppend(&out, "\n]}\n");
  return file.write(out);
}

} // namespace st
