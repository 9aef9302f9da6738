// The backward pass of attention as JAX writes it: the gradient of the values comes before the product that the gradient of
// the scores needs. It moves down with its collective, so the probabilities are not stored. The bias by distance and the comparison of documents
// are computed in the kernel.
//
// RUN: st-opt --form-kernels=attention=streamed %s | FileCheck %s

#any = #st.sharding<@mesh, [{}, {}]>
#row = #st.sharding<@mesh, [{}]>
module attributes {st.cores = 8 : i64, st.target = #st.target<backend = "cuda", device = "test", alignment = 128, scratch_bytes = 65536, memory_bytes = 4294967296>} {
  st.mesh @mesh <["data"=2], micro=1>
  st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
    st.input @q "q" role "batch" global tensor<512x32xf32> slice #any local tensor<512x32xf32> micro_dim -1
    st.input @k "k" role "batch" global tensor<512x32xf32> slice #any local tensor<512x32xf32> micro_dim -1
    st.input @v "v" role "batch" global tensor<512x32xf32> slice #any local tensor<512x32xf32> micro_dim -1
    st.input @d "d" role "batch" global tensor<512x32xf32> slice #any local tensor<512x32xf32> micro_dim -1
    st.input @documents "documents" role "batch" global tensor<512xi32> slice #row local tensor<512xi32> micro_dim -1
    st.output @dq "dq" role "metric" global tensor<512x32xf32> slice #any local tensor<512x32xf32>
    st.output @dv "dv" role "metric" global tensor<32x512xf32> slice #any local tensor<32x512xf32>

    // CHECK-LABEL: st.task @forward0
    // CHECK-NOT: st.kernel {{.*}} -> {{.*}}tensor<512x512x
    // CHECK: st.kernel "attention" ({{.*}} : tensor<512xi32>, {{.*}} : tensor<512xi32>, {{.*}}) -> (tensor<512x32xf32>, tensor<512x32xf32>) {
    // CHECK: stablehlo.dot_general
    // CHECK: stablehlo.compare EQ
    // CHECK-COUNT-3: stablehlo.dot_general
    // CHECK: st.all_reduce
    // CHECK: st.kernel "copy" {{.*}} -> tensor<32x512xf32>
    st.task @forward0 forward stage 0 (%mb) {
      %q = st.read @q : tensor<512x32xf32>
      %k = st.read @k : tensor<512x32xf32>
      %v = st.read @v : tensor<512x32xf32>
      %d = st.read @d : tensor<512x32xf32>
      %documents = st.read @documents : tensor<512xi32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<-1.0e30> : tensor<512x512xf32>
      %slope = stablehlo.constant dense<0.125> : tensor<512x512xf32>
      %row = stablehlo.iota dim = 0 : tensor<512x512xf32>
      %column = stablehlo.iota dim = 1 : tensor<512x512xf32>
      %distance = stablehlo.subtract %column, %row : tensor<512x512xf32>
      %bias = stablehlo.multiply %distance, %slope : tensor<512x512xf32>
      %ofRow = stablehlo.broadcast_in_dim %documents, dims = [0] : (tensor<512xi32>) -> tensor<512x512xi32>
      %ofColumn = stablehlo.broadcast_in_dim %documents, dims = [1] : (tensor<512xi32>) -> tensor<512x512xi32>
      %same = stablehlo.compare EQ, %ofRow, %ofColumn : (tensor<512x512xi32>, tensor<512x512xi32>) -> tensor<512x512xi1>
      %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<512x32xf32>, tensor<512x32xf32>) -> tensor<512x512xf32>
      %biased = stablehlo.add %s, %bias : tensor<512x512xf32>
      %seen = stablehlo.select %same, %biased, %low : tensor<512x512xi1>, tensor<512x512xf32>
      %p = stablehlo.exponential %seen : tensor<512x512xf32>
      %dv = stablehlo.dot_general %p, %d, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x32xf32>) -> tensor<512x32xf32>
      %sum = st.all_reduce %dv sum over ["data"] of @mesh : tensor<512x32xf32>
      %turned = stablehlo.transpose %sum, dims = [1, 0] : (tensor<512x32xf32>) -> tensor<32x512xf32>
      %dp = stablehlo.dot_general %d, %v, contracting_dims = [1] x [1] : (tensor<512x32xf32>, tensor<512x32xf32>) -> tensor<512x512xf32>
      %ds = stablehlo.multiply %dp, %p : tensor<512x512xf32>
      %dq = stablehlo.dot_general %ds, %k, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x32xf32>) -> tensor<512x32xf32>
      st.write %dq to @dq : tensor<512x32xf32>
      st.write %turned to @dv : tensor<32x512xf32>
    }
  }
}
