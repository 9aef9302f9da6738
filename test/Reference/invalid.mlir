// RUN: st-translate --interpret --split-input-file --verify-diagnostics %s

// expected-error@below {{no input 'x' for argument 0}}
func.func @main(%x: tensor<f32> {st.name = "x"}) {
  return
}

// -----

// expected-error@below {{no input 'arg0' for argument 0}}
func.func @main(%x: tensor<f32>) {
  return
}

// -----

// expected-error@below {{no function @main with a body}}
module {
  func.func private @main()
}

// -----

func.func @main() -> tensor<f8E4M3FN> {
  // expected-error@below {{the reference interpreter does not support values of type 'tensor<f8E4M3FN>'}}
  %0 = stablehlo.constant dense<0.0> : tensor<f8E4M3FN>
  return %0 : tensor<f8E4M3FN>
}

// -----

func.func @main() -> tensor<4000000x4000000xf32> {
  // expected-error@below {{the reference interpreter does not support values of type}}
  %0 = stablehlo.constant dense<0.0> : tensor<4000000x4000000xf32>
  return %0 : tensor<4000000x4000000xf32>
}

// -----

func.func @main() {
  // expected-error@below {{the reference interpreter does not support the target 'mystery'}}
  %0 = stablehlo.custom_call @mystery() : () -> tensor<f32>
  return
}

// -----

// expected-note@+1 {{the function is here}}
func.func @main() {
  // expected-error@below {{calls @main recursively}}
  func.call @main() : () -> ()
  return
}

// -----

// expected-note@+1 {{the function is here}}
func.func private @outside()
func.func @main() {
  // expected-error@below {{calls @outside, which has no body}}
  func.call @outside() : () -> ()
  return
}

// -----

st.mesh @mesh <["a"=2], micro=1>

func.func @main() -> tensor<i32> {
  %a = st.axis_index "a" of @mesh : tensor<i32>
  %0 = "stablehlo.case"(%a) ({
    // expected-error@below {{this collective is in control flow that only some ranks enter}}
    %1 = st.all_reduce %a sum over ["a"] of @mesh : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }, {
    stablehlo.return %a : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}

// -----

st.mesh @mesh <["a"=2], micro=1>

// expected-error@below {{result 'result0' is replicated, but differs between ranks 0 and 1}}
func.func @main() -> tensor<i32> {
  %a = st.axis_index "a" of @mesh : tensor<i32>
  return %a : tensor<i32>
}

// -----

// expected-error@below {{two results are named 'w' and differ}}
func.func @main() -> (tensor<f32> {st.name = "w"}, tensor<f32> {st.name = "w"}) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.constant dense<1.0> : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

func.func @main() -> tensor<i32> {
  %x = stablehlo.constant dense<1> : tensor<i32>
  // expected-error@below {{the reference interpreter does not support values of type 'tuple<tensor<i32>, tensor<i32>>'}}
  %0 = stablehlo.tuple %x, %x : tuple<tensor<i32>, tensor<i32>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<i32>, tensor<i32>>) -> tensor<i32>
  return %1 : tensor<i32>
}
