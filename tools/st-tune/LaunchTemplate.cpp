#include "tools/st-tune/LaunchTemplate.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "llvm/ADT/STLExtras.h"

#include <cctype>

using namespace mlir::st;

/// Placeholders for the trial's files and its length.
static constexpr const char *kOtherPlaceholders[] = {"binary",    "metrics", "report", "parallel",
                                                     "deepspeed", "work",    "model",  "name",
                                                     "steps",     "sequence"};

std::map<std::string, std::string> mlir::st::layoutValues(const ::st::Layout &layout) {
  auto text = [](int64_t value) { return absl::StrCat(value); };
  return {{"devices", text(layout.devices())},
          {"tp", text(layout.tensor)},
          {"pp", text(layout.stages)},
          {"dp", text(layout.replicas)},
          {"context", text(layout.context)},
          {"context_attention", ::st::contextAttentionName(layout.contextAttention)},
          {"expert", text(layout.expert)},
          {"virtual_stages", text(layout.virtualStages)},
          {"micro_batch", text(layout.microBatch)},
          {"gas", text(layout.microBatches)},
          {"global_batch", text(layout.globalBatch())},
          {"zero", text(layout.zero)},
          {"recompute", ::st::recomputeName(layout.recompute)},
          {"schedule", ::st::scheduleName(layout.schedule)},
          {"placement", ::st::rankOrderName(layout.placement)},
          {"sequence_parallel", text(layout.sequenceParallel)},
          {"offload", text(layout.offloadOptimizer)}};
}

static std::vector<std::string> knownPlaceholders() {
  std::vector<std::string> names(std::begin(kOtherPlaceholders), std::end(kOtherPlaceholders));
  for (const auto &[name, value] : layoutValues({}))
    names.push_back(name);
  llvm::sort(names);
  return names;
}

absl::StatusOr<LaunchTemplate> LaunchTemplate::parse(const std::string &text) {
  auto refuse = [](const std::string &found) {
    return absl::InvalidArgumentError(
        absl::StrCat("--launch: expected {", absl::StrJoin(knownPlaceholders(), "}, {"),
                     "} or {{ and }} for the braces themselves, found ", found));
  };
  LaunchTemplate result;
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' && text[i] != '}') {
      plain += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == text[i]) {
      plain += text[i++];
      continue;
    }
    const size_t close = text.find('}', i);
    if (text[i] == '}' || close == std::string::npos)
      return refuse(absl::StrCat("a single \"", text.substr(i, 1), "\""));
    const std::string name = text.substr(i + 1, close - i - 1);
    if (!llvm::is_contained(knownPlaceholders(), name))
      return refuse(absl::StrCat("{", name, "}"));
    result.pieces.push_back({false, plain});
    result.pieces.push_back({true, name});
    plain.clear();
    i = close;
  }
  result.pieces.push_back({false, plain});
  return result;
}

bool LaunchTemplate::uses(const std::string &placeholder) const {
  return llvm::any_of(
      pieces, [&](const Piece &piece) { return piece.isPlaceholder && piece.text == placeholder; });
}

static std::string quoteForShell(const std::string &value) {
  const bool isPlain = !value.empty() && llvm::all_of(value, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) ||
           absl::string_view("-_./=:,+@%").find(letter) != absl::string_view::npos;
  });
  return isPlain ? value : absl::StrCat("'", absl::StrReplaceAll(value, {{"'", "'\\''"}}), "'");
}

std::string LaunchTemplate::expand(const std::map<std::string, std::string> &values) const {
  std::string text;
  for (const Piece &piece : pieces)
    text += piece.isPlaceholder ? quoteForShell(values.at(piece.text)) : piece.text;
  return text;
}
