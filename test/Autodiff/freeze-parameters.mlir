// RUN: st-opt %s --freeze-parameters=freeze=*.bias | FileCheck %s --check-prefix=FREEZE
// RUN: st-opt %s --freeze-parameters="train=b.*" | FileCheck %s --check-prefix=TRAIN
// RUN: st-opt %s --freeze-parameters="train=b.* freeze=*.bias" | FileCheck %s --check-prefix=BOTH
// RUN: st-opt %s --freeze-parameters="train=b.* freeze=*.bias" --differentiate | FileCheck %s --check-prefix=GRADIENT

// FREEZE: %{{.*}}: tensor<4xf32> {st.name = "a.weight"
// FREEZE-SAME: %{{.*}}: tensor<4xf32> {st.frozen, st.name = "a.bias"
// FREEZE-SAME: %{{.*}}: tensor<4xf32> {st.name = "b.weight"
// FREEZE-SAME: %{{.*}}: tensor<4xf32> {st.frozen, st.name = "b.bias"
// TRAIN: {st.frozen, st.name = "a.weight"
// TRAIN-SAME: {st.frozen, st.name = "a.bias"
// TRAIN-SAME: {st.name = "b.weight"
// TRAIN-SAME: {st.name = "b.bias"
// BOTH: {st.frozen, st.name = "a.weight"
// BOTH-SAME: {st.frozen, st.name = "a.bias"
// BOTH-SAME: {st.name = "b.weight"
// BOTH-SAME: {st.frozen, st.name = "b.bias"
// GRADIENT: -> (tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<4xf32> {st.name = "b.weight", st.role = "gradient"}) {
func.func @main(%aw: tensor<4xf32> {st.name = "a.weight", st.role = "parameter"},
                %ab: tensor<4xf32> {st.name = "a.bias", st.role = "parameter"},
                %bw: tensor<4xf32> {st.name = "b.weight", st.role = "parameter"},
                %bb: tensor<4xf32> {st.name = "b.bias", st.role = "parameter"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %aw, %bw : tensor<4xf32>
  %1 = stablehlo.multiply %ab, %bb : tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
