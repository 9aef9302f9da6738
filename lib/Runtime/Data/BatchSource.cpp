#include "lib/Runtime/Data/BatchSource.h"
#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/Sources/ClassSource.h"
#include "lib/Runtime/Data/Sources/ImageSource.h"
#include "lib/Runtime/Data/Sources/Seq2SeqSource.h"
#include "lib/Runtime/Data/Sources/SquadSource.h"
#include "lib/Runtime/Data/Sources/TensorFileSource.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>

namespace st {

HostTensor::HostTensor(std::string name, ElementType type, std::vector<int64_t> shape)
    : name(std::move(name)), type(type), shape(std::move(shape)) {
  size_t size = byteWidth(type);
  for (int64_t dim : this->shape)
    size *= static_cast<size_t>(dim);
  bytes.resize(size);
}

const BatchSpec::Input *BatchSpec::findInput(absl::string_view name) const {
  auto it = std::find_if(inputs.begin(), inputs.end(),
                         [&](const Input &input) { return input.name == name; });
  return it == inputs.end() ? nullptr : &*it;
}

absl::StatusOr<std::unique_ptr<BatchSource>> createBatchSource(const std::string &data,
                                                               const BatchSpec &spec) {
  const bool isSynthetic = data == "synthetic";
  absl::string_view path = data;
  const bool isText = absl::ConsumePrefix(&path, "text:");
  const bool isSquad = !isText && absl::ConsumePrefix(&path, "squad:");
  const bool isIndexed = !isText && !isSquad && absl::ConsumePrefix(&path, "megatron:");
  const bool isJsonLines =
      !isText && !isSquad && !isIndexed && absl::ConsumePrefix(&path, "jsonl:");
  const bool isCorpus = isText || isIndexed || isJsonLines || isSynthetic;
  if (absl::string_view flag = optionWithoutEffect(
          spec.options, isCorpus && (spec.task != "classify" || classifiesText(spec)), spec.task);
      !flag.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " has no effect with --data=", data,
                     spec.task.empty() ? "" : absl::StrCat(" and the task ", spec.task)));
  if (!isCorpus && !isSquad) {
    if (!absl::EndsWith(data, ".safetensors"))
      return absl::InvalidArgumentError(
          absl::StrCat("--data=", data,
                       ": expected synthetic, text:FILE, jsonl:FILE, squad:FILE, megatron:PREFIX "
                       "or a .safetensors file"));
    return createTensorFileSource(data, spec);
  }
  if (path.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("--data=", data, ": expected the name of a file"));
  if (classifiesText(spec)) {
    if (isSynthetic)
      return createSyntheticClasses(spec);
    if (isJsonLines)
      return createJsonLinesClasses(std::string(path), spec);
    return absl::InvalidArgumentError(
        absl::StrCat("--data=", data, ": the task ", spec.task,
                     " needs texts with labels; expected synthetic, jsonl:FILE or a .safetensors "
                     "file"));
  }
  if (isSynthetic && spec.task == "classify")
    return createImageSource(spec);
  if (spec.task == "seq2seq") {
    if (isSynthetic)
      return createSyntheticPairs(spec);
    if (isJsonLines)
      return createJsonLinesPairs(std::string(path), spec);
    return absl::InvalidArgumentError(
        absl::StrCat("--data=", data,
                     ": the task seq2seq needs sources and targets; expected synthetic, jsonl:FILE "
                     "or a .safetensors file"));
  }
  if (spec.task != "mlm" && spec.task != "span" && spec.task != "clm")
    return absl::InvalidArgumentError(
        absl::StrCat("--data=", data,
                     ": no such batches exist for this program's task; expected a file of "
                     "batches (.safetensors)"));
  if (isSquad)
    return createSquadSource(std::string(path), spec);
  ST_ASSIGN_OR_RETURN(Corpus corpus, isText        ? readTextCorpus(std::string(path), spec)
                                     : isJsonLines ? readJsonLinesCorpus(std::string(path), spec)
                                     : isIndexed   ? openIndexedCorpus(std::string(path), spec)
                                                   : createSyntheticCorpus(spec));
  return createCorpusSource(std::move(corpus), spec);
}

} // namespace st
