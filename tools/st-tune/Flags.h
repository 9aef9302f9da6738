// The command line of st-tune.
#ifndef ST_TOOLS_ST_TUNE_FLAGS_H
#define ST_TOOLS_ST_TUNE_FLAGS_H

#include "llvm/Support/CommandLine.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::st {

namespace cl = llvm::cl;

struct TuneFlags {
  cl::opt<std::string> model{cl::Positional, cl::desc("<model folder or config.json>")};

  cl::opt<std::string> plan{
      "plan", cl::value_desc("file"),
      cl::desc("take the candidates from this output of st-plan --json instead of running it")};
  cl::opt<unsigned> top{"top", cl::init(8), cl::value_desc("n"),
                        cl::desc("candidates to measure (default: 8)")};
  cl::opt<std::string> target{"target", cl::init("dtu-t10"), cl::value_desc("name|file"),
                              cl::desc("target of st-compile (default: dtu-t10)")};
  cl::list<std::string> compileFlags{
      "compile", cl::value_desc("flag"),
      cl::desc("a flag for st-compile, such as --compile=--lr=1e-3")};

  cl::opt<std::string> launch{
      "launch", cl::value_desc("command"),
      cl::desc("shell command that runs a trial, with placeholders such as {binary} and {devices}; "
               "without {binary} nothing is compiled")};
  cl::opt<std::string> metricPattern{
      "metric-pattern", cl::value_desc("regex"),
      cl::desc("regular expression for the command's output, with one group that matches the "
               "in-step figure; the last match counts")};
  cl::opt<std::string> endToEndPattern{
      "end-to-end-pattern", cl::value_desc("regex"),
      cl::desc("regular expression for the end-to-end figure, with one group (default: samples "
               "over wall-clock time)")};
  cl::opt<std::string> metricUnit{
      "metric-unit", cl::init("samples/s"), cl::value_desc("samples/s|tokens/s|ms|s"),
      cl::desc("unit of the matched figures; ms and s are per step (default: samples/s)")};

  cl::opt<unsigned> steps{"steps", cl::init(5), cl::value_desc("n"),
                          cl::desc("steps of a trial; the first is not counted (default: 5; a "
                                   "simulated device is only timed unless this is given)")};
  cl::opt<std::string> rankBy{"rank-by", cl::init("in-step"), cl::value_desc("in-step|end-to-end"),
                              cl::desc("the throughput to rank by (default: in-step)")};
  cl::opt<unsigned> trialTimeout{"trial-timeout", cl::init(600), cl::value_desc("seconds"),
                                 cl::desc("time limit of a trial, compilation and run together "
                                          "(default: 600)")};
  cl::opt<unsigned> earlyStop{
      "early-stop", cl::init(5), cl::value_desc("n"),
      cl::desc("stop after n consecutive trials without improvement (default: 5; 0: never)")};
  cl::opt<bool> baseline{"baseline", cl::init(true), cl::ZeroOrMore,
                         cl::desc("also measure plain data parallelism with micro-batches of 1, 2, "
                                  "4, ... (default: true)")};

  cl::opt<std::string> results{
      "results", cl::value_desc("file"),
      cl::desc("append a line of JSON per trial to this file, and skip trials that are in it")};
  cl::opt<bool> retryFailed{"retry-failed", cl::desc("run failed trials of the results again")};
  cl::opt<std::string> work{"work", cl::value_desc("folder"),
                            cl::desc("keep parallel files and logs of the trials here; if several "
                                     "machines run a trial, use a shared file system")};
  cl::opt<std::string> emit{
      "emit", cl::value_desc("file"),
      cl::desc("write the best measured layout as a parallel file of st-compile")};
  cl::opt<bool> quiet{"q", cl::desc("no progress on stderr")};

  /// Flags of st-plan, which checks their values.
  std::vector<std::unique_ptr<cl::opt<std::string>>> planFlags;
  cl::list<std::string> otherPlanFlags{"plan-flag", cl::value_desc("flag"),
                                       cl::desc("any other flag for st-plan")};

  TuneFlags();

  /// A flag of st-plan by its name; empty if not given.
  std::string planFlag(llvm::StringRef name) const;
};

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_FLAGS_H
