#include "tools/st-plan/Fates.h"

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

std::string mlir::st::printFates(const std::vector<KeyFate> &fates) {
  if (fates.empty())
    return "";
  llvm::MapVector<StringRef, std::vector<std::string>> unused;
  size_t honoured = 0;
  for (const KeyFate &fate : fates) {
    if (fate.fate == KeyFate::Honoured)
      ++honoured;
    else
      unused[fate.reason].push_back(fate.key);
  }
  std::string text =
      absl::StrCat("\nconfiguration    ", honoured, " keys honoured, ", fates.size() - honoured,
                   " with no effect on the plan", unused.empty() ? "\n" : ":\n");
  for (const auto &[reason, keys] : unused)
    absl::StrAppend(&text, "  ", reason.empty() ? "other" : reason.str(), "\n", wrap(keys));
  return text;
}

void mlir::st::addFates(const std::vector<KeyFate> &fates,
                        google::protobuf::RepeatedPtrField<::st::proto::PlanKey> &keys) {
  for (const KeyFate &fate : fates) {
    ::st::proto::PlanKey &key = *keys.Add();
    key.set_name(fate.key);
    key.set_fate(fate.fate == KeyFate::Honoured ? "honoured" : "no effect on the plan");
    key.set_reason(fate.reason);
    key.set_line(static_cast<int>(fate.line));
  }
}
