#include "lib/Driver/Planning/TrainedLayers.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "lib/Driver/Compiler.h"
#include "lib/Driver/Options/TrainedParameters.h"
#include "st/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::st;

/// A parameter's name with `*` for the number of its layer, the first number in it.
static std::string withoutLayer(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (llvm::all_of(part, llvm::isDigit)) {
      part = "*";
      break;
    }
  return llvm::join(parts, ".");
}

absl::Status mlir::st::checkTrainedLayers(PlanInput &input) {
  const bool chooses = llvm::any_of(input.options, [](const auto &option) {
    return option.first == "lora" || option.first == "freeze" || option.first == "train-only";
  });
  if (!chooses)
    return absl::OkStatus();
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  CompileRequest request;
  request.input = input.config.path;
  request.model = input.config;
  request.quiet = true;
  request.stopAfter = CompilePhase::Import;
  std::map<std::string, std::string> options = input.options;
  options.insert({{"task", stringify(input.task).str()},
                  {"batch", "1"},
                  {"seq", std::to_string(input.model.sequence)}});
  request.options = CompileOptions(options);
  return captureError(&context, [&] {
    OwningOpRef<ModuleOp> module = compileToModule(request, &context);
    if (!module || failed(chooseTrainedParameters(*module, request.options)))
      return failure();
    auto function = module->lookupSymbol<func::FuncOp>("main");
    std::map<std::string, bool> isFrozen;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr)) {
        const bool own = function.getArgAttr(i, kFrozenAttr) != nullptr;
        auto [found, isNew] = isFrozen.try_emplace(withoutLayer(name.getValue()), own);
        input.model.layersUnlike |= found->second != own;
      }
    return success();
  });
}
