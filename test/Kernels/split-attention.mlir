// RUN: st-opt --split-attention %s | FileCheck %s
// RUN: st-opt --split-attention=streamed-only %s | FileCheck %s --check-prefix=STREAMED

// The product that contracts the rows gets a separate kernel, which recomputes them and reads the sums of rows.
// CHECK-LABEL: func.func @both
// CHECK: %[[K:.*]]:2 = st.kernel "attention" (%[[A:.*]] = %arg0 : {{.*}}, %[[B:.*]] = %arg1 : tensor<6x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>)
// CHECK: %[[S:.*]] = stablehlo.dot_general %[[A]], %[[B]]
// CHECK: %[[Z:.*]] = stablehlo.reduce(%[[S]]
// CHECK: %[[D:.*]] = stablehlo.subtract
// CHECK: %[[Q:.*]] = stablehlo.dot_general %[[D]], %[[B]]
// CHECK-NEXT: st.yield %[[Q]], %[[Z]]
// CHECK: %[[C:.*]] = st.kernel "attention" (%[[A:.*]] = %arg0 : {{.*}}, %[[B:.*]] = %arg1 : {{.*}}, %[[G:.*]] = %arg2 : {{.*}}, %[[Z:.*]] = %[[K]]#1 : tensor<8xf32>) -> tensor<6x4xf32>
// CHECK: %[[S:.*]] = stablehlo.dot_general %[[A]], %[[B]]
// CHECK-NOT: stablehlo.reduce
// CHECK: stablehlo.broadcast_in_dim %[[Z]]
// CHECK: %[[D:.*]] = stablehlo.subtract %[[S]]
// CHECK: stablehlo.dot_general %[[D]], %[[G]], contracting_dims = [0] x [0]
// CHECK: return %[[K]]#0, %[[C]]
func.func @both(%0: tensor<8x4xf32>, %1: tensor<6x4xf32>, %2: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<6x4xf32>) {
  %k:2 = st.kernel "attention" (%a = %0 : tensor<8x4xf32>, %b = %1 : tensor<6x4xf32>, %g = %2 : tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<6x4xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
    %z = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
    %w = stablehlo.broadcast_in_dim %z, dims = [0] : (tensor<8xf32>) -> tensor<8x6xf32>
    %d = stablehlo.subtract %s, %w : tensor<8x6xf32>
    %q = stablehlo.dot_general %d, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %c = stablehlo.dot_general %d, %g, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    st.yield %q, %c : tensor<8x4xf32>, tensor<6x4xf32>
  }
  return %k#0, %k#1 : tensor<8x4xf32>, tensor<6x4xf32>
}

// Nothing is split if no product contracts the rows, or if all do.
// CHECK-LABEL: func.func @one
// CHECK-COUNT-1: st.kernel
// CHECK-NOT: st.kernel
func.func @one(%0: tensor<8x4xf32>, %1: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %k = st.kernel "attention" (%a = %0 : tensor<8x4xf32>, %b = %1 : tensor<6x4xf32>) -> tensor<6x4xf32> {
    %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
    %t = stablehlo.tanh %s : tensor<8x6xf32>
    %c = stablehlo.dot_general %t, %a, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    st.yield %c : tensor<6x4xf32>
  }
  return %k : tensor<6x4xf32>
}

// An operand that occurs twice becomes one argument.
// CHECK-LABEL: func.func @twice
// CHECK: st.kernel "attention" (%[[A:.*]] = %arg0 : tensor<8x4xf32>, %[[B:.*]] = %arg1 : tensor<6x4xf32>) ->
// CHECK: stablehlo.dot_general %{{.*}}, %[[A]], contracting_dims = [0] x [0]
func.func @twice(%0: tensor<8x4xf32>, %1: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %k = st.kernel "attention" (%a = %0 : tensor<8x4xf32>, %b = %1 : tensor<6x4xf32>, %c = %0 : tensor<8x4xf32>) -> tensor<6x4xf32> {
    %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
    %t = stablehlo.tanh %s : tensor<8x6xf32>
    %d = stablehlo.dot_general %t, %c, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    st.yield %d : tensor<6x4xf32>
  }
  return %k : tensor<6x4xf32>
}

// A core that holds full rows computes all products in one kernel. Both parts of a kernel that streams rows stream them.
// STREAMED-LABEL: func.func @both
// STREAMED-COUNT-1: st.kernel
// STREAMED-NOT: st.kernel
// STREAMED-LABEL: func.func @one
// STREAMED-LABEL: func.func @streamed
// STREAMED: %[[Q:.*]] = st.kernel "attention" {{.*}} -> tensor<8x4xf32> attributes {st.streamed}
// STREAMED: %[[C:.*]] = st.kernel "attention" {{.*}} -> tensor<6x4xf32> attributes {st.streamed}
// STREAMED: return %[[Q]], %[[C]]
// CHECK-LABEL: func.func @streamed
// CHECK-COUNT-2: st.kernel
func.func @streamed(%0: tensor<8x4xf32>, %1: tensor<6x4xf32>) -> (tensor<8x4xf32>, tensor<6x4xf32>) {
  %k:2 = st.kernel "attention" (%a = %0 : tensor<8x4xf32>, %b = %1 : tensor<6x4xf32>) -> (tensor<8x4xf32>, tensor<6x4xf32>) attributes {st.streamed} {
    %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
    %t = stablehlo.tanh %s : tensor<8x6xf32>
    %q = stablehlo.dot_general %t, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %c = stablehlo.dot_general %t, %a, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    st.yield %q, %c : tensor<8x4xf32>, tensor<6x4xf32>
  }
  return %k#0, %k#1 : tensor<8x4xf32>, tensor<6x4xf32>
}
