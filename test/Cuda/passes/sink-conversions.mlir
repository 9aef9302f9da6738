// RUN: st-opt --sink-conversions %s | FileCheck %s

// Loops and reductions convert their operands themselves, at each read.
// CHECK-LABEL: func.func @readers
// CHECK-NOT: stablehlo.convert
// CHECK: %[[S:.*]] = st.kernel "reduce" (%[[A:.*]] = %arg0 : tensor<4x8xbf16>, %[[B:.*]] = %arg1 : tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[W:.*]] = stablehlo.convert %[[A]] : (tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK: stablehlo.reduce(%[[W]]
// CHECK: %[[T:.*]] = st.kernel "loop" (%[[A:.*]] = %arg0 : tensor<4x8xbf16>, %[[B:.*]] = %arg0 : tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK-DAG: %[[V:.*]] = stablehlo.convert %[[A]]
// CHECK-DAG: %[[W:.*]] = stablehlo.convert %[[B]]
// CHECK: stablehlo.multiply %[[V]], %[[W]]
// CHECK: return %[[S]], %[[T]]
func.func @readers(%0: tensor<4x8xbf16>, %1: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %w = st.kernel "loop" (%a = %0 : tensor<4x8xbf16>) -> tensor<4x8xf32> {
    %c = stablehlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf32>
    st.yield %c : tensor<4x8xf32>
  }
  %s = st.kernel "reduce" (%a = %w : tensor<4x8xf32>, %b = %1 : tensor<8xf32>) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %t = stablehlo.add %r, %b : tensor<8xf32>
    st.yield %t : tensor<8xf32>
  }
  %t = st.kernel "loop" (%a = %w : tensor<4x8xf32>, %b = %w : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %c = stablehlo.multiply %a, %b : tensor<4x8xf32>
    st.yield %c : tensor<4x8xf32>
  }
  return %s, %t : tensor<8xf32>, tensor<4x8xf32>
}

// A conversion with another user is still written; narrowing conversions and those with other ops stay.
// CHECK-LABEL: func.func @others
// CHECK: %[[W:.*]] = st.kernel "loop" (%{{.*}} = %arg0 : tensor<4x8xf16>) -> tensor<4x8xf32>
// CHECK: st.kernel "loop" (%{{.*}} = %arg0 : tensor<4x8xf16>) -> tensor<4x8xf32>
// CHECK: %[[N:.*]] = st.kernel "loop" (%{{.*}} = %arg1 : tensor<4x8xf32>) -> tensor<4x8xf16>
// CHECK: st.kernel "loop" (%{{.*}} = %[[N]] : tensor<4x8xf16>)
// CHECK: %[[E:.*]] = st.kernel "loop" (%{{.*}} = %arg0 : tensor<4x8xf16>) -> tensor<4x8xf32>
// CHECK: stablehlo.exponential
// CHECK: st.kernel "loop" (%{{.*}} = %[[E]] : tensor<4x8xf32>)
// CHECK: return %[[W]]
func.func @others(%0: tensor<4x8xf16>, %1: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf32>) {
  %w = st.kernel "loop" (%a = %0 : tensor<4x8xf16>) -> tensor<4x8xf32> {
    %c = stablehlo.convert %a : (tensor<4x8xf16>) -> tensor<4x8xf32>
    st.yield %c : tensor<4x8xf32>
  }
  %t = st.kernel "loop" (%a = %w : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %c = stablehlo.tanh %a : tensor<4x8xf32>
    st.yield %c : tensor<4x8xf32>
  }
  %n = st.kernel "loop" (%a = %1 : tensor<4x8xf32>) -> tensor<4x8xf16> {
    %c = stablehlo.convert %a : (tensor<4x8xf32>) -> tensor<4x8xf16>
    st.yield %c : tensor<4x8xf16>
  }
  %u = st.kernel "loop" (%a = %n : tensor<4x8xf16>) -> tensor<4x8xf16> {
    %c = stablehlo.tanh %a : tensor<4x8xf16>
    st.yield %c : tensor<4x8xf16>
  }
  %e = st.kernel "loop" (%a = %0 : tensor<4x8xf16>) -> tensor<4x8xf32> {
    %c = stablehlo.convert %a : (tensor<4x8xf16>) -> tensor<4x8xf32>
    %d = stablehlo.exponential %c : tensor<4x8xf32>
    st.yield %d : tensor<4x8xf32>
  }
  %v = st.kernel "loop" (%a = %e : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %c = stablehlo.tanh %a : tensor<4x8xf32>
    st.yield %c : tensor<4x8xf32>
  }
  return %w, %t, %u, %v : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf32>
}
