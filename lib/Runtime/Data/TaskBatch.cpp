#include "lib/Runtime/Data/TaskBatch.h"

#include <algorithm>
#include <cassert>

namespace st {

TaskBatch::TaskBatch(const BatchSpec &spec, const TokenIds &ids)
    : batch(spec.batch), sequence(spec.sequence), ids(ids) {
  auto add = [&](const char *name, std::vector<int64_t> shape) {
    tensors.emplace_back(name, ElementType::I32, std::move(shape));
  };
  add("input_ids", {batch, sequence});
  if (spec.task != "clm") {
    add("token_type_ids", {batch, sequence});
    add("attention_mask", {batch, sequence});
  }
  if (spec.task == "span") {
    add("start_positions", {batch});
    add("end_positions", {batch});
  } else {
    add("labels", {batch, sequence});
    int32_t *labels = tensors.back().ints();
    std::fill(labels, labels + batch * sequence, kIgnoredLabel);
  }
  if (spec.task == "mlm")
    add("next_sentence_label", {batch});
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

void TaskBatch::setText(int64_t index, absl::Span<const int32_t> text) {
  absl::Span<int32_t> tokens = row("input_ids", index), labels = row("labels", index);
  std::copy(text.begin(), text.end(), tokens.begin());
  std::copy(text.begin() + 1, text.end(), labels.begin());
}

} // namespace st
