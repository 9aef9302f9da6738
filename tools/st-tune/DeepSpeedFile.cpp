#include "tools/st-tune/DeepSpeedFile.h"

#include "lib/Support/JsonDepth.h"

#include "absl/strings/str_cat.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir::st;

absl::StatusOr<std::string> mlir::st::writeDeepSpeedConfig(const std::string &text,
                                                           const std::string &path,
                                                           const ::st::Layout &layout) {
  if (::st::nestsTooDeeply(text))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected JSON that nests at most ", ::st::kMaxJsonDepth, " deep"));
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed)
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", llvm::toString(parsed.takeError())));
  llvm::json::Object *config = parsed->getAsObject();
  if (!config)
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected an object"));
  config->erase("autotuning");
  (*config)["train_batch_size"] = layout.globalBatch();
  (*config)["train_micro_batch_size_per_gpu"] = layout.microBatch;
  (*config)["gradient_accumulation_steps"] = layout.microBatches;
  llvm::json::Value &zero = (*config)["zero_optimization"];
  if (!zero.getAsObject())
    zero = llvm::json::Object();
  (*zero.getAsObject())["stage"] = layout.zero;
  if (!layout.offloadOptimizer)
    zero.getAsObject()->erase("offload_optimizer");
  else if (!zero.getAsObject()->get("offload_optimizer"))
    (*zero.getAsObject())["offload_optimizer"] = llvm::json::Object{{"device", "cpu"}};
  return llvm::formatv("{0:2}\n", *parsed).str();
}
