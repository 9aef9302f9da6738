// Products on a GPU, by cuBLASLt.
#ifndef ST_BACKENDS_CUDA_RUNTIME_DRIVERPRODUCT_H
#define ST_BACKENDS_CUDA_RUNTIME_DRIVERPRODUCT_H

#include "backends/cuda/runtime/DriverLibraries.h"
#include "backends/cuda/runtime/GpuDevice.h"
#include "backends/cuda/runtime/ProductChoices.h"

#include <memory>
#include <string>

namespace st::cuda {

/// What cuBLASLt needs to know of a product, chosen once. cuBLASLt's matrices lie column by column:
/// it is asked for the transpose of d, which is that of b times that of a.
class DriverProduct {
public:
  static absl::StatusOr<std::unique_ptr<DriverProduct>>
  create(Handle library, const proto::CudaProduct &product, const ProductOperands &operands,
         size_t workspaceBytes, ProductChoices &choices);
  ~DriverProduct();
  DriverProduct(const DriverProduct &) = delete;
  DriverProduct &operator=(const DriverProduct &) = delete;

  /// Once for each matrix of the dimensions of the batch before the last.
  absl::Status run(const ProductOperands &operands, DevicePointer workspace, Handle stream);

private:
  DriverProduct(const BlasLt &blas, Handle library, const proto::CudaProduct &product)
      : blas(blas), library(library), product(product) {}

  absl::Status prepare(const ProductOperands &operands, size_t workspaceBytes,
                       ProductChoices &choices);
  absl::Status setEpilogue();
  /// The places of what an epilogue reads and writes beside the result.
  absl::Status setPointers(Address bias, Address aux);
  absl::Status choose(absl::Span<const uint32_t> alignments, size_t workspaceBytes);
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
  ProductAlgorithm algorithm = {};
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVERPRODUCT_H
