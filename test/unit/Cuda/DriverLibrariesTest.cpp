// Our declarations of NVIDIA's libraries are those of its headers, where these are found.
#include "backends/cuda/runtime/DriverLibraries.h"

#include "gtest/gtest.h"

#if __has_include(<cuda.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cuda.h>

namespace st::cuda {
namespace {

static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D));
static_assert(offsetof(Copy2D, source) == offsetof(CUDA_MEMCPY2D, srcDevice));
static_assert(offsetof(Copy2D, sourcePitch) == offsetof(CUDA_MEMCPY2D, srcPitch));
static_assert(offsetof(Copy2D, target) == offsetof(CUDA_MEMCPY2D, dstDevice));
static_assert(offsetof(Copy2D, targetPitch) == offsetof(CUDA_MEMCPY2D, dstPitch));
static_assert(offsetof(Copy2D, width) == offsetof(CUDA_MEMCPY2D, WidthInBytes));
static_assert(sizeof(ProductAlgorithm) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(ProductAlgorithm, workspaceBytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(ProductAlgorithm, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));

TEST(DriverLibraries, NumbersAreThoseOfTheHeaders) {
  EXPECT_EQ(kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kJitErrorLog, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(kJitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(kStreamNonBlocking, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(kMemoryUnified, static_cast<unsigned>(CU_MEMORYTYPE_UNIFIED));
  EXPECT_EQ(kTypeF32, CUDA_R_32F);
  EXPECT_EQ(kTypeF64, CUDA_R_64F);
  EXPECT_EQ(kTypeF16, CUDA_R_16F);
  EXPECT_EQ(kTypeBF16, CUDA_R_16BF);
  EXPECT_EQ(kComputeF32, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(kComputeF64, CUBLAS_COMPUTE_64F);
  EXPECT_EQ(kDescTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(kDescTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(kDescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(kDescBias, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(kLayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(kPreferWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(kPreferAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(kPreferAlignmentA + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(kEpilogueBias, static_cast<uint32_t>(CUBLASLT_EPILOGUE_BIAS));
}

} // namespace
} // namespace st::cuda
#else
TEST(DriverLibraries, NumbersAreThoseOfTheHeaders) { GTEST_SKIP() << "no CUDA headers"; }
#endif
