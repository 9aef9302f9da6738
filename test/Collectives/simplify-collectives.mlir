// Pairs of collectives that can be merged, and others. The interpreter gives the same numbers.
//
// RUN: st-translate --interpret %s > %t.before
// RUN: st-opt --simplify-collectives %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.after
// RUN: diff %t.before %t.after

#both = #st.sharding<@mesh, [{"x"}, {}]>
#rows = #st.sharding<@mesh, [{"x", "y"}, {}]>
st.mesh @mesh <["x"=2, "y"=2], micro=1>
// CHECK-LABEL: func.func @main
func.func @main() -> (tensor<8x4xi32> {st.global_type = tensor<16x4xi32>, st.sharding = #both},
                      tensor<8x4xi32> {st.global_type = tensor<16x4xi32>, st.sharding = #both},
                      tensor<8x4xi32> {st.global_type = tensor<32x4xi32>, st.sharding = #rows},
                      tensor<4x4xi32> {st.global_type = tensor<16x4xi32>, st.sharding = #rows},
                      tensor<8x4xi32> {st.global_type = tensor<16x4xi32>, st.sharding = #both}) {
  %x = st.axis_index "x" of @mesh : tensor<i32>
  %y = st.axis_index "y" of @mesh : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %tens = stablehlo.multiply %x, %ten : tensor<i32>
  %place = stablehlo.add %tens, %y : tensor<i32>
  %spread = stablehlo.broadcast_in_dim %place, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
  %rows = stablehlo.iota dim = 0 : tensor<8x4xi32>
  %value = stablehlo.add %spread, %rows : tensor<8x4xi32>

  // A sum whose parts the devices keep.
  // CHECK: %[[P:.*]] = st.reduce_scatter %[[V:.*]] sum dim 0 over ["y"] of @mesh : tensor<8x4xi32> -> tensor<4x4xi32>
  %0 = st.all_reduce %value sum over ["y"] of @mesh : tensor<8x4xi32>
  %1 = st.all_slice %0 dim 0 over ["y"] of @mesh : tensor<8x4xi32> -> tensor<4x4xi32>
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate %[[P]]
  // CHECK-NEXT: %[[A:.*]] = st.all_gather %[[N]]
  %2 = stablehlo.negate %1 : tensor<4x4xi32>
  %3 = st.all_gather %2 dim 0 over ["y"] of @mesh : tensor<4x4xi32> -> tensor<8x4xi32>

  // Parts of a sum that are gathered again.
  // CHECK-NEXT: %[[B:.*]] = st.all_reduce %[[V]] max over ["y"] of @mesh : tensor<8x4xi32>
  %4 = st.reduce_scatter %value max dim 1 over ["y"] of @mesh : tensor<8x4xi32> -> tensor<8x2xi32>
  %5 = st.all_gather %4 dim 1 over ["y"] of @mesh : tensor<8x2xi32> -> tensor<8x4xi32>

  // A value that is gathered and split again: the value itself.
  %6 = st.all_gather %value dim 0 over ["x", "y"] of @mesh : tensor<8x4xi32> -> tensor<32x4xi32>
  %7 = st.all_slice %6 dim 0 over ["x", "y"] of @mesh : tensor<32x4xi32> -> tensor<8x4xi32>

  // A sum that also has an unsharded use, and parts that are gathered along another dimension.
  // CHECK-NEXT: %[[S:.*]] = st.all_reduce %[[V]] sum over ["y"]
  // CHECK-NEXT: %[[C:.*]] = st.all_slice %[[S]]
  %8 = st.all_reduce %value sum over ["y"] of @mesh : tensor<8x4xi32>
  %9 = st.all_slice %8 dim 0 over ["y"] of @mesh : tensor<8x4xi32> -> tensor<4x4xi32>
  // CHECK-NEXT: st.reduce_scatter
  // CHECK-NEXT: st.all_gather
  %10 = st.reduce_scatter %value sum dim 0 over ["y"] of @mesh : tensor<8x4xi32> -> tensor<4x4xi32>
  %11 = st.all_gather %10 dim 1 over ["y"] of @mesh : tensor<4x4xi32> -> tensor<4x8xi32>
  %12 = stablehlo.reshape %11 : (tensor<4x8xi32>) -> tensor<8x4xi32>
  %13 = stablehlo.add %8, %12 : tensor<8x4xi32>

  // CHECK: return %[[A]], %[[B]], %[[V]], %[[C]],
  return %3, %5, %7, %9, %13 : tensor<8x4xi32>, tensor<8x4xi32>, tensor<8x4xi32>, tensor<4x4xi32>, tensor<8x4xi32>
}
