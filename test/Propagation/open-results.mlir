// Results whose sharding is left open have the one that Shardy gives them on JAX's own platforms, whatever computes them.
//
// RUN: st-opt --propagate-shardings --split-input-file %s | FileCheck %s

st.mesh @mesh <["a"=4, "b"=2], micro=1>

// Both rows and columns, although the contracted dimension is sharded too.
// CHECK-LABEL: func.func @square(
// CHECK-SAME: -> (tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>})
func.func @square(%x: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Through pieces that the axis does not divide.
// CHECK-LABEL: func.func @roll(
// CHECK-SAME: -> (tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>})
func.func @roll(%x: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.slice %x [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %1 = stablehlo.slice %x [0:7, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x8xf32>, tensor<7x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// Not where the axis does not divide the result.
// CHECK-LABEL: func.func @row(
// CHECK-SAME: -> (tensor<6x8xf32> {st.sharding = #st.sharding<@mesh, [{}, {"b"}]>})
func.func @row(%x: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>}) -> tensor<6x8xf32> {
  %0 = stablehlo.slice %x [0:6, 0:8] : (tensor<8x8xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// Operands that disagree.
// CHECK-LABEL: func.func @disagree(
// CHECK-SAME: -> (tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{}, {"a"}]>})
func.func @disagree(%x: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>},
                    %y: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"b"}, {"a"}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// If two dimensions compete in an elementwise op, the one with more parts has the axis; else that of the first operand.
// CHECK-LABEL: func.func @compete(
// CHECK-SAME: -> (tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a", "b"}, {}]>}, tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{}, {"b"}]>})
func.func @compete(%x: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{}, {"b"}]>},
                   %y: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a", "b"}, {}]>},
                   %z: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"b"}, {}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  %1 = stablehlo.add %x, %z : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// A library call on JAX's own platforms: along its batch alone.
// CHECK-LABEL: func.func @cholesky(
// CHECK-SAME: -> (tensor<8x4x4xf32> {st.sharding = #st.sharding<@mesh, [{"b"}, {}, {}]>})
func.func @cholesky(%x: tensor<8x4x4xf32> {st.sharding = #st.sharding<@mesh, [{"b"}, {"a"}, {}]>}) -> tensor<8x4x4xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<8x4x4xf32>
  return %0 : tensor<8x4x4xf32>
}

// A vector is sorted as a whole; a matrix keeps its axes, also along the sorted dimension.
// CHECK-LABEL: func.func @sort(
// CHECK-SAME: -> (tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{}]>}, tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>})
func.func @sort(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}]>},
                %y: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>}) -> (tensor<8xf32>, tensor<8x8xf32>) {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %2 = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "stablehlo.sort"(%y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %2 = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8x8xf32>
}

// An axis that covers two parts of a dimension is not split: only the axes before it spread.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: -> (tensor<4x2xf32> {st.sharding = #st.sharding<@mesh, [{"b"}, {}]>})
func.func @parts(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"b", "a"}]>}) -> tensor<4x2xf32> {
  %0 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
