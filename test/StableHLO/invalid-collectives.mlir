// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @groups_rank(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_gather' op expects replica_groups with 2 dimensions, got 'tensor<2xi64>'}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @groups_member(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_gather' op expects members of replica_groups to be -1 or more, got -2}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @groups_distinct(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_gather' op expects members of replica_groups to be distinct, got 0 twice}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_dim(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_gather' op expects all_gather_dim to be in [0, 2), got 2}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_size(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_gather' op expects sizes in dimension 0 that differ by 2, the size of a group, got 'tensor<2x3xf32>' and 'tensor<2x3xf32>'}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_count(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_gather' op expects as many operands as results, got 1 and 0}}
  "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> ()
  return
}

// -----

func.func @scatter_dim(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.reduce_scatter' op expects scatter_dimension to be in [0, 2), got 5}}
  %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 5 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @computation(%x: tensor<2x3xf64>) {
  // expected-error @+1 {{'stablehlo.all_reduce' op expects its computation to take ('tensor<f64>', 'tensor<f64>'), got ('tensor<f32>', 'tensor<f32>')}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return
}

// -----

func.func @split_count(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_to_all' op expects split_count to be 2, the size of a group, got 3}}
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 3 : i64, split_dimension = 0 : i64}> : (tensor<2x3xf32>) -> tensor<1x6xf32>
  return
}

// -----

func.func @split_dims(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_to_all' op expects split_dimension and concat_dimension to be in [0, 2), got 0 and 2}}
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2x3xf32>) -> tensor<1x6xf32>
  return
}

// -----

func.func @split_divides(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_to_all' op expects split_count 2 to divide dimension 1 of 'tensor<2x3xf32>'}}
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x3xf32>) -> tensor<1x6xf32>
  return
}

// -----

func.func @exchanged(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.all_to_all' op expects results of type ('tensor<1x6xf32>'), got ('tensor<2x3xf32>')}}
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pairs_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.collective_permute' op expects source_target_pairs of the shape Nx2, got 'tensor<1x3xi64>'}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<0> : tensor<1x3xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pairs_negative(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.collective_permute' op expects source_target_pairs to be 0 or more, got -1}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pairs_distinct(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.collective_permute' op expects one pair for each target, got 1 twice}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// No number is special.
func.func @largest_device(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.collective_permute' op expects one pair for each target, got 9223372036854775807 twice}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 9223372036854775807], [1, 9223372036854775807]]> : tensor<2x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
