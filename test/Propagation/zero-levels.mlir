// Levels 2 and 3 of ZeRO, from the parallel file down to collectives.
//
// RUN: split-file %s %t
// RUN: st-opt --apply-parallel-config=config=%t/zero2.json --propagate-shardings --assign-stages --insert-reshards --global-to-local %t/step.mlir | FileCheck %s --check-prefix=ZERO2
// RUN: st-opt --apply-parallel-config=config=%t/zero3.json --propagate-shardings --assign-stages --insert-reshards --global-to-local %t/step.mlir | FileCheck %s --check-prefix=ZERO3

// Level 2: the gradient of a micro-batch is scattered, and the parts are accumulated; the new weight is gathered.
// ZERO2: func.func @main(%arg0: tensor<64x16xf32>{{.*}}, %arg1: tensor<16x16xf32>{{.*}}, %arg2: tensor<8x16xf32>
// ZERO2: %[[G:.*]] = stablehlo.dot_general {{.*}} -> tensor<16x16xf32>
// ZERO2: %[[PART:.*]] = st.reduce_scatter %[[G]] sum dim 0 over ["data"] {{.*}} -> tensor<8x16xf32>
// ZERO2: %[[SUM:.*]] = st.accumulate %[[PART]] sum over micro {{.*}} : tensor<8x16xf32>
// ZERO2: stablehlo.add %arg2, %[[SUM]]
// ZERO2: %[[W:.*]] = stablehlo.subtract {{.*}} : tensor<8x16xf32>
// ZERO2: st.all_gather %[[W]] dim 0 over ["data"] {{.*}} -> tensor<16x16xf32>
// ZERO2-NOT: st.{{all_gather|reduce_scatter|all_reduce}}

// Level 3: the weight is stored in shards and gathered for each pass; the update reads and writes shards.
// ZERO3: func.func @main(%arg0: tensor<128x16xf32>{{.*}}, %arg1: tensor<8x16xf32>{{.*}}, %arg2: tensor<8x16xf32>
// ZERO3: %[[FORWARD:.*]] = st.all_gather %arg1 dim 0 over ["data"] {{.*}} -> tensor<16x16xf32>
// ZERO3-NEXT: stablehlo.dot_general %arg0, %[[FORWARD]]
// ZERO3: %[[BACKWARD:.*]] = st.all_gather %arg1 dim 0 over ["data"] {{.*}} -> tensor<16x16xf32>
// ZERO3-NEXT: stablehlo.dot_general %{{.*}}, %[[BACKWARD]]
// ZERO3: st.reduce_scatter %{{.*}} sum dim 0 over ["data"] {{.*}} -> tensor<8x16xf32>
// ZERO3: %[[W3:.*]] = stablehlo.subtract %arg1, %{{.*}} : tensor<8x16xf32>
// ZERO3-NOT: st.{{all_gather|reduce_scatter}}
// ZERO3: return %{{.*}}, %[[W3]],

//--- zero2.json
{"mode": "sharding", "data": 2, "accum_degree": 2, "zero": 2}
//--- zero3.json
{"mode": "sharding", "data": 2, "zero": 3}
//--- step.mlir
func.func @main(%x: tensor<256x16xf32> {st.name = "x", st.role = "batch"},
                %w: tensor<16x16xf32> {st.name = "w", st.role = "parameter", tf.aliasing_output = 1 : i32},
                %m: tensor<16x16xf32> {st.name = "w.momentum", st.role = "optimizer_state", st.of = "w", tf.aliasing_output = 2 : i32})
    -> (tensor<f32> {st.role = "loss"}, tensor<16x16xf32> {st.name = "w", st.role = "parameter"}, tensor<16x16xf32> {st.name = "w.momentum", st.role = "optimizer_state"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x16xf32>, tensor<16x16xf32>) -> tensor<256x16xf32>
  %s = stablehlo.tanh %y : tensor<256x16xf32>
  %loss = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x16xf32>, tensor<f32>) -> tensor<f32>
  %d = stablehlo.dot_general %s, %w, contracting_dims = [1] x [1] : (tensor<256x16xf32>, tensor<16x16xf32>) -> tensor<256x16xf32>
  %g = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<256x16xf32>, tensor<256x16xf32>) -> tensor<16x16xf32>
  %new_m = stablehlo.add %m, %g : tensor<16x16xf32>
  %new_w = stablehlo.subtract %w, %new_m : tensor<16x16xf32>
  return %loss, %new_w, %new_m : tensor<f32>, tensor<16x16xf32>, tensor<16x16xf32>
}
