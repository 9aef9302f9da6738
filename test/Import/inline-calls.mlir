// RUN: st-opt %s --inline-calls --split-input-file --verify-diagnostics | FileCheck %s

// Calls in calls, a function called twice, a call in a loop's body.
// CHECK: func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<i1>)
// CHECK-NOT: call
// CHECK-COUNT-4: stablehlo.add
// CHECK: "stablehlo.if"
// CHECK: stablehlo.add
// CHECK-NOT: func.func
func.func public @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %0 = func.call @four(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @four(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.if"(%p) ({
    %3 = func.call @twice(%1) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %3 : tensor<4xf32>
  }, {
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @four(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// expected-note@+1 {{the function is here}}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{calls @f, which calls itself}}
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
