#include "lib/Runtime/Checkpoint/ShardPlan.h"
#include "lib/Runtime/Checkpoint/CheckpointFiles.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "lib/Support/Safetensors.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <map>

namespace st {
namespace {

constexpr absl::string_view kSuffix = ".safetensors", kIndexSuffix = ".safetensors.index.json";

int64_t bytesOf(const StateTensor &tensor) {
  return static_cast<int64_t>(byteSize(tensor.type, tensor.shape).value_or(0));
}

// Among the processes that hold about the most bytes of the file, chooses the one with the fewest
// bytes to write so far.
int64_t writerOf(const ShardFile &shard, const Communicator &communicator,
                 std::map<int64_t, int64_t> &written) {
  constexpr double kAboutAsMany = 0.9;
  std::map<int64_t, int64_t> held;
  for (const StateTensor *tensor : shard.tensors)
    for (const StateBlock &block : tensor->blocks)
      held[communicator.processOf(block.replicas.front().rank)] += block.block.numBytes();
  int64_t maximum = 0, writer = 0;
  for (const auto &[process, bytes] : held)
    maximum = std::max(maximum, bytes);
  bool isFirst = true;
  for (const auto &[process, bytes] : held) {
    if (static_cast<double>(bytes) < kAboutAsMany * static_cast<double>(maximum) ||
        (!isFirst && written[process] >= written[writer]))
      continue;
    writer = process;
    isFirst = false;
  }
  written[writer] += shard.bytes;
  return writer;
}

bool consumeNumber(absl::string_view &text) {
  constexpr size_t kDigits = 5;
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(text[digits]))
    ++digits;
  text.remove_prefix(digits);
  return digits >= kDigits;
}

} // namespace

std::vector<ShardFile> planShards(absl::string_view kind, const std::vector<StateTensor> &states,
                                  int64_t limit, const Communicator &communicator) {
  std::vector<ShardFile> shards(1);
  for (const StateTensor &tensor : states) {
    if (fileOf(tensor) != absl::StrCat(kind, kSuffix))
      continue;
    const int64_t bytes = bytesOf(tensor);
    if (!shards.back().tensors.empty() && bytes > limit - shards.back().bytes)
      shards.emplace_back();
    shards.back().tensors.push_back(&tensor);
    shards.back().bytes += bytes;
  }
  std::map<int64_t, int64_t> written; // by process
  for (size_t i = 0; i < shards.size(); ++i) {
    shards[i].name = shards.size() == 1 ? absl::StrCat(kind, kSuffix)
                                        : absl::StrFormat("%s-%05d-of-%05d%s", kind, i + 1,
                                                          shards.size(), kSuffix);
    shards[i].process = writerOf(shards[i], communicator, written);
  }
  return shards;
}

std::string indexName(absl::string_view kind) { return absl::StrCat(kind, kIndexSuffix); }

std::string printIndex(const std::vector<ShardFile> &shards) {
  int64_t total = 0;
  std::map<std::string, std::string> fileOfTensor;
  for (const ShardFile &shard : shards) {
    total += shard.bytes;
    for (const StateTensor *tensor : shard.tensors)
      fileOfTensor[tensor->state->name()] = shard.name;
  }
  std::string text = absl::StrCat("{\n  \"metadata\": {\n    \"total_size\": ", total,
                                  "\n  },\n  \"weight_map\": {");
  absl::string_view separator = "\n    ";
  for (const auto &[tensor, file] : fileOfTensor) {
    absl::StrAppend(&text, separator, quoteJson(tensor), ": ", quoteJson(file));
    separator = ",\n    ";
  }
  return text + "\n  }\n}\n";
}

bool isShardName(absl::string_view name) {
  if (std::none_of(std::begin(kTensorKinds), std::end(kTensorKinds),
                   [&](absl::string_view kind) { return absl::ConsumePrefix(&name, kind); }))
    return false;
  if (name == kIndexSuffix)
    return true;
  return absl::ConsumePrefix(&name, "-") && consumeNumber(name) &&
         absl::ConsumePrefix(&name, "-of-") && consumeNumber(name) && name == kSuffix;
}

} // namespace st
