// The data that each reshard moves, the reason, and a remedy; the remedies are checked.
//
// RUN: st-opt --insert-reshards=explain=%t.txt %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.txt
// RUN: st-opt --insert-reshards=explain=%t.json %s -o %t.mlir
// RUN: %python -c "import json; r = json.load(open('%t.json')); print(r['bytes'], [x['bytes'] for x in r['reshards']])" | FileCheck %s --check-prefix=JSON
// RUN: not st-opt --insert-reshards=explain=%t.none/x %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed '/tanh/s/{}/{"tensor"}/' %s > %t.followed.mlir
// RUN: st-opt --insert-reshards=explain=%t.followed.txt %t.followed.mlir -o %t.mlir
// RUN: FileCheck %s --input-file=%t.followed.txt --check-prefix=FOLLOWED

// CHECK: reshards that move data: 2, 1280 bytes a step of 2 micro-batches, of one device of each stage
// CHECK-NEXT: reshards that move none: 1
// CHECK: bytes a step times bytes each collective
// CHECK-NEXT: 1024 2 512 all_reduce sum over tensor
// CHECK-NEXT: of tensor<8x32xf32>
// CHECK-NEXT: left by dot_general "layer/dot" as [{"micro"}, {}], unreduced = sum ["tensor"] at model.py:3:7
// CHECK-NEXT: because batch "x" is [{"micro"}, {"tensor"}]
// CHECK-NEXT: because parameter "weight" is [{"tensor"}, {}]
// CHECK-NEXT: taken by add as [{"micro"}, {}] at {{.*}}explain-reshards.mlir:
// CHECK-NEXT: to avoid it: constrain the result of dot_general "layer/dot" to [{"micro"}, {}], which takes batch "x" as [{"micro"}, {}], parameter "weight" as [{}, {}]
// CHECK-NEXT: 256 2 128 all_gather over tensor
// CHECK-NEXT: of tensor<8x16xf32>
// CHECK-NEXT: left by batch "x" as [{"micro"}, {"tensor"}]
// CHECK-NEXT: because batch "x" is [{"micro"}, {"tensor"}]
// CHECK-NEXT: taken by tanh as [{"micro"}, {}]
// CHECK-NEXT: to avoid it: annotate batch "x" as [{"micro"}, {}]
// CHECK-NEXT: to avoid it: constrain the result of tanh to [{"micro"}, {"tensor"}]
// JSON: 1280 [1024, 256]
// NONE: error: {{.*}}none/x: cannot write
// FOLLOWED: reshards that move data: 1, 1024 bytes
// FOLLOWED-NEXT: reshards that move none: 0

st.mesh @mesh <["tensor"=2], micro=2>
func.func @main(%x: tensor<8x16xf32> {st.name = "x", st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro"}, {"tensor"}]>},
                %w: tensor<16x32xf32> {st.name = "weight", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>})
    -> (tensor<8x32xf32> {st.name = "sum", st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>}, tensor<8x16xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}, {"tensor"}]>}) {
  %dot = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {st.sharding = #st.sharding<@mesh, [{"micro"}, {}], unreduced = sum ["tensor"]>} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32> loc("layer/dot"("model.py":3:7))
  %a = stablehlo.add %dot, %dot {st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>} : tensor<8x32xf32>
  %b = stablehlo.tanh %x {st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>} : tensor<8x16xf32>
  return %a, %b : tensor<8x32xf32>, tensor<8x16xf32>
}
