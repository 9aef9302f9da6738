// Gradients that devices send in 16 bits: the reshards that reduce a gradient over them have the type. Micro-batches are
// summed in f32, whether they are reduced before (ZeRO's first level) or after (its second); other sums stay f32.
//
// RUN: split-file %s %t
// RUN: st-opt --apply-parallel-config=config=%t/zero1.json --propagate-shardings --insert-reshards %t/step.mlir | FileCheck %s --check-prefix=RESHARD
// RUN: st-opt --apply-parallel-config=config=%t/zero1.json --propagate-shardings --insert-reshards --global-to-local %t/step.mlir | FileCheck %s --check-prefix=ZERO1
// RUN: st-opt --global-to-local %t/reshard.mlir | FileCheck %s --check-prefix=ONE
// RUN: st-opt --apply-parallel-config=config=%t/one.json --propagate-shardings --insert-reshards --global-to-local %t/step.mlir | FileCheck %s --check-prefix=BOUNDARY
// RUN: st-opt --apply-parallel-config=config=%t/zero2.json --propagate-shardings --insert-reshards --global-to-local %t/step.mlir | FileCheck %s --check-prefix=ZERO2

// RESHARD: st.reshard {{.*}}st.reduce_type = bf16
// RESHARD-NOT: st.reduce_type

// ZERO1: %[[G:.*]] = stablehlo.dot_general {{.*}} -> tensor<4x8xf32>
// ZERO1: %[[SUM:.*]] = st.accumulate %[[G]] sum over micro : tensor<4x8xf32>
// ZERO1-NEXT: %[[NARROW:.*]] = stablehlo.convert %[[SUM]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// ZERO1-NEXT: %[[PART:.*]] = st.reduce_scatter %[[NARROW]] sum dim 0 over ["data"] of @mesh : tensor<4x8xbf16> -> tensor<2x8xbf16>
// ZERO1-NEXT: stablehlo.convert %[[PART]] : (tensor<2x8xbf16>) -> tensor<2x8xf32>
// The loss.
// ZERO1: st.all_reduce {{.*}} tensor<f32>

// ZERO2: %[[G:.*]] = stablehlo.dot_general {{.*}} -> tensor<4x8xf32>
// ZERO2: %[[NARROW:.*]] = stablehlo.convert %[[G]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// ZERO2-NEXT: %[[PART:.*]] = st.reduce_scatter %[[NARROW]] sum dim 0 over ["data"] of @mesh : tensor<4x8xbf16> -> tensor<2x8xbf16>
// ZERO2-NEXT: %[[WIDE:.*]] = stablehlo.convert %[[PART]] : (tensor<2x8xbf16>) -> tensor<2x8xf32>
// ZERO2: st.accumulate %[[WIDE]] sum over micro : tensor<2x8xf32>

// One reshard over devices and then over micro-batches.
// ONE: %[[NARROW:.*]] = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xbf16>
// ONE-NEXT: %[[SUM:.*]] = st.all_reduce %[[NARROW]] sum over ["data"] of @mesh : tensor<4xbf16>
// ONE-NEXT: %[[WIDE:.*]] = stablehlo.convert %[[SUM]] : (tensor<4xbf16>) -> tensor<4xf32>
// ONE-NEXT: %[[ALL:.*]] = st.accumulate %[[WIDE]] sum over micro : tensor<4xf32>
// ONE-NEXT: return %[[ALL]]

// With one micro-batch the backward pass ends at the gradient's op, before the conversions.
// BOUNDARY: %[[G:.*]] = stablehlo.dot_general {{.*}} -> tensor<4x8xf32>
// BOUNDARY-NEXT: %[[END:.*]] = st.accumulate %[[G]] sum over micro : tensor<4x8xf32>
// BOUNDARY-NEXT: %[[NARROW:.*]] = stablehlo.convert %[[END]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// BOUNDARY-NEXT: st.all_reduce %[[NARROW]]

//--- reshard.mlir
#sum = #st.sharding<@mesh, [{}], unreduced = sum ["data", "micro"]>
module {
  st.mesh @mesh <["data"=2], micro=2>
  func.func @main(%g: tensor<4xf32> {st.sharding = #sum}) -> (tensor<4xf32> {st.sharding = #st.sharding<@mesh, [{}]>}) {
    %0 = st.reshard %g to <@mesh, [{}]> {st.reduce_type = bf16, st.sharding = #st.sharding<@mesh, [{}]>} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
//--- one.json
{"mode": "sharding", "data": 2}
//--- step.mlir
module attributes {st.precision = {compute = "f32", reduce = "bf16", loss_scale = "none"}} {
  func.func @main(%w: tensor<4x8xf32> {st.name = "w", st.role = "parameter", tf.aliasing_output = 1 : i32},
                  %m: tensor<4x8xf32> {st.name = "w.momentum", st.role = "optimizer_state", st.of = "w", tf.aliasing_output = 2 : i32},
                  %x: tensor<512x4xf32> {st.name = "x", st.role = "batch"}, %y: tensor<512x8xf32> {st.name = "y", st.role = "batch"})
      -> (tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<4x8xf32> {st.name = "w", st.role = "parameter"},
          tensor<4x8xf32> {st.name = "w.momentum", st.role = "optimizer_state"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x4xf32>, tensor<4x8xf32>) -> tensor<512x8xf32>
    %1 = stablehlo.multiply %0, %y : tensor<512x8xf32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x8xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<512x4xf32>, tensor<512x8xf32>) -> tensor<4x8xf32>
    %4 = stablehlo.add %m, %3 : tensor<4x8xf32>
    %5 = stablehlo.subtract %w, %4 : tensor<4x8xf32>
    return %2, %5, %4 : tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
}
//--- zero1.json
{"mode": "sharding", "data": 2, "accum_degree": 2, "zero": 1}
//--- zero2.json
{"mode": "sharding", "data": 2, "accum_degree": 2, "zero": 2}
