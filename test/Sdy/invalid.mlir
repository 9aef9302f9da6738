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
  // expected-error@+1 {{a part of axis "a" cannot be imported}}
  %0 = sdy.sharding_constraint %x <@mesh, [{"a":(1)2}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

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
  // expected-error@+1 {{custom op 'sdy.manual_computation' is unknown}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%y: tensor<4xf32>) {
    sdy.return %y : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
