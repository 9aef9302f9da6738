#include "tools/st-runner/OutputPaths.h"
#include "tools/st-runner/Flags.h"

#include "lib/Runtime/Checkpoint/CheckpointFiles.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <climits>
#include <cstdlib>
#include <map>
#include <sys/stat.h>
#include <vector>

namespace st {
namespace {

// A file that a flag names, or a file in a folder that a flag names.
struct NamedFile {
  std::string flag, path;
  bool isOutput;
};

// Returns an identity that is equal for two names of one file; empty for pipes and devices.
std::string identityOf(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0)
    return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)
               ? absl::StrCat(info.st_dev, ":", info.st_ino)
               : "";
  // A missing file is identified by its folder and its name.
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/')
    trimmed.pop_back();
  const size_t slash = trimmed.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : trimmed.substr(0, slash + 1);
  char resolved[PATH_MAX];
  return absl::StrCat(::realpath(folder.c_str(), resolved) ? resolved : folder, "/",
                      slash == std::string::npos ? trimmed : trimmed.substr(slash + 1));
}

std::vector<NamedFile> filesOf(const RunRequest &request, const std::string &binary) {
  const TrainOptions &train = request.train;
  std::vector<NamedFile> files = {{"this training binary", binary, false}};
  auto add = [&](const std::string &flag, const std::string &path, bool isOutput) {
    if (!path.empty())
      files.push_back({absl::StrCat("--", flag, "=", path), path, isOutput});
  };
  auto addFolder = [&](const std::string &flag, const std::string &folder, bool isOutput) {
    add(flag, folder, isOutput);
    for (absl::string_view name : kCheckpointFiles)
      if (!folder.empty())
        files.push_back({files.back().flag, absl::StrCat(folder, "/", name), isOutput});
  };
  auto addData = [&](const std::string &flag, absl::string_view data) {
    if (data != "synthetic" && !absl::ConsumePrefix(&data, "text:") &&
        !absl::ConsumePrefix(&data, "jsonl:"))
      absl::ConsumePrefix(&data, "squad:");
    if (absl::ConsumePrefix(&data, "megatron:"))
      for (const char *ending : {".bin", ".idx"})
        add(flag, absl::StrCat(data, ending), false);
    else
      add(flag, data == "synthetic" ? "" : std::string(data), false);
  };
  addData("data", train.data.value_or(""));
  addData("valid-data", train.evaluation.validation);
  addData("test-data", train.evaluation.test);
  if (request.once) {
    add("inputs", request.once->inputs, false);
    add("outputs", request.once->outputs, true);
  }
  addFolder("init", train.init, false);
  if (identityOf(train.load.folder) != identityOf(train.save))
    addFolder("load", train.load.folder, false);
  // A run may save to the folder from which it resumes.
  if (identityOf(train.resume) != identityOf(train.save))
    addFolder("resume", train.resume, false);
  addFolder("save", train.save, true);
  add("metrics", train.log.metrics, true);
  add("predictions", train.log.predictions, true);
  add("record-batches", train.recordBatches, true);
  add("tensorboard", train.log.tensorboard, true);
  add("trace", train.trace, true);
  add("report", train.report, true);
  return files;
}

} // namespace

absl::Status checkOutputPaths(const RunRequest &request, const std::string &binary) {
  std::map<std::string, NamedFile> seen;
  for (const NamedFile &file : filesOf(request, binary)) {
    const std::string identity = identityOf(file.path);
    if (identity.empty())
      continue;
    auto [it, isNew] = seen.emplace(identity, file);
    if (!isNew && it->second.flag != file.flag && (it->second.isOutput || file.isOutput))
      return absl::InvalidArgumentError(
          absl::StrCat(file.flag, " and ", it->second.flag,
                       " are the same file; expected a separate file for each output"));
  }
  return absl::OkStatus();
}

} // namespace st
