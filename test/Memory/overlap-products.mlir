// RUN: st-opt --overlap-products=assume-speed %s -split-input-file | FileCheck %s
// RUN: st-opt --overlap-products %s -split-input-file | FileCheck %s --check-prefix=NOSPEED
// RUN: st-opt --overlap-products=assume-speed --plan-memory --verify-memory-plan %s -split-input-file | FileCheck %s --check-prefix=PLAN

// Rows are summed while the next are computed; the parts are computed in place in the joined result.
st.mesh @mesh <["tensor"=4], micro=1>
st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
  st.state @w "w" role "parameter" of "" global tensor<2048x2048xf32> slice <@mesh, [{"tensor"}, {}]> local tensor<512x2048xf32>
  st.buffer @x "stash" slots 1 : tensor<1x2048x512xf32>
  st.buffer @y "stash" slots 1 : tensor<1x2048x2048xf32>
  // CHECK-LABEL: st.task @forward0
  // NOSPEED-LABEL: st.task @forward0
  // PLAN-LABEL: st.task @forward0
  st.task @forward0 forward stage 0 (%mb) {
    // CHECK: [[Y0:%.*]] = st.kernel "matmul" {{.*}} -> tensor<1x256x2048xf32>
    // CHECK: stablehlo.slice {{.*}} [0:1, 0:256, 0:512]
    // CHECK: [[S0:%.*]] = st.all_reduce [[Y0]] sum over ["tensor"] of @mesh : tensor<1x256x2048xf32>
    // CHECK: stablehlo.slice {{.*}} [0:1, 256:512, 0:512]
    // CHECK: [[S1:%.*]] = st.all_reduce
    // CHECK-COUNT-6: st.all_reduce
    // CHECK: [[SUM:%.*]] = st.kernel "copy" (%{{.*}} = [[S0]] : tensor<1x256x2048xf32>, %{{.*}} = [[S1]] :
    // CHECK: stablehlo.concatenate {{.*}} dim = 1
    // CHECK: st.kernel "loop" (%{{.*}} = [[SUM]]
    // NOSPEED-NOT: concatenate
    // PLAN: st.all_reduce {{.*}}offset = [[#FIRST:]]>
    // PLAN: st.all_reduce {{.*}}offset = [[#FIRST+2097152]]>
    // PLAN: st.kernel "copy"
    // PLAN-SAME: offset = [[#FIRST]]>
    %x = st.read @x[%mb] : tensor<1x2048x512xf32>
    %w = st.read @w : tensor<512x2048xf32>
    %y = st.kernel "matmul" (%a = %x : tensor<1x2048x512xf32>, %b = %w : tensor<512x2048xf32>) -> tensor<1x2048x2048xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<1x2048x512xf32>, tensor<512x2048xf32>) -> tensor<1x2048x2048xf32>
      st.yield %0 : tensor<1x2048x2048xf32>
    }
    %sum = st.all_reduce %y sum over ["tensor"] of @mesh : tensor<1x2048x2048xf32>
    %z = st.kernel "loop" (%a = %sum : tensor<1x2048x2048xf32>) -> tensor<1x2048x2048xf32> {
      %0 = stablehlo.tanh %a : tensor<1x2048x2048xf32>
      st.yield %0 : tensor<1x2048x2048xf32>
    }
    st.write %z to @y[%mb] : tensor<1x2048x2048xf32>
  }
  // The product of a weight's gradient can run meanwhile, so the sum is not split.
  // CHECK-LABEL: st.task @backward0
  // CHECK: st.all_reduce {{.*}} : tensor<1x2048x2048xf32>
  // CHECK-NOT: concatenate
  st.task @backward0 backward stage 0 (%mb) {
    %x = st.read @x[%mb] : tensor<1x2048x512xf32>
    %w = st.read @w : tensor<512x2048xf32>
    %y = st.kernel "matmul" (%a = %x : tensor<1x2048x512xf32>, %b = %w : tensor<512x2048xf32>) -> tensor<1x2048x2048xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<1x2048x512xf32>, tensor<512x2048xf32>) -> tensor<1x2048x2048xf32>
      st.yield %0 : tensor<1x2048x2048xf32>
    }
    %sum = st.all_reduce %y sum over ["tensor"] of @mesh : tensor<1x2048x2048xf32>
    %z = st.kernel "loop" (%a = %sum : tensor<1x2048x2048xf32>) -> tensor<1x2048x2048xf32> {
      %0 = stablehlo.tanh %a : tensor<1x2048x2048xf32>
      st.yield %0 : tensor<1x2048x2048xf32>
    }
    st.write %z to @y[%mb] : tensor<1x2048x2048xf32>
    %dw = st.kernel "matmul" (%a = %x : tensor<1x2048x512xf32>, %b = %x : tensor<1x2048x512xf32>) -> tensor<512x512xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 1] x [0, 1] : (tensor<1x2048x512xf32>, tensor<1x2048x512xf32>) -> tensor<512x512xf32>
      st.yield %0 : tensor<512x512xf32>
    }
    %dv = st.kernel "matmul" (%a = %x : tensor<1x2048x512xf32>, %b = %x : tensor<1x2048x512xf32>) -> tensor<512x512xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 1] x [0, 1] : (tensor<1x2048x512xf32>, tensor<1x2048x512xf32>) -> tensor<512x512xf32>
      st.yield %0 : tensor<512x512xf32>
    }
    %du = st.kernel "matmul" (%a = %x : tensor<1x2048x512xf32>, %b = %x : tensor<1x2048x512xf32>) -> tensor<512x512xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 1] x [0, 1] : (tensor<1x2048x512xf32>, tensor<1x2048x512xf32>) -> tensor<512x512xf32>
      st.yield %0 : tensor<512x512xf32>
    }
    st.send %dw to @group0 channel 0 : tensor<512x512xf32>
    st.send %dv to @group0 channel 0 : tensor<512x512xf32>
    st.send %du to @group0 channel 0 : tensor<512x512xf32>
  }
}

// -----

// Sequences are gathered while earlier ones are multiplied, including the epilogue. The kept part of the
// gathered tensor is made in place, as the sequences that it consists of.
st.mesh @mesh <["tensor"=4], micro=2>
st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
  st.state @w "w" role "parameter" of "" global tensor<1024x4096xf32> slice <@mesh, [{}, {"tensor"}]> local tensor<1024x1024xf32>
  st.state @b "b" role "parameter" of "" global tensor<4096xf32> slice <@mesh, [{"tensor"}]> local tensor<1024xf32>
  st.buffer @own "stash" slots 2 : tensor<2x256x1024xf32>
  st.buffer @all "stash" slots 2 : tensor<2x1024x1024xf32>
  st.buffer @y "stash" slots 2 : tensor<2x1024x1024xf32>
  // CHECK-LABEL: st.task @forward0
  // PLAN-LABEL: st.program @group0
  // PLAN: st.buffer @all {{.*}} at <offset = [[#ALL:]], stride = [[#STRIDE:]], slots = 2>
  // PLAN-LABEL: st.task @forward0
  st.task @forward0 forward stage 0 (%mb) {
    // CHECK: stablehlo.slice {{.*}} [0:1, 0:256, 0:1024]
    // CHECK: [[G0:%.*]] = st.all_gather {{.*}} : tensor<1x256x1024xf32> -> tensor<1x1024x1024xf32>
    // CHECK: stablehlo.slice {{.*}} [1:2, 0:256, 0:1024]
    // CHECK: [[G1:%.*]] = st.all_gather
    // CHECK: [[ALL:%.*]] = st.kernel "copy" (%{{.*}} = [[G0]] {{.*}}, %{{.*}} = [[G1]] {{.*}}) -> tensor<2x1024x1024xf32>
    // CHECK: st.write [[ALL]] to @all
    // CHECK: [[Y0:%.*]] = st.kernel "matmul" (%{{.*}} = [[G0]]
    // CHECK: broadcast_in_dim {{.*}} -> tensor<1x1024x1024xf32>
    // CHECK: [[Y1:%.*]] = st.kernel "matmul" (%{{.*}} = [[G1]]
    // CHECK: [[Y:%.*]] = st.kernel "copy" (%{{.*}} = [[Y0]] {{.*}}, %{{.*}} = [[Y1]]
    // CHECK: st.write [[Y]] to @y
    // PLAN: st.all_gather {{.*}}offset = [[#ALL]], stride = [[#STRIDE]], slots = 2>
    // PLAN: st.all_gather {{.*}}offset = [[#ALL+4194304]], stride = [[#STRIDE]], slots = 2>
    %own = st.read @own[%mb] : tensor<2x256x1024xf32>
    %w = st.read @w : tensor<1024x1024xf32>
    %b = st.read @b : tensor<1024xf32>
    %x = st.kernel "loop" (%a = %own : tensor<2x256x1024xf32>) -> tensor<2x256x1024xf32> {
      %0 = stablehlo.tanh %a : tensor<2x256x1024xf32>
      st.yield %0 : tensor<2x256x1024xf32>
    }
    %all = st.all_gather %x dim 1 over ["tensor"] of @mesh : tensor<2x256x1024xf32> -> tensor<2x1024x1024xf32>
    st.write %all to @all[%mb] : tensor<2x1024x1024xf32>
    %y = st.kernel "matmul" (%a = %all : tensor<2x1024x1024xf32>, %m = %w : tensor<1024x1024xf32>, %v = %b : tensor<1024xf32>) -> tensor<2x1024x1024xf32> {
      %0 = stablehlo.dot_general %a, %m, contracting_dims = [2] x [0] : (tensor<2x1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<2x1024x1024xf32>
      %1 = stablehlo.broadcast_in_dim %v, dims = [2] : (tensor<1024xf32>) -> tensor<2x1024x1024xf32>
      %2 = stablehlo.add %0, %1 : tensor<2x1024x1024xf32>
      st.yield %2 : tensor<2x1024x1024xf32>
    }
    st.write %y to @y[%mb] : tensor<2x1024x1024xf32>
  }
}

// -----

// A product with two results, and an operand with their shape: each result is joined, the operand is read in parts.
st.mesh @mesh <["tensor"=4], micro=1>
st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
  st.state @w "w" role "parameter" of "" global tensor<1024x1024xf32> slice <@mesh, [{}, {}]> local tensor<1024x1024xf32>
  st.buffer @own "stash" slots 1 : tensor<2x256x1024xf32>
  st.buffer @h "stash" slots 1 : tensor<2x1024x1024xf32>
  st.buffer @y "stash" slots 1 : tensor<2x1024x1024xf32>
  st.buffer @z "stash" slots 1 : tensor<2x1024x1024xf32>
  // CHECK-LABEL: st.task @forward0
  // PLAN-LABEL: st.task @forward0
  st.task @forward0 forward stage 0 (%mb) {
    // CHECK: [[H:%.*]] = st.read @h
    // CHECK: [[A:%.*]]:2 = st.kernel "matmul" ({{.*}}[[ARG:%.*]] = [[H]] : {{.*}}) -> (tensor<1x1024x1024xf32>, tensor<1x1024x1024xf32>)
    // CHECK: stablehlo.slice [[ARG]] [0:1, 0:1024, 0:1024]
    // CHECK: [[B:%.*]]:2 = st.kernel "matmul" ({{.*}}[[NEXT:%.*]] = [[H]] : {{.*}}) -> (tensor<1x1024x1024xf32>, tensor<1x1024x1024xf32>)
    // CHECK: stablehlo.slice [[NEXT]] [1:2, 0:1024, 0:1024]
    // CHECK: [[Y:%.*]] = st.kernel "copy" (%{{.*}} = [[A]]#0 : {{.*}}, %{{.*}} = [[B]]#0 :
    // CHECK: [[Z:%.*]] = st.kernel "copy" (%{{.*}} = [[A]]#1 : {{.*}}, %{{.*}} = [[B]]#1 :
    // CHECK: st.write [[Y]] to @y
    // CHECK: st.write [[Z]] to @z
    // PLAN: st.kernel "matmul" {{.*}}offset = [[#Y:]]>, #st.address<offset = [[#Z:]]>]
    // PLAN: st.kernel "matmul" {{.*}}offset = [[#Y+4194304]]>, #st.address<offset = [[#Z+4194304]]>]
    %own = st.read @own[%mb] : tensor<2x256x1024xf32>
    %h = st.read @h[%mb] : tensor<2x1024x1024xf32>
    %w = st.read @w : tensor<1024x1024xf32>
    %x = st.kernel "loop" (%a = %own : tensor<2x256x1024xf32>) -> tensor<2x256x1024xf32> {
      %0 = stablehlo.tanh %a : tensor<2x256x1024xf32>
      st.yield %0 : tensor<2x256x1024xf32>
    }
    %all = st.all_gather %x dim 1 over ["tensor"] of @mesh : tensor<2x256x1024xf32> -> tensor<2x1024x1024xf32>
    %y, %z = st.kernel "matmul" (%a = %all : tensor<2x1024x1024xf32>, %m = %w : tensor<1024x1024xf32>, %v = %h : tensor<2x1024x1024xf32>) -> (tensor<2x1024x1024xf32>, tensor<2x1024x1024xf32>) {
      %0 = stablehlo.dot_general %a, %m, contracting_dims = [2] x [0] : (tensor<2x1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<2x1024x1024xf32>
      %1 = stablehlo.multiply %0, %v : tensor<2x1024x1024xf32>
      st.yield %0, %1 : tensor<2x1024x1024xf32>, tensor<2x1024x1024xf32>
    }
    st.write %y to @y[%mb] : tensor<2x1024x1024xf32>
    st.write %z to @z[%mb] : tensor<2x1024x1024xf32>
  }
}

// -----

// Two products of a gathered tensor, in one kernel: both multiply each part, the extra tensor is read in parts.
st.mesh @mesh <["tensor"=4], micro=1>
st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
  st.state @w "w" role "parameter" of "" global tensor<1024x1024xf32> slice <@mesh, [{}, {}]> local tensor<1024x1024xf32>
  st.state @k "k" role "parameter" of "" global tensor<1024x1024xf32> slice <@mesh, [{}, {}]> local tensor<1024x1024xf32>
  st.buffer @own "stash" slots 1 : tensor<2x256x1024xf32>
  st.buffer @h "stash" slots 1 : tensor<2x1024x1024xf32>
  st.buffer @y "stash" slots 1 : tensor<2x1024x1024xf32>
  st.buffer @z "stash" slots 1 : tensor<2x1024x1024xf32>
  // CHECK-LABEL: st.task @forward0
  // PLAN-LABEL: st.task @forward0
  st.task @forward0 forward stage 0 (%mb) {
    // CHECK: [[G0:%.*]] = st.all_gather {{.*}} : tensor<1x256x1024xf32> -> tensor<1x1024x1024xf32>
    // CHECK: [[G1:%.*]] = st.all_gather
    // CHECK: [[A:%.*]]:2 = st.kernel "matmul" ([[X:%.*]] = [[G0]] : {{.*}}) -> (tensor<1x1024x1024xf32>, tensor<1x1024x1024xf32>)
    // CHECK: stablehlo.dot_general [[X]], {{.*}} : (tensor<1x1024x1024xf32>, tensor<1024x1024xf32>)
    // CHECK: stablehlo.dot_general [[X]], {{.*}} : (tensor<1x1024x1024xf32>, tensor<1024x1024xf32>)
    // CHECK: stablehlo.slice {{.*}} [0:1, 0:1024, 0:1024]
    // CHECK: [[B:%.*]]:2 = st.kernel "matmul" ({{.*}} = [[G1]] : {{.*}}) -> (tensor<1x1024x1024xf32>, tensor<1x1024x1024xf32>)
    // CHECK-COUNT-2: stablehlo.dot_general
    // CHECK: stablehlo.slice {{.*}} [1:2, 0:1024, 0:1024]
    // CHECK: [[Y:%.*]] = st.kernel "copy" (%{{.*}} = [[A]]#0 : {{.*}}, %{{.*}} = [[B]]#0 :
    // CHECK: [[Z:%.*]] = st.kernel "copy" (%{{.*}} = [[A]]#1 : {{.*}}, %{{.*}} = [[B]]#1 :
    // PLAN: st.kernel "matmul" {{.*}}offset = [[#Y:]]>, #st.address<offset = [[#Z:]]>]
    // PLAN: st.kernel "matmul" {{.*}}offset = [[#Y+4194304]]>, #st.address<offset = [[#Z+4194304]]>]
    %own = st.read @own[%mb] : tensor<2x256x1024xf32>
    %h = st.read @h[%mb] : tensor<2x1024x1024xf32>
    %w = st.read @w : tensor<1024x1024xf32>
    %k = st.read @k : tensor<1024x1024xf32>
    %x = st.kernel "loop" (%a = %own : tensor<2x256x1024xf32>) -> tensor<2x256x1024xf32> {
      %0 = stablehlo.tanh %a : tensor<2x256x1024xf32>
      st.yield %0 : tensor<2x256x1024xf32>
    }
    %all = st.all_gather %x dim 1 over ["tensor"] of @mesh : tensor<2x256x1024xf32> -> tensor<2x1024x1024xf32>
    %y, %z = st.kernel "matmul" (%a = %all : tensor<2x1024x1024xf32>, %m = %w : tensor<1024x1024xf32>, %n = %k : tensor<1024x1024xf32>, %v = %h : tensor<2x1024x1024xf32>) -> (tensor<2x1024x1024xf32>, tensor<2x1024x1024xf32>) {
      %0 = stablehlo.dot_general %a, %m, contracting_dims = [2] x [0] : (tensor<2x1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<2x1024x1024xf32>
      %1 = stablehlo.dot_general %a, %n, contracting_dims = [2] x [0] : (tensor<2x1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<2x1024x1024xf32>
      %2 = stablehlo.multiply %1, %v : tensor<2x1024x1024xf32>
      st.yield %0, %2 : tensor<2x1024x1024xf32>, tensor<2x1024x1024xf32>
    }
    st.write %y to @y[%mb] : tensor<2x1024x1024xf32>
    st.write %z to @z[%mb] : tensor<2x1024x1024xf32>
  }
}

// -----

// A product without elements has no parts.
st.mesh @mesh <["tensor"=4], micro=1>
st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
  st.buffer @x "stash" slots 1 : tensor<4x512xf32>
  st.buffer @w "stash" slots 1 : tensor<512x0xf32>
  st.buffer @y "stash" slots 1 : tensor<4x0xf32>
  // CHECK-LABEL: st.task @forward0
  // CHECK: st.all_reduce {{.*}} : tensor<4x0xf32>
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x[%mb] : tensor<4x512xf32>
    %w = st.read @w[%mb] : tensor<512x0xf32>
    %y = st.kernel "matmul" (%a = %x : tensor<4x512xf32>, %b = %w : tensor<512x0xf32>) -> tensor<4x0xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x512xf32>, tensor<512x0xf32>) -> tensor<4x0xf32>
      st.yield %0 : tensor<4x0xf32>
    }
    %sum = st.all_reduce %y sum over ["tensor"] of @mesh : tensor<4x0xf32>
    st.write %sum to @y[%mb] : tensor<4x0xf32>
  }
}
