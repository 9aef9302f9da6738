// RUN: st-opt --assign-stages --split-input-file --verify-diagnostics %s

// expected-error @+1 {{assign-stages: expected an st.mesh, which apply-parallel-config leaves; found a module without any mark of a phase}}
module {}

// -----

// expected-error @+1 {{expected @main with one block and st.stages from 1 to 1048576}}
module attributes {st.stages = 0 : i64} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main() {
    return
  }
}

// -----

// expected-error @+1 {{assign-stages: found ops with st.stage, which assign-stages leaves; expected a module from before that}}
module attributes {st.stages = 1 : i64} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main(%x: tensor<4xf32> {st.stage = 0 : i64}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{found 2 strings in st.stage_starts, expected 1, one for each stage but the first}}
module attributes {st.stages = 2 : i64, st.stage_starts = ["a", "b"]} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main(%x: tensor<4xf32> {st.name = "a", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{st.stage_starts[0] is "b", but no parameter that the forward pass reads and no scope of it has a name that matches}}
module attributes {st.stages = 2 : i64, st.stage_starts = ["b"]} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main(%x: tensor<4xf32> {st.name = "a", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
