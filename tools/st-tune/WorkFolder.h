// Where files of the trials are.
#ifndef ST_TOOLS_ST_TUNE_WORKFOLDER_H
#define ST_TOOLS_ST_TUNE_WORKFOLDER_H

#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace mlir::st {

/// A folder that goes with this object, or one of the user's that stays.
class WorkFolder {
public:
  /// `path` is made where it is not; empty: a temporary folder.
  static absl::StatusOr<std::unique_ptr<WorkFolder>> open(const std::string &path);
  ~WorkFolder();
  WorkFolder(const WorkFolder &) = delete;
  WorkFolder &operator=(const WorkFolder &) = delete;

  const std::string &getPath() const { return path; }
  /// Makes a folder in it and returns its absolute path.
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
