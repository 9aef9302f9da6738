// RUN: st-opt --propagate-shardings --split-input-file --verify-diagnostics %s | FileCheck %s

// An open dimension is split like its neighbours; a closed one keeps its given sharding, and an axis
// listed as replicated stays unused.

st.mesh @mesh <["a"=2, "b"=2], micro=1>
// CHECK-LABEL: func.func @open(
// CHECK-SAME: %arg1: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>}
// CHECK-SAME: %arg2: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}
// CHECK-SAME: %arg3: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{}, {"b"}]>}
func.func @open(%x: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>},
                %y: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{?}, {?}]>},
                %z: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{?}, {}]>},
                %u: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{?}, {?}], replicated = ["a"]>})
    // CHECK: -> (tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}, tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>},
    // CHECK-SAME: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{?}, {}]>},
        tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a", ?}, {?}]>},
        tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a", ?}, {?}], replicated = ["b"]>}) {
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  %1 = stablehlo.add %0, %z : tensor<8x8xf32>
  %2 = stablehlo.add %1, %u : tensor<8x8xf32>
  // CHECK: st.constrain {{.*}} {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}
  %3 = st.constrain %2 to <@mesh, [{?}, {}]> : tensor<8x8xf32>
  // CHECK: st.constrain {{.*}} {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>}
  %4 = st.constrain %2 to <@mesh, [{"a"}, {?}]> : tensor<8x8xf32>
  return %3, %4, %4 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Both arguments have "a" in different dimensions. Without priorities the first would win; here the second propagates
// first.

st.mesh @mesh <["a"=2], micro=1>
// CHECK-LABEL: func.func @priority
func.func @priority(%x: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}p2, {}]>},
                    %y: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{}, {"a"}p1]>}) -> tensor<8x8xf32> {
  // CHECK: add {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"a"}]>}
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  // CHECK: tanh {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"a"}]>}
  %1 = stablehlo.tanh %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @no_priority
func.func @no_priority(%x: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>},
                       %y: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{}, {"a"}]>}) -> tensor<8x8xf32> {
  // CHECK: add {{.*}} {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  %1 = stablehlo.tanh %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// The values before a barrier and after it.

st.mesh @mesh <["a"=2], micro=1>
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %arg1: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}]>}
func.func @forward(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}]>},
                   %y: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{?}]>}) -> tensor<8xf32> {
  // CHECK: st.constrain {{.*}} direction forward {st.sharding = #st.sharding<@mesh, [{"a"}]>}
  %0 = st.constrain %x to <@mesh, [{?}]> direction forward : tensor<8xf32>
  // CHECK: add {{.*}} {st.sharding = #st.sharding<@mesh, [{"a"}]>}
  %1 = stablehlo.add %0, %y : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func.func @against(
// CHECK-SAME: %arg1: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{}]>}
func.func @against(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}]>},
                   %y: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{?}]>}) -> tensor<8xf32> {
  // CHECK: st.constrain {{.*}} direction forward {st.sharding = #st.sharding<@mesh, [{"a"}]>}
  %0 = st.constrain %y to <@mesh, [{?}]> direction forward : tensor<8xf32>
  %1 = stablehlo.add %0, %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %arg1: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}]>}
func.func @backward(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}]>},
                    %y: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{?}]>}) -> tensor<8xf32> {
  // CHECK: st.constrain {{.*}} direction backward {st.sharding = #st.sharding<@mesh, [{"a"}]>}
  %0 = st.constrain %y to <@mesh, [{?}]> direction backward : tensor<8xf32>
  %1 = stablehlo.add %0, %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func.func @none
func.func @none(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  // CHECK: st.constrain {{.*}} direction none {st.sharding = #st.sharding<@mesh, [{}]>}
  %0 = st.constrain %x to <@mesh, [{?}]> direction none : tensor<8xf32>
  // CHECK: tanh {{.*}} {st.sharding = #st.sharding<@mesh, [{}]>}
  %1 = stablehlo.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// One value of a group is split because another is.

st.mesh @mesh <["a"=2], micro=1>
// CHECK-LABEL: func.func @group
func.func @group(%x: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}, %y: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: st.constrain %arg0 {{.*}} group 3 {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}
  %0 = st.constrain %x to <@mesh, [{?}, {?}]> group 3 : tensor<8x8xf32>
  // CHECK: st.constrain %arg1 {{.*}} group 3 {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}
  %1 = st.constrain %y to <@mesh, [{?}, {?}]> group 3 : tensor<8x8xf32>
  // CHECK: tanh {{.*}} {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}
  %2 = stablehlo.tanh %1 : tensor<8x8xf32>
  return %0, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

st.mesh @mesh <["a"=2], micro=1>
func.func @shapes(%x: tensor<8x8xf32>, %y: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  // expected-note@+1 {{the first value of the group is here}}
  %0 = st.constrain %x to <@mesh, [{?}, {?}]> group 3 : tensor<8x8xf32>
  // expected-error@+1 {{belongs to group 3, which has values of 'tensor<8x8xf32>'; expected one type, found 'tensor<8xf32>'}}
  %1 = st.constrain %y to <@mesh, [{?}]> group 3 : tensor<8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8xf32>
}

// -----

st.mesh @mesh <["a"=2], micro=1>
// expected-error@+1 {{expected '?' last in a dimension}}
func.func @order(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{?, "a"}]>})

// -----

st.mesh @mesh <["a"=2], micro=1>
// expected-error@+1 {{expected a priority such as p1}}
func.func @rank(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}q1]>})

// -----

st.mesh @mesh <["a"=2], micro=1>
// expected-error@+1 {{axis "a" appears twice in a sharding}}
func.func @twice(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a", ?}], replicated = ["a"]>})

// -----

// If an op moves elements along a dimension, or needs all of it, a device keeps only a part of an open result.
st.mesh @mesh <["a"=2], micro=1>
// CHECK-LABEL: func.func @kept(
// CHECK: -> (tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}]>}, tensor<8x3xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>})
func.func @kept(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}]>},
                %y: tensor<8x3xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<8xf32>, tensor<8x3xf32>) {
  // CHECK: stablehlo.reverse %arg0, dims = [0] {st.sharding = #st.sharding<@mesh, [{}]>}
  %0 = stablehlo.reverse %x, dims = [0] : tensor<8xf32>
  // CHECK: "stablehlo.sort"
  %1 = "stablehlo.sort"(%y) <{dimension = 0 : i64}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %less = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %0, %1 : tensor<8xf32>, tensor<8x3xf32>
}
