// A program that splits dimensions over parts of an axis gives the same results on eight devices as unsharded. A value
// that is split over a part of an axis does not move when it is split further over the rest of the axis.
//
// REQUIRES: jax
// RUN: st-opt --import-shardings %s -o %t.imported
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %t.imported -o %t.local
// RUN: FileCheck %s --input-file=%t.local --implicit-check-not=all_gather
// RUN: %python %S/../../Reference/Inputs/random_inputs.py %t.in x=f32:16x8 w=f32:8x8
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.whole %t.imported
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.parts %t.local
// RUN: %python %S/../../Reference/Inputs/compare.py %t.whole %t.parts 1e-5 | FileCheck %s --check-prefix=SAME
// SAME: 2 tensors agree

sdy.mesh @m = <["a"=8]>
// CHECK: st.mesh @mesh <["a:(1)2"=2, "a:(2)4"=4], micro=1>
func.func @main(%x: tensor<16x8xf32> {st.name = "x", st.role = "batch", sdy.sharding = #sdy.sharding<@m, [{"a":(1)2}, {}]>},
                %w: tensor<8x8xf32> {st.name = "w", st.role = "parameter", sdy.sharding = #sdy.sharding<@m, [{}, {"a":(2)4}]>})
    -> (tensor<16x8xf32> {st.name = "y", sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>},
        tensor<8x16xf32> {st.name = "z", sdy.sharding = #sdy.sharding<@m, [{"a":(2)4}, {"a":(1)2}]>}) {
  // Rows over the first part, columns over the others: eight products of eight devices.
  // CHECK: stablehlo.dot_general {{.*}} (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  // Columns become rows within those of the first part.
  // CHECK: st.all_to_all {{.*}} over ["a:(2)4"]
  %1 = sdy.sharding_constraint %0 <@m, [{"a"}, {}]> : tensor<16x8xf32>
  %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
  return %1, %2 : tensor<16x8xf32>, tensor<8x16xf32>
}
