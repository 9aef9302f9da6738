// RUN: st-opt --expand-branches %s | FileCheck %s

// All branches are computed, in the block of the conditional; a loop in one runs only if it is taken.
// CHECK-LABEL: @main
// CHECK-NOT: stablehlo.case
// CHECK-NOT: stablehlo.if
func.func @main(%x: tensor<4xf32>, %i: tensor<i32>, %p: tensor<i1>) -> tensor<4xf32> {
  // CHECK: %[[FIRST:.*]] = stablehlo.compare EQ, %arg1, %{{.*}}
  // CHECK: %[[OTHER:.*]] = stablehlo.xor %[[FIRST]],
  // CHECK: %[[LOOP:.*]] = stablehlo.while(%{{.*}} = %arg0) : tensor<4xf32> attributes {st.block = 3 : i64}
  // CHECK: %[[GO:.*]] = stablehlo.and %{{.*}}, %[[OTHER]]
  // CHECK: stablehlo.return %[[GO]]
  // CHECK: %[[TANH:.*]] = stablehlo.tanh %arg0 {st.block = 3 : i64}
  // CHECK: %[[CHOSEN:.*]] = stablehlo.select %[[FIRST]], %[[TANH]], %[[LOOP]]
  %0 = "stablehlo.case"(%i) ({
    %1 = stablehlo.tanh %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %2 = stablehlo.while(%v = %x) : tensor<4xf32>
      cond {
      %3 = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      stablehlo.return %v : tensor<4xf32>
    }
    stablehlo.return %2 : tensor<4xf32>
  }) {st.block = 3 : i64} : (tensor<i32>) -> tensor<4xf32>
  // CHECK: stablehlo.select %arg2, %[[CHOSEN]], %arg0
  %4 = "stablehlo.if"(%p) ({
    stablehlo.return %0 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
