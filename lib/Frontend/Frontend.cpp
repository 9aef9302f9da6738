//===- Frontend.cpp - From a configuration to a forward loss --------------===//

#include "lib/Frontend/Frontend.h"

#include "dialects/StableHLO/ChloOps.h"
#include "lib/Frontend/ModelBuilder.h"

using namespace mlir;
using namespace mlir::st;

/// Reports sizes that the model does not allow.
static LogicalResult checkSizes(MLIRContext *context, const ModelConfig &config, Task task,
                                int64_t batch, int64_t sequence) {
  auto error = [&] { return emitError(FileLineColLoc::get(context, config.path, 1, 1)); };
  bool isBert = config.type == ModelType::Bert;
  if ((task == Task::CausalLm) == isBert)
    return error() << "task '" << stringify(task) << "': expected "
                   << (isBert ? "mlm or span" : "clm") << " for model_type \""
                   << stringify(config.type) << "\"";
  if (batch < 1)
    return error() << "batch: expected at least 1, found " << batch;
  if (sequence < 1 || sequence > config.positionCount)
    return error() << "sequence length: expected 1 to "
                   << (isBert ? "max_position_embeddings" : "n_positions") << " = "
                   << config.positionCount << ", found " << sequence;
  // Dropout counts the elements of a tensor in 32 bits.
  double scores = 1.0 * batch * config.headCount * sequence * sequence;
  double hidden = 1.0 * batch * sequence * config.hiddenSize;
  if (std::max(scores, hidden) > static_cast<double>(UINT32_MAX))
    return error() << "batch of " << batch << " sequences of " << sequence
                   << " tokens: expected tensors of at most " << UINT32_MAX
                   << " elements between layers";
  return success();
}

OwningOpRef<ModuleOp> st::buildModel(MLIRContext *context, const ModelConfig &config, Task task,
                                     int64_t batch, int64_t sequence) {
  if (failed(checkSizes(context, config, task, batch, sequence)))
    return nullptr;
  context->loadDialect<func::FuncDialect, stablehlo::StableHLODialect, chlo::ChloDialect>();
  Builder attrs(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context), stringify(config.type));
  module.get()->setAttr("st.task", attrs.getStringAttr(stringify(task)));
  module.get()->setAttr("st.batch", attrs.getI64IntegerAttr(batch));
  module.get()->setAttr("st.sequence", attrs.getI64IntegerAttr(sequence));
  module.get()->setAttr("st.model_config", attrs.getStringAttr(config.json));

  ModelBuilder model(*module, config, batch, sequence);
  Value loss = config.type == ModelType::Bert ? buildBert(model, task) : buildGpt2(model);
  model.finish(loss);
  return module;
}
