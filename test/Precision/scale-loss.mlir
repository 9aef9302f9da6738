// RUN: st-opt %s --scale-loss | FileCheck %s
// RUN: st-opt %s --scale-loss=scale=1024 | FileCheck %s --check-prefix=FIXED
// RUN: st-opt %s --scale-loss="initial-scale=8 growth-interval=3" --differentiate | FileCheck %s --check-prefix=GRADIENT
// RUN: st-opt %s --scale-loss="initial-scale=65536 growth-interval=3 hysteresis=1 min-scale=0.25" --differentiate --add-optimizer=kind=sgd | FileCheck %s --check-prefix=STEP
// RUN: st-opt %s --scale-loss="growth-interval=3 hysteresis=4" --differentiate --add-optimizer=kind=sgd | FileCheck %s --check-prefix=HYSTERESIS
// RUN: st-opt %s --scale-loss=scale=1024 --differentiate --add-optimizer | FileCheck %s --check-prefix=ADAM

// CHECK: st.loss_scale = {growth_interval = 1000 : i64, hysteresis = 2 : i64, min_scale = 1.000000e+00 : f64}
// CHECK: %[[SCALE:[^:]*]]: tensor<f32> {st.init = {kind = "constant", value = 0x41F0000000000000 : f64}, st.name = "loss_scale.scale", st.role = "optimizer_state"}
// CHECK: %[[LOSS:.*]] = stablehlo.multiply
// CHECK: %[[SCALED:.*]] = st.custom_gradient(%[[LOSS]], %[[SCALE]]) forward
// CHECK: return %[[SCALED]] : tensor<f32>

// FIXED: st.loss_scale = {scale = 1.024000e+03 : f64}
// FIXED-NOT: loss_scale.scale
// FIXED: st.custom_gradient(%{{.*}}, %{{.*}}) forward

// The loss does not change, but its gradient does.
// GRADIENT: @main(%[[W:[^:]*]]: tensor<f32>
// GRADIENT-SAME: %[[SCALE:[^:]*]]: tensor<f32> {st.init = {kind = "constant", value = 8.0
// GRADIENT: %[[LOSS:.*]] = stablehlo.multiply %[[W]], %[[W]]
// GRADIENT-NEXT: %[[SEED:.*]] = stablehlo.multiply %{{.*}}, %[[SCALE]]
// GRADIENT-NEXT: %[[PART:.*]] = stablehlo.multiply %[[SEED]], %[[W]]
// GRADIENT-NEXT: %[[G:.*]] = stablehlo.add %[[PART]], %[[PART]]
// GRADIENT-NEXT: return %[[LOSS]], %[[G]]

// Gradients are divided by the scale. A step with non-finite ones keeps its state. The scale is halved down to the minimum,
// or doubled after three steps, but not beyond f32. Skipped steps are counted.
// STEP: @main(%[[W:[^:]*]]: tensor<f32>
// STEP-SAME: %[[SCALE:[^:]*]]: tensor<f32> {st.init = {kind = "constant", value = 6.553600e+04 : f64}, st.name = "loss_scale.scale", st.role = "optimizer_state", tf.aliasing_output = 5 : i32}
// STEP-SAME: st.name = "loss_scale.skipped_steps", st.role = "optimizer_state", tf.aliasing_output = 4 : i32}
// STEP-SAME: st.name = "loss_scale.good_steps", st.role = "optimizer_state", tf.aliasing_output = 6 : i32}
// STEP-SAME: tensor<f32> {st.name = "loss_scale", st.role = "metric"}
// STEP-DAG: %[[HALF:.*]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// STEP-DAG: %[[LEAST:.*]] = stablehlo.constant dense<2.500000e-01> : tensor<f32>
// STEP-DAG: %[[TWO:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// STEP-DAG: %[[THREE:.*]] = stablehlo.constant dense<3.000000e+00> : tensor<f32>
// STEP-DAG: %[[INF:.*]] = stablehlo.constant dense<0x7F800000> : tensor<f32>
// STEP: %[[INVERSE:.*]] = stablehlo.divide %{{.*}}, %[[SCALE]]
// STEP: %[[ABS:.*]] = stablehlo.abs %[[SCALED:.*]] : tensor<f32>
// STEP-NEXT: %[[FINITE:.*]] = stablehlo.compare LT, %[[ABS]], %[[INF]]
// STEP: stablehlo.multiply %[[SCALED]], %{{.*}} : tensor<f32>
// STEP: %[[GOOD:.*]] = stablehlo.compare EQ, %{{.*}}, %{{.*}}, FLOAT
// STEP: %[[UPDATED:.*]] = stablehlo.subtract %[[W]]
// STEP-NEXT: stablehlo.select %{{.*}}, %[[UPDATED]], %[[W]]
// STEP-NEXT: stablehlo.select
// STEP: %[[LEFTOUT:.*]] = stablehlo.add %{{.*}}, %{{.*}} : tensor<f32>
// STEP: %[[MORE:.*]] = stablehlo.add %{{.*}}, %{{.*}} : tensor<f32>
// STEP-NEXT: %[[COUNTED:.*]] = stablehlo.select %[[GOOD]], %[[MORE]], %{{.*}}
// STEP-NEXT: %[[GROWS:.*]] = stablehlo.compare GE, %[[COUNTED]], %[[THREE]]
// STEP-NEXT: %[[DOUBLED:.*]] = stablehlo.multiply %[[SCALE]], %[[TWO]]
// STEP-NEXT: %[[CAN:.*]] = stablehlo.compare LT, %[[DOUBLED]], %[[INF]]
// STEP-NEXT: %[[MAY:.*]] = stablehlo.and %[[GROWS]], %[[CAN]]
// STEP-NEXT: %[[GROWN:.*]] = stablehlo.select %[[MAY]], %[[DOUBLED]], %[[SCALE]]
// STEP-NEXT: %[[HALVED:.*]] = stablehlo.multiply %[[SCALE]], %[[HALF]]
// STEP-NEXT: %[[FALLEN:.*]] = stablehlo.maximum %[[HALVED]], %[[LEAST]]
// STEP-NEXT: %[[NEXT:.*]] = stablehlo.select %[[GOOD]], %[[GROWN]], %[[FALLEN]]
// STEP: return %{{.*}}, %[[SCALE]], %{{.*}}, %{{.*}}, %[[LEFTOUT]], %[[NEXT]], %{{.*}}

// The fourth skipped step since the scale grew is the first to halve it, and so do those after it.
// HYSTERESIS: %[[OVERFLOWS:[^:]*]]: tensor<f32> {st.init = {kind = "zeros"}, st.name = "loss_scale.overflows"
// HYSTERESIS-DAG: %[[FOUR:.*]] = stablehlo.constant dense<4.000000e+00> : tensor<f32>
// HYSTERESIS: %[[GROWS:.*]] = stablehlo.compare GE, %{{.*}}, %{{.*}}, FLOAT
// HYSTERESIS: %[[FALLEN:.*]] = stablehlo.maximum
// HYSTERESIS-NEXT: %[[MORE:.*]] = stablehlo.add %[[OVERFLOWS]], %{{.*}} : tensor<f32>
// HYSTERESIS-NEXT: %[[COUNT:.*]] = stablehlo.minimum %[[MORE]], %[[FOUR]]
// HYSTERESIS-NEXT: %[[FALLS:.*]] = stablehlo.compare GE, %[[COUNT]], %[[FOUR]]
// HYSTERESIS-NEXT: %[[NEXT:.*]] = stablehlo.select %[[FALLS]], %[[FALLEN]], %{{.*}}
// HYSTERESIS-NEXT: %[[RESET:.*]] = stablehlo.select %[[GROWS]], %{{.*}}, %[[OVERFLOWS]]
// HYSTERESIS-NEXT: stablehlo.select %{{.*}}, %[[RESET]], %[[COUNT]]

// Adam does not count skipped steps. A fixed scale is neither a state nor a metric.
// ADAM-NOT: loss_scale.scale
// ADAM-NOT: good_steps
// ADAM: %[[COUNT:[^:]*]]: tensor<f32> {st.name = "step", st.role = "scalar"}
// ADAM-SAME: %[[SKIPPED:[^:]*]]: tensor<f32> {st.init = {kind = "zeros"}, st.name = "loss_scale.skipped_steps"
// ADAM-NOT: "metric"
// ADAM: stablehlo.subtract %[[COUNT]], %[[SKIPPED]]
func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %0 = stablehlo.multiply %w, %w : tensor<f32>
  return %0 : tensor<f32>
}
