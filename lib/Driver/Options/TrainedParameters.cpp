#include "lib/Driver/Options/TrainedParameters.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ImportProgram.h"
#include "lib/Driver/Options/OptimizerOptions.h"
#include "lib/Support/Safetensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Autodiff/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

static InFlightDiagnostic error(ModuleOp module) {
  return emitError(getCommandLineLoc(module.getContext()));
}

/// The parts of a list that are not empty.
static std::vector<std::string> splitNames(StringRef text) {
  std::vector<std::string> names;
  for (StringRef part : splitList(text))
    if (!part.trim().empty())
      names.push_back(part.trim().str());
  return names;
}

static LogicalResult checkPatterns(ModuleOp module, StringRef flag, ArrayRef<std::string> names) {
  for (StringRef name : names)
    if (llvm::Expected<llvm::GlobPattern> glob = createNamePattern(name); !glob)
      return error(module) << "--" << flag << ": pattern " << name << ": "
                           << llvm::toString(glob.takeError());
  return success();
}

/// Parses --lora and its other flags.
static FailureOr<AddAdaptersOptions> parseAdapters(ModuleOp module, const CompileOptions &options) {
  std::string given = options.get(module, "lora"), alpha = options.get(module, "lora-alpha"),
              dropout = options.get(module, "lora-dropout");
  AddAdaptersOptions adapters;
  auto [rank, targets] = StringRef(given).split(':');
  for (std::string &name : splitNames(targets))
    adapters.targets.push_back(std::move(name));
  constexpr int64_t kLargestRank = 1 << 20;
  if (rank.getAsInteger(10, adapters.rank) || adapters.rank < 1 || adapters.rank > kLargestRank ||
      adapters.targets.empty())
    return error(module) << "--lora=" << given
                         << ": expected RANK:MODULE,... such as 8:q_proj,v_proj or 8:all-linear";
  if (!alpha.empty() && (StringRef(alpha).getAsDouble(adapters.alpha) ||
                         !std::isfinite(adapters.alpha) || adapters.alpha <= 0))
    return error(module) << "--lora-alpha=" << alpha << ": expected a positive number";
  if (StringRef(dropout).getAsDouble(adapters.dropout) ||
      !(adapters.dropout >= 0 && adapters.dropout < 1))
    return error(module) << "--lora-dropout=" << dropout
                         << ": expected a probability, at least 0 and below 1";
  if (failed(checkPatterns(module, "lora", adapters.targets)))
    return failure();
  return adapters;
}

/// The JSON of peft.LoraConfig. `target_modules` lists the full name of each module with an
/// adapter.
static std::string describeAdapters(ModuleOp module, const AddAdaptersOptions &adapters) {
  llvm::json::Array modules;
  bool isStoredTransposed = false;
  auto function = module.lookupSymbol<func::FuncOp>("main");
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
    StringRef target = name ? name.getValue() : "";
    if (!target.consume_front(::st::kAdapterPrefix) || !target.consume_back(".lora_A.weight"))
      continue;
    modules.push_back(target);
    BlockArgument weight = function.getArgument(argument.getArgNumber() - 1);
    const int64_t in = cast<RankedTensorType>(argument.getType()).getDimSize(1);
    isStoredTransposed |= cast<RankedTensorType>(weight.getType()).getDimSize(1) != in;
  }
  auto task = module->getAttrOfType<StringAttr>("st.task");
  StringRef type = llvm::StringSwitch<StringRef>(task ? task.getValue() : "")
                       .Case("clm", "CAUSAL_LM")
                       .Case("seq2seq", "SEQ_2_SEQ_LM")
                       .Case("span", "QUESTION_ANS")
                       .Default("");
  llvm::json::Object config{
      {"peft_type", "LORA"},
      {"base_model_name_or_path", nullptr},
      {"r", adapters.rank},
      {"lora_alpha", adapters.alpha == 0 ? double(adapters.rank) : adapters.alpha},
      {"lora_dropout", adapters.dropout},
      {"bias", "none"},
      {"fan_in_fan_out", isStoredTransposed},
      {"inference_mode", true},
      {"task_type", type.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(type)},
      {"target_modules", std::move(modules)}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(config)));
  return text;
}

static LogicalResult runPass(ModuleOp module, std::unique_ptr<Pass> pass) {
  PassManager manager(module.getContext());
  manager.addPass(std::move(pass));
  return manager.run(module);
}

LogicalResult mlir::st::chooseTrainedParameters(ModuleOp module, const CompileOptions &options) {
  const bool hasAdapters = !options.get(module, "lora").empty();
  FreezeParametersOptions choice;
  for (std::string &name : splitNames(options.get(module, "freeze")))
    choice.freeze.push_back(std::move(name));
  for (std::string &name : splitNames(options.get(module, "train-only")))
    choice.train.push_back(std::move(name));
  if (failed(checkPatterns(module, "freeze", choice.freeze)) ||
      failed(checkPatterns(module, "train-only", choice.train)))
    return failure();
  if (hasAdapters) {
    FailureOr<AddAdaptersOptions> adapters = parseAdapters(module, options);
    if (failed(adapters))
      return failure();
    AddAdaptersOptions used = *adapters;
    if (!computesLoss(module))
      used.dropout = 0;
    if (failed(runPass(module, createAddAdapters(used))))
      return failure();
    module->setAttr("st.adapter_config",
                    StringAttr::get(module.getContext(), describeAdapters(module, *adapters)));
    choice.train.push_back(std::string(::st::kAdapterPrefix) + "*");
  } else {
    for (StringRef name : {"lora-alpha", "lora-dropout"})
      if (options.isGiven(name))
        return error(module) << "--" << name << " has no effect without --lora";
  }
  if (choice.freeze.empty() && choice.train.empty())
    return success();
  return runPass(module, createFreezeParameters(choice));
}

LogicalResult mlir::st::refuseTrainedParameters(ModuleOp module, const CompileOptions &options) {
  for (StringRef name : {"lora", "lora-alpha", "lora-dropout", "freeze", "train-only"})
    if (options.isGiven(name))
      return error(module) << "--" << name
                           << " has no effect: the program updates its parameters itself";
  return success();
}
