// The gradient of attention: the operands of the products that contract the rows (gradients of values and keys) are not
// in device memory if the rows of one head, twice [48, 64] in f32, fit the memory that the cores share (24576 bytes). A
// value with another user stays a result of the attention kernel, and so does a value that does not fit together with
// another one.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in q=f32:2x48x3x8 k=f32:2x64x3x8 v=f32:2x64x3x8 g=f32:2x48x3x8
// RUN: sed -e s/SHARED/24576/ -e s/STORED/%%dq/ -e s/SHAPE/2x3x48x8/g %s > %t/fits.mlir
// RUN: sed -e s/SHARED/24575/ -e s/STORED/%%dq/ -e s/SHAPE/2x3x48x8/g %s > %t/half.mlir
// RUN: sed -e s/SHARED/24576/ -e s/STORED/%%ds/ -e s/SHAPE/2x3x48x64/g %s > %t/stored.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/ops %t/fits.mlir
// RUN: st-opt --form-kernels %t/fits.mlir -o %t/kernels.mlir
// RUN: FileCheck %s --input-file=%t/kernels.mlir --check-prefix=FITS
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/kernels %t/kernels.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/ops %t/kernels 0 | FileCheck %s --check-prefix=SAME
// RUN: st-opt --form-kernels %t/half.mlir | FileCheck %s --check-prefix=HALF
// RUN: st-opt --form-kernels %t/stored.mlir | FileCheck %s --check-prefix=STORED
// RUN: st-opt --form-kernels --plan-memory --verify-memory-plan --convert-to-dtu --verify-dtu-order %t/fits.mlir | FileCheck %s --check-prefix=DTU
// SAME: 4 tensors agree

#any = #st.sharding<@mesh, [{}, {}, {}, {}]>
module attributes {st.cores = 8 : i64, st.shared_bytes = SHARED : i64, st.target = #st.target<backend = "dtu", device = "dtu-t10", alignment = 128, scratch_bytes = 262144, memory_bytes = 4294967296>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @q "q" role "batch" global tensor<2x48x3x8xf32> slice #any local tensor<2x48x3x8xf32> micro_dim -1
    st.input @k "k" role "batch" global tensor<2x64x3x8xf32> slice #any local tensor<2x64x3x8xf32> micro_dim -1
    st.input @v "v" role "batch" global tensor<2x64x3x8xf32> slice #any local tensor<2x64x3x8xf32> micro_dim -1
    st.input @g "g" role "batch" global tensor<2x48x3x8xf32> slice #any local tensor<2x48x3x8xf32> micro_dim -1
    st.output @dq "dq" role "metric" global tensor<2x3x48x8xf32> slice #any local tensor<2x3x48x8xf32>
    st.output @dk "dk" role "metric" global tensor<2x3x64x8xf32> slice #any local tensor<2x3x64x8xf32>
    st.output @dv "dv" role "metric" global tensor<2x3x64x8xf32> slice #any local tensor<2x3x64x8xf32>
    st.output @kept "kept" role "metric" global tensor<SHAPExf32> slice #any local tensor<SHAPExf32>
    // FITS-LABEL: st.task @backward0
    // FITS: st.kernel "attention" {{.*}} -> (tensor<2x3x48x8xf32>, tensor<2x3x64x8xf32>, tensor<2x3x64x8xf32>)
    // FITS-COUNT-5: stablehlo.dot_general
    // FITS-NOT: st.kernel "matmul"
    // HALF-LABEL: st.task @backward0
    // HALF: st.kernel "attention" {{.*}} -> (tensor<2x3x48x8xf32>, tensor<2x3x64x8xf32>, tensor<2x3x48x64xf32>)
    // HALF-COUNT-4: stablehlo.dot_general
    // HALF: st.kernel "matmul"
    // HALF-NOT: st.kernel "matmul"
    // STORED-LABEL: st.task @backward0
    // STORED: st.kernel "attention" {{.*}} -> (tensor<2x3x48x64xf32>, tensor<2x3x64x8xf32>, tensor<2x3x48x8xf32>)
    // STORED-COUNT-4: stablehlo.dot_general
    // STORED: st.kernel "matmul"
    // STORED-NOT: st.kernel "matmul"
    // DTU: dtu.label "attention"
    // DTU: dtu.copy {dst = #dtu.view<L2[
    // DTU: dtu.copy {dst = #dtu.view<L1[{{.*}}src = #dtu.view<L2[
    st.task @backward0 forward stage 0 (%mb) {
      %q = st.read @q : tensor<2x48x3x8xf32>
      %k = st.read @k : tensor<2x64x3x8xf32>
      %v = st.read @v : tensor<2x64x3x8xf32>
      %g = st.read @g : tensor<2x48x3x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x48x3x8xf32>, tensor<2x64x3x8xf32>) -> tensor<2x3x48x64xf32>
      %dp = stablehlo.dot_general %g, %v, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x48x3x8xf32>, tensor<2x64x3x8xf32>) -> tensor<2x3x48x64xf32>
      %scale = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x48x64xf32>, tensor<f32>) -> tensor<2x3x48xf32>
      %scaleb = stablehlo.broadcast_in_dim %scale, dims = [0, 1, 2] : (tensor<2x3x48xf32>) -> tensor<2x3x48x64xf32>
      %p = stablehlo.multiply %s, %scaleb : tensor<2x3x48x64xf32>
      %dv = stablehlo.dot_general %p, %g, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<2x3x48x64xf32>, tensor<2x48x3x8xf32>) -> tensor<2x3x64x8xf32>
      %m = stablehlo.multiply %p, %dp : tensor<2x3x48x64xf32>
      %sum = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x48x64xf32>, tensor<f32>) -> tensor<2x3x48xf32>
      %sumb = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x48xf32>) -> tensor<2x3x48x64xf32>
      %ds = stablehlo.subtract %m, %sumb : tensor<2x3x48x64xf32>
      %dq = stablehlo.dot_general %ds, %k, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x48x64xf32>, tensor<2x64x3x8xf32>) -> tensor<2x3x48x8xf32>
      %dk = stablehlo.dot_general %ds, %q, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<2x3x48x64xf32>, tensor<2x48x3x8xf32>) -> tensor<2x3x64x8xf32>
      st.write %dq to @dq : tensor<2x3x48x8xf32>
      st.write %dk to @dk : tensor<2x3x64x8xf32>
      st.write %dv to @dv : tensor<2x3x64x8xf32>
      st.write STORED to @kept : tensor<SHAPExf32>
    }
    st.schedule "sequential" [@backward0 0]
  }
}
