// Ops, arguments and results that a test does not need go; the mesh and its shardings may stay.
// RUN: st-reduce %s --reduction-tree=test=%S/Inputs/has-tanh.sh -o %t
// RUN: FileCheck %s < %t
// RUN: grep -c stablehlo %t | FileCheck %s --check-prefix=COUNT
// RUN: not st-reduce %t.none --reduction-tree=test=%S/Inputs/has-tanh.sh 2>&1 | FileCheck %s --check-prefix=MISSING

// CHECK: func.func @main(%[[X:.*]]: tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: stablehlo.tanh %[[X]] : tensor<8x4xf32>
// COUNT: 1
// MISSING: {{.*}}No such file or directory

st.mesh @mesh <["tensor"=2], micro=1>
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %i: tensor<i32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.sine %0 : tensor<8x4xf32>
  %2 = stablehlo.tanh %1 : tensor<8x4xf32>
  %3 = stablehlo.add %2, %0 : tensor<8x4xf32>
  %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %3, %4 : tensor<8x4xf32>, tensor<4x8xf32>
}
