// Products on a GPU, by cuBLASLt.
#ifndef ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERPRODUCT_H
#define ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERPRODUCT_H

#include "backends/cuda/runtime/GpuDevice.h"
#include "backends/cuda/runtime/driver/ProductChoices.h"
#include "backends/cuda/runtime/libraries/DriverLibraries.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace st::cuda {

/// How products of a stream are tried out.
struct ProductTrial {
  GpuTrial &trial;
  DevicePointer workspace;
  Handle stream;
  /// How many seconds some work of the stream takes. Aborted where the GPU has failed; other errors
  /// are those of the work.
  std::function<absl::StatusOr<double>(const std::function<absl::Status()> &work)> time;
};

/// What cuBLASLt needs to know of a product, chosen once. cuBLASLt's matrices lie column by column:
/// it is asked for the transpose of d, which is that of b times that of a.
class DriverProduct {
public:
  /// Without a trial the algorithm is the first that cuBLASLt proposes; in one, that which takes
  /// the least time. Unimplemented where there is none.
  static absl::StatusOr<std::unique_ptr<DriverProduct>>
  create(Handle library, const proto::CudaProduct &product, const ProductOperands &operands,
         size_t workspaceBytes, ProductChoices &choices, const ProductTrial *trial);
  ~DriverProduct();
  DriverProduct(const DriverProduct &) = delete;
  DriverProduct &operator=(const DriverProduct &) = delete;

  /// The commands in the product's body take less time.
  bool isApart() const { return choice.isApart; }

  /// Once for each matrix of the dimensions of the batch before the last.
  absl::Status run(const ProductOperands &operands, DevicePointer workspace, Handle stream);

private:
  DriverProduct(const BlasLt &blas, Handle library, const proto::CudaProduct &product)
      : blas(blas), library(library), product(product) {}

  absl::Status prepare(const ProductOperands &operands, size_t workspaceBytes,
                       ProductChoices &choices, const ProductTrial *trial);
  absl::Status setEpilogue();
  /// The places of what an epilogue reads and writes beside the result.
  absl::Status setPointers(Address bias, Address aux);
  /// What cuBLASLt proposes, the best by its own estimate first.
  absl::StatusOr<std::vector<ProductAlgorithm>> propose(absl::Span<const uint32_t> alignments,
                                                        size_t workspaceBytes, int most);
  absl::Status choose(absl::Span<const ProductAlgorithm> proposed, const ProductOperands &operands,
                      const ProductTrial &trial);
  /// What a choice depends on.
  std::string key(absl::Span<const uint32_t> alignments, size_t workspaceBytes) const;
  absl::Status addLayout(Handle &layout, int type, const proto::CudaMatrix &matrix, int64_t rows,
                         int64_t columns, int32_t *isTransposed);
  absl::Status runBatch(int dim, const ProductOperands &operands, DevicePointer workspace,
                        Handle stream);

  const BlasLt &blas;
  Handle library;
  const proto::CudaProduct &product;
  Handle desc = nullptr, a = nullptr, b = nullptr, d = nullptr;
  ProductChoice choice;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERPRODUCT_H
