// Compares declarations of NVIDIA's libraries with its headers, if these are found.
#include "backends/cuda/runtime/libraries/DriverLibraries.h"

#include "gtest/gtest.h"

#if __has_include(<cuda.h>) && __has_include(<cublasLt.h>) && __has_include(<nccl.h>)
#include "CalledAs.h"
#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>

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

static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));

CALLED_AS(Driver::getUuid, cuDeviceGetUuid_v2);
CALLED_AS(Driver::getAttribute, cuDeviceGetAttribute);
CALLED_AS(Driver::retainContext, cuDevicePrimaryCtxRetain);
CALLED_AS(Driver::allocate, cuMemAlloc);
CALLED_AS(Driver::setBytes, cuMemsetD8Async);
CALLED_AS(Driver::setBytes2D, cuMemsetD2D8Async);
CALLED_AS(Driver::setWords, cuMemsetD32Async);
CALLED_AS(Driver::allocatePinned, cuMemAllocHost);
CALLED_AS(Driver::copyToDevice, cuMemcpyHtoDAsync);
CALLED_AS(Driver::copyFromDevice, cuMemcpyDtoHAsync);
CALLED_AS(Driver::getName, cuDeviceGetName);
CALLED_AS(Driver::copy, cuMemcpyAsync);
CALLED_AS(Driver::copy2D, cuMemcpy2DAsync);
CALLED_AS(Driver::loadModule, cuModuleLoadDataEx);
CALLED_AS(Driver::getFunction, cuModuleGetFunction);
CALLED_AS(Driver::setFunctionAttribute, cuFuncSetAttribute);
CALLED_AS(Driver::launch, cuLaunchKernel);
CALLED_AS(Driver::createStream, cuStreamCreate);
CALLED_AS(Driver::isStreamDone, cuStreamQuery);
CALLED_AS(Driver::createEvent, cuEventCreate);
CALLED_AS(Driver::record, cuEventRecord);
CALLED_AS(Driver::waitForEventOnHost, cuEventSynchronize);
CALLED_AS(Driver::waitForEvent, cuStreamWaitEvent);
CALLED_AS(Driver::beginCapture, cuStreamBeginCapture);
CALLED_AS(Driver::endCapture, cuStreamEndCapture);
CALLED_AS(Driver::instantiate, cuGraphInstantiateWithFlags);
CALLED_AS(Driver::launchGraph, cuGraphLaunch);
CALLED_AS(BlasLt::createDesc, cublasLtMatmulDescCreate);
CALLED_AS(BlasLt::setDesc, cublasLtMatmulDescSetAttribute);
CALLED_AS(BlasLt::createLayout, cublasLtMatrixLayoutCreate);
CALLED_AS(BlasLt::setLayout, cublasLtMatrixLayoutSetAttribute);
CALLED_AS(BlasLt::setPreference, cublasLtMatmulPreferenceSetAttribute);
CALLED_AS(BlasLt::choose, cublasLtMatmulAlgoGetHeuristic);
CALLED_AS(BlasLt::getVersion, cublasLtGetVersion);
CALLED_AS(BlasLt::accepts, cublasLtMatmulAlgoCheck);
CALLED_AS(BlasLt::multiply, cublasLtMatmul);
CALLED_AS(Nccl::getVersion, ncclGetVersion);
CALLED_AS(Nccl::getErrorString, ncclGetErrorString);
CALLED_AS(Nccl::getUniqueId, ncclGetUniqueId);
CALLED_AS(Nccl::init, ncclCommInitRankConfig);
CALLED_AS(Nccl::getAsyncError, ncclCommGetAsyncError);
CALLED_AS(Nccl::abort, ncclCommAbort);
CALLED_AS(Nccl::startGroup, ncclGroupStart);
CALLED_AS(Nccl::endGroup, ncclGroupEnd);
CALLED_AS(Nccl::send, ncclSend);
CALLED_AS(Nccl::receive, ncclRecv);

TEST(DriverLibraries, NumbersAreThoseOfTheHeaders) {
  EXPECT_EQ(kEventDisableTiming, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(kNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(kCaptureOfThread, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(kNcclInProgress, ncclInProgress);
  EXPECT_EQ(kNcclBytes, ncclInt8);
  EXPECT_LE(kNcclMinVersion, NCCL_VERSION_CODE);
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(NcclConfig().magic, theirs.magic);
  EXPECT_EQ(kErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kMaxPitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  EXPECT_EQ(kMaxSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
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
  EXPECT_EQ(kComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(kDescTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(kDescTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(kDescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(kDescBias, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(kDescAux, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  EXPECT_EQ(kDescAuxLeading, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  EXPECT_EQ(kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(kLayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(kPreferWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(kPreferAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(kPreferAlignmentA + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(kEpilogueDefault, static_cast<uint32_t>(CUBLASLT_EPILOGUE_DEFAULT));
  EXPECT_EQ(kEpilogueBias, static_cast<uint32_t>(CUBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(kEpilogueGelu, static_cast<uint32_t>(CUBLASLT_EPILOGUE_GELU));
  EXPECT_EQ(kEpilogueGelu | kEpilogueBias, static_cast<uint32_t>(CUBLASLT_EPILOGUE_GELU_BIAS));
  EXPECT_EQ(kEpilogueGeluAux, static_cast<uint32_t>(CUBLASLT_EPILOGUE_GELU_AUX));
  EXPECT_EQ(kEpilogueGeluAux | kEpilogueBias,
            static_cast<uint32_t>(CUBLASLT_EPILOGUE_GELU_AUX_BIAS));
  EXPECT_EQ(kEpilogueGeluGradient, static_cast<uint32_t>(CUBLASLT_EPILOGUE_DGELU));
  EXPECT_EQ(kEpilogueSumsA, static_cast<uint32_t>(CUBLASLT_EPILOGUE_BGRADA));
  EXPECT_EQ(kEpilogueSumsB, static_cast<uint32_t>(CUBLASLT_EPILOGUE_BGRADB));
}

} // namespace
} // namespace st::cuda
#else
TEST(DriverLibraries, NumbersAreThoseOfTheHeaders) { GTEST_SKIP() << "no CUDA headers"; }
#endif
