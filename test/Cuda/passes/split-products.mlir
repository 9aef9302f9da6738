// RUN: st-opt --split-products %s | FileCheck %s

// A scale, a bias and an addend stay with the product; the rest becomes a loop after it. A value that is yielded both
// before and after the ops needs no second product.
// CHECK-LABEL: func.func @epilogue
// CHECK: %[[D:.*]] = st.kernel "matmul" (%[[A:.*]] = %arg0 : {{.*}}, %[[B:.*]] = %arg1 : {{.*}}, %[[V:.*]] = %arg2 : {{.*}}, %[[C:.*]] = %arg3 : {{.*}}) -> tensor<4x6xf32>
// CHECK: stablehlo.dot_general %[[A]], %[[B]]
// CHECK: stablehlo.multiply
// CHECK: stablehlo.broadcast_in_dim %[[V]]
// CHECK: %[[S:.*]] = stablehlo.add %{{.*}}, %[[C]]
// CHECK-NEXT: st.yield %[[S]]
// CHECK: %[[R:.*]] = st.kernel "loop" (%{{.*}} = %[[D]] : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK: stablehlo.tanh
// CHECK: return %[[R]], %[[D]]
func.func @epilogue(%0: tensor<4x8xf32>, %1: tensor<8x6xf32>, %2: tensor<6xf32>, %3: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %k:2 = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x6xf32>, %v = %2 : tensor<6xf32>, %c = %3 : tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %half = stablehlo.constant dense<0.5> : tensor<4x6xf32>
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %q = stablehlo.multiply %p, %half : tensor<4x6xf32>
    %w = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
    %r = stablehlo.add %q, %w : tensor<4x6xf32>
    %s = stablehlo.add %r, %c : tensor<4x6xf32>
    %t = stablehlo.tanh %s : tensor<4x6xf32>
    st.yield %t, %s : tensor<4x6xf32>, tensor<4x6xf32>
  }
  return %k#0, %k#1 : tensor<4x6xf32>, tensor<4x6xf32>
}

// A number for each row is not a bias, and a bias is not scaled.
// CHECK-LABEL: func.func @rows
// CHECK: st.kernel "matmul"
// CHECK-NEXT: stablehlo.dot_general
// CHECK-NEXT: st.yield
// CHECK: st.kernel "loop"
// CHECK: stablehlo.add
func.func @rows(%0: tensor<4x8xf32>, %1: tensor<8x4xf32>, %2: tensor<4xf32>) -> tensor<4x4xf32> {
  %k = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x4xf32>, %v = %2 : tensor<4xf32>) -> tensor<4x4xf32> {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %w = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
    %r = stablehlo.add %p, %w : tensor<4x4xf32>
    st.yield %r : tensor<4x4xf32>
  }
  return %k : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @scaled_bias
// CHECK: st.kernel "matmul"
// CHECK: %[[BIASED:.*]] = stablehlo.add
// CHECK-NEXT: st.yield %[[BIASED]]
// CHECK: st.kernel "loop"
// CHECK: stablehlo.multiply
func.func @scaled_bias(%0: tensor<4x8xf32>, %1: tensor<8x4xf32>, %2: tensor<4xf32>) -> tensor<4x4xf32> {
  %k = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x4xf32>, %v = %2 : tensor<4xf32>) -> tensor<4x4xf32> {
    %half = stablehlo.constant dense<0.5> : tensor<4x4xf32>
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %w = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %r = stablehlo.add %p, %w : tensor<4x4xf32>
    %s = stablehlo.multiply %r, %half : tensor<4x4xf32>
    st.yield %s : tensor<4x4xf32>
  }
  return %k : tensor<4x4xf32>
}

// Contracted dimensions that are not adjacent: the operand is transposed first.
// CHECK-LABEL: func.func @packed
// CHECK: %[[P:.*]] = st.kernel "copy" (%{{.*}} = %arg0 : tensor<5x4x6xf32>) -> tensor<4x5x6xf32>
// CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0, 2]
// CHECK: %[[Q:.*]] = st.kernel "copy" (%{{.*}} = %arg1 : tensor<6x5x3xf32>) -> tensor<3x5x6xf32>
// CHECK: st.kernel "matmul" (%{{.*}} = %[[P]] : {{.*}}, %{{.*}} = %[[Q]] : {{.*}}) -> tensor<4x3xf32>
// CHECK: contracting_dims = [1, 2] x [1, 2]
func.func @packed(%0: tensor<5x4x6xf32>, %1: tensor<6x5x3xf32>) -> tensor<4x3xf32> {
  %k = st.kernel "matmul" (%a = %0 : tensor<5x4x6xf32>, %b = %1 : tensor<6x5x3xf32>) -> tensor<4x3xf32> {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [0, 2] x [1, 0] : (tensor<5x4x6xf32>, tensor<6x5x3xf32>) -> tensor<4x3xf32>
    st.yield %p : tensor<4x3xf32>
  }
  return %k : tensor<4x3xf32>
}

// Two products of one operand, ops on both, and a product of the result.
// CHECK-LABEL: func.func @several
// CHECK: %[[P:.*]] = st.kernel "matmul" (%{{.*}} = %arg0 : {{.*}}, %{{.*}} = %arg1 : {{.*}}) -> tensor<4x6xf32>
// CHECK: %[[Q:.*]] = st.kernel "matmul" (%{{.*}} = %arg0 : {{.*}}, %{{.*}} = %arg2 : {{.*}}) -> tensor<4x6xf32>
// CHECK: %[[G:.*]] = st.kernel "loop" (%[[LEFT:.*]] = %[[P]] : {{.*}}, %[[RIGHT:.*]] = %[[Q]] : {{.*}}) -> tensor<4x6xf32>
// CHECK: %[[T:.*]] = stablehlo.tanh %[[LEFT]]
// CHECK: stablehlo.multiply %[[T]], %[[RIGHT]]
// CHECK: %[[D:.*]] = st.kernel "matmul" (%{{.*}} = %arg3 : {{.*}}, %{{.*}} = %[[G]] : {{.*}}) -> tensor<4x3xf32>
// CHECK: return %[[D]], %[[Q]]
func.func @several(%0: tensor<4x8xf32>, %1: tensor<8x6xf32>, %2: tensor<8x6xf32>, %3: tensor<6x3xf32>) -> (tensor<4x3xf32>, tensor<4x6xf32>) {
  %k:2 = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x6xf32>, %c = %2 : tensor<8x6xf32>, %d = %3 : tensor<6x3xf32>) -> (tensor<4x3xf32>, tensor<4x6xf32>) {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %q = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %t = stablehlo.tanh %p : tensor<4x6xf32>
    %g = stablehlo.multiply %t, %q : tensor<4x6xf32>
    %r = stablehlo.dot_general %g, %d, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
    st.yield %r, %q : tensor<4x3xf32>, tensor<4x6xf32>
  }
  return %k#0, %k#1 : tensor<4x3xf32>, tensor<4x6xf32>
}

// A sum over nothing is zero.
// CHECK-LABEL: func.func @nothing
// CHECK: st.kernel "loop"
// CHECK: %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<4x6xf32>
// CHECK: stablehlo.exponential %[[Z]]
func.func @nothing(%0: tensor<4x0xf32>, %1: tensor<0x6xf32>) -> tensor<4x6xf32> {
  %k = st.kernel "matmul" (%a = %0 : tensor<4x0xf32>, %b = %1 : tensor<0x6xf32>) -> tensor<4x6xf32> {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x0xf32>, tensor<0x6xf32>) -> tensor<4x6xf32>
    %e = stablehlo.exponential %p : tensor<4x6xf32>
    st.yield %e : tensor<4x6xf32>
  }
  return %k : tensor<4x6xf32>
}

// A bias of f64 is added after the product.
// CHECK-LABEL: func.func @wide
// CHECK: st.kernel "matmul"
// CHECK-NEXT: stablehlo.dot_general
// CHECK-NEXT: st.yield
// CHECK: st.kernel "loop"
// CHECK: stablehlo.add
func.func @wide(%0: tensor<4x8xf64>, %1: tensor<8x4xf64>, %2: tensor<4xf64>) -> tensor<4x4xf64> {
  %k = st.kernel "matmul" (%a = %0 : tensor<4x8xf64>, %b = %1 : tensor<8x4xf64>, %v = %2 : tensor<4xf64>) -> tensor<4x4xf64> {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf64>, tensor<8x4xf64>) -> tensor<4x4xf64>
    %w = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<4xf64>) -> tensor<4x4xf64>
    %r = stablehlo.add %p, %w : tensor<4x4xf64>
    st.yield %r : tensor<4x4xf64>
  }
  return %k : tensor<4x4xf64>
}

// A bias in another type, with no later op, is converted before.
// CHECK-LABEL: func.func @converted_bias
// CHECK: %[[V:.*]] = st.kernel "loop" (%[[F:.*]] = %arg2 : tensor<2x3xf32>) -> tensor<2x3xbf16>
// CHECK-NEXT: stablehlo.convert %[[F]]
// CHECK: %[[D:.*]] = st.kernel "matmul" (%{{.*}} = %arg0 : {{.*}}, %{{.*}} = %arg1 : {{.*}}, %[[B:[a-z0-9]*]] = %[[V]] : tensor<2x3xbf16>) -> tensor<4x2x3xbf16>
// CHECK: %[[W:.*]] = stablehlo.broadcast_in_dim %[[B]], dims = [1, 2] : (tensor<2x3xbf16>) -> tensor<4x2x3xbf16>
// CHECK: stablehlo.add %{{.*}}, %[[W]]
// CHECK: return %[[D]]
func.func @converted_bias(%0: tensor<4x8xbf16>, %1: tensor<8x2x3xbf16>, %2: tensor<2x3xf32>) -> tensor<4x2x3xbf16> {
  %k = st.kernel "matmul" (%a = %0 : tensor<4x8xbf16>, %b = %1 : tensor<8x2x3xbf16>, %v = %2 : tensor<2x3xf32>) -> tensor<4x2x3xbf16> {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x2x3xbf16>) -> tensor<4x2x3xbf16>
    %w = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
    %c = stablehlo.convert %w : (tensor<4x2x3xf32>) -> tensor<4x2x3xbf16>
    %r = stablehlo.add %p, %c : tensor<4x2x3xbf16>
    st.yield %r : tensor<4x2x3xbf16>
  }
  return %k : tensor<4x2x3xbf16>
}

// If the sum and its successors are both stored, the product writes the sum, and the loop reads it.
// CHECK-LABEL: func.func @converted_bias_and_more
// CHECK: %[[V:.*]] = st.kernel "loop" ({{.*}} : tensor<16xf32>) -> tensor<16xbf16>
// CHECK: %[[D:.*]] = st.kernel "matmul" (%{{.*}} = %arg0 : {{.*}}, %{{.*}} = %arg1 : {{.*}}, %{{.*}} = %[[V]] : tensor<16xbf16>) -> tensor<4x16xbf16>
// CHECK: %[[T:.*]] = st.kernel "loop" (%{{.*}} = %[[D]] : tensor<4x16xbf16>) -> tensor<4x16xbf16>
// CHECK: return %[[D]], %[[T]]
func.func @converted_bias_and_more(%0: tensor<4x8xbf16>, %1: tensor<8x16xbf16>, %2: tensor<16xf32>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>) {
  %k:2 = st.kernel "matmul" (%a = %0 : tensor<4x8xbf16>, %b = %1 : tensor<8x16xbf16>, %v = %2 : tensor<16xf32>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>) {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
    %w = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %c = stablehlo.convert %w : (tensor<4x16xf32>) -> tensor<4x16xbf16>
    %r = stablehlo.add %p, %c : tensor<4x16xbf16>
    %t = stablehlo.tanh %r : tensor<4x16xbf16>
    st.yield %r, %t : tensor<4x16xbf16>, tensor<4x16xbf16>
  }
  return %k#0, %k#1 : tensor<4x16xbf16>, tensor<4x16xbf16>
}

// The same for a loop after a product.
// CHECK-LABEL: func.func @bias_of_a_loop
// CHECK: %[[V:.*]] = st.kernel "loop" ({{.*}} : tensor<16xf32>) -> tensor<16xbf16>
// CHECK: %[[D:.*]] = st.kernel "matmul" (%{{.*}} = %arg0 : {{.*}}, %{{.*}} = %arg1 : {{.*}}, %{{.*}} = %[[V]] : tensor<16xbf16>) -> tensor<4x16xbf16>
// CHECK: %[[T:.*]] = st.kernel "loop" (%[[S:.*]] = %[[D]] : tensor<4x16xbf16>) -> tensor<4x16xbf16>
// CHECK-NEXT: stablehlo.tanh %[[S]]
// CHECK: return %[[D]], %[[T]]
func.func @bias_of_a_loop(%0: tensor<4x8xbf16>, %1: tensor<8x16xbf16>, %2: tensor<16xf32>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>) {
  %d = st.kernel "matmul" (%a = %0 : tensor<4x8xbf16>, %b = %1 : tensor<8x16xbf16>) -> tensor<4x16xbf16> {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
    st.yield %p : tensor<4x16xbf16>
  }
  %k:2 = st.kernel "loop" (%p = %d : tensor<4x16xbf16>, %v = %2 : tensor<16xf32>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>) {
    %w = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %c = stablehlo.convert %w : (tensor<4x16xf32>) -> tensor<4x16xbf16>
    %r = stablehlo.add %p, %c : tensor<4x16xbf16>
    %t = stablehlo.tanh %r : tensor<4x16xbf16>
    st.yield %r, %t : tensor<4x16xbf16>, tensor<4x16xbf16>
  }
  return %k#0, %k#1 : tensor<4x16xbf16>, tensor<4x16xbf16>
}

// A residual is handled in the same way: the product adds bias and residual, and the loop reads the sum. Values that the
// loop adds and does not write stay.
// CHECK-LABEL: func.func @residual_of_a_loop
// CHECK: %[[V:.*]] = st.kernel "loop" ({{.*}} : tensor<16xf32>) -> tensor<16xbf16>
// CHECK: %[[D:.*]] = st.kernel "matmul" (%{{.*}} = %arg0 : {{.*}}, %{{.*}} = %arg1 : {{.*}}, %[[B:.*]] = %[[V]] : tensor<16xbf16>, %[[R:.*]] = %arg3 : tensor<4x16xbf16>) -> tensor<4x16xbf16>
// CHECK: %[[P:.*]] = stablehlo.dot_general
// CHECK: %[[W:.*]] = stablehlo.broadcast_in_dim %[[B]]
// CHECK: %[[Q:.*]] = stablehlo.add %[[P]], %[[W]]
// CHECK: stablehlo.add %[[Q]], %[[R]]
// CHECK: %[[T:.*]] = st.kernel "loop" (%[[X:.*]] = %[[D]] : tensor<4x16xbf16>) -> tensor<4x16xbf16>
// CHECK-NEXT: %[[H:.*]] = stablehlo.tanh %[[X]]
// CHECK: return %[[D]], %[[T]]
func.func @residual_of_a_loop(%0: tensor<4x8xbf16>, %1: tensor<8x16xbf16>, %2: tensor<16xf32>, %3: tensor<4x16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>) {
  %d = st.kernel "matmul" (%a = %0 : tensor<4x8xbf16>, %b = %1 : tensor<8x16xbf16>) -> tensor<4x16xbf16> {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
    st.yield %p : tensor<4x16xbf16>
  }
  %k:2 = st.kernel "loop" (%p = %d : tensor<4x16xbf16>, %v = %2 : tensor<16xf32>, %x = %3 : tensor<4x16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>) {
    %w = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %c = stablehlo.convert %w : (tensor<4x16xf32>) -> tensor<4x16xbf16>
    %q = stablehlo.add %p, %c : tensor<4x16xbf16>
    %r = stablehlo.add %q, %x : tensor<4x16xbf16>
    %t = stablehlo.tanh %r : tensor<4x16xbf16>
    st.yield %r, %t : tensor<4x16xbf16>, tensor<4x16xbf16>
  }
  return %k#0, %k#1 : tensor<4x16xbf16>, tensor<4x16xbf16>
}

// CHECK-LABEL: func.func @residual_alone
// CHECK: st.kernel "matmul" (%{{.*}} = %arg0 : {{.*}}, %{{.*}} = %arg1 : tensor<8x16xbf16>) -> tensor<4x16xbf16>
// CHECK: st.kernel "loop"
// CHECK: stablehlo.add
// CHECK: stablehlo.tanh
func.func @residual_alone(%0: tensor<4x8xbf16>, %1: tensor<8x16xbf16>, %2: tensor<4x16xbf16>) -> tensor<4x16xbf16> {
  %d = st.kernel "matmul" (%a = %0 : tensor<4x8xbf16>, %b = %1 : tensor<8x16xbf16>) -> tensor<4x16xbf16> {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
    st.yield %p : tensor<4x16xbf16>
  }
  %k = st.kernel "loop" (%p = %d : tensor<4x16xbf16>, %x = %2 : tensor<4x16xbf16>) -> tensor<4x16xbf16> {
    %r = stablehlo.add %p, %x : tensor<4x16xbf16>
    %t = stablehlo.tanh %r : tensor<4x16xbf16>
    st.yield %t : tensor<4x16xbf16>
  }
  return %k : tensor<4x16xbf16>
}
