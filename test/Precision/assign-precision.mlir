// RUN: st-opt %s --assign-precision=compute=bf16 -split-input-file | FileCheck %s
// RUN: st-opt %s --assign-precision=compute=f16 -split-input-file | FileCheck %s --check-prefix=F16

// A product has 16-bit operands and results; the parameter and the loss keep their types. A bias is moved in f32, so
// that its gradient is summed in f32, and rounded where it meets 16 bits.
// CHECK-LABEL: module @dense attributes {st.precision = {compute = "bf16"}}
// CHECK: @main(%[[W:[^:]*]]: tensor<3x4xf32> {{[^%]*}}%[[B:[^:]*]]: tensor<4xf32> {{[^%]*}}%[[X:[^:]*]]: tensor<2x3xf32>
// CHECK: %[[BB:.*]] = stablehlo.broadcast_in_dim %[[B]], dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[B16:.*]] = stablehlo.convert %[[BB]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK-NEXT: %[[X16:.*]] = stablehlo.convert %[[X]] {st.block = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
// CHECK-NEXT: %[[W16:.*]] = stablehlo.convert %[[W]] {st.block = 0 : i64} : (tensor<3x4xf32>) -> tensor<3x4xbf16>
// CHECK-NEXT: %[[DOT:.*]] = stablehlo.dot_general %[[X16]], %[[W16]], {{.*}} -> tensor<2x4xbf16>
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[DOT]], %[[B16]] : tensor<2x4xbf16>
// A value with two users is stored in 16 bits; if its only user is in f32 (the doubling), nothing is rounded. A block
// receives 16-bit values from the previous one and widens them.
// CHECK-NEXT: %[[WIDE:.*]] = stablehlo.convert %[[SUM]] {st.block = 1 : i64} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT: stablehlo.add %[[WIDE]], %[[WIDE]] {st.block = 1 : i64} : tensor<2x4xf32>
// CHECK-NEXT: stablehlo.exponential %{{.*}} : tensor<2x4xf32>
// CHECK: stablehlo.reduce({{.*}} applies stablehlo.add {{.*}} : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
// CHECK: return %{{.*}} : tensor<f32>
// F16-LABEL: module @dense attributes {st.precision = {compute = "f16"}}
// F16: dot_general {{.*}} : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
module @dense {
  func.func @main(%w: tensor<3x4xf32> {st.name = "w", st.role = "parameter"},
                  %b: tensor<4xf32> {st.name = "b", st.role = "parameter"},
                  %x: tensor<2x3xf32> {st.name = "x", st.role = "batch"}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {st.block = 0 : i64} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.add %1, %0 : tensor<2x4xf32>
    %3 = stablehlo.add %2, %2 {st.block = 1 : i64} : tensor<2x4xf32>
    %4 = stablehlo.exponential %3 {st.block = 1 : i64} : tensor<2x4xf32>
    %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    return %5 : tensor<f32>
  }
}

// -----

// Softmax between two products: the scores are widened; maximum, exponential and sum are in f32. The second product's
// operand is rounded once, before the move, and its other user reads it rounded.
// CHECK-LABEL: module @softmax
// CHECK: %[[SCORES:.*]] = stablehlo.dot_general {{.*}} -> tensor<4x4xbf16>
// CHECK-NEXT: %[[S:.*]] = stablehlo.convert %[[SCORES]] : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[M:.*]] = stablehlo.reduce(%[[S]] {{.*}} stablehlo.maximum {{.*}} -> tensor<4xf32>
// CHECK: stablehlo.subtract %[[S]], %{{.*}} : tensor<4x4xf32>
// CHECK-NEXT: %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<4x4xf32>
// CHECK-NEXT: stablehlo.reduce(%[[E]] {{.*}} -> tensor<4xf32>
// CHECK: %[[P:.*]] = stablehlo.divide %[[E]], %{{.*}} : tensor<4x4xf32>
// CHECK-NEXT: %[[P16:.*]] = stablehlo.convert %[[P]] : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %[[P16]], dims = [1, 0] : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK: stablehlo.dot_general %[[T]], {{.*}} -> tensor<4x4xbf16>
// CHECK: %[[READ:.*]] = stablehlo.convert %[[P16]] : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK-NEXT: stablehlo.log %[[READ]]
module @softmax {
  func.func @main(%w: tensor<4x4xf32> {st.name = "w", st.role = "parameter"},
                  %x: tensor<4x4xf32> {st.name = "x", st.role = "batch"}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.subtract %0, %2 : tensor<4x4xf32>
    %4 = stablehlo.exponential %3 : tensor<4x4xf32>
    %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
    %7 = stablehlo.divide %4, %6 : tensor<4x4xf32>
    %8 = stablehlo.transpose %7, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %9 = stablehlo.dot_general %8, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %10 = stablehlo.log %7 : tensor<4x4xf32>
    %11 = stablehlo.add %9, %10 : tensor<4x4xf32>
    %12 = stablehlo.reduce(%11 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
    return %12 : tensor<f32>
  }
}

// -----

// A lookup moves f32 and is rounded after; a residual sum of 16-bit values has 16 bits. A number that 16 bits cannot
// hold keeps its sum in f32; one that they hold is converted. Integers stay.
// CHECK-LABEL: module @moves
// CHECK-DAG: %[[HALF:.*]] = stablehlo.constant dense<5.000000e-01> : tensor<2x4xbf16>
// CHECK-DAG: %[[LOWEST:.*]] = stablehlo.constant dense<-3.40282347E+38> : tensor<2x4xf32>
// CHECK: %[[ROWS:.*]] = "stablehlo.gather"({{.*}} : (tensor<8x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[X:.*]] = stablehlo.convert %[[ROWS]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK: %[[Y:.*]] = stablehlo.dot_general %[[X]], {{.*}} -> tensor<2x4xbf16>
// CHECK: %[[Z:.*]] = stablehlo.add %[[X]], %[[Y]] : tensor<2x4xbf16>
// CHECK-NEXT: %[[COMPARED:.*]] = stablehlo.compare GT, %[[Z]], %[[HALF]], FLOAT : (tensor<2x4xbf16>, tensor<2x4xbf16>)
// CHECK-NEXT: %[[WIDE:.*]] = stablehlo.convert %[[Z]] : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[CHOSEN:.*]] = stablehlo.select %[[COMPARED]], %[[WIDE]], %{{.*}} : tensor<2x4xi1>, tensor<2x4xf32>
// CHECK-NEXT: stablehlo.add %[[CHOSEN]], %[[LOWEST]] : tensor<2x4xf32>
module @moves {
  func.func @main(%t: tensor<8x4xf32> {st.name = "t", st.role = "parameter"},
                  %w: tensor<4x4xf32> {st.name = "w", st.role = "parameter"},
                  %ids: tensor<2x1xi32> {st.name = "ids", st.role = "batch"}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %half = stablehlo.constant dense<0.5> : tensor<2x4xf32>
    %lowest = stablehlo.constant dense<-3.40282347E+38> : tensor<2x4xf32>
    %0 = "stablehlo.gather"(%t, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x4xf32>
    %3 = stablehlo.compare GT, %2, %half, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %4 = stablehlo.select %3, %2, %half : tensor<2x4xi1>, tensor<2x4xf32>
    %5 = stablehlo.add %4, %lowest : tensor<2x4xf32>
    %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    return %6 : tensor<f32>
  }
}

// -----

// An op that the table does not list stays unchanged, with everything inside it.
// CHECK-LABEL: module @regions
// CHECK: %[[Y:.*]] = stablehlo.dot_general {{.*}} -> tensor<2x2xbf16>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[Y]] : (tensor<2x2xbf16>) -> tensor<2x2xf32>
// CHECK-NEXT: stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %[[WIDE]]) : tensor<i32>, tensor<2x2xf32>
// CHECK: stablehlo.add %{{.*}}, %[[WIDE]] : tensor<2x2xf32>
module @regions {
  func.func @main(%w: tensor<2x2xf32> {st.name = "w", st.role = "parameter"},
                  %x: tensor<2x2xf32> {st.name = "x", st.role = "batch"}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %i = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1:2 = stablehlo.while(%n = %i, %a = %0) : tensor<i32>, tensor<2x2xf32>
      cond {
        %3 = stablehlo.compare LT, %n, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      } do {
        %3 = stablehlo.add %n, %one : tensor<i32>
        %4 = stablehlo.add %a, %0 : tensor<2x2xf32>
        stablehlo.return %3, %4 : tensor<i32>, tensor<2x2xf32>
      }
    %2 = stablehlo.reduce(%1#1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}
