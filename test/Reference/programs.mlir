// Two stages on two groups of two devices, two micro-batches in 1F1B order: the
// loss and the updated weights are those of the function on one device.
//
// REQUIRES: jax
// RUN: split-file %s %t
// RUN: %python %S/Inputs/random_inputs.py %t/in x=f32:4x6 w0=f32:6x4 w1=f32:4x2
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/whole %t/whole.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/stages %t/stages.mlir
// RUN: %python %S/Inputs/compare.py %t/whole %t/stages 1e-6 | FileCheck %s
// CHECK: 3 tensors agree

//--- whole.mlir
func.func @main(%x: tensor<4x6xf32> {st.name = "x"}, %w0: tensor<6x4xf32> {st.name = "w0"},
                %w1: tensor<4x2xf32> {st.name = "w1"})
    -> (tensor<4x2xf32> {st.name = "y"}, tensor<6x4xf32> {st.name = "w0"}, tensor<4x2xf32> {st.name = "w1"}) {
  %h = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %y = stablehlo.dot_general %h, %w1, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %dw1 = stablehlo.dot_general %h, %y, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %dh = stablehlo.dot_general %y, %w1, contracting_dims = [1] x [1] : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %dw0 = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<4x6xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %new0 = stablehlo.subtract %w0, %dw0 : tensor<6x4xf32>
  %new1 = stablehlo.subtract %w1, %dw1 : tensor<4x2xf32>
  return %y, %new0, %new1 : tensor<4x2xf32>, tensor<6x4xf32>, tensor<4x2xf32>
}

//--- stages.mlir
st.mesh @mesh <["t"=2], micro=2>

// The hidden dimension is split over `t`.
st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
  st.state @w0 "w0" role "parameter" of "" global tensor<6x4xf32> slice #st.sharding<@mesh, [{}, {"t"}]> local tensor<6x2xf32>
  st.input @x "x" role "batch" global tensor<4x6xf32> slice #st.sharding<@mesh, [{"micro"}, {}]> local tensor<2x6xf32> micro_dim 0
  st.buffer @sum "accumulator" slots 1 : tensor<6x2xf32>
  st.task @prologue prologue stage 0 (%mb) {
    %zero = stablehlo.constant dense<0.0> : tensor<6x2xf32>
    st.write %zero to @sum : tensor<6x2xf32>
  }
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x[%mb] : tensor<2x6xf32>
    %w = st.read @w0 : tensor<6x2xf32>
    %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x6xf32>, tensor<6x2xf32>) -> tensor<2x2xf32>
    st.send %h to @group1 channel 0 : tensor<2x2xf32>
  }
  st.task @backward0 backward stage 0 (%mb) {
    %x = st.read @x[%mb] : tensor<2x6xf32>
    %dh = st.recv from @group1 channel 0 : tensor<2x2xf32>
    %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<2x6xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
    st.write %dw to @sum accumulate sum : tensor<6x2xf32>
  }
  st.task @update update stage 0 (%mb) {
    %w = st.read @w0 : tensor<6x2xf32>
    %dw = st.read @sum : tensor<6x2xf32>
    %new = st.kernel "loop" (%a = %w : tensor<6x2xf32>, %b = %dw : tensor<6x2xf32>) -> tensor<6x2xf32> {
      %0 = stablehlo.subtract %a, %b : tensor<6x2xf32>
      st.yield %0 : tensor<6x2xf32>
    }
    st.write %new to @w0 : tensor<6x2xf32>
  }
  st.schedule "1f1b" [@prologue 0, @forward0 0, @forward0 1, @backward0 0, @backward0 1, @update 0]
}

st.program @group1 stages [1] devices [2, 3] first_rank 2 mesh @mesh {
  st.state @w1 "w1" role "parameter" of "" global tensor<4x2xf32> slice #st.sharding<@mesh, [{"t"}, {}]> local tensor<2x2xf32>
  st.output @y "y" role "metric" global tensor<4x2xf32> slice #st.sharding<@mesh, [{"micro"}, {}]> local tensor<2x2xf32>
  st.buffer @h "stash" slots 1 : tensor<2x2xf32>
  st.buffer @stash "stash" slots 1 : tensor<2x2xf32>
  st.buffer @sum "accumulator" slots 1 : tensor<2x2xf32>
  st.task @prologue prologue stage 1 (%mb) {
    %zero = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    st.write %zero to @sum : tensor<2x2xf32>
  }
  st.task @forward1 forward stage 1 (%mb) {
    %h = st.recv from @group0 channel 0 : tensor<2x2xf32>
    %w = st.read @w1 : tensor<2x2xf32>
    %partial = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %y = st.all_reduce %partial sum over ["t"] of @mesh : tensor<2x2xf32>
    st.write %h to @h[%mb] : tensor<2x2xf32>
    st.write %y to @stash[%mb] : tensor<2x2xf32>
    st.write %y to @y[%mb] : tensor<2x2xf32>
  }
  st.task @backward1 backward stage 1 (%mb) {
    %h = st.read @h[%mb] : tensor<2x2xf32>
    %y = st.read @stash[%mb] : tensor<2x2xf32>
    %w = st.read @w1 : tensor<2x2xf32>
    %dh = stablehlo.dot_general %y, %w, contracting_dims = [1] x [1] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    st.send %dh to @group0 channel 0 : tensor<2x2xf32>
    %dw = stablehlo.dot_general %h, %y, contracting_dims = [0] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    st.write %dw to @sum accumulate sum : tensor<2x2xf32>
  }
  st.task @update update stage 1 (%mb) {
    %w = st.read @w1 : tensor<2x2xf32>
    %dw = st.read @sum : tensor<2x2xf32>
    %new = stablehlo.subtract %w, %dw : tensor<2x2xf32>
    st.write %new to @w1 : tensor<2x2xf32>
  }
  st.schedule "1f1b" [@prologue 0, @forward1 0, @backward1 0, @forward1 1, @backward1 1, @update 0]
}
