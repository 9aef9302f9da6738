#include "RandomLog.h"

#include "TestInputs.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace {

std::string text(int64_t value) { return std::to_string(value); }

std::string text(double value, const char *format) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

/// The arguments of a real log, so that each dump has everything that a version prints.
const std::map<std::string, std::string> &realArguments() {
  static const std::map<std::string, std::string> arguments = [] {
    std::map<std::string, std::string> result;
    std::istringstream lines(readTestInput("Megatron/megatron-bert-345m-32gpus.log"));
    for (std::string line; std::getline(lines, line);)
      if (size_t dots = line.find(" ."); line.rfind("  ", 0) == 0 && dots != std::string::npos)
        result[line.substr(2, dots - 2)] = line.substr(line.find(' ', dots + 1) + 1);
    return result;
  }();
  return arguments;
}

RandomSizes drawSizes(Draws &draws) {
  RandomSizes sizes;
  sizes.isBert = draws.oneIn(2);
  sizes.tensor = draws.oneOf<int64_t>({1, 1, 2, 4, 8});
  sizes.pipeline = draws.oneOf<int64_t>({1, 1, 2, 4, 8, 3});
  sizes.parts = sizes.pipeline > 2 && draws.oneIn(3) ? draws.between(2, 3) : 1;
  sizes.replicas = draws.oneOf<int64_t>({1, 2, 3, 4, 8, 16, 64});
  sizes.layersPerPart = draws.between(1, 6);
  sizes.heads = sizes.tensor * draws.between(1, 6);
  sizes.headSize = draws.oneOf<int64_t>({64, 80, 96, 128});
  sizes.microBatch = draws.oneOf<int64_t>({1, 2, 3, 4, 8, 16});
  sizes.accumulation = draws.between(1, 12);
  if (sizes.parts > 1)
    sizes.accumulation = sizes.pipeline * draws.between(1, 4);
  sizes.recomputes = draws.oneIn(2);
  sizes.hasCommandLine = draws.oneIn(2);
  sizes.hasIterations = draws.oneIn(2);
  sizes.usesSamples = draws.oneIn(5);
  sizes.hasSampleTime = draws.oneIn(2) || !sizes.hasIterations;
  sizes.hasLayoutLine = draws.oneIn(2);
  return sizes;
}

int64_t divisor(Draws &draws, int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= number; ++i)
    if (number % i == 0)
      divisors.push_back(i);
  return draws.oneOf(divisors);
}

void fillModel(RandomLog &log, Draws &draws) {
  auto &arguments = log.arguments;
  const RandomSizes &sizes = log.sizes;
  int64_t hidden = sizes.heads * sizes.headSize;
  int64_t sequence = draws.oneOf<int64_t>({128, 512, 1024, 2048});
  arguments["num_layers"] = text(sizes.layersPerPart * sizes.pipeline * sizes.parts);
  arguments["hidden_size"] = text(hidden);
  arguments["ffn_hidden_size"] = text(draws.oneIn(4) ? hidden * 3 + 128 : hidden * 4);
  arguments["num_attention_heads"] = text(sizes.heads);
  arguments["kv_channels"] = text(sizes.headSize);
  arguments["seq_length"] = arguments["encoder_seq_length"] = text(sequence);
  arguments["max_position_embeddings"] = text(sequence * draws.between(1, 2));
  bool isCased = draws.oneIn(2);
  if (sizes.isBert) {
    arguments["tokenizer_type"] = isCased ? "BertWordPieceCase" : "BertWordPieceLowerCase";
    arguments["vocab_file"] = draws.oneIn(5) ? "data/vocab.txt"
                                             : std::string("data/bert-large-") +
                                                   (isCased ? "cased" : "uncased") + "-vocab.txt";
    log.vocabulary = isCased ? 28996 : 30522;
  } else {
    arguments["tokenizer_type"] = "GPT2BPETokenizer";
    arguments["vocab_file"] = "data/gpt2-vocab.json";
    arguments["merge_file"] = "data/gpt2-merges.txt";
    arguments["eod_mask_loss"] = draws.oneIn(2) ? "True" : "False";
    arguments["reset_attention_mask"] = draws.oneIn(4) ? "True" : "False";
    log.vocabulary = 50257;
  }
  int64_t step = 128 * sizes.tensor;
  log.paddedVocabulary = (log.vocabulary + step - 1) / step * step;
  if (draws.oneIn(3))
    arguments["attn_mask_type"] = sizes.isBert ? "padding" : "causal";
  log.script = sizes.isBert ? "pretrain_bert.py" : "pretrain_gpt.py";
}

void fillRun(RandomLog &log, Draws &draws) {
  auto &arguments = log.arguments;
  const RandomSizes &sizes = log.sizes;
  arguments["tensor_model_parallel_size"] = text(sizes.tensor);
  arguments["pipeline_model_parallel_size"] = text(sizes.pipeline);
  arguments["data_parallel_size"] = text(sizes.replicas);
  arguments["world_size"] = text(sizes.world());
  if (sizes.parts > 1) {
    arguments["virtual_pipeline_model_parallel_size"] = text(sizes.parts);
    arguments["num_layers_per_virtual_pipeline_stage"] = text(sizes.layersPerPart);
  }
  arguments["micro_batch_size"] = text(sizes.microBatch);
  arguments["global_batch_size"] = text(sizes.batch());
  arguments["rank"] = "0";
  arguments["local_rank"] = draws.oneIn(2) ? "None" : "0";
  arguments["checkpoint_activations"] = sizes.recomputes ? "True" : "False";
  arguments["checkpoint_num_layers"] =
      text(sizes.recomputes ? divisor(draws, sizes.layersPerPart) : 1);
  arguments["distribute_checkpointed_activations"] =
      sizes.recomputes && sizes.tensor > 1 && draws.oneIn(2) ? "True" : "False";
  int64_t precision = draws.between(0, 2);
  arguments["fp16"] = precision == 1 ? "True" : "False";
  arguments["bf16"] = precision == 2 ? "True" : "False";
  arguments["params_dtype"] = std::vector<std::string>{"torch.float32", "torch.float16",
                                                       "torch.bfloat16"}[size_t(precision)];
  arguments["accumulate_allreduce_grads_in_fp32"] = precision == 2 ? "True" : "False";
  arguments["split"] = draws.oneOf<std::string>({"949,50,1", "969, 30, 1", "98,2,0", "100,0,0"});
  arguments["load"] = draws.oneIn(2) ? "None" : "checkpoints/model";
  arguments["save"] = "checkpoints/model";

  int64_t length = draws.between(10, 900) * 1000;
  bool hasFraction = draws.oneIn(2);
  arguments["lr"] = draws.oneOf<std::string>({"0.0001", "1.5e-4", "6e-05"});
  arguments["min_lr"] = draws.oneOf<std::string>({"0.0", "1e-05", "1e-06"});
  arguments["lr_decay_style"] = draws.oneOf<std::string>({"linear", "cosine"});
  arguments["lr_warmup_fraction"] = hasFraction ? "0.01" : "None";
  arguments["lr_warmup_iters"] = arguments["lr_warmup_samples"] = "0";
  std::string unit = sizes.usesSamples ? "samples" : "iters";
  arguments["train_iters"] = arguments["train_samples"] = "None";
  arguments["lr_decay_iters"] = arguments["lr_decay_samples"] = "None";
  arguments["train_" + unit] = text(length);
  arguments["lr_decay_" + unit] = draws.oneIn(2) ? "None" : text(length);
  if (!hasFraction)
    arguments["lr_warmup_" + unit] = text(length / 100);
}

void fillMeasurements(RandomLog &log, Draws &draws) {
  const RandomSizes &sizes = log.sizes;
  log.iterationTime = draws.real(80.0, 5000.0);
  log.sampleTime = log.iterationTime / static_cast<double>(sizes.batch());
  log.overIterations = draws.oneOf<int64_t>({10, 50, 100});
  log.overSamples = log.overIterations * sizes.batch();
  int64_t start = draws.between(0, 5) * 1000, total = 0;
  if (log.arguments["load"] == "None")
    start = 0;
  total = sizes.usesSamples ? std::atoll(log.arguments["train_samples"].c_str()) / sizes.batch()
                            : std::atoll(log.arguments["train_iters"].c_str());
  for (int64_t i = 1; sizes.hasIterations && i <= draws.between(1, 5); ++i)
    log.iterations.push_back({start + i * 100, total, (start + i * 100) * sizes.batch(),
                              sizes.batch(), log.iterationTime * draws.real(0.98, 1.02)});
  double left = log.iterationTime * 0.97;
  auto take = [&](const std::string &name, double share) {
    log.timers.emplace_back(name, left * share);
    left -= left * share;
  };
  take("forward-compute", 0.25);
  if (sizes.pipeline > 1)
    take("forward-recv", 0.05);
  take("backward-compute", 0.5);
  if (sizes.pipeline > 1) {
    take("backward-send", 0.01);
    take("backward-send-forward-recv", 0.02);
  }
  take("backward-params-all-reduce", 0.2);
  if (sizes.pipeline > 1)
    take("backward-embedding-all-reduce", 0.1);
  else
    log.timers.emplace_back("backward-embedding-all-reduce", 0.02);
  double optimizer = left * 0.9;
  log.timers.emplace_back("optimizer-copy-to-main-grad", optimizer * 0.2);
  log.timers.emplace_back("optimizer-clip-main-grad", optimizer * 0.4);
  log.timers.emplace_back("optimizer", optimizer);
  log.timers.emplace_back("batch-generator", draws.real(1.0, 4.0));
  log.memoryCapacity = draws.oneOf<double>({16160, 32510, 40537, 81251});
  log.memoryHigh = std::floor(log.memoryCapacity * draws.real(0.2, 0.99));
  log.memoryLow = std::floor(log.memoryHigh * draws.real(0.7, 1.0));
  log.printedMicroBatches = sizes.accumulation;
  log.layoutLine = {{"world", sizes.world()},
                    {"data", sizes.replicas},
                    {"tensor", sizes.tensor},
                    {"pipeline", sizes.pipeline}};
  log.startedProcesses = sizes.world();
}

std::string printCommand(const RandomLog &log, Draws &draws) {
  std::map<std::string, std::string> arguments = log.arguments;
  for (const auto &[name, value] : log.commandChanges)
    arguments[name] = value;
  std::ostringstream out;
  if (log.startedProcesses > 1 && log.startedProcesses % 8 == 0)
    out << "torchrun --nproc_per_node 8 --nnodes " << log.startedProcesses / 8 << " ";
  else if (log.startedProcesses > 1)
    out << "python -m torch.distributed.launch --nproc_per_node=" << log.startedProcesses << " ";
  else
    out << "python3 ";
  out << "third-party/megatron/" << log.script;
  std::string gap = draws.oneIn(3) ? " \\\n    " : " ";
  for (const char *name : {"num_layers",
                           "hidden_size",
                           "num_attention_heads",
                           "seq_length",
                           "max_position_embeddings",
                           "micro_batch_size",
                           "global_batch_size",
                           "tensor_model_parallel_size",
                           "pipeline_model_parallel_size",
                           "lr",
                           "min_lr",
                           "train_iters",
                           "train_samples",
                           "lr_decay_iters",
                           "split",
                           "fp16",
                           "bf16",
                           "checkpoint_activations",
                           "vocab_file",
                           "merge_file",
                           "data_path",
                           "lr_warmup_fraction",
                           "tokenizer_type"}) {
    std::string value = arguments[name];
    if (value == "None" || value == "False")
      continue;
    std::string option = name;
    std::replace(option.begin(), option.end(), '_', '-');
    out << gap << "--" << option;
    if (value == "True")
      continue;
    if (value.front() == '[')
      value = value.substr(2, value.size() - 4);
    out << (draws.oneIn(5) ? "=" : " ");
    out << (value.find(' ') == std::string::npos ? value : "\"" + value + "\"");
  }
  return out.str() + "\n";
}

std::string printDump(const RandomLog &log) {
  std::ostringstream out;
  out << "------------------------ arguments ------------------------\n";
  for (const auto &[name, value] : log.arguments)
    out << "  " << name << " " << std::string(name.size() < 48 ? 48 - name.size() : 0, '.') << " "
        << value << "\n";
  out << "-------------------- end of arguments ---------------------\n";
  return out.str();
}

bool isPlain(const std::string &value) {
  return value == "None" || value == "True" || value == "False" || value.front() == '[' ||
         value.rfind("torch.", 0) == 0 ||
         (value.find_first_not_of("0123456789.e-+") == std::string::npos &&
          value.find_first_of("0123456789") != std::string::npos);
}

std::string printNamespace(const RandomLog &log) {
  std::string out = "Namespace(";
  for (const auto &[name, value] : log.arguments)
    out +=
        (out.back() == '(' ? "" : ", ") + name + "=" + (isPlain(value) ? value : "'" + value + "'");
  return out + ")\n";
}

std::string printMeasurements(const RandomLog &log, Draws &draws) {
  std::ostringstream out;
  for (const RandomLog::Iteration &line : log.iterations)
    out << " iteration " << line.number << "/ " << line.total
        << " | consumed samples: " << line.consumed
        << " | elapsed time per iteration (ms): " << text(line.elapsed, "%.1f")
        << " | learning rate: 1.000E-06 | global batch size: " << line.batch
        << " | lm loss: 6.5E+00 | loss scale: 1.0 |\n";
  if (log.hasTimerRanges) {
    out << "(min, max) time across ranks (ms):\n";
    for (const auto &[name, time] : log.timers)
      out << "    " << name << " " << std::string(48 - name.size(), '.') << ": ("
          << text(time * 0.9, "%.2f") << ", " << text(time, "%.2f") << ")\n";
  } else {
    out << "time (ms)";
    for (const auto &[name, time] : log.timers)
      out << " | " << name << ": " << text(time, "%.2f");
    out << "\n";
  }
  out << "(over " << log.overIterations << " iterations = " << log.overSamples << " samples)\n";
  if (log.sizes.hasSampleTime)
    out << text(log.sampleTime, "%.2f") << " ms per sample \n";
  out << "GPU mem: " << log.memoryLow << "MiB";
  if (log.memoryLow != log.memoryHigh || draws.oneIn(2))
    out << " - " << log.memoryHigh << "MiB";
  out << " / " << log.memoryCapacity << "MiB\n";
  return out.str();
}

std::string withPrefix(const std::string &body, const std::string &prefix) {
  std::string out;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);)
    out += prefix + line + "\n";
  return out;
}

std::string print(const RandomLog &log, Draws &draws) {
  bool isNamespace = draws.oneIn(2);
  std::string body;
  if (isNamespace || log.sizes.hasLayoutLine)
    body += "using world size: " + text(log.layoutLine.at("world")) +
            ", data-parallel-size: " + text(log.layoutLine.at("data")) +
            ", tensor-model-parallel size: " + text(log.layoutLine.at("tensor")) +
            ", pipeline-model-parallel size: " + text(log.layoutLine.at("pipeline")) + " \n";
  body += "using torch.float16 for parameters ...\n";
  body += isNamespace ? printNamespace(log) : printDump(log);
  body += "setting number of micro-batches to constant " + text(log.printedMicroBatches) + "\n";
  body += "> building " + log.arguments.at("tokenizer_type") + " tokenizer ...\n";
  body += " > padded vocab (size: " + text(log.vocabulary) + ") with " +
          text(log.paddedVocabulary - log.vocabulary) +
          " dummy tokens (new size: " + text(log.paddedVocabulary) + ")\n";
  body += "time (ms) | model-and-optimizer-setup: 5143.21 | "
          "train/valid/test-data-iterators-setup: 9034.10\n";
  body += "WARNING: don't expect $HOME to be used (see README.md)\n[after training is done]\n";
  body += printMeasurements(log, draws);
  std::string prefix =
      draws.oneOf<std::string>({"", "", "0: ", "[default0]:", "[1,0]<stdout>:", "node-1: "});
  std::string command = log.sizes.hasCommandLine ? printCommand(log, draws) : "";
  return "\n" + command + withPrefix(body, prefix);
}

//===-- Contradictions ---------------------------------------------------===//

void any(RandomSizes &) {}
void layoutLine(RandomSizes &sizes) { sizes.hasLayoutLine = true; }
void oneStage(RandomSizes &sizes) { sizes.pipeline = sizes.parts = 1; }
void manyStages(RandomSizes &sizes) {
  sizes.pipeline = 4;
  sizes.parts = 1;
}
void oneShard(RandomSizes &sizes) {
  sizes.tensor = 1;
  sizes.recomputes = true;
}
void manyShards(RandomSizes &sizes) {
  sizes.tensor = 4;
  sizes.heads = 8;
}
void bert(RandomSizes &sizes) { sizes.isBert = true; }
void gpt(RandomSizes &sizes) { sizes.isBert = false; }
void command(RandomSizes &sizes) { sizes.hasCommandLine = true; }
void bertCommand(RandomSizes &sizes) { sizes.isBert = sizes.hasCommandLine = true; }
void iterations(RandomSizes &sizes) { sizes.hasIterations = sizes.hasSampleTime = true; }
void byIterations(RandomSizes &sizes) { sizes.usesSamples = false; }
void bySamples(RandomSizes &sizes) { sizes.usesSamples = true; }
void largeBatch(RandomSizes &sizes) { sizes.microBatch = 4; }
void recomputing(RandomSizes &sizes) {
  sizes.recomputes = true;
  sizes.layersPerPart = 4;
}

int64_t number(RandomLog &log, const char *name) { return std::atoll(log.arguments[name].c_str()); }

double &timer(RandomLog &log, const std::string &name) {
  for (auto &[known, time] : log.timers)
    if (known == name)
      return time;
  return log.timers.emplace_back(name, 0.0).second;
}

void setRate(RandomLog &log, const char *name, const char *value) { log.arguments[name] = value; }

/// Batches, samples and processes.
std::vector<Plant> batchPlants() {
  return {
      {"global-batch-not-whole", largeBatch,
       [](RandomLog &log, Draws &draws) {
         int64_t batch = log.sizes.batch() + draws.between(1, 3);
         log.arguments["global_batch_size"] = text(batch);
         log.overSamples = log.overIterations * batch;
         log.sampleTime = log.iterationTime / static_cast<double>(batch);
         for (RandomLog::Iteration &line : log.iterations) {
           line.batch = batch;
           line.consumed = line.number * batch;
         }
       }},
      {"world-size-product", any,
       [](RandomLog &log, Draws &) {
         int64_t world = log.sizes.world() * 2;
         log.arguments["world_size"] = text(world);
         log.layoutLine["world"] = log.startedProcesses = world;
       }},
      {"world-size-product", any,
       [](RandomLog &log, Draws &) {
         log.arguments["pipeline_model_parallel_size"] = text(log.sizes.pipeline * 2);
         log.layoutLine["pipeline"] = log.sizes.pipeline * 2;
       }},
      {"sample-count", any,
       [](RandomLog &log, Draws &draws) {
         log.overSamples = draws.oneIn(2) ? log.overSamples * 10 : log.overSamples + 8;
       }},
      {"sample-time", iterations,
       [](RandomLog &log, Draws &draws) {
         log.sampleTime = log.sampleTime * draws.real(1.5, 8.0) + 0.05;
       }},
  };
}

/// The model and its tokenizer.
std::vector<Plant> modelPlants() {
  return {
      {"layers-per-stage", manyStages,
       [](RandomLog &log, Draws &draws) {
         log.arguments["num_layers"] = text(number(log, "num_layers") + draws.between(1, 3));
       }},
      {"heads-per-shard", manyShards,
       [](RandomLog &log, Draws &draws) {
         int64_t heads = log.sizes.heads + draws.between(1, 3);
         log.arguments["num_attention_heads"] = text(heads);
         log.arguments["hidden_size"] = text(heads * log.sizes.headSize);
       }},
      {"head-size", any,
       [](RandomLog &log, Draws &) {
         log.arguments["hidden_size"] = text(number(log, "hidden_size") + 8);
       }},
      {"attention-mask", bert,
       [](RandomLog &log, Draws &) { log.arguments["attn_mask_type"] = "causal"; }},
      {"attention-mask", gpt,
       [](RandomLog &log, Draws &) { log.arguments["attn_mask_type"] = "padding"; }},
      {"attention-mask", bert,
       [](RandomLog &log, Draws &draws) {
         log.arguments[draws.oneIn(2) ? "reset_attention_mask" : "reset_position_ids"] = "True";
       }},
      {"cased-vocabulary", bert,
       [](RandomLog &log, Draws &) {
         log.arguments["tokenizer_type"] = "BertWordPieceLowerCase";
         log.arguments["vocab_file"] = "vocabularies/bert-base-cased-vocab.txt";
       }},
      {"uncased-vocabulary", bert,
       [](RandomLog &log, Draws &) {
         log.arguments["tokenizer_type"] = "BertWordPieceCase";
         log.arguments["vocab_file"] = "bert-large-uncased/vocab.txt";
       }},
      {"tokenizer-family", bertCommand,
       [](RandomLog &log, Draws &) {
         log.arguments["tokenizer_type"] = "GPT2BPETokenizer";
         log.arguments["vocab_file"] = "vocab.json";
         log.arguments["merge_file"] = "merges.txt";
       }},
      {"merge-file", gpt, [](RandomLog &log, Draws &) { log.arguments["merge_file"] = "None"; }},
  };
}

/// Iterations, rates, precision, recomputation and data.
std::vector<Plant> runPlants() {
  return {
      {"decay-length", byIterations,
       [](RandomLog &log, Draws &) {
         log.arguments["lr_decay_iters"] = text(number(log, "train_iters") / 2);
       }},
      {"decay-length", bySamples,
       [](RandomLog &log, Draws &) {
         log.arguments["lr_decay_samples"] = text(number(log, "train_samples") * 2);
       }},
      {"warmup-twice", byIterations,
       [](RandomLog &log, Draws &) {
         setRate(log, "lr_warmup_fraction", "0.01");
         setRate(log, "lr_warmup_iters", "100");
       }},
      {"min-lr", any, [](RandomLog &log, Draws &) { setRate(log, "min_lr", "0.01"); }},
      {"sequence-positions", any,
       [](RandomLog &log, Draws &) {
         log.arguments["max_position_embeddings"] = text(number(log, "seq_length") / 2);
       }},
      {"encoder-sequence", any,
       [](RandomLog &log, Draws &) {
         log.arguments["encoder_seq_length"] = text(number(log, "seq_length") / 2);
       }},
      {"two-precisions", any,
       [](RandomLog &log, Draws &) { log.arguments["fp16"] = log.arguments["bf16"] = "True"; }},
      {"params-dtype", any,
       [](RandomLog &log, Draws &) {
         log.arguments["fp16"] = "True";
         log.arguments["bf16"] = "False";
         log.arguments["params_dtype"] = "torch.float32";
       }},
      {"checkpoint-shards", oneShard,
       [](RandomLog &log, Draws &) {
         log.arguments["distribute_checkpointed_activations"] = "True";
       }},
      {"checkpoint-layers", recomputing,
       [](RandomLog &log, Draws &) { log.arguments["checkpoint_num_layers"] = "3"; }},
      {"rank-outside-world", any,
       [](RandomLog &log, Draws &draws) {
         log.arguments["rank"] = text(log.sizes.world() + draws.between(0, 9));
       }},
      {"layout-line", layoutLine,
       [](RandomLog &log, Draws &) { log.layoutLine["data"] = log.sizes.replicas * 2; }},
      {"split-sum", any, [](RandomLog &log, Draws &) { log.arguments["split"] = "949,80,1"; }},
      {"finetune-load", any,
       [](RandomLog &log, Draws &) {
         log.arguments["finetune"] = "True";
         log.arguments["load"] = "None";
         log.iterations.clear();
         log.sizes.hasSampleTime = true;
       }},
  };
}

/// Contradictions of timers, memory, iterations and the arguments of logging.
std::vector<Plant> measurementPlants() {
  return {
      {"pipeline-timer", oneStage,
       [](RandomLog &log, Draws &draws) {
         timer(log, draws.oneOf<std::string>({"forward-recv", "backward-send"})) = 0.3;
       }},
      {"pipeline-timer-missing", manyStages,
       [](RandomLog &log, Draws &) {
         log.timers.erase(std::remove_if(log.timers.begin(), log.timers.end(),
                                         [](const auto &timer) {
                                           return timer.first.find("recv") != std::string::npos ||
                                                  timer.first.find("send") != std::string::npos;
                                         }),
                          log.timers.end());
       }},
      {"embedding-all-reduce", oneStage,
       [](RandomLog &log, Draws &draws) {
         timer(log, "backward-embedding-all-reduce") =
             draws.real(1.2, 0.02 * log.iterationTime + 1.2);
       }},
      {"timer-sum", any,
       [](RandomLog &log, Draws &draws) {
         timer(log, "backward-compute") = log.iterationTime * draws.real(1.2, 3.0);
       }},
      {"memory-capacity", any,
       [](RandomLog &log, Draws &) { log.memoryHigh = log.memoryCapacity + 500; }},
      {"command-line-disagrees", command,
       [](RandomLog &log, Draws &draws) {
         const char *name = draws.oneIn(2) ? "hidden_size" : "micro_batch_size";
         log.commandChanges[name] = text(number(log, name) * 2);
       }},
      {"consumed-samples", iterations,
       [](RandomLog &log, Draws &) {
         log.arguments["load"] = "None";
         for (RandomLog::Iteration &line : log.iterations)
           line.consumed *= 10;
       }},
      {"iteration-batch", iterations,
       [](RandomLog &log, Draws &) {
         for (RandomLog::Iteration &line : log.iterations)
           line.batch *= 2;
       }},
      {"micro-batch-count", any, [](RandomLog &log, Draws &) { ++log.printedMicroBatches; }},
      {"padded-vocabulary", any, [](RandomLog &log, Draws &) { log.paddedVocabulary += 128; }},
  };
}

} // namespace

const std::vector<Plant> &plants() {
  static const std::vector<Plant> all = [] {
    std::vector<Plant> joined;
    for (auto *each : {batchPlants, modelPlants, runPlants, measurementPlants})
      for (Plant &plant : each())
        joined.push_back(std::move(plant));
    return joined;
  }();
  return all;
}

std::string printRandomLog(Draws &draws, const Plant *plant) {
  RandomLog log;
  log.sizes = drawSizes(draws);
  if (plant)
    plant->prepare(log.sizes);
  log.arguments = realArguments();
  fillModel(log, draws);
  fillRun(log, draws);
  fillMeasurements(log, draws);
  log.hasTimerRanges = draws.oneIn(3);
  if (plant)
    plant->apply(log, draws);
  return print(log, draws);
}
