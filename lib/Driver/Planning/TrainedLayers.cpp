#include "lib/Driver/Planning/TrainedLayers.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "lib/Driver/Compiler.h"
#include "lib/Driver/Options/OptimizerOptions.h"
#include "lib/Driver/Options/TrainedParameters.h"
#include "lib/Driver/Planning/TaskGroups.h"
#include "st/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::st;

namespace {

/// The parameters of an imported model, by layer.
class LayerParameters {
public:
  LayerParameters(ModuleOp module, const ::st::PlannedModel &model);

  /// The parts that each layer trains. With `withBackward` also whether an earlier parameter is
  /// trained, so that the layer's input has a gradient.
  std::vector<std::string> kinds(bool withBackward) const;
  /// The first layer with a parameter that a pattern of the list matches, if a layer has one.
  std::optional<int64_t> findFirst(StringRef pattern) const;

private:
  struct Parameter {
    std::string name;
    bool isFrozen = false;
    std::optional<int64_t> layer;
    std::string nameInLayer;
  };
  std::vector<Parameter> parameters; ///< in the order of their uses
  const int64_t layers;
};

} // namespace

LayerParameters::LayerParameters(ModuleOp module, const ::st::PlannedModel &model)
    : layers(model.layers) {
  const int64_t bridge = model.decoderLayers > 0 ? model.encoderLayers() + 1 : INT64_MAX;
  std::map<std::string, int64_t> layerOf; // by scope
  module.walk([&](Operation *op) {
    auto block = op->getAttrOfType<IntegerAttr>(kBlockAttr);
    const std::string path = TaskGroups::scopeOf(op).path;
    StringRef scope = StringRef(path).split('/').first;
    if (block && !scope.empty() && llvm::isDigit(scope.back()))
      layerOf.try_emplace(scope.str() + ".", block.getInt() - (block.getInt() > bridge ? 2 : 1));
  });
  auto function = module.lookupSymbol<func::FuncOp>("main");
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
    if (!name)
      continue;
    Parameter &added = parameters.emplace_back();
    added.name = name.str();
    added.isFrozen = function.getArgAttr(i, kFrozenAttr) != nullptr;
    // The names of adapters have a prefix.
    for (const auto &[scope, layer] : layerOf)
      if (size_t place = added.name.find(scope); place != std::string::npos) {
        added.layer = layer;
        added.nameInLayer = added.name.substr(place + scope.size());
      }
  }
}

std::vector<std::string> LayerParameters::kinds(bool withBackward) const {
  std::vector<std::string> kinds(layers);
  bool trains = false; // a parameter so far
  for (const Parameter &each : parameters) {
    if (each.layer) {
      std::string &kind = kinds[*each.layer];
      if (kind.empty() && withBackward)
        kind = trains ? "backward " : "first ";
      kind += each.nameInLayer + (each.isFrozen ? " frozen " : " trained ");
    }
    trains |= !each.isFrozen;
  }
  return kinds;
}

std::optional<int64_t> LayerParameters::findFirst(StringRef pattern) const {
  llvm::Expected<llvm::GlobPattern> glob = createNamePattern(pattern);
  std::optional<int64_t> first;
  if (!glob)
    llvm::consumeError(glob.takeError());
  else
    for (const Parameter &each : parameters) {
      if (!glob->match(each.name))
        continue;
      if (!each.layer)
        return std::nullopt;
      first = std::min(first.value_or(*each.layer), *each.layer);
    }
  return first;
}

/// Lets a program of the first layers represent the model. Each pattern of the options must match
/// a parameter of it.
static void setLayerKinds(const LayerParameters &parameters,
                          const std::map<std::string, std::string> &options,
                          ::st::PlannedModel &model) {
  model.setLayerKinds(parameters.kinds(/*withBackward=*/false));
  if (!model.hasUnequalLayers())
    return;
  std::vector<int64_t> needed;
  for (const char *name : {"freeze", "train-only"})
    if (auto found = options.find(name); found != options.end())
      for (StringRef pattern : splitList(found->second))
        if (std::optional<int64_t> layer = parameters.findFirst(pattern.trim()))
          needed.push_back(*layer);
  model.setLayerKinds(parameters.kinds(/*withBackward=*/true), needed);
}

absl::Status mlir::st::checkTrainedLayers(PlanInput &input) {
  const bool chooses = llvm::any_of(input.options, [](const auto &option) {
    return option.first == "lora" || option.first == "lora-dropout" || option.first == "freeze" ||
           option.first == "train-only";
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
    setLayerKinds(LayerParameters(*module, input.model), input.options, input.model);
    return success();
  });
}
