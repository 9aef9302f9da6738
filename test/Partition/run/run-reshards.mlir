// Reshards between any two shardings move only the necessary data, and change no value. (The unit
// tests of ReshardPlan do this for all shardings of small tensors.)
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir --implicit-check-not=all_gather --implicit-check-not=all_reduce
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

st.mesh @mesh <["x"=2, "y"=4, "z"=2], micro=1>
func.func @main() -> (tensor<16x8xi32>, tensor<16x8xi32>) {
  %i = stablehlo.iota dim = 0 : tensor<16x8xi32>
  %j = stablehlo.iota dim = 1 : tensor<16x8xi32>
  %h = stablehlo.constant dense<100> : tensor<16x8xi32>
  %k = stablehlo.multiply %i, %h : tensor<16x8xi32>
  %v = stablehlo.add %k, %j : tensor<16x8xi32>

  // The major axis becomes the minor one: devices exchange complete parts.
  %0 = st.constrain %v to <@mesh, [{"x", "y"}, {}]> : tensor<16x8xi32>
  // CHECK: st.collective_permute {{.*}} [0, 0, 2, 1, 4, 2, 6, 3, 1, 4, 3, 5, 5, 6, 7, 7] over ["x", "y"] of @mesh : tensor<2x8xi32>
  %1 = st.constrain %0 to <@mesh, [{"y", "x"}, {}]> : tensor<16x8xi32>
  // To another dimension, one axis and two.
  // CHECK: st.all_to_all {{.*}} over ["x"]
  %2 = st.constrain %1 to <@mesh, [{"y"}, {"x"}]> : tensor<16x8xi32>
  // CHECK: st.all_to_all {{.*}} over ["y"]
  %3 = st.constrain %2 to <@mesh, [{}, {"x", "y"}]> : tensor<16x8xi32>
  // CHECK: st.all_to_all {{.*}} over ["x", "y"]
  %4 = st.constrain %3 to <@mesh, [{"x", "y"}, {}]> : tensor<16x8xi32>
  // CHECK: st.all_to_all {{.*}} over ["y"]
  %5 = st.constrain %4 to <@mesh, [{"x"}, {"y"}]> : tensor<16x8xi32>
  // Axes of one size are exchanged.
  // CHECK: st.collective_permute {{.*}} over ["x", "z"]
  %6 = st.constrain %5 to <@mesh, [{"z"}, {"y"}]> : tensor<16x8xi32>
  // Within a dimension, to every second block and back.
  // CHECK: st.all_to_all {{.*}} over ["z"]
  %7 = st.constrain %6 to <@mesh, [{2, "z"}, {"y"}]> : tensor<16x8xi32>
  // CHECK: st.all_to_all {{.*}} over ["z"]
  %8 = st.constrain %7 to <@mesh, [{"z"}, {"y"}]> : tensor<16x8xi32>
  // CHECK: return
  %r = stablehlo.negate %8 : tensor<16x8xi32>
  return %r, %8 : tensor<16x8xi32>, tensor<16x8xi32>
}
