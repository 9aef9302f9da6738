#include "lib/Runtime/Data/TaskBatch.h"

#include <algorithm>
#include <cassert>

namespace st {

int64_t labelSequence(const BatchSpec &spec) {
  for (const BatchSpec::Input &input : spec.inputs)
    if (spec.task == "seq2seq" && input.name == "labels" && input.shape.size() == 2)
      return input.shape[1];
  return spec.sequence;
}

TaskBatch::TaskBatch(const BatchSpec &spec, const TokenIds &ids)
    : batch(spec.batch), sequence(spec.sequence), ids(ids) {
  auto add = [&](const char *name, std::vector<int64_t> shape) {
    tensors.emplace_back(name, ElementType::I32, std::move(shape));
  };
  add("input_ids", {batch, sequence});
  if (spec.task != "clm" && spec.task != "seq2seq")
    add("token_type_ids", {batch, sequence});
  if (spec.task != "clm")
    add("attention_mask", {batch, sequence});
  if (spec.task == "span") {
    add("start_positions", {batch});
    add("end_positions", {batch});
  } else {
    const int64_t length = labelSequence(spec);
    add("labels", {batch, length});
    int32_t *labels = tensors.back().ints();
    std::fill(labels, labels + batch * length, kIgnoredLabel);
  }
  if (spec.task == "mlm")
    add("next_sentence_label", {batch});
  if (spec.task == "clm")
    for (const BatchSpec::Input &input : spec.inputs)
      if (input.name == "position_ids" || input.name == "segment_ids")
        add(input.name.c_str(), {batch, sequence});
      else if (input.name == "prefix_length")
        add(input.name.c_str(), {batch});
}

absl::Span<int32_t> TaskBatch::row(const char *name, int64_t row) {
  auto it = std::find_if(tensors.begin(), tensors.end(),
                         [&](const HostTensor &tensor) { return tensor.name == name; });
  assert(it != tensors.end() && "no such tensor in this task");
  int64_t width = it->shape.size() == 1 ? 1 : it->shape[1];
  return {it->ints() + row * width, static_cast<size_t>(width)};
}

void TaskBatch::setPair(int64_t index, absl::Span<const int32_t> first,
                        absl::Span<const int32_t> second) {
  absl::Span<int32_t> tokens = row("input_ids", index), types = row("token_type_ids", index),
                      mask = row("attention_mask", index);
  size_t end = 0;
  auto put = [&](int32_t token, int32_t type) {
    tokens[end] = token;
    types[end] = type;
    mask[end++] = 1;
  };
  put(ids.cls, 0);
  for (int32_t token : first)
    put(token, 0);
  put(ids.sep, 0);
  for (int32_t token : second)
    put(token, 1);
  put(ids.sep, 1);
  std::fill(tokens.begin() + end, tokens.end(), ids.pad);
}

void TaskBatch::setSourceAndTarget(int64_t index, absl::Span<const int32_t> source,
                                   absl::Span<const int32_t> target) {
  absl::Span<int32_t> tokens = row("input_ids", index), mask = row("attention_mask", index);
  std::fill(std::copy(source.begin(), source.end(), tokens.begin()), tokens.end(), ids.pad);
  std::fill_n(mask.begin(), source.size(), 1);
  std::copy(target.begin(), target.end(), row("labels", index).begin());
}

bool TaskBatch::has(const char *name) const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const HostTensor &tensor) { return tensor.name == name; });
}

void TaskBatch::markDocuments(int64_t index, const DataOptions &options) {
  const absl::Span<int32_t> tokens = row("input_ids", index), labels = row("labels", index);
  const bool hasPositions = has("position_ids"), hasSegments = has("segment_ids");
  int32_t position = 0, segment = 0;
  for (int64_t i = 0; i < sequence; ++i) {
    if (hasPositions)
      row("position_ids", index)[i] = position;
    if (hasSegments)
      row("segment_ids", index)[i] = segment;
    ++position;
    if (tokens[i] != ids.endOfDocument)
      continue;
    if (options.masksEndOfDocument)
      labels[i] = kIgnoredLabel;
    if (options.resetsPositions)
      position = 0;
    segment += options.resetsAttention;
  }
}

void TaskBatch::setPrefix(int64_t index, int64_t length) {
  row("prefix_length", index)[0] = static_cast<int32_t>(length);
  // The label of a position is the next token: the last prefix position predicts the first token
  // after the prefix.
  const absl::Span<int32_t> labels = row("labels", index);
  std::fill(labels.begin(), labels.begin() + length - 1, kIgnoredLabel);
}

void TaskBatch::setText(int64_t index, absl::Span<const int32_t> text) {
  absl::Span<int32_t> tokens = row("input_ids", index), labels = row("labels", index);
  std::copy(text.begin(), text.end(), tokens.begin());
  std::copy(text.begin() + 1, text.end(), labels.begin());
}

} // namespace st
