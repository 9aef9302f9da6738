// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @while_cond(%x: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.while' op expects its cond to return ('tensor<i1>'), got ('tensor<i32>')}}
  %0 = stablehlo.while(%i = %x) : tensor<i32>
  cond {
    // expected-note @+1 {{returned here}}
    stablehlo.return %i : tensor<i32>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return
}

// -----

func.func @while_body(%x: tensor<i1>) {
  // expected-error @+1 {{'stablehlo.while' op expects its body to return ('tensor<i1>'), got ()}}
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%i: tensor<i1>):
    "stablehlo.return"(%i) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i1>):
    // expected-note @+1 {{returned here}}
    stablehlo.return
  }) : (tensor<i1>) -> tensor<i1>
  return
}

// -----

func.func @while_blocks(%x: tensor<i1>) {
  // expected-error @+1 {{'stablehlo.while' op region #0 ('cond') failed to verify constraint: region with 1 blocks}}
  %0 = "stablehlo.while"(%x) ({
  }, {
  ^bb0(%i: tensor<i1>):
    stablehlo.return %i : tensor<i1>
  }) : (tensor<i1>) -> tensor<i1>
  return
}

// -----

func.func @while_result(%x: tensor<i1>) {
  // expected-error @+1 {{'stablehlo.while' op expects results of type ('tensor<i1>'), got ('tensor<i32>')}}
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%i: tensor<i1>):
    stablehlo.return %i : tensor<i1>
  }, {
  ^bb0(%i: tensor<i1>):
    stablehlo.return %i : tensor<i1>
  }) : (tensor<i1>) -> tensor<i32>
  return
}

// -----

func.func @if_branch(%p: tensor<i1>, %x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.if' op expects its false_branch to return ('tensor<f32>'), got ('tensor<i1>')}}
  %0 = "stablehlo.if"(%p) ({
    "stablehlo.return"(%x) : (tensor<f32>) -> ()
  }, {
    // expected-note @+1 {{returned here}}
    stablehlo.return %p : tensor<i1>
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @if_args(%p: tensor<i1>, %x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.if' op expects its true_branch to take (), got ('tensor<f32>')}}
  %0 = "stablehlo.if"(%p) ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @case_empty(%i: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.case' op expects at least one branch}}
  %0 = "stablehlo.case"(%i) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func @case_branch(%i: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.case' op expects its branch 1 to return ('tensor<i32>'), got ()}}
  %0 = "stablehlo.case"(%i) ({
    "stablehlo.return"(%i) : (tensor<i32>) -> ()
  }, {
    // expected-note @+1 {{returned here}}
    stablehlo.return
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

func.func @tuple_element(%t: tuple<tensor<f32>>) {
  // expected-error @+1 {{'stablehlo.get_tuple_element' op has no element 1 in 'tuple<tensor<f32>>'}}
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>>) -> tensor<f32>
  return
}

// -----

func.func @call_layouts(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op expects both operand_layouts and result_layouts, or neither}}
  %0 = stablehlo.custom_call @f(%x) {operand_layouts = [dense<> : tensor<0xindex>]} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @call_layout_count(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op expects 1 operand_layouts, got 0}}
  %0 = stablehlo.custom_call @f(%x) {operand_layouts = [], result_layouts = [dense<> : tensor<0xindex>]} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @call_layout() {
  // expected-error @+1 {{'stablehlo.custom_call' op expects result_layouts to permute the dimensions of 'tensor<2x3xf32>', got dense<0> : tensor<2xindex>}}
  %0 = stablehlo.custom_call @f() {operand_layouts = [], result_layouts = [dense<[0, 0]> : tensor<2xindex>]} : () -> tensor<2x3xf32>
  return
}

// -----

func.func @call_alias(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op expects operand_index of an alias to be in [0, 1), got 1}}
  %0 = stablehlo.custom_call @f(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @call_api(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op attribute 'api_version' failed to satisfy constraint}}
  %0 = stablehlo.custom_call @f(%x) {api_version = 5 : i32} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @composite(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.composite' op expects its decomposition to name a function, got @missing}}
  %0 = stablehlo.composite "a.b" %x {decomposition = @missing} : (tensor<f32>) -> tensor<f32>
  return
}
