// RUN: st-opt --split-input-file --verify-diagnostics %s

// st.program

st.mesh @mesh <[], micro=1>
// expected-error @+1 {{expects at least one stage}}
st.program @group0 stages [] devices [0] first_rank 0 mesh @mesh {
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <["x"=2], micro=1>
// expected-error @+1 {{has 1 devices, expected 2, one per position of the mesh}}
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{is not allowed directly in an st.program}}
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-note @+1 {{the first is here}}
  st.schedule "gpipe" []
  // expected-error @+1 {{is a second schedule of its program}}
  st.schedule "1f1b" []
}

// -----

// storage

st.mesh @mesh <["x"=2], micro=1>
st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
  // expected-error @+1 {{has unknown role "weight", expected one of parameter, optimizer_state}}
  st.state @w "w" role "weight" of "" global tensor<4xf32> slice <@mesh, [{}]> local tensor<4xf32>
}

// -----

st.mesh @mesh <["x"=2], micro=1>
st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
  // expected-error @+1 {{expects a local type that holds the largest part of 'tensor<4xf32>' split by #st.sharding<@mesh, [{"x"}]>, found 'tensor<1xf32>'}}
  st.state @w "w" role "parameter" of "" global tensor<4xf32> slice <@mesh, [{"x"}]> local tensor<1xf32>
}

// -----

st.mesh @mesh <["x"=2], micro=1>
st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
  // expected-error @+1 {{expects tensor types, found 'f32' and 'f32'}}
  st.state @w "w" role "parameter" of "" global f32 slice <@mesh, []> local f32
}

// -----

st.mesh @mesh <[], micro=2>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{has micro_dim 1 of a tensor of rank 1}}
  st.input @x "x" role "batch" global tensor<4xf32> slice <@mesh, [{}]> local tensor<4xf32> micro_dim 1
}

// -----

st.mesh @mesh <[], micro=2>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{has micro_dim 0, which its sharding does not split over "micro"}}
  st.input @x "x" role "batch" global tensor<4xf32> slice <@mesh, [{}]> local tensor<4xf32> micro_dim 0
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{has unknown kind "scratch", expected one of stash, accumulator, step}}
  st.buffer @b "scratch" slots 1 : tensor<4xf32>
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{has 2 slots, expected 1}}
  st.buffer @b "step" slots 2 : tensor<4xf32>
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{has unknown space "attic", expected one of host}}
  st.buffer @b "stash" slots 1 space "attic" : tensor<4xf32>
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{of kind "accumulator" is in space "host"; expected this space only for kind "stash"}}
  st.buffer @b "accumulator" slots 1 space "host" : tensor<4xf32>
}

// -----

// st.read, st.write

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.task @update update stage 0 (%mb) {
    // expected-error @+1 {{names @w, which is not storage of the program}}
    %0 = st.read @w : tensor<4xf32>
  }
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-note @+1 {{the storage is here}}
  st.buffer @b "step" slots 1 : tensor<4xf32>
  st.task @update update stage 0 (%mb) {
    // expected-error @+1 {{has type 'tensor<2xf32>', expected 'tensor<4xf32>' of @b}}
    %0 = st.read @b : tensor<2xf32>
  }
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-note @+1 {{the storage is here}}
  st.buffer @b "step" slots 1 : tensor<4xf32>
  st.task @forward0 forward stage 0 (%mb) {
    // expected-error @+1 {{names a micro-batch of @b, which has one value a step}}
    %0 = st.read @b[%mb] : tensor<4xf32>
  }
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-note @+1 {{the storage is here}}
  st.buffer @b "stash" slots 1 : tensor<4xf32>
  st.task @forward0 forward stage 0 (%mb) {
    // expected-error @+1 {{expects a micro-batch of @b}}
    %0 = st.read @b : tensor<4xf32>
  }
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-note@+1 {{the storage is here}}
  st.input @x "x" role "batch" global tensor<4xf32> slice <@mesh, [{}]> local tensor<4xf32> micro_dim -1
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x : tensor<4xf32>
    // expected-error @+1 {{writes input @x}}
    st.write %0 to @x : tensor<4xf32>
  }
}

// -----

// st.task, st.schedule

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{has unknown phase "sideways", expected one of prologue, statistics, totals, forward, backward, weight, update}}
  st.task @t sideways stage 0 (%mb) {
  }
}

// -----

st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{expects one index argument, the micro-batch}}
  "st.task"() <{sym_name = "t", phase = "update", stage = 0 : i64}> ({
  ^bb0:
  }) : () -> ()
}

// -----

st.mesh @mesh <[], micro=1>
// expected-note@+1 {{the program is here}}
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{names task @t, which the program does not have}}
  st.schedule "gpipe" [@t 0]
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <[], micro=2>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.task @t update stage 0 (%mb) {
  }
  // expected-error @+1 {{names micro-batch 2 of 2}}
  st.schedule "gpipe" [@t 2]
}

// -----

st.mesh @mesh <[], micro=2>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error @+1 {{has 0 tasks and 1 micro-batches}}
  "st.schedule"() <{kind = "gpipe", tasks = [], micro_batches = array<i64: 0>}> : () -> ()
}

// -----

// st.kernel

func.func @kernel_kind(%a: tensor<4xf32>) {
  // expected-error @+1 {{has unknown kind "magic", expected one of matmul, loop, attention, reduce, copy, gather, scatter}}
  %0 = st.kernel "magic" (%b = %a : tensor<4xf32>) -> tensor<4xf32> {
    st.yield %b : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_yield(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects an st.yield of the result types}}
  %0 = st.kernel "loop" (%b = %a : tensor<4xf32>) -> tensor<8xf32> {
    st.yield %b : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_arguments(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects the body's arguments to have the types of the inputs}}
  %0 = "st.kernel"(%a) <{kind = "loop"}> ({
  ^bb0(%b: tensor<8xf32>):
    "st.yield"(%b) : (tensor<8xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<8xf32>
  return
}
