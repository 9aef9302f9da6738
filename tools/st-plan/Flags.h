// The command line of st-plan.
#ifndef ST_TOOLS_ST_PLAN_FLAGS_H
#define ST_TOOLS_ST_PLAN_FLAGS_H

#include "tools/st-plan/Range.h"

#include <string>

namespace mlir::st {

namespace cl = llvm::cl;

struct PlanFlags {
  cl::opt<std::string> model{cl::Positional,
                             cl::desc("<model folder, config.json, Megatron log or command line>")};

  cl::opt<std::string> cluster{"cluster", cl::init("dgx-a100-80gb"), cl::value_desc("name|file"),
                               cl::desc("cluster description (default: dgx-a100-80gb)")};
  cl::opt<std::string> profile{"profile", cl::init("megatron-lm"), cl::value_desc("name|file"),
                               cl::desc("implementation profile (default: megatron-lm)")};
  cl::opt<std::string> constants{
      "constants", cl::value_desc("file"),
      cl::desc("fitted constants (default: the built-in ones for the cluster and profile)")};
  cl::opt<std::string> deepspeed{"deepspeed", cl::value_desc("file"),
                                 cl::desc("DeepSpeed configuration (JSON)")};
  cl::opt<std::string> rows{
      "rows", cl::value_desc("file"),
      cl::desc("predict measured runs (CSV); with --json a line of JSON per row")};
  cl::opt<std::string> lintLog{
      "lint-log", cl::value_desc("file"),
      cl::desc("find contradictions in a Megatron log, and compare its timers")};

  cl::opt<std::string> task{"task", cl::value_desc("mlm|span|clm|seq2seq|classify|classify-tokens"),
                            cl::desc("training task of the model")};
  cl::opt<unsigned> sequence{
      "seq", cl::init(0), cl::value_desc("n"),
      cl::desc("tokens in a sequence (default: the model's number of positions)")};
  cl::opt<unsigned> labelSequence{
      "label-seq", cl::init(0), cl::value_desc("n"),
      cl::desc("seq2seq: tokens in a target (default: the number in a source)")};
  cl::opt<std::string> lora{"lora", cl::value_desc("rank:module,..."),
                            cl::desc("train adapters of this rank for the matrices of these "
                                     "modules, and freeze all other parameters")};
  cl::opt<std::string> loraDropout{"lora-dropout", cl::value_desc("p"),
                                   cl::desc("share of an adapter's inputs that is dropped")};
  cl::opt<std::string> freeze{"freeze", cl::value_desc("pattern,..."),
                              cl::desc("parameters whose names match a pattern are not trained")};
  cl::opt<std::string> trainOnly{
      "train-only", cl::value_desc("pattern,..."),
      cl::desc("only parameters whose names match a pattern are trained")};
  cl::opt<std::string> expertCapacity{
      "expert-capacity-factor", cl::value_desc("x"),
      cl::desc("an expert takes at most x times its even share of a sequence's tokens")};
  cl::opt<Range> batch{"batch", cl::value_desc("n|lo:hi"),
                       cl::desc("sequences in a step, or a range")};
  cl::opt<std::string> precision{"precision", cl::init("bf16"), cl::value_desc("f32|f16|bf16"),
                                 cl::desc("compute type of a model folder (default: bf16)")};
  cl::opt<std::string> optimizer{"optimizer",
                                 cl::value_desc("adam|adamw|lamb|sgd|adam-8bit|...|adafactor"),
                                 cl::desc("optimizer (default: the configuration's, or adam)")};

  cl::opt<Range> devices{"devices", cl::value_desc("n|lo:hi"),
                         cl::desc("number of devices, or a range: a multiple of a node, or a part "
                                  "of one (default: one node)")};
  cl::opt<unsigned> nodes{"nodes", cl::init(0), cl::value_desc("n"),
                          cl::desc("nodes, instead of --devices")};
  cl::list<int64_t> tp{"tp", cl::CommaSeparated, cl::value_desc("n,..."),
                       cl::desc("tensor shards to consider")};
  cl::list<int64_t> pp{"pp", cl::CommaSeparated, cl::value_desc("n,..."),
                       cl::desc("pipeline stages to consider")};
  cl::list<int64_t> dp{"dp", cl::CommaSeparated, cl::value_desc("n,..."),
                       cl::desc("replicas to consider")};
  cl::list<int64_t> context{
      "context", cl::CommaSeparated, cl::value_desc("n,..."),
      cl::desc("devices that share each sequence to consider (default: 1; of sequences from "
               "16384 tokens on, as many as leave each 4096)")};
  cl::list<std::string> contextAttention{
      "context-attention", cl::CommaSeparated, cl::value_desc("heads|keys|ring,..."),
      cl::desc("what these devices send for attention, to consider (default: all that the "
               "profile runs)")};
  cl::list<int64_t> expert{
      "expert", cl::CommaSeparated, cl::value_desc("n,..."),
      cl::desc("replicas that share the experts to consider (default: divisors of the experts)")};
  cl::list<int64_t> vpp{"virtual-stages", cl::CommaSeparated, cl::value_desc("n,..."),
                        cl::desc("stages of a device group to consider")};
  cl::list<int64_t> microBatch{"mb", cl::CommaSeparated, cl::value_desc("n,..."),
                               cl::desc("micro-batches to consider")};
  cl::list<int64_t> zero{"zero", cl::CommaSeparated, cl::value_desc("0-3,..."),
                         cl::desc("ZeRO levels to consider (default: 0 and 1)")};
  cl::list<std::string> recompute{"recompute", cl::CommaSeparated,
                                  cl::value_desc("none|selective|full,..."),
                                  cl::desc("recomputation to consider (default: all)")};
  cl::list<std::string> schedule{
      "schedule", cl::CommaSeparated, cl::value_desc("name,..."),
      cl::desc("gpipe, 1f1b, interleaved, zb-h1 or zb-h2 (default: 1f1b and interleaved)")};
  cl::list<std::string> sequenceParallel{
      "sequence-parallel", cl::CommaSeparated, cl::value_desc("true|false,..."),
      cl::desc("sequence parallelism to consider (default: both)")};
  cl::list<std::string> placement{
      "placement", cl::CommaSeparated, cl::value_desc("tensor-data-pipeline,..."),
      cl::desc("orders of ranks over device ids to consider, the fastest axis first, or "
               "cluster (default: all)")};
  cl::opt<unsigned> replicaNodes{
      "replica-nodes", cl::init(0), cl::value_desc("n"),
      cl::desc("largest number of nodes over which one replica may extend (default: all)")};
  cl::opt<std::string> memory{"memory", cl::value_desc("nGB"),
                              cl::desc("largest memory of a device")};
  cl::opt<bool> offload{"offload", cl::desc("also consider optimizer state in the host's memory")};

  cl::opt<bool> json{"json", cl::desc("print JSON")};
  cl::opt<std::string> page{
      "page", cl::value_desc("file.html"),
      cl::desc("write the plan as a page: front, timeline, memory, and why layouts lost")};
  cl::opt<unsigned> top{"top", cl::init(8), cl::value_desc("n"),
                        cl::desc("layouts to list (default: 8)")};
  cl::list<std::string> whyNot{"why-not", cl::value_desc("tp=1,pp=32"),
                               cl::desc("explain why the layouts with these degrees lost")};
  cl::opt<std::string> emit{"emit", cl::value_desc("file"),
                            cl::desc("write the best layout as a parallel file of st-compile")};
  cl::opt<unsigned> simulate{"simulate", cl::init(3), cl::value_desc("n"),
                             cl::desc("on a DTU cluster: number of the fastest layouts to compile "
                                      "and simulate completely (default: 3)")};
  cl::opt<unsigned> compose{"compose", cl::init(200), cl::value_desc("n"),
                            cl::desc("on a DTU cluster: most layouts to compose, about a second "
                                     "each, the most promising first; 0: all (default: 200)")};
  cl::opt<bool> quiet{"q", cl::desc("no progress on stderr")};

  cl::opt<bool> largestModel{
      "largest-model", cl::desc("the largest model that fits on the devices: layers of this width, "
                                "and the same proportions")};
  cl::opt<std::string> sizes{
      "sizes", cl::value_desc("file.csv"),
      cl::desc("with --largest-model: sizes to consider instead (columns layers, hidden, heads)")};
  cl::opt<bool> fewestDevices{"fewest-devices",
                              cl::desc("the fewest nodes on which the model fits")};
  cl::opt<double> daysFor{"days-for", cl::init(0), cl::value_desc("tokens"),
                          cl::desc("days and device-hours for this many tokens, such as 300e9")};
  cl::opt<double> assumedTflops{
      "assumed-tflops", cl::init(0), cl::value_desc("x"),
      cl::desc("with --days-for: compare with 8 T P / (n X) at this X, TFLOP/s per device")};
  cl::list<int64_t> scale{
      "scale", cl::CommaSeparated, cl::value_desc("nodes,..."),
      cl::desc(
          "plan for these numbers of nodes, with the same batch and with a proportional batch")};
  cl::list<std::string> whatIf{
      "what-if", cl::value_desc("network:x2,memory:40GB"),
      cl::desc("plan again with other hardware: network (xN, NGb per node), node, flops, "
               "bandwidth, launch (xN), memory (xN, NGB); together with another question, answer "
               "it for that hardware")};
  cl::opt<unsigned> shrinkTo{"shrink-to", cl::init(0), cl::value_desc("nodes"),
                             cl::desc("a smaller model for this many nodes: the same shapes per "
                                      "device, with fewer layers and stages")};
};

} // namespace mlir::st

#endif // ST_TOOLS_ST_PLAN_FLAGS_H
