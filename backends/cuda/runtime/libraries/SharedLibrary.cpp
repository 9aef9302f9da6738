#include "backends/cuda/runtime/libraries/SharedLibrary.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include <cstdlib>
#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>
#include <vector>

namespace st::cuda {
namespace {

/// Above the number of dependencies of any library; bounds the number of loader calls.
constexpr int kMaxDependencies = 32;
/// The maximum depth of dependencies.
constexpr int kMaxDepth = 8;

/// The path of a library in the variable's folders; empty if it is in none.
std::string findFile(absl::string_view name) {
  const char *folders = std::getenv(kLibrariesVariable);
  for (absl::string_view folder : absl::StrSplit(folders ? folders : "", ':', absl::SkipEmpty())) {
    std::string path = absl::StrCat(folder, "/", name);
    if (::access(path.c_str(), F_OK) == 0)
      return path;
    // Each package has its own folder, or all packages of a CUDA version share one.
    glob_t found = {};
    const std::string pattern = absl::StrCat(folder, "/nvidia/*/lib/", name);
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0 && found.gl_pathc > 0)
      path = found.gl_pathv[0];
    else
      path.clear();
    ::globfree(&found);
    if (!path.empty())
      return path;
  }
  return "";
}

bool isNotFound(absl::string_view error, absl::string_view name) {
  return absl::StartsWith(error, absl::StrCat(name, ": cannot open shared object file"));
}

/// The name of the library that the loader did not find; empty for other errors.
std::string nameOfMissing(absl::string_view error) {
  const absl::string_view name = error.substr(0, error.find(':'));
  return isNotFound(error, name) ? std::string(name) : "";
}

/// Opens a file, or the library that the loader finds by name. Dependencies that the loader does
/// not find are opened first if they are in the variable's folders. An error is one line.
void *open(const std::string &file, std::string &error, int depth = 0) {
  for (int attempt = 0; attempt < kMaxDependencies; ++attempt) {
    if (void *handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
      return handle;
    const char *text = ::dlerror();
    error = text ? text : "unknown error";
    error = error.substr(0, error.find('\n'));
    const std::string missing = nameOfMissing(error);
    const std::string path = missing.empty() || missing == file ? "" : findFile(missing);
    std::string reason;
    if (path.empty() || depth == kMaxDepth)
      return nullptr;
    if (!open(path, reason, depth + 1)) {
      error = reason;
      return nullptr;
    }
  }
  return nullptr;
}

} // namespace

std::string printVersion(int64_t version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

SharedLibrary::SharedLibrary(absl::Span<const char *const> names, const char *purpose)
    : name(names.front()), purpose(purpose) {
  std::string refused;
  for (bool inFolders : {true, false})
    for (const char *candidate : names) {
      const std::string file = inFolders ? findFile(candidate) : candidate;
      std::string error;
      // The user chose the library in the variable's folders, so no other library replaces it
      // silently.
      if (handle || !refused.empty() || file.empty())
        continue;
      handle = open(file, error);
      if (!handle && refused.empty() && !isNotFound(error, file))
        refused = error;
    }
  if (handle)
    return;
  if (!refused.empty())
    status = absl::UnavailableError(absl::StrCat(
        name, " cannot be opened; it ", purpose, ": ", refused, " (", kLibrariesVariable,
        " names folders with libraries, or a Python environment's site-packages)"));
  else
    status = absl::UnavailableError(
        absl::StrCat(name, " is missing; it ", purpose, " (", kLibrariesVariable,
                     " names folders with libraries, or a Python environment's site-packages)"));
}

void *SharedLibrary::findSymbol(const char *symbol) {
  if (!status.ok())
    return nullptr;
  void *found = ::dlsym(handle, symbol);
  if (!found)
    status = absl::UnavailableError(
        absl::StrCat(name, " has no ", symbol, ": it is too old; it ", purpose));
  return found;
}

void SharedLibrary::expectVersion(int64_t found, int64_t minimum) {
  if (status.ok() && found < minimum)
    status = absl::UnavailableError(absl::StrCat(name, ": expected version ", printVersion(minimum),
                                                 " or later, found ", printVersion(found), "; it ",
                                                 purpose));
}

void preloadLibraries(absl::Span<const char *const> names) {
  for (const char *name : names)
    if (const std::string file = findFile(name); !file.empty()) {
      std::string error; // The user of the library reports the error.
      open(file, error);
    }
}

} // namespace st::cuda
