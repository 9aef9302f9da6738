// RUN: st-opt --split-input-file --verify-diagnostics %s

// #st.sharding

// expected-error @+1 {{axis "x" appears twice in a sharding}}
func.func @axis_twice(%a: tensor<4x4xf32> {st.sharding = #st.sharding<@mesh, [{"x"}, {"x"}]>}) { return }

// -----

// expected-error @+1 {{expected an unsplit part of at least 2, found 1}}
func.func @unsplit(%a: tensor<4x4xf32> {st.sharding = #st.sharding<@mesh, [{1, "x"}, {}]>}) { return }

// -----

// expected-error @+1 {{unknown kind of reduction 'product', expected sum, max, min, and, or}}
func.func @kind(%a: tensor<4xf32> {st.sharding = #st.sharding<@mesh, [{}], unreduced = product ["x"]>}) { return }

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @rank(%a: tensor<4xf32>) {
  // expected-error @+1 {{has a sharding of 2 dimensions for a tensor of 1}}
  %0 = st.reshard %a to <@mesh, [{}, {}]> : tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=2], micro=1>
func.func @unknown_axis(%a: tensor<4xf32>) {
  // expected-error @+1 {{has a sharding over axis "y", which mesh @mesh does not have}}
  %0 = st.constrain %a to <@mesh, [{"y"}]> : tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=2], micro=1>
func.func @unknown_unreduced(%a: tensor<4xf32>) {
  // expected-error @+1 {{is unreduced over axis "y", which mesh @mesh does not have}}
  %0 = st.reshard %a to <@mesh, [{}], unreduced = sum ["y"]> : tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=3], micro=1>
func.func @uneven(%a: tensor<4xf32>) {
  // expected-error @+1 {{has a sharding that splits dimension 0 of 'tensor<4xf32>' into 3 parts, which do not divide its size}}
  %0 = st.reshard %a to <@mesh, [{"x"}]> : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{expects st.name to be a string, found []}}
func.func @name(%a: tensor<4xf32> {st.name = []}) { return }

// -----

// expected-error @+1 {{expects st.init to be a dictionary, found "ones"}}
func.func @init(%a: tensor<4xf32> {st.init = "ones"}) { return }

// -----

// expected-error @+1 {{expects st.sharding of an argument or result to be a #st.sharding}}
func.func @not_a_sharding(%a: tensor<4xf32> {st.sharding = "x"}) { return }

// -----

func.func @several_results(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects st.sharding to have one #st.sharding per result}}
  %0 = stablehlo.negate %a {st.sharding = ["x"]} : tensor<4xf32>
  return
}

// -----

// st.mesh

// expected-error @+1 {{expects micro to be at least 1, found 0}}
st.mesh @mesh <["x"=2], micro=0>

// -----

// expected-error @+1 {{lists the temporal axis "micro" among the spatial ones}}
st.mesh @mesh <["micro"=2], micro=1>

// -----

// expected-error @+1 {{names axis "x" twice}}
st.mesh @mesh <["x"=2, "x"=2], micro=1>

// -----

// expected-error @+1 {{expects axis "x" to have a positive size, found 0}}
st.mesh @mesh <["x"=0], micro=1>

// -----

// expected-error @+1 {{has 1 axis names and 2 sizes}}
"st.mesh"() <{sym_name = "mesh", axis_names = ["x"], axis_sizes = array<i64: 2, 2>, micro = 1 : i64}> : () -> ()

// -----

// st.transfer

func.func @transfer(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects two different stages, found 1 and 1}}
  %0 = st.transfer %a from 1 to 1 : tensor<4xf32>
  return
}

// -----

// collectives

st.mesh @mesh <["x"=2], micro=2>
func.func @no_axes(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects at least one mesh axis}}
  %0 = st.all_reduce %a sum over [] of @mesh : tensor<4xf32>
  return
}

// -----

func.func @no_mesh(%a: tensor<4xf32>) {
  // expected-error @+1 {{names mesh @mesh, which does not exist}}
  %0 = st.all_reduce %a sum over ["x"] of @mesh : tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=2], micro=2>
func.func @over_micro(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects a spatial axis of @mesh, found "micro"}}
  %0 = st.all_reduce %a sum over ["micro"] of @mesh : tensor<4xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @gather_dim(%a: tensor<4xf32>) {
  // expected-error @+1 {{has dimension 1 of a tensor of rank 1}}
  %0 = st.all_gather %a dim 1 over ["x"] of @mesh : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @gather_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects result type 'tensor<8xf32>', found 'tensor<4xf32>'}}
  %0 = st.all_gather %a dim 0 over ["x"] of @mesh : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=3], micro=1>
func.func @scatter_uneven(%a: tensor<4xf32>) {
  // expected-error @+1 {{cannot split dimension 0 of size 4 into 3}}
  %0 = st.reduce_scatter %a sum dim 0 over ["x"] of @mesh : tensor<4xf32> -> tensor<1xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @slice_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects result type 'tensor<2xf32>', found 'tensor<4xf32>'}}
  %0 = st.all_slice %a dim 0 over ["x"] of @mesh : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @all_to_all_dims(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects two different dimensions of a tensor of rank 1}}
  %0 = st.all_to_all %a split 0 concat 0 over ["x"] of @mesh : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=3], micro=1>
func.func @all_to_all_uneven(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{cannot split dimension 0 of size 4 into 3}}
  %0 = st.all_to_all %a split 0 concat 1 over ["x"] of @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @all_to_all_type(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{expects result type 'tensor<2x8xf32>', found 'tensor<4x4xf32>'}}
  %0 = st.all_to_all %a split 0 concat 1 over ["x"] of @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @permute(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects source-target pairs, found 3 numbers}}
  %0 = st.collective_permute %a [0, 1, 1] over ["x"] of @mesh : tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=2, "y"=2], micro=1>
func.func @permute_position(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects positions below 4, found 4}}
  %0 = st.collective_permute %a [0, 1, 3, 4] over ["x", "y"] of @mesh : tensor<4xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @permute_twice(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects each target once, found 1 again}}
  %0 = st.collective_permute %a [0, 1, 1, 1] over ["x"] of @mesh : tensor<4xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @axis_index_type() {
  // expected-error @+1 {{expects a scalar result, found 'tensor<1xi32>'}}
  %0 = st.axis_index "x" of @mesh : tensor<1xi32>
  return
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=2], micro=1>
func.func @axis_index_axis() {
  // expected-error @+1 {{expects an axis of @mesh, found "y"}}
  %0 = st.axis_index "y" of @mesh : tensor<i32>
  return
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=2], micro=1>
func.func @axis_index_shift() {
  // expected-error @+1 {{expects a shift from 0 to 1, found 2}}
  %0 = st.axis_index "x" plus 2 of @mesh : tensor<i32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects the forward region's arguments to have the types of the inputs, 'tensor<4xf32>', found 'tensor<4xf32>', 'tensor<4xf32>'}}
  %y = st.custom_gradient(%x) forward {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    stablehlo.return %a, %a : tensor<4xf32>, tensor<4xf32>
  } backward {
  ^bb0(%r: tensor<4xf32>, %ct: tensor<4xf32>):
    stablehlo.return %ct : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects the forward region to return the results, 'tensor<4xf32>', and then residuals, found }}
  %y = st.custom_gradient(%x) forward {
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return
  } backward {
  ^bb0(%r: tensor<4xf32>, %ct: tensor<4xf32>):
    stablehlo.return %ct : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects the backward region's arguments to be residuals and cotangents, 'tensor<4xf32>', 'tensor<4xf32>', found 'tensor<4xf32>'}}
  %y = st.custom_gradient(%x) forward {
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return %a, %a : tensor<4xf32>, tensor<4xf32>
  } backward {
  ^bb0(%ct: tensor<4xf32>):
    stablehlo.return %ct : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects the backward region to return cotangents of the inputs, 'tensor<4xf32>', found }}
  %y = st.custom_gradient(%x) forward {
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return %a, %a : tensor<4xf32>, tensor<4xf32>
  } backward {
  ^bb0(%r: tensor<4xf32>, %ct: tensor<4xf32>):
    stablehlo.return
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{region #0 ('forward') failed to verify constraint: region with 1 blocks}}
  %y = st.custom_gradient(%x) forward {
  ^bb0(%a: tensor<4xf32>):
    "cf.br"() [^end] : () -> ()
  ^end:
    stablehlo.return %a, %a : tensor<4xf32>, tensor<4xf32>
  } backward {
  ^bb0(%r: tensor<4xf32>, %ct: tensor<4xf32>):
    stablehlo.return %ct : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @no_operand() {
  // expected-error @+1 {{expects at least one operand}}
  "st.all_reduce"() <{axes = ["x"], kind = #st<reduce_kind sum>, mesh = @mesh}> : () -> ()
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @fewer_results(%a: tensor<4xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{expects one result for each operand, found 2 operands and 1 results}}
  %0 = st.all_gather %a, %b dim 0 over ["x"] of @mesh : tensor<4xf32>, tensor<2xf32> -> tensor<8xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @second_result(%a: tensor<4xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{expects result type 'tensor<1xf32>', found 'tensor<2xf32>'}}
  %0:2 = st.reduce_scatter %a, %b sum dim 0 over ["x"] of @mesh : tensor<4xf32>, tensor<2xf32> -> tensor<2xf32>, tensor<2xf32>
  return
}

// -----

st.mesh @mesh <["x"=2], micro=1>
func.func @other_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects result type 'tensor<4xf32>', found 'tensor<2xf32>'}}
  %0 = "st.all_reduce"(%a) <{axes = ["x"], kind = #st<reduce_kind sum>, mesh = @mesh}> : (tensor<4xf32>) -> tensor<2xf32>
  return
}
