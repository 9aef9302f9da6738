// RUN: st-opt --overlap-collectives=assume-speed %s -split-input-file | FileCheck %s
// RUN: st-opt --overlap-collectives %s -split-input-file | FileCheck %s --check-prefix=NOSPEED
// RUN: st-opt --overlap-collectives="assume-speed task-bytes=0" %s -split-input-file | FileCheck %s --check-prefix=TIGHT

// The product for the weight's gradient runs while the input's is summed. Users of the sum wait.
st.mesh @mesh <["tensor"=4], micro=1>
st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
  st.state @w "w" role "parameter" of "" global tensor<512x512xf32> slice <@mesh, [{}, {}]> local tensor<512x512xf32>
  st.buffer @dy "stash" slots 1 : tensor<512x512xf32>
  st.buffer @dx "stash" slots 1 : tensor<512x512xf32>
  st.buffer @dw "accumulator" slots 1 : tensor<512x512xf32>
  // CHECK-LABEL: st.task @backward0
  // NOSPEED-LABEL: st.task @backward0
  st.task @backward0 backward stage 0 (%mb) {
    %w = st.read @w : tensor<512x512xf32>
    %dy = st.read @dy[%mb] : tensor<512x512xf32>
    // CHECK: st.kernel "matmul"
    // CHECK: [[SUM:%.*]] = st.all_reduce
    // CHECK: [[DW:%.*]] = st.kernel "matmul"
    // CHECK: st.write [[DW]] to @dw
    // CHECK: st.kernel "loop" (%{{.*}} = [[SUM]]
    // NOSPEED: st.all_reduce
    // NOSPEED: st.kernel "loop"
    // NOSPEED: st.kernel "matmul"
    %dx = st.kernel "matmul" (%a = %dy : tensor<512x512xf32>, %b = %w : tensor<512x512xf32>) -> tensor<512x512xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
      st.yield %0 : tensor<512x512xf32>
    }
    %sum = st.all_reduce %dx sum over ["tensor"] of @mesh : tensor<512x512xf32>
    %dz = st.kernel "loop" (%a = %sum : tensor<512x512xf32>) -> tensor<512x512xf32> {
      %0 = stablehlo.tanh %a : tensor<512x512xf32>
      st.yield %0 : tensor<512x512xf32>
    }
    st.write %dz to @dx[%mb] : tensor<512x512xf32>
    %dw = st.kernel "matmul" (%a = %dy : tensor<512x512xf32>, %b = %dy : tensor<512x512xf32>) -> tensor<512x512xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
      st.yield %0 : tensor<512x512xf32>
    }
    st.write %dw to @dw : tensor<512x512xf32>
  }
}

// -----

// The second layer's weight is gathered while the first computes, if there is room for both. A message
// keeps its place among the ops on links, and @x is read before it is overwritten.
module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 100000000>} {
  st.mesh @mesh <["data"=4], micro=1>
  st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
    st.state @v "v" role "parameter" of "" global tensor<512x512xf32> slice <@mesh, [{"data"}, {}]> local tensor<128x512xf32>
    st.state @w "w" role "parameter" of "" global tensor<512x512xf32> slice <@mesh, [{"data"}, {}]> local tensor<128x512xf32>
    st.buffer @x "stash" slots 1 : tensor<512x512xf32>
    // CHECK-LABEL: st.task @forward0
    // TIGHT-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: [[V:%.*]] = st.all_gather
      // CHECK: [[W:%.*]] = st.all_gather
      // CHECK: [[H:%.*]] = st.kernel "matmul" (%{{.*}} = %{{.*}} : tensor<512x512xf32>, %{{.*}} = [[V]] :
      // CHECK: [[Y:%.*]] = st.kernel "loop" (%{{.*}} = [[H]] :
      // CHECK: st.write [[Y]] to @x
      // CHECK: st.kernel "matmul" (%{{.*}} = [[Y]] : tensor<512x512xf32>, %{{.*}} = [[W]] :
      // CHECK: st.send
      // TIGHT: st.all_gather
      // TIGHT: st.kernel "matmul"
      // TIGHT: st.all_gather
      // TIGHT: st.kernel "matmul"
      %x = st.read @x[%mb] : tensor<512x512xf32>
      %v = st.read @v : tensor<128x512xf32>
      %allV = st.all_gather %v dim 0 over ["data"] of @mesh : tensor<128x512xf32> -> tensor<512x512xf32>
      %h = st.kernel "matmul" (%a = %x : tensor<512x512xf32>, %b = %allV : tensor<512x512xf32>) -> tensor<512x512xf32> {
        %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
        st.yield %0 : tensor<512x512xf32>
      }
      %y = st.kernel "loop" (%a = %h : tensor<512x512xf32>) -> tensor<512x512xf32> {
        %0 = stablehlo.tanh %a : tensor<512x512xf32>
        st.yield %0 : tensor<512x512xf32>
      }
      st.write %y to @x[%mb] : tensor<512x512xf32>
      %w = st.read @w : tensor<128x512xf32>
      %allW = st.all_gather %w dim 0 over ["data"] of @mesh : tensor<128x512xf32> -> tensor<512x512xf32>
      %z = st.kernel "matmul" (%a = %y : tensor<512x512xf32>, %b = %allW : tensor<512x512xf32>) -> tensor<512x512xf32> {
        %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
        st.yield %0 : tensor<512x512xf32>
      }
      st.send %z to @group1 channel 0 : tensor<512x512xf32>
    }
  }
  st.program @group1 stages [1] devices [5, 6, 7, 8] first_rank 4 mesh @mesh {
    st.task @forward1 forward stage 1 (%mb) {
      %z = st.recv from @group0 channel 0 : tensor<512x512xf32>
    }
  }
}
