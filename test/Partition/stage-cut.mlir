// RUN: st-opt --assign-stages --split-input-file %s | FileCheck %s

// Three products of one cost in two stages: the cut goes where less is sent, behind the narrow value.

#two = #st.sharding<@mesh, [{}, {}]>
#scalar = #st.sharding<@mesh, []>
module attributes {st.stages = 2 : i64} {
  st.mesh @mesh <["tensor"=1], micro=1>
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<8x16xf32> {st.role = "batch", st.sharding = #two},
                  %u: tensor<16x256xf32> {st.name = "u", st.role = "parameter", st.sharding = #two},
                  %v: tensor<256x16xf32> {st.name = "v", st.role = "parameter", st.sharding = #two},
                  %w: tensor<16x256xf32> {st.name = "w", st.role = "parameter", st.sharding = #two})
      -> (tensor<f32> {st.role = "loss"}) {
    %zero = stablehlo.constant {st.sharding = #scalar} dense<0.0> : tensor<f32>
    // CHECK: stablehlo.dot_general {{.*}}st.stage = 0{{.*}} -> tensor<8x256xf32>
    %wide = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] {st.sharding = #two} : (tensor<8x16xf32>, tensor<16x256xf32>) -> tensor<8x256xf32>
    // CHECK: %[[NARROW:.*]] = stablehlo.dot_general {{.*}}st.stage = 0{{.*}} -> tensor<8x16xf32>
    // CHECK: st.transfer %[[NARROW]] from 0 to 1 {{.*}} : tensor<8x16xf32>
    // CHECK-NOT: st.transfer
    %narrow = stablehlo.dot_general %wide, %v, contracting_dims = [1] x [0] {st.sharding = #two} : (tensor<8x256xf32>, tensor<256x16xf32>) -> tensor<8x16xf32>
    // CHECK: stablehlo.dot_general {{.*}}st.stage = 1{{.*}} -> tensor<8x256xf32>
    %end = stablehlo.dot_general %narrow, %w, contracting_dims = [1] x [0] {st.sharding = #two} : (tensor<8x16xf32>, tensor<16x256xf32>) -> tensor<8x256xf32>
    %loss = stablehlo.reduce(%end init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.sharding = #scalar} : (tensor<8x256xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
