#include "tools/st-plan/KeyStatuses.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::st;

constexpr size_t kLineWidth = 110;

/// Joins words to indented lines.
static std::string wrap(const std::vector<std::string> &words) {
  const std::string indent(4, ' ');
  std::string text, line = indent;
  for (const std::string &word : words) {
    if (line.size() + word.size() + 1 > kLineWidth) {
      absl::StrAppend(&text, line, "\n");
      line = indent;
    }
    absl::StrAppend(&line, line == indent ? "" : " ", word);
  }
  return absl::StrCat(text, line, "\n");
}

std::string mlir::st::printKeys(const std::vector<KeyStatus> &statuses) {
  if (statuses.empty())
    return "";
  llvm::MapVector<StringRef, std::vector<std::string>> unused;
  size_t honoured = 0;
  for (const KeyStatus &status : statuses) {
    if (status.status == KeyStatus::Honoured)
      ++honoured;
    else
      unused[status.reason].push_back(status.key);
  }
  std::string text =
      absl::StrCat("\nconfiguration    ", honoured, " keys honoured, ", statuses.size() - honoured,
                   " with no effect on the plan", unused.empty() ? "\n" : ":\n");
  for (const auto &[reason, keys] : unused)
    absl::StrAppend(&text, "  ", reason.empty() ? "other" : reason.str(), "\n", wrap(keys));
  return text;
}

void mlir::st::addKeys(const std::vector<KeyStatus> &statuses,
                       google::protobuf::RepeatedPtrField<::st::proto::PlanKey> &keys) {
  for (const KeyStatus &status : statuses) {
    ::st::proto::PlanKey &key = *keys.Add();
    key.set_name(status.key);
    key.set_fate(status.status == KeyStatus::Honoured ? "honoured" : "no effect on the plan");
    key.set_reason(status.reason);
    key.set_line(static_cast<int>(status.line));
  }
}
