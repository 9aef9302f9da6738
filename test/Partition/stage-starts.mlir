// Stages begin where the user requests: at layers by parameter names, or at scopes of the program.
//
// RUN: split-file %s %t
// RUN: st-opt --apply-parallel-config=config=%t/names.json --propagate-shardings --assign-stages %t/step.mlir | FileCheck %s --check-prefix=NAMES
// RUN: st-opt --apply-parallel-config=config=%t/scopes.json --propagate-shardings --assign-stages %t/step.mlir | FileCheck %s --check-prefix=SCOPES
// RUN: not st-opt --apply-parallel-config=config=%t/no-list.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NO-LIST
// RUN: not st-opt --apply-parallel-config=config=%t/no-text.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NO-TEXT
// RUN: not st-opt --apply-parallel-config=config=%t/glob.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not st-opt --apply-parallel-config=config=%t/count.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not st-opt --apply-parallel-config=config=%t/nothing.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not st-opt --apply-parallel-config=config=%t/first.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not st-opt --apply-parallel-config=config=%t/order.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=ORDER

// The layer starts with the ops before its first parameter; its second parameter starts no layer.
// NAMES: st.stage_starts = ["layer.1", "layer.2.bias"]
// NAMES: stablehlo.dot_general {{.*}}st.stage = 0
// NAMES: stablehlo.tanh {{.*}}st.stage = 1
// NAMES: stablehlo.dot_general {{.*}}st.stage = 1
// NAMES: stablehlo.negate {{.*}}st.stage = 1
// NAMES: stablehlo.dot_general {{.*}}st.stage = 1
// NAMES: stablehlo.add {{.*}}st.stage = 2
// NAMES: stablehlo.reduce{{.*}}st.stage = 2

// SCOPES: stablehlo.dot_general {{.*}}st.stage = 0
// SCOPES: stablehlo.tanh {{.*}}st.stage = 0
// SCOPES: stablehlo.dot_general {{.*}}st.stage = 1
// SCOPES: stablehlo.negate {{.*}}st.stage = 1
// SCOPES: stablehlo.dot_general {{.*}}st.stage = 1
// SCOPES: stablehlo.add {{.*}}st.stage = 1
// SCOPES: stablehlo.reduce{{.*}}st.stage = 2

// NO-LIST: no-list.json:1:{{[0-9]+}}: error: stages is "layer.1"; expected a list with the layer at which each stage but the first begins
// NO-TEXT: no-text.json:1:{{[0-9]+}}: error: stages[0] is 1; expected a pattern of a layer's name
// GLOB: glob.json:1:{{[0-9]+}}: error: stages[0] is "layer["; invalid glob pattern
// COUNT: count.json:1:{{[0-9]+}}: error: stages lists where 1 stages begin; expected 2, all but the first of the 3 stages (stage_cnt, virtual_stages)
// NOTHING: nothing.json:1:{{[0-9]+}}: error: stages[1] is "layer.7", but no parameter that the forward pass reads and no scope of it has a name that matches
// FIRST: first.json:1:{{[0-9]+}}: error: stages[0] is "layer.0", but the model begins with layer.0; expected a layer before it, for stage 0
// ORDER: order.json:1:{{[0-9]+}}: error: stages[1] is "*.1", but layer.1 does not come after layer.2, where stage 1 begins

//--- step.mlir
func.func @main(
    %w0: tensor<4x4xf32> {st.name = "layer.0.weight", st.role = "parameter"},
    %w1: tensor<4x4xf32> {st.name = "layer.1.weight", st.role = "parameter"},
    %w2: tensor<4x4xf32> {st.name = "layer.2.weight", st.role = "parameter"},
    %b2: tensor<4x4xf32> {st.name = "layer.2.bias", st.role = "parameter"},
    %x: tensor<4x4xf32> {st.name = "x", st.role = "batch"}) -> (tensor<f32> {st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] {st.block = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.tanh %0 {st.block = 2 : i64} : tensor<4x4xf32>
  %2 = stablehlo.dot_general %1, %w1, contracting_dims = [1] x [0] {st.block = 2 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("jit(step)/jvp(Model)/second/dot_general")
  %3 = stablehlo.negate %2 {st.block = 3 : i64} : tensor<4x4xf32>
  %4 = stablehlo.dot_general %3, %w2, contracting_dims = [1] x [0] {st.block = 3 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = stablehlo.add %4, %b2 {st.block = 3 : i64} : tensor<4x4xf32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.block = 3 : i64} : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32> loc("jit(step)/jvp(head)/reduce_sum")
  return %6 : tensor<f32>
}

//--- names.json
{"mode": "sharding", "data": 1, "stage_cnt": 3, "stages": ["layer.1", "layer.2.bias"]}
//--- scopes.json
{"mode": "sharding", "data": 1, "stage_cnt": 3, "stages": ["Model/second", "hea?"]}
//--- no-list.json
{"mode": "sharding", "data": 1, "stages": "layer.1"}
//--- no-text.json
{"mode": "sharding", "data": 1, "stage_cnt": 2, "stages": [1]}
//--- glob.json
{"mode": "sharding", "data": 1, "stage_cnt": 2, "stages": ["layer["]}
//--- count.json
{"mode": "sharding", "data": 1, "stage_cnt": 3, "stages": ["layer.1"]}
//--- nothing.json
{"mode": "sharding", "data": 1, "stage_cnt": 3, "stages": ["layer.1", "layer.7"]}
//--- first.json
{"mode": "sharding", "data": 1, "stage_cnt": 2, "stages": ["layer.0"]}
//--- order.json
{"mode": "sharding", "data": 1, "stage_cnt": 3, "stages": ["layer.2", "*.1"]}
