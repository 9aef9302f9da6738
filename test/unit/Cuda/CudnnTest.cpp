// Compares declarations of cuDNN with its header, which scripts/setup.sh --tests fetches. If cuDNN
// is found, checks that it has engines for attention on GPUs that need not be present.
#include "backends/cuda/runtime/driver/DriverAttention.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <cstdlib>

#if __has_include(<cudnn_graph.h>)
#include "CalledAs.h"
#include <cudnn_graph.h>
#endif

namespace st::cuda {
namespace {

#if __has_include(<cudnn_graph.h>)
CALLED_AS(Cudnn::getVersion, cudnnGetVersion);
CALLED_AS(Cudnn::create, cudnnCreate);
CALLED_AS(Cudnn::destroy, cudnnDestroy);
CALLED_AS(Cudnn::setStream, cudnnSetStream);
CALLED_AS(Cudnn::createDesc, cudnnBackendCreateDescriptor);
CALLED_AS(Cudnn::destroyDesc, cudnnBackendDestroyDescriptor);
CALLED_AS(Cudnn::setAttribute, cudnnBackendSetAttribute);
CALLED_AS(Cudnn::getAttribute, cudnnBackendGetAttribute);
CALLED_AS(Cudnn::finalize, cudnnBackendFinalize);
CALLED_AS(Cudnn::execute, cudnnBackendExecute);
// It returns nothing.
static_assert(std::is_same_v<decltype(Cudnn::getLastError), decltype(&cudnnGetLastErrorString)>);

TEST(CudnnLibrary, DescriptorsAreThoseOfTheHeader) {
  EXPECT_LE(kCudnnMinVersion, static_cast<size_t>(CUDNN_VERSION));
  EXPECT_EQ(kCudnnPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  EXPECT_EQ(kCudnnEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  EXPECT_EQ(kCudnnHeuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  EXPECT_EQ(kCudnnPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  EXPECT_EQ(kCudnnPointwiseOp, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  EXPECT_EQ(kCudnnGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  EXPECT_EQ(kCudnnVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  EXPECT_EQ(kCudnnTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(kCudnnMatmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  EXPECT_EQ(kCudnnMatmulOp, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  EXPECT_EQ(kCudnnReduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  EXPECT_EQ(kCudnnReductionOp, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  EXPECT_EQ(kCudnnReshapeOp, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  EXPECT_EQ(kCudnnDeviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
}

TEST(CudnnLibrary, AttributesAreThoseOfTheHeader) {
  EXPECT_EQ(kCudnnReshapeOpX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
  EXPECT_EQ(kCudnnReshapeOpY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  EXPECT_EQ(kCudnnPointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
  EXPECT_EQ(kCudnnPointwisePrecision, CUDNN_ATTR_POINTWISE_MATH_PREC);
  EXPECT_EQ(kCudnnPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS);
  EXPECT_EQ(kCudnnHeuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE);
  EXPECT_EQ(kCudnnHeuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  EXPECT_EQ(kCudnnHeuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
  EXPECT_EQ(kCudnnHeuristicsDevice, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  EXPECT_EQ(kCudnnPlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  EXPECT_EQ(kCudnnPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  EXPECT_EQ(kCudnnPlanDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  EXPECT_EQ(kCudnnPointwiseOpDesc, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  EXPECT_EQ(kCudnnPointwiseOpX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  EXPECT_EQ(kCudnnPointwiseOpB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  EXPECT_EQ(kCudnnPointwiseOpY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  EXPECT_EQ(kCudnnPointwiseOpT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
  EXPECT_EQ(kCudnnGraphOps, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  EXPECT_EQ(kCudnnTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  EXPECT_EQ(kCudnnTensorType, CUDNN_ATTR_TENSOR_DATA_TYPE);
  EXPECT_EQ(kCudnnTensorDims, CUDNN_ATTR_TENSOR_DIMENSIONS);
  EXPECT_EQ(kCudnnTensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
  EXPECT_EQ(kCudnnTensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
  EXPECT_EQ(kCudnnTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  EXPECT_EQ(kCudnnTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  EXPECT_EQ(kCudnnPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  EXPECT_EQ(kCudnnPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  EXPECT_EQ(kCudnnPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  EXPECT_EQ(kCudnnMatmulPrecision, CUDNN_ATTR_MATMUL_COMP_TYPE);
  EXPECT_EQ(kCudnnMatmulOpA, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  EXPECT_EQ(kCudnnMatmulOpB, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  EXPECT_EQ(kCudnnMatmulOpC, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  EXPECT_EQ(kCudnnMatmulOpDesc, CUDNN_ATTR_OPERATION_MATMUL_DESC);
  EXPECT_EQ(kCudnnReductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR);
  EXPECT_EQ(kCudnnReductionPrecision, CUDNN_ATTR_REDUCTION_COMP_TYPE);
  EXPECT_EQ(kCudnnReductionOpX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  EXPECT_EQ(kCudnnReductionOpY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  EXPECT_EQ(kCudnnReductionOpDesc, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  EXPECT_EQ(kCudnnDeviceJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  EXPECT_EQ(kCudnnPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  EXPECT_EQ(kCudnnGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
#pragma GCC diagnostic pop
}

TEST(CudnnLibrary, TypesAndModesAreThoseOfTheHeader) {
  EXPECT_EQ(kCudnnIdentity, CUDNN_POINTWISE_IDENTITY);
  EXPECT_EQ(kCudnnHandleType, CUDNN_TYPE_HANDLE);
  EXPECT_EQ(kCudnnDataTypeType, CUDNN_TYPE_DATA_TYPE);
  EXPECT_EQ(kCudnnBoolType, CUDNN_TYPE_BOOLEAN);
  EXPECT_EQ(kCudnnInt64Type, CUDNN_TYPE_INT64);
  EXPECT_EQ(kCudnnPointerType, CUDNN_TYPE_VOID_PTR);
  EXPECT_EQ(kCudnnHeuristicsType, CUDNN_TYPE_HEUR_MODE);
  EXPECT_EQ(kCudnnPointwiseType, CUDNN_TYPE_POINTWISE_MODE);
  EXPECT_EQ(kCudnnDescriptorType, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  EXPECT_EQ(kCudnnReductionType, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
  EXPECT_EQ(kCudnnCharType, CUDNN_TYPE_CHAR);
  EXPECT_EQ(kCudnnF32, CUDNN_DATA_FLOAT);
  EXPECT_EQ(kCudnnF16, CUDNN_DATA_HALF);
  EXPECT_EQ(kCudnnI32, CUDNN_DATA_INT32);
  EXPECT_EQ(kCudnnBF16, CUDNN_DATA_BFLOAT16);
  EXPECT_EQ(kCudnnBool, CUDNN_DATA_BOOLEAN);
  EXPECT_EQ(kCudnnAdd, CUDNN_POINTWISE_ADD);
  EXPECT_EQ(kCudnnMul, CUDNN_POINTWISE_MUL);
  EXPECT_EQ(kCudnnDiv, CUDNN_POINTWISE_DIV);
  EXPECT_EQ(kCudnnSub, CUDNN_POINTWISE_SUB);
  EXPECT_EQ(kCudnnExp, CUDNN_POINTWISE_EXP);
  EXPECT_EQ(kCudnnLog, CUDNN_POINTWISE_LOG);
  EXPECT_EQ(kCudnnGreaterEqual, CUDNN_POINTWISE_CMP_GE);
  EXPECT_EQ(kCudnnIndex, CUDNN_POINTWISE_GEN_INDEX);
  EXPECT_EQ(kCudnnSelect, CUDNN_POINTWISE_BINARY_SELECT);
  EXPECT_EQ(kCudnnReduceAdd, CUDNN_REDUCE_TENSOR_ADD);
  EXPECT_EQ(kCudnnReduceMax, CUDNN_REDUCE_TENSOR_MAX);
  EXPECT_EQ(kCudnnHeuristicsA, CUDNN_HEUR_MODE_A);
}
#else
TEST(CudnnLibrary, NumbersAreThoseOfTheHeader) { GTEST_SKIP() << "no header of cuDNN"; }
#endif

struct Gpu {
  const char *name;
  int version, multiprocessors, sharedBytes;
};

std::string describe(const Gpu &gpu) {
  return absl::StrCat(
      R"({"regsPerBlock": 65536, "warpSize": 32, "maxSharedMemoryPerBlock": 49152, )",
      R"("reservedSharedMemoryPerBlock": 1024, "oversizedSharedMemoryPerBlock": 0, )",
      R"("maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, )",
      R"("maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, )",
      R"("totalGlobalMem": 85520809984, "smClockRateKHz": 1410000, "memClockRateKHz": 1593000, )",
      R"("l2CacheSize": 41943040, "cudaDeviceId": 0, "driverVer": 13000, )",
      R"("maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], )",
      R"("multiProcessorCount": )", gpu.multiprocessors, R"(, "maxSharedMemoryPerBlockOptin": )",
      gpu.sharedBytes, R"(, "deviceVer": )", gpu.version, R"(, "deviceName": ")", gpu.name, "\"}");
}

/// Heads are adjacent in q, k and v, and contiguous matrices in o.
proto::CudaAttention attentionOf(int64_t length, int64_t depth) {
  proto::CudaAttention created;
  created.set_batch(8);
  created.set_heads(12);
  created.set_rows(length);
  created.set_columns(length);
  created.set_depth(depth);
  created.set_width(depth);
  created.set_type(proto::BF16);
  created.set_scale(1);
  for (proto::CudaHeads *heads :
       {created.mutable_q(), created.mutable_k(), created.mutable_v(), created.mutable_o()}) {
    heads->set_batch(12 * length * depth);
    heads->set_head(depth);
    heads->set_row(12 * depth);
  }
  created.mutable_o()->set_head(length * depth);
  created.mutable_o()->set_row(depth);
  return created;
}

/// The same as a gradient: do, dq, dk and dv have the layout of o.
proto::CudaAttention gradientOf(proto::CudaAttention attention) {
  *attention.mutable_d_o() = attention.q();
  for (proto::CudaHeads *heads :
       {attention.mutable_d_q(), attention.mutable_d_k(), attention.mutable_d_v()})
    *heads = attention.o();
  attention.clear_o();
  attention.clear_max();
  attention.clear_sum();
  return attention;
}

/// The same with keys and values that `group` heads share. The compiler gives a single head no
/// stride.
proto::CudaAttention groupedOf(proto::CudaAttention attention, int64_t group) {
  for (proto::CudaHeads *heads : {attention.mutable_k(), attention.mutable_v()}) {
    heads->set_batch(heads->batch() / group);
    heads->set_row(heads->row() / group);
    heads->set_group(group);
    if (group == attention.heads())
      heads->set_head(0);
  }
  return attention;
}

proto::CudaHeads biasOf(int64_t batch, int64_t head, int64_t row) {
  proto::CudaHeads created;
  created.set_batch(batch);
  created.set_head(head);
  created.set_row(row);
  return created;
}

class CudnnPlans : public testing::TestWithParam<Gpu> {};

// Without a GPU, test/e2e/cuda/test_cudnn_plans.py runs it.
TEST_P(CudnnPlans, AttentionHasAnEngine) {
  if (!std::getenv("ST_CUDNN_PLANS"))
    GTEST_SKIP() << "ST_CUDNN_PLANS is not set";
  absl::StatusOr<std::unique_ptr<CudnnHandle>> handle = CudnnHandle::describe(describe(GetParam()));
  ASSERT_TRUE(handle.ok()) << handle.status();
  auto expectPlan = [&](const char *name, const proto::CudaAttention &attention) {
    SCOPED_TRACE(name);
    for (const proto::CudaAttention &each : {attention, gradientOf(attention)}) {
      SCOPED_TRACE(each.has_o() ? "forward" : "gradient");
      absl::Status created = DriverAttention::create(**handle, each, int64_t{1} << 30).status();
      EXPECT_TRUE(created.ok()) << created;
    }
  };
  proto::CudaAttention attention = attentionOf(512, 64);
  expectPlan("plain", attention);
  attention.set_scale(0.125);
  expectPlan("scaled", attention);
  attention.mutable_max();
  attention.mutable_sum();
  expectPlan("with the maxima and sums of rows", attention);
  attention.set_causal(true);
  expectPlan("causal, with the maxima and sums of rows", attention);
  attention = attentionOf(512, 64);
  attention.set_causal(true);
  attention.set_type(proto::F16);
  expectPlan("causal, of f16", attention);
  attention = attentionOf(512, 64);
  *attention.mutable_bias() = biasOf(0, 0, 512);
  expectPlan("a bias of rows and columns", attention);
  *attention.mutable_bias() = biasOf(512, 0, 0);
  expectPlan("a bias of columns of a batch", attention);
  attention.mutable_max();
  attention.mutable_sum();
  expectPlan("a bias of columns of a batch, with the maxima and sums of rows", attention);
  for (int64_t group : {4, 12}) {
    attention = groupedOf(attentionOf(512, 64), group);
    attention.set_causal(true);
    attention.mutable_max();
    attention.mutable_sum();
    expectPlan(absl::StrCat("causal, groups of ", group, " heads").c_str(), attention);
  }
  for (auto [length, depth] : {std::pair(1024, 128), {500, 64}, {32, 16}}) {
    attention = attentionOf(length, depth);
    attention.set_causal(true);
    expectPlan(absl::StrCat("causal, ", length, " x ", depth).c_str(), attention);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnPlans,
                         testing::Values(Gpu{"NVIDIA H100 80GB HBM3", 900, 132, 232448},
                                         Gpu{"NVIDIA A100-SXM4-80GB", 800, 108, 166912}),
                         [](const auto &info) {
                           return absl::StrCat("sm_", info.param.version / 10);
                         });

} // namespace
} // namespace st::cuda
