// The algorithms that cuBLASLt chose for products, in this run and earlier ones.
#ifndef ST_BACKENDS_CUDA_RUNTIME_DRIVER_PRODUCTCHOICES_H
#define ST_BACKENDS_CUDA_RUNTIME_DRIVER_PRODUCTCHOICES_H

#include "backends/cuda/runtime/libraries/DriverLibraries.h"

#include "absl/strings/string_view.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace st::cuda {

/// The implementation of a product.
struct ProductChoice {
  ProductAlgorithm algorithm = {};
  bool isSeparate = false; ///< separate commands for the epilogue are faster

  bool operator==(const ProductChoice &other) const;
};

/// Algorithms by product, stored in a text file per kind of GPU and version of cuBLASLt: in
/// $ST_CACHE_DIR, or st in $XDG_CACHE_HOME or $HOME/.cache. Entries of the file are proposals that
/// cuBLASLt must accept. Without a writable folder, each run chooses again.
class ProductChoices {
public:
  /// The choices for a kind of GPU in this process; all such GPUs use the same.
  static std::shared_ptr<ProductChoices> get(const std::string &gpu, size_t version);
  /// Reads the file.
  ProductChoices(const std::string &gpu, size_t version);

  std::optional<ProductChoice> find(const std::string &key);
  void add(const std::string &key, const ProductChoice &choice);
  /// Writes the file if there is a new choice.
  void save();

  /// The kind of GPU and the choices used in this process, for `adopt` in another one.
  std::string used();
  /// Replaces this process's choices by those of another one for the same kind of GPU. Returns true
  /// if a used choice changed.
  bool adopt(const std::string &text);

private:
  using Choices = std::map<std::string, ProductChoice>;

  std::string kind;
  std::string path; ///< empty: there is none
  std::mutex mutex;
  Choices chosen;
  std::set<std::string> keys; ///< used in this process
  bool hasNew = false;

  /// Prints one choice per line, and parses such lines. read() returns true if all lines are valid.
  static std::string write(const Choices &choices);
  static bool read(absl::string_view text, Choices &choices);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVER_PRODUCTCHOICES_H
