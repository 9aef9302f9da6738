// The command line of st-plan.
#ifndef ST_TOOLS_ST_PLAN_FLAGS_H
#define ST_TOOLS_ST_PLAN_FLAGS_H

#include "tools/st-plan/Range.h"

#include <string>

namespace mlir::st {

namespace cl = llvm::cl;

struct PlanFlags {
  cl::opt<std::string> model{cl::Positional, cl::desc("<model folder, config.json, Megatron log or command line>")};

  cl::opt<std::string> cluster{"cluster", cl::init("dgx-a100-80gb"), cl::value_desc("name|file"),
                               cl::desc("cluster description (default: dgx-a100-80gb)")};
  cl::opt<std::string> profile{"profile", cl::init("megatron-lm"), cl::value_desc("name|file"),
                               cl::desc("implementation profile (default: megatron-lm)")};
  cl::opt<std::string> constants{"constants", cl::value_desc("file"),
                                 cl::desc("fitted constants (default: those that ship for the cluster and profile)")};
  cl::opt<std::string> deepspeed{"deepspeed", cl::value_desc("file"), cl::desc("DeepSpeed configuration (JSON)")};
  cl::opt<std::string> rows{"rows", cl::value_desc("file"),
                            cl::desc("predict measured runs (CSV), a line of JSON a row with --json")};
  cl::opt<std::string> lintLog{"lint-log", cl::value_desc("file"),
                               cl::desc("name what contradicts itself in a Megatron log, and compare its timers")};

  cl::opt<std::string> task{"task", cl::value_desc("mlm|span|clm|classify"), cl::desc("what the model is trained to do")};
  cl::opt<unsigned> sequence{"seq", cl::init(0), cl::value_desc("n"),
                             cl::desc("tokens in a sequence (default: as many as the model has positions)")};
  cl::opt<Range> batch{"batch", cl::value_desc("n|lo:hi"), cl::desc("sequences in a step, or a range of it")};
  cl::opt<std::string> precision{"precision", cl::init("bf16"), cl::value_desc("f32|f16|bf16"),
                                 cl::desc("compute type of a model folder (default: bf16)")};
  cl::opt<std::string> optimizer{"optimizer", cl::value_desc("adam|lamb|sgd|adam-8bit|lamb-8bit|sgd-8bit|adafactor"),
                                 cl::desc("optimizer (default: adam, or what the configuration says)")};

  cl::opt<Range> devices{"devices", cl::value_desc("n|lo:hi"),
                         cl::desc("devices, or a range: whole nodes, or parts of one (default: one node)")};
  cl::opt<unsigned> nodes{"nodes", cl::init(0), cl::value_desc("n"), cl::desc("nodes, instead of --devices")};
  cl::list<int64_t> tp{"tp", cl::CommaSeparated, cl::value_desc("n,..."), cl::desc("tensor shards to consider")};
  cl::list<int64_t> pp{"pp", cl::CommaSeparated, cl::value_desc("n,..."), cl::desc("pipeline stages to consider")};
  cl::list<int64_t> dp{"dp", cl::CommaSeparated, cl::value_desc("n,..."), cl::desc("replicas to consider")};
  cl::list<int64_t> vpp{"virtual-stages", cl::CommaSeparated, cl::value_desc("n,..."),
                        cl::desc("stages of a device group to consider")};
  cl::list<int64_t> microBatch{"mb", cl::CommaSeparated, cl::value_desc("n,..."), cl::desc("micro-batches to consider")};
  cl::list<int64_t> zero{"zero", cl::CommaSeparated, cl::value_desc("0-3,..."),
                         cl::desc("ZeRO levels to consider (default: 0 and 1)")};
  cl::list<std::string> recompute{"recompute", cl::CommaSeparated, cl::value_desc("none|selective|full,..."),
                                  cl::desc("recomputation to consider (default: all)")};
  cl::list<std::string> schedule{
      "schedule", cl::CommaSeparated, cl::value_desc("name,..."),
      cl::desc("gpipe, 1f1b, interleaved, zb-h1 or zb-h2 (default: 1f1b and interleaved)")};
  cl::list<std::string> sequenceParallel{"sequence-parallel", cl::CommaSeparated, cl::value_desc("true|false,..."),
                                         cl::desc("sequence parallelism to consider (default: both)")};
  cl::list<std::string> placement{"placement", cl::CommaSeparated, cl::value_desc("tensor-data-pipeline,..."),
                                  cl::desc("orders of ranks over device ids to consider, the fastest axis first, or "
                                           "cluster (default: all)")};
  cl::opt<unsigned> replicaNodes{"replica-nodes", cl::init(0), cl::value_desc("n"),
                                 cl::desc("nodes that shards and stages of one replica may take (default: all)")};
  cl::opt<std::string> memory{"memory", cl::value_desc("nGB"), cl::desc("memory of a device to plan with, at most")};
  cl::opt<bool> offload{"offload", cl::desc("consider optimizer state in the host's memory as well")};

  cl::opt<bool> json{"json", cl::desc("print JSON")};
  cl::opt<std::string> page{"page", cl::value_desc("file.html"),
                            cl::desc("write the plan as a page: front, timeline, memory, and why layouts lost")};
  cl::opt<unsigned> top{"top", cl::init(8), cl::value_desc("n"), cl::desc("layouts to list (default: 8)")};
  cl::list<std::string> whyNot{"why-not", cl::value_desc("tp=1,pp=32"),
                               cl::desc("say why the layouts with these degrees lost")};
  cl::opt<std::string> emit{"emit", cl::value_desc("file"), cl::desc("write the best layout as a parallel file of st-compile")};
  cl::opt<unsigned> simulate{
      "simulate", cl::init(3), cl::value_desc("n"),
      cl::desc("on a DTU cluster: how many of the fastest layouts are compiled whole and "
               "simulated (default: 3)")};
  cl::opt<unsigned> compose{
      "compose", cl::init(200), cl::value_desc("n"),
      cl::desc(
          "on a DTU cluster: layouts to compose at most, about a second each, those that promise "
          "to be the fastest first; 0: all that may be (default: 200)")};
  cl::opt<bool> quiet{"q", cl::desc("no progress on stderr")};

  cl::opt<bool> largestModel{"largest-model", cl::desc("the largest model that fits on the devices: layers of this width, "
                                                      "and the same proportions")};
  cl::opt<std::string> sizes{"sizes", cl::value_desc("file.csv"),
                             cl::desc("of --largest-model: sizes to consider instead (columns layers, hidden, heads)")};
  cl::opt<bool> fewestDevices{"fewest-devices", cl::desc("the fewest nodes on which the model fits")};
  cl::opt<double> daysFor{"days-for", cl::init(0), cl::value_desc("tokens"),
                          cl::desc("days and device-hours for this many tokens, as 300e9")};
  cl::opt<double> assumedTflops{"assumed-tflops", cl::init(0), cl::value_desc("x"),
                                cl::desc("of --days-for: compare with 8 T P / (n X) at this X, TFLOP/s a device")};
  cl::list<int64_t> scale{"scale", cl::CommaSeparated, cl::value_desc("nodes,..."),
                          cl::desc("plan for these numbers of nodes, with the same batch and with a batch in proportion")};
  cl::list<std::string> whatIf{"what-if", cl::value_desc("network:x2,memory:40GB"),
                               cl::desc("plan again with other hardware: network (xN, NGb of a node), node, flops, bandwidth, launch "
                                      "(xN), memory (xN, NGB); with another question, answer that for it")};
  cl::opt<unsigned> shrinkTo{"shrink-to", cl::init(0), cl::value_desc("nodes"),
                             cl::desc("the same shapes per device with fewer layers and stages on this many nodes")};
};

} // namespace mlir::st

#endif // ST_TOOLS_ST_PLAN_FLAGS_H
