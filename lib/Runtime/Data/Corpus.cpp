#include "lib/Runtime/Data/Corpus.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <tuple>

namespace st {

int64_t Corpus::size() const {
  return indexed ? indexed->numTokens() : static_cast<int64_t>(tokens.size());
}

int64_t Corpus::numSentences() const {
  return indexed ? indexed->numSequences() : static_cast<int64_t>(sentences.size());
}

int64_t Corpus::numDocuments() const {
  if (indexed)
    return indexed->numDocuments();
  return documents.empty() ? 1 : static_cast<int64_t>(documents.size());
}

int64_t Corpus::sentence(int64_t i) const {
  if (indexed)
    return indexed->begin(i);
  return i < numSentences() ? sentences[i] : size();
}

int64_t Corpus::document(int64_t i) const {
  if (indexed)
    return indexed->document(i);
  if (i == numDocuments())
    return numSentences();
  return documents.empty() ? 0 : documents[i];
}

absl::Status Corpus::choosePart(const DataOptions &options) {
  const bool isOne = numDocuments() == 1;
  const int64_t count = isOne ? numSentences() : numDocuments();
  part = options.split.range(options.part, count);
  if (part.empty())
    return absl::NotFoundError(absl::StrCat(name, ": --split assigns none of its ", count,
                                            isOne ? " sentences" : " documents", " to the ",
                                            nameOf(options.part), " part"));
  if (!isOne)
    part = {document(part.begin), document(part.end)};
  return absl::OkStatus();
}

absl::string_view optionWithoutEffect(const DataOptions &options, bool isText,
                                      absl::string_view task) {
  const DataOptions usual;
  const bool isMlm = isText && task == "mlm", isClm = isText && task == "clm";
  const std::tuple<bool, bool, absl::string_view> flags[] = {
      {!options.split.isAllTraining(), isText, "--split"},
      {options.maskProbability != usual.maskProbability, isMlm, "--mask-prob"},
      {options.shortSequenceProbability != usual.shortSequenceProbability, isMlm,
       "--short-seq-prob"},
      {options.otherSegment != usual.otherSegment, isMlm, "--other-segment"},
      {options.masksEndOfDocument, isClm, "--eod-mask-loss"},
      {options.resetsPositions, isClm, "--reset-position-ids"},
      {options.resetsAttention, isClm, "--reset-attention-mask"},
      {options.hasPrefix, isClm, "--prefix-lm"}};
  for (auto [isGiven, hasEffect, flag] : flags)
    if (isGiven && !hasEffect)
      return flag;
  return "";
}

absl::StatusOr<std::vector<int32_t>> Corpus::range(int64_t begin, int64_t end) const {
  std::vector<int32_t> text(end - begin);
  if (indexed)
    ST_RETURN_IF_ERROR(indexed->read(begin, vocabulary, absl::MakeSpan(text)));
  else
    std::copy(tokens.begin() + begin, tokens.begin() + end, text.begin());
  return text;
}

} // namespace st
