#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/Input/ReadInput.h"
#include "lib/Driver/Target.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Runtime/Json.h"
#include "lib/Runtime/Tokenizers/TokenizerFiles.h"
#include "lib/Support/InputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace mlir;
using namespace mlir::st;

static InFlightDiagnostic error(MLIRContext *context) {
  return emitError(getCommandLineLoc(context));
}

static StringRef str(absl::string_view text) { return {text.data(), text.size()}; }

// The vocabulary of the request, or the tokenizer files of a model folder.
static LogicalResult readTokenizerFiles(const CompileRequest &request, MLIRContext *context,
                                        ::st::TokenizerFiles &files, std::string &prefix) {
  const auto read = [&](const char *name, const std::string &path) -> LogicalResult {
    auto text = ::st::readInputFile(path, ::st::kLargestTokenizerFile);
    if (!text.ok())
      return error(context) << path << ": cannot read: " << str(text.status().message());
    files[name] = *std::move(text);
    return success();
  };
  if (!request.vocabularyFile.empty()) {
    prefix = request.vocabularyFile + " as ";
    return read(::st::kVocabTxt, request.vocabularyFile);
  }
  SmallString<128> folder(request.input);
  if (!llvm::sys::fs::is_directory(folder))
    llvm::sys::path::remove_filename(folder);
  if (!folder.empty() && !llvm::sys::path::is_separator(folder.back()))
    folder += '/';
  prefix = folder.str().str();
  for (const char *name : ::st::kTokenizerFileNames)
    if (const std::string path = prefix + name; llvm::sys::fs::exists(path))
      if (failed(read(name, path)))
        return failure();
  return success();
}

static LogicalResult attachTokenizer(const CompileRequest &request, const ModelConfig &config,
                                     ModuleOp module) {
  MLIRContext *context = module.getContext();
  ::st::TokenizerFiles files;
  std::string prefix;
  if (failed(readTokenizerFiles(request, context, files, prefix)))
    return failure();
  if (files.empty())
    return success();
  // Otherwise only the binary would report an invalid tokenizer.
  const absl::Status status =
      ::st::createFileTokenizer(files, config.json, config.vocabSize, prefix).status();
  if (!status.ok())
    return error(context) << str(status.message());
  Builder builder(context);
  SmallVector<NamedAttribute> attached;
  for (const auto &[name, text] : files)
    if (name == ::st::kVocabTxt)
      module->setAttr("st.vocab_txt", builder.getStringAttr(text));
    else
      attached.push_back(builder.getNamedAttr(name, builder.getStringAttr(text)));
  if (!attached.empty())
    module->setAttr("st.tokenizer_files", builder.getDictionaryAttr(attached));
  return success();
}

// The model of the request, with the options that change it. Checkpoints keep its configuration.
static FailureOr<ModelConfig> readModel(const CompileRequest &request, MLIRContext *context) {
  FailureOr<ModelConfig> config = request.model ? FailureOr<ModelConfig>(*request.model)
                                                : loadModelConfig(request.input, context);
  const StringRef flag = "expert-capacity-factor";
  if (failed(config) || !request.options.isGiven(flag))
    return config;
  OwningOpRef<ModuleOp> none = ModuleOp::create(UnknownLoc::get(context));
  const std::string factor = request.options.get(*none, flag);
  double value = 0.0;
  if (StringRef(factor).getAsDouble(value) || !std::isfinite(value) || value <= 0)
    return error(context) << "--" << flag << "=" << factor << ": expected a number above 0";
  if (config->experts.count == 0)
    return error(context) << "--" << flag << " has no effect: a " << stringify(config->type)
                          << " has no experts";
  FailureOr<ModelConfig> changed = parseModelConfig(
      ::st::setJsonField(config->json, "expert_capacity_factor", ::st::printJsonNumber(value)),
      config->path, context);
  if (failed(changed))
    return failure();
  // A planner's request may change numbers of the text, such as the number of layers.
  config->experts.capacityFactor = changed->experts.capacityFactor;
  config->json = changed->json;
  return config;
}

// The inputs of the request other than tokens. The binary's flags of the same names fill them.
static LogicalResult readInputs(const CompileRequest &request, Task task, MLIRContext *context,
                                CausalInputs &inputs, SmallVector<StringRef> &flags) {
  OwningOpRef<ModuleOp> none = ModuleOp::create(UnknownLoc::get(context));
  for (auto [flag, input] : {std::pair<StringRef, bool *>{"prefix-lm", &inputs.prefix},
                             {"reset-position-ids", &inputs.positions},
                             {"reset-attention-mask", &inputs.segments}}) {
    const std::string value = request.options.get(*none, flag);
    if (value != "true" && value != "false")
      return error(context) << "--" << flag << "=" << value << ": expected true or false";
    *input = value == "true";
    if (!*input)
      continue;
    if (task != Task::CausalLm)
      return error(context) << "--" << flag << " has no effect with the task " << stringify(task)
                            << ": expected clm";
    flags.push_back(flag);
  }
  return success();
}

LogicalResult mlir::st::importModel(const CompileRequest &request, MLIRContext *context,
                                    OwningOpRef<ModuleOp> &module) {
  const CompileOptions &options = request.options;
  FailureOr<ModelConfig> config = readModel(request, context);
  if (failed(config))
    return failure();
  // No options are recorded yet, so an empty module serves for the lookup.
  OwningOpRef<ModuleOp> none = ModuleOp::create(UnknownLoc::get(context));
  std::string taskName = options.get(*none, "task");
  std::optional<Task> task = symbolizeTask(taskName);
  if (!task)
    return error(context) << "--task=" << taskName
                          << ": expected mlm, span, clm, seq2seq, classify, "
                          << "classify-tokens or encode";
  int64_t batch = 0, sequence = 0, labels = 0;
  for (auto [name, value] : {std::pair<StringRef, int64_t *>{"batch", &batch},
                             {"seq", &sequence},
                             {"label-seq", &labels}}) {
    std::string text = options.get(*none, name);
    if (text.empty())
      continue; // not given, and without a default
    if (StringRef(text).getAsInteger(10, *value) || *value < 1 || *value > INT32_MAX)
      return error(context) << "--" << name << "=" << text << ": expected an integer from 1 to "
                            << INT32_MAX;
  }
  SmallVector<StringRef> inputFlags;
  if (failed(readInputs(request, *task, context, config->inputs, inputFlags)))
    return failure();
  if (options.isGiven("roles"))
    return error(context) << "--roles=" << options.get(*none, "roles")
                          << ": expected a program, whose arguments have roles; " << request.input
                          << " is a model's configuration";
  if (options.isGiven("unroll"))
    return error(context)
           << "--unroll has no effect: the input is a model's configuration, which has no loops";
  // Attention on a GPU does not store scores.
  const absl::StatusOr<Target> target = Target::find(options.get(*none, "target"));
  if (!config->scalesScores)
    config->scalesScores = target.ok() && target->isGpu();
  module = buildModel(context, *config, *task, batch,
                      options.isGiven("seq") ? std::optional(sequence) : std::nullopt,
                      request.isEvaluation() ? Purpose::Evaluate : Purpose::Train,
                      labels > 0 ? std::optional(labels) : std::nullopt);
  if (!module)
    return failure();
  Builder builder(context);
  (*module)->setAttr("st.model_type", builder.getStringAttr(stringify(config->type)));
  const bool isVit = config->type == ModelType::Vit;
  (*module)->setAttr("st.vocabulary",
                     builder.getI64IntegerAttr(isVit ? config->labelCount : config->vocabSize));
  SmallVector<Attribute> flags;
  for (const auto &[name, value] : request.runFlags)
    flags.push_back(builder.getStrArrayAttr({name, value}));
  for (StringRef flag : inputFlags)
    flags.push_back(builder.getStrArrayAttr({flag, "true"}));
  if (!flags.empty())
    (*module)->setAttr("st.run_flags", builder.getArrayAttr(flags));
  const bool isBare = request.model && request.vocabularyFile.empty();
  return isVit || isBare ? success() : attachTokenizer(request, *config, *module);
}
