// RUN: st-opt %s --add-adapters="targets=up,left rank=2 alpha=4" | FileCheck %s
// RUN: st-opt %s --add-adapters="targets=all-linear rank=2" | FileCheck %s --check-prefix=ALL
// RUN: st-opt %s --add-adapters="targets=h.*.up rank=2" --freeze-parameters=train=base_model.* --differentiate --add-optimizer | FileCheck %s --check-prefix=STEP
// RUN: st-opt %s --add-adapters="targets=up,left rank=2 dropout=0.25" | FileCheck %s --check-prefix=DROP

// The products have the free dimensions of the original ones, and adapters follow their matrix.
// CHECK-LABEL: func @main
// CHECK-SAME: %[[X:.*]]: tensor<8x16xf32> {st.name = "x", st.role = "batch"}
// CHECK-SAME: %[[UP:.*]]: tensor<32x16xf32> {st.name = "h.0.up.weight", st.role = "parameter"}
// CHECK-SAME: %[[UPA:.*]]: tensor<2x16xf32> {st.init = {kind = "normal", std = {{0.144.*}} : f64}, st.name = "base_model.model.h.0.up.lora_A.weight", st.role = "parameter"}
// CHECK-SAME: %[[UPB:.*]]: tensor<32x2xf32> {st.init = {kind = "zeros"}, st.name = "base_model.model.h.0.up.lora_B.weight", st.role = "parameter"}
// CHECK-SAME: %[[LEFT:.*]]: tensor<32x4xf32> {st.name = "left.weight", st.role = "parameter"}
// CHECK-SAME: %[[LA:.*]]: tensor<2x32xf32> {{.*}}left.lora_A.weight
// CHECK-SAME: %[[LB:.*]]: tensor<4x2xf32> {{.*}}left.lora_B.weight
// CHECK: %[[P:.*]] = stablehlo.dot_general %[[X]], %[[UP]], contracting_dims = [1] x [1]
// CHECK: %[[LOW:.*]] = stablehlo.dot_general %[[X]], %[[UPA]], contracting_dims = [1] x [1] {st.block = 1 : i64} : {{.*}} -> tensor<8x2xf32>
// CHECK: %[[HIGH:.*]] = stablehlo.dot_general %[[LOW]], %[[UPB]], contracting_dims = [1] x [1] {st.block = 1 : i64}
// CHECK: %[[SCALED:.*]] = stablehlo.multiply %[[HIGH]], %{{.*}} {st.block = 1 : i64}
// CHECK: %[[Y:.*]] = stablehlo.add %[[P]], %[[SCALED]] {st.block = 1 : i64}
// A matrix on the left, stored [in, out].
// CHECK: %[[P2:.*]] = stablehlo.dot_general %[[LEFT]], %[[Y]], contracting_dims = [0] x [1]
// CHECK: %[[LOW2:.*]] = stablehlo.dot_general %[[LA]], %[[Y]], contracting_dims = [1] x [1] : {{.*}} -> tensor<2x8xf32>
// CHECK: stablehlo.dot_general %[[LB]], %[[LOW2]], contracting_dims = [1] x [0] : {{.*}} -> tensor<4x8xf32>

// Only matrices of layers: `left` is in none.
// ALL: h.0.up.lora_A.weight
// ALL-NOT: left.lora_A.weight

// Only the product of A has the dropped input, and each product has a mask of its own. 16384 of 65536
// values drop an element, so the kept ones are scaled by 4/3.
// DROP-LABEL: func @main
// DROP-SAME: %[[X:.*]]: tensor<8x16xf32> {st.name = "x"
// DROP-SAME: %[[KEY:[a-z0-9]+]]: tensor<2xui32> {st.name = "rng_key", st.role = "key"}
// DROP-DAG: stablehlo.constant dense<1.333{{.*}}> : tensor<8x16xf32>
// DROP: stablehlo.dot_general %[[X]], %{{.*}} {st.block = 1 : i64}
// DROP: %[[K:.*]] = stablehlo.compare GE, {{.*}} {st.block = 1 : i64} : (tensor<8x16xui32>
// DROP: %[[D:.*]] = stablehlo.select %[[K]], {{.*}} {st.block = 1 : i64}
// DROP: stablehlo.dot_general %[[D]], {{.*}} -> tensor<8x2xf32>
// DROP: %[[K2:.*]] = stablehlo.compare GE, {{.*}} : (tensor<8x32xui32>
// DROP: %[[D2:.*]] = stablehlo.select %[[K2]]
// DROP: stablehlo.dot_general %{{.*}}, %[[D2]], {{.*}} -> tensor<2x8xf32>

// Only the adapters have a gradient, a moment and a new value.
// STEP: st.frozen, st.name = "h.0.up.weight"
// STEP: st.name = "base_model.model.h.0.up.lora_B.weight", st.role = "parameter", tf.aliasing_output
// STEP: st.frozen, st.name = "left.weight"
// STEP-NOT: "left.weight.exp_avg"
// STEP-NOT: "h.0.up.weight.exp_avg"
// STEP: "base_model.model.h.0.up.lora_A.weight.exp_avg"
func.func @main(%x: tensor<8x16xf32> {st.name = "x", st.role = "batch"},
                %up: tensor<32x16xf32> {st.name = "h.0.up.weight", st.role = "parameter"},
                %left: tensor<32x4xf32> {st.name = "left.weight", st.role = "parameter"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %up, contracting_dims = [1] x [1] {st.block = 1 : i64}
      : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  %z = stablehlo.dot_general %left, %y, contracting_dims = [0] x [1]
      : (tensor<32x4xf32>, tensor<8x32xf32>) -> tensor<4x8xf32>
  %loss = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.block = 2 : i64}
      : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
