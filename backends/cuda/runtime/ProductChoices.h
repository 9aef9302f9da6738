// What cuBLASLt chose for products, in this run and before.
#ifndef ST_BACKENDS_CUDA_RUNTIME_PRODUCTCHOICES_H
#define ST_BACKENDS_CUDA_RUNTIME_PRODUCTCHOICES_H

#include "backends/cuda/runtime/DriverLibraries.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace st::cuda {

/// Algorithms by what they are for, kept in a file of text for each kind of GPU and version of
/// cuBLASLt: in $ST_CACHE_DIR, or st in $XDG_CACHE_HOME or $HOME/.cache. What is in the file is a
/// proposal, which cuBLASLt has to accept. Where there is no such folder, or it cannot be written,
/// each run chooses anew.
class ProductChoices {
public:
  /// Reads the file.
  ProductChoices(const std::string &gpu, size_t version);

  std::optional<ProductAlgorithm> find(const std::string &key);
  void add(const std::string &key, const ProductAlgorithm &algorithm);
  /// Writes the file where something is new.
  void save();

private:
  std::string path; ///< empty: there is none
  std::mutex mutex;
  std::map<std::string, ProductAlgorithm> chosen;
  bool hasNew = false;

  /// Whether all lines are as `save` writes them.
  bool read(const std::string &text);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_PRODUCTCHOICES_H
