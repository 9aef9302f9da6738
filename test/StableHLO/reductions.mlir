// RUN: st-opt %s | st-opt | FileCheck %s
// RUN: st-opt %s --mlir-print-op-generic | st-opt | FileCheck %s

// CHECK-LABEL: func.func @dot_general
func.func @dot_general(%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>, %z: tensor<4x5xf32>) {
  // CHECK: stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // CHECK: stablehlo.dot_general %arg0, %arg2, contracting_dims = [2] x [0] : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xbf16>
  %1 = stablehlo.dot_general %x, %z, contracting_dims = [2] x [0] : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xbf16>
  // CHECK: stablehlo.dot_general %arg2, %arg2, contracting_dims = [] x [], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5x4x5xf32>
  %2 = stablehlo.dot_general %z, %z, contracting_dims = [] x [], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5x4x5xf32>
  return
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<2x3xf32>, %i: tensor<f32>, %n: tensor<2x3xi32>, %j: tensor<i32>) {
  // CHECK: stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0, 1] {st.note} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0, 1] {st.note} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  // The short form omits the order of arguments and attributes.
  // CHECK: stablehlo.reduce(%arg0 init: %arg1) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK-NEXT: reducer(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>) {
  // CHECK-NEXT: stablehlo.add %[[B]], %[[A]] : tensor<f32>
  %1 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %s = stablehlo.add %b, %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  // Arguments are paired by input; in the block the left ones come first.
  // CHECK: stablehlo.reduce(%arg0 init: %arg1), (%arg2 init: %arg3) across dimensions = [0] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
  // CHECK-NEXT: reducer(%[[A:.*]]: tensor<f32>, %{{.*}}: tensor<f32>) (%{{.*}}: tensor<i32>, %[[D:.*]]: tensor<i32>) {
  // CHECK-NEXT: stablehlo.return %[[A]], %[[D]] : tensor<f32>, tensor<i32>
  %2:2 = stablehlo.reduce(%x init: %i), (%n init: %j) across dimensions = [0] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    stablehlo.return %a, %d : tensor<f32>, tensor<i32>
  }
  return
}

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<4xf32>, %i: tensor<f32>, %s: tensor<2xf32>) {
  // CHECK: "stablehlo.reduce_window"(%arg0, %arg1) <{padding = dense<{{\[}}[3, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}> ({
  %0 = "stablehlo.reduce_window"(%x, %i) <{padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: "stablehlo.select_and_scatter"(%arg0, %arg2, %arg1) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  %2 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @sort
func.func @sort(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // CHECK: %{{.*}}:2 = "stablehlo.sort"(%arg0, %arg1) ({
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>):
  %0:2 = "stablehlo.sort"(%x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  return
}
