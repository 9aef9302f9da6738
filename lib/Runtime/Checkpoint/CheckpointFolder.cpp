#include "lib/Runtime/Checkpoint/Checkpoint.h"
#include "lib/Runtime/Checkpoint/CheckpointFiles.h"
#include "lib/Runtime/State/ModelFolder.h"
#include "lib/Runtime/Tokenizers/ProgramTokenizer.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Files.h"
#include "lib/Support/Safetensors.h"
#include "lib/Support/StatusMacros.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace st {

namespace {

// Writes one checkpoint into a folder.
class CheckpointWriter {
public:
  explicit CheckpointWriter(std::string folder) : folder(std::move(folder)) {}

  // Records the checksums in `file`.
  absl::Status addStates(absl::string_view name, const std::vector<StateTensor> &states,
                         Executable &executable, TrainerFile &file);
  absl::Status addText(absl::string_view name, absl::string_view content);

  /// Moves the added files into place.
  absl::Status publish();

private:
  std::string pathOf(absl::string_view file) const { return absl::StrCat(folder, "/", file); }
  std::string nextOf(absl::string_view file) const { return pathOf(absl::StrCat(file, kNext)); }
  bool exists(const std::string &path) const {
    struct stat info;
    return ::lstat(path.c_str(), &info) == 0;
  }
  absl::Status commitNext();
  absl::Status takePlaces() const;

  std::string folder;
  std::vector<std::pair<absl::string_view, std::unique_ptr<SafetensorsWriter>>> tensors;
  std::vector<std::pair<absl::string_view, std::unique_ptr<AtomicFile>>> texts;
};

absl::Status CheckpointWriter::addStates(absl::string_view name,
                                         const std::vector<StateTensor> &states,
                                         Executable &executable, TrainerFile &file) {
  std::vector<SafetensorsSpec> specs;
  for (const StateTensor &tensor : states)
    if (fileOf(tensor) == name)
      specs.push_back({tensor.state->name(), tensor.type, tensor.shape});
  // "pt" tells Hugging Face's loaders that the names are PyTorch's.
  ST_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsWriter> writer,
                      SafetensorsWriter::create(nextOf(name), specs, {{"format", "pt"}}));
  file.files[std::string(name)] = checksumOf(writer->header());
  for (const StateTensor &tensor : states) {
    if (fileOf(tensor) != name)
      continue;
    ST_ASSIGN_OR_RETURN(std::vector<uint8_t> global, readState(tensor, executable));
    file.checksums[tensor.state->name()] = checksumOf(global);
    ST_RETURN_IF_ERROR(writer->append(global));
  }
  tensors.emplace_back(name, std::move(writer));
  return tensors.back().second->flush();
}

absl::Status CheckpointWriter::addText(absl::string_view name, absl::string_view content) {
  ST_ASSIGN_OR_RETURN(auto text, AtomicFile::create(nextOf(name)));
  texts.emplace_back(name, std::move(text));
  ST_RETURN_IF_ERROR(texts.back().second->write(content));
  return texts.back().second->flush();
}

absl::Status CheckpointWriter::publish() {
  // Renaming is quick, so signals can wait.
  SignalsWait wait;
  if (absl::Status status = commitNext(); !status.ok()) {
    ::unlink(nextOf(kTrainerFile).c_str());
    for (absl::string_view file : kCheckpointFiles)
      ::unlink(nextOf(file).c_str());
    return status;
  }
  return takePlaces();
}

absl::Status CheckpointWriter::commitNext() {
  // Leftovers of a run that was killed before its checkpoint became valid.
  for (absl::string_view file : kCheckpointFiles)
    ::unlink(nextOf(file).c_str());
  for (auto &[file, writer] : tensors)
    ST_RETURN_IF_ERROR(writer->commit());
  for (auto &[file, text] : texts)
    ST_RETURN_IF_ERROR(text->commit());
  return syncFolder(folder);
}

// Renames the ".next" files, and removes files that the new checkpoint does not have.
absl::Status CheckpointWriter::takePlaces() const {
  for (absl::string_view file : kCheckpointFiles) {
    const bool isNew = exists(nextOf(file));
    if (isNew ? ::rename(nextOf(file).c_str(), pathOf(file).c_str()) != 0
              : ::unlink(pathOf(file).c_str()) != 0 && errno != ENOENT)
      return systemError(pathOf(file), "cannot replace", errno);
  }
  return syncFolder(folder);
}

} // namespace

absl::StatusOr<std::unique_ptr<CheckpointFolder>> CheckpointFolder::claim(const std::string &path) {
  RemovedOnEarlyEnd note(path);
  const bool made = ::mkdir(path.c_str(), 0777) == 0;
  if (!made && errno != EEXIST)
    return systemError(path, "cannot make the folder", errno);
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder(path, made));
  if (made)
    folder->note = std::move(note);
  ST_ASSIGN_OR_RETURN(folder->lock, FolderLock::take(path));
  if (folder->lock.isHeld()) {
    ST_RETURN_IF_ERROR(finishMove(path));
    removeLeftovers(path);
  }
  // Writing is the only reliable test; permissions and file system flags are not.
  for (absl::string_view file : kCheckpointFiles) {
    const std::string target = absl::StrCat(path, "/", file);
    struct stat info;
    if (::stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
      return absl::InvalidArgumentError(absl::StrCat(target, ": cannot write: not a regular file"));
    ST_RETURN_IF_ERROR(AtomicFile::probe(target));
  }
  return folder;
}

CheckpointFolder::~CheckpointFolder() {
  if (made)
    ::rmdir(path.c_str());
}

absl::Status CheckpointFolder::readAll(const std::vector<StateTensor> &states,
                                       Executable &executable) {
  for (absl::string_view name : {kModelFile, kOptimizerFile})
    for (const StateTensor &tensor : states)
      if (fileOf(tensor) == name)
        ST_RETURN_IF_ERROR(readState(tensor, executable).status());
  return absl::OkStatus();
}

absl::Status CheckpointFolder::save(const proto::Executable &program,
                                    const std::vector<StateTensor> &states, Executable &executable,
                                    const TrainerState &trainer,
                                    const std::optional<LearningRateSchedule> &schedule) {
  ST_RETURN_IF_ERROR(finishMove(path));
  CheckpointWriter writer(path);
  TrainerFile file;
  file.trainer = trainer;
  file.schedule = schedule;
  describeOptimizer(program, file);
  for (absl::string_view name : {kModelFile, kOptimizerFile})
    ST_RETURN_IF_ERROR(writer.addStates(name, states, executable, file));
  TokenizerFiles texts = tokenizerFilesOf(program.model());
  texts[std::string(kConfigFile)] = savedConfig(program);
  for (const auto &[name, content] : texts) {
    if (content.empty())
      continue;
    file.files[std::string(name)] = checksumOf(content);
    ST_RETURN_IF_ERROR(writer.addText(name, content));
  }
  ST_RETURN_IF_ERROR(writer.addText(kTrainerFile, printTrainerFile(file)));
  ST_RETURN_IF_ERROR(writer.publish());
  made = false;
  note.forget();
  return absl::OkStatus();
}

} // namespace st
