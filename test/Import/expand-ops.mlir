// RUN: st-opt %s --expand-ops --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @functions
func.func @functions(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[SQUARE:.*]] = stablehlo.multiply %arg0, %arg0
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: return %[[SQUARE]]
  return %0 : tensor<4xf32>
}

// -----

// Patches of two rows and two columns; the gradient of their kernel; a convolution that stays.
// CHECK-LABEL: @convolutions
func.func @convolutions(%x: tensor<2x3x4x6xf32>, %k: tensor<5x3x2x2xf32>, %d: tensor<2x5x2x3xf32>)
    -> (tensor<2x5x2x3xf32>, tensor<5x3x2x2xf32>, tensor<2x5x3x5xf32>) {
  // CHECK: %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<2x3x4x6xf32>) -> tensor<2x3x2x2x3x2xf32>
  // CHECK: %[[P:.*]] = stablehlo.dot_general %[[R]], %arg1, contracting_dims = [1, 3, 5] x [1, 2, 3] : {{.*}} -> tensor<2x2x3x5xf32>
  // CHECK: %[[Y:.*]] = stablehlo.transpose %[[P]], dims = [0, 3, 1, 2]
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x4x6xf32>, tensor<5x3x2x2xf32>) -> tensor<2x5x2x3xf32>
  // CHECK: %[[S:.*]] = stablehlo.reshape %arg0 : (tensor<2x3x4x6xf32>) -> tensor<2x3x2x2x3x2xf32>
  // CHECK: %[[G:.*]] = stablehlo.dot_general %[[S]], %arg2, contracting_dims = [0, 2, 4] x [0, 2, 3] : {{.*}} -> tensor<3x2x2x5xf32>
  // CHECK: %[[K:.*]] = stablehlo.transpose %[[G]], dims = [3, 0, 1, 2]
  %1 = stablehlo.convolution(%x, %d) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x4x6xf32>, tensor<2x5x2x3xf32>) -> tensor<5x3x2x2xf32>
  // CHECK: %[[C:.*]] = stablehlo.convolution
  %2 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x4x6xf32>, tensor<5x3x2x2xf32>) -> tensor<2x5x3x5xf32>
  // CHECK: return %[[Y]], %[[K]], %[[C]]
  return %0, %1, %2 : tensor<2x5x2x3xf32>, tensor<5x3x2x2xf32>, tensor<2x5x3x5xf32>
}

// -----

// CHECK-LABEL: @update
func.func @update(%x: tensor<6x4xf32>, %u: tensor<2x4xf32>, %i: tensor<i32>) -> tensor<6x4xf32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: %[[P:.*]] = stablehlo.pad %arg1, %{{.*}}, low = [1, 0], high = [3, 0], interior = [0, 0]
  // CHECK: %[[M:.*]] = stablehlo.and
  // CHECK: %[[U:.*]] = stablehlo.select %[[M]], %[[P]], %arg0
  %0 = stablehlo.dynamic_update_slice %x, %u, %c, %i : (tensor<6x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
  // CHECK: stablehlo.dynamic_update_slice %[[U]]
  %1 = stablehlo.dynamic_update_slice %0, %u, %i, %i : (tensor<6x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: @composite
func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: call @twice(%arg0)
  %0 = stablehlo.composite "my.twice" %x {decomposition = @twice} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A composite of an existing function, as JAX serialises it.
// CHECK-LABEL: @chlo_composites
func.func @chlo_composites(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<2xi32>, tensor<4xf32>) {
  // CHECK: chlo.erf %arg0
  // CHECK: chlo.top_k(%arg0, k = 2)
  // CHECK: call @twice(%arg0)
  %0 = stablehlo.composite "chlo.erf" %x {decomposition = @twice, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 2 : i64}, decomposition = @top, version = 1 : i32} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  %2 = stablehlo.composite "chlo.erf" %x {decomposition = @twice, version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1#0, %1#1, %2 : tensor<4xf32>, tensor<2xf32>, tensor<2xi32>, tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @top(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0 = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = stablehlo.iota dim = 0 : tensor<2xi32>
  return %0, %1 : tensor<2xf32>, tensor<2xi32>
}

// -----

func.func private @nothing(tensor<4xf32>) -> tensor<4xf32>
func.func @no_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no decomposition @nothing with a body}}
  %0 = stablehlo.composite "my.nothing" %x {decomposition = @nothing} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A product of two float types is one of the wider type.
// CHECK-LABEL: @mixed
func.func @mixed(%x: tensor<2x3xf32>, %h: tensor<3x4xbf16>) -> tensor<2x4xbf16> {
  // CHECK: %[[WIDE:.*]] = stablehlo.convert %arg1 : (tensor<3x4xbf16>) -> tensor<3x4xf32>
  // CHECK: stablehlo.dot_general %arg0, %[[WIDE]], {{.*}} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xbf16>
  %0 = stablehlo.dot_general %x, %h, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}

// -----

// An algorithm of one component rounds the operands. The sum of three components is not rounded, nor are operands that
// several primitive operations split.
// CHECK-LABEL: @algorithms
func.func @algorithms(%x: tensor<2x3xf32>, %h: tensor<3x4xbf16>, %y: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  // CHECK: %[[X:.*]] = stablehlo.convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  // CHECK: stablehlo.dot_general %[[X]], %arg1, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>
  %0 = stablehlo.dot_general %x, %h, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xbf16>) -> tensor<2x4xf32>
  // CHECK: stablehlo.dot_general %arg0, %arg2, {{.*}} lhs_component_count = 3, {{.*}} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 3, rhs_component_count = 3, num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // CHECK: stablehlo.dot_general %arg0, %arg2, {{.*}} num_primitive_operations = 3, {{.*}} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0, %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Updates that fill a dimension, in any order, are joined; an update with another user is not.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<3x4xf32>, %a: tensor<1x4xf32>, %b: tensor<2x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: %[[JOINED:.*]] = stablehlo.concatenate %arg1, %arg2, dim = 0
  %0 = stablehlo.dynamic_update_slice %x, %b, %one, %zero : (tensor<3x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  %1 = stablehlo.dynamic_update_slice %0, %a, %zero, %zero : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  // CHECK: %[[FIRST:.*]] = stablehlo.select
  // CHECK: %[[SECOND:.*]] = stablehlo.select {{.*}}, %[[FIRST]]
  %2 = stablehlo.dynamic_update_slice %x, %b, %one, %zero : (tensor<3x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  %3 = stablehlo.dynamic_update_slice %2, %a, %zero, %zero : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  %4 = stablehlo.add %2, %3 : tensor<3x4xf32>
  return %1, %4 : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// Indices without a component: the update of a whole array, of its start in each batch element, and a lookup.
// CHECK-LABEL: @indexless
func.func @indexless(%x: tensor<4xf32>, %u: tensor<4xf32>, %y: tensor<2x4xf32>, %v: tensor<2x3xf32>)
    -> (tensor<4xf32>, tensor<2x4xf32>, tensor<3xf32>) {
  // CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<1xi32>
  %none = stablehlo.constant dense<> : tensor<0xi32>
  %nones = stablehlo.constant dense<> : tensor<2x0xi32>
  // CHECK: %[[ADD:.*]] = stablehlo.add %arg0, %arg1
  %0 = "stablehlo.scatter"(%x, %none, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<0xi32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[BEFORE:.*]] = stablehlo.compare  LT
  // CHECK: %[[PAD:.*]] = stablehlo.pad %arg3, %{{.*}}, low = [0, 0], high = [0, 1], interior = [0, 0]
  // CHECK: %[[SET:.*]] = stablehlo.select %[[BEFORE]], %[[PAD]], %arg2
  %1 = "stablehlo.scatter"(%y, %nones, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<2x4xf32>, tensor<2x0xi32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  // CHECK: %[[TAKE:.*]] = "stablehlo.gather"(%arg0, %[[ZERO]]) <{{.*}}start_index_map = [0]
  %2 = "stablehlo.gather"(%x, %none) <{dimension_numbers = #stablehlo.gather<offset_dims = [0]>, slice_sizes = array<i64: 3>}> : (tensor<4xf32>, tensor<0xi32>) -> tensor<3xf32>
  // CHECK: return %[[ADD]], %[[SET]], %[[TAKE]]
  return %0, %1, %2 : tensor<4xf32>, tensor<2x4xf32>, tensor<3xf32>
}
