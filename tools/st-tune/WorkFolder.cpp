#include "tools/st-tune/WorkFolder.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir::st;

std::string mlir::st::joinPath(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

static absl::Status cannotMake(const std::string &path, std::error_code error) {
  return absl::UnavailableError(
      absl::StrCat(path, ": cannot create this folder: ", error.message()));
}

absl::StatusOr<std::unique_ptr<WorkFolder>> WorkFolder::open(const std::string &path) {
  llvm::SmallString<128> found(path);
  std::error_code error;
  if (path.empty()) {
    error = llvm::sys::fs::createUniqueDirectory("st-tune", found);
    if (error)
      return cannotMake("st-tune", error);
  } else {
    error = llvm::sys::fs::create_directories(path);
    if (!error && !llvm::sys::fs::is_directory(path))
      error = std::make_error_code(std::errc::not_a_directory);
    if (error)
      return cannotMake(path, error);
  }
  // Commands may run in another folder, so the path is absolute.
  llvm::sys::fs::make_absolute(found);
  return std::unique_ptr<WorkFolder>(new WorkFolder(found.str().str(), path.empty()));
}

WorkFolder::~WorkFolder() {
  if (isTemporary)
    llvm::sys::fs::remove_directories(path);
}

absl::StatusOr<std::string> WorkFolder::makeFolder(llvm::StringRef name) const {
  const std::string folder = joinPath(path, name);
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return cannotMake(folder, error);
  return folder;
}
