// RUN: st-opt %s --import-shardings --split-input-file | FileCheck %s

// CHECK: st.mesh @mesh <["data"=2, "model"=2], micro=1>
// CHECK-NOT: sdy
// CHECK: @main(%arg0: tensor<16x32xf32> {st.sharding = #st.sharding<@mesh, [{}, {"model"}]>}, %arg1: tensor<8x16xf32> {st.sharding = #st.sharding<@mesh, [{"data"}, {?}]>})
// CHECK-SAME: -> (tensor<8x32xf32> {st.sharding = #st.sharding<@mesh, [{"data", "model"}, {}]>})
// CHECK: st.constrain %{{.*}} to <@mesh, [{"data"}, {"model"}]> : tensor<8x32xf32>
sdy.mesh @m = <["data"=2, "model"=2]>
func.func @main(%w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"model"}]>},
                %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"data"}, {?}]>})
    -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@m, [{"data", "model"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{"data"}, {"model"}]> : tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// -----

// The equivalent strings that JAX prints without Shardy, and one that splits one dimension over
// both axes, the minor one first.
// CHECK: st.mesh @mesh <["axis0"=2, "axis1"=2], micro=1>
// CHECK: @main(%arg0: tensor<16x32xf32> {st.sharding = #st.sharding<@mesh, [{}, {"axis1"}]>}, %arg1: tensor<8x16xf32> {st.sharding = #st.sharding<@mesh, [{"axis0"}, {}]>}, %arg2: tensor<4xf32> {st.sharding = #st.sharding<@mesh, [{}]>})
// CHECK-SAME: -> (tensor<8x32xf32> {st.sharding = #st.sharding<@mesh, [{"axis1", "axis0"}, {}]>})
// CHECK: st.constrain %{{.*}} to <@mesh, [{"axis0"}, {"axis1"}]> : tensor<8x32xf32>
func.func @main(%w: tensor<16x32xf32> {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
                %x: tensor<8x16xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"},
                %s: tensor<4xf32> {mhlo.sharding = "{replicated}"})
    -> (tensor<8x32xf32> {mhlo.sharding = "{devices=[4,1]<=[2,2]T(1,0)}"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "", mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// -----

// Without annotations nothing changes.
// CHECK-NOT: st.mesh
// CHECK: @main(%arg0: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// Devices listed one by one, and a request for the sharding of another value.
// CHECK: module {
// CHECK: st.mesh @mesh <["axis0"=2, "axis1"=3], micro=1>
// CHECK: func.func @main(%arg0: tensor<6x6xf32> {st.sharding = #st.sharding<@mesh, [{"axis1"}, {"axis0"}]>},
// CHECK-SAME: %arg1: tensor<6x6xf32> {st.sharding = #st.sharding<@mesh, [{"axis0", "axis1"}, {}]>},
// CHECK-SAME: %arg2: tensor<6x6xf32> {st.sharding = #st.sharding<@mesh, [{"axis0"}, {}]>},
// CHECK-SAME: %arg3: tensor<6x6xf32>)
// CHECK: st.constrain %arg3 to <@mesh, [{?}, {?}]> group 1
module {
  func.func @main(%a: tensor<6x6xf32> {mhlo.sharding = "{devices=[3,2]0,3,1,4,2,5}"},
                  %b: tensor<6x6xf32> {mhlo.sharding = "{devices=[6,1]0,1,2,3,4,5}"},
                  %c: tensor<6x6xf32> {mhlo.sharding = "{devices=[2,1,3]0,1,2,3,4,5 last_tile_dim_replicate shard_as 7}"},
                  %d: tensor<6x6xf32> {mhlo.sharding = "{unknown}"}) -> tensor<6x6xf32> {
    %0 = stablehlo.custom_call @Sharding(%d) {backend_config = "", has_side_effect = true, mhlo.sharding = "{unknown shard_like 1}"} : (tensor<6x6xf32>) -> tensor<6x6xf32>
    return %0 : tensor<6x6xf32>
  }
}

// -----

// Parts of an axis become axes of the mesh; a split over the whole axis becomes one over these.
// Open dimensions, priorities and replicated axes are kept.
// CHECK: st.mesh @mesh <["d"=2, "a:(1)2"=2, "a:(2)2"=2, "a:(4)2"=2], micro=1>
// CHECK: @main(%arg0: tensor<16x32xf32> {st.sharding = #st.sharding<@mesh, [{"a:(1)2", "a:(2)2", "a:(4)2"}, {"d", ?}p1]>},
// CHECK-SAME: %arg1: tensor<16x32xf32> {st.sharding = #st.sharding<@mesh, [{"a:(2)2", "a:(4)2"}, {?}], replicated = ["a:(1)2"]>})
// CHECK: st.constrain %arg0 to <@mesh, [{"a:(2)2"}, {?}]> : tensor<16x32xf32>
sdy.mesh @m = <["d"=2, "a"=8]>
func.func @main(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}p0, {"d", ?}p1]>},
                %y: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@m, [{"a":(2)4}, {?}], replicated={"a":(1)2}>})
    -> tensor<16x32xf32> {
  %0 = sdy.sharding_constraint %x <@m, [{"a":(2)2}, {?}]> : tensor<16x32xf32>
  %1 = stablehlo.add %0, %y : tensor<16x32xf32>
  return %1 : tensor<16x32xf32>
}

// -----

// Barriers, and groups: users of a value after a group op get the value in the group's sharding.
// CHECK-LABEL: @main(%arg0: tensor<8x8xf32>
// CHECK: %[[F:.*]] = st.constrain %arg0 to <@mesh, [{?}, {?}]> direction forward : tensor<8x8xf32>
// CHECK: %[[N:.*]] = st.constrain %[[F]] to <@mesh, [{?}, {?}]> direction none : tensor<8x8xf32>
// CHECK: %[[G:.*]] = st.constrain %[[N]] to <@mesh, [{?}, {?}]> group 5 : tensor<8x8xf32>
// CHECK: stablehlo.tanh %[[G]]
sdy.mesh @m = <["a"=2]>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.propagation_barrier %x allowed_direction=FORWARD : tensor<8x8xf32>
  %1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<8x8xf32>
  %2 = sdy.propagation_barrier %1 allowed_direction=BOTH : tensor<8x8xf32>
  sdy.sharding_group %2 group_id=5 : tensor<8x8xf32>
  %3 = stablehlo.tanh %2 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// As JAX prints P("a", P.UNCONSTRAINED) without Shardy, and shard_alike.
// CHECK: st.constrain %arg0 to <@mesh, [{"axis0"}, {?}]> : tensor<8x8xf32>
// CHECK: st.constrain %{{.*}} to <@mesh, [{?}, {?}]> group 7 : tensor<8x8xf32>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.custom_call @Sharding(%x) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{unknown shard_as 7}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// Collectives that Shardy made explicit define the sharding of the global tensors after them.
// CHECK-NOT: sdy
// CHECK: st.constrain %arg0 to <@mesh, [{}, {}]> : tensor<8x8xf32>
// CHECK: stablehlo.constant dense<1.000000e+00> : tensor<8x8xf32>
// CHECK: st.constrain %{{.*}} to <@mesh, [{"a:(2)2"}, {}]> : tensor<8x8xf32>
// CHECK: st.constrain %{{.*}} to <@mesh, [{}, {"a:(1)2"}]> : tensor<8x8xf32>
// CHECK-COUNT-2: st.constrain %{{.*}} to <@mesh, [{}, {}]> : tensor<8x8xf32>
sdy.mesh @m = <["a"=4]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = sdy.all_gather [{"a"}, {}] %x out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
  %c = sdy.constant dense<1.0> : tensor<8x8xf32>
  %1 = stablehlo.add %0, %c : tensor<8x8xf32>
  %2 = sdy.all_slice [{"a":(2)2}, {}] %1 out_sharding=<@m, [{"a":(2)2}, {}]> : tensor<8x8xf32>
  %3 = sdy.reduce_scatter [{}, {"a":(1)2}] %2 out_sharding=<@m, [{}, {"a":(1)2}]> : tensor<8x8xf32>
  %4 = sdy.sharded_to_unreduced [{}, {"a":(1)2}] %3 out_sharding=<@m, [{}, {}], unreduced={"a":(1)2}> : tensor<8x8xf32>
  %5 = sdy.all_reduce {"a":(1)2} %4 out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}

// -----

// Two meshes over the same devices become one, whose axes both have runs of. A constraint on the scalars that a sort
// compares has no effect, and an unreduced sharding is a sum.
// CHECK: st.mesh @mesh <["axis0"=2, "axis1"=2, "axis2"=2], micro=1>
// CHECK: @main(%arg0: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"axis0"}, {"axis1", "axis2"}]>})
// CHECK-SAME: -> (tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"axis0", "axis1"}, {"axis2"}]>})
// CHECK: stablehlo.sort
// CHECK-NOT: st.constrain
// CHECK: stablehlo.return
// CHECK: st.constrain %{{.*}} to <@mesh, [{"axis2"}, {}]> : tensor<8x8xf32>
sdy.mesh @m = <["x"=2, "y"=4]>
sdy.mesh @n = <["x"=4, "y"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@n, [{"x"}, {"y"}]>}) {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %u = sdy.sharding_constraint %t <@m, []> : tensor<i1>
    stablehlo.return %u : tensor<i1>
  }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@n, [{"y"}, {}], unreduced={"x"}> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// ragged_all_to_all: each device receives all rows and takes its own. A choice of memory or layout for an intermediate
// value has no effect.
// CHECK: st.mesh @mesh <["x"=2], micro=1>
// CHECK: %[[TO:.*]] = stablehlo.compare GE
// CHECK: %[[ROWS:.*]] = st.constrain %{{.*}} to <@mesh, [{}]> : tensor<6xf32>
// CHECK: %[[ALL:.*]] = stablehlo.broadcast_in_dim %[[ROWS]], dims = [1] : (tensor<6xf32>) -> tensor<2x6xf32>
// CHECK: "stablehlo.gather"(%[[ALL]], %{{.*}}) {{.*}} -> tensor<2x4xf32>
// CHECK: stablehlo.select
// CHECK-NOT: custom_call
sdy.mesh @m = <["x"=2]>
func.func @main(%rows: tensor<6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %out: tensor<8xf32>, %n: tensor<4xi32>)
    -> tensor<8xf32> {
  %0 = sdy.manual_computation(%rows, %out, %n)
      in_shardings=[<@m, [{"x"}]>, <@m, [{"x"}]>, <@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"}
      (%a: tensor<3xf32>, %b: tensor<4xf32>, %c: tensor<2xi32>) {
    %1 = stablehlo.custom_call @ragged_all_to_all(%a, %b, %c, %c, %c, %c)
        {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}
        : (tensor<3xf32>, tensor<4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<6xf32>, tensor<8xf32>, tensor<4xi32>) -> tensor<8xf32>
  %2 = stablehlo.custom_call @annotate_device_placement(%0) {has_side_effect = true} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = stablehlo.custom_call @LayoutConstraint(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
