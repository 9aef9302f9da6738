//===- Timeline.cpp - st-translate --timeline -----------------------------===//

#include "lib/Driver/ProgramFile.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "passes/Pipeline/ScheduleTimeline.h"
#include "st/InitAll.h"
#include "tools/st-translate/Translations.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::st {
namespace {

/// Maximum width of a chart in characters.
constexpr unsigned kChartWidth = 160;

struct TimelineOptions {
  llvm::cl::list<std::string> times{
      "task-times", llvm::cl::CommaSeparated, llvm::cl::value_desc("phase=time,..."),
      llvm::cl::desc("--timeline: durations of the tasks forward, backward and weight, in any unit "
                     "(default: 1 each; other tasks 0)")};
};

/// Reads the given `phase=time` pairs.
LogicalResult parseTimes(const TimelineOptions &options, PhaseTimes &times) {
  times = PhaseTimes({{"forward", 1.0}, {"backward", 1.0}, {"weight", 1.0}});
  for (llvm::StringRef text : options.times) {
    auto [phase, number] = text.split('=');
    double time = 0;
    if (!times.contains(phase) || number.getAsDouble(time) || !(time >= 0) ||
        time > std::numeric_limits<float>::max()) {
      llvm::errs() << "error: --task-times=" << text
                   << ": expected forward=, backward= or weight= and a time, at least 0\n";
      return failure();
    }
    times[phase] = time;
  }
  return success();
}

LogicalResult writeTimeline(const TimelineOptions &options,
                            const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os,
                            MLIRContext *context) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context->appendDialectRegistry(registry);
  PhaseTimes times;
  if (failed(parseTimes(options, times)))
    return failure();
  OwningOpRef<ModuleOp> module = parseProgram(source, ParserConfig(context));
  if (!module)
    return failure();
  auto timeline = computeTimeline(*module, times);
  if (failed(timeline))
    return failure();
  printTimeline(*timeline, kChartWidth, os);
  return success();
}

} // namespace

void registerTimeline() {
  static TimelineOptions options;
  static TranslateRegistration registration(
      "timeline",
      "draw when the groups of scheduled programs run their tasks, and how long they idle",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os,
         MLIRContext *context) { return writeTimeline(options, source, os, context); });
}

} // namespace mlir::st
