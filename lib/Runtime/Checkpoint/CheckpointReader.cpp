#include "lib/Runtime/Checkpoint/Checkpoint.h"
#include "lib/Runtime/Checkpoint/CheckpointFiles.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/State/ModelFolder.h"
#include "lib/Runtime/State/ShardIndex.h"
#include "lib/Runtime/Tokenizers/ProgramTokenizer.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <set>

namespace st {
namespace {

struct TensorToCheck {
  const SafetensorsReader *file;
  const SafetensorsTensor *tensor;
  const std::string *checksum;
};

// The path of a file of the valid checkpoint: see Checkpoint.h.
std::string pathOf(const std::string &folder, absl::string_view file) {
  const std::string path = absl::StrCat(folder, "/", file), next = absl::StrCat(path, kNext);
  return exists(absl::StrCat(folder, "/", kTrainerFile, kNext)) && exists(next) ? next : path;
}

absl::Status checkTensor(const SafetensorsReader &file, const StateTensor &tensor) {
  const std::string &name = tensor.state->name();
  auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": tensor \"", name, "\"", what));
  };
  const SafetensorsTensor *found = file.find(name);
  if (!found)
    return error(" is missing");
  if (found->type != tensor.type || found->shape != tensor.shape)
    return error(absl::StrCat(" is ", describeType(found->type, found->shape), ", the model's is ",
                              describeType(tensor.type, tensor.shape)));
  return absl::OkStatus();
}

absl::Status checkText(const std::string &path, absl::string_view text, absl::string_view what,
                       const std::string &checksum) {
  if (checksumOf(text) == checksum)
    return absl::OkStatus();
  return inFile(path,
                absl::StrCat("damaged: ", what, " does not match its checksum in ", kTrainerFile));
}

} // namespace

// Checks that the folder's text files describe the function that the program computes.
absl::Status CheckpointReader::checkModel(const std::string &folder,
                                          const proto::Executable &program) {
  ST_ASSIGN_OR_RETURN(std::string warnings,
                      compareOptimizer(pathOf(folder, kTrainerFile), file, program));
  const std::string configPath = pathOf(folder, kConfigFile);
  ST_ASSIGN_OR_RETURN(std::optional<ModelConfig> config, readModelConfig(configPath, program));
  if (!config && !program.model().config_json().empty())
    return absl::NotFoundError(absl::StrCat(configPath, ": missing, but the program has one"));
  if (config)
    absl::StrAppend(&warnings, compareDropout(configPath, *config, program));
  ST_RETURN_IF_ERROR(checkTokenizer(folder, program, /*needsAll=*/true));
  text = warnings;
  return absl::OkStatus();
}

// The files of one kind: a single file, or the files that an index names.
absl::Status CheckpointReader::openTensors(const std::string &folder, absl::string_view kind) {
  const std::string single = absl::StrCat(kind, ".safetensors"), index = indexName(kind);
  const bool isSharded = file.files.empty()
                             ? !exists(pathOf(folder, single)) && exists(pathOf(folder, index))
                             : file.files.count(index) != 0;
  std::map<std::string, std::string> fileOfTensor;
  std::set<std::string> names = {single};
  if (isSharded) {
    names.clear();
    // Checks the index first: an error must not name a file that only a damaged index names.
    if (const auto listed = file.files.find(index); listed != file.files.end())
      ST_RETURN_IF_ERROR(checkListedFile(folder, index, listed->second));
    ST_ASSIGN_OR_RETURN(fileOfTensor, readShardIndex(pathOf(folder, index)));
    for (const auto &[tensor, name] : fileOfTensor)
      names.insert(name);
  }
  for (const std::string &name : names) {
    ST_ASSIGN_OR_RETURN(tensors[name], SafetensorsReader::open(pathOf(folder, name)));
  }
  for (const auto &[tensor, name] : fileOfTensor)
    if (!tensors[name]->find(tensor))
      return inFile(pathOf(folder, name),
                    absl::StrCat("tensor ", quoteForMessage(tensor),
                                 " is missing, which the index assigns to this file"));
  return absl::OkStatus();
}

absl::Status CheckpointReader::readFiles(const std::string &folder,
                                         const std::vector<StateTensor> &states) {
  ST_ASSIGN_OR_RETURN(file, readTrainerFile(pathOf(folder, kTrainerFile)));
  // Adapters that the program does not have are an error of checkTensors().
  const bool hasAdapters = file.files.count(std::string(kAdapterFile)) > 0;
  for (absl::string_view kind : kTensorKinds)
    if (hasKind(kind, states) || hasAdapters)
      ST_RETURN_IF_ERROR(openTensors(folder, kind));
  for (const auto &[name, checksum] : file.files)
    ST_RETURN_IF_ERROR(checkListedFile(folder, name, checksum));
  return checkTensorData();
}

// Computes the checksums of the tensors in parallel, in the order of the files, so that the disk
// reads them in sequence. The damaged tensor that an error names does not depend on the threads.
absl::Status CheckpointReader::checkTensorData() const {
  std::vector<TensorToCheck> all;
  for (const auto &[name, of] : tensors)
    for (const SafetensorsTensor &tensor : of->tensors())
      if (const auto it = file.checksums.find(tensor.name); it != file.checksums.end())
        all.push_back({of.get(), &tensor, &it->second});
  std::vector<char> isDamaged(all.size(), false);
  ST_RETURN_IF_ERROR(parallelFor(threads, static_cast<int64_t>(all.size()), [&](int64_t i) {
    const absl::Span<const uint8_t> data = all[i].tensor->data;
    prefetchMapped(data);
    isDamaged[i] = checksumOf(data) != *all[i].checksum;
  }));
  const auto first = std::find(isDamaged.begin(), isDamaged.end(), true);
  if (first == isDamaged.end())
    return absl::OkStatus();
  const TensorToCheck &damaged = all[first - isDamaged.begin()];
  return inFile(damaged.file->path(),
                absl::StrCat("tensor \"", damaged.tensor->name,
                             "\" is damaged: it does not match its checksum in ", kTrainerFile));
}

absl::Status CheckpointReader::checkListedFile(const std::string &folder, const std::string &name,
                                               const std::string &checksum) const {
  const std::string path = pathOf(folder, name);
  if (const auto found = tensors.find(name); found != tensors.end())
    return checkText(path, found->second->header(), "its header", checksum);
  const bool isTokenizers = std::find(kTokenizerFileNames.begin(), kTokenizerFileNames.end(),
                                      name) != kTokenizerFileNames.end();
  const bool isIndex = std::any_of(std::begin(kTensorKinds), std::end(kTensorKinds),
                                   [&](absl::string_view kind) { return name == indexName(kind); });
  if (name != kConfigFile && name != kAdapterConfigFile && !isTokenizers && !isIndex)
    return inFile(pathOf(folder, kTrainerFile), absl::StrCat("\"files\": ", quoteForMessage(name),
                                                             " is not a file of a checkpoint"));
  ST_ASSIGN_OR_RETURN(const std::string text, readFile(path, kLargestTokenizerFile));
  return checkText(path, text, "it", checksum);
}

// Checks that the files hold every tensor of the program with its type and shape, and nothing else.
absl::Status CheckpointReader::checkTensors(const std::string &folder, absl::string_view kind,
                                            const std::vector<StateTensor> &states) const {
  const std::string single = absl::StrCat(kind, ".safetensors");
  const auto isOfKind = [&](absl::string_view name) { return absl::StartsWith(name, kind); };
  std::set<absl::string_view> expected;
  for (const StateTensor &tensor : states) {
    if (fileOf(tensor) != single)
      continue;
    expected.insert(tensor.state->name());
    const SafetensorsReader *holder = nullptr;
    for (const auto &[name, of] : tensors)
      if (isOfKind(name) && (!holder || of->find(tensor.state->name())))
        holder = of.get();
    ST_RETURN_IF_ERROR(checkTensor(*holder, tensor));
  }
  std::set<absl::string_view> seen;
  for (const auto &[name, of] : tensors)
    for (const SafetensorsTensor &found : of->tensors()) {
      if (!isOfKind(name))
        continue;
      if (expected.count(found.name) == 0)
        return absl::InvalidArgumentError(absl::StrCat(
            of->path(), ": tensor ", quoteForMessage(found.name), " is not one of the model's"));
      if (!seen.insert(found.name).second)
        return absl::InvalidArgumentError(absl::StrCat(
            of->path(), ": tensor ", quoteForMessage(found.name), " is also in another file"));
    }
  return absl::OkStatus();
}

absl::Status CheckpointReader::checkChecksums(const std::string &folder,
                                              const std::vector<StateTensor> &states) {
  for (const auto &[name, checksum] : file.checksums)
    if (std::none_of(states.begin(), states.end(), [name = &name](const StateTensor &tensor) {
          return tensor.state->name() == *name;
        }))
      return absl::InvalidArgumentError(absl::StrCat(pathOf(folder, kTrainerFile),
                                                     ": \"crc32\": ", quoteForMessage(name),
                                                     " is not one of the model's tensors"));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CheckpointReader>>
CheckpointReader::open(const std::string &path, const proto::Executable &program,
                       const std::vector<StateTensor> &states, int threads) {
  std::unique_ptr<CheckpointReader> reader(new CheckpointReader(threads));
  if (absl::Status status = reader->readFiles(path, states); !status.ok())
    return absl::DataLossError(status.message());
  ST_RETURN_IF_ERROR(reader->checkModel(path, program));
  for (absl::string_view kind : kTensorKinds)
    ST_RETURN_IF_ERROR(reader->checkTensors(path, kind, states));
  ST_RETURN_IF_ERROR(reader->checkChecksums(path, states));
  return reader;
}

absl::Status CheckpointReader::restore(const std::vector<StateTensor> &states,
                                       Executable &executable) const {
  std::vector<StateValues> values;
  for (const StateTensor &tensor : states)
    for (const auto &[name, of] : tensors)
      if (const SafetensorsTensor *found = of->find(tensor.state->name()))
        values.push_back({&tensor, found->data.data()});
  return writeStates(values, executable, threads);
}

} // namespace st
