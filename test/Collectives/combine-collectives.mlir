// The pass combines some collectives, and moves the ops that need their results. The interpreter gives the same bits
// before and after.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in a=f32:4x4 b=f32:4x4 c=f32:4
// RUN: st-opt --combine-collectives %s -o %t/combined.mlir
// RUN: FileCheck %s --input-file=%t/combined.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/alone %s
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/together %t/combined.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/alone %t/together 0 | FileCheck %s --check-prefix=SAME
// SAME: 4 tensors agree
//
// Buckets of 100 bytes hold one matrix of 64 and the vector of 16; of 0 bytes, nothing.
// RUN: st-opt --combine-collectives=bucket-bytes=100 %s | FileCheck %s --check-prefix=SMALL
// RUN: st-opt %s -o %t/plain.mlir
// RUN: st-opt --combine-collectives=bucket-bytes=0 %s | diff - %t/plain.mlir
// RUN: sed 's/module {/module attributes {st.bucket_bytes = 0 : i64} {/' %s > %t/off.mlir
// RUN: st-opt --combine-collectives %t/off.mlir | FileCheck %s --check-prefix=OFF
// OFF-NOT: st.all_reduce %{{.*}}, %{{.*}} sum

module {
  st.mesh @mesh <["d"=2], micro=1>
  st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
    st.state @a "a" role "parameter" of "" global tensor<4x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x4xf32>
    st.state @b "b" role "parameter" of "" global tensor<4x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x4xf32>
    st.state @c "c" role "parameter" of "" global tensor<4xf32> slice #st.sharding<@mesh, [{}]> local tensor<4xf32>
    st.output @max "max" role "metric" global tensor<4xf32> slice #st.sharding<@mesh, [{}]> local tensor<4xf32>

    // The gradients are one bucket; a maximum is not a sum.
    // CHECK-LABEL: st.task @update
    // CHECK: %[[D:.*]] = stablehlo.multiply
    // CHECK-NEXT: %[[R:.*]]:3 = st.all_reduce %{{.*}}, %{{.*}}, %[[D]] sum over ["d"] of @mesh : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
    // CHECK-NEXT: stablehlo.subtract %{{.*}}, %[[R]]#0
    // CHECK-NEXT: st.write %{{.*}} to @a
    // CHECK-NEXT: st.all_reduce %{{.*}} max over ["d"] of @mesh : tensor<4xf32>
    // CHECK-NEXT: st.write %{{.*}} to @max
    // CHECK-NEXT: st.read @a
    // CHECK-NEXT: stablehlo.subtract %{{.*}}, %[[R]]#1
    // SMALL-LABEL: st.task @update
    // SMALL: st.all_reduce %{{.*}} sum over ["d"] of @mesh : tensor<4x4xf32>
    // SMALL: st.all_reduce %{{.*}}, %{{.*}} sum over ["d"] of @mesh : tensor<4x4xf32>, tensor<4xf32>
    st.task @update update stage 0 (%mb) {
      %a = st.read @a : tensor<4x4xf32>
      %b = st.read @b : tensor<4x4xf32>
      %c = st.read @c : tensor<4xf32>
      %g0 = st.all_reduce %a sum over ["d"] of @mesh : tensor<4x4xf32>
      %new0 = stablehlo.subtract %a, %g0 : tensor<4x4xf32>
      st.write %new0 to @a : tensor<4x4xf32>
      %m = st.all_reduce %c max over ["d"] of @mesh : tensor<4xf32>
      st.write %m to @max : tensor<4xf32>
      // Values are written before they are read.
      %again = st.read @a : tensor<4x4xf32>
      %g1 = st.all_reduce %b sum over ["d"] of @mesh : tensor<4x4xf32>
      %new1 = stablehlo.subtract %again, %g1 : tensor<4x4xf32>
      st.write %new1 to @b : tensor<4x4xf32>
      %d = stablehlo.multiply %c, %c : tensor<4xf32>
      %g2 = st.all_reduce %d sum over ["d"] of @mesh : tensor<4xf32>
      st.write %g2 to @c : tensor<4xf32>
    }

    // Each needs the previous one.
    // CHECK-LABEL: st.task @forward0
    // CHECK: st.all_reduce %{{[^,]*}} sum
    // CHECK: st.all_gather %{{[^,]*}} dim 0
    // CHECK: st.all_reduce %{{[^,]*}} sum
    // CHECK: st.all_gather %{{[^,]*}} dim 0
    st.task @forward0 forward stage 0 (%mb) {
      %c = st.read @c : tensor<4xf32>
      %a = st.read @a : tensor<4x4xf32>
      %s0 = st.all_reduce %c sum over ["d"] of @mesh : tensor<4xf32>
      %0 = st.all_gather %s0 dim 0 over ["d"] of @mesh : tensor<4xf32> -> tensor<8xf32>
      %1 = stablehlo.slice %0 [0:4] : (tensor<8xf32>) -> tensor<4xf32>
      %2 = stablehlo.negate %1 : tensor<4xf32>
      %s1 = st.all_reduce %2 sum over ["d"] of @mesh : tensor<4xf32>
      %3 = st.all_gather %s1 dim 0 over ["d"] of @mesh : tensor<4xf32> -> tensor<8xf32>
    }

    // Two that do not need each other, but whose buckets would form a cycle: a0 -> b1, b0 -> a1.
    // CHECK-LABEL: st.task @forward1
    // CHECK: st.all_reduce %{{[^,]*}} sum
    // CHECK: st.all_gather %{{[^,]*}}, %{{[^,]*}} dim 0
    // CHECK: st.all_reduce %{{[^,]*}} sum
    st.task @forward1 forward stage 0 (%mb) {
      %c = st.read @c : tensor<4xf32>
      %e = stablehlo.negate %c : tensor<4xf32>
      %a0 = st.all_reduce %c sum over ["d"] of @mesh : tensor<4xf32>
      %b0 = st.all_gather %c dim 0 over ["d"] of @mesh : tensor<4xf32> -> tensor<8xf32>
      %b1 = st.all_gather %a0 dim 0 over ["d"] of @mesh : tensor<4xf32> -> tensor<8xf32>
      %0 = stablehlo.slice %b0 [0:4] : (tensor<8xf32>) -> tensor<4xf32>
      %a1 = st.all_reduce %0 sum over ["d"] of @mesh : tensor<4xf32>
    }

    // Gathers of weights, with little work before and much after them, are combined at the first one. The other gather
    // between them and its user stay in place.
    // CHECK-LABEL: st.task @forward2
    // CHECK: %[[B:.*]] = st.read @b
    // CHECK-NEXT: %[[G:.*]]:2 = st.all_gather %{{.*}}, %[[B]] dim 0
    // CHECK-NEXT: stablehlo.negate %[[G]]#0
    // CHECK: st.all_gather %{{.*}} dim 1
    // CHECK: stablehlo.add %{{.*}}, %[[G]]#1
    st.task @forward2 forward stage 0 (%mb) {
      %a = st.read @a : tensor<4x4xf32>
      %wa = st.all_gather %a dim 0 over ["d"] of @mesh : tensor<4x4xf32> -> tensor<8x4xf32>
      %0 = stablehlo.negate %wa : tensor<8x4xf32>
      %1 = stablehlo.tanh %0 : tensor<8x4xf32>
      %wide = st.all_gather %a dim 1 over ["d"] of @mesh : tensor<4x4xf32> -> tensor<4x8xf32>
      %b = st.read @b : tensor<4x4xf32>
      %wb = st.all_gather %b dim 0 over ["d"] of @mesh : tensor<4x4xf32> -> tensor<8x4xf32>
      %2 = stablehlo.add %1, %wb : tensor<8x4xf32>
    }

    // Sums with more work before the second than after the first are combined at the second.
    // CHECK-LABEL: st.task @backward0
    // CHECK: stablehlo.negate
    // CHECK-NEXT: %[[S:.*]]:2 = st.all_reduce %{{.*}}, %{{.*}} sum
    // CHECK-NEXT: st.write %[[S]]#0 to @a
    // CHECK-NEXT: st.write %[[S]]#1 to @b
    st.task @backward0 backward stage 0 (%mb) {
      %a = st.read @a : tensor<4x4xf32>
      %s0 = st.all_reduce %a sum over ["d"] of @mesh : tensor<4x4xf32>
      st.write %s0 to @a : tensor<4x4xf32>
      %b = st.read @b : tensor<4x4xf32>
      %0 = stablehlo.tanh %b : tensor<4x4xf32>
      %1 = stablehlo.negate %0 : tensor<4x4xf32>
      %s1 = st.all_reduce %1 sum over ["d"] of @mesh : tensor<4x4xf32>
      st.write %s1 to @b : tensor<4x4xf32>
    }

    // Collectives are not combined across a message.
    // CHECK-LABEL: st.task @backward1
    // CHECK: st.all_reduce %{{[^,]*}} sum
    // CHECK: st.send
    // CHECK: st.all_reduce %{{[^,]*}} sum
    st.task @backward1 backward stage 0 (%mb) {
      %a = st.read @a : tensor<4x4xf32>
      %b = st.read @b : tensor<4x4xf32>
      %s0 = st.all_reduce %a sum over ["d"] of @mesh : tensor<4x4xf32>
      st.send %s0 to @group0 channel 0 : tensor<4x4xf32>
      %s1 = st.all_reduce %b sum over ["d"] of @mesh : tensor<4x4xf32>
    }

    st.schedule "sequential" [@update 0]
  }
}
