#include "lib/Planner/Fitting/RowColumns.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cmath>

namespace st {
namespace {

using Text = absl::string_view;

/// Largest count in a row: no cluster, batch or model has more.
constexpr double kMaxCount = 1e9;
constexpr double kMibOfGib = 1024;

/// Reads an integer of at least `minimum`.
std::string readCount(Text text, int64_t &value, int64_t minimum = 1) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || number != std::floor(number) ||
      number < static_cast<double>(minimum) || number > kMaxCount)
    return absl::StrCat("an integer from ", minimum);
  value = static_cast<int64_t>(number);
  return "";
}

std::string readPositive(Text text, double factor, std::optional<double> &value) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !(number > 0) || number > 1e15)
    return "a number above 0";
  value = number * factor;
  return "";
}

/// Reads a number, or the minimum and maximum of several devices: "5624-6176".
std::string readMemory(Text text, double factor, std::optional<double> &value) {
  const std::vector<Text> parts = absl::StrSplit(text, '-');
  std::string wrong = parts.size() > 2 ? "a number" : "";
  for (Text part : parts)
    if (wrong.empty())
      wrong = readPositive(absl::StripAsciiWhitespace(part), factor, value);
  return wrong.empty() ? "" : "a number above 0, or a range such as 5624-6176";
}

/// Returns the text in lower case with hyphens between words.
std::string plainWord(Text text) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(text), {{"_", "-"}, {" ", "-"}});
}

bool isOneOf(const std::string &word, std::initializer_list<const char *> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string readRecompute(RawRow &raw, Text text) {
  const std::string word = plainWord(text);
  Recompute &recompute = raw.row.layout.recompute;
  if (isOneOf(word, {"none", "0", "no", "false", "off"}))
    recompute = Recompute::None;
  else if (isOneOf(word, {"selective", "core-attn"}))
    recompute = Recompute::Selective;
  else if (isOneOf(word, {"full", "1", "yes", "true", "on", "uniform"}))
    recompute = Recompute::Full;
  else
    return "none, selective or full";
  return "";
}

std::string readFlag(Text text, bool &flag) {
  const std::string word = plainWord(text);
  flag = isOneOf(word, {"1", "true", "yes", "on"});
  return flag || isOneOf(word, {"0", "false", "no", "off", "none"}) ? "" : "true or false";
}

/// "1", "z1", "zero-1", "stage1", "none".
std::string readZero(RawRow &raw, Text text) {
  std::string word = plainWord(text);
  for (const char *prefix : {"zero", "stage", "z", "-"})
    if (word.rfind(prefix, 0) == 0)
      word = word.substr(std::string(prefix).size());
  if (isOneOf(word, {"none", "no", "off", "false", ""}))
    word = "0";
  std::string wrong = readCount(word, raw.row.layout.zero, 0);
  return wrong.empty() && raw.row.layout.zero <= 3 ? "" : "none or an integer from 0 to 3";
}

std::string readPrecision(RawRow &raw, Text text) {
  const std::string word = plainWord(text);
  if (isOneOf(word, {"f16", "fp16", "float16", "half", "16"}))
    return raw.row.model.precision = "f16", "";
  if (isOneOf(word, {"bf16", "bfloat16"}))
    return raw.row.model.precision = "bf16", "";
  if (isOneOf(word, {"f32", "fp32", "float32", "single", "32"}))
    return raw.row.model.precision = "f32", "";
  return "f16, bf16 or f32";
}

/// Also Megatron-LM's names. Its ring ("p2p") sends as much as an all-gather of keys.
std::string readContextAttention(RawRow &raw, Text text) {
  const std::string word = plainWord(text);
  ContextAttention &attention = raw.row.layout.contextAttention;
  if (isOneOf(word, {"heads", "a2a"}))
    attention = ContextAttention::Heads;
  else if (isOneOf(word, {"keys", "all-gather", "p2p"}))
    attention = ContextAttention::Keys;
  else if (word == "ring")
    attention = ContextAttention::Ring;
  else
    return "heads, keys, ring, a2a, all_gather or p2p";
  return "";
}

std::string readOptimizer(RawRow &raw, Text text) {
  const std::string word = plainWord(text);
  std::string &optimizer = raw.row.optimizer;
  if (isOneOf(word, {"adam", "adamw", "fused-adam", "fusedadam", "adam-32bit"}))
    optimizer = "adam";
  else if (isOneOf(word, {"adam-8bit", "adam8bit", "8bit-adam", "8-bit-adam", "adam-8-bit",
                          "adamw-8bit", "adamw8bit", "bnb", "bnb-adam", "bnb-adam-8bit"}))
    optimizer = "adam-8bit";
  else if (isOneOf(word, {"adafactor", "sgd"}))
    optimizer = word;
  else
    return "adam, adamw, adam-8bit, adafactor or sgd";
  return "";
}

std::string readFamily(RawRow &raw, Text text) {
  const std::string word = plainWord(text);
  if (isOneOf(word, {"gpt", "gpt2", "gpt-2", "gpt3", "gpt-3", "megatron-gpt", "clm"}))
    return raw.row.family = "gpt", "";
  if (isOneOf(word, {"bert", "megatron-bert", "mlm"}))
    return raw.row.family = "bert", "";
  return "gpt or bert";
}

auto count(int64_t &(*member)(RawRow &), int64_t minimum = 1) {
  return
      [member, minimum](RawRow &raw, Text text) { return readCount(text, member(raw), minimum); };
}

auto number(std::optional<double> &(*member)(RawRow &), double factor) {
  return
      [member, factor](RawRow &raw, Text text) { return readPositive(text, factor, member(raw)); };
}

auto memory(double factor) {
  return [factor](RawRow &raw, Text text) { return readMemory(text, factor, raw.row.memoryMib); };
}

/// Sizes of the model and the layout.
std::vector<RowColumn> sizeColumns() {
  return {
      {{"tp", "tensor", "tensor_parallel"},
       count([](RawRow &raw) -> auto & { return raw.row.layout.tensor; })},
      {{"pp", "stages", "pipeline", "pipeline_parallel"},
       count([](RawRow &raw) -> auto & { return raw.row.layout.stages; })},
      {{"dp", "data", "replicas", "data_parallel"},
       count([](RawRow &raw) -> auto & { return raw.replicas; })},
      {{"context", "cp", "context_parallel", "context_parallel_size"},
       count([](RawRow &raw) -> auto & { return raw.row.layout.context; })},
      {{"expert", "ep", "expert_parallel", "expert_parallel_size"},
       count([](RawRow &raw) -> auto & { return raw.row.layout.expert; })},
      {{"gpus", "devices", "num_gpus", "world_size"},
       count([](RawRow &raw) -> auto & { return raw.devices; })},
      {{"nodes", "num_nodes"}, count([](RawRow &raw) -> auto & { return raw.nodes; })},
      {{"micro_batch", "mbs", "micro_batch_size"},
       count([](RawRow &raw) -> auto & { return raw.row.layout.microBatch; })},
      {{"global_batch", "gbs", "global_batch_size", "batch", "train_batch_size"},
       count([](RawRow &raw) -> auto & { return raw.globalBatch; })},
      {{"accumulation", "gas", "gradient_accumulation_steps", "micro_batches"},
       count([](RawRow &raw) -> auto & { return raw.accumulation; })},
      {{"virtual", "virtual_stages", "vpp"},
       count([](RawRow &raw) -> auto & { return raw.row.layout.virtualStages; })},
      {{"hidden", "hidden_size", "nhidden", "n_hidden"},
       count([](RawRow &raw) -> auto & { return raw.row.model.hidden; })},
      {{"heads", "num_attention_heads", "nheads", "n_heads", "num_heads"},
       count([](RawRow &raw) -> auto & { return raw.row.model.heads; })},
      {{"layers", "num_layers", "nlayers", "n_layers"},
       count([](RawRow &raw) -> auto & { return raw.row.model.layers; })},
      {{"sequence", "seq", "seq_length", "sequence_length", "seq_len", "seqlen"},
       count([](RawRow &raw) -> auto & { return raw.row.model.sequence; })},
      {{"vocabulary", "vocab", "vocab_size", "vocabulary_size", "padded_vocab", "padded_vocabulary",
        "padded_vocab_size"},
       count([](RawRow &raw) -> auto & { return raw.row.model.vocabulary; })},
      {{"ffn_hidden", "ffn_hidden_size", "ffn"},
       count([](RawRow &raw) -> auto & { return raw.row.ffnHidden; })},
  };
}

/// Choices of the run.
std::vector<RowColumn> choiceColumns() {
  return {
      {{"zero", "zero_stage"}, readZero},
      {{"recompute", "recomputation", "activation_recomputation", "recompute_granularity",
        "checkpoint", "checkpointing", "activation_checkpointing", "checkpoint_activations"},
       readRecompute},
      {{"sequence_parallel", "sp"},
       [](RawRow &raw, Text text) { return readFlag(text, raw.row.layout.sequenceParallel); }},
      {{"context_attention", "cp_comm_type"}, readContextAttention},
      {{"offload", "offload_optimizer"},
       [](RawRow &raw, Text text) { return readFlag(text, raw.row.layout.offloadOptimizer); }},
      {{"precision", "dtype"}, readPrecision},
      {{"optimizer"}, readOptimizer},
      {{"family", "model_type", "task"}, readFamily},
  };
}

/// Columns of measurements.
std::vector<RowColumn> measuredColumns() {
  auto ms = [](RawRow &raw) -> auto & { return raw.row.measuredMs; };
  return {
      {{"iteration_ms", "ms", "measured_ms", "ms_per_iteration", "step_ms"}, number(ms, 1), true},
      {{"seconds_per_iteration", "iteration_s", "sec_per_it", "s_per_iteration", "seconds",
        "iteration_seconds", "step_s"},
       number(ms, 1e3),
       true},
      {{"ms_per_sample"}, number([](RawRow &raw) -> auto & { return raw.msPerSample; }, 1), true},
      {{"samples_per_second", "samples_per_s", "end_to_end_samples_per_s",
        "end_to_end_samples_per_second"},
       number([](RawRow &raw) -> auto & { return raw.samplesPerSecond; }, 1),
       true},
      {{"forward_ms"}, number([](RawRow &raw) -> auto & { return raw.row.forwardMs; }, 1), true},
      {{"backward_ms"}, number([](RawRow &raw) -> auto & { return raw.row.backwardMs; }, 1), true},
      {{"optimizer_ms"},
       number([](RawRow &raw) -> auto & { return raw.row.optimizerMs; }, 1),
       true},
      {{"tflops_per_gpu", "tflops"},
       number([](RawRow &raw) -> auto & { return raw.row.tflopsPerDevice; }, 1),
       true},
      {{"full_s"}, number([](RawRow &raw) -> auto & { return raw.row.fullMs; }, 1e3), true},
      {{"sp_selective_s"},
       number([](RawRow &raw) -> auto & { return raw.row.selectiveMs; }, 1e3),
       true},
      {{"memory_mib", "mem_mib", "gpu_mem_mib", "gpu_memory_mib", "peak_memory_mib"},
       memory(1),
       true},
      {{"memory_gb", "memory_gib", "mem_gb", "mem_gib", "mem", "gpu_mem_gb", "gpu_mem_gib",
        "peak_memory_gb"},
       memory(kMibOfGib),
       true},
  };
}

std::vector<RowColumn> makeColumns() {
  std::vector<RowColumn> columns = sizeColumns();
  for (auto *make : {choiceColumns, measuredColumns})
    for (RowColumn &column : make())
      columns.push_back(std::move(column));
  return columns;
}

} // namespace

const RowColumn *findRowColumn(absl::string_view name) {
  static const std::vector<RowColumn> *const all = new std::vector<RowColumn>(makeColumns());
  const std::string lower = absl::AsciiStrToLower(name);
  for (const RowColumn &column : *all)
    if (std::find(column.names.begin(), column.names.end(), lower) != column.names.end())
      return &column;
  return nullptr;
}

} // namespace st
