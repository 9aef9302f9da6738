// The functions of NVIDIA's libraries in use, found at run time, so a training binary can be built
// and started without CUDA. Names and numbers are those of cuda.h, cublasLt.h and nccl.h; a test
// compares them where those headers are installed.
#ifndef ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_DRIVERLIBRARIES_H
#define ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_DRIVERLIBRARIES_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstddef>
#include <cstdint>

namespace st::cuda {

using DevicePointer = unsigned long long;
using DeviceNumber = int;
using Handle = void *; ///< of a context, a module, a function, a stream

constexpr int kMaxSharedBytes = 8; // of a function: the maximum that a launch may request
constexpr int kMaxPitch = 11, kCapabilityMajor = 75, kCapabilityMinor = 76; // of a device
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;                      // options of a module
constexpr unsigned kStreamNonBlocking = 1, kEventDisableTiming = 2, kMemoryUnified = 4;
constexpr int kErrorInvalidValue = 1; // of an argument
constexpr int kNotReady = 600;        // a result, not an error
constexpr int kCaptureOfThread = 1;   // other threads may use calls that a capture does not allow

struct Copy2D {
  size_t sourceX = 0, sourceY = 0;
  unsigned sourceType = kMemoryUnified;
  const void *sourceHost = nullptr;
  DevicePointer source = 0;
  Handle sourceArray = nullptr;
  size_t sourcePitch = 0;
  size_t targetX = 0, targetY = 0;
  unsigned targetType = kMemoryUnified;
  void *targetHost = nullptr;
  DevicePointer target = 0;
  Handle targetArray = nullptr;
  size_t targetPitch = 0;
  size_t width = 0, height = 0;
};

/// The driver. Functions return 0 or the number of an error.
struct Driver {
  int (*init)(unsigned flags);
  int (*getErrorString)(int error, const char **text);
  int (*getDeviceCount)(int *count);
  int (*getDevice)(DeviceNumber *device, int ordinal);
  int (*getName)(char *name, int bytes, DeviceNumber device);
  int (*getUuid)(char uuid[16], DeviceNumber device);
  int (*getAttribute)(int *value, int attribute, DeviceNumber device);
  int (*retainContext)(Handle *context, DeviceNumber device);
  int (*releaseContext)(DeviceNumber device);
  int (*setContext)(Handle context);
  int (*canAccessPeer)(int *can, DeviceNumber device, DeviceNumber peer);
  int (*enablePeer)(Handle context, unsigned flags);
  int (*allocate)(DevicePointer *memory, size_t bytes);
  int (*release)(DevicePointer memory);
  int (*setBytes)(DevicePointer memory, unsigned char value, size_t bytes, Handle stream);
  int (*setBytes2D)(DevicePointer memory, size_t pitch, unsigned char value, size_t width,
                    size_t height, Handle stream);
  int (*setWords)(DevicePointer memory, unsigned value, size_t words, Handle stream);
  int (*allocatePinned)(void **memory, size_t bytes);
  int (*releasePinned)(void *memory);
  int (*copyToDevice)(DevicePointer to, const void *from, size_t bytes, Handle stream);
  int (*copyFromDevice)(void *to, DevicePointer from, size_t bytes, Handle stream);
  int (*copy)(DevicePointer to, DevicePointer from, size_t bytes, Handle stream);
  int (*copy2D)(const Copy2D *copy, Handle stream);
  int (*loadModule)(Handle *module, const void *image, unsigned options, int *names, void **values);
  int (*unloadModule)(Handle module);
  int (*getFunction)(Handle *function, Handle module, const char *name);
  int (*setFunctionAttribute)(Handle function, int attribute, int value);
  int (*launch)(Handle function, unsigned blocksX, unsigned blocksY, unsigned blocksZ,
                unsigned threadsX, unsigned threadsY, unsigned threadsZ, unsigned sharedBytes,
                Handle stream, void **arguments, void **extra);
  int (*createStream)(Handle *stream, unsigned flags);
  int (*destroyStream)(Handle stream);
  int (*synchronize)(Handle stream);
  int (*isStreamDone)(Handle stream);
  int (*createEvent)(Handle *event, unsigned flags);
  int (*destroyEvent)(Handle event);
  int (*record)(Handle event, Handle stream);
  int (*isEventReached)(Handle event);
  int (*getElapsedTime)(float *milliseconds, Handle begin, Handle end);
  int (*waitForEventOnHost)(Handle event);
  int (*waitForEvent)(Handle stream, Handle event, unsigned flags);
  int (*beginCapture)(Handle stream, int mode);
  int (*endCapture)(Handle stream, Handle *graph);
  int (*instantiate)(Handle *executable, Handle graph, unsigned long long flags);
  int (*launchGraph)(Handle executable, Handle stream);
  int (*destroyGraph)(Handle graph);
  int (*destroyExecutable)(Handle executable);

  /// Turns a driver error into a status with the attempted operation.
  absl::Status check(int result, const char *what) const;
};

/// Loaded and initialised once per process.
absl::StatusOr<const Driver *> getDriver();

constexpr int kTypeF32 = 0, kTypeF64 = 1, kTypeF16 = 2, kTypeBF16 = 14;
constexpr int kComputeF32 = 68, kComputeF64 = 70, kComputeTf32 = 77;
constexpr int kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7, kDescBias = 8; // of a product
constexpr int kDescAux = 11, kDescAuxLeading = 12;
constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6; // of a matrix
constexpr int kPreferWorkspace = 1, kPreferAlignmentA = 5;   // then B, C and D
constexpr uint32_t kEpilogueDefault = 1, kEpilogueBias = 4;
constexpr uint32_t kEpilogueGelu = 32, kEpilogueGeluAux = 160, kEpilogueGeluGradient = 192;
constexpr uint32_t kEpilogueSumsA = 256, kEpilogueSumsB = 512; // of cuBLASLt's a and b

struct ProductAlgorithm {
  uint64_t algorithm[8];
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};

/// cuBLASLt: products with fused epilogues.
struct BlasLt {
  size_t (*getVersion)();
  int (*create)(Handle *library);
  int (*createDesc)(Handle *desc, int computeType, int scaleType);
  int (*setDesc)(Handle desc, int attribute, const void *value, size_t bytes);
  int (*destroyDesc)(Handle desc);
  int (*createLayout)(Handle *layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*setLayout)(Handle layout, int attribute, const void *value, size_t bytes);
  int (*destroyLayout)(Handle layout);
  int (*createPreference)(Handle *preference);
  int (*setPreference)(Handle preference, int attribute, const void *value, size_t bytes);
  int (*destroyPreference)(Handle preference);
  int (*choose)(Handle library, Handle desc, Handle a, Handle b, Handle c, Handle d,
                Handle preference, int most, ProductAlgorithm *found, int *count);
  /// Checks whether an algorithm from an earlier run is valid for this product.
  int (*accepts)(Handle library, Handle desc, Handle a, Handle b, Handle c, Handle d,
                 const void *algorithm, ProductAlgorithm *result);
  int (*multiply)(Handle library, Handle desc, const void *alpha, const void *a, Handle aLayout,
                  const void *b, Handle bLayout, const void *beta, const void *c, Handle cLayout,
                  void *d, Handle dLayout, const void *algorithm, void *workspace,
                  size_t workspaceBytes, Handle stream);
};

/// Loaded once per process.
absl::StatusOr<const BlasLt *> getBlasLt();

constexpr int kNcclInProgress = 7, kNcclBytes = 0;
constexpr int kNcclMinVersion = 21400; // 2.14: the first version with non-blocking communicators

struct NcclId {
  char bytes[128];
};

/// The settings of the first NCCL version with this structure. Later versions treat the fields that
/// they added as unset.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = kNcclMinVersion;
  int blocking = 0;
};

/// NCCL: messages between GPUs.
struct Nccl {
  int (*getVersion)(int *version);
  const char *(*getErrorString)(int result);
  int (*getUniqueId)(NcclId *id);
  int (*init)(Handle *communicator, int ranks, NcclId id, int rank, const NcclConfig *config);
  int (*getAsyncError)(Handle communicator, int *result);
  int (*abort)(Handle communicator);
  int (*startGroup)();
  int (*endGroup)();
  int (*send)(const void *from, size_t count, int type, int peer, Handle communicator,
              Handle stream);
  int (*receive)(void *to, size_t count, int type, int peer, Handle communicator, Handle stream);

  /// Turns an NCCL error into a status with the attempted operation. "In progress" is not an error.
  absl::Status check(int result, absl::string_view what) const;
};

/// Loaded once per process.
absl::StatusOr<const Nccl *> getNccl();

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_DRIVERLIBRARIES_H
