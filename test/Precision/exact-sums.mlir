// RUN: st-opt %s --exact-sums --split-input-file | FileCheck %s

// The rows of a sum are scaled by powers of two from their largest magnitude, and summed as integers.
// CHECK-LABEL: @main(
// CHECK: %[[MAX:.*]] = stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK: stablehlo.bitcast_convert %[[MAX]] : (tensor<4xf32>) -> tensor<4xi32>
// CHECK: %[[SCALED:.*]] = stablehlo.multiply %arg0, %{{.*}} : tensor<8x4xf32>
// CHECK: %[[ROUNDED:.*]] = stablehlo.round_nearest_even %[[SCALED]]
// CHECK-NEXT: %[[INTEGERS:.*]] = stablehlo.convert %[[ROUNDED]] : (tensor<8x4xf32>) -> tensor<8x4xi64>
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.reduce(%[[INTEGERS]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK-NEXT: %[[FLOAT:.*]] = stablehlo.convert %[[SUM]] : (tensor<4xi64>) -> tensor<4xf32>
// CHECK-NEXT: %[[RESULT:.*]] = stablehlo.multiply %[[FLOAT]], %{{.*}} : tensor<4xf32>
// CHECK-NEXT: return %[[RESULT]]
func.func @main(%x: tensor<8x4xf32> {st.role = "parameter", st.name = "x"}) -> (tensor<4xf32> {st.role = "metric", st.name = "sum"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A product of 64 addends: three slices of nine bits for each operand, and six products of slices. Extrema and integers
// stay, and so does an initial value.
// CHECK-LABEL: @main(
// CHECK-COUNT-6: stablehlo.dot_general {{.*}} : (tensor<2x64xbf16>, tensor<64x3xbf16>) -> tensor<2x3xf32>
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.maximum across dimensions = [1] : (tensor<2x64xbf16>, tensor<bf16>) -> tensor<2xbf16>
// CHECK: stablehlo.dot_general %arg2, %arg2, contracting_dims = [0] x [0] : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<3x3xi32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<2x64xi64>, tensor<i64>) -> tensor<2xi64>
// CHECK: %[[SUM:.*]] = stablehlo.multiply {{.*}} : tensor<2xf32>
// CHECK: %[[START:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: %[[BOTH:.*]] = stablehlo.add %[[SUM]], %[[START]]
// CHECK-NEXT: stablehlo.convert %[[BOTH]] : (tensor<2xf32>) -> tensor<2xbf16>
func.func @main(%a: tensor<2x64xbf16> {st.role = "parameter", st.name = "a"}, %b: tensor<64x3xf32> {st.role = "parameter", st.name = "b"},
                %c: tensor<4x3xi32> {st.role = "parameter", st.name = "c"})
    -> (tensor<2x3xf32> {st.role = "metric", st.name = "product"}, tensor<2xbf16> {st.role = "metric", st.name = "largest"},
        tensor<3x3xi32> {st.role = "metric", st.name = "integers"}, tensor<2xbf16> {st.role = "metric", st.name = "sum"}) {
  %least = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %one = stablehlo.constant dense<1.0> : tensor<bf16>
  %wide = stablehlo.convert %a : (tensor<2x64xbf16>) -> tensor<2x64xf32>
  %0 = stablehlo.dot_general %wide, %b, contracting_dims = [1] x [0] : (tensor<2x64xf32>, tensor<64x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.reduce(%a init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<2x64xbf16>, tensor<bf16>) -> tensor<2xbf16>
  %2 = stablehlo.dot_general %c, %c, contracting_dims = [0] x [0] : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<3x3xi32>
  %3 = stablehlo.reduce(%a init: %one) applies stablehlo.add across dimensions = [1] : (tensor<2x64xbf16>, tensor<bf16>) -> tensor<2xbf16>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2xbf16>, tensor<3x3xi32>, tensor<2xbf16>
}

// -----

// A gradient of four samples of eight tokens each, in one dimension: a product for each sample, then their sum in fixed
// point, two integers an element. The new ops belong to the block of the product. A scatter adds in fixed point as well.
// CHECK-LABEL: @main(
// CHECK: stablehlo.reshape %{{.*}} {st.block = 3 : i64} : (tensor<32x16xf32>) -> tensor<4x8x16xf32>
// CHECK-COUNT-6: stablehlo.dot_general {{.*}}, batching_dims = [0] x [0], contracting_dims = [1] x [1] {st.block = 3 : i64} : (tensor<4x8x16xbf16>, tensor<4x8x5xbf16>) -> tensor<4x16x5xf32>
// CHECK-NOT: stablehlo.dot_general
// CHECK-COUNT-2: stablehlo.reduce({{.*}}) across dimensions = [0] {st.block = 3 : i64} : (tensor<4x16x5xi64>, tensor<i64>) -> tensor<16x5xi64>
// CHECK: stablehlo.reduce({{.*}}) across dimensions = [0] {st.block = 3 : i64} : (tensor<4x16x5xf32>, tensor<f32>) -> tensor<16x5xf32>
// CHECK-COUNT-3: (tensor<7x5xi64>, tensor<32x1xi32>, tensor<32x5xi64>) -> tensor<7x5xi64>
// CHECK: stablehlo.maximum
// CHECK: (tensor<7x5xf32>, tensor<32x1xi32>, tensor<32x5xf32>) -> tensor<7x5xf32>
func.func @main(%y: tensor<4x8x16xf32> {st.role = "batch", st.name = "x"}, %tokens: tensor<4x8xi32> {st.role = "batch", st.name = "tokens"},
                %w: tensor<7x5xf32> {st.role = "parameter", st.name = "w"})
    -> (tensor<16x5xf32> {st.role = "metric", st.name = "a"}, tensor<7x5xf32> {st.role = "metric", st.name = "b"}) {
  %zeros = stablehlo.constant dense<0.0> : tensor<7x5xf32>
  %x = stablehlo.reshape %y : (tensor<4x8x16xf32>) -> tensor<32x16xf32>
  %ids = stablehlo.reshape %tokens : (tensor<4x8xi32>) -> tensor<32x1xi32>
  %rows = "stablehlo.gather"(%w, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<7x5xf32>, tensor<32x1xi32>) -> tensor<32x5xf32>
  %0 = stablehlo.dot_general %x, %rows, contracting_dims = [0] x [0] {st.block = 3 : i64} : (tensor<32x16xf32>, tensor<32x5xf32>) -> tensor<16x5xf32>
  %1 = "stablehlo.scatter"(%zeros, %ids, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<7x5xf32>, tensor<32x1xi32>, tensor<32x5xf32>) -> tensor<7x5xf32>
  return %0, %1 : tensor<16x5xf32>, tensor<7x5xf32>
}
