// RUN: st-opt %s --accumulate-in-products | FileCheck %s

// A product adds to its buffer, also if it sums an operand. A product with another user, one that adds a bias, a kernel
// that is no product, a maximum, and a buffer that the task also reads keep their writes.
// CHECK-LABEL: st.task @backward0
// CHECK: %[[S0:.*]] = st.read @sum0 : tensor<8x4xf32>
// CHECK-NEXT: %[[G0:.*]] = st.kernel "matmul" (%{{.*}} = {{.*}}, %{{.*}} = {{.*}}, %[[C:.*]] = %[[S0]] : tensor<8x4xf32>) -> tensor<8x4xf32> {
// CHECK: %[[D:.*]] = stablehlo.dot_general
// CHECK-NEXT: %[[A:.*]] = stablehlo.add %[[C]], %[[D]]
// CHECK-NEXT: st.yield %[[A]]
// CHECK: st.write %[[G0]] to @sum0 : tensor<8x4xf32>
// CHECK: %[[S1:.*]] = st.read @sum1 : tensor<8x4xf32>
// CHECK-NEXT: %[[G1:.*]]:2 = st.kernel "matmul"
// CHECK: st.yield %{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<4xf32>
// CHECK: st.write %[[G1]]#0 to @sum1 : tensor<8x4xf32>
// CHECK: st.write %[[G1]]#1 to @sum2 accumulate sum : tensor<4xf32>
// CHECK-NOT: st.read @sum
// CHECK: st.write %{{.*}} to @sum3 accumulate sum
// CHECK: st.write %{{.*}} to @sum4 accumulate sum
// CHECK: st.write %{{.*}} to @sum5 accumulate sum
// CHECK: st.write %{{.*}} to @sum6 accumulate max
// CHECK: st.read @sum7
// CHECK: st.write %{{.*}} to @sum7 accumulate sum
module {
  st.mesh @mesh <["tensor"=1], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @sum0 "accumulator" slots 1 : tensor<8x4xf32>
    st.buffer @sum1 "accumulator" slots 1 : tensor<8x4xf32>
    st.buffer @sum2 "accumulator" slots 1 : tensor<4xf32>
    st.buffer @sum3 "accumulator" slots 1 : tensor<8x4xf32>
    st.buffer @sum4 "accumulator" slots 1 : tensor<8x4xf32>
    st.buffer @sum5 "accumulator" slots 1 : tensor<3x4xf32>
    st.buffer @sum6 "accumulator" slots 1 : tensor<8x4xf32>
    st.buffer @sum7 "accumulator" slots 1 : tensor<8x4xf32>
    st.buffer @stash "step" slots 1 : tensor<8x4xf32>
    st.buffer @kept "step" slots 1 : tensor<8x4xf32>
    st.buffer @x "step" slots 1 : tensor<3x8xf32>
    st.buffer @y "step" slots 1 : tensor<3x4xf32>
    st.buffer @v "step" slots 1 : tensor<4xf32>
    st.task @backward0 backward stage 0 (%mb) {
      %x = st.read @x : tensor<3x8xf32>
      %y = st.read @y : tensor<3x4xf32>
      %v = st.read @v : tensor<4xf32>
      %0 = st.kernel "matmul" (%a = %x : tensor<3x8xf32>, %b = %y : tensor<3x4xf32>) -> tensor<8x4xf32> {
        %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
        st.yield %p : tensor<8x4xf32>
      }
      st.write %0 to @sum0 accumulate sum : tensor<8x4xf32>
      %1:2 = st.kernel "matmul" (%a = %x : tensor<3x8xf32>, %b = %y : tensor<3x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) {
        %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
        st.yield %p, %s : tensor<8x4xf32>, tensor<4xf32>
      }
      st.write %1#0 to @sum1 accumulate sum : tensor<8x4xf32>
      st.write %1#1 to @sum2 accumulate sum : tensor<4xf32>
      %2 = st.kernel "matmul" (%a = %x : tensor<3x8xf32>, %b = %y : tensor<3x4xf32>) -> tensor<8x4xf32> {
        %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
        st.yield %p : tensor<8x4xf32>
      }
      st.write %2 to @sum3 accumulate sum : tensor<8x4xf32>
      st.write %2 to @stash : tensor<8x4xf32>
      %3 = st.kernel "matmul" (%a = %x : tensor<3x8xf32>, %b = %y : tensor<3x4xf32>, %c = %v : tensor<4xf32>) -> tensor<8x4xf32> {
        %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
        %w = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
        %s = stablehlo.add %p, %w : tensor<8x4xf32>
        st.yield %s : tensor<8x4xf32>
      }
      st.write %3 to @sum4 accumulate sum : tensor<8x4xf32>
      %4 = st.kernel "loop" (%a = %y : tensor<3x4xf32>) -> tensor<3x4xf32> {
        %n = stablehlo.negate %a : tensor<3x4xf32>
        st.yield %n : tensor<3x4xf32>
      }
      st.write %4 to @sum5 accumulate sum : tensor<3x4xf32>
      %5 = st.kernel "matmul" (%a = %x : tensor<3x8xf32>, %b = %y : tensor<3x4xf32>) -> tensor<8x4xf32> {
        %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
        st.yield %p : tensor<8x4xf32>
      }
      st.write %5 to @sum6 accumulate max : tensor<8x4xf32>
      %6 = st.kernel "matmul" (%a = %x : tensor<3x8xf32>, %b = %y : tensor<3x4xf32>) -> tensor<8x4xf32> {
        %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
        st.yield %p : tensor<8x4xf32>
      }
      %7 = st.read @sum7 : tensor<8x4xf32>
      st.write %7 to @kept : tensor<8x4xf32>
      st.write %6 to @sum7 accumulate sum : tensor<8x4xf32>
    }
    st.schedule "sequential" [@backward0 0]
  }
}
