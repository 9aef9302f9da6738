// The matrix engine's arithmetic on the host: bf16 instructions for bf16 where the host
// instruction set has them, else libxsmm's kernels in f32, or a portable loop.
#pragma once

#include "backends/dtu/simulator/host/HostKernels.h"

#include <cstdint>

namespace st::dtu {

/// Where products that have a B in common keep it as it is packed.
struct PackedB {
  uint8_t *data = nullptr; ///< HostMatmul::packedBytes(); null: nowhere
  bool isFilled = false;   ///< by a product before this one
};

class HostMatmul {
public:
  /// The choice of instruction set holds for the whole process, since libxsmm's does.
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
  /// What a B takes that run() packs; 0 where it does not, or not as a whole.
  int64_t packedBytes(const Operand &b, DType type, int64_t n, int64_t k) const;

private:
  bool useLibxsmm;
  const HostKernels &kernels;

  bool runLibxsmm(float *c, int64_t ldc, const float *a, int64_t lda, bool transposeA,
                  const float *b, int64_t ldb, int64_t m, int64_t n, int64_t k,
                  bool accumulate) const;
  /// By libxsmm, or the portable loop where that has no kernel.
  void runBlock(float *c, int64_t ldc, const float *a, int64_t lda, bool transposeA, const float *b,
                int64_t ldb, int64_t m, int64_t n, int64_t k, bool accumulate) const;
  /// The same block by block, from packed operands.
  void runBlocks(float *c, int64_t ldc, const float *a, int64_t lda, bool transposeA,
                 const float *b, int64_t ldb, int64_t m, int64_t n, int64_t k,
                 bool accumulate) const;
};

/// A buffer that grows and is kept for each host thread; `slot` tells buffers in use at once apart.
uint8_t *threadScratch(unsigned slot, int64_t bytes);
constexpr unsigned kScratchSlots = 6;

} // namespace st::dtu
