// Products of one tensor with similar others share a kernel, each with the ops on its result, and a loop that
// reads two of them joins. A product stays separate if it multiplies by a tensor of another type, contracts
// another dimension, or needs another one's result. An op between two products that can join the first is not an
// obstacle.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in x=f32:16x16 w=f32:16x24 k=f32:16x24 b=f32:24 n=f32:16x40
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/ops %s
// RUN: st-opt --form-kernels %s -o %t/kernels.mlir
// RUN: FileCheck %s --input-file=%t/kernels.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/kernels %t/kernels.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/ops %t/kernels 0 | FileCheck %s --check-prefix=SAME
// RUN: st-opt --form-kernels --plan-memory --verify-memory-plan --convert-to-dtu --verify-dtu-order %s | FileCheck %s --check-prefix=DTU
// SAME: 9 tensors agree

#any = #st.sharding<@mesh, [{}, {}]>
module attributes {st.cores = 8 : i64, st.target = #st.target<backend = "dtu", device = "dtu-t10", alignment = 128, scratch_bytes = 262144, memory_bytes = 4294967296>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @x "x" role "batch" global tensor<16x16xf32> slice #any local tensor<16x16xf32> micro_dim -1
    st.input @w "w" role "batch" global tensor<16x24xf32> slice #any local tensor<16x24xf32> micro_dim -1
    st.input @k "k" role "batch" global tensor<16x24xf32> slice #any local tensor<16x24xf32> micro_dim -1
    st.input @b "b" role "batch" global tensor<24xf32> slice <@mesh, [{}]> local tensor<24xf32> micro_dim -1
    st.input @n "n" role "batch" global tensor<16x40xf32> slice #any local tensor<16x40xf32> micro_dim -1
    st.output @q "q" role "metric" global tensor<16x24xf32> slice #any local tensor<16x24xf32>
    st.output @v "v" role "metric" global tensor<16x24xf32> slice #any local tensor<16x24xf32>
    st.output @g "g" role "metric" global tensor<16x24xf32> slice #any local tensor<16x24xf32>
    st.output @y "y" role "metric" global tensor<16x24xf32> slice #any local tensor<16x24xf32>
    st.output @z "z" role "metric" global tensor<16x24xf32> slice #any local tensor<16x24xf32>
    st.output @m "m" role "metric" global tensor<16x40xf32> slice #any local tensor<16x40xf32>
    st.output @t "t" role "metric" global tensor<16x24xf32> slice #any local tensor<16x24xf32>
    st.output @h "h" role "metric" global tensor<16x24xf32> slice #any local tensor<16x24xf32>
    st.output @e "e" role "metric" global tensor<16x24xf32> slice #any local tensor<16x24xf32>
    // CHECK-LABEL: st.task @forward0
    // CHECK: %[[Q:.*]]:2 = st.kernel "matmul" (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) -> (tensor<16x24xf32>, tensor<16x24xf32>) {
    // CHECK-DAG: stablehlo.dot_general {{.*}} contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>)
    // CHECK-DAG: stablehlo.dot_general {{.*}} contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>)
    // CHECK-DAG: stablehlo.add
    // CHECK: st.yield
    // CHECK: st.kernel "matmul"
    // CHECK: stablehlo.dot_general {{.*}} -> tensor<16x40xf32>
    // CHECK-NOT: stablehlo.dot_general
    // CHECK: st.kernel "matmul"
    // CHECK: stablehlo.dot_general {{.*}} contracting_dims = [0] x [0]
    // CHECK-NOT: stablehlo.dot_general
    // DTU: dtu.label "matmul"
    // DTU-COUNT-2: dtu.matmul
    // DTU: dtu.label "matmul"
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.read @x : tensor<16x16xf32>
      %w = st.read @w : tensor<16x24xf32>
      %k = st.read @k : tensor<16x24xf32>
      %b = st.read @b : tensor<24xf32>
      %n = st.read @n : tensor<16x40xf32>
      %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>) -> tensor<16x24xf32>
      %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<24xf32>) -> tensor<16x24xf32>
      %q = stablehlo.add %p, %bb : tensor<16x24xf32>
      %m = stablehlo.dot_general %x, %n, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x40xf32>) -> tensor<16x40xf32>
      %t = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>) -> tensor<16x24xf32>
      %v = stablehlo.dot_general %x, %k, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>) -> tensor<16x24xf32>
      st.write %q to @q : tensor<16x24xf32>
      st.write %m to @m : tensor<16x40xf32>
      st.write %t to @t : tensor<16x24xf32>
      st.write %v to @v : tensor<16x24xf32>
    }
    // The loop is computed on the tiles of both; the last product needs its result.
    // CHECK-LABEL: st.task @backward0
    // CHECK: %[[G:.*]]:2 = st.kernel "matmul" (%{{.*}}, %{{.*}}, %{{.*}}) -> (tensor<16x24xf32>, tensor<16x24xf32>) {
    // CHECK-DAG: stablehlo.dot_general
    // CHECK-DAG: stablehlo.dot_general
    // CHECK-DAG: stablehlo.logistic
    // CHECK: st.yield
    // CHECK-NOT: "loop"
    // CHECK: st.kernel "matmul" (%{{.*}}, %{{.*}} = %[[G]]#{{.}} : tensor<16x24xf32>) -> tensor<16x24xf32>
    // CHECK-NOT: st.kernel
    st.task @backward0 backward stage 0 (%mb) {
      %x = st.read @x : tensor<16x16xf32>
      %w = st.read @w : tensor<16x24xf32>
      %k = st.read @k : tensor<16x24xf32>
      %g = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>) -> tensor<16x24xf32>
      %u = stablehlo.dot_general %x, %k, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>) -> tensor<16x24xf32>
      %s = stablehlo.logistic %g : tensor<16x24xf32>
      %h = stablehlo.multiply %g, %s : tensor<16x24xf32>
      %y = stablehlo.multiply %h, %u : tensor<16x24xf32>
      %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>) -> tensor<16x24xf32>
      st.write %g to @g : tensor<16x24xf32>
      st.write %y to @y : tensor<16x24xf32>
      st.write %z to @z : tensor<16x24xf32>
    }
    // CHECK-LABEL: st.task @update0
    // CHECK: st.kernel "loop"
    // CHECK: stablehlo.tanh
    // CHECK: st.kernel "matmul" {{.*}} -> (tensor<16x24xf32>, tensor<16x24xf32>) {
    // CHECK-NOT: st.kernel
    st.task @update0 update stage 0 (%mb) {
      %x = st.read @x : tensor<16x16xf32>
      %w = st.read @w : tensor<16x24xf32>
      %k = st.read @k : tensor<16x24xf32>
      %g = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>) -> tensor<16x24xf32>
      %s = stablehlo.logistic %g : tensor<16x24xf32>
      %h = stablehlo.multiply %g, %s : tensor<16x24xf32>
      %t = stablehlo.tanh %k : tensor<16x24xf32>
      %e = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x24xf32>) -> tensor<16x24xf32>
      st.write %h to @h : tensor<16x24xf32>
      st.write %e to @e : tensor<16x24xf32>
    }
    st.schedule "sequential" [@forward0 0, @backward0 0, @update0 0]
  }
}
