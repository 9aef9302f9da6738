// Keys and values of four devices. Each device computes with the part that it has, which moves on to the previous device.
//
// RUN: st-opt --ring-attention %s | FileCheck %s
// RUN: st-opt --ring-attention %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: sed 's/st.ring_axis = "context"/st.other/' %s | st-opt --ring-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/st.ring_axis = "context"/st.ring_axis = "contest"/' %s | not st-opt --ring-attention 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: st.ring_axis is "contest"; expected an axis of the mesh @mesh
// NONE-NOT: st.collective_permute

module attributes {st.ring_axis = "context"} {
  st.mesh @mesh <["context"=4], micro=1>
  st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
    st.input @q "q" role "batch" global tensor<32x4xf32> slice <@mesh, [{"context"}, {}]> local tensor<8x4xf32> micro_dim -1
    st.input @k "k" role "batch" global tensor<32x4xf32> slice <@mesh, [{"context"}, {}]> local tensor<8x4xf32> micro_dim -1
    st.input @v "v" role "batch" global tensor<32x4xf32> slice <@mesh, [{"context"}, {}]> local tensor<8x4xf32> micro_dim -1
    st.input @bias "bias" role "batch" global tensor<32xf32> slice <@mesh, [{}]> local tensor<32xf32> micro_dim -1
    st.output @o "o" role "metric" global tensor<32x4xf32> slice <@mesh, [{"context"}, {}]> local tensor<8x4xf32>
    st.output @m "m" role "metric" global tensor<32xf32> slice <@mesh, [{"context"}]> local tensor<8xf32>
    st.output @l "l" role "metric" global tensor<32xf32> slice <@mesh, [{"context"}]> local tensor<8xf32>
    st.output @dq "dq" role "metric" global tensor<32x4xf32> slice <@mesh, [{"context"}, {}]> local tensor<8x4xf32>
    st.output @dk "dk" role "metric" global tensor<32x4xf32> slice <@mesh, [{"context"}, {}]> local tensor<8x4xf32>
    st.output @b "b" role "metric" global tensor<32x4xf32> slice <@mesh, [{"context"}, {}]> local tensor<8x4xf32>

    // Row i of device d is row 4 i + d. The mask of minus infinity may hide all columns of a part.
    // CHECK-LABEL: st.task @forward0
    // CHECK-DAG: %[[K:.*]] = st.read @k
    // CHECK-DAG: %[[V:.*]] = st.read @v
    // CHECK-DAG: %[[V0:.*]] = stablehlo.reshape %[[V]] : (tensor<8x4xf32>) -> tensor<8x1x4xf32>
    // CHECK-DAG: %[[K0:.*]] = stablehlo.reshape %[[K]] : (tensor<8x4xf32>) -> tensor<8x1x4xf32>
    // CHECK-NOT: st.all_gather
    // CHECK: st.axis_index "context" of @mesh
    // CHECK-DAG: st.collective_permute %[[K0]] [1, 0, 2, 1, 3, 2, 0, 3] over ["context"] of @mesh : tensor<8x1x4xf32>
    // CHECK-DAG: st.collective_permute %[[V0]] [1, 0, 2, 1, 3, 2, 0, 3] over ["context"] of @mesh : tensor<8x1x4xf32>
    // CHECK: %[[P0:.*]]:3 = st.kernel "attention" {{.*}} -> (tensor<8xf32>, tensor<8xf32>, tensor<8x4xf32>) attributes {st.partial_rows}
    // CHECK-NOT: dense<0xFF800000> : tensor<8x8xf32>
    // CHECK: dense<-3.40282347E+38> : tensor<8x8xf32>
    // CHECK: st.axis_index "context" plus 1 of @mesh
    // CHECK-COUNT-2: st.collective_permute
    // CHECK: %[[P1:.*]]:3 = st.kernel "attention"
    // CHECK: %[[ROWS:.*]]:4 = st.kernel "loop" ({{.*}} = %[[P0]]#0 : tensor<8xf32>, {{.*}} = %[[P0]]#1 : {{.*}}, {{.*}} = %[[P1]]#0 : {{.*}}, {{.*}} = %[[P1]]#1 :
    // CHECK: st.kernel "loop" ({{.*}} = %[[P0]]#2 : tensor<8x4xf32>, {{.*}} = %[[P1]]#2 : {{.*}}, {{.*}} = %[[ROWS]]#2 : {{.*}}, {{.*}} = %[[ROWS]]#3 :
    // CHECK: st.axis_index "context" plus 3 of @mesh
    // CHECK-NOT: st.collective_permute
    // CHECK: st.kernel "attention"
    st.task @forward0 forward stage 0 (%mb) {
      %q = st.read @q : tensor<8x4xf32>
      %k = st.read @k : tensor<8x4xf32>
      %v = st.read @v : tensor<8x4xf32>
      %bias = st.read @bias : tensor<32xf32>
      %d = st.axis_index "context" of @mesh : tensor<i32>
      // Contiguous keys, and values of which each device has every fourth.
      %ks = st.all_gather %k dim 0 over ["context"] of @mesh : tensor<8x4xf32> -> tensor<32x4xf32>
      %v0 = stablehlo.reshape %v : (tensor<8x4xf32>) -> tensor<8x1x4xf32>
      %v1 = st.all_gather %v0 dim 1 over ["context"] of @mesh : tensor<8x1x4xf32> -> tensor<8x4x4xf32>
      %vs = stablehlo.reshape %v1 : (tensor<8x4x4xf32>) -> tensor<32x4xf32>
      %ks0 = stablehlo.reshape %k : (tensor<8x4xf32>) -> tensor<8x1x4xf32>
      %ks1 = st.all_gather %ks0 dim 1 over ["context"] of @mesh : tensor<8x1x4xf32> -> tensor<8x4x4xf32>
      %ks2 = stablehlo.reshape %ks1 : (tensor<8x4x4xf32>) -> tensor<32x4xf32>
      %y:4 = st.kernel "attention" (%a = %q : tensor<8x4xf32>, %b = %ks2 : tensor<32x4xf32>, %c = %vs : tensor<32x4xf32>, %e = %d : tensor<i32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
        %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<32x4xf32>) -> tensor<8x32xf32>
        %i = stablehlo.iota dim = 0 : tensor<8x32xi32>
        %four = stablehlo.constant dense<4> : tensor<8x32xi32>
        %scaled = stablehlo.multiply %i, %four : tensor<8x32xi32>
        %device = stablehlo.broadcast_in_dim %e, dims = [] : (tensor<i32>) -> tensor<8x32xi32>
        %row = stablehlo.add %scaled, %device : tensor<8x32xi32>
        %column = stablehlo.iota dim = 1 : tensor<8x32xi32>
        %sees = stablehlo.compare GE, %row, %column : (tensor<8x32xi32>, tensor<8x32xi32>) -> tensor<8x32xi1>
        %hidden = stablehlo.constant dense<0xFF800000> : tensor<8x32xf32>
        %x = stablehlo.select %sees, %s, %hidden : tensor<8x32xi1>, tensor<8x32xf32>
        %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %one = stablehlo.constant dense<1.0> : tensor<8xf32>
        %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
        %ms = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
        %z = stablehlo.subtract %x, %ms : tensor<8x32xf32>
        %p = stablehlo.exponential %z : tensor<8x32xf32>
        %l = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
        %inverse = stablehlo.divide %one, %l : tensor<8xf32>
        %spread = stablehlo.broadcast_in_dim %inverse, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
        %n = stablehlo.multiply %p, %spread : tensor<8x32xf32>
        %o = stablehlo.dot_general %n, %c, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x4xf32>) -> tensor<8x4xf32>
        st.yield %o, %m, %l, %inverse : tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
      }
      st.write %y#0 to @o : tensor<8x4xf32>
      st.write %y#1 to @m : tensor<8xf32>
      st.write %y#3 to @l : tensor<8xf32>

      // A kernel that needs the maxima of all keys is in the next turn. The sums of its rows' part travel with that part, and
      // arrive at the device that has the keys: three messages for four devices.
      // CHECK: st.write {{.*}} to @o
      // CHECK-COUNT-6: st.collective_permute
      // CHECK-NOT: st.{{reduce_scatter|collective_permute}}
      // CHECK: st.write {{.*}} to @dq
      // CHECK: st.write {{.*}} to @dk
      %g:2 = st.kernel "attention" (%a = %q : tensor<8x4xf32>, %b = %ks : tensor<32x4xf32>, %mm = %y#1 : tensor<8xf32>) -> (tensor<8x4xf32>, tensor<32x4xf32>) {
        %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<32x4xf32>) -> tensor<8x32xf32>
        %ms = stablehlo.broadcast_in_dim %mm, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
        %z = stablehlo.subtract %s, %ms : tensor<8x32xf32>
        %t = stablehlo.tanh %z : tensor<8x32xf32>
        %dq = stablehlo.dot_general %t, %b, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x4xf32>) -> tensor<8x4xf32>
        %dk = stablehlo.dot_general %t, %a, contracting_dims = [0] x [0] : (tensor<8x32xf32>, tensor<8x4xf32>) -> tensor<32x4xf32>
        st.yield %dq, %dk : tensor<8x4xf32>, tensor<32x4xf32>
      }
      %scattered = st.reduce_scatter %g#1 sum dim 0 over ["context"] of @mesh : tensor<32x4xf32> -> tensor<8x4xf32>
      st.write %g#0 to @dq : tensor<8x4xf32>
      st.write %scattered to @dk : tensor<8x4xf32>

      // A bias for each key needs all keys at once.
      // REMARK: remark: needs the keys or values of all devices together, so they are gathered
      // REMARK-NOT: remark
      // CHECK: st.all_gather
      // CHECK-NOT: st.all_gather
      %other = st.all_gather %v dim 0 over ["context"] of @mesh : tensor<8x4xf32> -> tensor<32x4xf32>
      %w = st.kernel "attention" (%a = %q : tensor<8x4xf32>, %b = %other : tensor<32x4xf32>, %c = %bias : tensor<32xf32>) -> tensor<8x4xf32> {
        %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<32x4xf32>) -> tensor<8x32xf32>
        %cs = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>
        %t = stablehlo.add %s, %cs : tensor<8x32xf32>
        %o = stablehlo.dot_general %t, %b, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x4xf32>) -> tensor<8x4xf32>
        st.yield %o : tensor<8x4xf32>
      }
      st.write %w to @b : tensor<8x4xf32>
    }
  }
}
