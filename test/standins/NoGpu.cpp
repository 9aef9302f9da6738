// A libcuda.so.1 without a GPU, for which cuDNN builds plans that do not run: code can be loaded,
// and everything else is an error. NVIDIA's cuDNN requires these names, and tests put this library
// first on the library path.
#include <cstddef>

namespace {
constexpr int kSuccess = 0, kStubLibrary = 34;
char anything; // that a handle may point to
} // namespace

extern "C" {

int cuLibraryLoadData(void **library, const void *, void *, void *, unsigned, void *, void *,
                      unsigned) {
  *library = &anything;
  return kSuccess;
}
int cuLibraryGetKernel(void **kernel, void *, const char *) {
  *kernel = &anything;
  return kSuccess;
}
int cuModuleLoadData(void **module, const void *) {
  *module = &anything;
  return kSuccess;
}
int cuModuleGetFunction(void **function, void *, const char *) {
  *function = &anything;
  return kSuccess;
}
int cuKernelGetAttribute(int *value, int, void *, int) {
  *value = 0;
  return kSuccess;
}
int cuFuncGetAttribute(int *value, int, void *) {
  *value = 0;
  return kSuccess;
}
int cuKernelSetAttribute() { return kSuccess; }
int cuFuncSetAttribute() { return kSuccess; }
int cuLibraryUnload() { return kSuccess; }
int cuGetErrorString(int, const char **text) {
  *text = "there is no GPU";
  return kSuccess;
}
int cuGetErrorName(int, const char **name) {
  *name = "CUDA_ERROR_STUB_LIBRARY";
  return kSuccess;
}

#define ST_NOT_THERE(NAME)                                                                         \
  int NAME() { return kStubLibrary; }
ST_NOT_THERE(cuCtxGetCurrent)
ST_NOT_THERE(cuCtxGetDevice)
ST_NOT_THERE(cuCtxGetLimit)
ST_NOT_THERE(cuCtxPopCurrent)
ST_NOT_THERE(cuCtxPushCurrent)
ST_NOT_THERE(cuDeviceGet)
ST_NOT_THERE(cuDeviceGetAttribute)
ST_NOT_THERE(cuDeviceGetCount)
ST_NOT_THERE(cuDevicePrimaryCtxRelease)
ST_NOT_THERE(cuDevicePrimaryCtxReset)
ST_NOT_THERE(cuDevicePrimaryCtxRetain)
ST_NOT_THERE(cuDriverGetVersion)
ST_NOT_THERE(cuInit)
ST_NOT_THERE(cuLaunchCooperativeKernel)
ST_NOT_THERE(cuLaunchKernel)
ST_NOT_THERE(cuLaunchKernelEx)
ST_NOT_THERE(cuLibraryLoadFromFile)
ST_NOT_THERE(cuLinkAddData)
ST_NOT_THERE(cuLinkAddData_v2)
ST_NOT_THERE(cuLinkAddFile_v2)
ST_NOT_THERE(cuLinkComplete)
ST_NOT_THERE(cuLinkCreate)
ST_NOT_THERE(cuLinkCreate_v2)
ST_NOT_THERE(cuLinkDestroy)
ST_NOT_THERE(cuMemcpyDtoH_v2)
ST_NOT_THERE(cuModuleGetGlobal_v2)
ST_NOT_THERE(cuModuleLoadDataEx)
ST_NOT_THERE(cuModuleLoadFatBinary)
ST_NOT_THERE(cuModuleUnload)
ST_NOT_THERE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
ST_NOT_THERE(cuOccupancyMaxPotentialClusterSize)
ST_NOT_THERE(cuStreamGetCtx)
ST_NOT_THERE(cuStreamSynchronize)
ST_NOT_THERE(cuTensorMapEncodeTiled)

} // extern "C"
