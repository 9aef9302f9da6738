//===- Lint.cpp - Contradictions in a Megatron log ------------------------===//

#include "lib/Frontend/Megatron/Lint.h"

#include "lib/Frontend/Megatron/LintChecks.h"
#include "lib/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::st;

int64_t mlir::st::saturatingProduct(ArrayRef<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors)
    if (llvm::MulOverflow(product, factor, product))
      return INT64_MAX;
  return product;
}

std::string mlir::st::printNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", number);
  return text;
}

std::string mlir::st::shorten(StringRef text) {
  constexpr size_t limit = 80;
  return text.size() <= limit ? text.str() : text.take_front(limit).str() + "...";
}

std::string Linter::shown(StringRef name) const { return shorten(log.text(name)); }

std::optional<RunFamily> mlir::st::scriptFamily(StringRef script) {
  if (script.contains_insensitive("bert"))
    return RunFamily::MegatronBert;
  if (script.contains_insensitive("gpt"))
    return RunFamily::MegatronGpt;
  return std::nullopt;
}

std::optional<RunFamily> mlir::st::tokenizerFamily(StringRef tokenizer) {
  if (tokenizer.starts_with("BertWordPiece"))
    return RunFamily::MegatronBert;
  if (tokenizer.starts_with("GPT"))
    return RunFamily::MegatronGpt;
  return std::nullopt;
}

StringRef mlir::st::tokenizerType(const MegatronLog &log) {
  StringRef given = log.text("tokenizer_type");
  std::optional<RunFamily> family = scriptFamily(log.script);
  if (!given.empty() || log.dumpLine != 0 || !family)
    return given;
  return *family == RunFamily::MegatronBert ? "BertWordPieceLowerCase" : "GPT2BPETokenizer";
}

std::optional<RunFamily> mlir::st::runFamily(const MegatronLog &log) {
  if (std::optional<RunFamily> family = scriptFamily(log.script))
    return family;
  if (std::optional<RunFamily> family = tokenizerFamily(log.text("tokenizer_type")))
    return family;
  StringRef vocabulary = log.text("vocab_file");
  return scriptFamily(vocabulary.substr(vocabulary.rfind('/') + 1));
}

static int64_t sizeOr(const MegatronLog &log, StringRef name, int64_t fallback) {
  return log.integer(name).value_or(fallback);
}

/// Parts of the model on one pipeline stage, under the names of several versions.
static int64_t findVirtualStages(const MegatronLog &log, const LintLayout &layout) {
  for (StringRef name :
       {"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"})
    if (std::optional<int64_t> stages = log.integer(name))
      return *stages;
  std::optional<int64_t> perPart = log.integer("num_layers_per_virtual_pipeline_stage");
  int64_t perStage = layout.layers / layout.pipelineParallel;
  return perPart && perStage % *perPart == 0 ? std::max<int64_t>(perStage / *perPart, 1) : 1;
}

Linter::Linter(const MegatronLog &log) : log(log) {
  layout.tensorParallel = sizeOr(log, "tensor_model_parallel_size", 1);
  layout.pipelineParallel = sizeOr(log, "pipeline_model_parallel_size", 1);
  layout.contextParallel = saturatingProduct(
      {sizeOr(log, "context_parallel_size", 1), sizeOr(log, "ds_sequence_parallel_size", 1)});
  layout.layers = sizeOr(log, "num_layers", sizeOr(log, "encoder_num_layers", 0));
  layout.virtualStages = findVirtualStages(log, layout);
  layout.microBatch = sizeOr(log, "micro_batch_size", 0);
  layout.globalBatch = sizeOr(log, "global_batch_size", 0);
  int64_t printed = 0;
  if (log.measured.layout)
    printed = log.measured.layout->worldSize.value_or(0);
  layout.worldSize = sizeOr(log, "world_size", printed > 0 ? printed : log.processes.value_or(0));
  int64_t perReplica =
      saturatingProduct({layout.tensorParallel, layout.pipelineParallel, layout.contextParallel});
  layout.dataParallel = sizeOr(log, "data_parallel_size", layout.worldSize / perReplica);
  for (StringRef name : {"decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers",
                         "pipeline_model_parallel_layout"})
    layout.isUneven |= log.find(name) != nullptr;
  for (StringRef name : {"standalone_embedding_stage", "account_for_embedding_in_pipeline_split",
                         "account_for_loss_in_pipeline_split"})
    layout.isUneven |= log.flag(name);
}

LintFinding &Linter::report(StringRef id, ArrayRef<StringRef> names, const Twine &sentence,
                            bool withNone) {
  LintFinding finding;
  finding.id = id.str();
  finding.sentence = sentence.str();
  for (StringRef name : names)
    if (const GivenArgument *given = log.find(name, withNone)) {
      finding.values.emplace_back(name.str(), shorten(given->text));
      finding.lines.push_back(given->line);
    }
  llvm::sort(finding.lines);
  finding.lines.erase(llvm::unique(finding.lines), finding.lines.end());
  findings.push_back(std::move(finding));
  return findings.back();
}

LintFinding &Linter::report(StringRef id, ArrayRef<StringRef> names, unsigned line, StringRef what,
                            const Twine &value, const Twine &sentence) {
  LintFinding &finding = report(id, names, sentence);
  finding.values.emplace_back(shorten(what), shorten(value.str()));
  if (!llvm::is_contained(finding.lines, line))
    finding.lines.insert(llvm::lower_bound(finding.lines, line), line);
  return finding;
}

static SmallVector<LintCheck> allChecks() {
  SmallVector<LintCheck> checks;
  for (ArrayRef<LintCheck> part :
       {layoutChecks(), modelChecks(), settingChecks(), measurementChecks()})
    checks.append(part.begin(), part.end());
  return checks;
}

std::vector<LintFinding> mlir::st::lintMegatronLog(const MegatronLog &log) {
  Linter linter(log);
  for (const LintCheck &check : allChecks())
    check.run(linter);
  // A long log may repeat one contradiction in every line.
  constexpr int maxOfOne = 10;
  llvm::StringMap<int> counts;
  llvm::erase_if(linter.findings,
                 [&](const LintFinding &finding) { return ++counts[finding.id] > maxOfOne; });
  return std::move(linter.findings);
}

ArrayRef<StringRef> mlir::st::lintIds() {
  static const SmallVector<StringRef> ids = [] {
    SmallVector<StringRef> all;
    for (const LintCheck &check : allChecks())
      all.append(check.ids.begin(), check.ids.end());
    return all;
  }();
  return ids;
}

std::string mlir::st::printFinding(const LintFinding &finding, StringRef path) {
  std::string text = path.str();
  for (auto [index, line] : llvm::enumerate(finding.lines))
    if (line != 0)
      text += (index == 0 ? ":" : ",") + std::to_string(line);
  text += finding.preventsPlan ? ": error: " : ": warning: ";
  return ::st::escapeControls(text + finding.sentence) + " [" + finding.id + "]";
}
