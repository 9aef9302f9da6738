// RUN: st-opt %s --mark-blocks --split-input-file | FileCheck %s

// Numbers in names: layers 3 and 4 are blocks 1 and 2, and the rest is block 3. The update reads
// parameters too and is not part of the forward pass.
// CHECK-LABEL: @main
// CHECK: multiply %arg4, %arg0 {st.block = 0 : i64}
// CHECK: multiply %{{.*}}, %arg1 {st.block = 1 : i64}
// CHECK: exponential %{{[0-9]*}} : tensor
// CHECK: add %{{.*}}, %arg2 {st.block = 2 : i64}
// CHECK: multiply %{{.*}}, %arg3 {st.block = 3 : i64}
// CHECK: add %arg0, %arg0 : tensor
func.func @main(%e: tensor<4xf32> {st.role = "parameter", st.name = "embedding", tf.aliasing_output = 1 : i32},
                %a: tensor<4xf32> {st.role = "parameter", st.name = "layer_3.w"},
                %b: tensor<4xf32> {st.role = "parameter", st.name = "layer_4.w"},
                %h: tensor<4xf32> {st.role = "parameter", st.name = "head"}, %x: tensor<4xf32> {st.role = "batch"})
    -> (tensor<f32> {st.role = "loss"}, tensor<4xf32> {st.role = "parameter"}) {
  %0 = stablehlo.multiply %x, %e : tensor<4xf32>
  %1 = stablehlo.multiply %0, %a : tensor<4xf32>
  %2 = stablehlo.exponential %1 : tensor<4xf32>
  %3 = stablehlo.add %2, %b : tensor<4xf32>
  %4 = stablehlo.multiply %3, %h : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %6 = stablehlo.add %e, %e : tensor<4xf32>
  return %5, %6 : tensor<f32>, tensor<4xf32>
}

// -----

// Numbers in locations.
// CHECK-LABEL: @main
// CHECK: multiply %arg3, %arg0 {st.block = 1 : i64}
// CHECK: multiply %{{.*}}, %arg1 {st.block = 2 : i64}
// CHECK: add %{{.*}}, %arg2 {st.block = 3 : i64}
func.func @main(%a: tensor<4xf32> {st.role = "parameter", st.name = "arg0"}, %b: tensor<4xf32> {st.role = "parameter", st.name = "arg1"},
                %h: tensor<4xf32> {st.role = "parameter", st.name = "arg2"}, %x: tensor<4xf32> {st.role = "batch"})
    -> (tensor<4xf32> {st.role = "loss"}) {
  %0 = stablehlo.multiply %x, %a : tensor<4xf32> loc("jit(step)/jvp(Net)/layer_0/mul")
  %1 = stablehlo.multiply %0, %b : tensor<4xf32> loc("jit(step)/jvp(Net)/layer_1/mul")
  %2 = stablehlo.add %1, %h : tensor<4xf32> loc("jit(step)/jvp(Net)/head/add")
  return %2 : tensor<4xf32>
}

// -----

// No numbers: the types 4x4, 4 repeat three times, after an 8x4.
// CHECK-LABEL: @main
// CHECK: dot_general %arg7, %arg0, {{.*}} {st.block = 0 : i64}
// CHECK: dot_general %{{.*}}, %arg1, {{.*}} {st.block = 1 : i64}
// CHECK: add %{{.*}}, %arg2 {st.block = 1 : i64}
// CHECK: dot_general %{{.*}}, %arg3, {{.*}} {st.block = 2 : i64}
// CHECK: add %{{.*}}, %arg4 {st.block = 2 : i64}
// CHECK: dot_general %{{.*}}, %arg5, {{.*}} {st.block = 3 : i64}
// CHECK: add %{{.*}}, %arg6 {st.block = 3 : i64}
func.func @main(%e: tensor<8x4xf32> {st.role = "parameter"}, %w0: tensor<4x4xf32> {st.role = "parameter"}, %b0: tensor<4xf32> {st.role = "parameter"},
                %w1: tensor<4x4xf32> {st.role = "parameter"}, %b1: tensor<4xf32> {st.role = "parameter"},
                %w2: tensor<4x4xf32> {st.role = "parameter"}, %b2: tensor<4xf32> {st.role = "parameter"}, %x: tensor<8xf32> {st.role = "batch"})
    -> (tensor<4xf32> {st.role = "loss"}) {
  %0 = stablehlo.dot_general %x, %e, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<4xf32>
  %1 = stablehlo.dot_general %0, %w0, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  %2 = stablehlo.add %1, %b0 : tensor<4xf32>
  %3 = stablehlo.dot_general %2, %w1, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  %4 = stablehlo.add %3, %b1 : tensor<4xf32>
  %5 = stablehlo.dot_general %4, %w2, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  %6 = stablehlo.add %5, %b2 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

// -----

// A single layer is not a block.
// CHECK-LABEL: @main
// CHECK-NOT: st.block
func.func @main(%a: tensor<4xf32> {st.role = "parameter", st.name = "layer_0.w"}, %x: tensor<4xf32> {st.role = "batch"})
    -> (tensor<4xf32> {st.role = "loss"}) {
  %0 = stablehlo.multiply %x, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Equal types that read the same value are not layers, whatever their numbers: queries, keys, values.
// CHECK-LABEL: @main
// CHECK-NOT: st.block
func.func @main(%q: tensor<4x4xf32> {st.name = "0", st.role = "parameter"}, %k: tensor<4x4xf32> {st.name = "1", st.role = "parameter"},
                %v: tensor<4x4xf32> {st.name = "2", st.role = "parameter"}, %o: tensor<4x4xf32> {st.role = "parameter"},
                %x: tensor<4x4xf32> {st.role = "batch"})
    -> (tensor<4x4xf32> {st.role = "loss"}) {
  %0 = stablehlo.dot_general %x, %q, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.dot_general %x, %k, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [1] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = stablehlo.dot_general %3, %2, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = stablehlo.dot_general %4, %o, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}
