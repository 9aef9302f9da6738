#include "lib/Runtime/Checkpoint/Checkpoint.h"
#include "lib/Runtime/Checkpoint/CheckpointFiles.h"
#include "lib/Runtime/State/ModelFolder.h"
#include "lib/Runtime/Tokenizers/ProgramTokenizer.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace st {

absl::StatusOr<std::unique_ptr<CheckpointFolder>> CheckpointFolder::claim(const std::string &path) {
  RemovedOnEarlyEnd note(path);
  const bool made = ::mkdir(path.c_str(), 0777) == 0;
  if (!made && errno != EEXIST)
    return systemError(path, "cannot create the folder", errno);
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder(path, made));
  if (made)
    folder->note = std::move(note);
  ST_ASSIGN_OR_RETURN(folder->lock, FolderLock::take(path));
  if (folder->lock.isHeld()) {
    ST_RETURN_IF_ERROR(finishMove(path));
    removeLeftovers(path);
  }
  // Only a write is a reliable test; permissions and file system flags are not.
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

absl::Status CheckpointFolder::prepare() {
  ST_RETURN_IF_ERROR(finishMove(path));
  removeLeftovers(path);
  return absl::OkStatus();
}

absl::Status CheckpointFolder::save(const SaveJob &job) {
  CheckpointWriter writer(path, job);
  TrainerFile file;
  file.trainer = job.trainer;
  file.schedule = job.schedule;
  describeOptimizer(job.program, file);
  ST_RETURN_IF_ERROR(writer.writeStates(file));
  TokenizerFiles texts = tokenizerFilesOf(job.program.model());
  texts[std::string(kConfigFile)] = savedConfig(job.program);
  texts[std::string(kAdapterConfigFile)] = savedAdapterConfig(job.program, path);
  for (const auto &[name, content] : texts) {
    if (content.empty())
      continue;
    file.files[std::string(name)] = checksumOf(content);
    ST_RETURN_IF_ERROR(writer.addText(name, content));
  }
  ST_RETURN_IF_ERROR(writer.publish(file));
  made = false;
  note.forget();
  return absl::OkStatus();
}

absl::Status CheckpointFolder::help(const std::string &path, const SaveJob &job) {
  CheckpointWriter writer(path, job);
  TrainerFile ignored;
  return writer.writeStates(ignored);
}

} // namespace st
