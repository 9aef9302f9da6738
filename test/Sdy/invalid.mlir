// RUN: st-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{axis "a" appears twice in a mesh}}
sdy.mesh @mesh = <["a"=2, "a"=4]>

// -----

// expected-error@+1 {{axis "a" has size 0, expected 1 to 1048576}}
sdy.mesh @mesh = <["a"=0]>

// -----

// expected-error@+1 {{expected 4 device ids, found 3}}
sdy.mesh @mesh = <["a"=2, "b"=2], device_ids=[0, 1, 2]>

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{expected a priority such as p0}}
  %0 = sdy.sharding_constraint %x <@mesh, [{"a"}q]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{expected replicated or unreduced, found mixed}}
  %0 = sdy.sharding_constraint %x <@mesh, [{"a"}], mixed={"b"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has 1 operands, 2 shardings of them and 1 in its body}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}]>, <@mesh, [{}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%y: tensor<4xf32>) {
    sdy.return %y : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has results 0 of type 'tensor<8xf32>', sharded #sdy.sharding<@mesh, [{"a"}]>, and 'tensor<4xi32>' in its body}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%y: tensor<4xf32>) {
    %1 = stablehlo.convert %y : (tensor<4xf32>) -> tensor<4xi32>
    sdy.return %1 : tensor<4xi32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{names axis "a" twice}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a", "a"} (%y: tensor<4xf32>) {
    sdy.return %y : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{custom op 'sdy.named_computation' is unknown}}
  %0 = sdy.named_computation [{"a"}] %x out_sharding=<@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error@+1 {{expected a sharding}}
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding_per_value<[#sdy.mesh<["a"=2]>]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{moves of axes}}
  %0 = "sdy.all_to_all"(%x) <{params = [[["a"], 0]], out_sharding = #sdy.sharding<@mesh, [{"a"}]>}> : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
