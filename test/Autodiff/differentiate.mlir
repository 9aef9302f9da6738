// RUN: st-opt %s -split-input-file --differentiate | FileCheck %s

// The loss keeps its place; gradients follow in the order of the parameters.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<f32> {st.name = "loss", st.role = "loss"},
// CHECK-SAME:     tensor<3x4xf32> {st.name = "w", st.role = "gradient"},
// CHECK-SAME:     tensor<4xf32> {st.name = "b", st.role = "gradient"})
// The cotangent of the loss, one, adds no multiplication; the bias is negated after its
// sum.
// CHECK: %[[Z:.*]] = stablehlo.subtract
// CHECK: %[[DZ:.*]] = stablehlo.add %[[Z]], %[[Z]]
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[DZ]] init: {{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: %[[DB:.*]] = stablehlo.negate %[[SUM]] : tensor<4xf32>
// CHECK: %[[DW:.*]] = stablehlo.dot_general %{{.*}}, %[[DZ]], contracting_dims = [0] x [0]
// CHECK-SAME: -> tensor<3x4xf32>
// CHECK: return %{{.*}}, %[[DW]], %[[DB]]
func.func @main(%w: tensor<3x4xf32> {st.name = "w", st.role = "parameter"},
                %b: tensor<4xf32> {st.name = "b", st.role = "parameter"},
                %x: tensor<2x3xf32> {st.name = "x", st.role = "batch"}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<2x4xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<2x4xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
  return %4 : tensor<f32>
}

// -----

// The gradients of slices of a value are concatenated without pads. A parameter that the loss does
// not read gets zeros.
// CHECK-LABEL: func.func @main
// CHECK: %[[ZEROS:.*]] = stablehlo.constant dense<0.0{{.*}}> : tensor<5xf32>
// CHECK-NOT: stablehlo.pad
// CHECK: %[[DW:.*]] = stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
// CHECK: return %{{.*}}, %[[DW]], %[[ZEROS]]
func.func @main(%w: tensor<6xf32> {st.name = "w", st.role = "parameter"},
                %unused: tensor<5xf32> {st.name = "unused", st.role = "parameter"}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %w [0:3] : (tensor<6xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %w [3:6] : (tensor<6xf32>) -> tensor<3xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<3xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// An embedding's gradient is a scatter; a clamp keeps indices as in gather.
// CHECK-LABEL: func.func @main
// CHECK: %[[IDS:.*]] = stablehlo.clamp
// CHECK: "stablehlo.scatter"(%{{.*}}, %[[IDS]], %{{.*}}) <{
// CHECK-SAME: #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
// CHECK: stablehlo.add
func.func @main(%w: tensor<7x4xf32> {st.name = "w", st.role = "parameter"},
                %ids: tensor<2x1xi32> {st.name = "ids", st.role = "batch"}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.gather"(%w, %ids) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>}> : (tensor<7x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  %1 = stablehlo.tanh %0 : tensor<2x4xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// A transpose of a cotangent is merged into the dimension numbers of a product, and no gradient
// flows through a marked value.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.transpose
// CHECK: %[[EXP:.*]] = stablehlo.exponential
// CHECK-NOT: stablehlo.transpose
// CHECK: stablehlo.dot_general %arg1, %[[EXP]], contracting_dims = [0] x [1]
// CHECK-NOT: stablehlo.transpose
// CHECK: return
func.func @main(%w: tensor<3x4xf32> {st.name = "w", st.role = "parameter"},
                %x: tensor<2x3xf32> {st.name = "x", st.role = "batch"}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = stablehlo.exponential %1 {st.stop_gradient} : tensor<4x2xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<4x2xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<f32>
  return %4 : tensor<f32>
}

// -----

// The location of a backward op names the forward op.
// RUN: st-opt %s -split-input-file --differentiate --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
// LOC-DAG: loc("transpose(layer.3/attention)"
// CHECK-LABEL: func.func @main
func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  %0 = stablehlo.sine %w : tensor<f32> loc("layer.3/attention")
  return %0 : tensor<f32>
}

// -----

// A cotangent has the sharding of its value.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = st.constrain %arg0 to <@mesh, [{"data"}]>
// CHECK: stablehlo.sine %[[Y]]
// CHECK: %[[D:.*]] = stablehlo.cosine %[[Y]]
// CHECK: %[[P:.*]] = stablehlo.multiply %{{.*}}, %[[D]]
// CHECK: %[[G:.*]] = st.constrain %[[P]] to <@mesh, [{"data"}]>
// CHECK: return %{{.*}}, %[[G]]
st.mesh @mesh <["data"=2], micro=1>
func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter"}, %c: tensor<4xf32>) -> (tensor<f32> {st.role = "loss"}) {
  %y = st.constrain %w to <@mesh, [{"data"}]> : tensor<4xf32>
  %s = stablehlo.sine %y : tensor<4xf32>
  %0 = stablehlo.dot_general %s, %c, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// The gradient of a permutation is the inverse permutation, not a sum of rows.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[BACK:.*]] = stablehlo.constant dense<[1, 2, 0]> : tensor<3xi32>
// CHECK-NOT: stablehlo.scatter
// CHECK: %[[DW:.*]] = "stablehlo.gather"(%{{.*}}, %[[BACK]])
// CHECK: return %{{.*}}, %[[DW]]
func.func @main(%w: tensor<3x2xf32> {st.name = "w", st.role = "parameter"},
                %x: tensor<3x2xf32> {st.name = "x", st.role = "batch"}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %order = stablehlo.constant dense<[2, 0, 1]> : tensor<3xi32>
  %0 = "stablehlo.gather"(%w, %order) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  %1 = stablehlo.multiply %0, %x : tensor<3x2xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
