// RUN: st-opt %s --import-shardings --split-input-file --verify-diagnostics

// expected-error@+1 {{has an explicit order of devices, which cannot be imported}}
sdy.mesh @m = <["a"=2], device_ids=[1, 0]>

// -----

// expected-note@+1 {{that mesh is here}}
sdy.mesh @m = <["a"=2, "b"=3]>
// expected-error@+1 {{has different axes than an earlier mesh; expected one mesh}}
sdy.mesh @n = <["a"=3, "b"=2]>

// -----

sdy.mesh @m = <["a"=2]>
// expected-error@+1 {{a sharding is unreduced over "b", an axis that the mesh does not have}}
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"b"}>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

sdy.mesh @m = <["a"=2]>
// expected-error@+1 {{a sharding of 2 dimensions is given for 'tensor<4xf32>'}}
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{the mesh has an axis "micro", a name that is reserved for micro-batches}}
module {
  sdy.mesh @m = <["micro"=2]>
}

// -----

// expected-error@+1 {{mhlo.sharding "{devices=[2,2]<=[8]}": the number of tiles differs from the number of devices}}
func.func @main(%x: tensor<4x4xf32> {mhlo.sharding = "{devices=[2,2]<=[8]}"}) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}

// -----

// expected-error@+1 {{mhlo.sharding "{maximal device=0}": expected {replicated}, {manual} or {devices=[...]<=[...]}}}
func.func @main(%x: tensor<4x4xf32> {mhlo.sharding = "{maximal device=0}"}) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}

// -----

// expected-error@+1 {{mhlo.sharding "{devices=[2,1]<=[2]}" of 'tensor<4xf32>' cannot be expressed by complete axes of one mesh}}
func.func @main(%x: tensor<4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{the mhlo.sharding attributes have no mesh in common}}
module {
  func.func @main(%x: tensor<6xf32> {mhlo.sharding = "{devices=[6]<=[6]}"}, %y: tensor<4xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<6xf32> {
    return %x : tensor<6xf32>
  }
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expects a @Sharding of the global tensor}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

module {
  sdy.mesh @m = <["a"=2]>
  // expected-error@+1 {{axis "a" appears twice in a sharding}}
  func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"a"}]>}) -> tensor<4x4xf32> {
    return %x : tensor<4x4xf32>
  }
}

// -----

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a", "b"} (%y: tensor<4xf32>) {
    // expected-error@+1 {{in a computation on shards has groups that do not follow axes of the mesh}}
    %1 = "stablehlo.all_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 3]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has the global type 'tensor<8xf32>', whose shards are not of type 'tensor<2xf32>'}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%y: tensor<2xf32>) {
    %1 = stablehlo.concatenate %y, %y, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @main(%x: tensor<8xi32>) -> tensor<8xi32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%y: tensor<4xi32>) {
    %n = stablehlo.slice %y [0:1] : (tensor<4xi32>) -> tensor<1xi32>
    // expected-note@+1 {{the value is defined here}}
    %r = stablehlo.reshape %n : (tensor<1xi32>) -> tensor<i32>
    // expected-error@+1 {{has a region that uses a value that differs between shards, which cannot be imported}}
    %1 = "stablehlo.sort"(%y) <{dimension = 0 : i64}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %s = stablehlo.add %p, %r : tensor<i32>
      %t = stablehlo.compare LT, %s, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }) : (tensor<4xi32>) -> tensor<4xi32>
    sdy.return %1 : tensor<4xi32>
  } : (tensor<8xi32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{names axis "b", which the mesh does not have}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{}]>] out_shardings=[<@m, [{}]>] manual_axes={"b"} (%y: tensor<8xf32>) {
    sdy.return %y : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @m = <["a"=4]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{a sharding names "a:(2)4", which is not a part of axis "a" of size 4}}
  %0 = sdy.sharding_constraint %x <@m, [{"a":(2)4}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @m = <["a"=6]>
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-note@+1 {{the first part is used here}}
  %0 = sdy.sharding_constraint %x <@m, [{"a":(1)2}]> : tensor<6xf32>
  // expected-error@+1 {{axis "a" is split into sub-axes that do not nest: one ends at 2, another at 3}}
  %1 = sdy.sharding_constraint %0 <@m, [{"a":(1)3}]> : tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error@+1 {{@Sharding expects ascending unspecified_dims below 2, found "unspecified_dims=[1,0]"}}
  %0 = stablehlo.custom_call @Sharding(%x) {backend_config = "unspecified_dims=[1,0]", mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// expected-error@+1 {{mhlo.sharding "{devices=[4]0,2,3,1}": no axes of a mesh give this order of the devices}}
func.func @main(%x: tensor<4xf32> {mhlo.sharding = "{devices=[4]0,2,3,1}"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{mhlo.sharding "{devices=[4]0,1}": the number of tiles differs from the number of devices}}
func.func @main(%x: tensor<4xf32> {mhlo.sharding = "{devices=[4]0,1}"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%y: tensor<4xf32>) {
    // expected-error@+1 {{in a computation on shards moves values along an axis of the mesh that is not manual}}
    %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%y: tensor<4xf32>) {
    // expected-error@+1 {{in a computation on shards names device 2 of 2}}
    %1 = "stablehlo.collective_broadcast"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[1, 2]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{@ragged_all_to_all expects six operands, one result and replica_groups in its backend_config}}
  %0 = stablehlo.custom_call @ragged_all_to_all(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{@LayoutConstraint expects results of its operands' types}}
  %0 = stablehlo.custom_call @LayoutConstraint(%x) : (tensor<6xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
