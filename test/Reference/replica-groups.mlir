// Collectives of stablehlo on two replicas of two partitions. Every rank checks its own result:
// rank r = 2 * replica + partition holds r + 1.
// RUN: split-file %s %t
// RUN: st-translate --interpret %t/agree.mlir
// RUN: st-translate --interpret --split-input-file --verify-diagnostics %t/invalid.mlir

//--- agree.mlir
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {

// The value for this rank.
func.func private @choose(%all: tensor<4xi32>) -> tensor<i32> {
  %replica = stablehlo.replica_id : tensor<ui32>
  %partition = stablehlo.partition_id : tensor<ui32>
  %two = stablehlo.constant dense<2> : tensor<ui32>
  %first = stablehlo.multiply %replica, %two : tensor<ui32>
  %rank = stablehlo.add %first, %partition : tensor<ui32>
  %slice = stablehlo.dynamic_slice %all, %rank, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
  %value = stablehlo.reshape %slice : (tensor<1xi32>) -> tensor<i32>
  return %value : tensor<i32>
}

func.func @main() {
  %values = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %x = func.call @choose(%values) : (tensor<4xi32>) -> tensor<i32>

  // Without a channel groups consist of replicas, separately for each partition.
  %replicas = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %9 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %9 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %replicaSums = stablehlo.constant dense<[4, 6, 4, 6]> : tensor<4xi32>
  %replicaSum = func.call @choose(%replicaSums) : (tensor<4xi32>) -> tensor<i32>
  stablehlo.custom_call @check.expect_eq(%replicas, %replicaSum) : (tensor<i32>, tensor<i32>) -> ()

  // With a channel they consist of replicas with all their partitions.
  %both = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %9 = stablehlo.multiply %a, %b : tensor<i32>
    stablehlo.return %9 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %bothProducts = stablehlo.constant dense<[2, 2, 12, 12]> : tensor<4xi32>
  %bothProduct = func.call @choose(%bothProducts) : (tensor<4xi32>) -> tensor<i32>
  stablehlo.custom_call @check.expect_eq(%both, %bothProduct) : (tensor<i32>, tensor<i32>) -> ()

  // Global numbers name ranks; -1 pads a smaller group.
  %global = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[3, 0, 1], [2, -1, -1]]> : tensor<2x3xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    // Subtraction reveals the order in a group: 4 - 1 - 2.
    %9 = stablehlo.subtract %a, %b : tensor<i32>
    stablehlo.return %9 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %differences = stablehlo.constant dense<[1, 1, 3, 1]> : tensor<4xi32>
  %difference = func.call @choose(%differences) : (tensor<4xi32>) -> tensor<i32>
  stablehlo.custom_call @check.expect_eq(%global, %difference) : (tensor<i32>, tensor<i32>) -> ()

  // No group means one group of all replicas.
  %maximum = "stablehlo.all_reduce"(%x) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %9 = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %9 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %maxima = stablehlo.constant dense<[3, 4, 3, 4]> : tensor<4xi32>
  %max = func.call @choose(%maxima) : (tensor<4xi32>) -> tensor<i32>
  stablehlo.custom_call @check.expect_eq(%maximum, %max) : (tensor<i32>, tensor<i32>) -> ()

  // Exchanges with a channel are between partitions. Ranks that receive nothing have zero.
  %moved = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<i32>) -> tensor<i32>
  %arrivals = stablehlo.constant dense<[0, 1, 0, 3]> : tensor<4xi32>
  %arrived = func.call @choose(%arrivals) : (tensor<4xi32>) -> tensor<i32>
  stablehlo.custom_call @check.expect_eq(%moved, %arrived) : (tensor<i32>, tensor<i32>) -> ()

  %sent = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<i32>) -> tensor<i32>
  %firsts = stablehlo.constant dense<[3, 4, 3, 4]> : tensor<4xi32>
  %of1 = func.call @choose(%firsts) : (tensor<4xi32>) -> tensor<i32>
  stablehlo.custom_call @check.expect_eq(%sent, %of1) : (tensor<i32>, tensor<i32>) -> ()

  // Two tensors at once; parts come in the order of the group.
  %vector = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i32>) -> tensor<1xi32>
  %double = stablehlo.add %vector, %vector : tensor<1xi32>
  %gathered:2 = "stablehlo.all_gather"(%vector, %double) <{all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1xi32>, tensor<1xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  %two = stablehlo.constant dense<2> : tensor<2xi32>
  %doubled = stablehlo.multiply %gathered#0, %two : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%gathered#1, %doubled) : (tensor<2xi32>, tensor<2xi32>) -> ()
  %first = stablehlo.slice %gathered#0 [0:1] : (tensor<2xi32>) -> tensor<1xi32>
  %firstElement = stablehlo.reshape %first : (tensor<1xi32>) -> tensor<i32>
  stablehlo.custom_call @check.expect_eq(%firstElement, %of1) : (tensor<i32>, tensor<i32>) -> ()
  return
}

}

//--- invalid.mlir
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main() {
    %x = stablehlo.constant dense<1> : tensor<i32>
    // expected-error@below {{names member 2 of a group, but there are 2}}
    %0 = "stablehlo.collective_broadcast"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[1, 2]]> : tensor<1x2xi64>}> : (tensor<i32>) -> tensor<i32>
    return
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main() {
    %x = stablehlo.constant dense<1> : tensor<1xi32>
    // expected-error@below {{rank 0 is in no group}}
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[1]]> : tensor<1x1xi64>, use_global_device_ids}> : (tensor<1xi32>) -> tensor<1xi32>
    return
  }
}

// -----

module attributes {mhlo.num_replicas = 2000000000 : i32} {
  // expected-error@below {{runs on 1 to 1024 ranks, not on 2000000000 replicas x 1 partitions}}
  func.func @main() -> tensor<ui32> {
    %0 = stablehlo.replica_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
}

// -----

module attributes {mhlo.num_replicas = 2 : i32} {
  // expected-error@below {{result 'result0' is replicated, but differs between ranks 0 and 1}}
  func.func @main() -> tensor<ui32> {
    %0 = stablehlo.replica_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
}

// -----

module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main() {
    %id = stablehlo.replica_id : tensor<ui32>
    %index = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
    %0 = "stablehlo.case"(%index) ({
      // expected-error@below {{this collective is in control flow that only some ranks enter}}
      %1 = "stablehlo.collective_permute"(%index) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<i32>) -> tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }, {
      stablehlo.return %index : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    return
  }
}
