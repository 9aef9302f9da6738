#include "lib/Driver/Options/CompileOptions.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::st;

static constexpr StringLiteral kOptionsAttr = "st.options";

static constexpr OptionInfo kOptions[] = {
    {"task", "mlm", CompilePhase::Import, "mlm|span|clm|seq2seq|classify|classify-tokens|encode",
     "training task of the model"},
    {"batch", "1", CompilePhase::Import, "n", "sequences in a step, all micro-batches together"},
    {"seq", "128", CompilePhase::Import, "n", "tokens in a sequence; of seq2seq, in a source"},
    {"label-seq", "", CompilePhase::Import, "n",
     "seq2seq: tokens in a target; default: the number in a source"},
    {"expert-capacity-factor", "", CompilePhase::Import, "x",
     "model with experts: an expert takes at most x times its even share of a sequence's tokens; "
     "default: that of the configuration, else no limit"},
    {"prefix-lm", "false", CompilePhase::Import, "true|false",
     "clm: the first positions of each sample, its prefix, attend to each other both ways and have "
     "no loss; the flag becomes a default of the binary"},
    {"reset-position-ids", "false", CompilePhase::Import, "true|false",
     "clm: positions restart after the end of a document; a default of the binary"},
    {"reset-attention-mask", "false", CompilePhase::Import, "true|false",
     "clm: attention does not cross the end of a document; a default of the binary"},
    {"roles", "", CompilePhase::Import, "argN=role,...",
     "imported program: roles (and :names) of arguments and results that are not inferred"},
    {"unroll", "256", CompilePhase::Import, "n",
     "imported program: largest trip count of a loop to unroll; 0 keeps all loops"},
    {"lora", "", CompilePhase::Precision, "rank:module,...",
     "train adapters of this rank for the matrices of these modules (all-linear: of all "
     "layers), "
     "and freeze all other parameters"},
    {"lora-alpha", "", CompilePhase::Precision, "x",
     "an adapter's product is scaled by x / rank; default: the rank"},
    {"lora-dropout", "0", CompilePhase::Precision, "p",
     "share of an adapter's inputs that is dropped in training, at least 0 and below 1"},
    {"freeze", "", CompilePhase::Precision, "pattern,...",
     "parameters whose names match a pattern are not trained"},
    {"train-only", "", CompilePhase::Precision, "pattern,...",
     "only parameters whose names match a pattern are trained; with --lora, in addition to the "
     "adapters"},
    {"loss-scale", "", CompilePhase::Precision, "x",
     "16-bit precision: a fixed loss scale; default: that of the parallel file"},
    {"initial-loss-scale", "4294967296", CompilePhase::Precision, "x",
     "initial value of a dynamic loss scale"},
    {"min-loss-scale", "1", CompilePhase::Precision, "x", "lower bound of a dynamic loss scale"},
    {"loss-scale-window", "1000", CompilePhase::Precision, "n",
     "consecutive steps without an overflow after which a dynamic loss scale doubles"},
    {"hysteresis", "2", CompilePhase::Precision, "n",
     "a dynamic loss scale halves at the n-th overflow since it last grew, and at each later one"},
    {"optimizer", "adamw", CompilePhase::Optimizer,
     "adamw|adam|sgd|lamb|adafactor|adamw-8bit|adam-8bit|sgd-8bit|lamb-8bit", "the optimizer"},
    {"beta1", "0.9", CompilePhase::Optimizer, "x", "Adam, LAMB: decay of the first moment"},
    {"beta2", "0.999", CompilePhase::Optimizer, "x", "Adam, LAMB: decay of the second moment"},
    {"epsilon", "", CompilePhase::Optimizer, "x",
     "Adam, LAMB: added to the root of the second moment (1e-8; LAMB 1e-6); Adafactor: to squares "
     "of gradients (1e-30)"},
    {"weight-decay", "", CompilePhase::Optimizer, "x", "weight decay (0.01; Adafactor 0)"},
    {"weight-decay-groups", "", CompilePhase::Optimizer, "pattern=x,...",
     "weight decay of the parameters whose names match a pattern; vectors=0 selects all vectors"},
    {"momentum", "0.9", CompilePhase::Optimizer, "x", "SGD: momentum"},
    {"decay-rate", "0.8", CompilePhase::Optimizer, "x",
     "Adafactor: the second moment of step t decays by 1 - t^-x"},
    {"clipping-threshold", "1", CompilePhase::Optimizer, "x",
     "Adafactor: largest root mean square of an update; 0: no clipping"},
    {"min-factored-size", "128", CompilePhase::Optimizer, "n",
     "Adafactor: matrices with fewer rows or columns keep all second moments"},
    {"min-8bit-size", "4096", CompilePhase::Optimizer, "n",
     "8 bits: parameters of fewer elements keep moments of 32 bits"},
    {"clip-norm", "0", CompilePhase::Optimizer, "x",
     "largest global norm of the gradients; 0: no clipping"},
    {"log-num-zeros-in-grad", "false", CompilePhase::Optimizer, "true|false",
     "count the elements of the gradients that are zero, as the metric num_zeros"},
    {"lr", "1e-4", CompilePhase::Optimizer, "x", "default learning rate of the binary"},
    {"target", "dtu-t10", CompilePhase::Configured, "name|file",
     "device: a name, or a description file (.textproto)"},
    {"reduce", "fast", CompilePhase::Configured, "fast|exact",
     "exact: sums do not depend on their order, so every layout gives the same bits; slower"},
    {"schedule", "", CompilePhase::Configured, "name",
     "order of micro-batches: sequential, gpipe, 1f1b, interleaved, zb-h1, zb-h2 or zb-v; default: "
     "that of the mode"},
};

ArrayRef<OptionInfo> mlir::st::getOptionInfos() { return kOptions; }

std::string CompileOptions::resolve(const OptionInfo &info) const {
  auto it = given.find(info.name.str());
  return it == given.end() ? info.defaultValue.str() : it->second;
}

static StringAttr getRecorded(ModuleOp module, StringRef name) {
  auto recorded = module->getAttrOfType<DictionaryAttr>(kOptionsAttr);
  return recorded ? recorded.getAs<StringAttr>(name) : StringAttr();
}

/// Returns true if two spellings of a value are equal, such as 1e-4 and 0.0001.
static bool isSame(StringRef a, StringRef b) {
  double x, y;
  return a == b || (!a.getAsDouble(x) && !b.getAsDouble(y) && x == y);
}

LogicalResult CompileOptions::check(ModuleOp module) const {
  for (auto &[name, value] : given)
    if (StringAttr recorded = getRecorded(module, name);
        recorded && !isSame(recorded.getValue(), value))
      return emitError(UnknownLoc::get(module.getContext()))
             << "--" << name << "=" << value
             << " contradicts the module, which was compiled with --" << name << "="
             << recorded.getValue();
  return success();
}

std::string CompileOptions::get(ModuleOp module, StringRef name) const {
  if (StringAttr recorded = getRecorded(module, name))
    return recorded.getValue().str();
  for (const OptionInfo &info : kOptions)
    if (info.name == name)
      return resolve(info);
  llvm_unreachable("an option that is not in the table");
}

void CompileOptions::record(ModuleOp module, CompilePhase phase) const {
  NamedAttrList list(module->getAttrOfType<DictionaryAttr>(kOptionsAttr));
  Builder builder(module.getContext());
  for (const OptionInfo &info : kOptions)
    if (info.readBy == phase && !list.get(info.name))
      list.set(info.name, builder.getStringAttr(resolve(info)));
  module->setAttr(kOptionsAttr, list.getDictionary(module.getContext()));
}
