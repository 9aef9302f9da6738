#include "lib/Runtime/Training/LoadCheckpoint.h"
#include "lib/Runtime/Checkpoint/CheckpointFiles.h"
#include "lib/Runtime/Checkpoint/CheckpointSeries.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/Text.h"

namespace st {

std::string chooseCheckpoint(const TrainOptions &options,
                             const std::function<void(const std::string &)> &warn) {
  const bool continues = options.saving.isSeries() && options.resume.empty();
  const std::string &folder = options.load.folder;
  if (folder.empty() || !options.resume.empty() || (continues && !listSeries(options.save).empty()))
    return continues ? options.save : options.resume;
  if (holdsCheckpoint(folder) || !listSeries(folder).empty())
    return folder;
  warn(absl::StrCat("warning: --load=", escapeControls(folder),
                    " holds no checkpoint: a new run starts\n"));
  return continues ? options.save : "";
}

std::string checkpointAt(const std::string &folder, int64_t step) {
  if (!holdsCheckpoint(folder))
    for (const SeriesEntry &entry : listSeries(folder))
      if (entry.step == step)
        return entry.path;
  return folder;
}

} // namespace st
