// RUN: st-opt %s --add-optimizer | FileCheck %s --check-prefixes=CHECK,ADAMW
// RUN: st-opt %s --add-optimizer=kind=adam | FileCheck %s --check-prefixes=CHECK,ADAM
// RUN: st-opt %s --add-optimizer="kind=sgd clip-norm=1" | FileCheck %s --check-prefixes=CHECK,SGD
// RUN: st-opt %s --add-optimizer="kind=sgd momentum=0 weight-decay=0" | FileCheck %s --check-prefix=PLAIN
// RUN: st-opt %s --add-optimizer="kind=sgd count-zeros=true" | FileCheck %s --check-prefix=ZEROS

// State and parameters are donated: each argument names the result that replaces it.
// CHECK-LABEL: module
// ADAMW-SAME: st.optimizer = {beta1 = 9.0{{.*}} : f64, {{.*}}kind = "adamw"
// ADAM-SAME: kind = "adam"
// SGD-SAME: kind = "sgd", momentum = 9.0

// ADAMW: func.func @main(
// ADAMW-SAME: %[[W:[^:]*]]: tensor<4xf32> {st.name = "w", st.role = "parameter", tf.aliasing_output = 1 : i32}
// ADAMW-SAME: %[[B:[^:]*]]: tensor<f32> {st.name = "b", st.no_decay, st.role = "parameter", tf.aliasing_output = 2 : i32}
// ADAMW-SAME: %[[LR:[^:]*]]: tensor<f32> {st.name = "learning_rate", st.role = "scalar"}
// ADAMW-SAME: %[[STEP:[^:]*]]: tensor<f32> {st.name = "step", st.role = "scalar"}
// ADAMW-SAME: %[[M:[^:]*]]: tensor<4xf32> {st.init = {kind = "zeros"}, st.name = "w.exp_avg", st.of = "w", st.role = "optimizer_state", tf.aliasing_output = 3 : i32}
// ADAMW-SAME: st.name = "w.exp_avg_sq", st.of = "w", st.role = "optimizer_state", tf.aliasing_output = 4 : i32}
// ADAMW-SAME: st.name = "b.exp_avg", st.of = "b", st.role = "optimizer_state", tf.aliasing_output = 5 : i32}
// ADAMW-SAME: -> (tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<4xf32> {st.name = "w", st.role = "parameter"}
// ADAMW-SAME: tensor<4xf32> {st.name = "w.exp_avg", st.of = "w", st.role = "optimizer_state"}
// 1 - beta^step without cancellation, and the decay of w but not of b.
// ADAMW-DAG: %[[LOGB1:.*]] = stablehlo.constant dense<-0.105360515> : tensor<f32>
// ADAMW-DAG: %[[DECAY:.*]] = stablehlo.constant dense<0.00999999977> : tensor<f32>
// ADAMW: stablehlo.multiply %[[LR]], %[[DECAY]] : tensor<f32>
// ADAMW: %[[POWER:.*]] = stablehlo.multiply %[[STEP]], %[[LOGB1]] : tensor<f32>
// ADAMW: stablehlo.exponential_minus_one %[[POWER]] : tensor<f32>
// ADAMW: stablehlo.multiply %[[W]], %{{.*}} : tensor<4xf32>
// ADAMW-NOT: stablehlo.multiply %[[B]]
// ADAMW: return

// Adam decays through the gradient.
// ADAM: %[[L2:.*]] = stablehlo.multiply %arg0, %{{.*}} : tensor<4xf32>
// ADAM: stablehlo.add %{{.*}}, %[[L2]] : tensor<4xf32>

// SGD: func.func @main(
// SGD-SAME: st.name = "learning_rate"
// SGD-NOT: st.name = "step"
// SGD-SAME: st.name = "w.momentum", st.of = "w", st.role = "optimizer_state"
// SGD-SAME: tensor<f32> {st.name = "grad_norm", st.role = "metric"}, tensor<4xf32> {st.name = "w", st.role = "parameter"}
// SGD: %[[NORM:.*]] = stablehlo.sqrt
// SGD: %[[RATIO:.*]] = stablehlo.divide
// SGD: stablehlo.minimum %[[RATIO]]
// SGD: return %{{.*}}, %[[NORM]],

// ZEROS: tensor<f32> {st.name = "num_zeros", st.role = "metric"}, tensor<4xf32> {st.name = "w", st.role = "parameter"}
// ZEROS: %[[IS:.*]] = stablehlo.compare EQ, %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
// ZEROS: %[[ONES:.*]] = stablehlo.select %[[IS]]
// ZEROS: stablehlo.reduce(%[[ONES]]

// PLAIN-NOT: optimizer_state
// PLAIN: %[[RATE:.*]] = stablehlo.broadcast_in_dim %arg2, dims = []
// PLAIN: %[[STEP:.*]] = stablehlo.multiply %{{.*}}, %[[RATE]] : tensor<4xf32>
// PLAIN: stablehlo.subtract %arg0, %[[STEP]] : tensor<4xf32>
module {
  func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter"},
                  %b: tensor<f32> {st.name = "b", st.role = "parameter", st.no_decay})
      -> (tensor<f32> {st.name = "loss", st.role = "loss"},
          tensor<4xf32> {st.name = "w", st.role = "gradient"},
          tensor<f32> {st.name = "b", st.role = "gradient"}) {
    %0 = stablehlo.exponential %w : tensor<4xf32>
    %1 = stablehlo.tanh %b : tensor<f32>
    return %1, %0, %1 : tensor<f32>, tensor<4xf32>, tensor<f32>
  }
}
