// RUN: st-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: @identities
func.func @identities(%x: tensor<2xf32>, %i: tensor<2xi32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>,
        tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %izero = stablehlo.constant dense<0> : tensor<2xi32>
  %ones = stablehlo.constant dense<-1> : tensor<2xi32>
  // The constant is on the left: commutative ops move it.
  %0 = stablehlo.add %zero, %x : tensor<2xf32>
  %1 = stablehlo.multiply %one, %x : tensor<2xf32>
  %2 = stablehlo.subtract %x, %zero : tensor<2xf32>
  %3 = stablehlo.divide %x, %one : tensor<2xf32>
  %4 = stablehlo.and %ones, %i : tensor<2xi32>
  %5 = stablehlo.or %i, %izero : tensor<2xi32>
  %6 = stablehlo.xor %i, %izero : tensor<2xi32>
  %7 = stablehlo.shift_left %i, %izero : tensor<2xi32>
  %8 = stablehlo.maximum %i, %i : tensor<2xi32>
  // CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg1, %arg1, %arg1, %arg1, %arg1
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
    tensor<2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}

// -----

// Zero times infinity is NaN, so a product of floats stays.
// CHECK-LABEL: @absorbed
func.func @absorbed(%x: tensor<2xf32>, %i: tensor<2xi32>)
    -> (tensor<2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  // CHECK-DAG: %[[C:.*]] = stablehlo.constant dense<0> : tensor<2xi32>
  // CHECK-DAG: %[[M:.*]] = stablehlo.multiply %arg0
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %izero = stablehlo.constant dense<0> : tensor<2xi32>
  %0 = stablehlo.multiply %x, %zero : tensor<2xf32>
  %1 = stablehlo.multiply %i, %izero : tensor<2xi32>
  %2 = stablehlo.subtract %i, %i : tensor<2xi32>
  %3 = stablehlo.and %i, %izero : tensor<2xi32>
  // CHECK: return %[[M]], %[[C]], %[[C]], %[[C]]
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}

// -----

// CHECK-LABEL: @arithmetic
func.func @arithmetic() -> (tensor<2xi32>, tensor<2xi32>, tensor<2xui8>, tensor<2xf32>, tensor<2xi1>,
                            tensor<f32>, tensor<2xui32>) {
  %a = stablehlo.constant dense<[7, -7]> : tensor<2xi32>
  %b = stablehlo.constant dense<2> : tensor<2xi32>
  %u = stablehlo.constant dense<[200, 3]> : tensor<2xui8>
  %f = stablehlo.constant dense<[1.5, -0.25]> : tensor<2xf32>
  %p = stablehlo.constant dense<true> : tensor<2xi1>
  %s = stablehlo.constant dense<3.0> : tensor<f32>
  %w = stablehlo.constant dense<[32, 1]> : tensor<2xui32>
  // CHECK-DAG: %[[DIV:.*]] = stablehlo.constant dense<[3, -3]> : tensor<2xi32>
  %0 = stablehlo.divide %a, %b : tensor<2xi32>
  // CHECK-DAG: %[[REM:.*]] = stablehlo.constant dense<[1, -1]> : tensor<2xi32>
  %1 = stablehlo.remainder %a, %b : tensor<2xi32>
  // CHECK-DAG: %[[ADD:.*]] = stablehlo.constant dense<[144, 6]> : tensor<2xui8>
  %2 = stablehlo.add %u, %u : tensor<2xui8>
  // CHECK-DAG: %[[MUL:.*]] = stablehlo.constant dense<[2.250000e+00, 6.250000e-02]> : tensor<2xf32>
  %3 = stablehlo.multiply %f, %f : tensor<2xf32>
  // A sum of preds is a disjunction.
  // CHECK-DAG: %[[OR:.*]] = stablehlo.constant dense<true> : tensor<2xi1>
  %4 = stablehlo.add %p, %p : tensor<2xi1>
  // CHECK-DAG: %[[NEG:.*]] = stablehlo.constant dense<-3.000000e+00> : tensor<f32>
  %5 = stablehlo.negate %s : tensor<f32>
  // A shift by the width leaves nothing.
  // CHECK-DAG: %[[SHIFT:.*]] = stablehlo.constant dense<[0, 2]> : tensor<2xui32>
  %6 = stablehlo.shift_left %w, %w : tensor<2xui32>
  // CHECK: return %[[DIV]], %[[REM]], %[[ADD]], %[[MUL]], %[[OR]], %[[NEG]], %[[SHIFT]]
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2xi32>, tensor<2xi32>, tensor<2xui8>, tensor<2xf32>,
    tensor<2xi1>, tensor<f32>, tensor<2xui32>
}

// -----

// The result of a division by zero depends on the implementation.
// CHECK-LABEL: @division_by_zero
func.func @division_by_zero() -> tensor<i32> {
  %a = stablehlo.constant dense<7> : tensor<i32>
  %b = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: stablehlo.divide
  %0 = stablehlo.divide %a, %b : tensor<i32>
  return %0 : tensor<i32>
}

// -----

// CHECK-LABEL: @conversions
func.func @conversions(%x: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xui8>, tensor<bf16>, tensor<2xi1>, tensor<i8>) {
  %a = stablehlo.constant dense<[1, -1]> : tensor<2xi32>
  %f = stablehlo.constant dense<1.00390625> : tensor<f32>
  %large = stablehlo.constant dense<1.0e+10> : tensor<f32>
  %0 = stablehlo.convert %x : tensor<2xf32>
  // CHECK-DAG: %[[FLOAT:.*]] = stablehlo.constant dense<[1.000000e+00, -1.000000e+00]> : tensor<2xf32>
  %1 = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xf32>
  // CHECK-DAG: %[[UINT:.*]] = stablehlo.constant dense<[1, 255]> : tensor<2xui8>
  %2 = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xui8>
  // CHECK-DAG: %[[BF16:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
  %3 = stablehlo.convert %f : (tensor<f32>) -> tensor<bf16>
  // CHECK-DAG: %[[PRED:.*]] = stablehlo.constant dense<true> : tensor<2xi1>
  %4 = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xi1>
  // A value out of range is not folded.
  // CHECK-DAG: %[[LARGE:.*]] = stablehlo.convert
  %5 = stablehlo.convert %large : (tensor<f32>) -> tensor<i8>
  // CHECK: return %arg0, %[[FLOAT]], %[[UINT]], %[[BF16]], %[[PRED]], %[[LARGE]]
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xf32>, tensor<2xui8>, tensor<bf16>,
    tensor<2xi1>, tensor<i8>
}

// -----

// CHECK-LABEL: @comparisons
func.func @comparisons(%i: tensor<i32>, %x: tensor<f32>)
    -> (tensor<2xi1>, tensor<2xi1>, tensor<i1>, tensor<i1>, tensor<i1>) {
  %a = stablehlo.constant dense<[1, -1]> : tensor<2xi32>
  %b = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  // CHECK-DAG: %[[TF:.*]] = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  // CHECK-DAG: %[[FT:.*]] = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %1 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  // CHECK-DAG: %[[T:.*]] = stablehlo.constant dense<true> : tensor<i1>
  %2 = stablehlo.compare LE, %i, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  // CHECK-DAG: %[[F:.*]] = stablehlo.constant dense<false> : tensor<i1>
  %3 = stablehlo.compare GE, %nan, %nan, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  // A float may be NaN.
  // CHECK-DAG: %[[EQ:.*]] = stablehlo.compare EQ, %arg1, %arg1
  %4 = stablehlo.compare EQ, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  // CHECK: return %[[TF]], %[[FT]], %[[T]], %[[F]], %[[EQ]]
  return %0, %1, %2, %3, %4 : tensor<2xi1>, tensor<2xi1>, tensor<i1>, tensor<i1>, tensor<i1>
}

// -----

// CHECK-LABEL: @choices
func.func @choices(%p: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %false = stablehlo.constant dense<false> : tensor<2xi1>
  %0 = stablehlo.select %true, %x, %y : tensor<i1>, tensor<2xf32>
  %1 = stablehlo.select %false, %x, %y : tensor<2xi1>, tensor<2xf32>
  %2 = stablehlo.select %p, %x, %x : tensor<2xi1>, tensor<2xf32>
  // CHECK: return %arg1, %arg2, %arg1
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// CHECK-LABEL: @shapes
func.func @shapes(%x: tensor<2x3xf32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>,
        tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.transpose %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = stablehlo.reverse %x, dims = [] : tensor<2x3xf32>
  %4 = stablehlo.concatenate %x, dim = 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = stablehlo.slice %x [0:2, 0:3] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = stablehlo.pad %x, %zero, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %7 = stablehlo.dynamic_update_slice %0, %x, %i, %i : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0, %arg0, %arg0, %arg0
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>,
    tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// Parts without elements add nothing to a concatenation.
// CHECK-LABEL: @empty_parts
func.func @empty_parts(%x: tensor<2x3xf32>, %none: tensor<2x0xf32>) -> (tensor<2x3xf32>, tensor<2x6xf32>, tensor<2x0xf32>) {
  // CHECK: %[[TWICE:.*]] = stablehlo.concatenate %arg0, %arg0, dim = 1
  // CHECK: %[[NONE:.*]] = stablehlo.concatenate %arg1, %arg1, dim = 1
  // CHECK: return %arg0, %[[TWICE]], %[[NONE]]
  %0 = stablehlo.concatenate %none, %x, dim = 1 : (tensor<2x0xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.concatenate %x, %none, %x, dim = 1 : (tensor<2x3xf32>, tensor<2x0xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %2 = stablehlo.concatenate %none, %none, dim = 1 : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x0xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2x6xf32>, tensor<2x0xf32>
}

// -----

// CHECK-LABEL: @merged
func.func @merged(%x: tensor<2x3xf32>)
    -> (tensor<4x2x3xf32>, tensor<3x2xf32>, tensor<2x3x1xf32>, tensor<2x3xf32>) {
  // CHECK-DAG: %[[B:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [2, 1] : (tensor<2x3xf32>) -> tensor<1x3x2xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2, 1] : (tensor<1x3x2xf32>) -> tensor<4x2x3xf32>
  // CHECK-DAG: %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %3 = stablehlo.reshape %2 : (tensor<6xf32>) -> tensor<3x2xf32>
  %r = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  // CHECK-DAG: %[[IN:.*]] = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  // CHECK-DAG: %[[T:.*]] = stablehlo.transpose %[[IN]], dims = [1, 2, 0] : (tensor<1x2x3xf32>) -> tensor<2x3x1xf32>
  %4 = stablehlo.transpose %r, dims = [2, 0, 1] : (tensor<1x2x3xf32>) -> tensor<3x1x2xf32>
  %5 = stablehlo.transpose %4, dims = [2, 0, 1] : (tensor<3x1x2xf32>) -> tensor<2x3x1xf32>
  %6 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: return %[[B]], %[[R]], %[[T]], %arg0
  return %1, %3, %5, %7 : tensor<4x2x3xf32>, tensor<3x2xf32>, tensor<2x3x1xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @moved_constants
func.func @moved_constants() -> (tensor<4096x4096xf32>, tensor<3x2xi32>, tensor<2x3xi32>, tensor<2x1xi32>,
                                 tensor<6xi32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %c = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  // CHECK-DAG: %[[B:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<4096x4096xf32>
  %0 = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
  // CHECK-DAG: %[[T:.*]] = stablehlo.constant dense<{{\[}}[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  %1 = stablehlo.transpose %c, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  // CHECK-DAG: %[[V:.*]] = stablehlo.constant dense<{{\[}}[3, 2, 1], [6, 5, 4]]> : tensor<2x3xi32>
  %2 = stablehlo.reverse %c, dims = [1] : tensor<2x3xi32>
  // CHECK-DAG: %[[S:.*]] = stablehlo.constant dense<{{\[}}[2], [5]]> : tensor<2x1xi32>
  %3 = stablehlo.slice %c [0:2, 1:2] : (tensor<2x3xi32>) -> tensor<2x1xi32>
  // CHECK-DAG: %[[R:.*]] = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %4 = stablehlo.reshape %c : (tensor<2x3xi32>) -> tensor<6xi32>
  // CHECK: return %[[B]], %[[T]], %[[V]], %[[S]], %[[R]]
  return %0, %1, %2, %3, %4 : tensor<4096x4096xf32>, tensor<3x2xi32>, tensor<2x3xi32>, tensor<2x1xi32>,
    tensor<6xi32>
}

// -----

// The start is clamped so that the slice fits.
// CHECK-LABEL: @dynamic_slice
func.func @dynamic_slice(%x: tensor<4x3xf32>) -> tensor<2x2xf32> {
  %i = stablehlo.constant dense<3> : tensor<i32>
  %j = stablehlo.constant dense<-1> : tensor<i32>
  // CHECK: stablehlo.slice %arg0 [2:4, 0:2] : (tensor<4x3xf32>) -> tensor<2x2xf32>
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @control_flow
func.func @control_flow(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<f32>
  }, {
    stablehlo.return %y : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  // Below the range means the last branch.
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %1 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<f32>
  }, {
    %z = stablehlo.tanh %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  %t = stablehlo.tuple %x, %y : tuple<tensor<f32>, tensor<f32>>
  %2 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
  // CHECK-NEXT: %[[Z:.*]] = stablehlo.tanh %arg1
  // CHECK-NEXT: return %arg1, %[[Z]], %arg0
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Unused ops go where they have no side effects.
// CHECK-LABEL: @dead
func.func @dead(%x: tensor<4xf32>, %i: tensor<f32>) {
  // CHECK-NEXT: stablehlo.custom_call @kept
  // CHECK-NEXT: return
  stablehlo.custom_call @kept(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
  %0 = stablehlo.custom_call @gone(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// A slice within one of the joined parts.
// CHECK-LABEL: @slice_of_joined
func.func @slice_of_joined(%a: tensor<2x4xf32>, %b: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<2x2xf32>, tensor<2x4xf32>) {
  // CHECK: %[[JOINED:.*]] = stablehlo.concatenate
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %1 = stablehlo.slice %0 [2:5, 0:4] : (tensor<5x4xf32>) -> tensor<3x4xf32>
  // CHECK: %[[PART:.*]] = stablehlo.slice %arg1 [0:3:2, 1:3]
  %2 = stablehlo.slice %0 [2:5:2, 1:3] : (tensor<5x4xf32>) -> tensor<2x2xf32>
  // CHECK: %[[BOTH:.*]] = stablehlo.slice %[[JOINED]] [1:3, 0:4]
  %3 = stablehlo.slice %0 [1:3, 0:4] : (tensor<5x4xf32>) -> tensor<2x4xf32>
  // CHECK: return %arg1, %[[PART]], %[[BOTH]]
  return %1, %2, %3 : tensor<3x4xf32>, tensor<2x2xf32>, tensor<2x4xf32>
}
