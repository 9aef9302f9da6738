// The folder for files of the trials.
#ifndef ST_TOOLS_ST_TUNE_WORKFOLDER_H
#define ST_TOOLS_ST_TUNE_WORKFOLDER_H

#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace mlir::st {

/// A folder that is removed with this object, or the user's folder, which stays.
class WorkFolder {
public:
  /// Creates `path` if it is missing; empty: a temporary folder.
  static absl::StatusOr<std::unique_ptr<WorkFolder>> open(const std::string &path);
  ~WorkFolder();
  WorkFolder(const WorkFolder &) = delete;
  WorkFolder &operator=(const WorkFolder &) = delete;

  const std::string &getPath() const { return path; }
  /// Creates a folder in it and returns its absolute path.
  absl::StatusOr<std::string> makeFolder(llvm::StringRef name) const;

private:
  WorkFolder(std::string path, bool isTemporary)
      : path(std::move(path)), isTemporary(isTemporary) {}
  std::string path;
  bool isTemporary;
};

/// "FOLDER/NAME".
std::string joinPath(llvm::StringRef folder, llvm::StringRef name);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_WORKFOLDER_H
