// NVIDIA's libraries, opened when a program runs.
#ifndef ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_SHAREDLIBRARY_H
#define ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_SHAREDLIBRARY_H

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>
#include <string>

namespace st::cuda {

/// The variable with folders to look in, separated by colons, before the loader's own: folders of
/// libraries, or Python's site-packages, in which NVIDIA's packages have theirs in nvidia/*/lib.
constexpr char kLibrariesVariable[] = "ST_CUDA_LIBRARIES";

/// A library that stays open as long as the process runs. What it needs is looked for in the same
/// folders as itself.
class SharedLibrary {
public:
  /// Opens the first of some names that is there; `purpose` ends errors: "which ...".
  SharedLibrary(absl::Span<const char *const> names, const char *purpose);

  /// Looks up a function of C.
  template <class Function> void find(Function &function, const char *symbol) {
    function = reinterpret_cast<Function>(findSymbol(symbol));
  }
  /// Versions as NCCL and cuDNN number them.
  void expectVersion(int64_t found, int64_t least);

  /// Unavailable, with one line: which library is missing, what the loader says of one that it
  /// cannot open, or what a library lacks.
  absl::Status status;

private:
  const char *name, *purpose;
  void *handle = nullptr;

  void *findSymbol(const char *symbol);
};

/// Opens those of some libraries that are in the folders of kLibrariesVariable: another library
/// opens them later by their names, and the loader then knows them. Names of which none is there
/// are left out.
void preloadLibraries(absl::Span<const char *const> names);

/// Of a number such as 21400: 2.14.0.
std::string printVersion(int64_t version);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_SHAREDLIBRARY_H
