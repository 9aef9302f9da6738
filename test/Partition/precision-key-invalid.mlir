// Every error in the key `precision` is one line with the file, the place, the key and the value.
//
// RUN: split-file %s %t
// RUN: not st-opt --apply-parallel-config=config=%t/type.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not st-opt --apply-parallel-config=config=%t/number.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not st-opt --apply-parallel-config=config=%t/compute.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=COMPUTE
// RUN: not st-opt --apply-parallel-config=config=%t/reduce.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=REDUCE
// RUN: not st-opt --apply-parallel-config=config=%t/unknown.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not st-opt --apply-parallel-config=config=%t/negative.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not st-opt --apply-parallel-config=config=%t/large.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not st-opt --apply-parallel-config=config=%t/word.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not st-opt --apply-parallel-config=config=%t/useless.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=USELESS
// RUN: not st-opt --apply-parallel-config=config=%t/late.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not st-opt --apply-parallel-config=config=%t/other.json %t/bf16.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not st-opt --apply-parallel-config=config=%t/scale.json %t/bf16.mlir 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: st-opt --apply-parallel-config=config=%t/same.json %t/bf16.mlir | FileCheck %s --check-prefix=SAME

// TYPE: type.json:1:{{[0-9]+}}: error: precision is "fp16"; expected "f32", "bf16" or "f16"
// NUMBER: number.json:1:{{[0-9]+}}: error: precision is 16; expected "f32", "bf16" or "f16", or an object with compute, reduce, products and loss_scale
// COMPUTE: compute.json:1:{{[0-9]+}}: error: precision.compute is "f64"; expected "f32", "bf16" or "f16"
// REDUCE: reduce.json:1:{{[0-9]+}}: error: precision.reduce is true; expected "f32", "bf16" or "f16"
// UNKNOWN: unknown.json:1:{{[0-9]+}}: error: precision has an unknown key "params" (value "bf16"); known are compute, reduce, products, loss_scale
// NEGATIVE: negative.json:1:{{[0-9]+}}: error: precision.loss_scale is -8; expected "dynamic" or a positive number that 32 bits hold
// LARGE: large.json:1:{{[0-9]+}}: error: precision.loss_scale is {{.*}}e+{{.*}}; expected "dynamic" or a positive number that 32 bits hold
// WORD: word.json:1:{{[0-9]+}}: error: precision.loss_scale is "static"; expected "dynamic" or a positive number that 32 bits hold
// USELESS: useless.json:1:{{[0-9]+}}: error: precision.loss_scale is "dynamic", but precision.compute is "f32", whose gradients need no scale
// The types are chosen before the step is differentiated, except those that devices send.
// LATE: late.json:1:{{[0-9]+}}: error: precision.compute is "bf16", but the step was differentiated with "f32"; expected the same type, or this file before differentiate
// OTHER: other.json:1:{{[0-9]+}}: error: precision.compute is "f32", but the step was differentiated with "bf16"; expected
// SCALE: scale.json:1:{{[0-9]+}}: error: precision.loss_scale is "dynamic", but the step was differentiated with "none"; expected
// SAME: st.precision = {compute = "bf16", reduce = "f16"}

//--- bf16.mlir
module attributes {st.precision = {compute = "bf16"}} {
  func.func @main(%x: tensor<4x4xf32> {st.name = "x", st.role = "batch"}) -> tensor<4x4xf32> {
    return %x : tensor<4x4xf32>
  }
}
//--- step.mlir
func.func @main(%x: tensor<4x4xf32> {st.name = "x", st.role = "batch"}) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}
//--- type.json
{"mode": "sharding", "data": 1, "precision": "fp16"}
//--- number.json
{"mode": "sharding", "data": 1, "precision": 16}
//--- compute.json
{"mode": "sharding", "data": 1, "precision": {"compute": "f64"}}
//--- reduce.json
{"mode": "sharding", "data": 1, "precision": {"compute": "bf16", "reduce": true}}
//--- unknown.json
{"mode": "sharding", "data": 1, "precision": {"params": "bf16"}}
//--- negative.json
{"mode": "sharding", "data": 1, "precision": {"compute": "f16", "loss_scale": -8}}
//--- large.json
{"mode": "sharding", "data": 1, "precision": {"compute": "f16", "loss_scale": 1e60}}
//--- word.json
{"mode": "sharding", "data": 1, "precision": {"compute": "f16", "loss_scale": "static"}}
//--- useless.json
{"mode": "sharding", "data": 1, "precision": {"loss_scale": "dynamic"}}
//--- late.json
{"mode": "sharding", "data": 1, "precision": "bf16"}
//--- other.json
{"mode": "sharding", "data": 1, "precision": "f32"}
//--- scale.json
{"mode": "sharding", "data": 1, "precision": {"compute": "bf16", "loss_scale": "dynamic"}}
//--- same.json
{"mode": "sharding", "data": 1, "precision": {"compute": "bf16", "reduce": "f16"}}
