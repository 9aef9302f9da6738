// RUN: st-opt %s --import-shardings --split-input-file --verify-diagnostics

// expected-error@+1 {{has devices in an order of their own, which cannot be imported}}
sdy.mesh @m = <["a"=2], device_ids=[1, 0]>

// -----

sdy.mesh @m = <["a"=2]>
// expected-error@+1 {{has other axes than the mesh before it; expected one mesh}}
sdy.mesh @n = <["b"=2]>

// -----

sdy.mesh @m = <["a"=2]>
// expected-error@+1 {{a sharding that is unreduced over "a" cannot be imported}}
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"a"}>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

sdy.mesh @m = <["a"=2]>
// expected-error@+1 {{a sharding of 2 dimensions is given for 'tensor<4xf32>'}}
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{the mesh has an axis "micro", which stands for micro-batches here}}
module {
  sdy.mesh @m = <["micro"=2]>
}

// -----

// expected-error@+1 {{mhlo.sharding "{devices=[2,2]<=[8]}": the tiles are not as many as the devices}}
func.func @main(%x: tensor<4x4xf32> {mhlo.sharding = "{devices=[2,2]<=[8]}"}) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}

// -----

// expected-error@+1 {{mhlo.sharding "{maximal device=0}": expected {replicated}, {manual} or {devices=[...]<=[...]}}}
func.func @main(%x: tensor<4x4xf32> {mhlo.sharding = "{maximal device=0}"}) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}

// -----

// expected-error@+1 {{mhlo.sharding "{devices=[2,1]<=[2]}" of 'tensor<4xf32>' cannot be said by whole axes of one mesh}}
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
  // expected-error@+1 {{@SPMDFullToShardShape: a computation on shards cannot be imported}}
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
