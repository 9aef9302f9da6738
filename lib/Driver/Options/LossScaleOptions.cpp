#include "lib/Driver/Options/LossScaleOptions.h"
#include "lib/Driver/DiagnosticPrinter.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::st;

static constexpr StringLiteral kOfDynamicScale[] = {"initial-loss-scale", "min-loss-scale",
                                                    "loss-scale-window", "hysteresis"};

static InFlightDiagnostic error(ModuleOp module) {
  return emitError(getCommandLineLoc(module.getContext()));
}

static std::optional<double> parseScale(StringRef text) {
  double number;
  if (text.empty() || text.getAsDouble(number) || number > std::numeric_limits<float>::max())
    return std::nullopt;
  auto single = static_cast<float>(number);
  return std::isnormal(single) && single > 0 ? std::optional(number) : std::nullopt;
}

LogicalResult mlir::st::refuseLossScaleOptions(ModuleOp module, const CompileOptions &options,
                                               StringRef why) {
  for (StringRef name :
       {"loss-scale", "initial-loss-scale", "min-loss-scale", "loss-scale-window", "hysteresis"})
    if (options.isGiven(name))
      return error(module) << "--" << name << " has no effect: " << why;
  return success();
}

/// Checks that scales are f32 numbers, the minimum at most the initial one, and counts are valid.
static LogicalResult checkDynamic(ModuleOp module, const CompileOptions &options) {
  for (StringRef name : {"initial-loss-scale", "min-loss-scale"})
    if (std::string given = options.get(module, name); !parseScale(given))
      return error(module) << "--" << name << "=" << given
                           << ": expected a positive number that 32 bits hold";
  for (StringRef name : {"loss-scale-window", "hysteresis"}) {
    std::string given = options.get(module, name);
    int32_t count;
    if (StringRef(given).getAsInteger(10, count) || count < 1)
      return error(module) << "--" << name << "=" << given << ": expected a number of steps from 1";
  }
  std::string first = options.get(module, "initial-loss-scale"),
              least = options.get(module, "min-loss-scale");
  if (*parseScale(least) > *parseScale(first))
    return error(module) << "--min-loss-scale=" << least
                         << ": expected at most --initial-loss-scale=" << first;
  return success();
}

FailureOr<std::string> mlir::st::lossScalePipeline(ModuleOp module, const CompileOptions &options,
                                                   StringRef fromFile) {
  std::string fixed = options.get(module, "loss-scale");
  if (!fixed.empty()) {
    std::optional<double> scale = parseScale(fixed);
    if (!scale)
      return error(module) << "--loss-scale=" << fixed
                           << ": expected a positive number that 32 bits hold";
    if (double number; !fromFile.getAsDouble(number) && number != *scale)
      return error(module) << "--loss-scale=" << fixed << " contradicts the parallel file, whose "
                           << "precision.loss_scale is " << fromFile;
    fromFile = fixed;
  }
  if (fromFile != "dynamic") {
    for (StringRef name : kOfDynamicScale)
      if (options.isGiven(name))
        return error(module) << "--" << name << " has no effect: "
                             << (fromFile == "none" ? "the loss is not scaled"
                                                    : "the loss scale is fixed");
    return fromFile == "none" ? std::string() : ("scale-loss{scale=" + fromFile + "}").str();
  }
  if (failed(checkDynamic(module, options)))
    return failure();
  return "scale-loss{initial-scale=" + options.get(module, "initial-loss-scale") +
         " min-scale=" + options.get(module, "min-loss-scale") +
         " growth-interval=" + options.get(module, "loss-scale-window") +
         " hysteresis=" + options.get(module, "hysteresis") + "}";
}
