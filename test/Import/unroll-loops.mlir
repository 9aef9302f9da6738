// RUN: st-opt %s --unroll-loops --split-input-file | FileCheck %s
// RUN: st-opt %s --unroll-loops=max-trips=2 --split-input-file | FileCheck %s --check-prefix=FEW

// Three trips, from 1 to 4.
// CHECK-LABEL: @counted
// CHECK-NOT: while
// CHECK-COUNT-3: stablehlo.multiply
// CHECK-NOT: stablehlo.multiply
// FEW-LABEL: @counted
// FEW: stablehlo.while
func.func @counted(%x: tensor<4xf32>) -> tensor<4xf32> {
  %start = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %start, %v = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %end = stablehlo.constant dense<4> : tensor<i32>
    %p = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %w = stablehlo.multiply %v, %x : tensor<4xf32>
    stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

// The number of trips is an argument.
// CHECK-LABEL: @unknown
// CHECK: stablehlo.while
func.func @unknown(%x: tensor<4xf32>, %end: tensor<i32>) -> tensor<4xf32> {
  %start = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %start, %v = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %w = stablehlo.multiply %v, %x : tensor<4xf32>
    stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

// A counter that goes down by two, compared with a limit on the left: 5, 3, 1.
// CHECK-LABEL: @down
// CHECK-COUNT-3: stablehlo.multiply
// CHECK-NOT: stablehlo.multiply
func.func @down(%x: tensor<4xf32>) -> tensor<4xf32> {
  %start = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %start, %v = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %end = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.compare LE, %end, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %j = stablehlo.subtract %i, %two : tensor<i32>
    %w = stablehlo.multiply %v, %x : tensor<4xf32>
    stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

// In a loop that stays, nothing is moved between devices.
// CHECK-LABEL: @constrained
// CHECK: st.constrain
// CHECK: stablehlo.while
// CHECK-NOT: st.constrain
st.mesh @mesh <["a"=2], micro=1>
func.func @constrained(%x: tensor<4xf32>, %end: tensor<i32>) -> tensor<4xf32> {
  %start = stablehlo.constant dense<1> : tensor<i32>
  %y = st.constrain %x to <@mesh, [{"a"}]> : tensor<4xf32>
  %0:2 = stablehlo.while(%i = %start, %v = %y) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %w = stablehlo.multiply %v, %v : tensor<4xf32>
    %z = st.constrain %w to <@mesh, [{"a"}]> : tensor<4xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}
