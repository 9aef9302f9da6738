// The cuDNN functions in use, found at run time. Names and numbers are those of cudnn_graph.h; a
// test compares them where that header is installed.
#ifndef ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_CUDNNLIBRARY_H
#define ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_CUDNNLIBRARY_H

#include "backends/cuda/runtime/libraries/DriverLibraries.h"

#include <string>

namespace st::cuda {

/// 9.13: the first version whose attention returns the maximum and the sum of each row.
constexpr size_t kCudnnMinVersion = 91300;

/// Kinds of descriptors.
enum CudnnKind : int {
  kCudnnPointwise = 0,
  kCudnnEngineConfig = 3,
  kCudnnHeuristics = 4,
  kCudnnPlan = 5,
  kCudnnPointwiseOp = 13,
  kCudnnGraph = 15,
  kCudnnVariantPack = 16,
  kCudnnTensor = 17,
  kCudnnMatmul = 18,
  kCudnnMatmulOp = 19,
  kCudnnReduction = 21,
  kCudnnReductionOp = 22,
  kCudnnReshapeOp = 31,
  kCudnnDeviceProperties = 38,
};

/// Attributes of descriptors.
enum CudnnAttribute : int {
  kCudnnPointwiseMode = 0,
  kCudnnPointwisePrecision = 1,
  kCudnnPointwiseAxis = 9,
  kCudnnHeuristicsMode = 200,
  kCudnnHeuristicsGraph = 201,
  kCudnnHeuristicsResults = 202,
  kCudnnHeuristicsDevice = 204,
  kCudnnPlanHandle = 400,
  kCudnnPlanConfig = 401,
  kCudnnPlanWorkspace = 402,
  kCudnnPlanDevice = 407,
  kCudnnPointwiseOpDesc = 750,
  kCudnnPointwiseOpX = 751,
  kCudnnPointwiseOpB = 752,
  kCudnnPointwiseOpY = 753,
  kCudnnPointwiseOpT = 758,
  kCudnnGraphHandle = 800,
  kCudnnGraphOps = 801,
  kCudnnTensorAlignment = 900,
  kCudnnTensorType = 901,
  kCudnnTensorDims = 902,
  kCudnnTensorStrides = 903,
  kCudnnTensorId = 906,
  kCudnnTensorIsVirtual = 907,
  kCudnnTensorIsByValue = 908,
  kCudnnPackIds = 1000,
  kCudnnPackPointers = 1001,
  kCudnnPackWorkspace = 1003,
  kCudnnMatmulPrecision = 1500,
  kCudnnMatmulOpA = 1520,
  kCudnnMatmulOpB = 1521,
  kCudnnMatmulOpC = 1522,
  kCudnnMatmulOpDesc = 1523,
  kCudnnReductionOperator = 1600,
  kCudnnReductionPrecision = 1601,
  kCudnnReductionOpX = 1610,
  kCudnnReductionOpY = 1611,
  kCudnnReductionOpDesc = 1612,
  kCudnnReshapeOpX = 2200,
  kCudnnReshapeOpY = 2201,
  kCudnnDeviceJson = 2702,
};

/// Types of attributes.
enum CudnnType : int {
  kCudnnHandleType = 0,
  kCudnnDataTypeType = 1,
  kCudnnBoolType = 2,
  kCudnnInt64Type = 3,
  kCudnnPointerType = 6,
  kCudnnHeuristicsType = 8,
  kCudnnPointwiseType = 14,
  kCudnnDescriptorType = 15,
  kCudnnReductionType = 18,
  kCudnnCharType = 24,
};

/// Types of elements.
enum CudnnData : int {
  kCudnnF32 = 0,
  kCudnnF16 = 2,
  kCudnnI32 = 4,
  kCudnnBF16 = 9,
  kCudnnBool = 11,
};

enum CudnnPointwiseOp : int {
  kCudnnAdd = 0,
  kCudnnMul = 1,
  kCudnnDiv = 6,
  kCudnnSub = 9,
  kCudnnExp = 13,
  kCudnnLog = 15,
  kCudnnIdentity = 21,
  kCudnnGreaterEqual = 303,
  kCudnnIndex = 501,
  kCudnnSelect = 601,
};

constexpr int kCudnnReduceAdd = 0, kCudnnReduceMax = 3;
constexpr int kCudnnHeuristicsA = 3;

/// cuDNN's graphs of operations.
struct Cudnn {
  size_t (*getVersion)();
  void (*getLastError)(char *text, size_t bytes);
  int (*create)(Handle *library);
  int (*destroy)(Handle library);
  int (*setStream)(Handle library, Handle stream);
  int (*createDesc)(int kind, Handle *desc);
  int (*destroyDesc)(Handle desc);
  int (*setAttribute)(Handle desc, int attribute, int type, int64_t count, const void *elements);
  int (*getAttribute)(Handle desc, int attribute, int type, int64_t most, int64_t *count,
                      void *elements);
  int (*finalize)(Handle desc);
  int (*execute)(Handle library, Handle plan, Handle variantPack);

  /// "9.19.0".
  std::string version() const;
  /// Turns a cuDNN error into a status, with the attempted operation and cuDNN's message.
  absl::Status check(int result, absl::string_view what) const;
};

/// Loaded once per process. Unavailable, with the reason, if cuDNN is missing or too old.
absl::StatusOr<const Cudnn *> getCudnn();

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_CUDNNLIBRARY_H
