// RUN: st-opt %s | st-opt | FileCheck %s
// RUN: st-opt %s --mlir-print-op-generic | st-opt | FileCheck %s

// CHECK-LABEL: func.func @while
func.func @while(%x: tensor<i32>, %y: tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) {
  // CHECK: %[[W:.*]]:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<2xf32> attributes {st.note = 1 : i32}
  // CHECK-NEXT: cond {
  %0:2 = stablehlo.while(%i = %x, %v = %y) : tensor<i32>, tensor<2xf32> attributes {st.note = 1 : i32}
  cond {
    // CHECK: stablehlo.compare LT, %iterArg, %arg0
    %p = stablehlo.compare LT, %i, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  // CHECK: } do {
  } do {
    // CHECK-NEXT: stablehlo.return %iterArg, %iterArg_0 : tensor<i32>, tensor<2xf32>
    stablehlo.return %i, %v : tensor<i32>, tensor<2xf32>
  }
  // CHECK: return %[[W]]#0, %[[W]]#1
  return %0#0, %0#1 : tensor<i32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @branches
func.func @branches(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) {
  // CHECK: "stablehlo.if"(%arg0) ({
  // CHECK-NEXT: stablehlo.return %arg2 : tensor<f32>
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  // CHECK: "stablehlo.case"(%arg1) ({
  %1 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @calls
func.func @calls(%x: tensor<f32>, %y: tensor<2xf32>) {
  // CHECK: stablehlo.custom_call @target(%arg0, %arg1) {backend_config = "text", has_side_effect = true} : (tensor<f32>, tensor<2xf32>) -> ()
  stablehlo.custom_call @target(%x, %y) {backend_config = "text", has_side_effect = true} : (tensor<f32>, tensor<2xf32>) -> ()
  // CHECK: stablehlo.custom_call @"no identifier"() {api_version = 4 : i32, backend_config = {n = 1 : i32}} : () -> (tensor<f32>, tensor<2xf32>)
  %0:2 = stablehlo.custom_call @"no identifier"() {api_version = 4 : i32, backend_config = {n = 1 : i32}} : () -> (tensor<f32>, tensor<2xf32>)
  // CHECK: stablehlo.custom_call @aliased(%arg1) {called_computations = [@twice], operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.custom_call @aliased(%y) {called_computations = [@twice], operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: stablehlo.composite "st.twice" %arg0 {composite_attributes = {n = 1 : i32}, decomposition = @twice, version = 1 : i32} : (tensor<f32>) -> tensor<f32>
  %2 = stablehlo.composite "st.twice" %x {composite_attributes = {n = 1 : i32}, decomposition = @twice, version = 1 : i32} : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.optimization_barrier %arg0, %arg1 : tensor<f32>, tensor<2xf32>
  %3:2 = stablehlo.optimization_barrier %x, %y : tensor<f32>, tensor<2xf32>
  // CHECK: stablehlo.optimization_barrier()
  stablehlo.optimization_barrier ()
  // CHECK: %[[T:.*]] = stablehlo.tuple %arg0, %arg1 : tuple<tensor<f32>, tensor<2xf32>>
  %4 = stablehlo.tuple %x, %y : tuple<tensor<f32>, tensor<2xf32>>
  // CHECK: stablehlo.get_tuple_element %[[T]][1] : (tuple<tensor<f32>, tensor<2xf32>>) -> tensor<2xf32>
  %5 = stablehlo.get_tuple_element %4[1] : (tuple<tensor<f32>, tensor<2xf32>>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func private @twice
func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
