// RUN: not st-opt %s --add-adapters="targets=none" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not st-opt %s --add-adapters="targets=table" 2>&1 | FileCheck %s --check-prefix=USE
// RUN: not st-opt %s --add-adapters="targets=all-linear" 2>&1 | FileCheck %s --check-prefix=LAYER
// RUN: not st-opt %s --add-adapters="targets=up rank=0" 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not st-opt %s --add-adapters="targets=up dropout=1" 2>&1 | FileCheck %s --check-prefix=DROP
// RUN: not st-opt %s --add-adapters="targets=[ rank=1" 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not st-opt %s --freeze-parameters="freeze=*" 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not st-opt %s --freeze-parameters="train=head*" 2>&1 | FileCheck %s --check-prefix=HEAD
// RUN: not st-opt %s --freeze-parameters="freeze=[" 2>&1 | FileCheck %s --check-prefix=GLOB

// NONE: error: {{.*}}has no parameter none.weight for an adapter
// USE: error: {{.*}}cannot add an adapter to table: expected a matrix used only by products over one dimension, found 'tensor<4x4xf32>' in stablehlo.add
// USE-SAME: it is used here
// LAYER: error: {{.*}}has no matrix in a layer for an adapter
// RANK: error: {{.*}}expected a rank of at least 1, found 0
// DROP: error: {{.*}}expected a dropout of at least 0 and below 1, found 1.00
// GLOB: error: {{.*}}pattern [:
// ALL: error: {{.*}}trains no parameter: all are frozen
// HEAD: error: no parameter has a name that matches 'head*' (parameters to train); names are like 'table.weight'
func.func @main(%x: tensor<4x4xf32> {st.name = "x", st.role = "batch"},
                %up: tensor<4x4xf32> {st.name = "up.weight", st.role = "parameter"},
                %table: tensor<4x4xf32> {st.name = "table.weight", st.role = "parameter"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %up, contracting_dims = [1] x [1]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = stablehlo.add %y, %table : tensor<4x4xf32>
  %loss = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
