#include "lib/Driver/Options/MegatronRun.h"

#include "lib/Driver/Planning/PlanInput.h"
#include "lib/Driver/ProgramFile.h"
#include "lib/Support/StatusMacros.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::st;

static absl::Status writeOutcomes(const std::string &path, const CompiledRun &run) {
  if (path.empty())
    return absl::OkStatus();
  return writeOutput(path, StringRef(path).ends_with(".json") ? printOutcomesJson(run.outcomes)
                                                              : printOutcomes(run.outcomes));
}

absl::Status mlir::st::readMegatronRun(const MegatronRequest &megatron,
                                       std::map<std::string, std::string> given,
                                       CompileRequest &request, MLIRContext *context) {
  absl::StatusOr<MegatronLog> log = loadMegatronLog(megatron.log);
  if (!log.ok())
    return log.status();
  absl::StatusOr<CompiledRun> run = compileMegatronRun(*log, megatron.vocabularyFile);
  if (!run.ok())
    return run.status();
  ST_RETURN_IF_ERROR(writeOutcomes(megatron.outcomes, *run));
  ST_RETURN_IF_ERROR(run->refusal(log->path));
  ST_RETURN_IF_ERROR(captureError(context, [&] {
    FailureOr<ModelConfig> model = parseModelConfig(run->config, log->path, context);
    if (succeeded(model))
      request.model = std::move(*model);
    return success(succeeded(model));
  }));
  if (request.parallel.empty()) {
    request.parallel = log->path;
    request.parallelText = run->parallel;
  }
  given.insert(run->options.begin(), run->options.end());
  request.options = CompileOptions(std::move(given));
  for (const DefaultFlag &flag : run->flags)
    request.runFlags.emplace_back(flag.name, flag.value);
  // Only a binary has an evaluation.
  request.evaluates |= run->evaluates && !request.stopAfter;
  if (!request.stopAfter)
    request.rampup = run->rampup;
  request.vocabularyFile = run->vocabularyFile;
  if (request.quiet)
    return absl::OkStatus();
  llvm::errs() << log->path << ": " << summariseOutcomes(run->outcomes) << '\n';
  if (StringRef file = log->text("vocab_file"); !file.empty() && run->vocabularyFile.empty() &&
                                                request.model->type == ModelType::MegatronBert)
    llvm::errs() << file << ": is not on this machine; --vocab-file=FILE gives the binary a "
                 << "vocabulary, which pairs of sentences need\n";
  return absl::OkStatus();
}
