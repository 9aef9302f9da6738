// What cuBLASLt chose for products, in this run and before.
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

/// How a product is computed.
struct ProductChoice {
  ProductAlgorithm algorithm = {};
  bool isApart = false; ///< its epilogue is faster as commands behind the product

  bool operator==(const ProductChoice &other) const;
};

/// Algorithms by what they are for, kept in a file of text for each kind of GPU and version of
/// cuBLASLt: in $ST_CACHE_DIR, or st in $XDG_CACHE_HOME or $HOME/.cache. What is in the file is a
/// proposal, which cuBLASLt has to accept. Where there is no such folder, or it cannot be written,
/// each run chooses anew.
class ProductChoices {
public:
  /// Those of a kind of GPU in this process: all that are alike do the same.
  static std::shared_ptr<ProductChoices> get(const std::string &gpu, size_t version);
  /// Reads the file.
  ProductChoices(const std::string &gpu, size_t version);

  std::optional<ProductChoice> find(const std::string &key);
  void add(const std::string &key, const ProductChoice &choice);
  /// Writes the file where something is new.
  void save();

  /// The kind of GPU, and what was found or added in this process; for `adopt` of another one.
  std::string used();
  /// Takes the choices of another process instead of its own, for the same kind of GPU. Whether
  /// something that was used is another one now.
  bool adopt(const std::string &text);

private:
  using Choices = std::map<std::string, ProductChoice>;

  std::string kind;
  std::string path; ///< empty: there is none
  std::mutex mutex;
  Choices chosen;
  std::set<std::string> keys; ///< that were used
  bool hasNew = false;

  /// A line for each choice, and whether all lines are such ones.
  static std::string write(const Choices &choices);
  static bool read(absl::string_view text, Choices &choices);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVER_PRODUCTCHOICES_H
