#include "lib/Driver/Options/OptimizerOptions.h"
#include "dialects/St/Utils/Roles.h"
#include "lib/Driver/DiagnosticPrinter.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/Autodiff/Passes.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::st;

namespace {
/// A numeric option of add-optimizer.
struct OptimizerNumber {
  StringLiteral name;
  enum { Fraction, Number, Count } range; ///< below 1; any float; an integer
  ArrayRef<StringLiteral> readBy;         ///< the optimizers; empty: all
};
} // namespace

static constexpr StringLiteral kMoments[] = {"adamw", "adam", "lamb"};
static constexpr StringLiteral kDivisors[] = {"adamw", "adam", "lamb", "adafactor"};
static constexpr StringLiteral kSgd[] = {"sgd"};
static constexpr StringLiteral kAdafactor[] = {"adafactor"};
static constexpr StringLiteral kEightBits[] = {"adamw-8bit", "adam-8bit", "lamb-8bit", "sgd-8bit"};

static const OptimizerNumber kOptimizerNumbers[] = {
    {"beta1", OptimizerNumber::Fraction, kMoments},
    {"beta2", OptimizerNumber::Fraction, kMoments},
    {"epsilon", OptimizerNumber::Number, kDivisors},
    {"weight-decay", OptimizerNumber::Number, {}},
    {"momentum", OptimizerNumber::Fraction, kSgd},
    {"clip-norm", OptimizerNumber::Number, {}},
    {"decay-rate", OptimizerNumber::Number, kAdafactor},
    {"clipping-threshold", OptimizerNumber::Number, kAdafactor},
    {"min-factored-size", OptimizerNumber::Count, kAdafactor},
    {"min-8bit-size", OptimizerNumber::Count, kEightBits}};

static constexpr StringLiteral kOptimizers = "adamw, adam, sgd, lamb, adafactor, adamw-8bit, "
                                             "adam-8bit, sgd-8bit or lamb-8bit";

/// Returns true if an optimizer reads an option; an 8-bit optimizer reads the options of its 32-bit
/// form.
static bool isReadBy(const OptimizerNumber &option, StringRef kind) {
  StringRef baseKind = kind;
  baseKind.consume_back("-8bit");
  return option.readBy.empty() || llvm::is_contained(option.readBy, kind) ||
         llvm::is_contained(option.readBy, baseKind);
}

/// The given value of an option, or the optimizer's default.
static std::string valueOf(const OptimizerNumber &option, StringRef kind, ModuleOp module,
                           const CompileOptions &options) {
  std::string given = options.get(module, option.name);
  if (!given.empty())
    return given;
  if (option.name == "epsilon")
    return kind == "adafactor" ? "1e-30" : kind.starts_with("lamb") ? "1e-6" : "1e-8";
  return kind == "adafactor" ? "0" : "0.01"; // weight-decay
}

/// Parses a non-negative number that fits a float.
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

static LogicalResult checkNumber(ModuleOp module, const OptimizerNumber &option,
                                 const std::string &given) {
  if (option.range == OptimizerNumber::Count) {
    int64_t count;
    if (!StringRef(given).getAsInteger(10, count) && count >= 0)
      return success();
    return error(module) << "--" << option.name << "=" << given
                         << ": expected an integer of at least 0";
  }
  std::optional<double> number = parseNumber(given);
  // The step computes in f32.
  const bool isFraction = option.range == OptimizerNumber::Fraction;
  auto single = static_cast<float>(number.value_or(0));
  bool isLost =
      !std::isfinite(single) || (single == 0 && *number != 0) || (isFraction && single >= 1);
  if (!number || isLost)
    return error(module) << "--" << option.name << "=" << given << ": expected "
                         << (isFraction ? "a number of at least 0 and below 1" : kNumber)
                         << (number && isLost ? " that 32 bits hold" : "");
  return success();
}

/// Options become part of a pipeline's text, so they are validated.
static LogicalResult checkOptimizerOptions(ModuleOp module, const CompileOptions &options) {
  std::string kind = options.get(module, "optimizer");
  if (!llvm::is_contained({"adamw", "adam", "sgd", "lamb", "adafactor"}, StringRef(kind)) &&
      !llvm::is_contained(kEightBits, StringRef(kind)))
    return error(module) << "--optimizer=" << kind << ": expected " << kOptimizers;
  const std::string zeros = options.get(module, "log-num-zeros-in-grad");
  if (zeros != "true" && zeros != "false")
    return error(module) << "--log-num-zeros-in-grad=" << zeros << ": expected true or false";
  for (const OptimizerNumber &option : kOptimizerNumbers)
    if (failed(checkNumber(module, option, valueOf(option, kind, module, options))))
      return failure();
  for (const OptimizerNumber &option : kOptimizerNumbers)
    if (options.isGiven(option.name) && !isReadBy(option, kind))
      return error(module) << "--" << option.name << " has no effect with --optimizer=" << kind;
  return success();
}

//===----------------------------------------------------------------------===//
// Weight decay by parameter
//===----------------------------------------------------------------------===//

namespace {
/// PATTERN=DECAY, or vectors=DECAY.
struct DecayGroup {
  StringRef pattern;
  double decay;
  std::optional<llvm::GlobPattern> glob; ///< none: all parameters of at most one dimension
  bool isUsed = false;
};
} // namespace

SmallVector<StringRef> mlir::st::splitList(StringRef text) {
  SmallVector<StringRef> parts;
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.slice(begin, i));
      begin = i + 1;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && depth > 0) {
      --depth;
    }
  }
  return parts;
}

static FailureOr<SmallVector<DecayGroup, 0>> parseGroups(ModuleOp module, StringRef text) {
  SmallVector<DecayGroup, 0> groups;
  for (StringRef part : splitList(text)) {
    auto [pattern, number] = part.rsplit('=');
    std::optional<double> decay = parseNumber(number);
    if (pattern.empty() || !decay)
      return error(module) << "--weight-decay-groups: expected PATTERN=DECAY with " << kNumber
                           << ", found " << part;
    DecayGroup group{pattern, *decay, std::nullopt};
    if (pattern != "vectors") {
      llvm::Expected<llvm::GlobPattern> glob = createNamePattern(pattern);
      if (!glob)
        return error(module) << "--weight-decay-groups: pattern " << pattern << ": "
                             << llvm::toString(glob.takeError());
      group.glob = std::move(*glob);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

/// The first matching group sets a parameter's decay; without a match the model's decay applies.
static LogicalResult setWeightDecayGroups(ModuleOp module, const CompileOptions &options) {
  std::string text = options.get(module, "weight-decay-groups");
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (text.empty() || !function)
    return success();
  FailureOr<SmallVector<DecayGroup, 0>> groups = parseGroups(module, text);
  if (failed(groups))
    return failure();
  Builder builder(module.getContext());
  for (BlockArgument argument : function.getArguments()) {
    const unsigned i = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
    if (getRole(argument) != "parameter" || !name)
      continue;
    const bool isVector = cast<RankedTensorType>(argument.getType()).getRank() <= 1;
    auto group = llvm::find_if(*groups, [&](const DecayGroup &group) {
      return group.glob ? group.glob->match(name.getValue()) : isVector;
    });
    if (group == groups->end())
      continue;
    group->isUsed = true;
    function.setArgAttr(i, kWeightDecayAttr, builder.getF64FloatAttr(group->decay));
  }
  for (const DecayGroup &group : *groups)
    if (!group.isUsed)
      return error(module) << "--weight-decay-groups: no parameter matches the pattern "
                           << group.pattern;
  return success();
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

LogicalResult mlir::st::refuseOptimizerOptions(ModuleOp module, const CompileOptions &options) {
  for (const OptimizerNumber &option : kOptimizerNumbers)
    if (options.isGiven(option.name))
      return error(module) << "--" << option.name
                           << " has no effect: the program contains its own optimizer";
  for (StringRef name : {"optimizer", "weight-decay-groups", "log-num-zeros-in-grad"})
    if (options.isGiven(name))
      return error(module) << "--" << name
                           << " has no effect: the program contains its own optimizer";
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
  if (failed(checkOptimizerOptions(module, options)) ||
      failed(setWeightDecayGroups(module, options)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  // CSE runs before the update is added: afterwards it would share across stages the scalars that
  // each parameter broadcasts to its own shape.
  std::string kind = options.get(module, "optimizer");
  StringRef baseKind = kind;
  const bool isCoded = baseKind.consume_back("-8bit");
  os << "canonicalize,cse,add-optimizer{kind=" << baseKind << " state-bits=" << (isCoded ? 8 : 32);
  if (options.get(module, "log-num-zeros-in-grad") == "true")
    os << " count-zeros=true";
  for (const OptimizerNumber &option : kOptimizerNumbers)
    os << ' ' << option.name << '=' << valueOf(option, kind, module, options);
  os << "},canonicalize";
  return text;
}
