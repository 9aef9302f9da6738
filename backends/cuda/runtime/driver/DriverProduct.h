// Products on a GPU through cuBLASLt.
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

/// Times the products of a stream.
struct ProductTrial {
  GpuTrial &trial;
  DevicePointer workspace;
  Handle stream;
  /// Returns the seconds that some work of the stream takes. Aborted if the GPU has failed; other
  /// errors come from the work.
  std::function<absl::StatusOr<double>(const std::function<absl::Status()> &work)> time;
};

/// The descriptors and the algorithm of a product in cuBLASLt, chosen once. cuBLASLt's matrices are
/// column-major, so it computes the transpose of d as the transpose of b times the transpose of a.
class DriverProduct {
public:
  /// Without a trial, takes the first algorithm that cuBLASLt proposes; with one, the fastest.
  /// Unimplemented if there is none.
  static absl::StatusOr<std::unique_ptr<DriverProduct>>
  create(Handle library, const proto::CudaProduct &product, const ProductOperands &operands,
         size_t workspaceBytes, ProductChoices &choices, const ProductTrial *trial);
  ~DriverProduct();
  DriverProduct(const DriverProduct &) = delete;
  DriverProduct &operator=(const DriverProduct &) = delete;

  /// Returns true if the commands of the product's body are faster.
  bool isSeparate() const { return choice.isSeparate; }

  /// Calls cuBLASLt once per matrix of the batch dimensions other than the last.
  absl::Status run(const ProductOperands &operands, DevicePointer workspace, Handle stream);

private:
  DriverProduct(const BlasLt &blas, Handle library, const proto::CudaProduct &product)
      : blas(blas), library(library), product(product) {}

  absl::Status prepare(const ProductOperands &operands, size_t workspaceBytes,
                       ProductChoices &choices, const ProductTrial *trial);
  absl::Status setEpilogue();
  /// Sets the addresses that an epilogue reads and writes.
  absl::Status setPointers(Address bias, Address aux);
  /// cuBLASLt's proposals, best estimate first.
  absl::StatusOr<std::vector<ProductAlgorithm>> propose(absl::Span<const uint32_t> alignments,
                                                        size_t workspaceBytes, int most);
  absl::Status choose(absl::Span<const ProductAlgorithm> proposed, const ProductOperands &operands,
                      const ProductTrial &trial);
  /// Everything on which a choice depends.
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
