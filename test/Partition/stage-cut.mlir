// RUN: st-opt --assign-stages --split-input-file %s | FileCheck %s

// Three products of equal cost in two stages: the boundary is after the narrow value, to send less.

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

// -----

// Four equal layers, each with one sum over devices, and a loss with four small ones: the start
// times of collectives say nothing about the layers, which are divided evenly.

#batch = #st.sharding<@mesh, [{}, {}]>
#in = #st.sharding<@mesh, [{}, {"tensor"}]>
#weight = #st.sharding<@mesh, [{"tensor"}, {}]>
#part = #st.sharding<@mesh, [{}, {}], unreduced = sum ["tensor"]>
#row = #st.sharding<@mesh, [{}], unreduced = sum ["tensor"]>
#scalar = #st.sharding<@mesh, []>
module attributes {st.stages = 2 : i64, st.speed = #st.speed<flops_per_ns = 4997, flops16_per_ns = 19988, vector_bytes_per_ns = 1249, bytes_per_ns = 128, kernel_ns = 400, link_bytes_per_us = [128000], link_ns = 300>} {
  st.mesh @mesh <["tensor"=2], micro=1>
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<8x16xf32> {st.role = "batch", st.sharding = #in},
                  %w: tensor<16x16xf32> {st.name = "w", st.role = "parameter", st.sharding = #weight})
      -> (tensor<f32> {st.role = "loss"}) {
    %zero = stablehlo.constant {st.sharding = #scalar} dense<0.0> : tensor<f32>
    // CHECK-COUNT-2: stablehlo.dot_general {{.*}}st.stage = 0
    // CHECK: st.transfer {{.*}} from 0 to 1
    // CHECK-COUNT-2: stablehlo.dot_general {{.*}}st.stage = 1
    // CHECK-NOT: st.transfer
    %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {st.block = 1 : i64, st.sharding = #part} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] {st.block = 2 : i64, st.sharding = #part} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] {st.block = 3 : i64, st.sharding = #part} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %d = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] {st.block = 4 : i64, st.sharding = #part} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %h = stablehlo.tanh %d {st.block = 5 : i64, st.sharding = #in} : tensor<8x16xf32>
    %i = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [1] {st.sharding = #row} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
    %j = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [1] {st.sharding = #row} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
    %k = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [1] {st.sharding = #row} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
    %l = stablehlo.multiply %i, %j {st.sharding = #st.sharding<@mesh, [{}]>} : tensor<8xf32>
    %m = stablehlo.multiply %l, %k {st.sharding = #st.sharding<@mesh, [{}]>} : tensor<8xf32>
    %loss = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0] {st.sharding = #scalar} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
