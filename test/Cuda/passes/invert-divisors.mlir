// RUN: st-opt --invert-divisors %s | FileCheck %s

// A row has one divisor: its reciprocal, and a power of two that keeps it normal.
// CHECK-LABEL: func.func @rows
// CHECK: st.kernel "loop" (%[[A:.*]] = %arg0 : {{.*}}, %[[S:.*]] = %arg1 : {{.*}})
// CHECK-DAG: %[[SMALL:.*]] = stablehlo.constant dense<5.42101086E-20> : tensor<4xf32>
// CHECK-DAG: %[[LARGE:.*]] = stablehlo.constant dense<1.84467441E+19> : tensor<4xf32>
// CHECK-DAG: %[[ONE:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: %[[SIZE:.*]] = stablehlo.abs %[[S]]
// CHECK-DAG: %[[ISLARGE:.*]] = stablehlo.compare GE, %[[SIZE]], %[[LARGE]]
// CHECK-DAG: %[[ISSMALL:.*]] = stablehlo.compare LE, %[[SIZE]], %[[SMALL]]
// CHECK: %[[OTHER:.*]] = stablehlo.select %[[ISSMALL]], %[[LARGE]], %[[ONE]]
// CHECK: %[[C:.*]] = stablehlo.select %[[ISLARGE]], %[[SMALL]], %[[OTHER]]
// CHECK: %[[SC:.*]] = stablehlo.multiply %[[S]], %[[C]]
// CHECK: %[[R:.*]] = stablehlo.divide %[[ONE]], %[[SC]] : tensor<4xf32>
// CHECK: %[[CB:.*]] = stablehlo.broadcast_in_dim %[[C]], dims = [0]
// CHECK: %[[X:.*]] = stablehlo.multiply %[[A]], %[[CB]]
// CHECK: %[[RB:.*]] = stablehlo.broadcast_in_dim %[[R]], dims = [0]
// CHECK: %[[Y:.*]] = stablehlo.multiply %[[X]], %[[RB]]
// CHECK: st.yield %[[Y]]
func.func @rows(%0: tensor<4x8xf32>, %1: tensor<4xf32>) -> tensor<4x8xf32> {
  %k = st.kernel "loop" (%a = %0 : tensor<4x8xf32>, %s = %1 : tensor<4xf32>) -> tensor<4x8xf32> {
    %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
    %q = stablehlo.divide %a, %b : tensor<4x8xf32>
    st.yield %q : tensor<4x8xf32>
  }
  return %k : tensor<4x8xf32>
}

// The innermost dimension of more than one element counts.
// CHECK-LABEL: func.func @unit
// CHECK-NOT: stablehlo.divide {{.*}} : tensor<4x8x1xf32>
// CHECK: stablehlo.divide %{{.*}} : tensor<4x1xf32>
func.func @unit(%0: tensor<4x8x1xf32>, %1: tensor<4x1xf32>) -> tensor<4x8x1xf32> {
  %k = st.kernel "reduce" (%a = %0 : tensor<4x8x1xf32>, %s = %1 : tensor<4x1xf32>) -> tensor<4x8x1xf32> {
    %b = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x8x1xf32>
    %q = stablehlo.divide %a, %b : tensor<4x8x1xf32>
    st.yield %q : tensor<4x8x1xf32>
  }
  return %k : tensor<4x8x1xf32>
}

// Each column has a separate divisor; other types round after each op; attention kernels divide differently.
// CHECK-LABEL: func.func @stay
// CHECK: stablehlo.divide %{{.*}} : tensor<4x8xf32>
// CHECK: stablehlo.divide %{{.*}} : tensor<4x8xbf16>
// CHECK: stablehlo.divide %{{.*}} : tensor<4x4xf32>
func.func @stay(%0: tensor<4x8xf32>, %1: tensor<8xf32>, %2: tensor<4x8xbf16>, %3: tensor<4xbf16>, %4: tensor<4xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xf32>) {
  %k:2 = st.kernel "loop" (%a = %0 : tensor<4x8xf32>, %s = %1 : tensor<8xf32>, %c = %2 : tensor<4x8xbf16>, %t = %3 : tensor<4xbf16>)
      -> (tensor<4x8xf32>, tensor<4x8xbf16>) {
    %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %q = stablehlo.divide %a, %b : tensor<4x8xf32>
    %d = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<4xbf16>) -> tensor<4x8xbf16>
    %r = stablehlo.divide %c, %d : tensor<4x8xbf16>
    st.yield %q, %r : tensor<4x8xf32>, tensor<4x8xbf16>
  }
  %l = st.kernel "attention" (%a = %0 : tensor<4x8xf32>, %s = %4 : tensor<4xf32>) -> tensor<4x8xf32> {
    %p = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
    %q = stablehlo.divide %p, %b : tensor<4x4xf32>
    %o = stablehlo.dot_general %q, %a, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    st.yield %o : tensor<4x8xf32>
  }
  return %k#0, %k#1, %l : tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xf32>
}
