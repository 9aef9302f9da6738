// GELU is computed on the tiles of the preceding product, which stores its input and its output, and its derivative on
// the tiles of the backward product. A loop stays separate if a core cannot hold a tile of all its live values, if it
// reduces rows, or if another kernel computes its other operand from the product.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in x=f32:32x16 w=f32:16x24 b=f32:24 dy=f32:32x16
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/ops %s
// RUN: st-opt --form-kernels %s -o %t/kernels.mlir
// RUN: FileCheck %s --input-file=%t/kernels.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/kernels %t/kernels.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/ops %t/kernels 0 | FileCheck %s --check-prefix=SAME
// RUN: st-opt --form-kernels --plan-memory --verify-memory-plan --convert-to-dtu --verify-dtu-order %s | FileCheck %s --check-prefix=DTU
// RUN: sed -e "s/scratch_bytes = 262144/scratch_bytes = 131072/" %s | st-opt --form-kernels | FileCheck %s --check-prefix=SMALL
// SAME: 4 tensors agree

#any = #st.sharding<@mesh, [{}, {}]>
module attributes {st.cores = 8 : i64, st.target = #st.target<backend = "dtu", device = "dtu-t10", alignment = 128, scratch_bytes = 262144, memory_bytes = 4294967296>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @x "x" role "batch" global tensor<32x16xf32> slice #any local tensor<32x16xf32> micro_dim -1
    st.input @w "w" role "batch" global tensor<16x24xf32> slice #any local tensor<16x24xf32> micro_dim -1
    st.input @b "b" role "batch" global tensor<24xf32> slice <@mesh, [{}]> local tensor<24xf32> micro_dim -1
    st.input @dy "dy" role "batch" global tensor<32x16xf32> slice #any local tensor<32x16xf32> micro_dim -1
    st.buffer @v "stash" slots 1 : tensor<32x24xf32>
    st.output @g "g" role "metric" global tensor<32x24xf32> slice #any local tensor<32x24xf32>
    st.output @dv "dv" role "metric" global tensor<32x24xf32> slice #any local tensor<32x24xf32>
    st.output @y "y" role "metric" global tensor<32x24xf32> slice #any local tensor<32x24xf32>
    st.output @z "z" role "metric" global tensor<32x32xf32> slice #any local tensor<32x32xf32>
    // CHECK-LABEL: st.task @forward0
    // CHECK: %[[G:.*]]:2 = st.kernel "matmul" (%{{.*}}, %{{.*}}, %{{.*}}) -> (tensor<32x24xf32>, tensor<32x24xf32>)
    // CHECK-DAG: stablehlo.dot_general
    // CHECK-DAG: chlo.erf
    // CHECK: st.write %[[G]]#{{.}} to @v
    // CHECK-NOT: st.kernel
    // CHECK: st.write %[[G]]#{{.}} to @g
    // DTU: dtu.label "matmul"
    // SMALL-LABEL: st.task @forward0
    // SMALL: st.kernel "matmul" {{.*}} -> tensor<32x24xf32>
    // SMALL: st.kernel "loop"
    // SMALL: chlo.erf
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.read @x : tensor<32x16xf32>
      %w = st.read @w : tensor<16x24xf32>
      %b = st.read @b : tensor<24xf32>
      %root = stablehlo.constant dense<0.70710678> : tensor<32x24xf32>
      %half = stablehlo.constant dense<0.5> : tensor<32x24xf32>
      %one = stablehlo.constant dense<1.0> : tensor<32x24xf32>
      %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x24xf32>) -> tensor<32x24xf32>
      %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<24xf32>) -> tensor<32x24xf32>
      %v = stablehlo.add %p, %bb : tensor<32x24xf32>
      st.write %v to @v[%mb] : tensor<32x24xf32>
      %u = stablehlo.multiply %v, %root : tensor<32x24xf32>
      %e = chlo.erf %u : tensor<32x24xf32> -> tensor<32x24xf32>
      %e1 = stablehlo.add %e, %one : tensor<32x24xf32>
      %h = stablehlo.multiply %v, %half : tensor<32x24xf32>
      %g = stablehlo.multiply %h, %e1 : tensor<32x24xf32>
      st.write %g to @g : tensor<32x24xf32>
    }
    // CHECK-LABEL: st.task @backward0
    // CHECK: %[[V:.*]] = st.read @v
    // CHECK: st.kernel "matmul" ({{.*}}%[[V]]{{.*}}) -> tensor<32x24xf32>
    // CHECK-DAG: stablehlo.dot_general
    // CHECK-DAG: stablehlo.exponential
    // CHECK-NOT: "loop"
    // CHECK: st.kernel "matmul"
    // CHECK-NEXT: stablehlo.dot_general
    // CHECK-NEXT: st.yield
    // CHECK: st.kernel "loop"
    // CHECK: stablehlo.reduce
    // CHECK: st.kernel "matmul"
    // CHECK-NEXT: stablehlo.dot_general
    // CHECK-NEXT: st.yield
    // CHECK: st.kernel "copy"
    // CHECK: st.kernel "loop"
    st.task @backward0 backward stage 0 (%mb) {
      %x = st.read @x : tensor<32x16xf32>
      %w = st.read @w : tensor<16x24xf32>
      %v = st.read @v[%mb] : tensor<32x24xf32>
      %dy = st.read @dy : tensor<32x16xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %minus = stablehlo.constant dense<-0.5> : tensor<32x24xf32>
      %v2 = stablehlo.multiply %v, %v : tensor<32x24xf32>
      %m = stablehlo.multiply %v2, %minus : tensor<32x24xf32>
      %d = stablehlo.exponential %m : tensor<32x24xf32>
      %p = stablehlo.dot_general %dy, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x24xf32>) -> tensor<32x24xf32>
      %dv = stablehlo.multiply %p, %d : tensor<32x24xf32>
      st.write %dv to @dv : tensor<32x24xf32>
      %q = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x24xf32>) -> tensor<32x24xf32>
      %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x24xf32>, tensor<f32>) -> tensor<32xf32>
      %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<32xf32>) -> tensor<32x24xf32>
      %y = stablehlo.divide %q, %sb : tensor<32x24xf32>
      %n = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x32xf32>
      %t = stablehlo.transpose %n, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
      %z = stablehlo.add %n, %t : tensor<32x32xf32>
      st.write %y to @y : tensor<32x24xf32>
      st.write %z to @z : tensor<32x32xf32>
    }
    st.schedule "sequential" [@forward0 0, @backward0 0]
  }
}
