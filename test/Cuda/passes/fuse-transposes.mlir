// RUN: st-opt --fuse-transposes %s | FileCheck %s

// If only a transpose reads a product, the kernel writes the transposed result: rows of 16 elements, 4 adjacent heads.
// CHECK-LABEL: func.func @turned
// CHECK: %[[R:.*]] = st.kernel "attention" {{.*}} -> tensor<2x8x4x16xbf16>
// CHECK: %[[O:.*]] = stablehlo.dot_general {{.*}} -> tensor<2x4x8x16xbf16>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[O]], dims = [0, 2, 1, 3]
// CHECK: st.yield %[[T]]
// CHECK-NOT: st.kernel "copy"
// CHECK: return %[[R]]
func.func @turned(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x4x8x16xbf16>) -> tensor<2x8x4x16xbf16> {
  %k = st.kernel "attention" (%a = %0 : tensor<2x4x8x16xbf16>, %b = %1 : tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xbf16> {
    %s = stablehlo.dot_general %a, %b, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>) -> tensor<2x4x8x8xbf16>
    %e = stablehlo.tanh %s : tensor<2x4x8x8xbf16>
    %o = stablehlo.dot_general %e, %b, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x4x8x8xbf16>, tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xbf16>
    st.yield %o : tensor<2x4x8x16xbf16>
  }
  %t = st.kernel "copy" (%a = %k : tensor<2x4x8x16xbf16>) -> tensor<2x8x4x16xbf16> {
    %x = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<2x4x8x16xbf16>) -> tensor<2x8x4x16xbf16>
    st.yield %x : tensor<2x8x4x16xbf16>
  }
  return %t : tensor<2x8x4x16xbf16>
}

// A value with another user, scores, and a value that is not only transposed do not change.
// CHECK-LABEL: func.func @others
// CHECK-NOT: stablehlo.transpose
// CHECK-COUNT-3: st.kernel "copy"
func.func @others(%0: tensor<2x4x8x16xf32>, %1: tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x8xf32>, tensor<8x2x4x16xf32>) {
  %k:3 = st.kernel "attention" (%a = %0 : tensor<2x4x8x16xf32>, %b = %1 : tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) {
    %s = stablehlo.dot_general %a, %b, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
    %e = stablehlo.tanh %s : tensor<2x4x8x8xf32>
    %o = stablehlo.dot_general %e, %b, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
    %p = stablehlo.dot_general %e, %a, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
    st.yield %o, %e, %p : tensor<2x4x8x16xf32>, tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>
  }
  %t = st.kernel "copy" (%a = %k#0 : tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32> {
    %x = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
    st.yield %x : tensor<2x8x4x16xf32>
  }
  %u = st.kernel "copy" (%a = %k#1 : tensor<2x4x8x8xf32>) -> tensor<2x8x4x8xf32> {
    %x = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<2x4x8x8xf32>) -> tensor<2x8x4x8xf32>
    st.yield %x : tensor<2x8x4x8xf32>
  }
  %v = st.kernel "copy" (%a = %k#2 : tensor<2x4x8x16xf32>) -> tensor<8x2x4x16xf32> {
    %x = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
    %y = stablehlo.transpose %x, dims = [1, 0, 2, 3] : (tensor<2x8x4x16xf32>) -> tensor<8x2x4x16xf32>
    st.yield %y : tensor<8x2x4x16xf32>
  }
  return %k#0, %t, %u, %v : tensor<2x4x8x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x8xf32>, tensor<8x2x4x16xf32>
}
