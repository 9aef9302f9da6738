#include "lib/Driver/OptimizerOptions.h"
#include "lib/Driver/DiagnosticPrinter.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::st;

namespace {
/// An option of add-optimizer that is a number.
struct OptimizerNumber {
  StringLiteral name;
  bool isFraction; ///< below 1; others only fit a float
};
} // namespace

static constexpr OptimizerNumber kOptimizerNumbers[] = {{"beta1", true},    {"beta2", true},
                                                        {"epsilon", false}, {"weight-decay", false},
                                                        {"momentum", true}, {"clip-norm", false}};

/// A number that is not negative and that a float holds.
static std::optional<double> parseNumber(StringRef text) {
  double number;
  constexpr double largest = std::numeric_limits<float>::max();
  if (text.empty() || text.getAsDouble(number) || !(number >= 0 && number <= largest))
    return std::nullopt;
  return number;
}

static constexpr StringLiteral kNumber = "a number from 0 to 3.4e38";

static InFlightDiagnostic error(ModuleOp module) {
  return emitError(getCommandLineLoc(module.getContext()));
}

LogicalResult mlir::st::setLearningRate(ModuleOp module, const CompileOptions &options) {
  std::string given = options.get(module, "lr");
  std::optional<double> rate = parseNumber(given);
  if (!rate)
    return error(module) << "--lr=" << given << ": expected " << kNumber;
  module->setAttr("st.learning_rate", Builder(module.getContext()).getF64FloatAttr(*rate));
  return success();
}

/// Options become part of a pipeline's text, so each is known to be what it says.
static LogicalResult checkOptimizerOptions(ModuleOp module, const CompileOptions &options) {
  std::string kind = options.get(module, "optimizer");
  if (!llvm::is_contained({"adamw", "adam", "sgd"}, StringRef(kind)))
    return error(module) << "--optimizer=" << kind << ": expected adamw, adam or sgd";
  for (const OptimizerNumber &option : kOptimizerNumbers) {
    std::string given = options.get(module, option.name);
    std::optional<double> number = parseNumber(given);
    // The step computes in f32.
    auto single = static_cast<float>(number.value_or(0));
    bool isLost = !std::isfinite(single) || (single == 0 && *number != 0) ||
                  (option.isFraction && single >= 1);
    if (!number || isLost)
      return error(module) << "--" << option.name << "=" << given << ": expected "
                           << (option.isFraction ? "a number of at least 0 and below 1" : kNumber)
                           << (number && isLost ? " that 32 bits hold" : "");
  }
  auto isOf = [&](StringRef name) {
    const bool isAdams = llvm::is_contained({"beta1", "beta2", "epsilon"}, name);
    return kind == "sgd" ? !isAdams : name != "momentum";
  };
  for (const OptimizerNumber &option : kOptimizerNumbers)
    if (options.isGiven(option.name) && !isOf(option.name))
      return error(module) << "--" << option.name << " has no effect with --optimizer=" << kind;
  return success();
}

LogicalResult mlir::st::refuseOptimizerOptions(ModuleOp module, const CompileOptions &options) {
  for (const OptimizerNumber &option : kOptimizerNumbers)
    if (options.isGiven(option.name))
      return error(module) << "--" << option.name
                           << " has no effect: the program updates its parameters itself";
  if (options.isGiven("optimizer"))
    return error(module) << "--optimizer has no effect: the program updates its parameters itself";
  auto function = module.lookupSymbol<func::FuncOp>("main");
  auto isRate = [&](unsigned argument) {
    auto name = function.getArgAttrOfType<StringAttr>(argument, kNameAttr);
    return name && name.getValue() == "learning_rate";
  };
  if (options.isGiven("lr") && function &&
      llvm::none_of(llvm::seq<unsigned>(0, function.getNumArguments()), isRate))
    return error(module) << "--lr has no effect: the program takes no learning rate";
  return success();
}

FailureOr<std::string> mlir::st::optimizerPipeline(ModuleOp module, const CompileOptions &options) {
  if (failed(checkOptimizerOptions(module, options)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  // Common subexpressions go before the update is added: after it, CSE would share
  // the scalars that each parameter broadcasts to its own shape across stages.
  os << "canonicalize,cse,add-optimizer{kind=" << options.get(module, "optimizer");
  for (const OptimizerNumber &option : kOptimizerNumbers)
    os << ' ' << option.name << '=' << options.get(module, option.name);
  os << "},canonicalize";
  return text;
}
