#include "backends/cuda/runtime/libraries/DriverLibraries.h"
#include "backends/cuda/runtime/libraries/CudnnLibrary.h"
#include "backends/cuda/runtime/libraries/SharedLibrary.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

namespace st::cuda {
namespace {

absl::StatusOr<Driver> openDriver() {
  SharedLibrary library({"libcuda.so.1"}, "comes with NVIDIA's driver and runs programs for GPUs");
  Driver driver;
  library.find(driver.init, "cuInit");
  library.find(driver.getErrorString, "cuGetErrorString");
  library.find(driver.getDeviceCount, "cuDeviceGetCount");
  library.find(driver.getDevice, "cuDeviceGet");
  library.find(driver.getName, "cuDeviceGetName");
  library.find(driver.getUuid, "cuDeviceGetUuid_v2");
  library.find(driver.getAttribute, "cuDeviceGetAttribute");
  library.find(driver.retainContext, "cuDevicePrimaryCtxRetain");
  library.find(driver.releaseContext, "cuDevicePrimaryCtxRelease_v2");
  library.find(driver.setContext, "cuCtxSetCurrent");
  library.find(driver.canAccessPeer, "cuDeviceCanAccessPeer");
  library.find(driver.enablePeer, "cuCtxEnablePeerAccess");
  library.find(driver.allocate, "cuMemAlloc_v2");
  library.find(driver.release, "cuMemFree_v2");
  library.find(driver.setBytes, "cuMemsetD8Async");
  library.find(driver.setBytes2D, "cuMemsetD2D8Async");
  library.find(driver.setWords, "cuMemsetD32Async");
  library.find(driver.allocatePinned, "cuMemAllocHost_v2");
  library.find(driver.releasePinned, "cuMemFreeHost");
  library.find(driver.copyToDevice, "cuMemcpyHtoDAsync_v2");
  library.find(driver.copyFromDevice, "cuMemcpyDtoHAsync_v2");
  library.find(driver.copy, "cuMemcpyAsync");
  library.find(driver.copy2D, "cuMemcpy2DAsync_v2");
  library.find(driver.loadModule, "cuModuleLoadDataEx");
  library.find(driver.unloadModule, "cuModuleUnload");
  library.find(driver.getFunction, "cuModuleGetFunction");
  library.find(driver.setFunctionAttribute, "cuFuncSetAttribute");
  library.find(driver.launch, "cuLaunchKernel");
  library.find(driver.createStream, "cuStreamCreate");
  library.find(driver.destroyStream, "cuStreamDestroy_v2");
  library.find(driver.synchronize, "cuStreamSynchronize");
  library.find(driver.isStreamDone, "cuStreamQuery");
  library.find(driver.createEvent, "cuEventCreate");
  library.find(driver.destroyEvent, "cuEventDestroy_v2");
  library.find(driver.record, "cuEventRecord");
  library.find(driver.isEventReached, "cuEventQuery");
  library.find(driver.getElapsedTime, "cuEventElapsedTime");
  library.find(driver.waitForEventOnHost, "cuEventSynchronize");
  library.find(driver.waitForEvent, "cuStreamWaitEvent");
  library.find(driver.beginCapture, "cuStreamBeginCapture_v2");
  library.find(driver.endCapture, "cuStreamEndCapture");
  library.find(driver.instantiate, "cuGraphInstantiateWithFlags");
  library.find(driver.launchGraph, "cuGraphLaunch");
  library.find(driver.destroyGraph, "cuGraphDestroy");
  library.find(driver.destroyExecutable, "cuGraphExecDestroy");
  ST_RETURN_IF_ERROR(library.status);
  ST_RETURN_IF_ERROR(driver.check(driver.init(0), "starting NVIDIA's driver"));
  return driver;
}

absl::StatusOr<BlasLt> openBlasLt() {
  SharedLibrary library({"libcublasLt.so", "libcublasLt.so.13", "libcublasLt.so.12"},
                        "comes with CUDA and multiplies matrices");
  BlasLt blas;
  library.find(blas.getVersion, "cublasLtGetVersion");
  library.find(blas.create, "cublasLtCreate");
  library.find(blas.createDesc, "cublasLtMatmulDescCreate");
  library.find(blas.setDesc, "cublasLtMatmulDescSetAttribute");
  library.find(blas.destroyDesc, "cublasLtMatmulDescDestroy");
  library.find(blas.createLayout, "cublasLtMatrixLayoutCreate");
  library.find(blas.setLayout, "cublasLtMatrixLayoutSetAttribute");
  library.find(blas.destroyLayout, "cublasLtMatrixLayoutDestroy");
  library.find(blas.createPreference, "cublasLtMatmulPreferenceCreate");
  library.find(blas.setPreference, "cublasLtMatmulPreferenceSetAttribute");
  library.find(blas.destroyPreference, "cublasLtMatmulPreferenceDestroy");
  library.find(blas.choose, "cublasLtMatmulAlgoGetHeuristic");
  library.find(blas.accepts, "cublasLtMatmulAlgoCheck");
  library.find(blas.multiply, "cublasLtMatmul");
  ST_RETURN_IF_ERROR(library.status);
  return blas;
}

absl::StatusOr<Nccl> openNccl() {
  SharedLibrary library({"libnccl.so.2"}, "joins GPUs");
  Nccl nccl;
  library.find(nccl.getVersion, "ncclGetVersion");
  library.find(nccl.getErrorString, "ncclGetErrorString");
  library.find(nccl.getUniqueId, "ncclGetUniqueId");
  library.find(nccl.init, "ncclCommInitRankConfig");
  library.find(nccl.getAsyncError, "ncclCommGetAsyncError");
  library.find(nccl.abort, "ncclCommAbort");
  library.find(nccl.startGroup, "ncclGroupStart");
  library.find(nccl.endGroup, "ncclGroupEnd");
  library.find(nccl.send, "ncclSend");
  library.find(nccl.receive, "ncclRecv");
  ST_RETURN_IF_ERROR(library.status);
  int version = 0;
  ST_RETURN_IF_ERROR(nccl.check(nccl.getVersion(&version), "querying its version"));
  library.expectVersion(version, kNcclMinVersion);
  ST_RETURN_IF_ERROR(library.status);
  return nccl;
}

absl::StatusOr<Cudnn> openCudnn() {
  // cuDNN opens its parts, and these libraries by name, when it builds plans.
  preloadLibraries({"libcudart.so.13", "libcudart.so.12", "libnvrtc.so.13", "libnvrtc.so.12",
                    "libcublasLt.so.13", "libcublasLt.so.12", "libcublas.so.13",
                    "libcublas.so.12"});
  SharedLibrary library({"libcudnn.so.9"}, "computes attention");
  preloadLibraries({"libcudnn_graph.so.9", "libcudnn_ops.so.9",
                    "libcudnn_engines_runtime_compiled.so.9", "libcudnn_engines_precompiled.so.9",
                    "libcudnn_heuristic.so.9"});
  Cudnn cudnn;
  library.find(cudnn.getVersion, "cudnnGetVersion");
  library.find(cudnn.getLastError, "cudnnGetLastErrorString");
  library.find(cudnn.create, "cudnnCreate");
  library.find(cudnn.destroy, "cudnnDestroy");
  library.find(cudnn.setStream, "cudnnSetStream");
  library.find(cudnn.createDesc, "cudnnBackendCreateDescriptor");
  library.find(cudnn.destroyDesc, "cudnnBackendDestroyDescriptor");
  library.find(cudnn.setAttribute, "cudnnBackendSetAttribute");
  library.find(cudnn.getAttribute, "cudnnBackendGetAttribute");
  library.find(cudnn.finalize, "cudnnBackendFinalize");
  library.find(cudnn.execute, "cudnnBackendExecute");
  ST_RETURN_IF_ERROR(library.status);
  library.expectVersion(static_cast<int64_t>(cudnn.getVersion()), kCudnnMinVersion);
  ST_RETURN_IF_ERROR(library.status);
  return cudnn;
}

} // namespace

std::string Cudnn::version() const { return printVersion(static_cast<int64_t>(getVersion())); }

absl::Status Cudnn::check(int result, absl::string_view what) const {
  if (result == 0)
    return absl::OkStatus();
  char text[512] = "";
  getLastError(text, sizeof(text));
  // The first line of a possibly longer text.
  absl::string_view reason(text);
  reason = reason.substr(0, reason.find('\n'));
  return absl::UnavailableError(absl::StrCat("cuDNN: ", what, " failed (status ", result, ")",
                                             reason.empty() ? "" : ": ", reason));
}

absl::StatusOr<const Cudnn *> getCudnn() {
  static const absl::StatusOr<Cudnn> cudnn = openCudnn();
  ST_RETURN_IF_ERROR(cudnn.status());
  return &*cudnn;
}

absl::Status Nccl::check(int result, absl::string_view what) const {
  if (result == 0 || result == kNcclInProgress)
    return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("NCCL: ", what, " failed: ", getErrorString(result), " (", result, ")"));
}

absl::StatusOr<const Nccl *> getNccl() {
  static const absl::StatusOr<Nccl> nccl = openNccl();
  ST_RETURN_IF_ERROR(nccl.status());
  return &*nccl;
}

absl::Status Driver::check(int result, const char *what) const {
  if (result == 0)
    return absl::OkStatus();
  const char *text = nullptr;
  getErrorString(result, &text);
  return absl::UnavailableError(
      absl::StrCat(what, " failed: ", text ? text : "unknown error", " (", result, ")"));
}

absl::StatusOr<const Driver *> getDriver() {
  static const absl::StatusOr<Driver> driver = openDriver();
  ST_RETURN_IF_ERROR(driver.status());
  return &*driver;
}

absl::StatusOr<const BlasLt *> getBlasLt() {
  static const absl::StatusOr<BlasLt> blas = openBlasLt();
  ST_RETURN_IF_ERROR(blas.status());
  return &*blas;
}

} // namespace st::cuda
