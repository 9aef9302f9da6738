// The matrix engine's arithmetic on the host: native bf16 instructions where the host has them,
// else libxsmm's f32 kernels or a portable loop.
#pragma once

#include "backends/dtu/simulator/host/HostKernels.h"

#include <cstdint>

namespace st::dtu {

/// A buffer in which products that share B keep it packed.
struct PackedB {
  uint8_t *data = nullptr; ///< HostMatmul::packedBytes() bytes; null if B is not kept
  bool isFilled = false;   ///< an earlier product has packed B
};

class HostMatmul {
public:
  /// The instruction set applies to all objects of the process, because libxsmm supports only one
  /// choice.
  HostMatmul(HostIsa isa, const HostKernels &kernels);

  struct Operand {
    const uint8_t *data;
    int64_t stride; ///< elements between rows as stored
    bool transposed;
  };
  /// C[m,n] (+)= A[m,k] B[k,n]; C is f32, A and B are of `type`. With transposed, A is stored
  /// [k,m] and B [n,k]. The order of the sums is that of docs/dtu-isa.md.
  void run(float *c, int64_t ldc, Operand a, Operand b, DType type, int64_t m, int64_t n, int64_t k,
           bool accumulate, PackedB packed = {}) const;
  /// Bytes of the packed B of run(); 0 if run() does not pack B completely.
  int64_t packedBytes(const Operand &b, DType type, int64_t n, int64_t k) const;

private:
  bool useLibxsmm;
  const HostKernels &kernels;

  bool runLibxsmm(float *c, int64_t ldc, const float *a, int64_t lda, bool transposeA,
                  const float *b, int64_t ldb, int64_t m, int64_t n, int64_t k,
                  bool accumulate) const;
  /// Runs libxsmm, or the portable loop where libxsmm has no kernel.
  void runBlock(float *c, int64_t ldc, const float *a, int64_t lda, bool transposeA, const float *b,
                int64_t ldb, int64_t m, int64_t n, int64_t k, bool accumulate) const;
  /// The same block by block, from packed operands.
  void runBlocks(float *c, int64_t ldc, const float *a, int64_t lda, bool transposeA,
                 const float *b, int64_t ldb, int64_t m, int64_t n, int64_t k,
                 bool accumulate) const;
};

/// A buffer per host thread that only grows; `slot` distinguishes buffers that are in use at the
/// same time.
uint8_t *threadScratch(unsigned slot, int64_t bytes);
constexpr unsigned kScratchSlots = 6;

} // namespace st::dtu
