// Loads NVIDIA's libraries at run time.
#ifndef ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_SHAREDLIBRARY_H
#define ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_SHAREDLIBRARY_H

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>
#include <string>

namespace st::cuda {

/// An environment variable with folders, separated by colons, that are searched before the
/// loader's: folders of libraries, or Python's site-packages, in which NVIDIA's packages have their
/// libraries in nvidia/*/lib.
constexpr char kLibrariesVariable[] = "ST_CUDA_LIBRARIES";

/// A library that stays open for the life of the process. Its dependencies are searched for in the
/// same folders.
class SharedLibrary {
public:
  /// Opens the first available one of several names. `purpose` ends errors: "which ...".
  SharedLibrary(absl::Span<const char *const> names, const char *purpose);

  /// Looks up a C function.
  template <class Function> void find(Function &function, const char *symbol) {
    function = reinterpret_cast<Function>(findSymbol(symbol));
  }
  /// Versions as NCCL and cuDNN number them.
  void expectVersion(int64_t found, int64_t least);

  /// Unavailable if the library cannot be used. The message is one line: the missing library, the
  /// loader's error, or the missing function.
  absl::Status status;

private:
  const char *name, *purpose;
  void *handle = nullptr;

  void *findSymbol(const char *symbol);
};

/// Opens those libraries that are in the folders of kLibrariesVariable, so that another library
/// that opens them by name finds them. Missing ones are skipped.
void preloadLibraries(absl::Span<const char *const> names);

/// Prints a number such as 21400 as 2.14.0.
std::string printVersion(int64_t version);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_SHAREDLIBRARY_H
