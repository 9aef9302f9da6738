// RUN: st-opt --split-tasks --split-input-file --verify-diagnostics %s

// A mean over the whole batch of a value that depends on a parameter.

module attributes {st.stages = 1 : i64} {
  st.mesh @mesh <[], micro=2>
  func.func @main(
      %x: tensor<f32> {st.name = "x", st.role = "batch"},
      %xs: tensor<4xf32> {st.name = "xs", st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro"}]>, st.global_type = tensor<8xf32>},
      %w: tensor<4xf32> {st.name = "w", st.role = "parameter"})
      -> (tensor<4xf32> {st.name = "loss", st.role = "loss"}) {
    // expected-note @+1 {{that reduction depends on parameter "w" here; expected it to depend on the batch alone}}
    %y = stablehlo.multiply %xs, %w : tensor<4xf32>
    %mean = st.accumulate %y sum over micro : tensor<4xf32>
    %scaled = stablehlo.negate %mean : tensor<4xf32>
    // expected-error @+1 {{'stablehlo.subtract' op uses a sum over all micro-batches inside the loop over micro-batches}}
    %z = stablehlo.subtract %y, %scaled : tensor<4xf32>
    %loss = st.accumulate %z sum over micro : tensor<4xf32>
    return %loss : tensor<4xf32>
  }
}

// -----

module attributes {st.stages = 2 : i64} {
  st.mesh @mesh <[], micro=1>
  func.func @main(%x: tensor<4xf32> {st.name = "x", st.role = "batch", st.stage = 0 : i64, st.global_type = tensor<4xf32>})
      -> (tensor<4xf32> {st.name = "loss", st.role = "loss"}) {
    // expected-note @+1 {{the value is defined here}}
    %y = stablehlo.negate %x {st.stage = 0 : i64} : tensor<4xf32>
    // expected-error @+1 {{'stablehlo.negate' op of stage 1 uses a value of stage 0; expected an st.transfer between them}}
    %z = stablehlo.negate %y {st.stage = 1 : i64} : tensor<4xf32>
    return %z : tensor<4xf32>
  }
}

// -----

module attributes {st.stages = 2 : i64} {
  st.mesh @mesh <[], micro=1>
  func.func @main(%x: tensor<4xf32> {st.name = "x", st.role = "batch", st.stage = 0 : i64, st.global_type = tensor<4xf32>})
      -> (tensor<4xf32> {st.name = "loss", st.role = "loss"}) {
    // expected-error @+1 {{'stablehlo.negate' op has no st.stage; expected assign-stages to have run}}
    %y = stablehlo.negate %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

module {
  st.mesh @mesh <[], micro=2>
  // expected-error @+1 {{'func.func' op expects result 0 to be reduced over micro-batches, or split over them}}
  func.func @main(%x: tensor<4xf32> {st.name = "x", st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro"}]>, st.global_type = tensor<8xf32>})
      -> (tensor<4xf32> {st.name = "logits", st.role = "metric"}) {
    // expected-note @+1 {{it is computed here, once per micro-batch}}
    %y = stablehlo.negate %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  // expected-error @+1 {{'func.func' op expects argument 0 to have the attribute st.role}}
  func.func @main(%x: tensor<4xf32> {st.name = "x", st.global_type = tensor<4xf32>}) -> (tensor<4xf32> {st.name = "loss", st.role = "loss"}) {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{st.devices has the group array<i64: 0>, expected 2 device ids, one per mesh position}}
module attributes {st.devices = [array<i64: 0>]} {
  st.mesh @mesh <["tensor"=2], micro=1>
  func.func @main(%x: tensor<4xf32> {st.name = "x", st.role = "batch", st.global_type = tensor<4xf32>})
      -> (tensor<4xf32> {st.name = "loss", st.role = "loss"}) {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{expected a function @main with a body}}
module {
  st.mesh @mesh <[], micro=1>
  func.func @other(%x: tensor<4xf32> {st.global_type = tensor<4xf32>}) {
    return
  }
}

// -----

// expected-error @+1 {{split-tasks: expected arguments with st.global_type, which global-to-local leaves; found an st.mesh, which apply-parallel-config leaves}}
module {
  st.mesh @mesh <[], micro=1>
}

// -----

module attributes {st.stages = 1 : i64, st.devices = [array<i64: 0>]} {
  st.mesh @mesh <["tensor"=1], micro=1>
  // expected-note@+1 {{a value is defined here}}
  func.func @main(%x: tensor<4xf32> {st.name = "x", st.role = "batch", st.global_type = tensor<4xf32>}, %s: tensor<f32> {st.name = "s", st.role = "batch"})
      -> (tensor<f32> {st.name = "y", st.role = "metric"}) {
    // expected-error @+1 {{uses values from outside its regions, which cannot be put into tasks}}
    %0 = "stablehlo.reduce"(%x, %s) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.multiply %b, %s : tensor<f32>
      %2 = stablehlo.add %a, %1 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
