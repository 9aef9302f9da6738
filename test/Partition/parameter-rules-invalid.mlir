// Every error in rules for parameters and other seeds is one line with the file and the key.
//
// RUN: split-file %s %t
// RUN: not st-opt --apply-parallel-config=config=%t/no-object.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NO-OBJECT
// RUN: not st-opt --apply-parallel-config=config=%t/no-list.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NO-LIST
// RUN: not st-opt --apply-parallel-config=config=%t/no-axes.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NO-AXES
// RUN: not st-opt --apply-parallel-config=config=%t/glob.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not st-opt --apply-parallel-config=config=%t/nothing.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not st-opt --apply-parallel-config=config=%t/axis.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not st-opt --apply-parallel-config=config=%t/twice.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not st-opt --apply-parallel-config=config=%t/rank.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not st-opt --apply-parallel-config=config=%t/size.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not st-opt --apply-parallel-config=config=%t/conflict.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=CONFLICT
// RUN: not st-opt --apply-parallel-config=config=%t/zero.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not st-opt --apply-parallel-config=config=%t/bucket.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=BUCKET
// RUN: not st-opt --apply-parallel-config=config=%t/truth.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=TRUTH
// RUN: not st-opt --apply-parallel-config=config=%t/sums.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: not st-opt --apply-parallel-config=config=%t/sequence.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=SEQUENCE

// NO-OBJECT: no-object.json:1:{{[0-9]+}}: error: parameters is 3; expected an object with a sharding for each name pattern
// NO-LIST: no-list.json:2:{{[0-9]+}}: error: parameters.a.* is "tensor"; expected a list with an axis, a list of axes or null for each dimension
// NO-AXES: no-axes.json:2:{{[0-9]+}}: error: parameters.a.* is {{\[\[1\]\]}}; expected a list with an axis, a list of axes or null for each dimension
// GLOB: glob.json:2:{{[0-9]+}}: error: parameters.a[ is []; invalid glob pattern
// NOTHING: nothing.json:2:{{[0-9]+}}: error: parameters.b.* is ["tensor"], but no parameter of the model has a name that matches
// AXIS: axis.json:2:{{[0-9]+}}: error: parameters.a.* is ["micro"], but the mesh has no axis "micro" that splits parameters; expected data or tensor
// TWICE: twice.json:2:{{[0-9]+}}: error: parameters.a.* is ["tensor","tensor"], which has the axis "tensor" twice
// RANK: rank.json:2:{{[0-9]+}}: error: parameters.a.* is [null,"tensor"], which has 2 dimensions, but a.bias has 1
// SIZE: size.json:2:{{[0-9]+}}: error: parameters.a.weight is {{\[\["tensor","data"\]\]}}, which splits dimension 0 of a.weight into 8 parts; expected no more than its size 6
// CONFLICT: conflict.json:3:{{[0-9]+}}: error: parameters.a.weight is ["tensor"], but parameters.*.weight, which also matches a.weight, is [null,"tensor"]
// ZERO: zero.json:1:{{[0-9]+}}: error: zero is 4; expected 0, 1, 2 or 3
// BUCKET: bucket.json:1:{{[0-9]+}}: error: bucket_bytes is -1; expected an integer from 0 to 1099511627776
// TRUTH: truth.json:1:{{[0-9]+}}: error: sequence_parallel is "yes"; expected true, false or "gather_again"
// SUMS: sums.json:1:{{[0-9]+}}: error: sequence_parallel is true, but no product of the model leaves partial sums along a sequence
// SEQUENCE: sequence.json:1:{{[0-9]+}}: error: sequence_parallel is true, but 8 shards are more than the 6 tokens of a sequence

//--- step.mlir
func.func @main(%w: tensor<6x4xf32> {st.name = "a.weight", st.role = "parameter"},
                %b: tensor<4xf32> {st.name = "a.bias", st.role = "parameter"},
                %x: tensor<4x6xf32> {st.name = "x", st.role = "batch"},
                %t: tensor<4x6xi32> {st.name = "t", st.role = "batch"}) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

//--- no-object.json
{"mode": "sharding", "data": 1, "parameters": 3}
//--- no-list.json
{"mode": "sharding", "data": 1, "parameters": {
 "a.*": "tensor"}}
//--- no-axes.json
{"mode": "sharding", "data": 1, "parameters": {
 "a.*": [[1]]}}
//--- glob.json
{"mode": "sharding", "data": 1, "parameters": {
 "a[": []}}
//--- nothing.json
{"mode": "sharding", "data": 1, "parameters": {
 "b.*": ["tensor"]}}
//--- axis.json
{"mode": "sharding", "data": 2, "parameters": {
 "a.*": ["micro"]}}
//--- twice.json
{"mode": "sharding", "data": 1, "parameters": {
 "a.*": ["tensor", "tensor"]}}
//--- rank.json
{"mode": "sharding", "data": 1, "parameters": {
 "a.*": [null, "tensor"]}}
//--- size.json
{"mode": "sharding", "data": 4, "sharding_size": 2, "parameters": {
 "a.weight": [["tensor", "data"]]}}
//--- conflict.json
{"mode": "sharding", "data": 1, "sharding_size": 2, "parameters": {
 "*.weight": [null, "tensor"],
 "a.weight": ["tensor"]}}
//--- zero.json
{"mode": "sharding", "data": 1, "zero": 4}
//--- bucket.json
{"mode": "sharding", "data": 1, "bucket_bytes": -1}
//--- truth.json
{"mode": "sharding", "data": 1, "sequence_parallel": "yes"}
//--- sums.json
{"mode": "sharding", "data": 1, "sharding_size": 2, "sharding_dim": "megatron", "sequence_parallel": true}
//--- sequence.json
{"mode": "sharding", "data": 1, "sharding_size": 8, "sharding_dim": "megatron", "sequence_parallel": true}
