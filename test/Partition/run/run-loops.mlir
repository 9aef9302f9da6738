// A loop over layers with one weight, and its gradient summed in the loop, run unsharded and sharded.
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

st.mesh @mesh <["data"=2], micro=2>
func.func @main() -> (tensor<8x2xf32>, tensor<3x8x2xf32>, tensor<2x2xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<8x2xf32>
  %j = stablehlo.iota dim = 1 : tensor<8x2xf32>
  %x0 = stablehlo.subtract %i, %j : tensor<8x2xf32>
  %outside = stablehlo.add %i, %j : tensor<8x2xf32>
  %x = st.constrain %x0 to <@mesh, [{"micro", "data"}, {}]> : tensor<8x2xf32>
  %w = stablehlo.constant dense<[[1.0, 0.0], [-1.0, 1.0]]> : tensor<2x2xf32>
  %stack = stablehlo.constant dense<0.0> : tensor<3x8x2xf32>
  %total = stablehlo.constant dense<0.0> : tensor<2x2xf32>
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %3 = stablehlo.constant dense<3> : tensor<i32>

  // A batch goes through the loop in parts, and so do stacked values. Sums of products of the batch are
  // partial sums. The loop carries values from outside, so that they have parts.
  // CHECK: %[[LOOP:.*]]:6 = stablehlo.while(
  // CHECK-SAME: : tensor<i32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<3x2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
  // CHECK: stablehlo.iota dim = 0 : tensor<2x2xi32>
  // CHECK: st.axis_index
  // CHECK: dot_general {{.*}} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %loop:5 = stablehlo.while(%n = %0, %a = %x, %b = %w, %s = %stack, %t = %total) : tensor<i32>, tensor<8x2xf32>, tensor<2x2xf32>, tensor<3x8x2xf32>, tensor<2x2xf32>
   cond {
    %go = stablehlo.compare LT, %n, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %c = stablehlo.iota dim = 0 : tensor<8x2xf32>
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x2xf32>, tensor<2x2xf32>) -> tensor<8x2xf32>
    %o = stablehlo.subtract %d, %outside : tensor<8x2xf32>
    %e = stablehlo.add %o, %c : tensor<8x2xf32>
    %f = stablehlo.reshape %e : (tensor<8x2xf32>) -> tensor<1x8x2xf32>
    %g = stablehlo.dynamic_update_slice %s, %f, %n, %0, %0 : (tensor<3x8x2xf32>, tensor<1x8x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x2xf32>
    %h = stablehlo.dot_general %a, %e, contracting_dims = [0] x [0] : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
    %k = stablehlo.add %t, %h : tensor<2x2xf32>
    %m = stablehlo.add %n, %1 : tensor<i32>
    stablehlo.return %m, %e, %b, %g, %k : tensor<i32>, tensor<8x2xf32>, tensor<2x2xf32>, tensor<3x8x2xf32>, tensor<2x2xf32>
  }
  // CHECK: st.accumulate %[[LOOP]]#4 {{ *}}sum over micro
  // CHECK: st.all_reduce {{.*}} sum over ["data"]
  return %loop#1, %loop#3, %loop#4 : tensor<8x2xf32>, tensor<3x8x2xf32>, tensor<2x2xf32>
}
